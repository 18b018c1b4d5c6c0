package gateway

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// firstTime is the lowest number that is a time in milliseconds, of 1973, and not the
// id of a row: no session has that many.
const firstTime = 100_000_000_000

// rowList is a part of a conversation.
type rowList struct {
	Rows []wire.UIRow `json:"rows" doc:"The oldest first."`
	More bool         `json:"more" doc:"There are older ones: ask again with before and the id of the first."`
}

// noteList is the digest of a part of a conversation.
type noteList struct {
	SessionID wire.SessionID `json:"sessionId"`
	Messages  []history.Note `json:"messages" doc:"The oldest first."`
	More      bool           `json:"more" doc:"There are older ones: ask again with before."`
	Before    wire.RowID     `json:"before,omitempty" doc:"The before of the page with what is older; absent when there is nothing."`
	UpdatedAt wire.Millis    `json:"updatedAt" doc:"When anything happened in the session last."`
}

var (
	rowListForm  = formOf[rowList]()
	noteListForm = formOf[noteList]()
	rowForm      = formOf[wire.UIRow]()
)

func (s *Server) rowRoutes() []route {
	const tag = "conversation"
	query := []param{
		{name: "monitor", doc: "Whose conversation; that of monitor-0 when absent."},
		rowLimit.param(),
		{name: "before", doc: "Only what is older than the row with this id, or than this time: RFC 3339, or milliseconds since 1970."},
	}
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions/:session/rows", guard: guardKnown, do: s.getRows, tag: tag,
			summary: "What people saw of a conversation, the newest page first",
			detail:  "200 rows when limit is absent. A page may be shorter than its limit because of its size. Rows that were taken back are not there.",
			query:   query, answers: ok(http.StatusOK, "A page of rows.", of(rowListForm)),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session/messages", guard: guardKnown, do: s.getNotes, tag: tag,
			summary: "What happened in a conversation, in short",
			detail: "The messages of limit rows, 200 when it is absent: one for most, none for thoughts. " +
				"Of what goes into tools and comes out there is as much as one needs to know what was done. The newest page ends with the tools that run now.",
			query: query, answers: ok(http.StatusOK, "A page of messages.", of(noteListForm)),
		},
	}
}

// rowQuery reads which rows are wanted.
func rowQuery(c echo.Context) (q session.RowQuery, err error) {
	q.Monitor = wire.MonitorID(cmp.Or(c.QueryParam("monitor"), "monitor-0"))
	if q.Monitor.Validate() != nil {
		return q, queryProblem("monitor", "Want the id of a monitor.")
	}
	if q.Limit, err = rowLimit.read(c); err != nil {
		return q, err
	}
	if text := c.QueryParam("before"); text != "" {
		id, err := strconv.ParseUint(text, 10, 53)
		at, noTime := time.Parse(time.RFC3339, text)
		switch {
		case err == nil && id >= firstTime:
			q.Until = wire.Millis(id)
		case err == nil && id > 0:
			q.Before = wire.RowID(id)
		case noTime == nil && at.UnixMilli() > 0:
			q.Until = wire.Millis(at.UnixMilli())
		default:
			return q, queryProblem("before", "Want the id of a row, or a time: RFC 3339, or milliseconds since 1970.")
		}
	}
	return q, nil
}

// readRows reads rows for somebody who may see them, and hands them over while
// there is room for them.
func (s *Server) readRows(c echo.Context, use func(session.Info, session.RowQuery, session.RowPage) error) error {
	info, err := s.requireAccess(c, accessViewer)
	if err != nil {
		return err
	}
	q, err := rowQuery(c)
	if err != nil {
		return err
	}
	return s.readLarge(c, func(ctx context.Context) error {
		page, err := s.hub.Rows(ctx, info.ID, q)
		if err != nil {
			return err
		}
		return use(info, q, page)
	})
}

// getRows shows rows as they are.
func (s *Server) getRows(c echo.Context) error {
	return s.readRows(c, func(_ session.Info, _ session.RowQuery, page session.RowPage) error {
		list := rowList{Rows: page.Rows, More: page.More}
		var buf []byte
		size := 0
		for i := range slices.Backward(list.Rows) {
			buf = rowForm().Append(buf[:0], &list.Rows[i])
			if size += len(buf) + 1; size > pageBytes && i < len(list.Rows)-1 {
				list.Rows, list.More = list.Rows[i+1:], true
				break
			}
		}
		if list.Rows == nil {
			list.Rows = []wire.UIRow{}
		}
		return rowListForm.answer(c, http.StatusOK, &list)
	})
}

// getNotes shows the digest of rows.
func (s *Server) getNotes(c echo.Context) error {
	return s.readRows(c, func(info session.Info, q session.RowQuery, page session.RowPage) error {
		var working []wire.AgentState
		if q.Newest() && info.Working {
			err := s.visit(c, info, func(ctx context.Context, room *session.Handle) error {
				state, err := room.Snapshot(ctx, []wire.MonitorID{q.Monitor})
				working = slices.DeleteFunc(slices.Clone(state.Agents), func(a wire.AgentState) bool { return a.MonitorID != q.Monitor })
				return err
			})
			if err != nil {
				return err
			}
		}
		notes, skipped := history.Digest(page.Rows, working, pageBytes)
		list := noteList{
			SessionID: info.ID, Messages: notes, More: page.More || skipped > 0,
			UpdatedAt: wire.Millis(info.Updated.UnixMilli()),
		}
		if list.More {
			list.Before = page.Rows[skipped].ID
			list.More = list.Before > 0
		}
		return noteListForm.answer(c, http.StatusOK, &list)
	})
}
