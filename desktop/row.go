package desktop

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// setRow stores a new or changed row.
func (s *State) setRow(p wire.MessageUpdated) {
	row := p.Message
	row.MonitorID = cmp.Or(row.MonitorID, p.MonitorID)
	row.AgentID = cmp.Or(row.AgentID, p.AgentID)
	row.MessageID = cmp.Or(row.MessageID, p.MessageID)
	if a, _ := s.about.value(only{}); row.ID > a.LastRow || row.TS > a.LastTS {
		a.LastRow, a.LastTS = max(a.LastRow, row.ID), max(a.LastTS, row.TS)
		s.about.put(only{}, a)
	}
	s.putRow(row)
}

// LastRow returns the highest id and the highest TS that any row ever had, including
// dropped rows.
func (s *State) LastRow() (wire.RowID, wire.Millis) {
	a, _ := s.about.value(only{})
	for _, r := range s.rows.items { // for states stored before the two were tracked
		a.LastRow, a.LastTS = max(a.LastRow, r.value.ID), max(a.LastTS, r.value.TS)
	}
	return a.LastRow, a.LastTS
}

func (s *State) putRow(row wire.UIRow) {
	if old := s.rows.get(row.TS); old != nil {
		s.rowBytes -= rowSize(&old.value)
	}
	row.Text, row.Reasoning = mended(row.Text), mended(row.Reasoning)
	s.rowBytes += rowSize(&row)
	s.rows.put(row.TS, row)
	for s.rows.len() > MaxRows || s.rowBytes > MaxRowBytes && s.rows.len() > 1 {
		oldest, _ := s.rows.first(byTS)
		s.dropRow(oldest)
	}
}

func byTS(a, b *wire.UIRow) int { return cmp.Compare(a.TS, b.TS) }

// rowSize returns the size of a row that counts for the limit.
func rowSize(r *wire.UIRow) int {
	n := len(r.Text) + len(r.Reasoning)
	for _, image := range r.Images {
		n += len(mended(image))
	}
	return n
}

func (s *State) dropRow(row *wire.UIRow) {
	s.rowBytes -= rowSize(row)
	s.rows.drop(row.TS)
}

// rewind drops a row and the later ones, except those that stay, and adds restored older
// rows.
func (s *State) rewind(p wire.HistoryRewound) {
	for _, r := range s.rows.items {
		if rewinds(&p, &r.value) {
			s.dropRow(&r.value)
		}
	}
	for _, row := range p.Restored {
		row.MonitorID = cmp.Or(row.MonitorID, p.MonitorID)
		s.putRow(row)
	}
}

// rewinds reports whether a rewind removes a row.
func rewinds(p *wire.HistoryRewound, r *wire.UIRow) bool {
	goes := r.TS > p.TS && !slices.Contains(p.Kept, r.TS) || r.TS == p.TS && !p.Included
	return goes && (p.MonitorID == "" || r.MonitorID == p.MonitorID)
}

// Restorable returns the newest of the older rows (oldest first) for which a rewind leaves
// room, so that [State.Apply] drops nothing for them.
func (s *State) Restorable(p wire.HistoryRewound, older []wire.UIRow) []wire.UIRow {
	n, size := 0, 0
	for _, r := range s.rows.items {
		if !rewinds(&p, &r.value) {
			n, size = n+1, size+rowSize(&r.value)
		}
	}
	for i := range slices.Backward(older) {
		size += rowSize(&older[i])
		if n++; n > MaxRows || size > MaxRowBytes && n > 1 {
			return older[i+1:]
		}
	}
	return older
}

// Rows returns the newest rows of a monitor, oldest first.
func (s *State) Rows(monitor wire.MonitorID) []wire.UIRow {
	return s.rows.sorted(func(r *wire.UIRow) bool { return onMonitor(r, monitor) }, byTS)
}

// RowsAfter returns how many of them are later than ts.
func (s *State) RowsAfter(monitor wire.MonitorID, ts wire.Millis) (n int) {
	for _, r := range s.rows.items {
		if r.value.TS > ts && onMonitor(&r.value, monitor) {
			n++
		}
	}
	return n
}

// MonitorsWithRows returns the monitors of the newest rows.
func (s *State) MonitorsWithRows() []wire.MonitorID {
	var all []wire.MonitorID
	for _, r := range s.rows.items {
		if m := cmp.Or(r.value.MonitorID, firstMonitor); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

func onMonitor(r *wire.UIRow, monitor wire.MonitorID) bool {
	return cmp.Or(r.MonitorID, firstMonitor) == monitor
}
