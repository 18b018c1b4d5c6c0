package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// The newest closed questions are stored, so that a late answer gets the reason of its refusal.
const (
	closedTable        = "closed"
	maxClosedQuestions = 200
)

// ending is how a question ended.
type ending struct {
	Time   wire.Millis      `json:"t"`
	Reason wire.CloseReason `json:"r"`
	// By is the connection that answered, Answer a digest of its answer.
	By        wire.ConnectionID `json:"b,omitempty"`
	Answer    string            `json:"a,omitempty"`
	Confirmed bool              `json:"c,omitempty"`
	Monitor   wire.MonitorID    `json:"m,omitempty"`
	// KeptForAgent says that an agent asked and the rest of the answer is stored here: the owner
	// may die before the agent's use of the answer is committed, and the agent then asks again.
	KeptForAgent bool                `json:"u,omitempty"`
	Remember     wire.RememberChoice `json:"k,omitempty"`
	Selected     []string            `json:"s,omitempty"`
	Text         string              `json:"x,omitempty"`
	// Rules says that the auto-approval rules decided.
	Rules bool `json:"l,omitempty"`
}

// maxKeptAnswer is the size in bytes up to which an answer is stored for an agent that asks again.
// After a longer answer people are asked again.
const maxKeptAnswer = 16 << 10

func (e *ending) verdict() tools.Verdict {
	return tools.Verdict{
		Confirmed: e.Confirmed, Remember: e.Remember, Answered: e.Reason == wire.ClosedAnswered, Rules: e.Rules, Text: e.Text,
	}
}

func (e *ending) response(id wire.PromptID) wire.UserPromptResponse {
	return wire.UserPromptResponse{
		PromptID: id, SelectedValues: e.Selected, Text: e.Text, Dismissed: e.Reason != wire.ClosedAnswered,
	}
}

var endingFormat = sync.OnceValue(wire.FormatOf[ending])

// closedQuestions are the newest closed questions, by the keys that dialogName and promptName make.
// The zero value is empty.
type closedQuestions struct {
	by    map[string]ending
	order []string // oldest first
}

func dialogName(id wire.DialogID) string { return "d." + fieldName(string(id)) }
func promptName(id wire.PromptID) string { return "p." + fieldName(string(id)) }

// fieldName returns an id that is short enough for a table field: the id itself or its hash.
func fieldName(id string) string {
	if len(id) <= 200 {
		return id
	}
	return "#" + hashText(id)
}

func (q *closedQuestions) clone() closedQuestions {
	return closedQuestions{maps.Clone(q.by), slices.Clone(q.order)}
}

func (q *closedQuestions) find(name string) (ending, bool) {
	e, ok := q.by[name]
	return e, ok
}

// add records how a question ended, and drops the oldest beyond maxClosedQuestions.
func (q *closedQuestions) add(name string, e ending, ops *[]store.Op) {
	if q.by == nil {
		q.by = map[string]ending{}
	}
	if _, known := q.by[name]; known {
		q.order = slices.DeleteFunc(q.order, func(n string) bool { return n == name })
	}
	q.by[name] = e
	q.order = append(q.order, name)
	*ops = append(*ops, store.Set(closedTable, name, endingFormat().Append(nil, &e)))
	for len(q.order) > maxClosedQuestions {
		delete(q.by, q.order[0])
		*ops = append(*ops, store.Unset(closedTable, q.order[0]))
		q.order = q.order[1:]
	}
}

// restore reads the table that add writes.
func (q *closedQuestions) restore(table map[string][]byte) error {
	q.by, q.order = make(map[string]ending, len(table)), nil
	for name, data := range table {
		e, err := endingFormat().DecodeOwn(data)
		if err != nil {
			return fmt.Errorf("question %q: %w", name, err)
		}
		q.by[name] = e
		q.order = append(q.order, name)
	}
	slices.SortFunc(q.order, func(a, b string) int { return cmp.Compare(q.by[a].Time, q.by[b].Time) })
	return nil
}

// all returns the ops that write all entries again.
func (q *closedQuestions) all() []store.Op {
	ops := make([]store.Op, 0, len(q.by))
	for _, name := range q.order {
		e := q.by[name]
		ops = append(ops, store.Set(closedTable, name, endingFormat().Append(nil, &e)))
	}
	return ops
}

// newAnswerLimiter allows perMinute answers in any minute: half of them may come at once, the other
// half is the refill of a minute.
func newAnswerLimiter(perMinute int) *rate.Limiter {
	if perMinute < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	burst := max(perMinute/2, 1) // a todo may ask for several values at once
	refill := max(perMinute-burst, 1)
	return rate.NewLimiter(rate.Every(time.Minute/time.Duration(refill)), burst)
}

