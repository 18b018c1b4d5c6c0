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

// questionTable has the rows that ask and are not answered.
const questionTable = "asking"

// question is a row that asks and is not answered, for the sake of a dialog, a
// prompt, or, without either, a turn that could go on.
type question struct {
	history.OpenAsk
	Agent   wire.AgentID   `json:"agent,omitempty"`
	Monitor wire.MonitorID `json:"monitor,omitempty"`
	Message wire.MessageID `json:"message,omitempty"`
	Dialog  wire.DialogID  `json:"dialog,omitempty"`
	Prompt  wire.PromptID  `json:"prompt,omitempty"`
}

// Inquiry is what a turn asks people.
type Inquiry struct {
	Dialog wire.DialogID
	// Call is what a dialog is about.
	Call providers.ToolCall
	// Limit is there when the rules allow the call and too much was spent.
	Limit *approval.Limit
	// Prompt is there when something is to be said or chosen.
	Prompt *wire.Prompt
}

// askRow is what a row that asks says.
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
	// Suggest are answers to choose from.
	Suggest  []suggestion  `json:"suggest,omitempty"`
	DialogID wire.DialogID `json:"dialogId,omitempty"`
	PromptID wire.PromptID `json:"promptId,omitempty"`
	// Rules is what the rules said, if nobody was asked.
	Rules approval.Verdict `json:"rules,omitempty"`
	// Outcome is how it ended, Response and Answer what was answered.
	Outcome  wire.CloseReason `json:"outcome,omitempty"`
	Response wire.AskAnswer   `json:"response,omitempty"`
	Answer   string           `json:"answer,omitempty"`
}

type suggestion struct {
	Answer string `json:"answer"`
	Label  string `json:"label,omitempty"`
}

// rowOf is the row of a question, which says it.
func (p *Pool) rowOf(t *turn, q Inquiry) (wire.UIRow, askRow) {
	text := askRow{DialogID: q.Dialog}
	ask := wire.AskFollowup
	switch {
	case q.Prompt != nil:
		text.PromptID, text.Title, text.Question = q.Prompt.ID, cut(q.Prompt.Title, rowBytes), cut(q.Prompt.Message, rowBytes)
		for _, o := range q.Prompt.Options {
			s := suggestion{Answer: cut(o.Value, nameBytes)}
			if o.Label != o.Value {
				s.Label = cut(o.Label, nameBytes)
			}
			text.Suggest = append(text.Suggest, s)
		}
	case q.Limit != nil:
		ask, text.Type, text.Count = wire.AskAutoApprovalMaxReqReached, q.Limit.Type, q.Limit.Count
		text.Tool = cut(q.Call.Name, nameBytes)
	default:
		about := approval.NewQuestion(q.Call.Name, q.Call.Input)
		ask = about.Ask
		text.Tool, text.Input = cut(q.Call.Name, nameBytes), rowInput(q.Call.Input, p.rowRoom())
		text.Command = cut(about.Command, p.rowRoom())
		if ask == wire.AskUseMCPServer {
			text.Type, text.ServerName, text.ToolName = "use_mcp_tool", cut(about.Server, nameBytes), cut(about.Tool, nameBytes)
			if about.Resource {
				text.Type = "access_mcp_resource"
			}
		}
	}
	row := t.row("", "")
	row.Type, row.Ask = wire.RowAsk, ask
	return row, text
}

// Inquire adds the row of a question that the turn of a caller asks people. One
// that was asked for the owner before has its row.
func (p *Pool) Inquire(c tools.Caller, q Inquiry) {
	t := p.of(c)
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
	row, text := p.rowOf(t, q)
	row.Text = string(encode(text))
	asked := &question{Dialog: q.Dialog, Prompt: prompt}
	asked.Ask = row.Ask
	if q.Prompt != nil && len(q.Prompt.Options) > 0 && !t.Guest {
		rules := p.step.Desk().AutoApproval()
		suggested := q.Prompt.Options[0].Value
		if approval.Decide(rules, approval.Question{Ask: row.Ask, Suggested: suggested}) == approval.AfterTimeout {
			asked.Suggested = suggested
			asked.Until = wire.Millis(p.step.Now().Add(time.Duration(rules.FollowupAutoApproveTimeoutMs) * time.Millisecond).UnixMilli())
		}
	}
	p.opens(t, p.step.Row(row), asked)
}

