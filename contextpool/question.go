package contextpool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// questionTable holds the open questions.
const questionTable = "asking"

// question is an unanswered row that asks something: on behalf of a dialog, of a prompt, or,
// with neither, whether to resume an interrupted turn.
type question struct {
	history.OpenAsk
	Agent   wire.AgentID   `json:"agent,omitempty"`
	Monitor wire.MonitorID `json:"monitor,omitempty"`
	Message wire.MessageID `json:"message,omitempty"`
	Dialog  wire.DialogID  `json:"dialog,omitempty"`
	Prompt  wire.PromptID  `json:"prompt,omitempty"`
}

// Inquiry is a question of a turn to the user.
type Inquiry struct {
	Dialog wire.DialogID
	// Call is the tool call that a dialog asks permission for.
	Call providers.ToolCall
	// Limit is set if the auto-approval rules allow the call but a limit is exceeded.
	Limit *approval.Limit
	// Prompt is set if the user is to enter or choose something.
	Prompt *wire.Prompt
}

// askRow is the JSON text of a row that asks.
type askRow struct {
	Tool       string          `json:"tool,omitempty"`
	Type       string          `json:"type,omitempty"`
	ServerName string          `json:"serverName,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Command    string          `json:"command,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Count      string          `json:"count,omitempty"`
	Title      string          `json:"title,omitempty"`
	Question   string          `json:"question,omitempty"`
	// Suggest lists answers to choose from.
	Suggest  []suggestion  `json:"suggest,omitempty"`
	DialogID wire.DialogID `json:"dialogId,omitempty"`
	PromptID wire.PromptID `json:"promptId,omitempty"`
	// Rules is the decision of the auto-approval rules, if the user was not asked.
	Rules approval.Verdict `json:"rules,omitempty"`
	// Outcome says how the question ended, Response and Answer hold the answer.
	Outcome  wire.CloseReason `json:"outcome,omitempty"`
	Response wire.AskAnswer   `json:"response,omitempty"`
	Answer   string           `json:"answer,omitempty"`
}

type suggestion struct {
	Answer string `json:"answer"`
	Label  string `json:"label,omitempty"`
}

// questionRow returns the row of a question and its text.
func (p *Pool) questionRow(t *turn, q Inquiry) (wire.UIRow, askRow) {
	text := askRow{DialogID: q.Dialog}
	ask := wire.AskFollowup
	switch {
	case q.Prompt != nil:
		text.PromptID, text.Title, text.Question = q.Prompt.ID, truncate(q.Prompt.Title, rowBytes), truncate(q.Prompt.Message, rowBytes)
		for _, o := range q.Prompt.Options {
			s := suggestion{Answer: truncate(o.Value, nameBytes)}
			if o.Label != o.Value {
				s.Label = truncate(o.Label, nameBytes)
			}
			text.Suggest = append(text.Suggest, s)
		}
	case q.Limit != nil:
		ask, text.Type, text.Count = wire.AskAutoApprovalMaxReqReached, q.Limit.Type, q.Limit.Count
		text.Tool = truncate(q.Call.Name, nameBytes)
	default:
		about := approval.NewQuestion(q.Call.Name, q.Call.Input)
		ask = about.Ask
		text.Tool, text.Input = truncate(q.Call.Name, nameBytes), rowInput(q.Call.Input, p.rowLimit())
		text.Command = truncate(about.Command, p.rowLimit())
		if ask == wire.AskUseMCPServer {
			text.Type, text.ServerName, text.ToolName = "use_mcp_tool", truncate(about.Server, nameBytes), truncate(about.Tool, nameBytes)
			if about.Resource {
				text.Type = "access_mcp_resource"
			}
		}
	}
	row := t.row("", "")
	row.Type, row.Ask = wire.RowAsk, ask
	return row, text
}

// AskUser adds the row of a question of the caller's turn. A question that the previous owner
// had opened already has its row.
func (p *Pool) AskUser(c tools.Caller, q Inquiry) {
	t := p.callerTurn(c)
	if t == nil {
		return
	}
	prompt := wire.PromptID("")
	if q.Prompt != nil {
		prompt = q.Prompt.ID
	}
	if p.questionOf(q.Dialog, prompt) != nil {
		return
	}
	row, text := p.questionRow(t, q)
	row.Text = string(encode(text))
	asked := &question{Dialog: q.Dialog, Prompt: prompt}
	asked.Ask = row.Ask
	if q.Prompt != nil && len(q.Prompt.Options) > 0 && !t.Guest {
		rules := p.state.Desktop().AutoApproval()
		suggested := q.Prompt.Options[0].Value
		if approval.Decide(rules, approval.Question{Ask: row.Ask, Suggested: suggested}) == approval.AfterTimeout {
			asked.Suggested = suggested
			asked.Until = wire.Millis(p.step.Now().Add(time.Duration(rules.FollowupAutoApproveTimeoutMs) * time.Millisecond).UnixMilli())
		}
	}
	p.openQuestion(t, p.rows.AddRow(row), asked)
}

