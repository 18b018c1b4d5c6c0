package rooipc

import (
	"encoding/json"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// message is a row as clients know it.
type message struct {
	TS   float64      `json:"ts"`
	Type wire.RowType `json:"type"`
	Ask  wire.Ask     `json:"ask,omitempty"`
	Say  wire.Say     `json:"say,omitempty"`
	// Text is always there: a row may become empty.
	Text                     string                  `json:"text"`
	Images                   []string                `json:"images,omitempty"`
	Partial                  *bool                   `json:"partial,omitempty"`
	Reasoning                string                  `json:"reasoning,omitempty"`
	ConversationHistoryIndex *int                    `json:"conversationHistoryIndex,omitempty"`
	Checkpoint               json.RawMessage         `json:"checkpoint,omitempty"`
	ProgressStatus           *wire.ProgressStatus    `json:"progressStatus,omitempty"`
	ContextCondense          *wire.ContextCondense   `json:"contextCondense,omitempty"`
	ContextTruncation        *wire.ContextTruncation `json:"contextTruncation,omitempty"`
	IsProtected              bool                    `json:"isProtected,omitempty"`
	APIProtocol              wire.APIProtocol        `json:"apiProtocol,omitempty"`
	IsAnswered               bool                    `json:"isAnswered,omitempty"`
}

func messageEvent(task string, action wire.RowChange, m message) event {
	return event{eventMessage, []any{struct {
		TaskID  string         `json:"taskId"`
		Action  wire.RowChange `json:"action"`
		Message message        `json:"message"`
	}{task, action, m}}}
}

// emitRow sends a row of the log.
func (t *Task) emitRow(row wire.UIRow, action wire.RowChange) {
	m := messageOf(row)
	m.TS = t.rowTS(row)
	if ts, ok := t.partial[row.AgentID]; ok && row.Say == wire.SayText && ts == m.TS {
		action, m.Partial = wire.RowUpdated, new(false)
		delete(t.partial, row.AgentID)
	}
	id := t.id
	if s := t.subtasks[row.AgentID]; s != nil {
		switch {
		case row.Say != wire.SaySubtaskResult:
			id = s.id
		case s.parent != "": // the result belongs to the task that waits for it
			id, s.result = s.parent, row.Text
		default:
			s.result = row.Text
		}
	}
	t.out = append(t.out, messageEvent(id, action, m))
}

// messageOf returns a row with the names of Roo.
func messageOf(row wire.UIRow) message {
	m := message{
		TS: float64(row.TS), Type: row.Type, Ask: row.Ask, Say: row.Say, Text: row.Text, Images: row.Images, Partial: row.Partial, Reasoning: row.Reasoning,
		ConversationHistoryIndex: row.ConversationHistoryIndex, ProgressStatus: row.ProgressStatus, ContextCondense: row.ContextCondense,
		ContextTruncation: row.ContextTruncation, IsProtected: row.IsProtected, APIProtocol: row.APIProtocol, IsAnswered: row.IsAnswered,
	}
	if c := strings.TrimSpace(string(row.Checkpoint)); strings.HasPrefix(c, "{") {
		m.Checkpoint = row.Checkpoint
	}
	switch {
	case row.Say == wire.SayAPIReqFinished:
		m.Say, m.Text = wire.SayAPIReqStarted, requestText(row.Text)
	case row.Say != "" && row.Say.Retired():
		m.Say = wire.SayText
	case row.Ask != "" && row.Ask.Retired():
		m.Ask = wire.AskTool
	}
	return m
}

// turnEnd is the text of the row that ends a turn.
type turnEnd struct {
	Outcome      wire.Outcome `json:"outcome"`
	InputTokens  int          `json:"inputTokens"`
	OutputTokens int          `json:"outputTokens"`
	CacheReads   int          `json:"cacheReads"`
	CacheWrites  int          `json:"cacheWrites"`
	CostUSD      float64      `json:"costUsd"`
	Reason       string       `json:"reason"`
}

// requestText returns the text of a row api_req_started. Clients add up the tokens and costs of these
// rows, so a turn has one, with the sums of its requests.
func requestText(text string) string {
	var end turnEnd
	_ = json.Unmarshal([]byte(text), &end) // a row of another form has no numbers
	sums := struct {
		TokensIn      int     `json:"tokensIn"`
		TokensOut     int     `json:"tokensOut"`
		CacheWrites   int     `json:"cacheWrites"`
		CacheReads    int     `json:"cacheReads"`
		Cost          float64 `json:"cost"`
		CancelReason  string  `json:"cancelReason,omitempty"`
		FailedMessage string  `json:"streamingFailedMessage,omitempty"`
	}{TokensIn: end.InputTokens, TokensOut: end.OutputTokens, CacheWrites: end.CacheWrites, CacheReads: end.CacheReads, Cost: end.CostUSD}
	switch end.Outcome {
	case wire.OutcomeInterrupted:
		sums.CancelReason = "user_cancelled"
	case wire.OutcomeFailed:
		sums.CancelReason, sums.FailedMessage = "streaming_failed", end.Reason
	}
	data, err := json.Marshal(sums)
	if err != nil {
		panic(err) // cannot fail: numbers and texts
	}
	return string(data)
}
