package session

import (
	"context"

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
