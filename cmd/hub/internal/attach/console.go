package attach

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// console executes typed input.
type console struct {
	client *client.Client
	// only lists the displayed monitors; empty means all.
	only    []wire.MonitorID
	monitor wire.MonitorID // the recipient of messages; empty means the first
	// note displays a line; hash displays the hash and the position of the state.
	note func(t tint, format string, args ...any)
	hash func()
	wg   sync.WaitGroup // the goroutines of await
}

// verb is a command that begins with a colon.
type verb struct {
	name, args, help string
	// do returns the message to send, or nil for a command that sends none.
	do func(c *console, rest string) (wire.ClientPayload, error)
}

// verbs returns the commands in the order of :help.
func verbs() []verb {
	return []verb{
		{"yes", "[ID] [always]", "approve the request, once or always", (*console).yes},
		{"no", "[ID] [always]", "refuse the request, once or always", (*console).no},
		{"answer", "[#ID] TEXT", "answer a question with a choice or a text", (*console).answer},
		{"plan", "[TEXT]", "send a message in plan mode; without text, show the plan", (*console).toPlan},
		{"approve", "[ID] [COMMENT]", "approve a plan or a todo", (*console).approve},
		{"reject", "[ID] [REASON]", "reject a plan or a todo; this ends the plan", (*console).reject},
		{"modify", "TEXT", "change the plan, also while it runs", (*console).modify},
		{"pause", "[REASON]", "pause the plan when the running todos have ended", (*console).pause},
		{"resume", "", "resume the plan", (*console).resume},
		{"cancel", "[REASON]", "cancel the plan", (*console).cancel},
		{"retry", "TODO", "run a failed todo again", (*console).retry},
		{"skip", "TODO [REASON]", "skip a todo", (*console).skip},
		{"monitor", "[NAME]", "send messages to this monitor; without a name, list the monitors", (*console).toMonitor},
		{"window", "ID TEXT", "send a message to a window", (*console).toWindow},
		{"press", "WINDOW ACTION [ID]", "press a button; with an ID it runs in parallel", (*console).press},
		{"stop", "[AGENT|MONITOR] [drop]", "interrupt an agent, a monitor or all agents; drop also removes waiting messages", (*console).stop},
		{"unqueue", "[ID]", "remove a waiting message from the queue", (*console).unqueue},
		{"provider", "NAME", "change the model provider", (*console).provider},
		{"mode", "[NAME]", "change the mode of agents; without a name there is none", (*console).mode},
		{"checkpoints", "[on|off|restore HASH]", "list the checkpoints of files, switch them, or restore one", (*console).checkpoints},
		{"run", "CODE", "run code in the notebook that the console has in this session", (*console).runCode},
		{"interrupt", "", "interrupt the code that notebooks run", (*console).interrupt},
		{"reset", "", "close all windows and clear the conversations", (*console).reset},
		{"remove", "MONITOR", "close a monitor with its windows", (*console).remove},
		{"emit", "JSON", "apply a desktop action, or a list of them", (*console).emit},
		{"windows", "", "list the open windows", (*console).windows},
		{"agents", "", "list running agents and waiting messages", (*console).agents},
		{"state", "", "show the position in the log and the hash of the state", (*console).state},
		{"help", "", "show this help", (*console).help},
		{"quit", "", "disconnect; the session goes on", func(*console, string) (wire.ClientPayload, error) { return nil, errLeave }},
	}
}

const helpOfAttach = `A line is a message to the agent. A backslash at its end continues it on the next line.
A line that begins with a colon is a command; two colons send it as a message:
%sAn ID is shown after a #. It may be left out while there is only one.`

func (c *console) help(string) (wire.ClientPayload, error) {
	var b strings.Builder
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %-30s %s\n", strings.TrimSpace(":"+v.name+" "+v.args), v.help)
	}
	c.note(tintNone, helpOfAttach, b.String())
	return nil, nil
}

