package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/desk"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

const (
	appsTable = "apps"
	// appTime is how long an app has to be ready, and again to answer.
	appTime = 5 * time.Second
	// appCommands is how many commands are done again when an app is loaded
	// again; older ones are forgotten.
	appCommands = 100
)

// app is what is known of the app in a window. Commands are those that worked:
// an app that is loaded again is told them again.
type app struct {
	Monitor  wire.MonitorID           `json:"m"`
	Window   wire.WindowID            `json:"w"`
	Commands []wire.AppCommandRequest `json:"c,omitempty"`
}

var appFormat = sync.OnceValue(wire.FormatOf[app])

// apps are the apps that have said they are ready. The zero value has none.
type apps struct{ by map[pane]*app }

func (a *apps) restore(table map[string][]byte) error {
	a.by = make(map[pane]*app, len(table))
	for name, data := range table {
		got, err := appFormat().Decode(data)
		if err != nil {
			return fmt.Errorf("app %q: %w", name, err)
		}
		a.by[pane{got.Monitor, got.Window}] = &got
	}
	return nil
}

func (a *apps) all() []store.Op {
	var ops []store.Op
	for _, known := range a.by {
		ops = append(ops, known.keep())
	}
	return ops
}

func (k *app) keep() store.Op {
	return store.Set(appsTable, appField(pane{k.Monitor, k.Window}), appFormat().Append(nil, k))
}

func appField(p pane) string { return nameOf(string(p.monitor) + "/" + string(p.window)) }

// greetApp hears that the app in a window takes requests. One that says so again
// was loaded again and has forgotten everything.
func (l *live) greetApp(c *Command, m wire.AppProtocolReady) {
	w, ok := l.windowOf(c, m.MonitorID, m.WindowID)
	if !ok || l.agents == nil {
		return
	}
	at := pane{w.MonitorID, w.WindowID}
	known := l.agents.apps.by[at]
	if known == nil {
		known = &app{Monitor: w.MonitorID, Window: w.WindowID}
		l.agents.apps.by[at] = known
		l.step.ops = append(l.step.ops, known.keep())
		l.answerAfter(readyName(at), struct{}{})
		return
	}
	for i, command := range known.Commands {
		l.emit(wire.AppProtocolRequest{
			RequestID: wire.RequestID(fmt.Sprintf("replay-%s-%d-%d", nameOf(string(w.WindowID)), l.now.UnixMilli(), i)),
			WindowID:  w.WindowID, Request: command, MonitorID: w.MonitorID,
			Deadline: wire.Millis(l.now.Add(appTime).UnixMilli()),
		})
	}
}

// forgetApp is told that a window is gone.
func (l *live) forgetApp(at pane) {
	if l.agents != nil && l.agents.apps.by[at] != nil {
		delete(l.agents.apps.by, at)
		l.step.ops = append(l.step.ops, store.Unset(appsTable, appField(at)))
	}
}

// windowOf finds the window a client means.
func (l *live) windowOf(c *Command, named wire.MonitorID, id wire.WindowID) (wire.WindowState, bool) {
	if named != "" {
		return l.state.Window(named, id)
	}
	return l.state.FindWindow(id, c.From.Monitor)
}

func readyName(p pane) string              { return "ready." + appField(p) }
func requestName(id wire.RequestID) string { return "request." + string(id) }
func newRequest(kind string) wire.RequestID {
	return wire.RequestID(kind + "-" + strings.ToLower(rand.Text()))
}

// answerAfter hands an answer to who waits for it, after the commit.
func (l *live) answerAfter(name string, answer any) {
	if l.agents == nil {
		return
	}
	if tell := l.agents.waits.tell(name, answer); tell != nil {
		l.step.then = append(l.step.then, tell)
	}
}

// hearApp takes the first valid answer to a question to an app. A tab that does
// not show the window says so at once; it is believed only when nobody else has
// anything better to say.
func (l *live) hearApp(m wire.AppProtocolResponse) {
	if l.agents == nil || !l.agents.waits.awaited(requestName(m.RequestID)) {
		return
	}
	if appError(m.Response) != "" {
		l.agents.excuses[m.RequestID] = m.Response
		return
	}
	delete(l.agents.excuses, m.RequestID)
	l.answerAfter(requestName(m.RequestID), m.Response)
}

