package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// The options of a permission.
const (
	optionAllow  = "allow"
	optionAlways = "always"
	optionReject = "reject"
)

// question is an open question of the session, as a request to the client.
type question struct {
	// method is empty if the client cannot ask it: then notice says what is asked.
	method  string
	notice  string
	request any
	// answer returns the message that answers it, or nil if the reply is no answer: then the question stays open
	// in the desktop.
	answer func(reply json.RawMessage) wire.ClientPayload
}

// questionsOf returns the open questions by id. Those that want more than the choice of an option need a
// client with forms.
func questionsOf(s *wire.SessionState, id wire.SessionID, hasForms bool, call func(agent wire.AgentID, use string) string) map[string]question {
	all := map[string]question{}
	for _, d := range s.Dialogs {
		r := permissionRequest{SessionID: id, ToolCall: permissionCallOf(call(d.AgentID, d.ToolUseID), string(d.DialogID), d.Title, d.Message), Options: []permissionOption{
			{optionAllow, cmp.Or(d.ConfirmText, "Allow once"), "allow_once"}, {optionReject, cmp.Or(d.CancelText, "Reject"), "reject_once"},
		}}
		if d.PermissionOptions != nil && d.PermissionOptions.ShowRememberChoice {
			r.Options = append(r.Options, permissionOption{optionAlways, "Always allow", "allow_always"})
		}
		all[string(d.DialogID)] = choice(r, func(option string) wire.ClientPayload {
			m := wire.DialogFeedback{DialogID: d.DialogID, MonitorID: d.MonitorID, Confirmed: option == optionAllow || option == optionAlways}
			if option == optionAlways {
				m.RememberChoice = wire.RememberAlways
			}
			return m
		})
	}
	for _, p := range s.Prompts {
		switch {
		case p.ClientTool != nil: // for the program that sent the message
		case hasForms && (p.InputField != nil || p.MultiSelect || len(p.Options) == 0):
			all[string(p.ID)] = form(id, p)
		case len(p.Options) > 0:
			r := permissionRequest{SessionID: id, ToolCall: permissionCallOf(call(p.AgentID, ""), string(p.ID), p.Title, p.Message)}
			for _, o := range p.Options {
				r.Options = append(r.Options, permissionOption{o.Value, cmp.Or(o.Label, o.Value), "allow_once"})
			}
			all[string(p.ID)] = choice(r, func(option string) wire.ClientPayload {
				return wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID, SelectedValues: []string{option}}
			})
		default:
			all[string(p.ID)] = noticeOf(cmp.Or(p.Message, p.Title))
		}
	}
	for _, r := range s.HITLRequests {
		if key, q, ok := planQuestion(r, id, hasForms); ok {
			all[key] = q
		}
	}
	return all
}

// noticeOf returns a question that the client cannot ask.
func noticeOf(text string) question {
	return question{notice: "Answer this question in the desktop: " + strings.TrimSpace(text)}
}

// choice returns a question with several options, of which the user chooses one. If the client cancels it, it
// stays open in the desktop.
func choice(r permissionRequest, answer func(option string) wire.ClientPayload) question {
	return question{method: "session/request_permission", request: r, answer: func(reply json.RawMessage) wire.ClientPayload {
		var a permissionAnswer
		if json.Unmarshal(reply, &a) != nil || a.Outcome.Outcome != "selected" {
			return nil
		}
		return answer(a.Outcome.OptionID)
	}}
}

// The fields of a form.
const (
	fieldChoice = "choice"
	fieldText   = "text"
)

// form returns a question for a text, for several options, or for one of them with a text.
func form(id wire.SessionID, p wire.OpenPrompt) question {
	r := formRequest{SessionID: id, Mode: "form", Message: strings.TrimSpace(cmp.Or(p.Message, p.Title))}
	r.Schema.Type, r.Schema.Title, r.Schema.Properties = "object", p.Title, map[string]formField{}
	var options []formOption
	for _, o := range p.Options {
		options = append(options, formOption{o.Value, cmp.Or(o.Label, o.Value)})
	}
	switch {
	case p.MultiSelect && len(options) > 0:
		r.Schema.Properties[fieldChoice] = formField{Type: "array", Title: p.Title, Items: &formItems{options}}
	case len(options) > 0:
		r.Schema.Properties[fieldChoice] = formField{Type: "string", Title: p.Title, OneOf: options}
	}
	if p.InputField != nil || len(options) == 0 {
		text := formField{Type: "string", Title: p.Title}
		if p.InputField != nil {
			text.Title, text.Description = cmp.Or(p.InputField.Label, p.Title), p.InputField.Placeholder
		}
		r.Schema.Properties[fieldText] = text
	}
	if len(r.Schema.Properties) == 1 {
		for name := range r.Schema.Properties {
			r.Schema.Required = []string{name}
		}
	}
	return question{method: "elicitation/create", request: r, answer: func(reply json.RawMessage) wire.ClientPayload { return formAnswer(p, reply) }}
}

