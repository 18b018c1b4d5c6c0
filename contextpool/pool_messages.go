package contextpool

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// Messages routes the messages of users to agents: into turns, queues and questions.
type Messages struct {
	*services

	turns     *turnSet
	questions *Questions
	queues    *queues
	router    *router
	// advance starts what can start; see [Pool].
	advance func()
}

// AnswerableTurn returns the agent of the monitor's main turn if the message may answer a
// question of that turn.
func (p *Messages) AnswerableTurn(m Message) (wire.AgentID, bool) {
	t := p.turns.ofMain(m.Monitor)
	if t == nil || t.stopping() || len(t.Taken) >= maxTaken || m.Guest && !t.Guest {
		return "", false
	}
	return t.Role, true
}

// AnswerByMessage accepts a message that answers a question of the monitor's main turn. The
// turn reads the message as the answer; it is not sent to the model again.
func (p *Messages) AnswerByMessage(m Message, asked string) {
	t := p.turns.ofMain(m.Monitor)
	p.queues.ensureUniqueID(&m)
	row := m.row(m.Text)
	row.ProgressStatus = answerStatus(asked)
	m.Row = p.rows.NextRowID()
	p.rows.AddRow(row)
	p.queues.acceptAnswer(t, &m)
	p.advance()
}

// QueuedAnswer returns the queued message that answers a prompt which the monitor's main turn
// opens in this step: the oldest one with text that is queued for that agent. It skips messages
// offered to the turn, which the turn reads anyway, and messages of guests, who may not answer
// for the owner.
func (p *Messages) QueuedAnswer(c tools.Caller, prompt wire.PromptID) (Message, bool) {
	t, q := p.turns.ofCaller(c), p.questions.questionOf("", prompt)
	if t == nil || q == nil || t.stopping() || len(t.Taken) >= maxTaken || t != p.turns.ofMain(t.Monitor) {
		return Message{}, false
	}
	if _, ok := history.AnsweredBy(q.Ask); !ok {
		return Message{}, false
	}
	for _, w := range p.queues.main.All(string(t.Monitor)) {
		if w.Offered == "" && len(w.Images) == 0 && strings.TrimSpace(w.Text) != "" && (!w.Guest || t.Guest) {
			return w.Message, true
		}
	}
	return Message{}, false
}

// AnswerByQueued removes a message returned by [Messages.QueuedAnswer] from its queue. The turn
// reads it as the answer.
func (p *Messages) AnswerByQueued(m Message, asked string) {
	t := p.turns.ofMain(m.Monitor)
	p.queues.dequeue(func(w *queuedMessage) bool { return w.ID == m.ID })
	if row, ok := p.state.Desktop().Rows().UserRow(m.ID); ok {
		row.ProgressStatus = answerStatus(asked)
		p.updateRow(row)
	}
	p.queues.acceptAnswer(t, &m)
	p.advance()
}

// AnswerResume answers the question whether to continue a turn that was cut off, and reports
// whether the row asks that. With yes a new turn begins on the same thread, with the reason of
// the interruption and the user's text in its prompt.
func (p *Messages) AnswerResume(ts wire.Millis, yes bool, text string) bool {
	found := p.router.answerResume(ts, yes, text)
	if found {
		p.advance()
	}
	return found
}

// HandleUserMessage routes a message to the main agent of a monitor, in the order of arrival:
// the agent begins a turn with it, the running turn is offered it, an ephemeral agent is
// created for it, it is queued, or it is rejected.
func (p *Messages) HandleUserMessage(m Message) {
	p.queues.ensureUniqueID(&m)
	p.queues.addMessageRow(&m, m.Text)
	p.router.route(&queuedMessage{Message: m})
	p.advance()
}

// Withdraw removes a message from its queue at the user's request, and reports whether it was
// there. A message offered to a turn cannot be withdrawn.
func (p *Messages) Withdraw(id wire.MessageID) bool {
	gone := p.queues.dequeue(func(w *queuedMessage) bool { return w.ID == id && w.Offered == "" })
	p.queues.rejectRemoved(gone, removedFromQueue)
	p.advance()
	return len(gone) > 0
}

// WithdrawAll does what Withdraw does for all queued messages of a scope, and reports whether there were any.
func (p *Messages) WithdrawAll(s Scope) bool {
	turns := p.turns.sorted()
	gone := p.queues.dequeue(func(w *queuedMessage) bool { return w.Offered == "" && s.includesQueued(w, turns) })
	p.queues.rejectRemoved(gone, removedFromQueue)
	p.advance()
	return len(gone) > 0
}

// CancelResult is the result of [Messages.CancelMessage].
type CancelResult int

// Results of CancelMessage.
const (
	// MessageUnknown means that the message is neither queued nor in a turn.
	MessageUnknown CancelResult = iota
	// MessageRemoved means that the message was queued and has been removed.
	MessageRemoved
	// MessageTaken means that a turn has the message or is being offered it.
	MessageTaken
)

// CancelMessage removes a message from its queue and rejects it with the reason. A message that
// a turn has or is offered stays there.
func (p *Messages) CancelMessage(id wire.MessageID, reason string) CancelResult {
	gone := p.queues.dequeue(func(w *queuedMessage) bool { return w.ID == id && w.Offered == "" })
	p.queues.rejectRemoved(gone, reason)
	p.advance()
	switch {
	case len(gone) > 0:
		return MessageRemoved
	case p.queues.knowsMessage(id):
		return MessageTaken
	default:
		return MessageUnknown
	}
}

// RejectOversized rejects a queued message whose turn can never begin, because the step is too
// large to be stored.
func (p *Messages) RejectOversized(id wire.MessageID) {
	for _, w := range p.queues.dequeue(func(w *queuedMessage) bool { return w.ID == id }) {
		p.queues.reject(&w.Message, wire.CodeMessageTooLarge, "what comes of the message is too large to be kept")
	}
}

// HandleWindowMessage routes a message to a window, for the agent that the window shares with
// the windows it opened.
func (p *Messages) HandleWindowMessage(m Message) {
	p.queues.ensureUniqueID(&m)
	p.queues.addMessageRow(&m, m.Text)
	p.router.routeToWindow(&queuedMessage{Message: m})
	p.advance()
}

// HandleComponentAction routes a press of a button in a window. m has its id, sender and
// monitor. A button with an ActionID begins a turn of its own in parallel to others, on a copy
// of the window agent's thread.
func (p *Messages) HandleComponentAction(m Message, a wire.ComponentAction) {
	p.queues.ensureUniqueID(&m)
	m.Window = a.WindowID
	title := a.WindowTitle
	p.queues.addMessageRow(&m, fmt.Sprintf("%s (%s)", buttonLabel(a), cmp.Or(title, string(a.WindowID))))
	m.Text = policies.ComponentClick(a.Action, a.WindowID, title, a.ComponentPath, a.FormID, a.FormData)
	p.router.routeToWindow(&queuedMessage{Message: m, Action: a.ActionID})
	p.advance()
}

// buttonLabel returns the label of the pressed button, or its action.
func buttonLabel(a wire.ComponentAction) string {
	if len(a.ComponentPath) > 0 {
		_, label, _ := strings.Cut(a.ComponentPath[len(a.ComponentPath)-1], "Button:")
		return cmp.Or(truncate(strings.Join(strings.Fields(label), " "), nameBytes), a.Action)
	}
	return a.Action
}
