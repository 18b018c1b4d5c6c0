package agui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// MaxInput bounds the body of a request. Clients send their whole conversation each time.
const MaxInput = 4 << 20

// maxResult bounds the result of a frontend's tool, in bytes: the session stores it in one message.
const maxResult = 64 << 10

// maxThread bounds the name of a thread, in bytes.
const maxThread = 256

// InputError says which field of a request is wrong.
type InputError struct {
	Field, Reason string
}

// Error implements error.
func (e *InputError) Error() string { return fmt.Sprintf("agui: %s: %s", e.Field, e.Reason) }

// Input is the body of a request for a run.
type Input struct {
	ThreadID        string    `json:"threadId"`
	RunID           string    `json:"runId"`
	ProtocolVersion string    `json:"protocolVersion"`
	Messages        []Message `json:"messages"`
	// Tools are those that the frontend executes.
	Tools          []wire.ClientTool `json:"tools"`
	Resume         []Resumption      `json:"resume"`
	ForwardedProps ForwardedProps    `json:"forwardedProps"`
}

// ForwardedProps are the values that an app adds to its requests. Those for other servers are
// ignored.
type ForwardedProps struct {
	Everdesk Options `json:"everdesk"`
}

// Options are what an app may choose.
type Options struct {
	// Monitor is the monitor whose main agent gets the message; monitor-0 by default.
	Monitor wire.MonitorID `json:"monitor"`
	// Plan makes the message the request for a plan.
	Plan bool `json:"plan"`
	// CancelOnClose interrupts the turn when the client closes the connection, which is the only way
	// in which a plain HttpAgent can stop a run.
	CancelOnClose bool `json:"cancelOnClose"`
	// Follow keeps the stream of a connect request open: turns that others begin later are runs of it.
	Follow bool `json:"follow"`
}

// Resumption is the answer to an interrupt of an earlier run.
type Resumption struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload"`
}

// Message is a message of the client's conversation. It keeps what the client sent, to send it back.
type Message struct {
	ID, Role string
	// ToolCallID is set in the result of a tool call.
	ToolCallID string
	raw        json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Message) UnmarshalJSON(data []byte) error {
	var head struct {
		ID         string `json:"id"`
		Role       string `json:"role"`
		ToolCallID string `json:"toolCallId"`
	}
	if json.Unmarshal(data, &head) != nil {
		return &InputError{Field: "messages", Reason: "want objects whose id, role and toolCallId are texts"}
	}
	*m = Message{ID: head.ID, Role: head.Role, ToolCallID: head.ToolCallID, raw: bytes.Clone(data)}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (m Message) MarshalJSON() ([]byte, error) { return m.raw, nil }

// ParseInput reads the body of a request. The error is an [*InputError].
func ParseInput(body []byte) (Input, error) {
	var in Input
	if err := json.Unmarshal(body, &in); err != nil {
		if bad, ok := errors.AsType[*InputError](err); ok {
			return Input{}, bad
		}
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return Input{}, &InputError{Field: wrong.Field, Reason: "want another type than " + wrong.Value}
		}
		return Input{}, &InputError{Field: "body", Reason: "want a JSON object as AG-UI describes it"}
	}
	switch {
	case in.ThreadID == "" || len(in.ThreadID) > maxThread:
		return Input{}, &InputError{Field: "threadId", Reason: fmt.Sprintf("want 1 to %d bytes", maxThread)}
	case wire.MessageID(in.RunID).Validate() != nil:
		return Input{}, &InputError{Field: "runId", Reason: "want 1 to 64 characters"}
	case in.ForwardedProps.Everdesk.Monitor != "" && in.ForwardedProps.Everdesk.Monitor.Validate() != nil:
		return Input{}, &InputError{Field: "forwardedProps.everdesk.monitor", Reason: "want the id of a monitor"}
	}
	if err := wire.CheckClientTools(in.Tools); err != nil {
		return Input{}, &InputError{Field: "tools", Reason: err.Error()}
	}
	for _, m := range in.results() {
		if n := len(m.raw); n > maxResult {
			return Input{}, &InputError{Field: "messages", Reason: fmt.Sprintf("the result of the tool call %s has %d bytes, want at most %d", m.ToolCallID, n, maxResult)}
		}
	}
	for i, r := range in.Resume {
		if r.InterruptID == "" || r.Status != "resolved" && r.Status != "cancelled" {
			return Input{}, &InputError{Field: fmt.Sprintf("resume[%d]", i), Reason: `want an interruptId and a status, "resolved" or "cancelled"`}
		}
	}
	return in, nil
}

