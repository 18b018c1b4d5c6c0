package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

const (
	appsTable = "apps"
	// appTimeout is how long an app has to become ready, and again to answer.
	appTimeout = 5 * time.Second
	// maxAppCommands and maxAppCommandBytes bound the commands that are replayed when an app is
	// loaded again; older ones are dropped.
	maxAppCommands     = 100
	maxAppCommandBytes = 256 << 10
	// maxAppParams bounds the parameters of one command, in bytes.
	maxAppParams = 64 << 10
	// replayEvery is the shortest interval between two replays to the same tab.
	replayEvery = time.Second
)

// app is the app in a window. Commands are those that succeeded: they are replayed to an app that
// is loaded again.
type app struct {
	Monitor  wire.MonitorID           `json:"m"`
	Window   wire.WindowID            `json:"w"`
	Commands []wire.AppCommandRequest `json:"c,omitempty"`
	// Allowed are the tools that users have allowed the view of an MCP server to use.
	Allowed []string `json:"a,omitempty"`
	// Context is the text that the view provides for agents, and ContextRead says that the main agent has read it.
	Context     string `json:"x,omitempty"`
	ContextRead bool   `json:"r,omitempty"`
}

var appFormat = sync.OnceValue(wire.FormatOf[app])

// apps are the apps that have reported that they are ready. The zero value is empty.
type apps struct {
	by map[windowKey]*app
	// replayed is when the commands of an app were last replayed to a tab. Entries older than
	// replayEvery are dropped.
	replayed map[replay]time.Time
	// readyIn is the tab in which an app was last ready. It is not stored: tabs connect again when
	// the owner changes.
	readyIn map[windowKey]wire.ConnectionID
}

// replay identifies an app in a tab.
type replay struct {
	windowKey
	to wire.ConnectionID
}

// allowReplay reports whether a replay to a tab is allowed now, and counts it.
func (a *apps) allowReplay(r replay, now time.Time) bool {
	maps.DeleteFunc(a.replayed, func(_ replay, at time.Time) bool { return now.Sub(at) >= replayEvery })
	if _, soon := a.replayed[r]; soon {
		return false
	}
	a.replayed[r] = now
	return true
}

func (a *apps) restore(table map[string][]byte) error {
	a.by, a.replayed, a.readyIn = make(map[windowKey]*app, len(table)), map[replay]time.Time{}, map[windowKey]wire.ConnectionID{}
	for name, data := range table {
		got, err := appFormat().DecodeOwn(data)
		if err != nil {
			return fmt.Errorf("app %q: %w", name, err)
		}
		a.by[windowKey{got.Monitor, got.Window}] = &got
	}
	return nil
}

func (a *apps) all() []store.Op {
	var ops []store.Op
	for _, known := range a.by {
		ops = append(ops, known.storeOp())
	}
	return ops
}

// forgetAllowed removes the permissions that users have granted to views, and returns the ops that store that.
func (a *apps) forgetAllowed() []store.Op {
	var ops []store.Op
	for _, known := range a.by {
		if known.Allowed != nil {
			known.Allowed = nil
			ops = append(ops, known.storeOp())
		}
	}
	return ops
}

func (a *app) storeOp() store.Op {
	return store.Set(appsTable, appField(windowKey{a.Monitor, a.Window}), appFormat().Append(nil, a))
}

func appField(p windowKey) string { return fieldName(string(p.monitor) + "/" + string(p.window)) }

func readyName(p windowKey) string      { return "ready." + appField(p) }
func appName(id wire.RequestID) string  { return "app." + string(id) }
func showName(id wire.RequestID) string { return "show." + string(id) }
func newRequest(kind string) wire.RequestID {
	return wire.RequestID(kind + "-" + strings.ToLower(rand.Text()))
}

// isAnswer reports whether m answers request r to the app in this window.
func (at windowKey) isAnswer(r wire.AppRequest, m wire.AppProtocolResponse) bool {
	fits := false
	switch r.(type) {
	case wire.AppManifestRequest:
		_, fits = m.Response.(wire.AppManifestResponse)
	case wire.AppQueryRequest:
		_, fits = m.Response.(wire.AppQueryResponse)
	case wire.AppCommandRequest:
		_, fits = m.Response.(wire.AppCommandResponse)
	}
	return fits && at.matches(m.MonitorID, m.WindowID)
}

// matches reports whether a tab means this window. The monitor is optional.
func (at windowKey) matches(monitor wire.MonitorID, window wire.WindowID) bool {
	return window == at.window && (monitor == "" || monitor == at.monitor)
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

// App implements [tools.Tabs].
func (p port) App(ctx context.Context, c tools.Caller, window wire.WindowID, r wire.AppRequest) (wire.AppResponse, error) {
	at := windowKey{c.Monitor, window}
	if command, is := r.(wire.AppCommandRequest); is && len(command.Params) > maxAppParams {
		return nil, fmt.Errorf("params: %d bytes, at most %d are allowed", len(command.Params), maxAppParams)
	}
	if err := p.waitAppReady(ctx, at); err != nil {
		if errors.Is(err, errAppNotReady) {
			p.toolTimeout(c, r, fmt.Sprintf("The app in window %s is not ready.", window))
		}
		return nil, err
	}
	id := newRequest("app")
	w := newWait(ctx)
	w.fits = func(answer any) bool {
		m, ok := answer.(wire.AppProtocolResponse)
		return ok && at.isAnswer(r, m)
	}
	if err := p.openQuestion(c, appName(id), w, noWithdraw, func() error {
		p.owner.w.Emit(wire.AppProtocolRequest{
			RequestID: id, WindowID: window, Request: r, Deadline: wire.Millis(p.owner.w.now.Add(appTimeout).UnixMilli()),
			AgentID: c.Agent, MonitorID: c.Monitor, MessageID: c.Turn, To: p.owner.agents.tabFor(at, r),
		})
		return nil
	}); err != nil {
		return nil, err
	}
	v, ok := p.awaitAnswerFor(appTimeout, appName(id), w)
	m, answered := v.(wire.AppProtocolResponse)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !answered:
		p.cleanUp(func() { delete(p.owner.agents.apps.readyIn, at) }) // that tab may be suspended; the next command is for all
		p.toolTimeout(c, r, fmt.Sprintf("The app in window %s did not answer.", window))
		return nil, fmt.Errorf("the app in window %q did not answer", window)
	}
	if command, is := r.(wire.AppCommandRequest); is && ok {
		if err := p.runInStep(ctx, func() { p.owner.agents.recordCommand(at, command) }); err != nil {
			return nil, err
		}
	}
	return m.Response, nil
}