// formAnswer returns the message for the reply to a form. A declined form dismisses the question if it may be
// dismissed. For a form that is cancelled or that cannot be read it returns nil, and the question stays open.
func formAnswer(p wire.OpenPrompt, reply json.RawMessage) wire.ClientPayload {
	var r struct {
		Action  string `json:"action"`
		Content struct {
			Choice json.RawMessage `json:"choice"`
			Text   string          `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(reply, &r) != nil {
		return nil
	}
	m := wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID, Text: r.Content.Text}
	switch {
	case r.Action == "decline" && (p.AllowDismiss == nil || *p.AllowDismiss):
		return wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID, Dismissed: true}
	case r.Action != "accept":
		return nil
	}
	var one string
	if json.Unmarshal(r.Content.Choice, &one) == nil && one != "" {
		m.SelectedValues = []string{one}
	} else if len(r.Content.Choice) > 0 && json.Unmarshal(r.Content.Choice, &m.SelectedValues) != nil {
		return nil
	}
	if m.Text == "" && len(m.SelectedValues) == 0 {
		return nil
	}
	return m
}

// permissionCallOf returns the tool call that a permission request shows. Without a call, the question itself
// is shown as one, under its id.
func permissionCallOf(call, id, title, message string) permissionCall {
	c := permissionCall{ToolCallID: cmp.Or(call, id), Title: strings.TrimSpace(cmp.Or(title, message))}
	if message != "" {
		c.Content = []toolContent{{"content", textBlock(message)}}
	}
	return c
}

// askNew asks the client all questions that are new, and withdraws those that were answered elsewhere.
func (o *openSession) askNew(ctx context.Context, s *wire.SessionState) {
	open := questionsOf(s, o.id, o.server.hasForms.Load(), o.translator.askingCall)
	for id, withdraw := range o.asked {
		if _, still := open[id]; !still {
			withdraw()
			delete(o.asked, id)
		}
	}
	for id, q := range open {
		if o.asked[id] != nil {
			continue
		}
		if q.method == "" {
			o.asked[id] = func() {}
			o.notice(q.notice)
			continue
		}
		asking, withdraw := context.WithCancel(ctx)
		o.asked[id] = withdraw
		o.work.Go(func() { o.ask(asking, q) })
	}
}

// maxAsked bounds how often a question is asked whose answers the hub refuses.
const maxAsked = 3

// ask asks the client a question, again if the hub refuses the answer.
func (o *openSession) ask(ctx context.Context, q question) {
	for range maxAsked {
		refused, ok := errors.AsType[*client.RefusedError](o.askOnce(ctx, q))
		if !ok || ctx.Err() != nil {
			return
		}
		o.notice("The answer was refused: " + refused.Reason)
	}
}

// askOnce sends the client a question and passes its answer to the hub. If the client cancels it, it stays open in
// the desktop.
func (o *openSession) askOnce(ctx context.Context, q question) error {
	pending, err := o.server.conn.Begin(ctx, q.method, q.request, nil)
	if err != nil {
		return nil //nolint:nilerr // the client is gone
	}
	var reply json.RawMessage
	if err := pending.Wait(ctx, &reply); err != nil {
		if ctx.Err() != nil { // answered elsewhere
			_ = o.server.conn.Notify(context.WithoutCancel(ctx), "$/cancel_request", map[string]any{"requestId": pending.ID()})
		}
		return nil // it stays open in the desktop
	}
	answer := q.answer(reply)
	if answer == nil {
		return nil
	}
	if _, err = o.client.Send(ctx, answer); err != nil && ctx.Err() == nil {
		o.server.logf("session %s: answer refused: %v", o.id, err)
	}
	return err
}