// Modern reports whether the client speaks AG-UI 1.0 or newer. A version that cannot be read counts as
// older: such a client gets what all clients know.
func (in *Input) Modern() bool {
	major, _, _ := strings.Cut(in.ProtocolVersion, ".")
	n, err := strconv.ParseUint(major, 10, 16)
	return err == nil && n >= 1
}

// Monitor returns the monitor that the request is for.
func (in *Input) Monitor() wire.MonitorID {
	if m := in.ForwardedProps.Everdesk.Monitor; m != "" {
		return m
	}
	return FirstMonitor
}

// FirstMonitor is the monitor of requests that name none.
const FirstMonitor wire.MonitorID = "monitor-0"

// UserMessage returns the new message of a request: the last one, if it is the user's. A conversation
// that ends with another message says nothing new. The hub has the messages before it.
func (in *Input) UserMessage() (m wire.UserMessage, ok bool, err error) {
	if len(in.Messages) == 0 || in.Messages[len(in.Messages)-1].Role != "user" {
		return wire.UserMessage{}, false, nil
	}
	var last struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(in.Messages[len(in.Messages)-1].raw, &last); err != nil {
		return wire.UserMessage{}, false, &InputError{Field: "messages", Reason: err.Error()}
	}
	m = wire.UserMessage{MessageID: wire.MessageID(in.RunID), MonitorID: in.Monitor(), Tools: in.Tools}
	if in.ForwardedProps.Everdesk.Plan {
		m.Mode = wire.ModePlan
	}
	if json.Unmarshal(last.Content, &m.Content) == nil {
		return m, true, nil
	}
	var parts []part
	if err := json.Unmarshal(last.Content, &parts); err != nil {
		return wire.UserMessage{}, false, &InputError{Field: "messages", Reason: "the content of the last message is neither text nor a list of parts"}
	}
	return m, true, addParts(&m, parts)
}

// part is a part of the content of a message. Clients before 1.0 send pictures as binary.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
	Source   struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MimeType string `json:"mimeType"`
	} `json:"source"`
}

// addParts adds the texts and pictures of a message.
func addParts(m *wire.UserMessage, parts []part) error {
	var text strings.Builder
	for i, p := range parts {
		if p.Type == "binary" {
			p.Type, p.Source.Type, p.Source.Value, p.Source.MimeType = "image", "data", p.Data, p.MimeType
		}
		switch {
		case p.Type == "text":
			if text.Len() > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(p.Text)
		case p.Type == "image" && p.Source.Type == "data" && strings.HasPrefix(p.Source.MimeType, "image/"):
			m.Interactions = append(m.Interactions, wire.UserInteraction{
				Type: wire.DidDraw, ImageData: "data:" + p.Source.MimeType + ";base64," + p.Source.Value,
			})
		default:
			return &InputError{Field: "messages", Reason: fmt.Sprintf("part %d of the last message: the hub takes text, and pictures with their data", i)}
		}
	}
	m.Content = text.String()
	return nil
}

// Turn returns the turn that a request without a new message is about, or "": the one that asks a
// question which the request answers, the one of its runId, or the one that the client saw last if it
// answers a question that is not open any more.
func (in *Input) Turn(s *wire.SessionState) wire.MessageID {
	for _, q := range questionsOf(s) {
		if in.answers(s, &q) {
			return cmp.Or(q.turn, turnOfAgent(s, q.agent))
		}
	}
	isOwn := func(row wire.UIRow) bool { return row.MessageID == wire.MessageID(in.RunID) }
	switch {
	case len(in.Resume) == 0 && slices.ContainsFunc(s.RecentMessages, isOwn):
		return wire.MessageID(in.RunID)
	case len(in.Resume) == 0 && len(in.results()) == 0:
		return ""
	}
	for _, m := range slices.Backward(in.Messages) {
		if turn := cmp.Or(turnOf(m.ID), turnOfCall(m.ToolCallID)); turn != "" {
			return turn
		}
	}
	return ""
}

// answers reports whether the request answers a question.
func (in *Input) answers(s *wire.SessionState, q *question) bool {
	if slices.ContainsFunc(in.Resume, func(r Resumption) bool { return r.InterruptID == q.id }) {
		return true
	}
	return slices.ContainsFunc(in.results(), func(m Message) bool { return q.call != nil && m.ToolCallID == q.callID(s) })
}

// turnOfAgent returns the turn that an agent executes, or "".
func turnOfAgent(s *wire.SessionState, agent wire.AgentID) wire.MessageID {
	for _, a := range s.Agents {
		if a.Role == agent {
			return a.MessageID
		}
	}
	return ""
}
