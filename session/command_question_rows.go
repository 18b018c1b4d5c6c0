package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// This file answers questions through the rows of the conversation. A question of an agent is a
// dialog or a prompt, and also a row that names it. The first answer counts, whether it came to the
// dialog, to the prompt or to the row.

// limitQuestionTimeout bounds the wait for the decision whether agents may exceed a limit of requests
// or cost.
const limitQuestionTimeout = 24 * time.Hour

// limitDialog turns a permission question into the question whether to exceed the limit.
func limitDialog(q wire.DialogConfirm, limit approval.Limit) wire.DialogConfirm {
	q.Title, q.ConfirmText, q.CancelText = "Go on?", "Go on", "Stop"
	q.Message = fmt.Sprintf("The agents have made the %s requests that they may make without asking.", limit.Count)
	switch limit.Type {
	case "cost":
		q.Message = fmt.Sprintf("The agents have spent the $%s that they may spend without asking.", limit.Count)
	case "unknown_cost":
		q.Message = fmt.Sprintf("The agents may spend $%s without asking, but the price of their model is unknown.", limit.Count)
	}
	permission := wire.PermissionOptions{}
	if q.PermissionOptions != nil {
		permission = *q.PermissionOptions
	}
	permission.ShowRememberChoice = false
	q.PermissionOptions = &permission
	return q
}

// outsideDialog adds to a permission question why it is asked: the agent has read outside data. The answer holds
// for this call only.
func outsideDialog(q wire.DialogConfirm, sources []string) wire.DialogConfirm {
	q.Message += "\n\nThe agent asks because this conversation has read data from " + strings.Join(sources, ", ") +
		". Such data can contain instructions of others."
	permission := wire.PermissionOptions{}
	if q.PermissionOptions != nil {
		permission = *q.PermissionOptions
	}
	permission.ShowRememberChoice = false
	q.PermissionOptions = &permission
	return q
}

// recordVerdict stores a decision of the auto-approval rules, for the case that the agent asks
// again at the next owner.
func (q *questions) recordVerdict(c tools.Caller, asked contextpool.Inquiry, v approval.Verdict) tools.Verdict {
	e := ending{
		Time: wire.Millis(q.w.now.UnixMilli()), Reason: wire.ClosedAnswered, Confirmed: v == approval.Approve,
		Monitor: c.Monitor, KeptForAgent: true, Rules: true,
	}
	q.closed.add(dialogName(asked.Dialog), e, &q.w.step.ops)
	q.agents.poolForUpdate().Questions.AddDecisionRow(c, asked, v)
	return e.verdict()
}

// updateQuestionRow updates the row of a question that has ended.
func (q *questions) updateQuestionRow(dialog wire.DialogID, prompt wire.PromptID, e ending) {
	if q.agents == nil {
		return
	}
	r := contextpool.Reply{Reason: e.Reason, Text: e.Text}
	if e.Reason == wire.ClosedAnswered {
		switch {
		case prompt != "":
			parts := slices.DeleteFunc(append(slices.Clone(e.Selected), e.Text), func(s string) bool { return s == "" })
			r.Response, r.Text = wire.AnswerMessage, strings.Join(parts, ", ")
		case e.Confirmed:
			r.Response = wire.AnswerYes
		default:
			r.Response = wire.AnswerNo
		}
	}
	q.agents.poolForUpdate().Questions.CloseQuestion(dialog, prompt, r)
}

// answerRow accepts an answer to the row of a question and passes it to the dialog or prompt of the
// row. A row that was answered already is passed on as well: the same answer again gets the first
// result.
func (q *questions) answerRow(c *Command, m wire.AskResponse) reply {
	if !q.allowAnswer() {
		return tooManyAnswers()
	}
	nothingToAnswer := refused(wire.CodeSessionInvalidState, "there is nothing to answer")
	if q.agents == nil {
		return nothingToAnswer
	}
	dialog, prompt, open := q.agents.poolForUpdate().Questions.OpenQuestion(m.TS)
	if !open {
		if q.agents.poolForUpdate().Messages.AnswerResume(m.TS, m.Response == wire.AnswerYes || m.Response == wire.AnswerMessage, m.Text) {
			return reply{}
		}
		row, ok := q.w.state.Rows().Row(m.TS)
		if !ok || row.Type != wire.RowAsk || !row.IsAnswered {
			return nothingToAnswer
		}
		if dialog, prompt = contextpool.QuestionOfRow(row); dialog == "" && prompt == "" {
			return refused(wire.CodeHITLRequestExpired, "the question is answered already")
		}
	}
	if dialog != "" {
		f, err := feedbackOf(dialog, m)
		if err != nil {
			return refused(wire.CodeHITLInvalidResponse, "%v", err)
		}
		return q.answerDialog(c, f, m.Text)
	}
	p, _ := q.w.state.Notices().Prompt(prompt)
	p.ID = prompt
	r, err := responseTo(p, m)
	if err != nil {
		return refused(wire.CodeHITLInvalidResponse, "%v", err)
	}
	return q.answerPrompt(c, r)
}

// feedbackOf converts an answer to a row into one to its dialog. A text alone confirms nothing.
func feedbackOf(id wire.DialogID, m wire.AskResponse) (wire.DialogFeedback, error) {
	f := wire.DialogFeedback{DialogID: id, Confirmed: m.Response == wire.AnswerYes}
	if m.Response != wire.AnswerObject {
		return f, nil
	}
	var object struct {
		Confirmed      *bool               `json:"confirmed"`
		RememberChoice wire.RememberChoice `json:"rememberChoice"`
	}
	if err := json.Unmarshal([]byte(m.Text), &object); err != nil || object.Confirmed == nil {
		return f, errors.New("text: the answer to a dialog is an object with confirmed")
	}
	switch object.RememberChoice {
	case "", wire.RememberOnce, wire.RememberAlways, wire.RememberDenyAlways:
	default:
		return f, fmt.Errorf("text: there is no rememberChoice %q", object.RememberChoice)
	}
	f.Confirmed, f.RememberChoice = *object.Confirmed, object.RememberChoice
	return f, nil
}