// opens keeps a question of a turn that has its row.
func (p *Pool) opens(t *turn, ts wire.Millis, q *question) {
	q.TS, q.Since, q.Task = ts, wire.Millis(p.step.Now().UnixMilli()), wire.TaskID(t.key())
	q.Agent, q.Monitor, q.Message = t.Role, t.Monitor, t.message()
	p.questions[ts] = q
	p.asking.Open(q.OpenAsk)
	p.keepQuestion(q)
}

func (p *Pool) keepQuestion(q *question) {
	p.step.Keep(store.Set(questionTable, askField(q.TS), encode(q)))
}

func (p *Pool) questionOf(dialog wire.DialogID, prompt wire.PromptID) *question {
	for _, q := range p.questions {
		if dialog != "" && q.Dialog == dialog || prompt != "" && q.Prompt == prompt {
			return q
		}
	}
	return nil
}

// Question is what a row asks for, if it is not answered.
func (p *Pool) Question(ts wire.Millis) (wire.DialogID, wire.PromptID, bool) {
	q := p.questions[ts]
	if q == nil || q.Dialog == "" && q.Prompt == "" {
		return "", "", false
	}
	return q.Dialog, q.Prompt, true
}

// QuestionIn is what a row that was answered asked for.
func QuestionIn(row wire.UIRow) (wire.DialogID, wire.PromptID) {
	var text askRow
	if jsonInto([]byte(row.Text), &text) != nil {
		return "", ""
	}
	return text.DialogID, text.PromptID
}

// IsLimit reports whether a dialog asks whether it goes on although too much was
// spent.
func (p *Pool) IsLimit(dialog wire.DialogID) bool {
	q := p.questionOf(dialog, "")
	return q != nil && q.Ask == wire.AskAutoApprovalMaxReqReached
}

// Reply is how a question ended.
type Reply struct {
	Reason   wire.CloseReason
	Response wire.AskAnswer
	Text     string
}

// Answered is told that a question of a turn is over, however it ended.
func (p *Pool) Answered(dialog wire.DialogID, prompt wire.PromptID, r Reply) {
	q := p.questionOf(dialog, prompt)
	if q == nil {
		return
	}
	if q.Ask == wire.AskAutoApprovalMaxReqReached && r.Response == wire.AnswerYes {
		p.setSpent(p.spent.Reset())
	}
	if row, ok := p.rowAt(q.Monitor, q.TS); ok {
		var text askRow
		if jsonInto([]byte(row.Text), &text) == nil {
			text.Outcome, text.Response, text.Answer = r.Reason, r.Response, cut(r.Text, rowBytes)
			row.Text = string(encode(text))
		}
		row.IsAnswered = true
		p.changeRow(row)
	}
	p.closes(q.TS)
}

// closes ends a question, and says so to those who look at its task.
func (p *Pool) closes(ts wire.Millis) {
	q := p.questions[ts]
	if q == nil {
		return
	}
	delete(p.questions, ts)
	p.step.Keep(store.Unset(questionTable, askField(ts)))
	if _, back, _ := p.asking.Close(ts); back != nil {
		p.showTask(q, back.Status)
	}
	p.step.Emit(wire.TaskAskResponded{Task: q.task()})
}

func (q *question) task() wire.Task {
	return wire.Task{TaskID: q.Task, MonitorID: q.Monitor, AgentID: q.Agent, MessageID: q.Message}
}

// showTask says what a task does.
func (p *Pool) showTask(q *question, s history.WaitStatus) {
	switch s {
	case history.WaitsInteractive:
		p.step.Emit(wire.TaskInteractive{Task: q.task()})
	case history.WaitsResumable:
		p.step.Emit(wire.TaskResumable{Task: q.task()})
	case history.WaitsIdle:
		p.step.Emit(wire.TaskIdle{Task: q.task()})
	default:
		p.step.Emit(wire.TaskActive{Task: q.task()})
	}
}

// tellTasks says which tasks wait for people by now.
func (p *Pool) tellTasks() {
	changes, told := p.asking.MarkWaiting(wire.Millis(p.step.Now().UnixMilli()))
	for _, a := range told {
		q := p.questions[a.TS]
		q.OpenAsk = a
		p.keepQuestion(q)
		if i := slices.IndexFunc(changes, func(c history.StatusChange) bool { return c.Task == a.Task }); i >= 0 {
			p.showTask(q, changes[i].Status)
			changes = slices.Delete(changes, i, i+1)
		}
	}
}