// openQuestion stores the question of a turn, whose row is ts.
func (p *Pool) openQuestion(t *turn, ts wire.Millis, q *question) {
	q.TS, q.Since, q.Task = ts, wire.Millis(p.step.Now().UnixMilli()), wire.TaskID(t.key())
	q.Agent, q.Monitor, q.Message = t.Role, t.Monitor, t.messageID()
	p.questions[ts] = q
	p.openAsks.Open(q.OpenAsk)
	p.storeQuestion(q)
}

func (p *Pool) storeQuestion(q *question) {
	p.step.AddOps(store.Set(questionTable, askField(q.TS), encode(q)))
}

func (p *Pool) questionOf(dialog wire.DialogID, prompt wire.PromptID) *question {
	for _, q := range p.questions {
		if dialog != "" && q.Dialog == dialog || prompt != "" && q.Prompt == prompt {
			return q
		}
	}
	return nil
}

// OpenQuestion returns the dialog or prompt that an unanswered row belongs to.
func (p *Pool) OpenQuestion(ts wire.Millis) (wire.DialogID, wire.PromptID, bool) {
	q := p.questions[ts]
	if q == nil || q.Dialog == "" && q.Prompt == "" {
		return "", "", false
	}
	return q.Dialog, q.Prompt, true
}

// QuestionOfRow returns the dialog or prompt in the text of a row that asks.
func QuestionOfRow(row wire.UIRow) (wire.DialogID, wire.PromptID) {
	var text askRow
	if unmarshal([]byte(row.Text), &text) != nil {
		return "", ""
	}
	return text.DialogID, text.PromptID
}

// IsLimitQuestion reports whether the dialog asks to continue although a limit of the
// auto-approval rules is exceeded.
func (p *Pool) IsLimitQuestion(dialog wire.DialogID) bool {
	q := p.questionOf(dialog, "")
	return q != nil && q.Ask == wire.AskAutoApprovalMaxReqReached
}

// Reply is the end of a question.
type Reply struct {
	Reason   wire.CloseReason
	Response wire.AskAnswer
	Text     string
}

// CloseQuestion updates the row of a question that ended, in whatever way, and removes the
// question.
func (p *Pool) CloseQuestion(dialog wire.DialogID, prompt wire.PromptID, r Reply) {
	q := p.questionOf(dialog, prompt)
	if q == nil {
		return
	}
	if q.Ask == wire.AskAutoApprovalMaxReqReached && r.Response == wire.AnswerYes {
		p.setApprovalUsage(p.approvalUsage.Reset())
	}
	if row, ok := p.findRow(q.Monitor, q.TS); ok {
		var text askRow
		if unmarshal([]byte(row.Text), &text) == nil {
			text.Outcome, text.Response, text.Answer = r.Reason, r.Response, truncate(r.Text, rowBytes)
			row.Text = string(encode(text))
		}
		row.IsAnswered = true
		p.updateRow(row)
	}
	p.removeQuestion(q.TS)
}

// removeQuestion deletes an open question and publishes the new status of its task.
func (p *Pool) removeQuestion(ts wire.Millis) {
	q := p.questions[ts]
	if q == nil {
		return
	}
	delete(p.questions, ts)
	p.step.AddOps(store.Unset(questionTable, askField(ts)))
	if _, back, _ := p.openAsks.Close(ts); back != nil {
		p.emitTaskStatus(q, back.Status)
	}
	p.step.Emit(wire.TaskAskResponded{Task: q.taskRef()})
}

func (q *question) taskRef() wire.Task {
	return wire.Task{TaskID: q.Task, MonitorID: q.Monitor, AgentID: q.Agent, MessageID: q.Message}
}

// emitTaskStatus publishes the status of a task.
func (p *Pool) emitTaskStatus(q *question, s history.WaitStatus) {
	switch s {
	case history.WaitsInteractive:
		p.step.Emit(wire.TaskInteractive{Task: q.taskRef()})
	case history.WaitsResumable:
		p.step.Emit(wire.TaskResumable{Task: q.taskRef()})
	case history.WaitsIdle:
		p.step.Emit(wire.TaskIdle{Task: q.taskRef()})
	default:
		p.step.Emit(wire.TaskActive{Task: q.taskRef()})
	}
}

// updateWaitingTasks publishes the tasks that have been waiting for the user long enough.
func (p *Pool) updateWaitingTasks() {
	changes, told := p.openAsks.MarkWaiting(wire.Millis(p.step.Now().UnixMilli()))
	for _, a := range told {
		q := p.questions[a.TS]
		q.OpenAsk = a
		p.storeQuestion(q)
		if i := slices.IndexFunc(changes, func(c history.StatusChange) bool { return c.Task == a.Task }); i >= 0 {
			p.emitTaskStatus(q, changes[i].Status)
			changes = slices.Delete(changes, i, i+1)
		}
	}
}