// responseTo converts an answer to a row into one to its prompt.
func responseTo(p wire.OpenPrompt, m wire.AskResponse) (wire.UserPromptResponse, error) {
	r := wire.UserPromptResponse{PromptID: p.ID}
	switch m.Response {
	case wire.AnswerNo:
		r.Dismissed = true
		return r, nil
	case wire.AnswerObject:
		var object struct {
			SelectedValues []string `json:"selectedValues"`
			Text           string   `json:"text"`
			Dismissed      bool     `json:"dismissed"`
		}
		if err := json.Unmarshal([]byte(m.Text), &object); err != nil {
			return r, errors.New("text: the answer to a prompt is an object with selectedValues or text")
		}
		r.SelectedValues, r.Text, r.Dismissed = object.SelectedValues, object.Text, object.Dismissed
		return r, nil
	default:
		return textAnswer(p, m.Text), nil
	}
}

// textAnswer converts a text into an answer to a prompt: the option that it names, or the text
// itself.
func textAnswer(p wire.OpenPrompt, text string) wire.UserPromptResponse {
	r := wire.UserPromptResponse{PromptID: p.ID}
	trimmed := strings.TrimSpace(text)
	for _, o := range p.Options {
		if trimmed != "" && (trimmed == o.Value || trimmed == o.Label) {
			r.SelectedValues = []string{o.Value}
			return r
		}
	}
	r.Text = text
	return r
}

// promptAnsweredBy returns the prompt that a message to a main agent answers: one with an input
// field that the running turn of that agent has opened. Dialogs cannot be confirmed that way.
func (q *questions) promptAnsweredBy(m contextpool.Message) (wire.OpenPrompt, wire.UserPromptResponse, bool) {
	if _, prompts := q.w.state.Notices().Questions(); prompts == 0 || q.agents == nil || len(m.Images) > 0 || strings.TrimSpace(m.Text) == "" {
		return wire.OpenPrompt{}, wire.UserPromptResponse{}, false
	}
	role, ok := q.agents.poolForUpdate().Messages.AnswerableTurn(m)
	if !ok {
		return wire.OpenPrompt{}, wire.UserPromptResponse{}, false
	}
	q.expire()
	_, open := q.w.state.Notices().OpenQuestions()
	for _, p := range open {
		if given := textAnswer(p, m.Text); p.AgentID == role && p.InputField != nil && promptMismatch(p, given) == "" {
			return p, given, true
		}
	}
	return wire.OpenPrompt{}, wire.UserPromptResponse{}, false
}

// answerFromQueue answers a prompt that was just opened with a message that is queued for its
// agent, if one fits.
func (q *questions) answerFromQueue(c tools.Caller, id wire.PromptID) (wire.UserPromptResponse, bool) {
	p, open := q.w.state.Notices().Prompt(id)
	m, waits := q.agents.poolForUpdate().Messages.QueuedAnswer(c, id)
	given := textAnswer(p, m.Text)
	if !open || !waits || p.InputField == nil || promptMismatch(p, given) != "" {
		return wire.UserPromptResponse{}, false
	}
	q.agents.poolForUpdate().Messages.AnswerByQueued(m, cmp.Or(p.Title, p.Message))
	q.closePrompt(p, ending{Reason: wire.ClosedAnswered, By: m.By, Answer: digest(given)}, m.ID, &given)
	return given, true
}

// recordUserActivity cancels the automatic answers of the rules after a message that only a person
// sends: the rules answer questions only while people are away.
func (cs *commands) recordUserActivity(c *Command) {
	if cs.agents == nil {
		return
	}
	switch c.Message.Data.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.UserInteractions, wire.Interrupt, wire.InterruptAgent,
		wire.DialogFeedback, wire.UserPromptResponse, wire.AskResponse, wire.ToastAction, wire.SetAutoApproval,
		wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse,
		wire.ControlPause, wire.ControlResume, wire.ControlCancel, wire.ControlRetry, wire.ControlSkip:
		cs.agents.pool.Questions.CancelAutoAnswers()
	}
}

// answerOverdue answers the prompts for which the rules have an automatic answer that is due.
func (q *questions) answerOverdue() {
	if q.agents == nil {
		return
	}
	for id, value := range q.agents.pool.Questions.DueAutoAnswers() {
		if p, ok := q.w.state.Notices().Prompt(id); ok {
			given := wire.UserPromptResponse{PromptID: id, SelectedValues: []string{value}}
			q.closePrompt(p, ending{Reason: wire.ClosedAnswered, Rules: true}, "", &given)
		}
	}
}

// setApproval sets the auto-approval rules. A sender that cannot grant permissions, or only for one
// call, cannot set rules.
func (q *questions) setApproval(c *Command, m wire.SetAutoApproval) reply {
	switch {
	case q.agents == nil:
		return refused(wire.CodeProviderUnavailable, "no agent is available in this session")
	case c.isGuestOf(q.w.user) || c.From.Invited:
		return refused(wire.CodeForbidden, "only the owner of the session can say what its agents may do")
	case (m.Rules == nil) != m.UseDefault:
		return refused(wire.CodeInvalidMessage, "rules: want either rules or useDefault")
	}
	q.agents.poolForUpdate().Questions.SetApproval(m.Rules, c.From.Connection, c.Message.ID)
	return reply{}
}
