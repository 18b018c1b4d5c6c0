package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonrpc"
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
	Changes  []struct {
		Path string `json:"path"`
		Diff string `json:"diff"`
	} `json:"changes"`
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

// notified handles a notification.
func (b *backend) notified(method string, params json.RawMessage) {
	e := decode[event](params)
	b.mu.Lock()
	foreign := e.ThreadID != "" && b.thread != "" && e.ThreadID != b.thread // of a sub-agent
	b.mu.Unlock()
	if foreign {
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
		b.session.Text(e.Delta)
	case "item/reasoning/summaryTextDelta", "item/reasoning/textDelta":
		b.session.Thinking(e.Delta)
	case "item/started":
		b.itemStarted(e.Item)
	case "item/completed":
		b.itemCompleted(e.Item)
	case "thread/tokenUsage/updated":
		u := e.TokenUsage.Last
		b.session.Usage(providers.Usage{Input: max(0, u.Input-u.CacheRead-u.CacheWrite), Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Unpriced: true})
	case "error":
		if e.WillRetry {
			b.session.Retrying(providers.Event{Text: e.Error.Message})
		}
	case "serverRequest/resolved":
		b.withdraw(string(e.RequestID))
	case "turn/completed":
		b.completed(e)
	}
}

// itemStarted reports a tool call.
func (b *backend) itemStarted(i item) {
	c := providers.ToolCall{ID: i.ID}
	switch i.Type {
	case "commandExecution":
		c.Name, c.Input = "shell", encode(map[string]string{"command": script(i.Command), "cwd": i.Dir})
	case "fileChange":
		diff := diffOf(i)
		b.mu.Lock()
		b.changes[i.ID] = diff
		b.mu.Unlock()
		c.Name, c.Input = "apply_patch", encode(map[string]string{"patch": diff})
	case "mcpToolCall":
		c.Name, c.Input = "mcp__"+i.Server+"__"+i.Tool, i.Args
	case "dynamicToolCall": // a tool of the hub, which a request follows for
		c.Name, c.Input = i.Tool, i.Args
	default:
		return
	}
	b.session.ToolStarted(c)
}

// diffOf returns the changes of files as one patch.
func diffOf(i item) string {
	var d strings.Builder
	for _, c := range i.Changes {
		fmt.Fprintf(&d, "+++ %s\n%s\n", c.Path, c.Diff)
	}
	return d.String()
}

// encode encodes a value as people read it, without escapes for HTML.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil // never for maps of strings
	}
	return bytes.TrimSpace(b.Bytes())
}

func (b *backend) itemCompleted(i item) {
	switch i.Type {
	case "userMessage":
		if i.ClientID != "" {
			b.session.Taken(i.ClientID)
		}
	case "agentMessage":
		b.mu.Lock()
		streamed := b.streamed[i.ID]
		delete(b.streamed, i.ID)
		b.mu.Unlock()
		if len(i.Text) > streamed {
			b.session.Text(i.Text[streamed:])
		}
	case "commandExecution":
		text := i.Output
		if i.ExitCode != nil && *i.ExitCode != 0 {
			text += fmt.Sprintf("\n(exit code %d)", *i.ExitCode)
		}
		b.session.ToolEnded(i.ID, providers.ToolResult{Text: text, IsError: i.Status != "completed" || i.ExitCode != nil && *i.ExitCode != 0})
	case "fileChange":
		b.mu.Lock()
		delete(b.changes, i.ID)
		b.mu.Unlock()
		b.session.ToolEnded(i.ID, providers.ToolResult{Text: i.Status, IsError: i.Status != "completed"})
	case "mcpToolCall":
		b.session.ToolEnded(i.ID, providers.ToolResult{Text: string(i.Result), IsError: i.Status != "completed"})
	}
}

// completed ends the turn.
func (b *backend) completed(e event) {
	b.mu.Lock()
	b.turn, b.over = "", e.Turn.ID
	b.beginLocked()
	clear(b.streamed)
	clear(b.changes)
	for question, decided := range b.asked { // the session withdraws its questions
		delete(b.asked, question)
		close(decided)
	}
	b.mu.Unlock()
	switch e.Turn.Status {
	case "completed":
		b.session.Ended(providers.Completed, nil)
	case "interrupted":
		b.session.Ended(providers.Interrupted, nil)
	default:
		if e.Turn.Error == nil {
			e.Turn.Error = &turnError{Message: "the turn is " + e.Turn.Status}
		}
		b.session.Ended(providers.Failed, e.Turn.Error.failure())
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

// approval is a request for approval.
type approval struct {
	ItemID  string `json:"itemId"`
	Command string `json:"command"`
	Dir     string `json:"cwd"`
	Reason  string `json:"reason"`
}

// serve executes a request of the program, on a goroutine of its own.
func (b *backend) serve(ctx context.Context, c jsonrpc.Served) (any, error) {
	switch c.Method {
	case "item/commandExecution/requestApproval":
		a := decode[approval](c.Params)
		return b.ask(ctx, c.ID, providers.ToolCall{ID: a.ItemID, Name: "shell", Input: encode(map[string]string{"command": script(a.Command), "cwd": a.Dir})})
	case "item/fileChange/requestApproval":
		a := decode[approval](c.Params)
		b.mu.Lock()
		diff := b.changes[a.ItemID]
		b.mu.Unlock()
		return b.ask(ctx, c.ID, providers.ToolCall{ID: a.ItemID, Name: "apply_patch", Input: encode(map[string]string{"patch": diff, "reason": a.Reason})})
	case "item/tool/call":
		call := decode[struct {
			CallID    string          `json:"callId"`
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		}](c.Params)
		r := b.session.Call(ctx, providers.ToolCall{ID: call.CallID, Name: call.Tool, Input: call.Arguments})
		items := []map[string]any{{"type": "inputText", "text": r.Text}}
		for _, i := range r.Images {
			items = append(items, map[string]any{"type": "inputImage", "imageUrl": dataURL(i)})
		}
		return map[string]any{"contentItems": items, "success": !r.IsError}, nil
	default:
		return nil, jsonrpc.NoMethod(c.Method)
	}
}

// ask asks the users and waits for the decision.
func (b *backend) ask(ctx context.Context, question string, c providers.ToolCall) (any, error) {
	decided := make(chan providers.Decision, 1)
	b.mu.Lock()
	b.asked[question] = decided
	b.mu.Unlock()
	b.session.Ask(question, c)
	select {
	case d, ok := <-decided:
		decision := "decline"
		switch {
		case !ok:
			return nil, errors.New("the question was withdrawn")
		case d.Allow:
			decision = "accept"
		case d.Stop:
			decision = "cancel"
		}
		return map[string]any{"decision": decision}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// withdraw ends a question that needs no answer any more.
func (b *backend) withdraw(question string) {
	b.mu.Lock()
	decided := b.asked[question]
	delete(b.asked, question)
	b.mu.Unlock()
	if decided != nil {
		close(decided)
		b.session.Withdraw(question)
	}
}
