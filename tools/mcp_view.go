package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxViewResult bounds the result of a call in the window that shows it, in bytes, and maxViewInput the
	// input. Both are part of the session.
	maxViewResult = 256 << 10
	maxViewInput  = 64 << 10
	// maxViewWindows bounds the windows of one tool on a monitor. One more call replaces the backmost.
	maxViewWindows = 4
	// viewWidth and viewHeight are the first size of a window with a view, in pixels.
	viewWidth, viewHeight = 640, 480
)

// openView opens a window with the view of a call, if the tool has one, and returns the text about it for the model.
func (u serverCall) openView(ctx context.Context, t mcpclient.Tool, input json.RawMessage, r mcpclient.Result) string {
	if !t.HasView() {
		return ""
	}
	app := wire.MCPApp{Server: t.Server, Tool: t.Name, URI: t.UI.ResourceURI, Input: input, Result: r.Raw}
	if len(app.Input) > maxViewInput {
		app.Input = json.RawMessage(`{}`)
	}
	if len(app.Result) > maxViewResult || len(app.Result) == 0 {
		app.Result = quotedResult(fmt.Sprintf("The result is larger than the %d bytes that a window keeps.", maxViewResult))
	}
	id := wire.WindowID(u.id("view"))
	title := t.Title
	if title == "" {
		title = t.Name
	}
	var actions []wire.Action
	err := u.Desktop.Steps.View(ctx, func(s *desktop.State) {
		if old := windowsOf(s, u.Monitor, app); len(old) >= maxViewWindows {
			actions = append(actions, wire.WindowClose{WindowID: old[0]})
		}
		width, height := float64(viewWidth), float64(viewHeight)
		actions = append(actions, wire.WindowCreate{
			WindowID: id, Title: truncate(oneLine(title), maxViewTitle), Content: wire.MCPAppContent{Data: app},
			Bounds: place{Width: &width, Height: &height}.bounds(s, u.Caller, wire.WindowCreate{WindowID: id}),
		})
	})
	if err != nil {
		u.cfg.Logger.Warn("window of a tool not shown", "session", u.Session, "tool", t.ModelName, "error", err)
		return ""
	}
	u.emit(ctx, "view", actions...)
	return "\n\nThe user sees the result in the window " + string(id) + "."
}

// maxViewTitle bounds the title of a window, in characters.
const maxViewTitle = 100

// windowsOf returns the windows on a monitor that show the same tool, from the back to the front.
func windowsOf(s *desktop.State, monitor wire.MonitorID, app wire.MCPApp) (out []wire.WindowID) {
	for _, w := range s.Windows(monitor) {
		if c, ok := w.Content.(wire.MCPAppContent); ok && c.Data.Server == app.Server && c.Data.Tool == app.Tool {
			out = append(out, w.WindowID)
		}
	}
	return out
}

// quotedResult returns an error result with a text, as MCP defines it.
func quotedResult(message string) json.RawMessage {
	return json.RawMessage(`{"content":[{"type":"text","text":` + string(quoted(message)) + `}],"isError":true}`)
}

// ViewCall is a call of a tool of an MCP server by one of its views.
type ViewCall struct {
	User    string
	Session wire.SessionID
	Window  wire.WindowID
	Server  string
	Tool    string // its name at the server
	Input   json.RawMessage
	// Allowed says that the user has allowed the view to use the tool.
	Allowed bool
}

// CallForView calls a tool for a view and returns its result as MCP defines it. askFirst means that the tool was not
// called, because it is not known to only read and the user has not allowed it.
func (e *Executor) CallForView(ctx context.Context, c ViewCall) (r providers.ToolResult, askFirst bool) {
	if e.cfg.Servers == nil {
		return fail("This hub has no MCP servers."), false
	}
	at := mcpclient.Place{User: c.User, Session: string(c.Session)}
	t, ok := e.cfg.Servers.ViewTool(ctx, at, c.Server, c.Tool)
	if !ok {
		return failf("The MCP server %s has no tool %q that views may use.", c.Server, truncate(c.Tool, 100)), false
	}
	if !c.Allowed && !t.OnlyReads() {
		return providers.ToolResult{}, true
	}
	got, err := e.cfg.Servers.Call(ctx, at, c.Server, mcpclient.Call{Tool: t.Name, Input: c.Input, Caller: string(c.Session) + "/" + string(c.Window)})
	switch {
	case err != nil:
		return fail(sentence(err.Error())), false
	case len(got.Raw) == 0: // the server refused the call, or the result is too large
		return fail(truncate(got.Text, maxResult)), false
	}
	return text(string(got.Raw)), false
}

// viewTool returns the tool that a view wants to use, or nil. Its call only asks the user whether the view may.
func (e *Executor) viewTool(ctx context.Context, c Caller, name string) *tool {
	if e.cfg.Servers == nil {
		return nil
	}
	found, ok := e.cfg.Servers.ViewTool(ctx, c.place(), c.ViewOf, name)
	if !ok {
		return nil
	}
	t := serverTool(found)
	t.in = everyone
	t.use.do = func(ctx context.Context, u *use, _ any) providers.ToolResult {
		return u.act(ctx, func(*desktop.State) Plan { return Plan{Result: text("Allowed.")} })
	}
	t.use.ask = func(_ context.Context, u *use, _ any) (*question, error) {
		return &question{
			title:   "Let a window use " + visible(truncate(found.Name, 100)) + " of the MCP server " + visible(found.Server) + "?",
			message: "It can use it until it is closed, without asking again. It begins with this input:\n" + visible(truncate(string(u.call.Input), shownInput)),
			yes:     "Allow", topic: found.ModelName,
		}, nil
	}
	return t
}
