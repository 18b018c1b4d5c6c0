package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// AdminView is what the admin API needs to know of all sessions.
type AdminView interface {
	Overview(ctx context.Context) (adminview.Overview, error)
	// Sessions refuses a query with [monitor.ErrQuery].
	Sessions(ctx context.Context, q adminview.Query) (adminview.Page, error)
	// Detail refuses with a [*session.Error].
	Detail(ctx context.Context, id wire.SessionID) (adminview.Detail, error)
	// Watch shows all, then changes, until ctx ends.
	Watch(ctx context.Context, i adminview.Interest) iter.Seq2[adminview.Update, error]
}

// adminIdentity is what the caller may do here.
type adminIdentity struct {
	User    string `json:"user"`
	Read    bool   `json:"read" doc:"Look at the hub and all sessions."`
	Act     bool   `json:"act" doc:"Act on them."`
	Content bool   `json:"content" doc:"See texts of people and agents."`
}

var (
	adminIdentityForm = formOf[adminIdentity]()
	monitorPageForm   = formOf[adminview.Page]()
	monitorDetailForm = formOf[adminview.Detail]()
	monitorRowsForm   = formOf[adminview.Rows]()
	historyForm       = formOf[adminview.History]()
)

// monitorPage is the most rows of a page, textMost the most characters of a filter.
const (
	monitorPage = 1000
	textMost    = 200
	cursorMost  = 1000
)

// The values of a query.
var (
	statuses = []adminview.Status{
		adminview.Quarantined, adminview.Stuck, adminview.Orphaned, adminview.Waiting, adminview.Stalled, adminview.Working, adminview.Idle, adminview.Dormant,
	}
	sortings = []string{"updated", "user", "owner", "tabs", "agents", "queued", "status", "errors", "budget", "cost"}
)

// seesContent reports whether the caller may see texts of people and agents.
func seesContent(c echo.Context) bool { return caller(c).Has(auth.RoleAdminContent) }

func (s *Server) getAdminMe(c echo.Context) error {
	me := caller(c)
	return adminIdentityForm.answer(c, http.StatusOK, &adminIdentity{
		User: me.User, Read: me.Has(auth.RoleAdminRead), Act: me.Has(auth.RoleAdminAct), Content: me.Has(auth.RoleAdminContent),
	})
}

func (s *Server) getOverview(c echo.Context) error {
	o, err := s.adminView.Overview(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, overviewJSON(o))
}

// overviewJSON is an overview as it is shown: lists are never null.
func overviewJSON(o adminview.Overview) []byte {
	if o.Replicas == nil {
		o.Replicas = []adminview.Replica{}
	}
	if o.Alerts == nil {
		o.Alerts = []adminview.Alert{}
	}
	if o.Totals.ByStatus == nil {
		o.Totals.ByStatus = map[adminview.Status]int{}
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Errorf("an overview has no JSON form: %w", err)) // numbers and strings
	}
	return text
}

// listAllSessions is a page of the table of everybody's sessions.
func (s *Server) listAllSessions(c echo.Context) error {
	q, err := sessionQueryOf(c)
	if err != nil {
		return err
	}
	page, err := s.adminView.Sessions(c.Request().Context(), q)
	if errors.Is(err, adminview.ErrQuery) {
		return queryProblem("after", "Want the next of an earlier page.")
	}
	if err != nil {
		return err
	}
	if !seesContent(c) {
		page.Rows = redacted(page.Rows)
	}
	return monitorPageForm.answer(c, http.StatusOK, &page)
}

func redacted(rows []adminview.Row) []adminview.Row {
	out := make([]adminview.Row, len(rows))
	for i, r := range rows {
		out[i] = r.Redacted()
	}
	return out
}

