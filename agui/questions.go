package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// interrupt is an open question as clients get it, at the end of a run.
type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	ExpiresAt      string          `json:"expiresAt,omitempty"`
}

// The reasons of interrupts. Frontends draw buttons for reasonToolCall.
const (
	reasonToolCall = "tool_call"
	reasonApproval = "everdesk:approval"
	reasonInput    = "everdesk:input"
	reasonPlan     = "everdesk:plan"
)

// The schemas of answers.
const (
	schemaApproval = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
	schemaPlan     = `{"type":"object","properties":{"action":{"enum":["approve","modify","reject"]},"instruction":{"type":"string"}},"required":["action"]}`
	schemaTodo     = `{"type":"object","properties":{"action":{"enum":["approve","skip","reject"]}},"required":["action"]}`
	schemaValue    = `{"type":"object","properties":{"value":{}},"required":["value"]}`
)

// question is an open question of a session.
type question struct {
	id, reason, message, schema string
	agent                       wire.AgentID
	turn                        wire.MessageID // of a plan, or of the agent; empty in old logs
	toolUse                     string         // the tool call that asks, if it is known
	expires                     wire.Millis
	// call is set if a frontend is to execute a tool; its result is the answer.
	call *wire.ClientToolCall
	// answer returns the message that answers the question.
	answer func(r Resumption) wire.ClientPayload
}

// interrupt returns the question as an interrupt of the tool call of the turn that asks it. It is the newest one if the
// question does not name one of those that run.
func (q *question) interrupt(c *calls, turn wire.MessageID) interrupt {
	i := interrupt{ID: q.id, Reason: q.reason, Message: q.message, ResponseSchema: json.RawMessage(q.schema)}
	if q.reason == reasonToolCall {
		call := callID(turn, q.toolUse)
		if q.toolUse == "" || !slices.Contains(c.running, call) {
			call = c.last()
		}
		if i.ToolCallID = call; call == "" {
			i.Reason = reasonApproval
		}
	}
	if q.expires != 0 {
		i.ExpiresAt = time.UnixMilli(int64(q.expires)).UTC().Format(time.RFC3339Nano)
	}
	return i
}

// questionsOf returns the open questions of a state.
func questionsOf(s *wire.SessionState) []question {
	var all []question
	for _, d := range s.Dialogs {
		all = append(all, dialogQuestion(d))
	}
	for _, p := range s.Prompts {
		all = append(all, promptQuestion(p))
	}
	if s.Plan != nil {
		for _, r := range s.HITLRequests {
			if q, ok := planQuestion(r); ok {
				q.turn, q.expires = s.Plan.MessageID, r.Deadline().ExpiresAt
				all = append(all, q)
			}
		}
	}
	return all
}

func dialogQuestion(d wire.ApprovalRequest) question {
	q := question{
		id: string(d.DialogID), reason: reasonApproval, message: joinTexts(d.Title, d.Message), schema: schemaApproval, agent: d.AgentID, turn: d.MessageID, toolUse: d.ToolUseID, expires: d.Deadline,
		answer: func(r Resumption) wire.ClientPayload {
			return wire.DialogFeedback{DialogID: d.DialogID, Confirmed: approves(r), MonitorID: d.MonitorID}
		},
	}
	if d.PermissionOptions != nil {
		q.reason = reasonToolCall
	}
	return q
}

func promptQuestion(p wire.OpenPrompt) question {
	return question{
		id: string(p.ID), reason: reasonInput, message: joinTexts(p.Title, p.Message), schema: promptSchema(&p.Prompt), agent: p.AgentID, turn: p.MessageID, expires: p.Deadline, call: p.ClientTool,
		answer: func(r Resumption) wire.ClientPayload {
			m := wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID}
			m.Text, m.SelectedValues = promptAnswer(r, p.Options)
			m.Dismissed = m.Text == "" && len(m.SelectedValues) == 0
			return m
		},
	}
}

// promptSchema returns the schema of the answer to a prompt: a text, choices of its options, or both.
func promptSchema(p *wire.Prompt) string {
	type option struct {
		Const string `json:"const"`
		Title string `json:"title"`
	}
	fields := map[string]any{}
	if p.InputField != nil || len(p.Options) == 0 {
		fields["text"] = map[string]any{"type": "string"}
	}
	if len(p.Options) > 0 {
		options := []option{}
		for _, o := range p.Options {
			options = append(options, option{o.Value, cmp.Or(o.Label, o.Value)})
		}
		chosen := map[string]any{"type": "array", "items": map[string]any{"oneOf": options}}
		if !p.MultiSelect {
			chosen["maxItems"] = 1
		}
		fields["selectedValues"] = chosen
	}
	return string(jsonOf(map[string]any{"type": "object", "properties": fields}))
}

