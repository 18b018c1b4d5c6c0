package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// auditCard is what was done by whom, as it is written down.
type auditCard struct {
	Seq     uint64      `json:"seq" doc:"Its place in the chain, from 1."`
	ID      string      `json:"id" doc:"The Idempotency-Key, or one that was made up."`
	Time    wire.Millis `json:"time"`
	Who     string      `json:"who"`
	Address string      `json:"address,omitempty"`
	Action  string      `json:"action" doc:"Such as replica.drain or session.reset."`
	Target  string      `json:"target,omitempty" doc:"The replica or session, and after a slash what of it."`
	Reason  string      `json:"reason"`
	Replica string      `json:"replica,omitempty" doc:"Where it was asked for."`
	Result  string      `json:"result" doc:"begun, then done or failed, which is a record of its own."`
	Detail  string      `json:"detail,omitempty" doc:"Why it failed, or how things were before and after."`
	Hash    string      `json:"hash" doc:"SHA-256 over everything else."`
	Prev    string      `json:"prev,omitempty" doc:"The hash of the record before; absent at the first."`
}

// auditList is a page of them.
type auditList struct {
	Records []auditCard `json:"records"`
	Next    string      `json:"next,omitempty" doc:"The after of the next page; absent on the last."`
}

// auditBreak is where the chain is broken.
type auditBreak struct {
	Seq uint64 `json:"seq" doc:"The first record that is not as it was written."`
	Why string `json:"why"`
}

// auditVerdict is whether the chain is whole.
type auditVerdict struct {
	OK      bool        `json:"ok"`
	Records int         `json:"records"`
	Head    string      `json:"head" doc:"The hash of the newest record; that is in the logs, too."`
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

// auditRoutes are what can be seen of what admins have done.
func (s *Server) auditRoutes() []route {
	const tag = "admin"
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/audit", guard: guardRead, do: s.listAudit, tag: tag,
			summary: "What admins have done, the newest first",
			detail:  "A page may be empty and still have a next.",
			query: []param{
				listLimit.param(),
				{name: "after", doc: "The next of the page before."},
				{name: "who", doc: "Only what this user did."},
				{name: "action", doc: "Only this, such as session.reset."},
				{name: "target", doc: "Only what was done to this replica or session, or to something in it."},
			},
			answers: ok(http.StatusOK, "A page of records.", of(auditListForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/audit/verify", guard: guardRead, do: s.verifyAudit, tag: tag,
			summary: "Whether the audit is as it was written",
			detail:  "All of it is read. That the newest records were cut off is seen by comparing head with the logs.",
			answers: ok(http.StatusOK, "What was found.", of(auditVerdictForm)),
		},
	}
}

func (s *Server) listAudit(c echo.Context) error {
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
	page, err := s.audit.List(c.Request().Context(), q)
	if err != nil {
		return err
	}
	list := auditList{Records: []auditCard{}, Next: page.Next}
	for i := range page.Items {
		list.Records = append(list.Records, auditCardOf(&page.Items[i]))
	}
	return auditListForm.answer(c, http.StatusOK, &list)
}

func (s *Server) verifyAudit(c echo.Context) error {
	v, err := s.audit.Verify(c.Request().Context())
	if err != nil {
		return err
	}
	out := auditVerdict{OK: v.Broken == nil, Records: v.Records, Head: v.Head.Hash}
	if b := v.Broken; b != nil {
		out.Broken = &auditBreak{Seq: b.Seq, Why: b.Why}
		s.log.ErrorContext(c.Request().Context(), "the audit is broken", "seq", b.Seq, "why", b.Why)
	}
	return auditVerdictForm.answer(c, http.StatusOK, &out)
}