// sessionQueryOf reads which sessions are wanted.
func sessionQueryOf(c echo.Context) (q adminview.Query, err error) {
	read := reader{c: c}
	q = adminview.Query{
		User: read.text("user", textMost), Owner: read.text("owner", textMost), Text: read.text("text", textMost),
		Status: read.oneOf("status", names(statuses)), Sort: read.oneOf("sort", sortings),
		Stuck: read.isSet("stuck"), Questions: read.isSet("questions"), Errors: read.isSet("errors"),
		Untabbed: read.oneOf("tabs", []string{"0"}) == "0", Descending: read.isSet("desc"),
		After: read.text("after", cursorMost),
	}
	q.Titles = seesContent(c) // or one could guess them, letter by letter
	if c.QueryParam("sort") == "" && c.QueryParam("desc") == "" {
		q.Descending = true // the newest first
	}
	if q.Owner != "" && wire.ReplicaID(q.Owner).Validate() != nil {
		read.refuse("owner", "Want the name of a replica.")
	}
	if aside := string(adminview.Quarantined); read.isSet("quarantined") {
		if q.Status != "" && q.Status != aside {
			read.refuse("quarantined", "It contradicts status.")
		}
		q.Status = aside
	}
	if q.Limit, err = adminSessionLimit.read(c); err != nil {
		return q, err
	}
	return q, read.err()
}

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// reader reads a query; the first part that makes no sense is the problem.
type reader struct {
	c     echo.Context
	wrong *problemError
}

func (r *reader) refuse(field, detail string) {
	if r.wrong == nil {
		r.wrong = queryProblem(field, detail)
	}
}

// err is what was wrong, if anything was.
func (r *reader) err() error {
	if r.wrong == nil {
		return nil
	}
	return r.wrong
}

// text is a short text.
func (r *reader) text(name string, most int) string {
	text := r.c.QueryParam(name)
	if utf8.RuneCountInString(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' }) {
		r.refuse(name, fmt.Sprintf("Want at most %d characters, and no others than such that can be seen.", most))
	}
	return text
}

// oneOf is one of the values, or empty.
func (r *reader) oneOf(name string, values []string) string {
	text := r.c.QueryParam(name)
	if text != "" && !slices.Contains(values, text) {
		r.refuse(name, "Want one of: "+strings.Join(values, ", ")+".")
	}
	return text
}

// isSet is true or false, which is also what nothing means.
func (r *reader) isSet(name string) bool { return r.oneOf(name, []string{"true", "false"}) == "true" }

// sessionHere is the session of the path.
func sessionHere(c echo.Context) (wire.SessionID, error) {
	id := wire.SessionID(c.Param("session"))
	if id.Validate() != nil {
		return "", problem(wire.CodeSessionNotFound, "")
	}
	return id, nil
}

func (s *Server) getAnySession(c echo.Context) error {
	id, err := sessionHere(c)
	if err != nil {
		return err
	}
	d, err := s.adminView.Detail(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if !seesContent(c) {
		d = d.Redacted()
	}
	return monitorDetailForm.answer(c, http.StatusOK, &d)
}

// serveLive streams how the hub is: the overview, and what else is asked for.
func (s *Server) serveLive(c echo.Context) error {
	read := reader{c: c}
	interest := adminview.Interest{Rows: read.isSet("rows"), Session: wire.SessionID(c.QueryParam("session"))}
	if interest.Session != "" && interest.Session.Validate() != nil {
		read.refuse("session", "Want the id of a session.")
	}
	if err := read.err(); err != nil {
		return err
	}
	if interest.Session != "" {
		if _, err := s.hub.Info(c.Request().Context(), interest.Session); err != nil {
			return err
		}
	}
	content := seesContent(c)
	return s.stream(c, func(ctx context.Context, say func(news) bool) error {
		for u, err := range s.adminView.Watch(ctx, interest) {
			if err != nil {
				return err
			}
			for _, n := range newsOf(u, content) {
				if !say(n) {
					return nil
				}
			}
		}
		return nil
	})
}

// newsOf is an update as it is streamed.
func newsOf(u adminview.Update, content bool) (all []news) {
	if u.History != nil {
		all = append(all, news{kind: "history", data: historyForm().Append(nil, u.History)})
	}
	if u.Overview != nil {
		all = append(all, news{kind: "overview", data: overviewJSON(*u.Overview)})
	}
	if u.Rows != nil {
		rows := *u.Rows
		if !content {
			rows.Rows = redacted(rows.Rows)
		}
		all = append(all, news{kind: "rows", data: monitorRowsForm().Append(nil, &rows)})
	}
	if u.Detail != nil {
		d := *u.Detail
		if !content {
			d = d.Redacted()
		}
		all = append(all, news{kind: "detail", data: monitorDetailForm().Append(nil, &d)})
	}
	return all
}