// executeInput executes typed input. It displays errors, except errLeave and those after the end of ctx,
// which it returns.
func (c *console) executeInput(ctx context.Context, text string) error {
	in, err := parseTyped(text)
	var p wire.ClientPayload
	switch {
	case err != nil || in.name == "":
	case in.name == "say":
		p = wire.UserMessage{Content: in.rest, MonitorID: c.monitor}
	default:
		all := verbs()
		p, err = all[slices.IndexFunc(all, func(v verb) bool { return v.name == in.name })].do(c, in.rest)
	}
	if p != nil && err == nil {
		err = c.send(ctx, p)
	}
	switch {
	case errors.Is(err, errLeave):
		return err
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		c.note(tintRed, "%s", terminal.OneLine(err.Error()))
	}
	return nil
}

// send sends a message, and displays a note if there is no connection. It does not wait for the
// answer.
func (c *console) send(ctx context.Context, p wire.ClientPayload) error {
	if c.client.Link().State != client.LinkConnected {
		c.note(tintDim, "it will be sent when there is a connection")
	}
	switch p.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.Emit, wire.DialogFeedback, wire.UserPromptResponse,
		wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse,
		wire.ControlPause, wire.ControlResume, wire.ControlCancel, wire.ControlRetry, wire.ControlSkip:
		pending, err := c.client.Submit(ctx, p)
		if err == nil {
			c.await(ctx, pending)
		}
		return err
	}
	return c.client.Post(ctx, p)
}

// await waits for the answer to a message in a goroutine. Answers are displayed as events; await
// displays only an error that the hub reports outside the session's events.
func (c *console) await(ctx context.Context, p *client.Pending) {
	c.wg.Go(func() { // bounded by the number of unanswered messages
		_, err := p.Wait(ctx)
		if e, ok := errors.AsType[*client.Error](err); ok {
			c.note(tintRed, "message %s: %s", p.ID(), terminal.OneLine(e.Error()))
		}
	})
}

func (c *console) toMonitor(name string) (wire.ClientPayload, error) {
	if name == "" {
		for _, m := range c.client.State().Monitors {
			c.note(tintNone, "%s", monitorText(m))
		}
		c.note(tintNone, "you speak to %s", cmp.Or(c.monitor, firstMonitor))
		return nil, nil
	}
	m := wire.MonitorID(name)
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if len(c.only) > 0 && !slices.Contains(c.only, m) {
		return nil, fmt.Errorf("%s is not shown here; attach with --monitor %s", m, m)
	}
	c.monitor = m
	c.note(tintNone, "you speak to %s", m)
	return nil, nil
}

