package gateway

import (
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
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
	auditCardForm    = formOf[auditCard]()
	auditListForm    = formOf[auditList]()
	auditVerdictForm = formOf[auditVerdict]()
)

func auditCardOf(r *audit.Record) auditCard {
	return auditCard{
		Seq: r.Seq, ID: r.ID, Time: wire.Millis(r.Time.UnixMilli()), Who: r.Who, Address: r.Address, Action: r.Action,
		Target: r.Target, Reason: r.Reason, Replica: r.Replica, Result: string(r.Result), Detail: r.Detail,
		Hash: r.Hash, Prev: r.Prev,
	}
}

// routes are the routes of the audit log.
func (l *auditHandlers) routes() []route {
	const tag = "admin"
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/audit", guard: guardRead, handler: l.list, tag: tag,
			summary: "List the audit log, newest first",
			detail:  "A page may be empty and still have next.",
			query: []param{
				listLimit.param(),
				{name: "after", doc: "The next of the previous page."},
				{name: "who", doc: "Only actions of this user."},
				{name: "action", doc: "Only this action, such as session.reset."},
				{name: "target", doc: "Only actions on this replica or session, or on a part of it."},
			},
			answers: success(http.StatusOK, "A page of records.", jsonBody(auditListForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/audit/verify", guard: guardRead, handler: l.verify, tag: tag,
			summary: "Verify the audit log",
			detail:  "Reads the whole log. To detect that the newest records were cut off, compare head with the hub's logs.",
			answers: success(http.StatusOK, "The result.", jsonBody(auditVerdictForm)),
		},
	}
}

func (l *auditHandlers) list(c echo.Context) error {
	limit, err := listLimit.read(c)
	if err != nil {
		return err
	}
	q := audit.Query{
		Who: c.QueryParam("who"), Action: c.QueryParam("action"), Target: c.QueryParam("target"),
		After: c.QueryParam("after"), Limit: limit,
	}
	if q.After != "" && store.CheckName("cursor", q.After) != nil {
		return queryProblem("after", "Want the next of an earlier page.")
	}
	page, err := l.audit.List(c.Request().Context(), q)
	if err != nil {
		return err
	}
	list := auditList{Records: []auditCard{}, Next: page.Next}
	for i := range page.Items {
		list.Records = append(list.Records, auditCardOf(&page.Items[i]))
	}
	return auditListForm.answer(c, http.StatusOK, &list)
}

func (l *auditHandlers) verify(c echo.Context) error {
	v, err := l.audit.Verify(c.Request().Context())
	if err != nil {
		return err
	}
	out := auditVerdict{OK: v.Broken == nil, Records: v.Records, Head: v.Head.Hash}
	if b := v.Broken; b != nil {
		out.Broken = &auditBreak{Seq: b.Seq, Why: b.Why}
		l.log.ErrorContext(c.Request().Context(), "audit log is broken", "seq", b.Seq, "why", b.Why)
	}
	return auditVerdictForm.answer(c, http.StatusOK, &out)
}
