package session

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Tasks returns tasks of a session, the newest first, and whether there are more. Every replica can
// answer it, whether or not it owns the session, from what is committed.
func (h *Hub) Tasks(ctx context.Context, id wire.SessionID, q history.TaskQuery) ([]history.FoundTask, bool, error) {
	bounded, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	kept, err := h.env.store.Load(bounded, id)
	if err != nil {
		return nil, false, asError(err)
	}
	var tasks *history.Tasks
	if table := kept.Tables[history.TaskTable]; len(table) > 0 {
		if tasks, err = history.LoadTasks(table); err != nil {
			err = &store.CorruptError{Where: "tasks of session " + string(id), Reason: err.Error()}
		}
	} else {
		tasks, err = h.env.reader.rebuildTasks(ctx, id, kept.Tables)
	}
	if err != nil {
		return nil, false, asError(err)
	}
	found, more := tasks.Find(q)
	return found, more, nil
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
