package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// rowLimit is the limit of a page of rows.
var rowLimit = httpio.NewPageLimit(session.MaxRowPage, 200)

// histories serve what was said in sessions: rows, digests, tasks and transcripts.
type histories struct {
	requests *sessionRequests
	hub      *session.Hub
	budget   *httpio.Budget
}

// minTimestamp is the lowest number that counts as a time in milliseconds (of 1973) and not as the
// id of a row: no session has that many rows.
const minTimestamp = 100_000_000_000

type rowList struct {
	Rows []wire.UIRow `json:"rows" doc:"Oldest first."`
	More bool         `json:"more" doc:"There are older rows: request them with before and the id of the first."`
}

// noteList is a digest of a part of a conversation.
type noteList struct {
	SessionID wire.SessionID `json:"sessionId"`
	Messages  []history.Note `json:"messages" doc:"Oldest first."`
	More      bool           `json:"more" doc:"There are older messages: request them with before."`
	Before    wire.RowID     `json:"before,omitempty" doc:"The before of the next older page; absent on the last."`
	UpdatedAt wire.Millis    `json:"updatedAt" doc:"When the session last changed."`
}

var (
	rowListForm  = httpio.FormOf[rowList]()
	noteListForm = httpio.FormOf[noteList]()
	rowForm      = httpio.FormOf[wire.UIRow]()
)

// routes are the routes of rows, digests, tasks and transcripts.
func (h *histories) routes() []openapi.Route {
	return slices.Concat(h.rowRoutes(), h.taskRoutes(), h.transcriptRoutes())
}

func (h *histories) rowRoutes() []openapi.Route {
	const tag = "conversation"
	query := []openapi.Param{
		{Name: "monitor", Doc: "The monitor of the conversation; monitor-0 when absent."},
		rowLimit.Param(),
		{Name: "before", Doc: "Only rows before the one with this id, or before this time: RFC 3339, or milliseconds since 1970."},
	}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/rows", Guard: openapi.GuardIdentity, Handler: h.getRows, Tag: tag,
			Summary: "List the visible rows of a conversation, newest page first",
			Detail:  "200 rows when limit is absent. A page may be shorter than its limit because of its size. Rewound rows are not included.",
			Query:   query, Answers: openapi.Success(http.StatusOK, "A page of rows.", openapi.JSONBody(rowListForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/messages", Guard: openapi.GuardIdentity, Handler: h.getNotes, Tag: tag,
			Summary: "A digest of a conversation",
			Detail: "The messages of limit rows, 200 when it is absent: one for most rows, none for thoughts. " +
				"Inputs and outputs of tools are shortened. The newest page ends with the tools that are running.",
			Query: query, Answers: openapi.Success(http.StatusOK, "A page of messages.", openapi.JSONBody(noteListForm)),
		},
	}
}

// rowQuery parses the query of a request for rows.
func rowQuery(c echo.Context) (q session.RowQuery, err error) {
	q.Monitor = wire.MonitorID(cmp.Or(c.QueryParam("monitor"), "monitor-0"))
	if q.Monitor.Validate() != nil {
		return q, problem.Query("monitor", "Want the id of a monitor.")
	}
	if q.Limit, err = rowLimit.Read(c); err != nil {
		return q, err
	}
	if text := c.QueryParam("before"); text != "" {
		id, err := strconv.ParseUint(text, 10, 53)
		at, noTime := time.Parse(time.RFC3339, text)
		switch {
		case err == nil && id >= minTimestamp:
			q.Until = wire.Millis(id)
		case err == nil && id > 0:
			q.Before = wire.RowID(id)
		case noTime == nil && at.UnixMilli() > 0:
			q.Until = wire.Millis(at.UnixMilli())
		default:
			return q, problem.Query("before", "Want the id of a row, or a time: RFC 3339, or milliseconds since 1970.")
		}
	}
	return q, nil
}

// readRows reads the rows that a request asks for and passes them to use while memory is reserved
// for them.
func (h *histories) readRows(c echo.Context, use func(session.Info, session.RowQuery, session.RowPage) error) error {
	info, err := h.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	q, err := rowQuery(c)
	if err != nil {
		return err
	}
	return h.budget.WithPage(c.Request().Context(), access.Caller(c).User, func(ctx context.Context) error {
		page, err := h.hub.Rows(ctx, info.ID, q)
		if err != nil {
			return err
		}
		return use(info, q, page)
	})
}

// getRows responds with rows.
func (h *histories) getRows(c echo.Context) error {
	return h.readRows(c, func(_ session.Info, _ session.RowQuery, page session.RowPage) error {
		list := rowList{Rows: page.Rows, More: page.More}
		var buf []byte
		size := 0
		for i := range slices.Backward(list.Rows) {
			buf = rowForm().Append(buf[:0], &list.Rows[i])
			if size += len(buf) + 1; size > httpio.MaxPageBytes && i < len(list.Rows)-1 {
				list.Rows, list.More = list.Rows[i+1:], true
				break
			}
		}
		if list.Rows == nil {
			list.Rows = []wire.UIRow{}
		}
		return rowListForm.Answer(c, http.StatusOK, &list)
	})
}

// getNotes responds with a digest of rows.
func (h *histories) getNotes(c echo.Context) error {
	return h.readRows(c, func(info session.Info, q session.RowQuery, page session.RowPage) error {
		var working []wire.AgentState
		if q.Newest() && info.Working {
			err := h.requests.withHandle(c, info, func(ctx context.Context, h *session.Handle) error {
				state, err := h.Snapshot(ctx, []wire.MonitorID{q.Monitor})
				working = slices.DeleteFunc(slices.Clone(state.Agents), func(a wire.AgentState) bool { return a.MonitorID != q.Monitor })
				return err
			})
			if err != nil {
				return err
			}
		}
		notes, skipped := history.Digest(page.Rows, working, httpio.MaxPageBytes)
		list := noteList{
			SessionID: info.ID, Messages: notes, More: page.More || skipped > 0,
			UpdatedAt: wire.Millis(info.Updated.UnixMilli()),
		}
		if list.More {
			list.Before = page.Rows[skipped].ID
			list.More = list.Before > 0
		}
		return noteListForm.Answer(c, http.StatusOK, &list)
	})
}
