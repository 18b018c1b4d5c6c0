package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// Views calls tools of MCP servers for their views; [tools.Executor] implements it.
type Views interface {
	// CallForView calls a tool and returns its result as MCP defines it. askFirst means that it was not
	// called, because a user has to allow it.
	CallForView(ctx context.Context, c tools.ViewCall) (r providers.ToolResult, askFirst bool)
}

// maxViewCalls bounds the calls of views that one session executes or has questions about at once.
const maxViewCalls = 16

// errCallStopped is the cause of the end of a call whose view does not wait any more.
var errCallStopped = errors.New("the view does not wait for it any more")

// viewTool is a tool that the view in a window uses.
type viewTool struct {
	windowKey
	tool string
}

// viewCalls are the calls of views that an owner executes.
//
// A call of a tool that is not known to only read needs the permission of a user, once for each window and
// tool. A turn without a model asks for it, so that rules apply and all tabs can answer. The call itself is no
// turn: views may call tools every second.
type viewCalls struct {
	// asking are the calls that wait for a permission, and denied the tools for which there is none. They
	// belong to the goroutine of the session.
	asking map[viewTool][]ClientCall
	denied map[viewTool]bool

	wg sync.WaitGroup
	mu sync.Mutex // guards the following
	// running has the functions that interrupt the calls under way.
	running map[wire.MessageID]context.CancelCauseFunc
}

func newViewCalls() *viewCalls {
	return &viewCalls{asking: map[viewTool][]ClientCall{}, denied: map[viewTool]bool{}, running: map[wire.MessageID]context.CancelCauseFunc{}}
}

// add registers a call that runs, and reports whether there is room for it.
func (v *viewCalls) add(id wire.MessageID, stop context.CancelCauseFunc) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.running) >= maxViewCalls || v.running[id] != nil {
		return false
	}
	v.running[id] = stop
	return true
}

func (v *viewCalls) remove(id wire.MessageID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.running, id)
}

// stop interrupts a call.
func (v *viewCalls) stop(id wire.MessageID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if stop := v.running[id]; stop != nil {
		stop(errCallStopped)
	}
}

func viewFailure(text string) providers.ToolResult {
	return providers.ToolResult{Text: text, IsError: true}
}

// startViewCall starts a call of the view in a window.
func (ow *owner) startViewCall(c ClientCall) {
	at := windowKey{c.Monitor, c.Window}
	w, _ := ow.w.state.Window(at.monitor, at.window)
	if shown, ok := w.Content.(wire.MCPAppContent); !ok || shown.Data.Server != c.Server {
		ow.live.env.clientCalls.deliver(c, viewFailure("The window does not show a view of that server."))
		return
	}
	allowed := ow.agents.allowsView(viewTool{at, c.Tool})
	ow.w.AfterCommit(func() { port{ow}.startViewCall(c, allowed) })
}

// startViewCall calls the tool in the background and delivers its result. Without a permission that the tool
// needs, it asks for it.
func (p port) startViewCall(c ClientCall, allowed bool) {
	calls, deliver := p.owner.agents.viewCalls, p.owner.live.env.clientCalls.deliver
	ctx, stop := context.WithCancelCause(p.owner.held.ctx)
	if !calls.add(c.ID, stop) {
		stop(nil)
		deliver(c, viewFailure("The session executes too many calls of views; call again later."))
		return
	}
	user := p.owner.w.user // now: a later step may give the session to another user
	calls.wg.Go(func() {
		defer stop(nil)
		r, askFirst := p.owner.agents.runner.Views.CallForView(ctx, tools.ViewCall{
			User: user, Session: p.owner.live.id, Window: c.Window, Server: c.Server, Tool: c.Tool, Input: c.Input, Allowed: allowed,
		})
		calls.remove(c.ID)
		if !askFirst {
			deliver(c, r)
			return
		}
		if err := p.runInStep(ctx, func() { p.owner.askForView(c) }); err != nil {
			deliver(c, viewFailure("The call was interrupted before the user was asked."))
		}
	})
}

