package session

import (
	"context"

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
