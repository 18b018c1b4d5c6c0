package desktop

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Rows holds the newest rows of the conversation. Their number and their size are bounded.
type Rows struct {
	all   table[wire.Millis, wire.UIRow]
	bytes int // of the rows' texts
}

// Row returns a row of the conversation, if it is among the newest.
func (rs *Rows) Row(ts wire.Millis) (wire.UIRow, bool) { return rs.all.value(ts) }

// UserRow returns the row of a user's message: the first one, if several have its id.
func (rs *Rows) UserRow(id wire.MessageID) (wire.UIRow, bool) {
	var first *wire.UIRow
	for _, r := range rs.all.items {
		row := &r.value
		if row.MessageID == id && row.Say == wire.SayUserFeedback && (first == nil || row.TS < first.TS) {
			first = row
		}
	}
	if first == nil {
		return wire.UIRow{}, false
	}
	return *first, true
}

// put adds or replaces a row, and drops the oldest beyond the limits.
func (rs *Rows) put(row wire.UIRow) {
	if old := rs.all.get(row.TS); old != nil {
		rs.bytes -= rowSize(&old.value)
	}
	row.Text, row.Reasoning = validUTF8(row.Text), validUTF8(row.Reasoning)
	rs.bytes += rowSize(&row)
	rs.all.put(row.TS, row)
	for rs.all.len() > MaxRows || rs.bytes > MaxRowBytes && rs.all.len() > 1 {
		oldest, _ := rs.all.first(byTS)
		rs.drop(oldest)
	}
}

func byTS(a, b *wire.UIRow) int { return cmp.Compare(a.TS, b.TS) }

// rowSize returns the size of a row that counts for the limit.
func rowSize(r *wire.UIRow) int {
	n := len(r.Text) + len(r.Reasoning)
	for _, image := range r.Images {
		n += len(validUTF8(image))
	}
	return n
}

func (rs *Rows) drop(row *wire.UIRow) {
	rs.bytes -= rowSize(row)
	rs.all.drop(row.TS)
}

// rewind drops a row and the later ones, except those that stay, and adds restored older
// rows.
func (rs *Rows) rewind(p wire.HistoryRewound) {
	for _, r := range rs.all.items {
		if rewinds(&p, &r.value) {
			rs.drop(&r.value)
		}
	}
	for _, row := range p.Restored {
		row.MonitorID = cmp.Or(row.MonitorID, p.MonitorID)
		rs.put(row)
	}
}

// rewinds reports whether a rewind removes a row.
func rewinds(p *wire.HistoryRewound, r *wire.UIRow) bool {
	goes := r.TS > p.TS && !slices.Contains(p.Kept, r.TS) || r.TS == p.TS && !p.Included
	return goes && (p.MonitorID == "" || r.MonitorID == p.MonitorID)
}

// Restorable returns the newest of the older rows (oldest first) for which a rewind leaves
// room, so that [State.Apply] drops nothing for them.
func (rs *Rows) Restorable(p wire.HistoryRewound, older []wire.UIRow) []wire.UIRow {
	n, size := 0, 0
	for _, r := range rs.all.items {
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

// On returns the rows of a monitor, oldest first.
func (rs *Rows) On(monitor wire.MonitorID) []wire.UIRow {
	return rs.all.sorted(func(r *wire.UIRow) bool { return onMonitor(r, monitor) }, byTS)
}

// CountAfter returns how many rows of a monitor are later than ts.
func (rs *Rows) CountAfter(monitor wire.MonitorID, ts wire.Millis) (n int) {
	for _, r := range rs.all.items {
		if r.value.TS > ts && onMonitor(&r.value, monitor) {
			n++
		}
	}
	return n
}

// Monitors returns the monitors that have rows.
func (rs *Rows) Monitors() []wire.MonitorID {
	var all []wire.MonitorID
	for _, r := range rs.all.items {
		if m := cmp.Or(r.value.MonitorID, firstMonitor); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

func onMonitor(r *wire.UIRow, monitor wire.MonitorID) bool {
	return cmp.Or(r.MonitorID, firstMonitor) == monitor
}

// load fills the empty table from a snapshot.
func (rs *Rows) load(p *wire.SessionState) {
	rs.bytes = 0
	for _, row := range p.RecentMessages {
		rs.put(row)
	}
}

// afterRestore computes the size of the restored rows.
func (rs *Rows) afterRestore() {
	for _, r := range rs.all.items {
		rs.bytes += rowSize(&r.value)
	}
}
