package contextpool

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// Questions holds the open questions to the user and decides by the auto-approval rules which need
// not be asked. Its methods begin no turns.
type Questions struct {
	*services
	turns   *turnSet
	threads *threadSet
	outside *outsideData

	open          map[wire.Millis]*question // by the row that asks
	openAsks      history.OpenAsks
	resumeAsks    map[wire.Millis]*resumeAsk // interrupted turns that the user may resume, by the row that asks
	approvalUsage approval.Window
}

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
	// Outside are the sources of outside data because of which the user is asked.
	Outside []string
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
	Outside    []string        `json:"outside,omitempty"`
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
func (qs *Questions) questionRow(t *turn, q Inquiry) (wire.UIRow, askRow) {
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
		text.Tool, text.Input = truncate(q.Call.Name, nameBytes), rowInput(q.Call.Input, qs.rowLimit())
		text.Command = truncate(about.Command, qs.rowLimit())
		text.Outside = q.Outside
		if ask == wire.AskUseMCPServer {
			text.Type, text.ServerName, text.ToolName = "use_mcp_tool", truncate(about.Server, nameBytes), truncate(about.Tool, nameBytes)
			if about.Resource {
				text.Type = "access_mcp_resource"
			}
		}
	}
	row := qs.threads.turnRow(t, "", "")
	row.Type, row.Ask = wire.RowAsk, ask
	return row, text
}

// AskUser adds the row of a question of the caller's turn. A question that the previous owner
// had opened already has its row.
func (qs *Questions) AskUser(c tools.Caller, q Inquiry) {
	t := qs.turns.ofCaller(c)
	if t == nil {
		return
	}
	prompt := wire.PromptID("")
	if q.Prompt != nil {
		prompt = q.Prompt.ID
	}
	if qs.questionOf(q.Dialog, prompt) != nil {
		return
	}
	row, text := qs.questionRow(t, q)
	row.Text = string(encode(text))
	asked := &question{Dialog: q.Dialog, Prompt: prompt}
	asked.Ask = row.Ask
	if q.Prompt != nil && len(q.Prompt.Options) > 0 && !t.Guest {
		rules := qs.rulesOf(t)
		suggested := q.Prompt.Options[0].Value
		if approval.Decide(rules, approval.Question{Ask: row.Ask, Suggested: suggested}) == approval.AfterTimeout {
			asked.Suggested = suggested
			asked.Until = wire.Millis(qs.step.Now().Add(time.Duration(rules.FollowupAutoApproveTimeoutMs) * time.Millisecond).UnixMilli())
		}
	}
	qs.openQuestion(t, qs.rows.AddRow(row), asked)
}

// openQuestion stores the question of a turn, whose row is ts.
func (qs *Questions) openQuestion(t *turn, ts wire.Millis, q *question) {
	q.TS, q.Since, q.Task = ts, wire.Millis(qs.step.Now().UnixMilli()), wire.TaskID(t.key())
	q.Agent, q.Monitor, q.Message = t.Role, t.Monitor, t.messageID()
	qs.open[ts] = q
	qs.openAsks.Open(q.OpenAsk)
	qs.storeQuestion(q)
}

func (qs *Questions) storeQuestion(q *question) {
	qs.step.AddOps(store.Set(questionTable, askField(q.TS), encode(q)))
}

// questionOf returns the open question of a dialog or a prompt, or nil.
func (qs *Questions) questionOf(dialog wire.DialogID, prompt wire.PromptID) *question {
	for _, q := range qs.open {
		if dialog != "" && q.Dialog == dialog || prompt != "" && q.Prompt == prompt {
			return q
		}
	}
	return nil
}

