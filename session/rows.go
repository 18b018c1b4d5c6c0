package session

import (
	"context"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// MaxRowPage is the largest number of rows per page.
const MaxRowPage = rowPageSize

// RowQuery selects rows of a conversation.
type RowQuery struct {
	Monitor wire.MonitorID
	// Limit is the largest number of rows to return, up to [MaxRowPage].
	Limit int
	// Before, unless zero, selects rows with lower ids. Until, unless zero, selects rows before a
	// time.
	Before wire.RowID
	Until  wire.Millis
}

// Newest reports whether the query selects the newest rows.
func (q RowQuery) Newest() bool { return q.Before == 0 && q.Until == 0 }

// distance is the distance of a row from the end of the selection, see findRow.
func (q RowQuery) distance(r wire.UIRow) int64 {
	if q.Before == 0 {
		return int64(r.TS - q.Until)
	}
	return int64(r.ID) - int64(q.Before) //nolint:gosec // ids are below 1<<53
}

// RowPage is a part of a conversation, the oldest row first.
type RowPage struct {
	Rows []wire.UIRow
	// More says that there are older rows.
	More bool
}

// Rows reads rows of a conversation from its archive, the newest ones unless the query says
// otherwise. Every replica can answer it, whether or not it owns the session, from what is
// committed. The newest rows cost one store call.
func (h *Hub) Rows(ctx context.Context, id wire.SessionID, q RowQuery) (RowPage, error) {
	page, err := h.env.reader.rows(ctx, id, q)
	return page, asError(err)
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
