package contextpool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// HandleWindowMessage routes a message to a window, for the agent that the window shares with
// the windows it opened.
func (p *Pool) HandleWindowMessage(m Message) {
	p.ensureUniqueID(&m)
	p.addMessageRow(&m, m.Text)
	p.routeWindowMessage(&queuedMessage{Message: m})
	p.advance()
}

// HandleComponentAction routes a press of a button in a window. m has its id, sender and
// monitor. A button with an ActionID begins a turn of its own in parallel to others, on a copy
// of the window agent's thread.
func (p *Pool) HandleComponentAction(m Message, a wire.ComponentAction) {
	p.ensureUniqueID(&m)
	m.Window = a.WindowID
	title := a.WindowTitle
	p.addMessageRow(&m, fmt.Sprintf("%s (%s)", buttonLabel(a), cmp.Or(title, string(a.WindowID))))
	m.Text = policies.ComponentClick(a.Action, a.WindowID, title, a.ComponentPath, a.FormID, a.FormData)
	p.routeWindowMessage(&queuedMessage{Message: m, Action: a.ActionID})
	p.advance()
}

func (p *Pool) routeWindowMessage(w *queuedMessage) {
	open, ok := p.state.Desktop().Window(w.Monitor, w.Window)
	switch {
	case !ok:
		p.rejectMessage(&w.Message, wire.CodeSessionInvalidState, fmt.Sprintf("there is no window %q", w.Window))
		return
	case !p.providers.HasProvider(p.Provider()):
		p.rejectMessage(&w.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", p.Provider()))
		return
	}
	w.Monitor = open.MonitorID
	key := p.groups.AgentKey(policies.Key{Monitor: w.Monitor, Window: w.Window})
	w.Agent = windowAgent(w.Monitor, key)
	if p.windowQueue.Len(w.Agent)+p.parallelTurns(w.Agent) >= policies.WindowQueueLimit {
		p.rejectQueueFull(w, policies.WindowQueueLimit)
		return
	}
	if p.windowFree(w) && (w.Action != "" || p.windowQueue.Len(w.Agent) == 0 && !p.compactForMessage(w)) {
		p.beginWindowTurn(w)
		return
	}
	if !p.enqueue(p.windowQueue, w.Agent, w) {
		p.rejectQueueFull(w, policies.WindowQueueLimit)
	}
}

// parallelTurns counts the buttons' turns that run in parallel to the window agent's own turn.
func (p *Pool) parallelTurns(agent string) int {
	n := 0
	for _, t := range p.turns {
		if t.Kind == wire.AgentWindow && !t.Lasting && t.Beside == agent {
			n++
		}
	}
	return n
}

// windowFree reports whether a message to a window can begin a turn now.
func (p *Pool) windowFree(w *queuedMessage) bool {
	_, _, denied := p.budget.Denied(w.Monitor, p.step.Now())
	return !denied && len(p.turns) < maxTurns && (w.Action != "" || p.turnOfAgent(w.Agent) == nil)
}

// beginWindowTurn starts a turn for a message to a window.
func (p *Pool) beginWindowTurn(w *queuedMessage) {
	t := &turn{
		Kind: wire.AgentWindow, ID: w.ID, Monitor: w.Monitor, Window: w.Window, Agent: w.Agent, Lasting: w.Action == "",
		Profile: tools.ProfileAll, Guest: w.Guest, Taken: []wire.MessageID{w.ID}, Row: w.Row, QueuedSince: w.Since,
	}
	role := "window-" + string(w.Window)
	if !t.Lasting {
		role += "/" + w.Action
	}
	p.registerTurn(t, role)
	if !t.Lasting {
		t.Beside = w.Agent
	}
	p.fillPrompt(t, w)
	prompt := policies.WindowPrompt{
		Windows: windowIDs(t.prompt.Windows), Reload: p.reload.Options(p.step.Now(), t.trigger()), Content: w.Text,
	}
	if h := p.threads[w.Agent]; !h.hasMessages() && !h.heldBy(t.Provider) {
		prompt.Recent = p.recentMessages(w.Monitor)
	}
	t.prompt.setText(policies.Window(prompt))
	p.emitWindowAgent(t, wire.AgentAssigned)
	p.acceptMessage(&w.Message, t.Role, wire.TakenDirect)
	p.recordOnTape(t, policies.SpeakerUser, w.Text, w.Row)
	p.launchTurn(t, nil)
}

// windowOf returns an open window that shares the thread's agent, or "".
func (p *Pool) windowOf(h *thread) wire.WindowID {
	for _, w := range p.state.Desktop().Windows(h.Monitor) {
		if windowAgent(h.Monitor, p.groups.AgentKey(policies.Key{Monitor: h.Monitor, Window: w.WindowID})) == h.agent {
			return w.WindowID
		}
	}
	return ""
}

// recentMessages returns the newest messages of the monitor's main conversation.
func (p *Pool) recentMessages(monitor wire.MonitorID) []policies.Said {
	var said []policies.Said
	for _, s := range p.tape.Messages(TapeFilter{Monitor: monitor}) {
		said = append(said, policies.Said{By: s.By, Text: s.Text, Window: s.Window})
	}
	return policies.RecentTurns(said, policies.WindowInitialTurns)
}

func (p *Pool) emitWindowAgent(t *turn, s wire.WindowAgentChange) {
	p.step.Emit(wire.WindowAgentStatus{
		WindowID: t.Window, AgentID: t.Role, Status: s, MonitorID: t.Monitor, MessageID: t.ID,
	})
}

// WindowClosed handles a window that a user or a program closed.
func (p *Pool) WindowClosed(monitor wire.MonitorID, window wire.WindowID) {
	p.removeWindow(policies.Key{Monitor: monitor, Window: window}, nil)
	p.advance()
}

// removeWindow deletes the state of a closed window, and ends its agent if no other window
// shares it. The turn that closed the window, if any, continues.
func (p *Pool) removeWindow(k policies.Key, by *turn) {
	_, ops := p.tape.PruneWindow(k.Monitor, k.Window)
	p.step.AddOps(ops...)
	for _, id := range p.reload.CloseWindow(k.Window) {
		p.step.AddOps(store.Unset(reloadTable, id))
	}
	grouped := p.groups.Grouped(k)
	end := p.groups.Close(k)
	if grouped {
		p.storeGroups()
	}
	if !end.Last {
		return
	}
	const reason = "the window was closed"
	agent := windowAgent(k.Monitor, end.Group)
	p.rejectRemoved(p.dequeue(func(w *queuedMessage) bool { return w.Window != "" && w.Agent == agent }), reason)
	for _, t := range p.sortedTurns() {
		if t.Agent != agent && t.Beside != agent {
			continue
		}
		if t.Agent == agent { // the agent's own turn, or one that summarises its thread
			t.DisposeAgent = true
			p.storeTurn(t)
		}
		if t != by {
			p.stopTurn(t, reason)
		}
	}
	if p.turnOfAgent(agent) == nil && p.threads[agent] != nil {
		p.deleteThread(agent)
		p.step.AfterCommit(func() { p.runner.Dispose(agent) })
	}
}

// connectWindow records which window group a new window belongs to.
func (p *Pool) connectWindow(t *turn, k policies.Key) {
	before := p.groups.Grouped(k)
	parent, ok := p.parentWindow(t)
	if !ok || !p.groups.Connect(parent, k) {
		p.groups.Open(k)
	}
	if !before && p.groups.Grouped(k) {
		p.storeGroups()
	}
}

// parentWindow returns the window whose agent executes a turn: the window of the turn, or, if
// that was closed, another one of its group.
func (p *Pool) parentWindow(t *turn) (policies.Key, bool) {
	for t != nil && t.Kind == wire.AgentTask {
		t = p.turns[t.Parent]
	}
	if t == nil || t.Kind != wire.AgentWindow {
		return policies.Key{}, false
	}
	if _, open := p.state.Desktop().Window(t.Monitor, t.Window); open {
		return policies.Key{Monitor: t.Monitor, Window: t.Window}, true
	}
	agent := cmp.Or(t.Beside, t.Agent)
	pairs := p.groups.Pairs()
	i := slices.IndexFunc(pairs, func(o policies.Pair) bool { return windowAgent(o.Monitor, o.Group) == agent })
	if i < 0 {
		return policies.Key{}, false
	}
	return pairs[i].Key, true
}

// buttonLabel returns the label of the pressed button, or its action.
func buttonLabel(a wire.ComponentAction) string {
	if len(a.ComponentPath) > 0 {
		_, label, _ := strings.Cut(a.ComponentPath[len(a.ComponentPath)-1], "Button:")
		return cmp.Or(truncate(strings.Join(strings.Fields(label), " "), nameBytes), a.Action)
	}
	return a.Action
}
