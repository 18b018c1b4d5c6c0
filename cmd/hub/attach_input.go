package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

const attachHelp = `Type a message, or
  /approve [ID], /deny [ID]   answer a dialog
  /answer [@ID] TEXT          answer a prompt: with a choice, or with a text
  /windows                    list the open windows
  /state                      the position in the log and the hash of the state
  /interrupt                  stop what is running
  /reset                      close all windows and forget the conversations
  /emit JSON                  show something: an action or a list of them
  /quit                       leave; the session lives on
A message that begins with a slash is typed with two.`

// terminalDesk shows a session to a person and takes what they type.
type terminalDesk struct {
	a      *attachment
	view   *view
	client *client.Client
	events int
	wg     sync.WaitGroup
}

func newTerminalDesk(a *attachment, v *view) *terminalDesk { return &terminalDesk{a: a, view: v} }

func (d *terminalDesk) attached(c *client.Client) { d.client = c }
func (d *terminalDesk) link(l client.Link)        { d.view.link(l) }

func (d *terminalDesk) event(e client.Event) {
	d.view.event(e)
	if !e.At.IsZero() {
		d.events++
		if d.a.hashStep > 0 && d.events%d.a.hashStep == 0 {
			d.printState()
		}
	}
}

func (d *terminalDesk) end() {
	d.wg.Wait()
	if d.a.hash {
		d.printState()
	}
}

func (d *terminalDesk) printState() {
	hash, at := d.client.Hash()
	d.view.note(tintDim, "state %s at %s", hash, at)
}

