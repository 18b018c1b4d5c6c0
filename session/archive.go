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
	// searchPage is the number of rows per read while findRow searches, and rowPageSize that of all
	// other reads.
	searchPage  = 32
	rowPageSize = 1000
	// maxTime is later than every row.
	maxTime wire.Millis = math.MaxInt64
)

// archives are the archives of conversations (all rows, in store lists) by monitor.
type archives map[wire.MonitorID]*history.Archive

func (a archives) clone() archives {
	c := maps.Clone(a)
	for m := range c {
		c[m] = c[m].Clone()
	}
	return c
}

// appendChanges appends the ops that store the metadata of changed archives.
func (a archives) appendChanges(ops []store.Op) []store.Op {
	for _, one := range a {
		if one.Changed() {
			ops = append(ops, one.SaveOp())
		}
	}
	return ops
}

// emitRow emits a new or changed row and stores it in the archive in the same step. A row that is
// no longer among the newest is in no tab's state: it changes in the archive only.
func (l *owner) emitRow(p wire.MessageUpdated) {
	monitor := cmp.Or(p.Message.MonitorID, p.MonitorID, firstMonitor)
	was, known := l.state.Rows().Row(p.Message.TS)
	switch {
	case known:
		p.Message.ID = cmp.Or(p.Message.ID, was.ID) // the id never changes
	case p.Action == wire.RowUpdated:
		l.updateArchivedRow(monitor, p.Message)
		return
	}
	archive := l.archiveOf(monitor)
	l.state.Apply(l.appendEvent(p))
	is, ok := l.state.Rows().Row(p.Message.TS)
	switch {
	case !ok || archive == nil: // the row is older than all rows the state has room for, or its monitor does not exist
	case known:
		l.addRowOps(archive.Change(l.state.Rows().CountAfter(monitor, is.TS), was, is))
	default:
		l.addRowOps(archive.Add(is))
	}
}

// addRowOps adds changes of archived rows to the step.
func (l *owner) addRowOps(ops []store.Op) {
	stepWriter{l}.AddOps(ops...)
	l.step.archived = true
}

// archiveOf returns the archive of a monitor and makes it if necessary. It returns nil for a
// monitor that does not exist, so that arbitrary monitor ids do not make archives. A new archive
// begins with the rows that the state has, for sessions from before there were archives.
func (l *owner) archiveOf(monitor wire.MonitorID) *history.Archive {
	if a, ok := l.archives[monitor]; ok || !l.state.HasMonitor(monitor) {
		return a
	}
	a, ops := history.NewArchive(monitor, l.state.Rows().On(monitor))
	l.addRowOps(ops)
	if l.archives == nil {
		l.archives = archives{}
	}
	l.archives[monitor] = a
	return a
}

// deleteConversation deletes the rows of a monitor that is being removed.
func (l *owner) deleteConversation(monitor wire.MonitorID) {
	if rows := l.state.Rows().On(monitor); len(rows) > 0 {
		l.emit(wire.HistoryRewound{TS: rows[0].TS, Removed: len(rows), MonitorID: monitor})
	}
	if a, ok := l.archives[monitor]; ok {
		l.addRowOps(a.Remove())
		delete(l.archives, monitor)
	}
}

// updateArchivedRow changes a row that only the archive has.
func (l *owner) updateArchivedRow(monitor wire.MonitorID, row wire.UIRow) {
	rows, err := l.rowsSince(monitor, row.TS)
	if err != nil {
		l.live.log.WarnContext(l.ctx, "archived row not updated", "err", err)
		return
	}
	if a := l.archiveOf(monitor); a != nil && len(rows) > 0 { // else the row is deleted
		row.ID, row.MonitorID = rows[0].ID, rows[0].MonitorID
		l.addRowOps(a.Change(len(rows)-1, rows[0], row))
	}
}

// rowsSince returns the rows of a conversation from the row with time ts on, the oldest first, or
// none if there is no such row. It reads the store, and so blocks, unless the row is among the
// newest.
func (l *owner) rowsSince(monitor wire.MonitorID, ts wire.Millis) ([]wire.UIRow, error) {
	newest := l.state.Rows().On(monitor)
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
	// The rows of this step are not in the store yet.
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

// rewindRows removes rows from the archive of a conversation: since are all rows from one on, as
// rowsSince returns them, and stay are those of them that stay. HISTORY_REWOUND changes the desktop
// state.
func (l *owner) rewindRows(monitor wire.MonitorID, since, stay []wire.UIRow) {
	if a := l.archiveOf(monitor); a != nil {
		l.addRowOps(a.Rewind(since, stay))
	}
}

// restoredBytes bounds the JSON size of the rows that a rewind brings back into the state. The
// batch has them twice: in the event and in the tables.
const restoredBytes = 5 << 18

// olderRows returns the rows of a conversation before since and before those that the state has, at
// most as many as a state holds, the oldest first. If they cannot be read the rewind is still
// correct, and the archive has them.
func (l *owner) olderRows(monitor wire.MonitorID, since []wire.UIRow) []wire.UIRow {
	a := l.archiveOf(monitor)
	if a == nil || len(since) == 0 {
		return nil
	}
	end, _ := a.Expected(since)
	for _, r := range l.state.Rows().On(monitor) {
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

// restorableRows returns those rows that a rewind brings back into the state: they are not in it,
// and there is room for them.
func (l *owner) restorableRows(r wire.HistoryRewound, rows []wire.UIRow) []wire.UIRow {
	rows = slices.DeleteFunc(rows, func(row wire.UIRow) bool {
		_, there := l.state.Rows().Row(row.TS)
		return there
	})
	rows = l.state.Rows().Restorable(r, rows)
	size := 0
	for i := range slices.Backward(rows) {
		if size += len(history.EncodeRow(&rows[i])); size > restoredBytes {
			return rows[i+1:]
		}
	}
	return rows
}

// repairArchives returns the ops that make the archives match what this owner knows, after the
// store has lost data. Rows that the store lost and that are older than the newest rows stay lost.
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

// repairArchive finds the valid part of an archive's list: it ends before the newest rows, contains
// nothing that was trimmed, and is no longer than the archive was, because what follows then had
// been removed by a rewind.
func (l *owner) repairArchive(monitor wire.MonitorID) ([]store.Op, error) {
	a, newest := l.archives[monitor], l.state.Rows().On(monitor)
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

// rowPage is a contiguous part of an archive.
type rowPage struct {
	rows        []wire.UIRow
	from, total int
}

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

// findRow returns the index of the first row of an archive that does not come before the target.
// distance returns an upper bound of the number of rows between the target and a row; it is
// negative for rows before the target. findRow reads the end first, then the earliest possible
// place according to distance, and then bisects.
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
