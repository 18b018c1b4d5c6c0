package acp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// planQuestion returns a question of a plan and its id; ok is false for kinds that this package does not
// know.
func planQuestion(r wire.HITLRequest, id wire.SessionID, hasForms bool) (key string, q question, ok bool) {
	switch r := r.(type) {
	case wire.HITLPlanReview:
		return string(r.RequestID), reviewQuestion(r, id), true
	case wire.HITLApprovalRequest:
		return string(r.RequestID), todoQuestion(r, id), true
	case wire.HITLInputRequest:
		return string(r.RequestID), valueQuestion(value{
			id: string(r.RequestID), text: r.Question, kind: r.InputType, isRange: r.Range, options: r.Options,
			answer: func(v json.RawMessage) wire.ClientPayload {
				return wire.HITLInputResponse{RequestID: r.RequestID, Field: r.Field, Value: v}
			},
		}, id, hasForms), true
	case wire.HITLClarification:
		v := value{id: string(r.RequestID), text: strings.TrimSpace(r.Ambiguity + "\n" + r.Question), kind: r.InputType, answer: func(v json.RawMessage) wire.ClientPayload {
			return wire.HITLClarificationResponse{RequestID: r.RequestID, Value: v}
		}}
		for _, s := range r.Suggestions {
			v.options = append(v.options, wire.Option{Value: s, Label: s})
		}
		return string(r.RequestID), valueQuestion(v, id, hasForms), true
	}
	return "", question{}, false
}

// reviewQuestion asks whether a plan may run. Changes to it are requested in the desktop.
func reviewQuestion(r wire.HITLPlanReview, id wire.SessionID) question {
	var todos strings.Builder
	todos.WriteString(r.Message)
	for i, todo := range r.Plan.Todos {
		todos.WriteString("\n" + strconv.Itoa(i+1) + ". " + todo.Task)
	}
	request := permissionRequest{SessionID: id, ToolCall: permissionCallOf("", string(r.RequestID), "May this plan run?", strings.TrimSpace(todos.String())), Options: []permissionOption{
		{string(wire.PlanApprove), "Run the plan", "allow_once"}, {string(wire.PlanReject), "Reject the plan", "reject_once"},
	}}
	return choice(request, func(option string) wire.ClientPayload {
		action := wire.PlanReject
		if option == string(wire.PlanApprove) {
			action = wire.PlanApprove
		}
		return wire.HITLPlanResponse{RequestID: r.RequestID, Action: action}
	})
}

// todoQuestion asks whether a todo may run.
func todoQuestion(r wire.HITLApprovalRequest, id wire.SessionID) question {
	request := permissionRequest{SessionID: id, ToolCall: permissionCallOf("", string(r.RequestID), r.Todo.Task, r.Reason), Options: []permissionOption{
		{string(wire.TodoApprove), "Run it", "allow_once"}, {string(wire.TodoSkip), "Skip it", "reject_once"}, {string(wire.TodoReject), "Reject it", "reject_once"},
	}}
	return choice(request, func(option string) wire.ClientPayload {
		action := wire.TodoReject
		if option == string(wire.TodoApprove) || option == string(wire.TodoSkip) {
			action = wire.TodoAnswer(option)
		}
		return wire.HITLApprovalResponse{RequestID: r.RequestID, TodoID: r.TodoID, Action: action}
	})
}

// value is a question of a plan for a value.
type value struct {
	id, text string
	kind     wire.InputType
	isRange  bool // of two dates
	options  []wire.Option
	answer   func(json.RawMessage) wire.ClientPayload
}

// valueQuestion asks for a value: with buttons if there are few answers, otherwise with a form. Ranges of
// dates, and values for which a client needs a form that it does not have, are left to the desktop.
func valueQuestion(v value, id wire.SessionID, hasForms bool) question {
	switch {
	case v.kind == wire.AnswerConfirm:
		return v.buttons(id, []permissionOption{{"true", "Yes", "allow_once"}, {"false", "No", "reject_once"}}, func(option string) any { return option == "true" })
	case len(v.options) > 0 && v.kind != wire.AnswerMulti && (v.kind == wire.AnswerChoice || !hasForms):
		var all []permissionOption
		for _, o := range v.options {
			all = append(all, permissionOption{o.Value, o.Label, "allow_once"})
		}
		return v.buttons(id, all, func(option string) any { return option })
	case hasForms && !v.isRange:
		return v.form(id)
	}
	return noticeOf(v.text)
}

func (v value) buttons(id wire.SessionID, options []permissionOption, of func(option string) any) question {
	return choice(permissionRequest{SessionID: id, ToolCall: permissionCallOf("", v.id, v.text, ""), Options: options}, func(option string) wire.ClientPayload {
		return v.answer(jsonOf(of(option)))
	})
}

// fieldValue is the field of a form for one value.
const fieldValue = "value"

func (v value) form(id wire.SessionID) question {
	field := formField{Type: "string", Title: v.text}
	var options []formOption
	for _, o := range v.options {
		options = append(options, formOption{o.Value, o.Label})
	}
	switch v.kind {
	case wire.AnswerNumber:
		field.Type = "number"
	case wire.AnswerMulti:
		field.Type, field.Items = "array", &formItems{options}
	case wire.AnswerDate:
		field.Description = "A date, as in 2026-02-06."
	}
	r := formRequest{SessionID: id, Mode: "form", Message: v.text}
	r.Schema.Type, r.Schema.Properties, r.Schema.Required = "object", map[string]formField{fieldValue: field}, []string{fieldValue}
	return question{method: "elicitation/create", request: r, answer: func(reply json.RawMessage) wire.ClientPayload {
		var a struct {
			Action  string                     `json:"action"`
			Content map[string]json.RawMessage `json:"content"`
		}
		if json.Unmarshal(reply, &a) != nil || a.Action != "accept" || len(a.Content[fieldValue]) == 0 {
			return nil
		}
		return v.answer(a.Content[fieldValue])
	}}
}

func jsonOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail: texts and booleans
	}
	return data
}