// line does what somebody typed. What is wrong with it is shown.
func (d *terminalDesk) line(ctx context.Context, text string) error {
	cmd, err := parseLine(text)
	switch cmd.name {
	case "quit":
		return errLeave
	case "help":
		d.view.note(tintNone, "%s", attachHelp)
	case "windows":
		d.printWindows()
	case "state":
		d.printState()
	case "interrupt":
		err = d.send(ctx, wire.Interrupt{}, d.client.Post)
	case "reset":
		err = d.send(ctx, wire.Reset{}, d.client.Post)
	case "":
		// nothing was typed
	default:
		var payload wire.ClientPayload
		if payload, err = d.compose(cmd); err == nil {
			err = d.send(ctx, payload, d.submit)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.view.note(tintRed, "%s", oneLine(err.Error()))
	}
	return nil
}

// send says so when the message has to wait.
func (d *terminalDesk) send(ctx context.Context, p wire.ClientPayload, how func(context.Context, wire.ClientPayload) error) error {
	if d.client.Link().State != client.LinkConnected {
		d.view.note(tintDim, "it will be sent when there is a connection")
	}
	return how(ctx, p)
}

// submit sends a message that is answered. The answer is an event like others;
// only a refusal that is none has to be shown.
func (d *terminalDesk) submit(ctx context.Context, p wire.ClientPayload) error {
	pending, err := d.client.Submit(ctx, p)
	if err != nil {
		return err
	}
	d.wg.Go(func() { // as many at most as may be unanswered
		_, err := pending.Wait(ctx)
		if e, ok := errors.AsType[*client.Error](err); ok {
			d.view.note(tintRed, "message refused: %s", oneLine(e.Error()))
		}
	})
	return nil
}

func (d *terminalDesk) printWindows() {
	windows := d.client.State().Windows
	if len(windows) == 0 {
		d.view.note(tintNone, "no windows")
	}
	for _, w := range windows {
		d.view.note(tintNone, "%s  %s  %q  %g,%g %g×%g%s: %s", w.MonitorID, oneLine(string(w.WindowID)), oneLine(w.Title),
			w.Bounds.X, w.Bounds.Y, w.Bounds.W, w.Bounds.H, windowMarks(w), contentText(w.Content))
	}
}

// typed is a line of input: a command and what follows it. A message has the name
// say.
type typed struct{ name, rest string }

// parseLine takes a line of input apart.
func parseLine(text string) (typed, error) {
	text = strings.TrimSpace(plain(text))
	switch {
	case text == "":
		return typed{}, nil
	case strings.HasPrefix(text, "//"):
		return typed{"say", text[1:]}, nil
	case !strings.HasPrefix(text, "/"):
		return typed{"say", text}, nil
	}
	name, rest, _ := strings.Cut(text[1:], " ")
	cmd := typed{name, strings.TrimSpace(rest)}
	switch name {
	case "approve", "deny", "answer", "emit":
		return cmd, nil
	case "quit", "help", "windows", "state", "interrupt", "reset":
		if cmd.rest != "" {
			return typed{}, fmt.Errorf("/%s takes nothing more", name)
		}
		return cmd, nil
	}
	return typed{}, fmt.Errorf("no such command: /%s; see /help", name)
}

// compose makes the message that a command stands for.
func (d *terminalDesk) compose(cmd typed) (wire.ClientPayload, error) {
	switch cmd.name {
	case "approve", "deny":
		return answerDialog(d.client.State().Dialogs, wire.DialogID(cmd.rest), cmd.name == "approve")
	case "answer":
		return answerPrompt(d.client.State().Prompts, cmd.rest)
	case "emit":
		return composeEmit(cmd.rest, d.a.monitor())
	}
	return wire.UserMessage{Content: cmd.rest, MonitorID: d.a.monitor()}, nil
}

// answerDialog answers the dialog with an id, or the only one.
func answerDialog(open []wire.ApprovalRequest, id wire.DialogID, yes bool) (wire.ClientPayload, error) {
	i := slices.IndexFunc(open, func(o wire.ApprovalRequest) bool { return o.DialogID == id })
	switch {
	case len(open) == 0:
		return nil, errors.New("no dialog is open")
	case id == "" && len(open) == 1:
		i = 0
	case i < 0:
		var ids []string
		for _, o := range open {
			ids = append(ids, string(o.DialogID))
		}
		return nil, fmt.Errorf("which dialog? open are: %s", strings.Join(ids, ", "))
	}
	return wire.DialogFeedback{DialogID: open[i].DialogID, Confirmed: yes, MonitorID: open[i].MonitorID}, nil
}

// answerPrompt answers the prompt that is named by @ID, or the only one, with a
// choice if the text is one, else with the text.
func answerPrompt(open []wire.OpenPrompt, text string) (wire.ClientPayload, error) {
	i := 0
	if name, rest, _ := strings.Cut(text, " "); strings.HasPrefix(name, "@") {
		text = strings.TrimSpace(rest)
		i = slices.IndexFunc(open, func(o wire.OpenPrompt) bool { return "@"+string(o.ID) == name })
	} else if len(open) > 1 {
		i = -1
	}
	switch {
	case len(open) == 0:
		return nil, errors.New("no prompt is open")
	case i < 0:
		var ids []string
		for _, o := range open {
			ids = append(ids, "@"+string(o.ID))
		}
		return nil, fmt.Errorf("which prompt? open are: %s", strings.Join(ids, ", "))
	case text == "":
		return nil, errors.New("want an answer, as in /answer yes")
	}
	p := open[i]
	answer := wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID}
	for choice := range strings.SplitSeq(text, ",") {
		choice = strings.TrimSpace(choice)
		j := slices.IndexFunc(p.Options, func(o wire.PromptOption) bool { return o.Value == choice || o.Label == choice })
		if j >= 0 {
			answer.SelectedValues = append(answer.SelectedValues, p.Options[j].Value)
			continue
		}
		answer.SelectedValues = nil
		break
	}
	switch {
	case len(answer.SelectedValues) > 1 && !p.MultiSelect:
		return nil, errors.New("only one choice is possible")
	case len(answer.SelectedValues) == 0 && p.InputField == nil && len(p.Options) > 0:
		return nil, fmt.Errorf("%q is not one of the choices", text)
	case len(answer.SelectedValues) == 0:
		answer.Text = text
	}
	return answer, nil
}

// composeEmit makes an EMIT of an action, a list of them or the fields of EMIT.
func composeEmit(text string, monitor wire.MonitorID) (wire.ClientPayload, error) {
	var object struct {
		Type    string          `json:"type"`
		Actions json.RawMessage `json:"actions"`
	}
	data := text
	switch {
	case strings.HasPrefix(text, "["):
		data = `{"actions":` + text + `}`
	case json.Unmarshal([]byte(text), &object) == nil && object.Actions == nil:
		data = `{"actions":[` + text + `]}`
	}
	m, err := wire.Native{}.DecodeMessage([]byte(`{"type":"EMIT","data":` + data + `}`))
	if err != nil {
		return nil, err
	}
	emit, _ := m.Data.(wire.Emit)
	if emit.MonitorID == "" {
		emit.MonitorID = monitor
	}
	return emit, nil
}