// windowNamed returns the open window with an id: on the current monitor, or else on the only
// monitor that has one.
func (c *console) windowNamed(id string) (wire.WindowState, error) {
	var found []wire.WindowState
	for _, w := range c.client.State().Windows {
		switch {
		case string(w.WindowID) != id:
		case w.MonitorID == cmp.Or(c.monitor, firstMonitor):
			return w, nil
		default:
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return wire.WindowState{}, fmt.Errorf("there is no window %q; see :windows", id)
	case 1:
		return found[0], nil
	}
	return wire.WindowState{}, fmt.Errorf("several monitors have a window %q; choose one with :monitor", id)
}

func (c *console) toWindow(rest string) (wire.ClientPayload, error) {
	id, text := firstWord(rest)
	if text == "" {
		return nil, errors.New("want a window and words for it, as in :window notes make it shorter")
	}
	w, err := c.windowNamed(id)
	return wire.WindowMessage{WindowID: w.WindowID, MonitorID: w.MonitorID, Content: text}, err
}

func (c *console) press(rest string) (wire.ClientPayload, error) {
	id, rest := firstWord(rest)
	action, rest := firstWord(rest)
	if action == "" {
		return nil, errors.New(`want a window and what its button does, as in :press form "save it"`)
	}
	w, err := c.windowNamed(id)
	return wire.ComponentAction{
		WindowID: w.WindowID, WindowTitle: w.Title, MonitorID: w.MonitorID, Action: action, ActionID: rest,
	}, err
}

func (c *console) stop(rest string) (wire.ClientPayload, error) {
	p := wire.Interrupt{Scope: wire.ScopeSession, Queues: wire.QueuesKeep}
	name, rest := firstWord(rest)
	if name == "drop" && rest == "" {
		name, rest = "", name
	}
	switch rest {
	case "":
	case "drop":
		p.Queues = wire.QueuesDrop
	default:
		return nil, fmt.Errorf("want drop or nothing after %s, got %q", name, rest)
	}
	if name == "" {
		return p, nil
	}
	s := c.client.State()
	if slices.ContainsFunc(s.Monitors, func(m wire.MonitorStatus) bool { return string(m.MonitorID) == name }) {
		p.Scope, p.MonitorID = wire.ScopeMonitor, wire.MonitorID(name)
		return p, nil
	}
	for _, a := range s.Agents {
		if string(a.Role) == name || agentLabel(a.Role, a.MonitorID) == name {
			p.Scope, p.AgentID, p.MonitorID = wire.ScopeAgent, a.Role, a.MonitorID
			return p, nil
		}
	}
	return nil, fmt.Errorf("neither an agent nor a monitor is called %q; see :agents", name)
}

func (c *console) unqueue(id string) (wire.ClientPayload, error) {
	var all []wire.QueuedMessage
	for _, q := range c.client.State().Queues {
		all = append(all, q.Value...)
	}
	m, err := find(all, func(m wire.QueuedMessage) string { return string(m.ID) }, id, "message that waits")
	return wire.DeleteQueuedMessage{Target: m.ID}, err
}

func (c *console) mode(name string) (wire.ClientPayload, error) { return wire.SetMode{Mode: name}, nil }

func (c *console) provider(name string) (wire.ClientPayload, error) {
	if name == "" {
		return nil, errors.New("want a name, as in :provider demo")
	}
	return wire.SetProvider{Provider: name}, nil
}

func (c *console) reset(string) (wire.ClientPayload, error) { return wire.Reset{}, nil }

func (c *console) remove(name string) (wire.ClientPayload, error) {
	m := wire.MonitorID(name)
	return wire.RemoveMonitor{MonitorID: m}, m.Validate()
}

func (c *console) state(string) (wire.ClientPayload, error) {
	c.hash()
	return nil, nil
}

func (c *console) windows(string) (wire.ClientPayload, error) {
	windows := c.client.State().Windows
	if len(windows) == 0 {
		c.note(tintNone, "no windows")
	}
	for _, w := range windows {
		c.note(tintNone, "%s  %s  %q  %g,%g %g×%g%s: %s", w.MonitorID, terminal.OneLine(string(w.WindowID)), terminal.OneLine(w.Title),
			w.Bounds.X, w.Bounds.Y, w.Bounds.W, w.Bounds.H, windowMarks(w), contentText(w.Content))
	}
	return nil, nil
}

func (c *console) agents(string) (wire.ClientPayload, error) {
	s := c.client.State()
	if len(s.Agents) == 0 {
		c.note(tintNone, "no agent works; answers come from %s", terminal.OneLine(s.Provider))
	}
	for _, a := range s.Agents {
		c.note(tintNone, "%s", agentText(a))
	}
	for _, q := range s.Queues {
		for i, m := range q.Value {
			c.note(tintNone, "%s", waitingText(q.Key, i+1, m))
		}
	}
	return nil, nil
}

// emit builds an EMIT from an action, a list of actions or the fields of EMIT.
func (c *console) emit(text string) (wire.ClientPayload, error) {
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
		emit.MonitorID = c.monitor
	}
	return emit, nil
}