// questions opens, answers and closes the questions to people: dialogs, prompts and their rows in
// the conversation.
type questions struct {
	w       *stepWriter
	agents  *agents
	closed  closedQuestions
	limiter *rate.Limiter // of answers
}

// expire closes all questions whose deadline is over.
func (q *questions) expire() {
	for q.expireOne() {
	}
}

// expireOne closes one question whose deadline is over and reports whether there was one.
func (q *questions) expireOne() bool {
	d, ok := q.w.state.Notices().NextDeadline()
	switch {
	case !ok || d.At > wire.Millis(q.w.now.UnixMilli()):
		return false
	case d.Dialog != "":
		dialog, _ := q.w.state.Notices().Dialog(d.Dialog)
		q.closeDialog(dialog, ending{Reason: wire.ClosedExpired}, "", "")
	default:
		prompt, _ := q.w.state.Notices().Prompt(d.Prompt)
		q.closePrompt(prompt, ending{Reason: wire.ClosedExpired}, "", nil)
	}
	return true
}

// closeDialog closes a dialog. remember is the user's choice for later calls of the same kind.
func (q *questions) closeDialog(d wire.ApprovalRequest, e ending, message wire.MessageID, remember wire.RememberChoice) {
	if q.agents != nil && q.agents.pool.Questions.IsLimitQuestion(d.DialogID) {
		remember = wire.RememberOnce // the question was not whether the call is allowed in general
	}
	e.Time, e.Monitor, e.Remember = wire.Millis(q.w.now.UnixMilli()), d.MonitorID, remember
	q.endQuestion(dialogName(d.DialogID), d.AgentID, e, e.verdict())
	q.w.Emit(wire.DialogClosed{
		DialogID: d.DialogID, Reason: e.Reason, AnsweredBy: e.By, Confirmed: e.Confirmed,
		MonitorID: d.MonitorID, MessageID: message,
	})
	q.updateQuestionRow(d.DialogID, "", e)
}

// endQuestion records how a question ended and passes the answer to the waiting agent after the
// commit. The answer is stored for the case that the agent asks again, which is the same call of
// the same turn at the next owner: the ids of questions are derived from the call.
func (q *questions) endQuestion(name string, agent wire.AgentID, e ending, answer any) {
	size := len(e.Text)
	for _, s := range e.Selected {
		size += len(s)
	}
	e.KeptForAgent = agent != "" && q.agents != nil && e.Reason != wire.ClosedCancelled && size <= maxKeptAnswer
	if !e.KeptForAgent {
		e.Remember, e.Selected, e.Text = "", nil, ""
	}
	q.w.untrackQuestion(name)
	q.closed.add(name, e, &q.w.step.ops)
	q.agents.answerAfterCommit(name, answer)
}

// keptAnswer returns the stored answer to a question that an agent asks again.
func (q *questions) keptAnswer(name string) (ending, bool) {
	e, ok := q.closed.find(name)
	return e, ok && e.KeptForAgent
}

// closePrompt closes a prompt. given is the answer; nil means dismissed.
func (q *questions) closePrompt(p wire.OpenPrompt, e ending, message wire.MessageID, given *wire.UserPromptResponse) {
	e.Time, e.Monitor = wire.Millis(q.w.now.UnixMilli()), p.MonitorID
	if given == nil {
		given = &wire.UserPromptResponse{PromptID: p.ID, Dismissed: true}
	}
	e.Selected, e.Text = given.SelectedValues, given.Text
	q.endQuestion(promptName(p.ID), p.AgentID, e, *given)
	q.w.Emit(wire.PromptClosed{
		PromptID: p.ID, Reason: e.Reason, AnsweredBy: e.By, MonitorID: p.MonitorID, MessageID: message,
	})
	q.updateQuestionRow("", p.ID, e)
}

// answerDialog accepts the first answer to a dialog. A choice for later calls applies to all sessions of
// the user, so an invited sender can answer for this call only.
func (q *questions) answerDialog(c *Command, m wire.DialogFeedback, text string) reply {
	if c.From.Invited {
		m.RememberChoice = wire.RememberOnce
	}
	given := ending{
		Reason: wire.ClosedAnswered, By: c.From.Connection, Confirmed: m.Confirmed, Text: text,
		Answer: digest(wire.DialogFeedback{DialogID: m.DialogID, Confirmed: m.Confirmed, RememberChoice: m.RememberChoice}),
	}
	q.expire()
	done := reply{Verdict: verdictDialog, Question: string(m.DialogID)}
	if d, ok := q.w.state.Notices().Dialog(m.DialogID); ok {
		if d.PermissionOptions != nil && c.isGuestOf(q.w.user) {
			return refused(wire.CodeForbidden, "only the owner of the session can answer this")
		}
		q.closeDialog(d, given, c.Message.ID, m.RememberChoice)
		return done
	}
	end, ok := q.closed.find(dialogName(m.DialogID))
	if !ok {
		return refused(wire.CodeHITLInvalidResponse, "there is no dialog %q", m.DialogID)
	}
	return q.answerClosedQuestion(c, end, given, done)
}