// OpenQuestion returns the dialog or prompt that an unanswered row belongs to.
func (qs *Questions) OpenQuestion(ts wire.Millis) (wire.DialogID, wire.PromptID, bool) {
	q := qs.open[ts]
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
func (qs *Questions) IsLimitQuestion(dialog wire.DialogID) bool {
	q := qs.questionOf(dialog, "")
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
func (qs *Questions) CloseQuestion(dialog wire.DialogID, prompt wire.PromptID, r Reply) {
	q := qs.questionOf(dialog, prompt)
	if q == nil {
		return
	}
	if q.Ask == wire.AskAutoApprovalMaxReqReached && r.Response == wire.AnswerYes {
		qs.setApprovalUsage(qs.approvalUsage.Confirm())
	}
	if row, ok := qs.findRow(q.Monitor, q.TS); ok {
		var text askRow
		if unmarshal([]byte(row.Text), &text) == nil {
			text.Outcome, text.Response, text.Answer = r.Reason, r.Response, truncate(r.Text, rowBytes)
			row.Text = string(encode(text))
		}
		row.IsAnswered = true
		qs.updateRow(row)
	}
	qs.removeQuestion(q.TS)
}

// removeQuestion deletes an open question and publishes the new status of its task.
func (qs *Questions) removeQuestion(ts wire.Millis) {
	q := qs.open[ts]
	if q == nil {
		return
	}
	delete(qs.open, ts)
	qs.step.AddOps(store.Unset(questionTable, askField(ts)))
	if _, back, _ := qs.openAsks.Close(ts); back != nil {
		qs.emitTaskStatus(q, back.Status)
	}
	qs.step.Emit(wire.TaskAskResponded{Task: q.taskRef()})
}

func (q *question) taskRef() wire.Task {
	return wire.Task{TaskID: q.Task, MonitorID: q.Monitor, AgentID: q.Agent, MessageID: q.Message}
}

// emitTaskStatus publishes the status of a task.
func (qs *Questions) emitTaskStatus(q *question, s history.WaitStatus) {
	switch s {
	case history.WaitsInteractive:
		qs.step.Emit(wire.TaskInteractive{Task: q.taskRef()})
	case history.WaitsResumable:
		qs.step.Emit(wire.TaskResumable{Task: q.taskRef()})
	case history.WaitsIdle:
		qs.step.Emit(wire.TaskIdle{Task: q.taskRef()})
	default:
		qs.step.Emit(wire.TaskActive{Task: q.taskRef()})
	}
}

// updateWaitingTasks publishes the tasks that have been waiting for the user long enough.
func (qs *Questions) updateWaitingTasks() {
	changes, told := qs.openAsks.MarkWaiting(wire.Millis(qs.step.Now().UnixMilli()))
	for _, a := range told {
		q := qs.open[a.TS]
		q.OpenAsk = a
		qs.storeQuestion(q)
		if i := slices.IndexFunc(changes, func(c history.StatusChange) bool { return c.Task == a.Task }); i >= 0 {
			qs.emitTaskStatus(q, changes[i].Status)
			changes = slices.Delete(changes, i, i+1)
		}
	}
}

// due returns when updateWaitingTasks has something to do; zero means never.
func (qs *Questions) due() time.Time {
	if at := qs.openAsks.NextDue(); at > 0 {
		return time.UnixMilli(int64(at))
	}
	return time.Time{}
}

// DueAutoAnswers returns the prompts that are answered with their first option now, because the
// auto-approval rules say so and the user has been inactive; the value is that option.
func (qs *Questions) DueAutoAnswers() map[wire.PromptID]string {
	var out map[wire.PromptID]string
	for _, a := range qs.openAsks.Overdue(wire.Millis(qs.step.Now().UnixMilli())) {
		if out == nil {
			out = map[wire.PromptID]string{}
		}
		out[qs.open[a.TS].Prompt] = a.Suggested
	}
	return out
}

// CancelAutoAnswers keeps open prompts from being answered automatically, after the user has
// done something.
func (qs *Questions) CancelAutoAnswers() {
	for _, a := range qs.openAsks.CancelTimeouts() {
		q := qs.open[a.TS]
		q.OpenAsk = a
		qs.storeQuestion(q)
	}
}

// restore loads the stored questions.
func (qs *Questions) restore(tables map[string]map[string][]byte) error {
	for field, data := range tables[questionTable] {
		q := &question{}
		if err := decode(data, q); err != nil {
			return fmt.Errorf("row that asks %s: %w", field, err)
		}
		if askField(q.TS) != field {
			return fmt.Errorf("row that asks %s: %w", field, errMisplaced)
		}
		qs.open[q.TS] = q
		qs.openAsks.Open(q.OpenAsk)
	}
	return qs.restoreApprovalUsage(tables)
}

// allOps returns the operations that store all open questions and the use of approvals.
func (qs *Questions) allOps() []store.Op {
	var ops []store.Op
	for _, ts := range sortedKeys(qs.resumeAsks) {
		ops = append(ops, store.Set(askTable, askField(ts), encode(qs.resumeAsks[ts])))
	}
	for _, ts := range sortedKeys(qs.open) {
		ops = append(ops, store.Set(questionTable, askField(ts), encode(qs.open[ts])))
	}
	if qs.approvalUsage != (approval.Window{}) {
		ops = append(ops, store.Set(approvalTable, approvalField, encode(&qs.approvalUsage)))
	}
	return ops
}
