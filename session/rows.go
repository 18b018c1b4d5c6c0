package session

import (
	"context"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// MaxRowPage is how many rows a page has at most.
const MaxRowPage = pageOfRows

// RowQuery selects rows of a conversation.
type RowQuery struct {
	Monitor wire.MonitorID
	// Limit is how many rows there are at most, up to [MaxRowPage].
	Limit int
	// Before, unless zero, selects rows with lower ids.
	Before wire.RowID
}

// RowPage is a part of a conversation, the oldest row first.
type RowPage struct {
	Rows []wire.UIRow
	// More says that there are older ones.
	More bool
}

// Rows reads rows of a conversation from the archive, the newest unless the query
// says otherwise. Every replica can, whoever owns the session, and sees what is
// committed. The newest rows cost one question to the store.
func (h *Hub) Rows(ctx context.Context, id wire.SessionID, q RowQuery) (RowPage, error) {
	limit := min(max(q.Limit, 1), MaxRowPage)
	list := history.ArchiveList(q.Monitor)
	var page rowPage
	var err error
	if q.Before == 0 {
		page, err = h.readRows(ctx, id, list, -limit, limit)
	} else {
		page, err = h.rowsBefore(ctx, id, list, q.Before, limit)
	}
	if err == nil && page.from > 0 && len(page.rows) > 0 && page.rows[0].ID == 0 {
		// Rows that are older than ids are on one page, since nothing can name
		// a place among them. There are no more than a desktop has.
		var older rowPage
		older, err = h.readRows(ctx, id, list, 0, page.from)
		page.rows, page.from = slices.Concat(older.rows, page.rows), 0
	}
	if err != nil {
		return RowPage{}, asError(err)
	}
	return RowPage{Rows: page.rows, More: page.from > 0}, nil
}

// rowsBefore reads rows that come before another.
func (h *Hub) rowsBefore(ctx context.Context, id wire.SessionID, list string, before wire.RowID, limit int) (rowPage, error) {
	for {
		end, err := h.findRow(ctx, id, list, func(r wire.UIRow) int64 {
			return int64(r.ID) - int64(before) //nolint:gosec // ids are below 1<<53
		})
		if err != nil || end == 0 {
			return rowPage{}, err
		}
		from := max(end-limit, 0)
		page, err := h.readRows(ctx, id, list, from, end-from)
		if n := len(page.rows); err != nil || n == 0 || page.rows[n-1].ID < before {
			return page, err
		}
		// Old rows were dropped meanwhile, so all have moved.
	}
}
