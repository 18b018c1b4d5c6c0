package session

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// searchPage is how many rows are looked at when one is looked for, and
	// rowPageSize how many are read at once otherwise.
	searchPage  = 32
	rowPageSize = 1000
	// maxTime is after every row.
	maxTime wire.Millis = math.MaxInt64
)

// archives are what is known of the lists with all rows, by monitor.
type archives map[wire.MonitorID]*history.Archive

func (a archives) clone() archives {
	c := maps.Clone(a)
	for m := range c {
		c[m] = c[m].Clone()
	}
	return c
}

// appendChanges adds what has to be kept of those that have changed.
func (a archives) appendChanges(ops []store.Op) []store.Op {
	for _, one := range a {
		if one.Changed() {
			ops = append(ops, one.SaveOp())
		}
	}
	return ops
}

// emitRow shows a row that is new or has changed, and keeps it in the archive in
// the same step. A row that is no longer among the newest is in no state that
// anybody has: it changes in the archive alone.
func (l *owner) emitRow(p wire.MessageUpdated) {
	monitor := cmp.Or(p.Message.MonitorID, p.MonitorID, firstMonitor)
	was, known := l.state.Row(p.Message.TS)
	switch {
	case known:
		p.Message.ID = cmp.Or(p.Message.ID, was.ID) // it never changes
	case p.Action == wire.RowUpdated:
		l.updateArchivedRow(monitor, p.Message)
		return
	}
	archive := l.archiveOf(monitor)
	l.state.Apply(l.appendEvent(p))
	is, ok := l.state.Row(p.Message.TS)
	switch {
	case !ok || archive == nil: // it is older than all that there is room for, or of nowhere
	case known:
		l.addRowOps(archive.Change(l.state.RowsAfter(monitor, is.TS), was, is))
	default:
		l.addRowOps(archive.Add(is))
	}
}

// addRowOps adds what becomes of the rows of an archive to the step.
func (l *owner) addRowOps(ops []store.Op) {
	stepWriter{l}.Keep(ops...)
	l.step.archived = true
}

// archiveOf is that of a monitor, or nil: names of monitors that are not there have
// none, there are too many of them. The first of a session that has had rows before
// begins with those that there still are.
func (l *owner) archiveOf(monitor wire.MonitorID) *history.Archive {
	if a, ok := l.archives[monitor]; ok || !l.state.HasMonitor(monitor) {
		return a
	}
	a, ops := history.NewArchive(monitor, l.state.Rows(monitor))
	l.addRowOps(ops)
	if l.archives == nil {
		l.archives = archives{}
	}
	l.archives[monitor] = a
	return a
}

// deleteConversation forgets the conversation of a monitor that goes.
func (l *owner) deleteConversation(monitor wire.MonitorID) {
	if rows := l.state.Rows(monitor); len(rows) > 0 {
		l.emit(wire.HistoryRewound{TS: rows[0].TS, Removed: len(rows), MonitorID: monitor})
	}
	if a, ok := l.archives[monitor]; ok {
		l.addRowOps(a.Remove())
		delete(l.archives, monitor)
	}
}

// updateArchivedRow changes a row that is only in the archive.
func (l *owner) updateArchivedRow(monitor wire.MonitorID, row wire.UIRow) {
	rows, err := l.rowsSince(monitor, row.TS)
	if err != nil {
		l.live.log.WarnContext(l.ctx, "an old row cannot be changed", "err", err)
		return
	}
	if a := l.archiveOf(monitor); a != nil && len(rows) > 0 { // else it is gone
		row.ID, row.MonitorID = rows[0].ID, rows[0].MonitorID
		l.addRowOps(a.Change(len(rows)-1, rows[0], row))
	}
}

