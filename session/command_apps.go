package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// handleAppReady records that the app in a window takes requests. An app that reports it again was
// loaded again, or in another tab, and has no state unless it stores its data: its commands are
// replayed to that tab only.
func (dc *desktopCommands) handleAppReady(c *Command, m wire.AppProtocolReady) {
	w, ok := dc.windowOf(c, m.MonitorID, m.WindowID)
	if !ok || dc.agents == nil {
		return
	}
	at := windowKey{w.MonitorID, w.WindowID}
	if c.From.Connection != "" {
		dc.agents.apps.readyIn[at] = c.From.Connection
	}
	known := dc.agents.apps.by[at]
	if known == nil {
		known = &app{Monitor: w.MonitorID, Window: w.WindowID}
		dc.agents.apps.by[at] = known
		dc.w.step.ops = append(dc.w.step.ops, known.storeOp())
		dc.agents.answerAfterCommit(readyName(at), struct{}{})
		return
	}
	to := cmp.Or(c.From.Connection, noConnection)
	if len(known.Commands) == 0 || keepsData(w.Content) || !dc.agents.apps.allowReplay(replay{at, to}, dc.w.now) {
		return
	}
	for i, command := range known.Commands {
		dc.w.Emit(wire.AppProtocolRequest{
			RequestID: wire.RequestID(fmt.Sprintf("replay-%s-%d-%d", fieldName(string(w.WindowID)), dc.w.now.UnixMilli(), i)),
			WindowID:  w.WindowID, Request: command, MonitorID: w.MonitorID,
			Deadline: wire.Millis(dc.w.now.Add(appTimeout).UnixMilli()), To: to,
		})
	}
}

// removeApp removes the app of a closed window.
func (a *agents) removeApp(at windowKey) {
	if a != nil {
		a.viewCalls.forgetView(at)
	}
	if a != nil && a.apps.by[at] != nil {
		delete(a.apps.by, at)
		delete(a.apps.readyIn, at)
		a.w.step.ops = append(a.w.step.ops, store.Unset(appsTable, appField(at)))
	}
}

// windowOf finds the window that a client names.
func (dc *desktopCommands) windowOf(c *Command, named wire.MonitorID, id wire.WindowID) (wire.WindowState, bool) {
	if named != "" {
		return dc.w.state.Window(named, id)
	}
	return dc.w.state.FindWindow(id, c.From.Monitor)
}

// answerAfterCommit passes an answer to the waiting callers after the commit.
func (a *agents) answerAfterCommit(name string, answer any) {
	if a == nil {
		return
	}
	if deliver := a.answerWaits.takeMatching(name, answer); deliver != nil {
		a.w.step.effects = append(a.w.step.effects, deliver)
	}
}

// handleAppResponse accepts the first valid answer of an app. A tab that does not show the window
// answers with an error at once; that counts only if no other tab answers.
func (dc *desktopCommands) handleAppResponse(m wire.AppProtocolResponse) {
	dc.handleTabAnswer(appName(m.RequestID), m, appError(m.Response) == "")
}

// handleTabAnswer passes on the answer of a tab, or records its failure.
func (dc *desktopCommands) handleTabAnswer(name string, answer any, good bool) {
	switch {
	case dc.agents == nil:
	case good:
		dc.agents.answerAfterCommit(name, answer)
	default:
		dc.agents.answerWaits.recordFailure(name, answer)
	}
}

// recordCommand stores a command that succeeded, for the replay when the app is loaded again.
func (a *agents) recordCommand(at windowKey, command wire.AppCommandRequest) {
	known := a.apps.by[at]
	if known == nil {
		return // the window was closed
	}
	if w, ok := a.w.state.Window(at.monitor, at.window); ok && keepsData(w.Content) {
		return
	}
	known.Commands = append(known.Commands, command)
	from, bytes := len(known.Commands), 0
	for from > max(len(known.Commands)-maxAppCommands, 0) {
		c := known.Commands[from-1]
		if bytes += len(c.Command) + len(c.Params); bytes > maxAppCommandBytes {
			break
		}
		from--
	}
	known.Commands = slices.Delete(known.Commands, 0, from)
	a.w.AddOps(known.storeOp())
}
