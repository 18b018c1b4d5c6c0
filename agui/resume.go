package agui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Answer is a message that answers an open question.
type Answer struct {
	Question string
	Message  wire.ClientPayload
}

// Answers returns the messages that answer open questions of a state as a request wants it. A question
// that is not open any more was answered elsewhere, and its answer is left out.
func (in *Input) Answers(s *wire.SessionState) []Answer {
	var all []Answer
	open := questionsOf(s)
	for _, r := range in.Resume {
		if i := slices.IndexFunc(open, func(q question) bool { return q.id == r.InterruptID }); i >= 0 {
			all = append(all, Answer{open[i].id, open[i].answer(r)})
		}
	}
	for _, result := range in.results() {
		i := slices.IndexFunc(open, func(q question) bool { return q.call != nil && q.callID(s) == result.ToolCallID })
		if i >= 0 {
			all = append(all, Answer{open[i].id, open[i].answer(Resumption{Status: "resolved", Payload: result.resultText()})})
		}
	}
	return all
}

// answers are the questions whose answers were sent and not refused, by the connections that sent them.
type answers map[wire.ConnectionID]string

func (a answers) include(question string) bool {
	for _, q := range a {
		if q == question {
			return true
		}
	}
	return false
}

// Answered records that a connection has sent the answer to a question. The run asks the question again only if that
// answer is refused. Each answer needs a connection of its own. Call it before [Run.Attach].
func (r *Run) Answered(question string, by wire.ConnectionID) { r.answers[by] = question }

// rejected takes the refusal of the run's message, which is for all connections, or of one of its answers. Refusals for
// other connections are about what those have sent, even if the message has the id of the run.
func (r *Run) rejected(data wire.MessageRejected) {
	if data.To == "" {
		if data.MessageID == r.own {
			r.Fail(data.Code.Info().Name, data.Reason)
		}
		return
	}
	id, ok := r.answers[data.To]
	if !ok {
		return
	}
	delete(r.answers, data.To)
	view := r.state.Snapshot()
	open := questionsOf(&view)
	i := slices.IndexFunc(open, func(q question) bool { return q.id == id })
	switch {
	case i < 0: // answered elsewhere
	case r.frontendTools.execute(&open[i]): // the frontend would execute the call again at once, with the same result
		r.Fail(data.Code.Info().Name, data.Reason)
	default:
		r.emit(event{Type: typeCustom, Name: "everdesk.rejected", Value: map[string]string{
			"interruptId": id, "code": data.Code.Info().Name, "reason": data.Reason,
		}})
	}
}

// IsNew reports whether the last message of a request that answers questions is one that the hub does not have: a
// client that wants to send a message while a question is open must answer the question with the same request. Most
// requests with answers end with a message of an earlier request. Clients choose the ids of their messages, so the hub
// recognizes a message by its text among those since the turn that asks. Add the rows to the run for which
// [Run.NeedsRows] asks with that turn before. The error is an [*InputError].
func IsNew(r *Run, in *Input, turn wire.MessageID) (bool, error) {
	rows := r.turns.rows()
	last := in.Messages[len(in.Messages)-1]
	own := userRow(rows, wire.MessageID(in.RunID))
	switch {
	case own >= 0 && rows[own].Text == last.text():
		return true, nil // the request is repeated; some clients answer with the id of the run that asks, which is another message
	case userRow(rows, wire.MessageID(last.ID)) >= 0:
		return false, nil // the hub chose its id
	}
	text, asked := last.text(), userRow(rows, turn)
	if countRows(rows[max(asked, 0):], text) == 0 {
		return asked >= 0, undecidableUnless(asked >= 0)
	}
	// The text was sent before. It is new if the client has it more often than the hub since a turn that both know.
	from, at, isSure := 0, 0, true
	for i, m := range slices.Backward(in.Messages) {
		if m.Role != roleAssistant && m.Role != roleTool && m.Role != roleReasoning {
			continue
		}
		of := (&chat{ID: m.ID, Role: m.Role, ToolCallID: m.ToolCallID}).turn()
		begin := userRow(rows, of)
		switch {
		case of == "":
			isSure = false
			continue
		case of == turn || asked >= 0 && begin > asked:
			continue
		}
		from, at, isSure = i+1, begin+1, true
		break
	}
	sent := 0
	for _, m := range in.Messages[from:] {
		if m.Role == roleUser && m.text() == text {
			sent++
		}
	}
	if sent <= countRows(rows[at:], text) {
		return false, nil
	}
	return isSure, undecidableUnless(isSure)
}

func undecidableUnless(ok bool) error {
	if ok {
		return nil
	}
	return &InputError{Field: "messages", Reason: "the hub cannot decide whether the last message is new; send the answers without it, and then the message"}
}

// countRows counts the messages of users with a text.
func countRows(rows []wire.UIRow, text string) (n int) {
	for _, row := range rows {
		if row.Say == wire.SayUserFeedback && row.Text == text {
			n++
		}
	}
	return n
}

// text returns the text of a user's message as the hub stores it, also if it has other parts.
func (m *Message) text() string {
	var sent struct {
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(m.raw, &sent) // it was decoded before
	var text string
	if json.Unmarshal(sent.Content, &text) == nil {
		return text
	}
	var parts []part
	_ = json.Unmarshal(sent.Content, &parts) // without parts there is no text
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
