package desktop

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Snapshot returns the whole state in a canonical order, for all monitors or for the given
// ones. It sets Mode, LastMessageID and everything that the log says; the caller sets
// Reason, HeartbeatMS and Provider.
//
// The lists belong to the caller, but their items share values with the state and must not
// be modified.
func (s *State) Snapshot(monitors ...wire.MonitorID) wire.SessionState {
	shown := func(id wire.MonitorID) bool {
		return id == "" || len(monitors) == 0 || slices.Contains(monitors, id)
	}
	a, _ := s.about.value(only{})
	presence, _ := s.presence.value(only{})
	var rules *wire.AutoApproval
	if r, ok := s.approval.value(only{}); ok {
		rules = &r
	}
	state := wire.SessionState{
		Mode: wire.StateSnapshot, Status: s.status(), Title: a.Title, Owner: a.Owner, Provider: a.Provider, AutoApproval: rules,
		Monitors: s.monitors.sorted(func(m *wire.MonitorStatus) bool { return shown(m.MonitorID) }, byMonitor),
		Windows:  s.windowsWithContent(shown),
		Agents:   s.agentsWithText(shown),
		Dialogs:  s.dialogs.sorted(func(d *wire.ApprovalRequest) bool { return shown(d.MonitorID) }, dialogsByDeadline),
		Prompts:  s.prompts.sorted(func(p *wire.OpenPrompt) bool { return shown(p.MonitorID) }, promptsByDeadline),
		Notifications: s.notifications.sorted(func(n *wire.ShownNotification) bool {
			return shown(n.MonitorID)
		}, bySince),
		Toasts:         s.toasts.sorted(func(t *wire.ShownToast) bool { return shown(t.MonitorID) }, toastsBySince),
		Shortcuts:      s.shortcuts.sorted(nil, byCreation),
		RecentMessages: s.rows.sorted(func(r *wire.UIRow) bool { return shown(r.MonitorID) }, byTS),
		Connections:    max(presence.Total, len(presence.Connections)),
		Presence:       slices.Clone(presence.Connections),
		LastMessageID:  s.at,
	}
	for _, m := range state.Monitors {
		if m.Budget != nil {
			state.Budgets = append(state.Budgets, wire.Member[wire.MonitorID, wire.Budget]{Key: m.MonitorID, Value: *m.Budget})
		}
	}
	for _, q := range s.queues.sorted(func(q *wire.QueueUpdated) bool { return shown(q.MonitorID) }, byQueue) {
		state.Queues = append(state.Queues, wire.Member[wire.MonitorID, []wire.QueuedMessage]{
			Key: q.MonitorID, Value: slices.Clone(q.Messages),
		})
	}
	for _, b := range s.badges.sorted(nil, byApp) {
		state.Badges = append(state.Badges, wire.Member[wire.AppID, uint64]{Key: b.AppID, Value: b.Count})
	}
	s.addPlanTo(&state)
	return state
}

func byMonitor(a, b *wire.MonitorStatus) int { return compareMonitors(a.MonitorID, b.MonitorID) }

func byQueue(a, b *wire.QueueUpdated) int { return compareMonitors(a.MonitorID, b.MonitorID) }

func byApp(a, b *badge) int { return cmp.Compare(a.AppID, b.AppID) }

func byRole(a, b *wire.AgentState) int { return cmp.Compare(a.Role, b.Role) }

func byCreation(a, b *wire.Shortcut) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func (s *State) windowsWithContent(shown func(wire.MonitorID) bool) []wire.WindowState {
	windows := s.windows.sorted(func(w *wire.WindowState) bool { return shown(w.MonitorID) }, byZ)
	for i := range windows {
		windows[i] = s.whole(&windows[i])
	}
	return windows
}

func (s *State) agentsWithText(shown func(wire.MonitorID) bool) []wire.AgentState {
	agents := s.agents.sorted(func(a *wire.AgentState) bool { return shown(a.MonitorID) }, byRole)
	for i := range agents {
		agents[i].Text = s.textSoFar(streamKey{agents[i].Role, false})
		agents[i].Thinking = s.textSoFar(streamKey{agents[i].Role, true})
	}
	return agents
}

// status derives the status of the session.
func (s *State) status() wire.SessionStatus {
	if p, _ := s.plan.value(only{}); p.Status == wire.PlanPaused {
		return wire.SessionPaused
	}
	if s.dialogs.len() > 0 || s.prompts.len() > 0 || s.requests.len() > 0 {
		return wire.SessionWaiting
	}
	if s.layer.len() > 0 {
		return wire.SessionExecuting
	}
	for _, r := range s.agents.items {
		if r.value.Status == wire.AgentStatusRunning {
			return wire.SessionExecuting
		}
	}
	return wire.SessionIdle
}

// Hash returns a digest of the snapshot without connection-specific fields. It is the same
// for all replicas and clients that have applied the same log.
func (s *State) Hash() string { return HashOf(s.Snapshot()) }

// HashOf returns the [State.Hash] of a snapshot's state. It leaves out the position as
// well, because the newest event may have been addressed to another connection only.
func HashOf(state wire.SessionState) string {
	state.Mode, state.Reason, state.ReplayUntil, state.HeartbeatMS = "", "", wire.Position{}, 0
	state.LastMessageID = wire.Position{}
	sum := sha256.Sum256(theSchema().snapshot.Append(nil, &state))
	return hex.EncodeToString(sum[:])
}

// load replaces the state by a snapshot.
func (s *State) load(p wire.SessionState) {
	last, ts := s.LastRow() // never reused, whatever the snapshot contains
	for _, row := range p.RecentMessages {
		last, ts = max(last, row.ID), max(ts, row.TS)
	}
	for _, t := range s.each() {
		t.empty()
	}
	s.streams, s.rowBytes = nil, 0
	s.about.put(only{}, about{Title: p.Title, Owner: p.Owner, Provider: p.Provider, LastRow: last, LastTS: ts})
	s.presence.put(only{}, wire.Presence{Connections: p.Presence, Total: p.Connections})
	if p.AutoApproval != nil {
		s.approval.put(only{}, *p.AutoApproval)
	}
	for _, m := range p.Monitors {
		s.monitors.put(m.MonitorID, m)
	}
	for _, w := range p.Windows {
		s.putWindow(w)
	}
	for _, d := range p.Dialogs {
		s.dialogs.put(d.DialogID, d)
	}
	for _, q := range p.Prompts {
		s.prompts.put(q.ID, q)
	}
	for _, n := range p.Notifications {
		s.notifications.put(n.ID, n)
	}
	for _, t := range p.Toasts {
		s.toasts.put(t.ID, t)
	}
	for _, b := range p.Badges {
		s.badges.put(b.Key, badge{b.Key, b.Value})
	}
	for _, c := range p.Shortcuts {
		s.shortcuts.put(c.ID, c)
	}
	for _, a := range p.Agents {
		text, thinking := a.Text, a.Thinking
		a.Text, a.Thinking = "", ""
		s.agents.put(a.Role, a)
		s.extend(streamKey{a.Role, false}, text)
		s.extend(streamKey{a.Role, true}, thinking)
	}
	for _, q := range p.Queues {
		s.queues.put(q.Key, wire.QueueUpdated{MonitorID: q.Key, Messages: q.Value})
	}
	for _, row := range p.RecentMessages {
		s.putRow(row)
	}
	s.loadPlan(p)
	s.addFirstMonitor()
	s.findToastsDue()
}
