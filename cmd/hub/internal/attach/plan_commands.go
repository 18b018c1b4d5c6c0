package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// toPlan sends a message in plan mode, or displays the plan.
func (c *console) toPlan(text string) (wire.ClientPayload, error) {
	if text != "" {
		return wire.UserMessage{Content: text, MonitorID: c.monitor, Mode: wire.ModePlan}, nil
	}
	s := c.client.State()
	if s.Plan == nil {
		c.note(tintNone, "there is no plan; :plan and what you want makes one")
		return nil, nil
	}
	c.note(tintNone, "plan %s %s: %s", terminal.OneLine(string(s.Plan.ID)), s.Plan.Status, terminal.Shorten(terminal.OneLine(s.Plan.Request), 100))
	for _, t := range s.Todos {
		c.note(tintNone, "    %s", todoText(t))
	}
	for _, q := range c.questions() {
		if q.plan != nil {
			c.note(tintYellow, "    asks #%s", shortID(q.id))
		}
	}
	return nil, nil
}

func (c *console) approve(rest string) (wire.ClientPayload, error) {
	return approveOrReject(c.questions(), rest, true)
}

func (c *console) reject(rest string) (wire.ClientPayload, error) {
	return approveOrReject(c.questions(), rest, false)
}

// approveOrReject answers the review of a plan or the approval request of a todo. The text after
// the id, or the whole text if it begins with none, is a comment.
func approveOrReject(open []question, rest string, yes bool) (wire.ClientPayload, error) {
	open = slices.DeleteFunc(slices.Clone(open), func(q question) bool { return !q.isApproval() })
	id, comment := "", rest
	if word, more := firstWord(rest); strings.HasPrefix(word, "#") ||
		slices.ContainsFunc(open, func(q question) bool { return q.id == word }) {
		id, comment = word, more
	}
	q, err := find(open, question.name, id, "plan or todo that waits for that")
	if err != nil {
		return nil, err
	}
	return q.approval(yes, comment), nil
}

// isApproval reports whether a question asks if a plan or a todo may run.
func (q question) isApproval() bool {
	switch q.plan.(type) {
	case wire.HITLPlanReview, wire.HITLApprovalRequest:
		return true
	}
	return false
}

// approval returns the answer to a question for which isApproval is true.
func (q question) approval(yes bool, comment string) wire.ClientPayload {
	switch d := q.plan.(type) {
	case wire.HITLPlanReview:
		p := wire.HITLPlanResponse{RequestID: d.RequestID, Action: wire.PlanReject, Comment: comment}
		if yes {
			p.Action = wire.PlanApprove
		}
		return p
	case wire.HITLApprovalRequest:
		if yes {
			return wire.HITLApprovalResponse{RequestID: d.RequestID, TodoID: d.TodoID, Action: wire.TodoApprove, Comment: comment}
		}
		return wire.HITLApprovalResponse{RequestID: d.RequestID, TodoID: d.TodoID, Action: wire.TodoReject, Reason: comment}
	}
	return nil
}

// decided returns yes or no as the answer to a question of a plan. It refuses a no to the
// approval request of a todo, because skipping the todo and ending the plan are both possible.
func (q question) decided(yes bool) (wire.ClientPayload, error) {
	switch d := q.plan.(type) {
	case wire.HITLInputRequest:
		if d.InputType == wire.AnswerConfirm {
			return wire.HITLInputResponse{RequestID: d.RequestID, Field: d.Field, Value: json.RawMessage(strconv.FormatBool(yes))}, nil
		}
	case wire.HITLApprovalRequest:
		if !yes {
			return nil, fmt.Errorf("want :skip %s, or :reject, which ends the plan", d.TodoID)
		}
		return q.approval(yes, ""), nil
	case wire.HITLPlanReview:
		return q.approval(yes, ""), nil
	}
	return nil, errors.New("that question wants an answer, as in :answer TEXT")
}

