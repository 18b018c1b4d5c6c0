package codex

import (
	"encoding/json"
	"net/http"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// item is a part of a turn.
type item struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	ClientID string          `json:"clientId"`
	Text     string          `json:"text"`
	Command  string          `json:"command"`
	Dir      string          `json:"cwd"`
	Output   string          `json:"aggregatedOutput"`
	ExitCode *int            `json:"exitCode"`
	Status   string          `json:"status"`
	Server   string          `json:"server"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"arguments"`
	Result   json.RawMessage `json:"result"`
	Changes  []change        `json:"changes"`
}

// event is a notification of a thread, of any kind.
type event struct {
	ThreadID  string          `json:"threadId"`
	ItemID    string          `json:"itemId"`
	Delta     string          `json:"delta"`
	Item      item            `json:"item"`
	RequestID json.RawMessage `json:"requestId"`
	WillRetry bool            `json:"willRetry"`
	Error     turnError       `json:"error"`
	Turn      struct {
		ID     string     `json:"id"`
		Status string     `json:"status"`
		Error  *turnError `json:"error"`
	} `json:"turn"`
	TokenUsage struct {
		Last struct {
			Input      int `json:"inputTokens"`
			CacheRead  int `json:"cachedInputTokens"`
			CacheWrite int `json:"cacheWriteInputTokens"`
			Output     int `json:"outputTokens"`
		} `json:"last"`
	} `json:"tokenUsage"`
}

// notified handles a notification. A prepared program has no session to report to yet.
func (b *backend) notified(method string, params json.RawMessage) {
	e := decode[event](params)
	b.mu.Lock()
	session := b.session
	foreign := e.ThreadID != "" && b.thread != "" && e.ThreadID != b.thread // of a sub-agent
	b.mu.Unlock()
	if session == nil || foreign {
		return
	}
	switch method {
	case "turn/started":
		b.mu.Lock()
		if b.over != e.Turn.ID {
			b.turn = e.Turn.ID
		}
		b.beginLocked()
		b.mu.Unlock()
	case "item/agentMessage/delta":
		b.mu.Lock()
		b.streamed[e.ItemID] += len(e.Delta)
		b.mu.Unlock()
		session.Text(e.Delta)
	case "item/reasoning/summaryTextDelta", "item/reasoning/textDelta":
		session.Thinking(e.Delta)
	case "item/started":
		b.itemStarted(session, e.Item)
	case "item/completed":
		b.itemCompleted(session, e.Item)
	case "thread/tokenUsage/updated":
		u := e.TokenUsage.Last
		session.Usage(providers.Usage{Input: max(0, u.Input-u.CacheRead-u.CacheWrite), Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Unpriced: true})
	case "error":
		if e.WillRetry {
			session.Retrying(providers.Event{Text: e.Error.Message})
		}
	case "serverRequest/resolved":
		b.withdraw(session, string(e.RequestID))
	case "turn/completed":
		b.completed(session, e)
	}
}

// completed ends the turn.
func (b *backend) completed(session *agent.Session, e event) {
	b.mu.Lock()
	b.turn, b.over = "", e.Turn.ID
	b.beginLocked()
	clear(b.streamed)
	clear(b.calls)
	for question, decided := range b.asked { // the session withdraws its questions
		delete(b.asked, question)
		close(decided)
	}
	b.mu.Unlock()
	switch e.Turn.Status {
	case "completed":
		session.Ended(providers.Completed, nil)
	case "interrupted":
		session.Ended(providers.Interrupted, nil)
	default:
		if e.Turn.Error == nil {
			e.Turn.Error = &turnError{Message: "the turn is " + e.Turn.Status}
		}
		session.Ended(providers.Failed, e.Turn.Error.failure())
	}
}

// turnError is the reason of a failed turn. Its kind is a text, or an object with one member.
type turnError struct {
	Message string          `json:"message"`
	Kind    json.RawMessage `json:"codexErrorInfo"`
}

// errorStatus maps kinds of errors to the status of a model server that means the same.
var errorStatus = map[string]int{
	"unauthorized": http.StatusUnauthorized, "usageLimitExceeded": http.StatusTooManyRequests, "serverOverloaded": http.StatusServiceUnavailable,
	"internalServerError": http.StatusInternalServerError, "badRequest": http.StatusBadRequest,
}

// failure classifies the error.
func (e *turnError) failure() *providers.Failure {
	kind := decode[string](e.Kind)
	status := errorStatus[kind]
	for _, detail := range decode[map[string]struct {
		Status int `json:"httpStatusCode"`
	}](e.Kind) {
		status = detail.Status
	}
	f := agent.HTTPFailure(status, e.Message)
	switch kind {
	case "contextWindowExceeded":
		f.Class = providers.ContextLength
	case "cyberPolicy", "misalignmentPolicyViolation":
		f.Class = providers.Refused
	}
	return f
}
