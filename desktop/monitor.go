package desktop

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// monitors holds the monitors and the messages that wait on each.
type monitors struct {
	all    table[wire.MonitorID, wire.MonitorStatus]
	queues table[wire.MonitorID, wire.QueueUpdated]
}

// firstMonitor always exists.
const firstMonitor wire.MonitorID = "monitor-0"

// addFirst creates monitor-0 if it does not exist.
func (m *monitors) addFirst() {
	if m.all.get(firstMonitor) == nil {
		m.all.put(firstMonitor, wire.MonitorStatus{MonitorID: firstMonitor, State: wire.MonitorIdle})
	}
}

// add creates a monitor if it does not exist and the limit allows it, and reports whether
// it exists.
func (m *monitors) add(id wire.MonitorID) bool {
	if m.all.get(id) != nil {
		return true
	}
	if id == "" || m.all.len() >= MaxMonitors {
		return false
	}
	m.all.put(id, wire.MonitorStatus{MonitorID: id, State: wire.MonitorIdle})
	return true
}

// set creates or changes a monitor.
func (m *monitors) set(p wire.MonitorStatus) {
	if m.add(p.MonitorID) {
		p.MessageID = ""
		m.all.put(p.MonitorID, p)
	}
}

// remove removes a monitor and its queue.
func (m *monitors) remove(id wire.MonitorID) {
	m.all.drop(id)
	m.queues.drop(id)
}

// enqueue adds a waiting message at its position.
func (m *monitors) enqueue(p wire.MessageQueued, now wire.Millis) {
	monitor := cmp.Or(p.MonitorID, firstMonitor)
	q, _ := m.queues.value(monitor)
	known := slices.ContainsFunc(q.Messages, func(q wire.QueuedMessage) bool { return q.ID == p.MessageID })
	if p.Duplicate || known || p.MessageID == "" || len(q.Messages) >= MaxQueued || !m.add(monitor) {
		return
	}
	at := min(max(p.Position-1, 0), len(q.Messages))
	// Snapshots share the old list, so it must not change.
	list := slices.Insert(slices.Clone(q.Messages), at, wire.QueuedMessage{ID: p.MessageID, Timestamp: now})
	m.queues.put(monitor, wire.QueueUpdated{MonitorID: monitor, Messages: list})
}

// dequeue removes a waiting message from its queue.
func (m *monitors) dequeue(message wire.MessageID) {
	for monitor, r := range m.queues.items {
		i := slices.IndexFunc(r.value.Messages, func(q wire.QueuedMessage) bool { return q.ID == message })
		if i < 0 {
			continue
		}
		m.setQueue(wire.QueueUpdated{
			MonitorID: monitor, Messages: slices.Concat(r.value.Messages[:i], r.value.Messages[i+1:]),
		})
	}
}

// setQueue replaces the queue of a monitor.
func (m *monitors) setQueue(p wire.QueueUpdated) {
	if len(p.Messages) == 0 {
		m.queues.drop(p.MonitorID)
		return
	}
	if m.add(p.MonitorID) {
		list := p.Messages[:min(len(p.Messages), MaxQueued)]
		m.queues.put(p.MonitorID, wire.QueueUpdated{MonitorID: p.MonitorID, Messages: list})
	}
}

// addTo adds the shown monitors and their queues to a snapshot.
func (m *monitors) addTo(state *wire.SessionState, shown func(wire.MonitorID) bool) {
	state.Monitors = m.all.sorted(func(s *wire.MonitorStatus) bool { return shown(s.MonitorID) }, byMonitor)
	for _, s := range state.Monitors {
		if s.Budget != nil {
			state.Budgets = append(state.Budgets, wire.Member[wire.MonitorID, wire.Budget]{Key: s.MonitorID, Value: *s.Budget})
		}
	}
	for _, q := range m.queues.sorted(func(q *wire.QueueUpdated) bool { return shown(q.MonitorID) }, byQueue) {
		state.Queues = append(state.Queues, wire.Member[wire.MonitorID, []wire.QueuedMessage]{
			Key: q.MonitorID, Value: slices.Clone(q.Messages),
		})
	}
}

func byMonitor(a, b *wire.MonitorStatus) int { return compareMonitors(a.MonitorID, b.MonitorID) }

func byQueue(a, b *wire.QueueUpdated) int { return compareMonitors(a.MonitorID, b.MonitorID) }

// compareMonitors orders monitors, the first monitor first.
func compareMonitors(a, b wire.MonitorID) int {
	switch {
	case a == b:
		return 0
	case a == firstMonitor:
		return -1
	case b == firstMonitor:
		return 1
	}
	return cmp.Compare(a, b)
}

// load fills the empty tables from a snapshot.
func (m *monitors) load(p *wire.SessionState) {
	for _, s := range p.Monitors {
		m.all.put(s.MonitorID, s)
	}
	for _, q := range p.Queues {
		m.queues.put(q.Key, wire.QueueUpdated{MonitorID: q.Key, Messages: q.Value})
	}
	m.addFirst()
}