// questionsDue returns when updateWaitingTasks has something to do; zero means never.
func (p *Pool) questionsDue() time.Time {
	if at := p.openAsks.NextDue(); at > 0 {
		return time.UnixMilli(int64(at))
	}
	return time.Time{}
}

// DueAutoAnswers returns the prompts that are answered with their first option now, because the
// auto-approval rules say so and the user has been inactive; the value is that option.
func (p *Pool) DueAutoAnswers() map[wire.PromptID]string {
	var out map[wire.PromptID]string
	for _, a := range p.openAsks.Overdue(wire.Millis(p.step.Now().UnixMilli())) {
		if out == nil {
			out = map[wire.PromptID]string{}
		}
		out[p.questions[a.TS].Prompt] = a.Suggested
	}
	return out
}

// CancelAutoAnswers keeps open prompts from being answered automatically, after the user has
// done something.
func (p *Pool) CancelAutoAnswers() {
	for _, a := range p.openAsks.CancelTimeouts() {
		q := p.questions[a.TS]
		q.OpenAsk = a
		p.storeQuestion(q)
	}
}

func (p *Pool) restoreQuestions(tables map[string]map[string][]byte) error {
	for field, data := range tables[questionTable] {
		q := &question{}
		if err := decode(data, q); err != nil {
			return fmt.Errorf("row that asks %s: %w", field, err)
		}
		if askField(q.TS) != field {
			return fmt.Errorf("row that asks %s: %w", field, errMisplaced)
		}
		p.questions[q.TS] = q
		p.openAsks.Open(q.OpenAsk)
	}
	return p.restoreApprovalUsage(tables)
}

// allQuestions returns the operations that store all open questions.
func (p *Pool) allQuestions() []store.Op {
	var ops []store.Op
	for _, ts := range sortedKeys(p.questions) {
		ops = append(ops, store.Set(questionTable, askField(ts), encode(p.questions[ts])))
	}
	if p.approvalUsage != (approval.Window{}) {
		ops = append(ops, store.Set(approvalTable, approvalField, encode(&p.approvalUsage)))
	}
	return ops
}

// AnswerableTurn returns the agent of the monitor's main turn if the message may answer a
// question of that turn.
func (p *Pool) AnswerableTurn(m Message) (wire.AgentID, bool) {
	t := p.mainTurn(m.Monitor)
	if t == nil || t.stopping() || len(t.Taken) >= maxTaken || m.Guest && !t.Guest {
		return "", false
	}
	return t.Role, true
}

// AnswerByMessage accepts a message that answers a question of the monitor's main turn. The
// turn reads the message as the answer; it is not sent to the model again.
func (p *Pool) AnswerByMessage(m Message, asked string) {
	t := p.mainTurn(m.Monitor)
	p.ensureUniqueID(&m)
	row := m.row(m.Text)
	row.ProgressStatus = answerStatus(asked)
	m.Row = p.rows.NextRowID()
	p.rows.AddRow(row)
	p.acceptAnswer(t, &m)
	p.advance()
}

func answerStatus(asked string) *wire.ProgressStatus {
	return &wire.ProgressStatus{Icon: "reply", Text: truncate("Answers: "+asked, nameBytes)}
}

func (p *Pool) acceptAnswer(t *turn, m *Message) {
	t.addMessage(m.ID)
	p.storeTurn(t)
	p.acceptMessage(m, t.Role, wire.TakenSteered)
}

// QueuedAnswer returns the queued message that answers a prompt which the monitor's main turn
// opens in this step: the oldest one with text that is queued for that agent. It skips messages
// offered to the turn, which the turn reads anyway, and messages of guests, who may not answer
// for the owner.
func (p *Pool) QueuedAnswer(c tools.Caller, prompt wire.PromptID) (Message, bool) {
	t, q := p.callerTurn(c), p.questionOf("", prompt)
	if t == nil || q == nil || t.stopping() || len(t.Taken) >= maxTaken || t != p.mainTurn(t.Monitor) {
		return Message{}, false
	}
	if _, ok := history.AnsweredBy(q.Ask); !ok {
		return Message{}, false
	}
	for _, w := range p.mainQueue.All(string(t.Monitor)) {
		if w.Offered == "" && len(w.Images) == 0 && strings.TrimSpace(w.Text) != "" && (!w.Guest || t.Guest) {
			return w.Message, true
		}
	}
	return Message{}, false
}

// AnswerByQueued removes a message returned by [Pool.QueuedAnswer] from its queue. The turn
// reads it as the answer.
func (p *Pool) AnswerByQueued(m Message, asked string) {
	t := p.mainTurn(m.Monitor)
	p.dequeue(func(w *queuedMessage) bool { return w.ID == m.ID })
	if row, ok := p.state.Desktop().Rows().UserRow(m.ID); ok {
		row.ProgressStatus = answerStatus(asked)
		p.updateRow(row)
	}
	p.acceptAnswer(t, &m)
	p.advance()
}
