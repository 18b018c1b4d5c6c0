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
func (w *stepWriter) emitRow(p wire.MessageUpdated) {
	monitor := cmp.Or(p.Message.MonitorID, p.MonitorID, firstMonitor)
	was, known := w.state.Rows().Row(p.Message.TS)
	switch {
	case known:
		p.Message.ID = cmp.Or(p.Message.ID, was.ID) // the id never changes
	case p.Action == wire.RowUpdated:
		w.updateArchivedRow(monitor, p.Message)
		return
	}
	archive := w.archiveOf(monitor)
	w.state.Apply(w.appendEvent(p))
	is, ok := w.state.Rows().Row(p.Message.TS)
	switch {
	case !ok || archive == nil: // the row is older than all rows the state has room for, or its monitor does not exist
	case known:
		w.addRowOps(archive.Change(w.state.Rows().CountAfter(monitor, is.TS), was, is))
	default:
		w.addRowOps(archive.Add(is))
	}
}

// addRowOps adds changes of archived rows to the step.
func (w *stepWriter) addRowOps(ops []store.Op) {
	w.AddOps(ops...)
	w.step.archived = true
}

// archiveOf returns the archive of a monitor and makes it if necessary. It returns nil for a
// monitor that does not exist, so that arbitrary monitor ids do not make archives. A new archive
// begins with the rows that the state has, for sessions from before there were archives.
func (w *stepWriter) archiveOf(monitor wire.MonitorID) *history.Archive {
	if a, ok := w.archives[monitor]; ok || !w.state.HasMonitor(monitor) {
		return a
	}
	a, ops := history.NewArchive(monitor, w.state.Rows().On(monitor))
	w.addRowOps(ops)
	if w.archives == nil {
		w.archives = archives{}
	}
	w.archives[monitor] = a
	return a
}

// deleteConversation deletes the rows of a monitor that is being removed.
func (w *stepWriter) deleteConversation(monitor wire.MonitorID) {
	if rows := w.state.Rows().On(monitor); len(rows) > 0 {
		w.Emit(wire.HistoryRewound{TS: rows[0].TS, Removed: len(rows), MonitorID: monitor})
	}
	if a, ok := w.archives[monitor]; ok {
		w.addRowOps(a.Remove())
		delete(w.archives, monitor)
	}
}

// updateArchivedRow changes a row that only the archive has.
func (w *stepWriter) updateArchivedRow(monitor wire.MonitorID, row wire.UIRow) {
	rows, err := w.rowsSince(monitor, row.TS)
	if err != nil {
		w.log.WarnContext(w.held.ctx, "archived row not updated", "err", err)
		return
	}
	if a := w.archiveOf(monitor); a != nil && len(rows) > 0 { // else the row is deleted
		row.ID, row.MonitorID = rows[0].ID, rows[0].MonitorID
		w.addRowOps(a.Change(len(rows)-1, rows[0], row))
	}
}

// rowsSince returns the rows of a conversation from the row with time ts on, the oldest first, or
// none if there is no such row. It reads the store, and so blocks, unless the row is among the
// newest.
func (w *stepWriter) rowsSince(monitor wire.MonitorID, ts wire.Millis) ([]wire.UIRow, error) {
	newest := w.state.Rows().On(monitor)
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
	begin, err := w.reader.findRow(w.held.ctx, w.id, list, func(r wire.UIRow) int64 { return int64(r.TS - ts) })
	if err != nil {
		return nil, err
	}
	var rows []wire.UIRow
	for {
		page, err := w.reader.readRows(w.held.ctx, w.id, list, begin, rowPageSize)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, page.rows...); page.from+len(page.rows) >= page.total {
			break
		}
		begin = page.from + len(page.rows)
	}
	// The rows of this step are not in the store yet.
	for _, op := range w.step.ops {
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
func (w *stepWriter) rewindRows(monitor wire.MonitorID, since, stay []wire.UIRow) {
	if a := w.archiveOf(monitor); a != nil {
		w.addRowOps(a.Rewind(since, stay))
	}
}

// restoredBytes bounds the JSON size of the rows that a rewind brings back into the state. The
// batch has them twice: in the event and in the tables.
const restoredBytes = 5 << 18

// olderRows returns the rows of a conversation before since and before those that the state has, at
// most as many as a state holds, the oldest first. If they cannot be read the rewind is still
// correct, and the archive has them.
func (w *stepWriter) olderRows(monitor wire.MonitorID, since []wire.UIRow) []wire.UIRow {
	a := w.archiveOf(monitor)
	if a == nil || len(since) == 0 {
		return nil
	}
	end, _ := a.Expected(since)
	for _, r := range w.state.Rows().On(monitor) {
		if r.TS < since[0].TS {
			end--
		}
	}
	if end <= 0 {
		return nil
	}
	from := max(end-desktop.MaxRows, 0)
	page, err := w.reader.readRows(w.held.ctx, w.id, a.List(), from, end-from)
	if err != nil {
		w.log.WarnContext(w.held.ctx, "older rows not restored after a rewind", "err", err)
	}
	return page.rows
}

// restorableRows returns those rows that a rewind brings back into the state: they are not in it,
// and there is room for them.
func (w *stepWriter) restorableRows(r wire.HistoryRewound, rows []wire.UIRow) []wire.UIRow {
	rows = slices.DeleteFunc(rows, func(row wire.UIRow) bool {
		_, there := w.state.Rows().Row(row.TS)
		return there
	})
	rows = w.state.Rows().Restorable(r, rows)
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
		if _, ok := l.w.archives[wire.MonitorID(field)]; !ok {
			ops = append(ops, store.Drop(history.ArchiveList(wire.MonitorID(field))))
		}
	}
	for _, m := range slices.Sorted(maps.Keys(l.w.archives)) {
		healing, err := l.repairArchive(m)
		if err != nil {
			return nil, err
		}
		ops = append(append(ops, healing...), l.w.archives[m].SaveOp())
	}
	return ops, nil
}

// repairArchive finds the valid part of an archive's list: it ends before the newest rows, contains
// nothing that was trimmed, and is no longer than the archive was, because what follows then had
// been removed by a rewind.
func (l *owner) repairArchive(monitor wire.MonitorID) ([]store.Op, error) {
	a, newest := l.w.archives[monitor], l.w.state.Rows().On(monitor)
	find := func(ts wire.Millis) (int, error) {
		return l.live.env.reader.findRow(l.held.ctx, l.live.id, a.List(), func(r wire.UIRow) int64 { return int64(r.TS - ts) })
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

func (sr *storeReader) readRows(ctx context.Context, id wire.SessionID, list string, from, limit int) (rowPage, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	got, err := sr.log.ReadList(ctx, id, list, from, limit)
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
func (sr *storeReader) findRow(ctx context.Context, id wire.SessionID, list string, far func(wire.UIRow) int64) (int, error) {
	page, err := sr.readRows(ctx, id, list, -searchPage, searchPage)
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
		page, err = sr.readRows(ctx, id, list, from, searchPage)
	}
	return 0, err
}