// questionsDue is when a question has something to say; zero means never.
func (p *Pool) questionsDue() time.Time {
	if at := p.asking.NextDue(); at > 0 {
		return time.UnixMilli(int64(at))
	}
	return time.Time{}
}

// Overdue are the prompts whose first option is the answer now, because the rules
// say so and nobody has done anything.
func (p *Pool) Overdue() map[wire.PromptID]string {
	var out map[wire.PromptID]string
	for _, a := range p.asking.Overdue(wire.Millis(p.step.Now().UnixMilli())) {
		if out == nil {
			out = map[wire.PromptID]string{}
		}
		out[p.questions[a.TS].Prompt] = a.Suggested
	}
	return out
}

// Touched is told that a person has done something: nobody answers for them then.
func (p *Pool) Touched() {
	for _, a := range p.asking.CancelTimeouts() {
		q := p.questions[a.TS]
		q.OpenAsk = a
		p.keepQuestion(q)
	}
}

// restoreQuestions reads what was kept of them.
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
		p.asking.Open(q.OpenAsk)
	}
	return p.restoreSpent(tables)
}

// allQuestions is what is kept of them.
func (p *Pool) allQuestions() []store.Op {
	var ops []store.Op
	for _, ts := range sortedKeys(p.questions) {
		ops = append(ops, store.Set(questionTable, askField(ts), encode(p.questions[ts])))
	}
	if p.spent != (approval.Window{}) {
		ops = append(ops, store.Set(spentTable, spentField, encode(&p.spent)))
	}
	return ops
}

// Answers is the main turn of a monitor that a message can answer a question of.
func (p *Pool) Answers(m Message) (wire.AgentID, bool) {
	t := p.main(m.Monitor)
	if t == nil || t.Stopping != "" || len(t.Taken) >= mostTaken || m.Guest && !t.Guest {
		return "", false
	}
	return t.Role, true
}

// Answer takes a message that answers what the main turn of its monitor asked. The
// turn has it with the answer, and it is not said to the model once more.
func (p *Pool) Answer(m Message, asked string) {
	t := p.main(m.Monitor)
	p.name(&m)
	row := m.row(m.Text)
	row.ProgressStatus = answersTo(asked)
	m.Row = p.step.NextRow()
	p.step.Row(row)
	p.answered(t, &m)
	p.settle()
}

func answersTo(asked string) *wire.ProgressStatus {
	return &wire.ProgressStatus{Icon: "reply", Text: cut("Answers: "+asked, nameBytes)}
}

func (p *Pool) answered(t *turn, m *Message) {
	t.join(m.ID)
	p.keepTurn(t)
	p.accept(m, t.Role, wire.TakenSteered)
}

// Waited is the message that answers what the main turn of a monitor asks in this
// very step: the oldest in words that waits for that agent. One that is on its way to
// the turn is read there, and nothing of a guest answers for the owner.
func (p *Pool) Waited(c tools.Caller, prompt wire.PromptID) (Message, bool) {
	t, q := p.of(c), p.questionOf("", prompt)
	if t == nil || q == nil || t.Stopping != "" || len(t.Taken) >= mostTaken || t != p.main(t.Monitor) {
		return Message{}, false
	}
	if _, ok := history.AnsweredBy(q.Ask); !ok {
		return Message{}, false
	}
	for _, w := range p.mains.All(string(t.Monitor)) {
		if w.Offered == "" && len(w.Images) == 0 && strings.TrimSpace(w.Text) != "" && (!w.Guest || t.Guest) {
			return w.Message, true
		}
	}
	return Message{}, false
}

// AnswerWaiting takes a message that [Pool.Waited] has named out of its queue. The
// turn has it with the answer.
func (p *Pool) AnswerWaiting(m Message, asked string) {
	t := p.main(m.Monitor)
	p.dequeue(func(w *waiting) bool { return w.ID == m.ID })
	if row, ok := p.step.Desk().Said(m.ID); ok {
		row.ProgressStatus = answersTo(asked)
		p.changeRow(row)
	}
	p.answered(t, &m)
	p.settle()
}