// replied returns a text as the answer to a question of a plan.
func (q question) replied(text string) (wire.ClientPayload, error) {
	switch d := q.plan.(type) {
	case wire.HITLClarification:
		return wire.HITLClarificationResponse{RequestID: d.RequestID, Value: quoted(text)}, nil
	case wire.HITLInputRequest:
		value, err := inputValue(d, text)
		return wire.HITLInputResponse{RequestID: d.RequestID, Field: d.Field, Value: value}, err
	}
	return nil, errors.New("that question takes :approve or :reject")
}

// inputValue converts typed text to the JSON value that a question expects. The hub validates it.
func inputValue(d wire.HITLInputRequest, text string) (json.RawMessage, error) {
	option := func(text string) (value string, known bool) {
		i := slices.IndexFunc(d.Options, func(o wire.Option) bool { return o.Value == text || strings.EqualFold(o.Label, text) })
		if i < 0 {
			return text, false
		}
		return d.Options[i].Value, true
	}
	switch d.InputType {
	case wire.AnswerChoice:
		value, _ := option(text)
		return quoted(value), nil
	case wire.AnswerMulti:
		values := []string{}
		if value, known := option(text); known { // an option may contain a comma
			return quoted([]string{value}), nil
		}
		for part := range strings.SplitSeq(text, ",") {
			value, _ := option(strings.TrimSpace(part))
			values = append(values, value)
		}
		return quoted(values), nil
	case wire.AnswerNumber:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("want a number, got %q", text)
		}
		return quoted(f), nil
	case wire.AnswerDate:
		if !d.Range {
			return quoted(text), nil
		}
		from, to := firstWord(text)
		if to == "" {
			return nil, errors.New("want the first day and the last, as in :answer 2026-02-06 2026-02-28")
		}
		return quoted(struct {
			From string `json:"from"`
			To   string `json:"to"`
		}{from, to}), nil
	case wire.AnswerConfirm:
		switch strings.ToLower(text) {
		case "yes", "y", "true":
			return quoted(true), nil
		case "no", "n", "false":
			return quoted(false), nil
		}
		return nil, fmt.Errorf("want yes or no, got %q", text)
	}
	return quoted(text), nil
}

// quoted encodes a value as JSON; infinite numbers and NaN become null.
func quoted(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

func (c *console) modify(text string) (wire.ClientPayload, error) { return modify(c.questions(), text) }

// modify changes the plan. A text is the answer to the review of the plan, if that is open, else
// a modification sent with CONTROL_RESUME. A JSON object, or a list, is always sent that way.
func modify(open []question, text string) (wire.ClientPayload, error) {
	if text == "" {
		return nil, errors.New("want what to change, as in :modify leave out the video")
	}
	var mods []json.RawMessage
	switch {
	case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		mods = []json.RawMessage{json.RawMessage(text)}
	case strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &mods) == nil:
	default:
		for _, q := range open {
			if d, ok := q.plan.(wire.HITLPlanReview); ok {
				return wire.HITLPlanResponse{RequestID: d.RequestID, Action: wire.PlanModify, Instruction: text}, nil
			}
		}
		mods = []json.RawMessage{quoted(text)}
	}
	return wire.ControlResume{Modifications: mods}, nil
}

func (c *console) pause(reason string) (wire.ClientPayload, error) {
	return wire.ControlPause{Reason: reason}, nil
}

func (c *console) resume(string) (wire.ClientPayload, error) { return wire.ControlResume{}, nil }

func (c *console) cancel(reason string) (wire.ClientPayload, error) {
	return wire.ControlCancel{Reason: reason}, nil
}

func (c *console) retry(rest string) (wire.ClientPayload, error) {
	id := wire.TodoID(rest)
	return wire.ControlRetry{TodoID: id}, id.Validate()
}

func (c *console) skip(rest string) (wire.ClientPayload, error) {
	id, reason := firstWord(rest)
	return wire.ControlSkip{TodoID: wire.TodoID(id), Reason: reason}, wire.TodoID(id).Validate()
}
