package acp

import (
	"cmp"
	"context"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// The options of a permission.
const (
	optionAllow  = "allow"
	optionAlways = "always"
	optionReject = "reject"
)

// question is an open question of the session.
type question struct {
	request permissionRequest
	// answer returns the message that answers it with an option, or with none if the client cancelled.
	answer func(option string) wire.ClientPayload
}

// questionsOf returns the open questions that a client can answer by choosing an option, by id.
func questionsOf(s *wire.SessionState, id wire.SessionID, call func(wire.AgentID) string) map[string]question {
	all := map[string]question{}
	for _, d := range s.Dialogs {
		q := question{request: permissionRequest{SessionID: id, Options: []permissionOption{
			{optionAllow, cmp.Or(d.ConfirmText, "Allow once"), "allow_once"}, {optionReject, cmp.Or(d.CancelText, "Reject"), "reject_once"},
		}}}
		q.request.ToolCall = callOf(call(d.AgentID), string(d.DialogID), d.Title, d.Message)
		if d.PermissionOptions != nil && d.PermissionOptions.ShowRememberChoice {
			q.request.Options = append(q.request.Options, permissionOption{optionAlways, "Always allow", "allow_always"})
		}
		q.answer = func(option string) wire.ClientPayload {
			m := wire.DialogFeedback{DialogID: d.DialogID, MonitorID: d.MonitorID, Confirmed: option == optionAllow || option == optionAlways}
			if option == optionAlways {
				m.RememberChoice = wire.RememberAlways
			}
			return m
		}
		all[string(d.DialogID)] = q
	}
	for _, p := range s.Prompts {
		if len(p.Options) == 0 {
			continue // for a text: the desktop asks for it
		}
		q := question{request: permissionRequest{SessionID: id, ToolCall: callOf(call(p.AgentID), string(p.ID), p.Title, p.Message)}}
		for _, o := range p.Options {
			q.request.Options = append(q.request.Options, permissionOption{o.Value, cmp.Or(o.Label, o.Value), "allow_once"})
		}
		q.answer = func(option string) wire.ClientPayload {
			if option == "" {
				return wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID, Dismissed: true}
			}
			return wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID, SelectedValues: []string{option}}
		}
		all[string(p.ID)] = q
	}
	return all
}

func callOf(call, id, title, message string) permissionCall {
	c := permissionCall{ToolCallID: cmp.Or(call, id), Title: strings.TrimSpace(cmp.Or(title, message))}
	if message != "" {
		c.Content = []toolContent{{"content", textBlock(message)}}
	}
	return c
}

// askNew asks the client all questions that are new, and withdraws those that were answered elsewhere.
func (o *openSession) askNew(ctx context.Context, s *wire.SessionState) {
	open := questionsOf(s, o.id, o.translator.lastCall)
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
		asking, withdraw := context.WithCancel(ctx)
		o.asked[id] = withdraw
		o.work.Go(func() { o.ask(asking, q) })
	}
}

// ask asks the client a question and passes its answer to the hub. A client that cancels leaves the
// question to others.
func (o *openSession) ask(ctx context.Context, q question) {
	pending, err := o.server.conn.Begin(ctx, "session/request_permission", q.request, nil)
	if err != nil {
		return // the client is gone
	}
	var answer permissionAnswer
	if err := pending.Wait(ctx, &answer); err != nil {
		if ctx.Err() != nil { // answered elsewhere
			_ = o.server.conn.Notify(context.WithoutCancel(ctx), "$/cancel_request", map[string]any{"requestId": pending.ID()})
		}
		return
	}
	if answer.Outcome.Outcome != "selected" {
		return
	}
	if _, err := o.client.Send(ctx, q.answer(answer.Outcome.OptionID)); err != nil && ctx.Err() == nil {
		o.server.logf("session %s: answer refused: %v", o.id, err)
	}
}
