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
func (p *Pool) Window(m Message) {
	p.name(&m)
	p.show(&m, m.Text)
	p.toWindow(&waiting{Message: m})
	p.settle()
}

// HandleComponentAction routes a press of a button in a window. m has its id, sender and
// monitor. A button with an ActionID begins a turn of its own in parallel to others, on a copy
// of the window agent's thread.
func (p *Pool) Component(m Message, a wire.ComponentAction) {
	p.name(&m)
	m.Window = a.WindowID
	title := a.WindowTitle
	p.show(&m, fmt.Sprintf("%s (%s)", pressed(a), cmp.Or(title, string(a.WindowID))))
	m.Text = policies.ComponentClick(a.Action, a.WindowID, title, a.ComponentPath, a.FormID, a.FormData)
	p.toWindow(&waiting{Message: m, Action: a.ActionID})
	p.settle()
}

func (p *Pool) toWindow(w *waiting) {
	open, ok := p.step.Desk().Window(w.Monitor, w.Window)
	switch {
	case !ok:
		p.reject(&w.Message, wire.CodeSessionInvalidState, fmt.Sprintf("there is no window %q", w.Window))
		return
	case !p.runner.Has(p.Provider()):
		p.reject(&w.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", p.Provider()))
		return
	}
	w.Monitor = open.MonitorID
	key := p.groups.AgentKey(policies.Key{Monitor: w.Monitor, Window: w.Window})
	w.Agent = windowAgent(w.Monitor, key)
	if p.windows.Len(w.Agent)+p.beside(w.Agent) >= policies.WindowQueueLimit {
		p.refuse(w, policies.WindowQueueLimit)
		return
	}
	if p.windowFree(w) && (w.Action != "" || p.windows.Len(w.Agent) == 0 && !p.relieveFor(w)) {
		p.beginWindow(w)
		return
	}
	if !p.enqueue(p.windows, w.Agent, w) {
		p.refuse(w, policies.WindowQueueLimit)
	}
}

// parallelTurns counts the buttons' turns that run in parallel to the window agent's own turn.
func (p *Pool) beside(agent string) int {
	n := 0
	for _, t := range p.turns {
		if t.Kind == wire.AgentWindow && !t.Lasting && t.Beside == agent {
			n++
		}
	}
	return n
}

// windowFree reports whether a message to a window can begin a turn now.
func (p *Pool) windowFree(w *waiting) bool {
	_, _, denied := p.budget.Denied(w.Monitor, p.step.Now())
	return !denied && len(p.turns) < maxTurns && (w.Action != "" || p.turnOf(w.Agent) == nil)
}

// beginWindowTurn starts a turn for a message to a window.
func (p *Pool) beginWindow(w *waiting) {
	t := &turn{
		Kind: wire.AgentWindow, ID: w.ID, Monitor: w.Monitor, Window: w.Window, Agent: w.Agent, Lasting: w.Action == "",
		Profile: tools.ProfileAll, Guest: w.Guest, Taken: []wire.MessageID{w.ID}, Row: w.Row, Since: w.Since,
	}
	role := "window-" + string(w.Window)
	if !t.Lasting {
		role += "/" + w.Action
	}
	p.enter(t, role)
	if !t.Lasting {
		t.Beside = w.Agent
	}
	p.see(t, w)
	prompt := policies.WindowPrompt{
		Windows: windowIDs(t.prompt.Windows), Reload: p.reload.Options(p.step.Now(), t.trigger()), Content: w.Text,
	}
	if h := p.threads[w.Agent]; !h.hasEntries() && !h.knownTo(t.Provider) {
		prompt.Recent = p.recent(w.Monitor)
	}
	t.prompt.set(policies.Window(prompt))
	p.showWindowAgent(t, wire.AgentAssigned)
	p.accept(&w.Message, t.Role, wire.TakenDirect)
	p.record(t, policies.SpeakerUser, w.Text, w.Row)
	p.launch(t, nil)
}

// windowOf returns an open window that shares the thread's agent, or "".
func (p *Pool) windowOf(h *thread) wire.WindowID {
	for _, w := range p.step.Desk().Windows(h.Monitor) {
		if windowAgent(h.Monitor, p.groups.AgentKey(policies.Key{Monitor: h.Monitor, Window: w.WindowID})) == h.agent {
			return w.WindowID
		}
	}
	return ""
}

// recentMessages returns the newest messages of the monitor's main conversation.
func (p *Pool) recent(monitor wire.MonitorID) []policies.Said {
	var said []policies.Said
	for _, s := range p.tape.Messages(Heard{Monitor: monitor}) {
		said = append(said, policies.Said{By: s.By, Text: s.Text, Window: s.Window})
	}
	return policies.RecentTurns(said, policies.WindowInitialTurns)
}

func (p *Pool) showWindowAgent(t *turn, s wire.WindowAgentChange) {
	p.step.Emit(wire.WindowAgentStatus{
		WindowID: t.Window, AgentID: t.Role, Status: s, MonitorID: t.Monitor, MessageID: t.ID,
	})
}

// WindowClosed handles a window that a user or a program closed.
func (p *Pool) Closed(monitor wire.MonitorID, window wire.WindowID) {
	p.closed(policies.Key{Monitor: monitor, Window: window}, nil)
	p.settle()
}

// removeWindow deletes the state of a closed window, and ends its agent if no other window
// shares it. The turn that closed the window, if any, continues.
func (p *Pool) closed(k policies.Key, by *turn) {
	_, ops := p.tape.PruneWindow(k.Monitor, k.Window)
	p.step.Keep(ops...)
	for _, id := range p.reload.CloseWindow(k.Window) {
		p.step.Keep(store.Unset(reloadTable, id))
	}
	grouped := p.groups.Grouped(k)
	end := p.groups.Close(k)
	if grouped {
		p.keepGroups()
	}
	if !end.Last {
		return
	}
	const reason = "the window was closed"
	agent := windowAgent(k.Monitor, end.Group)
	p.drop(p.dequeue(func(w *waiting) bool { return w.Window != "" && w.Agent == agent }), reason)
	for _, t := range p.sorted() {
		if t.Agent != agent && t.Beside != agent {
			continue
		}
		if t.Agent == agent { // the agent's own turn, or one that summarises its thread
			t.Doomed = true
			p.keepTurn(t)
		}
		if t != by {
			p.stop(t, reason)
		}
	}
	if p.turnOf(agent) == nil && p.threads[agent] != nil {
		p.forgetThread(agent)
		p.step.Then(func() { p.runner.Dispose(agent) })
	}
}

// connectWindow records which window group a new window belongs to.
func (p *Pool) opened(t *turn, k policies.Key) {
	before := p.groups.Grouped(k)
	parent, ok := p.parentWindow(t)
	if !ok || !p.groups.Connect(parent, k) {
		p.groups.Open(k)
	}
	if !before && p.groups.Grouped(k) {
		p.keepGroups()
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
	if _, open := p.step.Desk().Window(t.Monitor, t.Window); open {
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
func pressed(a wire.ComponentAction) string {
	if len(a.ComponentPath) > 0 {
		_, label, _ := strings.Cut(a.ComponentPath[len(a.ComponentPath)-1], "Button:")
		return cmp.Or(cut(strings.Join(strings.Fields(label), " "), nameBytes), a.Action)
	}
	return a.Action
}