func appError(r wire.AppResponse) string {
	switch r := r.(type) {
	case wire.AppManifestResponse:
		return r.Error
	case wire.AppQueryResponse:
		return r.Error
	case wire.AppCommandResponse:
		return r.Error
	}
	return "an answer of an unknown kind"
}

// App implements [tools.Desktop].
func (p port) App(ctx context.Context, c tools.Caller, window wire.WindowID, r wire.AppRequest) (wire.AppResponse, error) {
	at := pane{c.Monitor, window}
	if err := p.awaitApp(ctx, at); err != nil {
		return nil, err
	}
	id := newRequest("app")
	answer := make(chan any, 1)
	if err := p.ask(ctx, c, requestName(id), answer, func() *desk.Refusal {
		p.l.emit(wire.AppProtocolRequest{
			RequestID: id, WindowID: window, Request: r, Deadline: wire.Millis(p.l.now.Add(appTime).UnixMilli()),
			AgentID: c.Agent, MonitorID: c.Monitor, MessageID: c.Turn,
		})
		return nil
	}); err != nil {
		return nil, err
	}
	v, ok := p.within(ctx, appTime, requestName(id), answer)
	if !ok {
		return p.excuse(ctx, id, window)
	}
	got, _ := v.(wire.AppResponse)
	if command, is := r.(wire.AppCommandRequest); is {
		if err := p.do(ctx, func() { p.l.recordCommand(at, command) }); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// awaitApp waits until the app in a window takes requests.
func (p port) awaitApp(ctx context.Context, at pane) error {
	ready := make(chan any, 1)
	var refused error
	if err := p.do(ctx, func() {
		w, ok := p.l.state.Window(at.monitor, at.window)
		switch _, iframe := w.Content.(wire.IframeContent); {
		case !ok:
			refused = fmt.Errorf("there is no window %q", at.window)
		case !iframe:
			refused = fmt.Errorf("window %q shows no app", at.window)
		case p.l.agents.apps.by[at] != nil:
			ready <- struct{}{}
		default:
			p.l.agents.waits.expect(readyName(at), ready)
		}
	}); err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	if _, ok := p.within(ctx, appTime, readyName(at), ready); !ok {
		return errors.Join(ctx.Err(), fmt.Errorf("the app in window %q is not ready", at.window))
	}
	return nil
}

// excuse is the answer to a question that no tab answered well in time.
func (p port) excuse(ctx context.Context, id wire.RequestID, window wire.WindowID) (wire.AppResponse, error) {
	given := make(chan wire.AppResponse, 1)
	p.finally(func() {
		given <- p.l.agents.excuses[id]
		delete(p.l.agents.excuses, id)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case why := <-given:
		if why != nil {
			return why, nil
		}
	default: // the session is lost
	}
	return nil, fmt.Errorf("the app in window %q did not answer", window)
}

// recordCommand remembers a command that worked, for when the app is loaded
// again.
func (l *live) recordCommand(at pane, command wire.AppCommandRequest) {
	known := l.agents.apps.by[at]
	if known == nil {
		return // the window is gone
	}
	known.Commands = append(known.Commands, command)
	known.Commands = known.Commands[max(len(known.Commands)-appCommands, 0):]
	l.step.ops = append(l.step.ops, known.keep())
}

// Show implements [tools.Desktop].
func (p port) Show(ctx context.Context, c tools.Caller, action func(wire.RequestID) wire.Action, wait time.Duration) (wire.RenderingFeedback, bool, error) {
	id := newRequest("req")
	answer := make(chan any, 1)
	if err := p.ask(ctx, c, requestName(id), answer, func() *desk.Refusal {
		return p.l.agents.ask().Do(c, action(id))
	}); err != nil {
		return wire.RenderingFeedback{}, false, err
	}
	v, ok := p.within(ctx, wait, requestName(id), answer)
	f, _ := v.(wire.RenderingFeedback)
	return f, ok, ctx.Err()
}

// within waits for an answer for a while.
func (p port) within(ctx context.Context, wait time.Duration, name string, answer <-chan any) (any, bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case v := <-answer:
		return v, true
	case <-timer.C:
	case <-ctx.Done():
	case <-p.l.ctx.Done():
		return nil, false
	}
	p.finally(func() { p.l.agents.waits.forget(name) })
	return nil, false
}
