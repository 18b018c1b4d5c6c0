package admin

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
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/gateway/stream"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// adminSessionLimit is the limit of a page of sessions.
var adminSessionLimit = httpio.NewPageLimit(maxAdminRows, httpio.MaxListPage)

// views serve the admin view of all sessions, the replicas and the limits.
type views struct {
	hub       *session.Hub
	adminView View // nil without one
	streams   *adminStreams
	members   Membership
	agents    Agents // nil if none are counted
	limits    limitsCard
	actions   *Actions
}

// View is the read model of all sessions, see package adminview.
type View interface {
	// Overview returns the current state of all replicas.
	Overview(ctx context.Context) (adminview.Overview, error)
	// Sessions returns [adminview.ErrQuery] for an invalid query.
	Sessions(ctx context.Context, q adminview.Query) (adminview.Page, error)
	// Detail returns a [*session.Error] for an unknown session.
	Detail(ctx context.Context, id wire.SessionID) (adminview.Detail, error)
	// Watch yields everything, then changes, until ctx ends.
	Watch(ctx context.Context, i adminview.Interest) iter.Seq2[adminview.Update, error]
}

// adminIdentity has the caller's admin rights.
type adminIdentity struct {
	User    string `json:"user"`
	Read    bool   `json:"read" doc:"May see the hub and all sessions."`
	Act     bool   `json:"act" doc:"May act on them."`
	Content bool   `json:"content" doc:"May see texts of users and agents."`
}

var (
	adminIdentityForm = httpio.FormOf[adminIdentity]()
	adminPageForm     = httpio.FormOf[adminview.Page]()
	adminDetailForm   = httpio.FormOf[adminview.Detail]()
	adminRowsForm     = httpio.FormOf[adminview.Rows]()
	historyForm       = httpio.FormOf[adminview.History]()
)

// Limits of a query: rows of a page, characters of a filter and of a cursor.
const (
	maxAdminRows   = 1000
	maxFilterChars = 200
	maxCursorChars = 1000
)

// The allowed values of the query parameters status and sort.
var (
	statuses = []adminview.Status{
		adminview.Quarantined, adminview.Stuck, adminview.Orphaned, adminview.Waiting, adminview.Stalled, adminview.Working, adminview.Idle, adminview.Dormant,
	}
	sortKeys = []string{"updated", "user", "owner", "tabs", "agents", "queued", "status", "errors", "budget", "cost"}
)

// seesContent reports whether the caller may see texts of users and agents.
func seesContent(c echo.Context) bool { return access.Caller(c).Has(auth.RoleAdminContent) }

func (v *views) getMe(c echo.Context) error {
	me := access.Caller(c)
	return adminIdentityForm.Answer(c, http.StatusOK, &adminIdentity{
		User: me.User, Read: me.Has(auth.RoleAdminRead), Act: me.Has(auth.RoleAdminAct), Content: me.Has(auth.RoleAdminContent),
	})
}

func (v *views) getOverview(c echo.Context) error {
	o, err := v.adminView.Overview(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, overviewJSON(o))
}

// overviewJSON encodes an overview. Lists are never null.
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
		panic(fmt.Errorf("encode overview: %w", err)) // cannot fail: only numbers and strings
	}
	return text
}

// listSessions responds with a page of the table of all users' sessions.
func (v *views) listSessions(c echo.Context) error {
	q, err := sessionQueryOf(c)
	if err != nil {
		return err
	}
	page, err := v.adminView.Sessions(c.Request().Context(), q)
	if errors.Is(err, adminview.ErrQuery) {
		return problem.Query("after", "Want the next of an earlier page.")
	}
	if err != nil {
		return err
	}
	if !seesContent(c) {
		page.Rows = redacted(page.Rows)
	}
	if err := v.actions.recordOpening(c, viewSessions, ""); err != nil {
		return err
	}
	return adminPageForm.Answer(c, http.StatusOK, &page)
}

func redacted(rows []adminview.Row) []adminview.Row {
	out := make([]adminview.Row, len(rows))
	for i, r := range rows {
		out[i] = r.Redacted()
	}
	return out
}