// planQuestion returns a question of a plan; ok is false for kinds that this package does not know.
func planQuestion(r wire.HITLRequest) (q question, ok bool) {
	switch r := r.(type) {
	case wire.HITLPlanReview:
		return question{id: string(r.RequestID), reason: reasonPlan, message: r.Message, schema: schemaPlan, answer: func(a Resumption) wire.ClientPayload {
			action, instruction := planAnswer(a)
			return wire.HITLPlanResponse{RequestID: r.RequestID, Action: action, Instruction: instruction}
		}}, true
	case wire.HITLApprovalRequest:
		return question{id: string(r.RequestID), reason: reasonApproval, message: joinTexts(r.Todo.Task, r.Reason), schema: schemaTodo, answer: func(a Resumption) wire.ClientPayload {
			action := wire.TodoAnswer(textOf(a, "action"))
			if action != wire.TodoSkip {
				action = wire.TodoReject
				if approves(a) {
					action = wire.TodoApprove
				}
			}
			return wire.HITLApprovalResponse{RequestID: r.RequestID, TodoID: r.TodoID, Action: action}
		}}, true
	case wire.HITLInputRequest:
		return question{id: string(r.RequestID), reason: reasonInput, message: r.Question, schema: schemaValue, answer: func(a Resumption) wire.ClientPayload {
			return wire.HITLInputResponse{RequestID: r.RequestID, Field: r.Field, Value: valueOf(a)}
		}}, true
	case wire.HITLClarification:
		return question{id: string(r.RequestID), reason: reasonInput, message: r.Question, schema: schemaValue, answer: func(a Resumption) wire.ClientPayload {
			return wire.HITLClarificationResponse{RequestID: r.RequestID, Value: valueOf(a)}
		}}, true
	}
	return question{}, false
}

// approves reports whether an answer says yes: true, {"approved": true} or {"action": "approve"}. Anything else is a no.
func approves(r Resumption) bool {
	var yes bool
	if r.Status != "resolved" || json.Unmarshal(r.Payload, &yes) == nil {
		return r.Status == "resolved" && yes
	}
	var fields struct {
		Approved json.RawMessage `json:"approved"`
		Action   json.RawMessage `json:"action"`
	}
	var action string
	if json.Unmarshal(r.Payload, &fields) != nil || json.Unmarshal(fields.Approved, &yes) == nil {
		return yes
	}
	return json.Unmarshal(fields.Action, &action) == nil && action == "approve"
}

// textOf returns the payload if it is a text, or its first field of these names that is one.
func textOf(r Resumption, names ...string) string {
	var text string
	if json.Unmarshal(r.Payload, &text) == nil {
		return text
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(r.Payload, &fields) // without fields there is no text
	for _, name := range names {
		if json.Unmarshal(fields[name], &text) == nil {
			return text
		}
	}
	return ""
}

// planAnswer returns the answer to a plan and the change that it requests.
func planAnswer(r Resumption) (wire.PlanAnswer, string) {
	if r.Status == "resolved" && wire.PlanAnswer(textOf(r, "action")) == wire.PlanModify {
		return wire.PlanModify, textOf(Resumption{Payload: r.Payload}, "instruction")
	}
	if approves(r) {
		return wire.PlanApprove, ""
	}
	return wire.PlanReject, ""
}

// promptAnswer returns the text and the choices of an answer to a prompt.
func promptAnswer(r Resumption, options []wire.PromptOption) (text string, chosen []string) {
	if r.Status != "resolved" {
		return "", nil
	}
	if json.Unmarshal(r.Payload, &chosen) == nil {
		return "", chosen
	}
	var both struct {
		Text           string   `json:"text"`
		SelectedValues []string `json:"selectedValues"`
	}
	if json.Unmarshal(r.Payload, &both) == nil {
		return both.Text, both.SelectedValues
	}
	text = textOf(r)
	if slices.ContainsFunc(options, func(o wire.PromptOption) bool { return o.Value == text }) {
		return "", []string{text}
	}
	return text, nil
}

// noValue is the answer to a question for a value that skips it, which the hub refuses if the value is required.
var noValue = json.RawMessage("null")

// valueOf returns the value of an answer, or noValue if it has none.
func valueOf(r Resumption) json.RawMessage {
	if r.Status != "resolved" || len(r.Payload) == 0 {
		return noValue
	}
	var fields struct {
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(r.Payload, &fields) == nil && fields.Value != nil {
		return fields.Value
	}
	return r.Payload
}

// joinTexts joins two texts, either of which may be empty.
func joinTexts(title, text string) string {
	if title == "" || text == "" {
		return title + text
	}
	return title + "\n" + text
}
