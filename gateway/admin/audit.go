package admin

import (
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// auditHandlers serve the audit log.
type auditHandlers struct {
	log   *slog.Logger
	audit *audit.Log
}

// auditCard is a record of the audit log.
type auditCard struct {
	Seq     uint64      `json:"seq" doc:"Sequence number, from 1."`
	ID      string      `json:"id" doc:"The Idempotency-Key, or a generated one."`
	Time    wire.Millis `json:"time"`
	Who     string      `json:"who"`
	Address string      `json:"address,omitempty"`
	Action  string      `json:"action" doc:"Such as replica.drain or session.reset."`
	Target  string      `json:"target,omitempty" doc:"The replica or session, with a part of it after a slash."`
	Reason  string      `json:"reason"`
	Replica string      `json:"replica,omitempty" doc:"The replica that received the request."`
	Result  string      `json:"result" doc:"begun, and in a second record done or failed."`
	Detail  string      `json:"detail,omitempty" doc:"Why it failed, or the state before and after."`
	Hash    string      `json:"hash" doc:"SHA-256 of all other fields."`
	Prev    string      `json:"prev,omitempty" doc:"The hash of the previous record; absent in the first."`
}

// auditList is a page of records.
type auditList struct {
	Records []auditCard `json:"records"`
	Next    string      `json:"next,omitempty" doc:"The after of the next page; absent on the last."`
}

// auditBreak is the first broken link of the chain.
type auditBreak struct {
	Seq uint64 `json:"seq" doc:"The first record that was changed."`
	Why string `json:"why"`
}

// auditVerdict is the result of a verification.
type auditVerdict struct {
	OK      bool        `json:"ok"`
	Records int         `json:"records"`
	Head    string      `json:"head" doc:"The hash of the newest record, which the hub also logs."`
	Broken  *auditBreak `json:"broken,omitempty"`
}

var (
	auditCardForm    = httpio.FormOf[auditCard]()
	auditListForm    = httpio.FormOf[auditList]()
	auditVerdictForm = httpio.FormOf[auditVerdict]()
)

func auditCardOf(r *audit.Record) auditCard {
	return auditCard{
		Seq: r.Seq, ID: r.ID, Time: wire.Millis(r.Time.UnixMilli()), Who: r.Who, Address: r.Address, Action: r.Action,
		Target: r.Target, Reason: r.Reason, Replica: r.Replica, Result: string(r.Result), Detail: r.Detail,
		Hash: r.Hash, Prev: r.Prev,
	}
}

// routes are the routes of the audit log.
func (h *auditHandlers) routes() []openapi.Route {
	const tag = "admin"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/admin/audit", Guard: openapi.GuardRead, Handler: h.list, Tag: tag,
			Summary: "List the audit log, newest first",
			Detail:  "A page may be empty and still have next.",
			Query: []openapi.Param{
				httpio.ListLimit.Param(),
				{Name: "after", Doc: "The next of the previous page."},
				{Name: "who", Doc: "Only actions of this user."},
				{Name: "action", Doc: "Only this action, such as session.reset."},
				{Name: "target", Doc: "Only actions on this replica or session, or on a part of it."},
			},
			Answers: openapi.Success(http.StatusOK, "A page of records.", openapi.JSONBody(auditListForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/admin/audit/verify", Guard: openapi.GuardRead, Handler: h.verify, Tag: tag,
			Summary: "Verify the audit log",
			Detail:  "Reads the whole log. To detect that the newest records were cut off, compare head with the hub's logs.",
			Answers: openapi.Success(http.StatusOK, "The result.", openapi.JSONBody(auditVerdictForm)),
		},
	}
}

func (h *auditHandlers) list(c echo.Context) error {
	limit, err := httpio.ListLimit.Read(c)
	if err != nil {
		return err
	}
	q := audit.Query{
		Who: c.QueryParam("who"), Action: c.QueryParam("action"), Target: c.QueryParam("target"),
		After: c.QueryParam("after"), Limit: limit,
	}
	if q.After != "" && store.CheckName("cursor", q.After) != nil {
		return problem.Query("after", "Want the next of an earlier page.")
	}
	page, err := h.audit.List(c.Request().Context(), q)
	if err != nil {
		return err
	}
	list := auditList{Records: []auditCard{}, Next: page.Next}
	for i := range page.Items {
		list.Records = append(list.Records, auditCardOf(&page.Items[i]))
	}
	return auditListForm.Answer(c, http.StatusOK, &list)
}

func (h *auditHandlers) verify(c echo.Context) error {
	v, err := h.audit.Verify(c.Request().Context())
	if err != nil {
		return err
	}
	out := auditVerdict{OK: v.Broken == nil, Records: v.Records, Head: v.Head.Hash}
	if b := v.Broken; b != nil {
		out.Broken = &auditBreak{Seq: b.Seq, Why: b.Why}
		h.log.ErrorContext(c.Request().Context(), "audit log is broken", "seq", b.Seq, "why", b.Why)
	}
	return auditVerdictForm.Answer(c, http.StatusOK, &out)
}
