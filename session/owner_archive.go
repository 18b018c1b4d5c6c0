package session

import (
	"cmp"
	"context"
	"fmt"
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

// RowsSince returns the rows of a conversation from the one with time ts on; with said, from the user's
// last message up to there.
func (w *stepWriter) RowsSince(monitor wire.MonitorID, ts wire.Millis, said bool) ([]wire.UIRow, error) {
	rows, err := w.rowsSince(monitor, ts)
	for err == nil && len(rows) > 0 && rows[0].ID > 0 && said && rows[0].Say != wire.SayUserFeedback {
		var before RowPage
		before, err = w.reader.rows(w.held.ctx, w.id, RowQuery{Monitor: monitor, Limit: saidPage, Before: rows[0].ID})
		if err != nil || len(before.Rows) == 0 {
			return nil, err
		}
		user, _ := history.UserRowAt(before.Rows, before.Rows[len(before.Rows)-1].TS)
		from, _ := slices.BinarySearchFunc(before.Rows, user.TS, byTime) // or all, if there is none
		rows = append(before.Rows[from:], rows...)
	}
	return rows, err
}

// saidPage is the number of rows per read when searching for the user's message.
const saidPage = 100

// removeRows removes rows from the state and the archive: all of since but those in stay.
func (w *stepWriter) removeRows(r wire.HistoryRewound, since, stay []wire.UIRow) {
	older := w.olderRows(r.MonitorID, since)
	w.rewindRows(r.MonitorID, since, stay)
	r.Restored = w.restorableRows(r, append(older, stay...))
	w.Emit(r)
}

// coldPage is the number of list items per read.
const coldPage = 500

func (w *stepWriter) readColdPage(list string, from int) (store.ListPage, error) {
	ctx, cancel := context.WithTimeout(w.held.ctx, storeTimeout)
	defer cancel()
	return w.reader.log.ReadList(ctx, w.id, list, from, coldPage)
}

// ReadColdList reads a list that is not loaded with the session.
func (w *stepWriter) ReadColdList(list string) ([][]byte, error) {
	var items [][]byte
	for {
		page, err := w.readColdPage(list, len(items))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", list, err)
		}
		items = append(items, page.Items...)
		if len(page.Items) == 0 || len(items) >= page.Total {
			return items, nil
		}
	}
}