// toolTimeout emits a TOOL_TIMEOUT notice for a tool of a plan's todo. The agent continues without
// the answer.
func (p port) toolTimeout(c tools.Caller, r wire.AppRequest, message string) {
	if c.Todo == "" {
		return
	}
	tool := "window:app_query"
	if _, is := r.(wire.AppCommandRequest); is {
		tool = "window:app_command"
	}
	notice := wire.CodeToolTimeout.Notice(message)
	notice.Context, _ = json.Marshal(struct { // strings always have a JSON form
		Todo wire.TodoID `json:"todo_id"`
		Tool string      `json:"tool"`
	}{c.Todo, tool})
	p.cleanUp(func() { p.owner.w.Emit(notice) })
}

// showsPage reports whether a window can have an app.
func showsPage(c wire.Content) bool {
	switch c.(type) {
	case wire.IframeContent, wire.HTMLContent:
		return true
	}
	return false
}

// keepsData reports whether a window shows an app of the user, which stores its data itself: one that
// is loaded again has its state, and a change in one tab reaches the others.
func keepsData(c wire.Content) bool {
	page, ok := c.(wire.IframeContent)
	if !ok {
		return false
	}
	address := page.Data.URL
	if page.Data.Frame != nil {
		address = page.Data.Frame.URL
	}
	return strings.HasPrefix(address, "/api/apps/")
}

// tabFor returns the tab that a request to an app is for, or "" for all that show the window. A
// command for an app that stores its data is for one tab: several would each store the change.
func (a *agents) tabFor(at windowKey, r wire.AppRequest) wire.ConnectionID {
	if _, is := r.(wire.AppCommandRequest); !is {
		return ""
	}
	w, ok := a.w.state.Window(at.monitor, at.window)
	tab := a.apps.readyIn[at]
	if !ok || !keepsData(w.Content) || !a.w.state.HasConnection(tab) {
		return ""
	}
	return tab
}

// errAppNotReady says that an app was not ready in time.
var errAppNotReady = errors.New("is not ready")

// noWithdraw withdraws nothing: a request to a tab has no open question in the state.
func noWithdraw() {}

// waitAppReady waits until the app in a window takes requests.
func (p port) waitAppReady(ctx context.Context, at windowKey) error {
	ready := newWait(ctx)
	var refused error
	if err := p.runInStep(ctx, func() {
		if refused = ctx.Err(); refused != nil {
			return
		}
		w, ok := p.owner.w.state.Window(at.monitor, at.window)
		switch {
		case !ok:
			refused = fmt.Errorf("there is no window %q", at.window)
		case !showsPage(w.Content):
			refused = fmt.Errorf("window %q shows no app", at.window)
		case p.owner.agents.apps.by[at] != nil:
			ready.answer <- struct{}{}
		default:
			p.owner.agents.answerWaits.add(readyName(at), ready)
		}
	}); err != nil {
		p.withdrawQuestion(readyName(at), ready, noWithdraw)
		return err
	}
	if refused != nil {
		return refused
	}
	if _, ok := p.awaitAnswerFor(appTimeout, readyName(at), ready); !ok {
		return cmp.Or(ctx.Err(), fmt.Errorf("the app in window %q %w", at.window, errAppNotReady))
	}
	return nil
}

// Show implements [tools.Tabs].
func (p port) Show(ctx context.Context, c tools.Caller, action func(wire.RequestID) wire.Action, wait time.Duration) (wire.RenderingFeedback, bool, error) {
	id := newRequest("req")
	shown := action(id)
	at := windowKey{c.Monitor, windowOf(shown)}
	w := newWait(ctx)
	w.fits = func(answer any) bool {
		f, ok := answer.(wire.RenderingFeedback)
		return ok && at.matches(f.MonitorID, f.WindowID)
	}
	if err := p.openQuestion(c, showName(id), w, noWithdraw, func() error {
		if r := p.owner.agents.poolForUpdate().Tools.ApplyActions(c, shown); r != nil {
			return errors.New(r.Reason)
		}
		return nil
	}); err != nil {
		return wire.RenderingFeedback{}, false, err
	}
	v, _ := p.awaitAnswerFor(wait, showName(id), w)
	f, ok := v.(wire.RenderingFeedback)
	return f, ok, ctx.Err()
}

// awaitAnswerFor waits for an answer for at most d. Without one it returns the last failure that a
// tab reported.
func (p port) awaitAnswerFor(d time.Duration, name string, w *answerWait) (answer any, ok bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case v := <-w.answer:
		return v, true
	case <-timer.C:
	case <-w.ctx.Done():
	case <-p.owner.held.ctx.Done():
		return nil, false
	}
	excuse := make(chan any, 1)
	p.cleanUp(func() {
		p.owner.agents.answerWaits.remove(name, w)
		excuse <- w.failure
	})
	select {
	case v := <-excuse:
		return v, false
	default: // the owner ended
		return nil, false
	}
}
