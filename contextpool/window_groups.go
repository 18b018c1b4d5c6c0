package contextpool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// windowGroups records which windows share an agent.
type windowGroups struct {
	*services
	turns *turnSet

	connection *policies.WindowConnection
}

// closedKeys returns, by index, the keys of the windows that the actions close. It must
// be called before the actions are applied.
func (g *windowGroups) closedKeys(monitor wire.MonitorID, actions []wire.Action) map[int]policies.Key {
	found := map[int]policies.Key{}
	for i, a := range actions {
		if c, ok := a.(wire.WindowClose); ok {
			found[i] = policies.Key{Monitor: monitor, Window: c.WindowID}
			if w, open := g.state.Desktop().Window(monitor, c.WindowID); open {
				found[i] = policies.Key{Monitor: w.MonitorID, Window: w.WindowID}
			}
		}
	}
	return found
}

// restore loads which windows share an agent.
func (g *windowGroups) restore(tables map[string]map[string][]byte) error {
	if data, ok := tables[groupTable][groupField]; ok {
		var pairs []policies.Pair
		if err := decode(data, &pairs); err != nil {
			return fmt.Errorf("window groups: %w", err)
		}
		g.connection.Restore(pairs)
	}
	return nil
}

func (g *windowGroups) store() {
	pairs := g.connection.Pairs()
	if len(pairs) == 0 {
		g.step.AddOps(store.Unset(groupTable, groupField))
		return
	}
	g.step.AddOps(store.Set(groupTable, groupField, encode(pairs)))
}

// allOps returns the operation that stores the window groups.
func (g *windowGroups) allOps() []store.Op {
	if pairs := g.connection.Pairs(); len(pairs) > 0 {
		return []store.Op{store.Set(groupTable, groupField, encode(pairs))}
	}
	return nil
}

// mainAgent and windowAgent return the names of lasting agents.
func mainAgent(monitor wire.MonitorID) string { return "main-" + string(monitor) }

func windowAgent(monitor wire.MonitorID, key string) string {
	return storeName("window-" + string(monitor) + "/" + key)
}

// windowOf returns an open window that shares the thread's agent, or "".
func (g *windowGroups) windowOf(h *thread) wire.WindowID {
	for _, w := range g.state.Desktop().Windows(h.Monitor) {
		if g.agentOf(h.Monitor, w.WindowID) == h.agent {
			return w.WindowID
		}
	}
	return ""
}

func (g *windowGroups) emitAgent(t *turn, s wire.WindowAgentChange) {
	g.step.Emit(wire.WindowAgentStatus{
		WindowID: t.Window, AgentID: t.Role, Status: s, MonitorID: t.Monitor, MessageID: t.ID,
	})
}

// connect records which window group a new window belongs to.
func (g *windowGroups) connect(t *turn, k policies.Key) {
	before := g.connection.Grouped(k)
	parent, ok := g.parentWindow(t)
	if !ok || !g.connection.Connect(parent, k) {
		g.connection.Open(k)
	}
	if !before && g.connection.Grouped(k) {
		g.store()
	}
}

// parentWindow returns the window whose agent executes a turn: the window of the turn, or, if
// that was closed, another one of its group.
func (g *windowGroups) parentWindow(t *turn) (policies.Key, bool) {
	for t != nil && t.Kind == wire.AgentTask {
		t = g.turns.byKey[t.Parent]
	}
	if t == nil || t.Kind != wire.AgentWindow {
		return policies.Key{}, false
	}
	if _, open := g.state.Desktop().Window(t.Monitor, t.Window); open {
		return policies.Key{Monitor: t.Monitor, Window: t.Window}, true
	}
	agent := cmp.Or(t.Beside, t.Agent)
	pairs := g.connection.Pairs()
	i := slices.IndexFunc(pairs, func(o policies.Pair) bool { return windowAgent(o.Monitor, o.Group) == agent })
	if i < 0 {
		return policies.Key{}, false
	}
	return pairs[i].Key, true
}

// close removes a closed window from its group.
func (g *windowGroups) close(k policies.Key) policies.CloseResult {
	grouped := g.connection.Grouped(k)
	end := g.connection.Close(k)
	if grouped {
		g.store()
	}
	return end
}

// agentOf returns the agent of a window.
func (g *windowGroups) agentOf(monitor wire.MonitorID, window wire.WindowID) string {
	return windowAgent(monitor, g.connection.AgentKey(policies.Key{Monitor: monitor, Window: window}))
}
