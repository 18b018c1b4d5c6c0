package session

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

// handleViewUsed records that a tab has the active view of a window, and the text of the view for agents.
func (dc *desktopCommands) handleViewUsed(c *Command, m wire.ViewUsed) reply {
	w, ok := dc.windowOf(c, m.MonitorID, m.WindowID)
	if !ok {
		return refused(wire.CodeSessionInvalidState, "there is no window %q", m.WindowID)
	}
	if _, ok := w.Content.(wire.MCPAppContent); !ok {
		return refused(wire.CodeSessionInvalidState, "window %q shows no view of an MCP server", m.WindowID)
	}
	if dc.agents == nil {
		return reply{}
	}
	at := windowKey{w.MonitorID, w.WindowID}
	if by := c.From.Connection; by != "" && dc.agents.apps.readyIn[at] != by {
		dc.agents.apps.readyIn[at] = by
		dc.w.Emit(wire.ViewActive{WindowID: w.WindowID, MonitorID: w.MonitorID, By: by})
	}
	if m.Context == nil {
		return reply{}
	}
	if known := dc.agents.appOf(at); known.Context != *m.Context {
		known.Context, known.ContextRead = *m.Context, *m.Context == ""
		dc.w.AddOps(known.storeOp())
	}
	return reply{}
}

// takeViewContexts returns the texts for agents of the views on a monitor that the main agent has not read yet, and
// marks them as read.
func (a *agents) takeViewContexts(monitor wire.MonitorID) (out []policies.ViewContext) {
	for at, known := range a.apps.by {
		if at.monitor != monitor || known.Context == "" || known.ContextRead {
			continue
		}
		known.ContextRead = true
		a.w.AddOps(known.storeOp())
		if w, ok := a.w.state.Window(at.monitor, at.window); ok {
			if shown, ok := w.Content.(wire.MCPAppContent); ok {
				out = append(out, policies.ViewContext{Window: at.window, Server: shown.Data.Server, Text: known.Context})
			}
		}
	}
	slices.SortFunc(out, func(a, b policies.ViewContext) int { return strings.Compare(string(a.Window), string(b.Window)) })
	return out
}