// sessionQueryOf parses the query of listAllSessions.
func sessionQueryOf(c echo.Context) (q adminview.Query, err error) {
	read := queryReader{c: c}
	q = adminview.Query{
		User: read.text("user", maxFilterChars), Owner: read.text("owner", maxFilterChars), Text: read.text("text", maxFilterChars),
		Status: read.oneOf("status", names(statuses)), Sort: read.oneOf("sort", sortKeys),
		Stuck: read.isSet("stuck"), Questions: read.isSet("questions"), Errors: read.isSet("errors"),
		Untabbed: read.oneOf("tabs", []string{"0"}) == "0", Descending: read.isSet("desc"),
		After: read.text("after", maxCursorChars),
	}
	q.Titles = seesContent(c) // else titles could be guessed letter by letter
	if c.QueryParam("sort") == "" && c.QueryParam("desc") == "" {
		q.Descending = true // newest first
	}
	if q.Owner != "" && wire.ReplicaID(q.Owner).Validate() != nil {
		read.reject("owner", "Want the name of a replica.")
	}
	if aside := string(adminview.Quarantined); read.isSet("quarantined") {
		if q.Status != "" && q.Status != aside {
			read.reject("quarantined", "It contradicts status.")
		}
		q.Status = aside
	}
	if q.Limit, err = adminSessionLimit.Read(c); err != nil {
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

// queryReader parses query parameters and keeps the first error.
type queryReader struct {
	c       echo.Context
	problem *problem.Error
}

func (r *queryReader) reject(field, detail string) {
	if r.problem == nil {
		r.problem = problem.Query(field, detail)
	}
}

// err returns the first error, or nil.
func (r *queryReader) err() error {
	if r.problem == nil {
		return nil
	}
	return r.problem
}

// text returns a parameter of at most most visible characters.
func (r *queryReader) text(name string, most int) string {
	text := r.c.QueryParam(name)
	if utf8.RuneCountInString(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' }) {
		r.reject(name, fmt.Sprintf("Want at most %d characters, and no others than such that can be seen.", most))
	}
	return text
}

// oneOf returns a parameter that has one of the values or is empty.
func (r *queryReader) oneOf(name string, values []string) string {
	text := r.c.QueryParam(name)
	if text != "" && !slices.Contains(values, text) {
		r.reject(name, "Want one of: "+strings.Join(values, ", ")+".")
	}
	return text
}

// isSet returns a boolean parameter, which is false when absent.
func (r *queryReader) isSet(name string) bool {
	return r.oneOf(name, []string{"true", "false"}) == "true"
}

// sessionParam returns the session id in the path.
func sessionParam(c echo.Context) (wire.SessionID, error) {
	id := wire.SessionID(c.Param("session"))
	if id.Validate() != nil {
		return "", problem.New(wire.CodeSessionNotFound, "")
	}
	return id, nil
}

func (v *views) getSession(c echo.Context) error {
	id, err := sessionParam(c)
	if err != nil {
		return err
	}
	d, err := v.adminView.Detail(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if !seesContent(c) {
		d = d.Redacted()
	}
	if err := v.actions.recordOpening(c, viewDetail, string(id)); err != nil {
		return err
	}
	return adminDetailForm.Answer(c, http.StatusOK, &d)
}

// serveLive streams the overview, and on request the table of sessions and one session.
func (v *views) serveLive(c echo.Context) error {
	read := queryReader{c: c}
	interest := adminview.Interest{Rows: read.isSet("rows"), Session: wire.SessionID(c.QueryParam("session"))}
	if interest.Session != "" && interest.Session.Validate() != nil {
		read.reject("session", "Want the id of a session.")
	}
	if err := read.err(); err != nil {
		return err
	}
	if interest.Session != "" {
		if _, err := v.hub.Info(c.Request().Context(), interest.Session); err != nil {
			return err
		}
	}
	if interest.Session != "" {
		if err := v.actions.recordOpening(c, viewDetail, string(interest.Session)); err != nil {
			return err
		}
	}
	if interest.Rows {
		if err := v.actions.recordOpening(c, viewSessions, ""); err != nil {
			return err
		}
	}
	content := seesContent(c)
	return v.streams.Serve(c, func(ctx context.Context, send func(stream.Event) bool) error {
		for u, err := range v.adminView.Watch(ctx, interest) {
			if err != nil {
				return err
			}
			for _, e := range streamEventsOf(u, content) {
				if !send(e) {
					return nil
				}
			}
		}
		return nil
	})
}

// streamEventsOf returns the stream events for an update.
func streamEventsOf(u adminview.Update, content bool) (all []stream.Event) {
	if u.History != nil {
		all = append(all, stream.Event{Kind: "history", Data: historyForm().Append(nil, u.History)})
	}
	if u.Overview != nil {
		all = append(all, stream.Event{Kind: "overview", Data: overviewJSON(*u.Overview)})
	}
	if u.Rows != nil {
		rows := *u.Rows
		if !content {
			rows.Rows = redacted(rows.Rows)
		}
		all = append(all, stream.Event{Kind: "rows", Data: adminRowsForm().Append(nil, &rows)})
	}
	if u.Detail != nil {
		d := *u.Detail
		if !content {
			d = d.Redacted()
		}
		all = append(all, stream.Event{Kind: "detail", Data: adminDetailForm().Append(nil, &d)})
	}
	return all
}
