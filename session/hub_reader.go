package session

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// storeReader reads sessions from the store, whether or not this replica owns them.
type storeReader struct {
	log       Log
	directory Directory
}

// loadedSession is a session as the store has it.
type loadedSession struct {
	state     *desktop.State
	prevOwner wire.ReplicaID // owner before the newest claim
	tables    map[string]map[string][]byte
	lists     map[string][][]byte
	info      store.Info
}

// load loads a session from the store. It fails with store.ErrNotFound if the session belongs to
// another user than the given one: its id was reused.
func (sr *storeReader) load(ctx context.Context, id wire.SessionID, user string) (loadedSession, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	kept, err := sr.log.Load(ctx, id)
	if err != nil {
		return loadedSession{}, fmt.Errorf("load session: %w", err)
	}
	info, err := sr.directory.Session(ctx, id)
	if err != nil {
		return loadedSession{}, fmt.Errorf("look session up: %w", err)
	}
	if user != "" && user != info.User && !wasUser(info.Card, user) {
		return loadedSession{}, fmt.Errorf("load session: %w: %w", store.ErrNotFound, errOtherSession)
	}
	at := kept.At
	claimed := at.Epoch > 0 && at.Seq == 0
	if claimed {
		// The newest event is a claim, which the stored tables do not contain. Any position before
		// it will do.
		at = wire.Position{Epoch: at.Epoch - 1, Seq: math.MaxUint64}
	}
	state, err := desktop.Restore(id, at, kept.Tables)
	if err != nil {
		return loadedSession{info: info}, &store.CorruptError{Where: "tables of session " + string(id), Reason: err.Error()}
	}
	before := state.Owner()
	if claimed {
		owner := wire.OwnerChanged{Epoch: kept.At.Epoch}
		if info.Epoch == kept.At.Epoch {
			owner.Replica = info.Owner
		} // else the log has a newer claim, which names the owner
		// An epoch is a time in milliseconds, and the claim event has the time of its epoch.
		at := time.UnixMilli(int64(kept.At.Epoch)) //nolint:gosec // milliseconds
		state.Apply(wire.Event{Session: id, At: kept.At, Time: at, Data: owner})
	}
	return loadedSession{state: state, prevOwner: before, tables: kept.Tables, lists: kept.Lists, info: info}, nil
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
func (sr *storeReader) findRow(ctx context.Context, id wire.SessionID, list string, distance func(wire.UIRow) int64) (int, error) {
	page, err := sr.readRows(ctx, id, list, -searchPage, searchPage)
	low, high := 0, page.total
	for guess := true; err == nil; guess = false {
		i := slices.IndexFunc(page.rows, func(r wire.UIRow) bool { return distance(r) >= 0 })
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
			low = int(max(int64(low), int64(high)-distance(page.rows[0])))
			from = low
		}
		page, err = sr.readRows(ctx, id, list, from, searchPage)
	}
	return 0, err
}

// rows is [Hub.Rows] with the errors of the store.
func (sr *storeReader) rows(ctx context.Context, id wire.SessionID, q RowQuery) (RowPage, error) {
	limit := min(max(q.Limit, 1), MaxRowPage)
	list := history.ArchiveList(q.Monitor)
	var page rowPage
	var err error
	if q.Newest() {
		page, err = sr.readRows(ctx, id, list, -limit, limit)
	} else {
		page, err = sr.rowsBefore(ctx, id, list, q, limit)
	}
	if err == nil && page.from > 0 && len(page.rows) > 0 && page.rows[0].ID == 0 {
		// Rows from before there were row ids go on one page, because no query can name a place
		// among them. There are at most as many as a desktop state holds.
		var older rowPage
		older, err = sr.readRows(ctx, id, list, 0, page.from)
		page.rows, page.from = slices.Concat(older.rows, page.rows), 0
	}
	if err != nil {
		return RowPage{}, err
	}
	return RowPage{Rows: page.rows, More: page.from > 0}, nil
}

// rowsBefore reads the rows before an id or a time.
func (sr *storeReader) rowsBefore(ctx context.Context, id wire.SessionID, list string, q RowQuery, limit int) (rowPage, error) {
	for {
		end, err := sr.findRow(ctx, id, list, q.distance)
		if err != nil || end == 0 {
			return rowPage{}, err
		}
		from := max(end-limit, 0)
		page, err := sr.readRows(ctx, id, list, from, end-from)
		if n := len(page.rows); err != nil || n == 0 || q.distance(page.rows[n-1]) < 0 {
			return page, err
		}
		// Old rows were trimmed meanwhile, so all indexes have shifted.
	}
}

// readList returns a whole list that Load leaves out.
func (sr *storeReader) readList(ctx context.Context, id wire.SessionID, list string) ([][]byte, error) {
	var items [][]byte
	for {
		page, err := sr.log.ReadList(ctx, id, list, len(items), rowPageSize)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", list, err)
		}
		items = append(items, page.Items...)
		if len(page.Items) == 0 || len(items) >= page.Total {
			return items, nil
		}
	}
}

// rowsUpTo iterates over the rows of a conversation up to the row with id last, the oldest first.
// For a session from before there were archives it yields the newest rows only.
func (sr *storeReader) rowsUpTo(ctx context.Context, id wire.SessionID, monitor wire.MonitorID, last wire.RowID, newest []wire.UIRow) iter.Seq2[wire.UIRow, error] {
	return func(yield func(wire.UIRow, error) bool) {
		for from := 0; ; {
			page, err := sr.readRows(ctx, id, history.ArchiveList(monitor), from, rowPageSize)
			if err != nil {
				yield(wire.UIRow{}, err)
				return
			}
			rows := page.rows
			if page.total == 0 {
				rows = newest
			}
			for _, row := range rows {
				row.MonitorID = monitor
				if row.ID > last || !yield(row, nil) {
					return
				}
			}
			if from += len(page.rows); len(page.rows) == 0 || from >= page.total {
				return
			}
		}
	}
}

// rebuildTasks makes the list of tasks from the newest rows of all conversations, for a session
// that has no stored list.
func (sr *storeReader) rebuildTasks(ctx context.Context, id wire.SessionID, tables map[string]map[string][]byte) (*history.Tasks, error) {
	var rows []wire.UIRow
	for _, monitor := range slices.Sorted(maps.Keys(tables[history.ArchiveTable])) {
		page, err := sr.readRows(ctx, id, history.ArchiveList(wire.MonitorID(monitor)), -rowPageSize, rowPageSize)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page.rows...)
	}
	slices.SortStableFunc(rows, func(a, b wire.UIRow) int { return cmp.Compare(a.TS, b.TS) })
	return history.RebuildTasks(rows), nil
}