// rowsSince are the rows of a conversation from the one of a time on, the oldest
// first; none if there is no such row. It asks the store, and so takes a while,
// unless the row is among the newest.
func (l *owner) rowsSince(monitor wire.MonitorID, ts wire.Millis) ([]wire.UIRow, error) {
	newest := l.state.Rows(monitor)
	from := func(rows []wire.UIRow) []wire.UIRow {
		if i, ok := slices.BinarySearchFunc(rows, ts, byTime); ok {
			return rows[i:]
		}
		return nil
	}
	if len(newest) > 0 && ts >= newest[0].TS {
		return from(newest), nil
	}
	list := history.ArchiveList(monitor)
	begin, err := l.live.hub.findRow(l.ctx, l.live.id, list, func(r wire.UIRow) int64 { return int64(r.TS - ts) })
	if err != nil {
		return nil, err
	}
	var rows []wire.UIRow
	for {
		page, err := l.live.hub.readRows(l.ctx, l.live.id, list, begin, rowPageSize)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, page.rows...); page.from+len(page.rows) >= page.total {
			break
		}
		begin = page.from + len(page.rows)
	}
	// What this step has added is not in the store yet.
	for _, op := range l.step.ops {
		if op.Kind != store.OpPush || op.Name != list {
			continue
		}
		for _, v := range op.Values {
			row, err := history.DecodeRow(v)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	rows = slices.DeleteFunc(rows, func(r wire.UIRow) bool { return len(newest) > 0 && r.TS >= newest[0].TS })
	return from(append(rows, newest...)), nil
}

func byTime(r wire.UIRow, ts wire.Millis) int { return cmp.Compare(r.TS, ts) }

// rewindRows takes rows out of the archive of a conversation: since are all from
// one on, as rowsSince has them, and stay are those of them that stay. The desktop
// learns of it from HISTORY_REWOUND.
func (l *owner) rewindRows(monitor wire.MonitorID, since, stay []wire.UIRow) {
	if a := l.archiveOf(monitor); a != nil {
		l.addRowOps(a.Rewind(since, stay))
	}
}

// restoredBytes bounds the rows that come back with a rewind, as JSON. They are in
// its batch twice: in the event and in the state.
const restoredBytes = 5 << 18

// olderRows are the rows of a conversation before those that a rewind concerns and
// before those that the state has, as many as a state can have, the oldest first.
// Without them the rewind is right too, and the archive has them.
func (l *owner) olderRows(monitor wire.MonitorID, since []wire.UIRow) []wire.UIRow {
	a := l.archiveOf(monitor)
	if a == nil || len(since) == 0 {
		return nil
	}
	end, _ := a.Expected(since)
	for _, r := range l.state.Rows(monitor) {
		if r.TS < since[0].TS {
			end--
		}
	}
	if end <= 0 {
		return nil
	}
	from := max(end-desktop.MaxRows, 0)
	page, err := l.live.hub.readRows(l.ctx, l.live.id, a.List(), from, end-from)
	if err != nil {
		l.live.log.WarnContext(l.ctx, "older rows not restored after a rewind", "err", err)
	}
	return page.rows
}

// restorableRows are those of rows that come back into the state with a rewind: they are
// not in it, and there is room for them.
func (l *owner) restorableRows(r wire.HistoryRewound, rows []wire.UIRow) []wire.UIRow {
	rows = slices.DeleteFunc(rows, func(row wire.UIRow) bool {
		_, there := l.state.Row(row.TS)
		return there
	})
	rows = l.state.Restorable(r, rows)
	size := 0
	for i := range slices.Backward(rows) {
		if size += len(history.EncodeRow(&rows[i])); size > restoredBytes {
			return rows[i+1:]
		}
	}
	return rows
}

// repairArchives is what makes the archives those that we know, after the store has
// forgotten something. What it forgot of before the newest rows is lost.
func (l *owner) repairArchives(tables map[string]map[string][]byte) ([]store.Op, error) {
	var ops []store.Op
	for field := range tables[history.ArchiveTable] {
		if _, ok := l.archives[wire.MonitorID(field)]; !ok {
			ops = append(ops, store.Drop(history.ArchiveList(wire.MonitorID(field))))
		}
	}
	for _, m := range slices.Sorted(maps.Keys(l.archives)) {
		healing, err := l.repairArchive(m)
		if err != nil {
			return nil, err
		}
		ops = append(append(ops, healing...), l.archives[m].SaveOp())
	}
	return ops, nil
}

// repairArchive finds what is right in the list of an archive: nothing from the newest rows
// on, nothing that was trimmed, and no more than there were, since what follows
// then was rewound.
func (l *owner) repairArchive(monitor wire.MonitorID) ([]store.Op, error) {
	a, newest := l.archives[monitor], l.state.Rows(monitor)
	find := func(ts wire.Millis) (int, error) {
		return l.live.hub.findRow(l.ctx, l.live.id, a.List(), func(r wire.UIRow) int64 { return int64(r.TS - ts) })
	}
	before, since := a.Expected(newest)
	end := maxTime
	if len(newest) > 0 {
		end = newest[0].TS
	}
	to, err := find(end)
	if err != nil {
		return nil, err
	}
	from := 0
	if to > before {
		if from, err = find(since); err != nil {
			return nil, err
		}
	}
	return a.Repair(from, max(from, min(to, from+before)), newest), nil
}

// rowPage is a part of an archive.
type rowPage struct {
	rows        []wire.UIRow
	from, total int
}

// readRows reads a part of an archive.
func (h *Hub) readRows(ctx context.Context, id wire.SessionID, list string, from, limit int) (rowPage, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	got, err := h.store.ReadList(ctx, id, list, from, limit)
	if err != nil {
		return rowPage{}, err
	}
	page := rowPage{rows: make([]wire.UIRow, len(got.Items)), from: got.From, total: got.Total}
	for i, item := range got.Items {
		if page.rows[i], err = history.DecodeRow(item); err != nil {
			return rowPage{}, &store.CorruptError{Where: list, Reason: err.Error()}
		}
	}
	return page, nil
}

// findRow is the index of the first row of an archive that does not come before
// what is looked for. far says how many rows at most lie between that and a row,
// and is less than 0 for rows that come before it. The end is looked at first, then
// the place that is as far back as it can be, then the middle of what is left.
func (h *Hub) findRow(ctx context.Context, id wire.SessionID, list string, far func(wire.UIRow) int64) (int, error) {
	page, err := h.readRows(ctx, id, list, -searchPage, searchPage)
	low, high := 0, page.total
	for guess := true; err == nil; guess = false {
		i := slices.IndexFunc(page.rows, func(r wire.UIRow) bool { return far(r) >= 0 })
		switch {
		case i > 0:
			return page.from + i, nil
		case i == 0:
			high = page.from
		default:
			low = page.from + len(page.rows)
		}
		if low >= high {
			return high, nil
		}
		from := max(low, (low+high-searchPage)/2)
		if guess && i == 0 {
			low = int(max(int64(low), int64(high)-far(page.rows[0])))
			from = low
		}
		page, err = h.readRows(ctx, id, list, from, searchPage)
	}
	return 0, err
}