// askForView asks the user whether the view may use the tool, unless the question is open already or was
// answered. Only a press of the user in the view asks again after a no.
func (ow *owner) askForView(c ClientCall) {
	calls, key := ow.agents.viewCalls, viewTool{windowKey{c.Monitor, c.Window}, c.Tool}
	waiting, open := calls.asking[key]
	refuse := func(text string) {
		ow.w.AfterCommit(func() { ow.live.env.clientCalls.deliver(c, viewFailure(text)) })
	}
	switch {
	case ow.agents.allowsView(key): // the answer came meanwhile
		ow.w.AfterCommit(func() { port{ow}.startViewCall(c, true) })
	case len(waiting) >= maxViewCalls:
		refuse("The session executes too many calls of views; call again later.")
	case open:
		calls.asking[key] = append(waiting, c)
	case calls.denied[key] && !c.Pressed:
		refuse("The user did not allow this window to use " + c.Tool + ".")
	default:
		calls.asking[key] = []ClientCall{c}
		ow.agents.poolForUpdate().StartClientCall(c)
	}
}

// allowsView reports whether a user has allowed a view to use a tool.
func (a *agents) allowsView(t viewTool) bool {
	known := a.apps.by[t.windowKey]
	return known != nil && slices.Contains(known.Allowed, t.tool)
}

// viewAnswered ends the wait of calls for a permission. r is the result of the turn that asked for it.
func (ow *owner) viewAnswered(c ClientCall, r providers.ToolResult) {
	a, key := ow.agents, viewTool{windowKey{c.Monitor, c.Window}, c.Tool}
	waiting := a.viewCalls.asking[key]
	delete(a.viewCalls.asking, key)
	if _, ok := ow.w.state.Window(key.monitor, key.window); !ok && !r.IsError {
		r = viewFailure("The window was closed.")
	}
	a.viewCalls.denied[key] = r.IsError
	if r.IsError {
		ow.w.AfterCommit(func() {
			for _, w := range waiting {
				ow.live.env.clientCalls.deliver(w, r)
			}
		})
		return
	}
	known := a.appOf(key.windowKey)
	known.Allowed = append(known.Allowed, c.Tool)
	ow.w.AddOps(known.storeOp())
	ow.w.AfterCommit(func() {
		for _, w := range waiting {
			port{ow}.startViewCall(w, true)
		}
	})
}

// appOf returns the record of the page in a window, which it creates if necessary.
func (a *agents) appOf(at windowKey) *app {
	known := a.apps.by[at]
	if known == nil {
		known = &app{Monitor: at.monitor, Window: at.window}
		a.apps.by[at] = known
	}
	return known
}

// forgetView removes the denials of users for the view in a closed window.
func (v *viewCalls) forgetView(at windowKey) {
	for key := range v.denied {
		if key.windowKey == at {
			delete(v.denied, key)
		}
	}
}

// ViewCall is a call of a tool of an MCP server by its view in a window.
type ViewCall struct {
	ID wire.MessageID
	// User is the user of the session, for whom the call was admitted.
	User    string
	Monitor wire.MonitorID
	Window  wire.WindowID
	Server  string
	Tool    string
	Input   json.RawMessage
	// Pressed says that the user has just pressed something in the view.
	Pressed bool
}

// CallForView has the owner of a session execute a call of a view, as [Hub.CallTool] does for programs. The
// text of the result is the result of the server, as MCP defines it, unless it is an error.
func (h *Hub) CallForView(ctx context.Context, id wire.SessionID, c ViewCall) (providers.ToolResult, error) {
	return h.CallTool(ctx, id, ClientCall{
		ID: c.ID, Token: "view", Name: c.Server, User: c.User, Monitor: c.Monitor, Profile: tools.ProfileAll, Tool: c.Tool, Input: c.Input,
		Server: c.Server, Window: c.Window, Pressed: c.Pressed,
	})
}