// answerPrompt accepts the first valid answer to a prompt.
func (q *questions) answerPrompt(c *Command, m wire.UserPromptResponse) reply {
	given := ending{Reason: wire.ClosedAnswered, By: c.From.Connection, Answer: digest(wire.UserPromptResponse{
		PromptID: m.PromptID, SelectedValues: m.SelectedValues, Text: m.Text, Dismissed: m.Dismissed,
	})}
	if m.Dismissed {
		given.Reason = wire.ClosedDismissed
	}
	q.expire()
	done := reply{Verdict: verdictPrompt, Question: string(m.PromptID)}
	if p, ok := q.w.state.Notices().Prompt(m.PromptID); ok {
		if isCellInput(m.PromptID) && (c.isGuestOf(q.w.user) || c.From.Invited) {
			return refused(wire.CodeForbidden, "only the owner of the session can give input to code, which may execute it")
		}
		if why := promptMismatch(p, m); why != "" {
			return refused(wire.CodeHITLInvalidResponse, "%s", why)
		}
		q.closePrompt(p, given, c.Message.ID, &m)
		return done
	}
	end, ok := q.closed.find(promptName(m.PromptID))
	if !ok {
		return refused(wire.CodeHITLInvalidResponse, "there is no prompt %q", m.PromptID)
	}
	return q.answerClosedQuestion(c, end, given, done)
}

// answerClosedQuestion answers a command for a question that is closed already. A sender that
// repeats its own answer gets the same event again.
func (q *questions) answerClosedQuestion(c *Command, end, given ending, done reply) reply {
	if end.Answer != "" && end.By == given.By && end.Answer == given.Answer {
		q.emitQuestionClosed(c.Message.ID, done, end)
		return done
	}
	switch end.Reason {
	case wire.ClosedExpired:
		return refused(wire.CodeHITLRequestExpired, "there was no answer in time")
	case wire.ClosedCancelled:
		return refused(wire.CodeHITLRequestExpired, "the question was withdrawn")
	}
	return refused(wire.CodeHITLRequestExpired, "%s has answered already", cmp.Or(end.By, "another tab"))
}

// emitQuestionClosed emits the end of a question again.
func (q *questions) emitQuestionClosed(message wire.MessageID, r reply, end ending) {
	if r.Verdict == verdictDialog {
		q.w.Emit(wire.DialogClosed{
			DialogID: wire.DialogID(r.Question), Reason: end.Reason, AnsweredBy: end.By, Confirmed: end.Confirmed,
			MonitorID: end.Monitor, MessageID: message,
		})
		return
	}
	q.w.Emit(wire.PromptClosed{
		PromptID: wire.PromptID(r.Question), Reason: end.Reason, AnsweredBy: end.By, MonitorID: end.Monitor, MessageID: message,
	})
}

// promptMismatch returns why an answer does not fit a prompt, or "".
func promptMismatch(p wire.OpenPrompt, m wire.UserPromptResponse) string {
	if m.Dismissed {
		if p.AllowDismiss != nil && !*p.AllowDismiss {
			return "the prompt cannot be dismissed"
		}
		return ""
	}
	for _, v := range m.SelectedValues {
		if !slices.ContainsFunc(p.Options, func(o wire.PromptOption) bool { return o.Value == v }) {
			return fmt.Sprintf("the prompt has no option %q", v)
		}
	}
	switch {
	case len(m.SelectedValues) > 1 && !p.MultiSelect:
		return "the prompt takes one option"
	case m.Text != "" && p.InputField == nil:
		return "the prompt takes no text"
	case len(m.SelectedValues) == 0 && m.Text == "" && p.InputField == nil && len(p.Options) > 0:
		return "the prompt wants one of its options"
	}
	return ""
}

// cancelAll closes the open questions of an agent.
func (q *questions) cancelAll(agent wire.AgentID) {
	dialogs, prompts := q.w.state.Notices().OpenQuestions()
	for _, d := range dialogs {
		if d.AgentID == agent {
			q.closeDialog(d, ending{Reason: wire.ClosedCancelled}, "", "")
		}
	}
	for _, p := range prompts {
		if p.AgentID == agent {
			q.closePrompt(p, ending{Reason: wire.ClosedCancelled}, "", nil)
		}
	}
}

// allowAnswer counts an answer to a question and reports whether it is within the rate limit.
func (q *questions) allowAnswer() bool {
	if q.limiter.AllowN(q.w.now, 1) {
		return true
	}
	q.w.observer.Limited(limitAnswers)
	return false
}
