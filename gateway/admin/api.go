package admin

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Membership is the part of package membership that the admin API uses.
type Membership interface {
	// Card returns the entry of this replica.
	Card() membership.Card
	// Replicas returns the entries of all live replicas, including this one.
	Replicas(ctx context.Context) ([]membership.Card, error)
	// Order stores an order for a replica, which follows it within two seconds. It returns
	// [membership.ErrUnknown] for a replica that is not alive.
	Order(ctx context.Context, id wire.ReplicaID, w membership.ReplicaOrder) error
	// Send has a replica execute a command and waits for its answer.
	Send(ctx context.Context, to wire.ReplicaID, id string, e membership.Command) (membership.Answer, error)
}

// Deps are the components and settings of the admin API.
type Deps struct {
	Log           *slog.Logger
	Hub           *session.Hub
	Store         EventStore
	Sessions      *access.Sessions
	Authenticator *access.Authenticator
	Budget        *httpio.Budget
	Actions       *Actions
	// Members and Audit are nil without an admin API.
	Members Membership
	Audit   *audit.Log
	// View is the admin view of all sessions, or nil.
	View View
	// Agents counts the running agents, of which AgentLimit may run; nil means zero.
	Agents     Agents
	AgentLimit int
	// UserSessions and UserConnections are the limits of a user, for display.
	UserSessions, UserConnections int
	// FrameBytes bounds the body of a request.
	FrameBytes int64
}

// API is the admin API: views of all sessions and replicas, streams, actions and the audit log.
type API struct {
	streams  *adminStreams
	audit    auditHandlers
	logs     eventLogs
	films    films
	views    views
	commands commands
	enabled  bool // there are a membership and an audit log
}

// New returns the admin API.
func New(d Deps) *API {
	streams := newAdminStreams(d.Log, d.Authenticator)
	v := views{hub: d.Hub, adminView: d.View, streams: streams, members: d.Members, agents: d.Agents, actions: d.Actions}
	v.limits.UserSessions, v.limits.UserConnections = d.UserSessions, d.UserConnections
	if d.Agents != nil {
		v.limits.Agents.Limit = d.AgentLimit
	}
	return &API{
		streams:  streams,
		audit:    auditHandlers{log: d.Log, audit: d.Audit},
		logs:     eventLogs{hub: d.Hub, store: d.Store, budget: d.Budget, streams: streams, actions: d.Actions},
		films:    films{hub: d.Hub, budget: d.Budget, actions: d.Actions},
		views:    v,
		commands: commands{hub: d.Hub, sessions: d.Sessions, members: d.Members, actions: d.Actions, frameBytes: d.FrameBytes},
		enabled:  d.Actions.audited(),
	}
}

// Routes returns the routes of the admin API. Without a membership and an audit log there are none.
func (a *API) Routes() []openapi.Route {
	if !a.enabled {
		return nil
	}
	return slices.Concat(a.views.routes(), a.logs.routes(), a.films.routes(), a.views.sessionRoutes(), a.audit.routes(), a.commands.routes())
}

// Enabled reports whether there is an admin API.
func (a *API) Enabled() bool { return a.enabled }

// CloseStreams ends the open streams; if final, no stream may be opened any more.
func (a *API) CloseStreams(final bool) { a.streams.CloseAll(final) }

// Profile serves a runtime profile as one of the admin streams.
func (a *API) Profile(next http.HandlerFunc) echo.HandlerFunc {
	return a.streams.serveProfile(next)
}

// ExecuteCommand executes a command of another replica.
func (a *API) ExecuteCommand(ctx context.Context, e membership.Command) membership.Answer {
	return a.commands.Execute(ctx, e)
}

// routes are the routes of the caller's rights, of the replicas and of the limits.
func (v *views) routes() []openapi.Route {
	const tag = "admin"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/admin/me", Guard: openapi.GuardRead, Handler: v.getMe, Tag: tag,
			Summary: "What the caller may do here", Answers: openapi.Success(http.StatusOK, "The caller.", openapi.JSONBody(adminIdentityForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/admin/replicas", Guard: openapi.GuardRead, Handler: v.listReplicas, Tag: tag,
			Summary: "List the live replicas", Answers: openapi.Success(http.StatusOK, "The replicas.", openapi.JSONBody(replicaListForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/admin/limits", Guard: openapi.GuardRead, Handler: v.getLimits, Tag: tag,
			Summary: "The limits and their use", Answers: openapi.Success(http.StatusOK, "The limits.", openapi.JSONBody(limitsForm)),
		},
	}
}

const contentNote = "Without the role admin:content the response has no texts of users and agents. With it, the audit log names the caller."

// sessionRoutes are the routes of the admin view of all sessions.
func (v *views) sessionRoutes() []openapi.Route {
	if v.adminView == nil {
		return nil
	}
	const tag = "admin"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/admin/overview", Guard: openapi.GuardRead, Handler: v.getOverview, Tag: tag,
			Summary: "The current state of all replicas", Answers: openapi.Success(http.StatusOK, "The overview.", openapi.JSONOutput[adminview.Overview]()),
		},
		{
			Method: http.MethodGet, Path: "/api/admin/sessions", Guard: openapi.GuardRead, Handler: v.listSessions, Tag: tag,
			Summary: "List all users' sessions", Detail: contentNote + " Then text does not match titles.",
			Query: []openapi.Param{
				adminSessionLimit.Param(),
				{Name: "after", Doc: "The next of the previous page."},
				{Name: "user", Doc: "Only sessions of this user."},
				{Name: "status", Doc: "Only sessions with this status: " + strings.Join(names(statuses), ", ") + "."},
				{Name: "owner", Doc: "Only sessions that this replica owns."},
				{Name: "text", Doc: "Only sessions with this text in their id, user or title."},
				{Name: "stuck", Doc: "true for stuck or stalled sessions."},
				{Name: "questions", Doc: "true for sessions that wait for a user's answer."},
				{Name: "errors", Doc: "true for sessions with failed turns."},
				{Name: "tabs", Doc: "0 for sessions without tabs."},
				{Name: "quarantined", Doc: "true for quarantined sessions."},
				{Name: "sort", Doc: "The sort key: " + strings.Join(sortKeys, ", ") + ". Most recently updated first when absent."},
				{Name: "desc", Doc: "true for descending order."},
			},
			Answers: openapi.Success(http.StatusOK, "A page of sessions.", openapi.JSONOutput[adminview.Page]()),
		},
		{
			Method: http.MethodGet, Path: "/api/admin/sessions/:session", Guard: openapi.GuardRead, Handler: v.getSession, Tag: tag,
			Summary: "The details of a session, without opening it", Detail: contentNote,
			Answers: openapi.Success(http.StatusOK, "The session.", openapi.JSONOutput[adminview.Detail]()),
		},
		{
			Method: http.MethodGet, Path: "/api/admin/live", Guard: openapi.GuardRead, Handler: v.serveLive, Tag: tag,
			Summary: "Stream the state of all replicas and sessions with Server-Sent Events",
			Detail: "Events are history (AdminHistory), which comes once and first, overview (AdminOverview), rows (AdminRows), detail (AdminDetail) and, before the hub ends the stream, problem. " +
				"The first events are complete, later ones have changes; an overview comes at least once a second. " + contentNote + " " + streamLimitNote,
			Query: []openapi.Param{
				{Name: "rows", Doc: "true for the table of all sessions."},
				{Name: "session", Doc: "A session whose details to send."},
			},
			Answers: openapi.Success(http.StatusOK, "The stream.", openapi.Bytes("text/event-stream")),
		},
	}
}

const streamLimitNote = "503 with Retry-After when this replica has too many admin streams."

// routes are the routes of the logs of sessions.
func (l *eventLogs) routes() []openapi.Route {
	const tag = "admin"
	wanted := []openapi.Param{
		{Name: "after", Doc: "The message_id of the last event seen."},
		{Name: "type", Doc: "Only events of this type."},
		{Name: "agent", Doc: "Only events of this agent."},
		{Name: "monitor", Doc: "Only events of this monitor."},
	}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/admin/sessions/:session/events", Guard: openapi.GuardRead, Handler: l.getPage, Tag: tag,
			Summary: "A page of a session's log",
			Detail: contentNote + " Without after it begins with the oldest stored event; trimmed says that earlier ones were deleted. " +
				"A page may be empty while its next is not top.",
			Query: append([]openapi.Param{httpio.EventLimit.Param()}, wanted...), Answers: openapi.Success(http.StatusOK, "A page of events.", openapi.JSONOutput[adminEvents]()),
		},
		{
			Method: http.MethodGet, Path: "/api/admin/sessions/:session/tail", Guard: openapi.GuardRead, Handler: l.serveTail, Tag: tag,
			Summary: "Stream a session's log with Server-Sent Events",
			Detail: "Events are event, whose id is its message_id, trimmed when events are missing and, before the hub ends the stream, problem. " +
				"Without after it begins with the next event. " + contentNote + " " + streamLimitNote,
			Query: wanted, Headers: []openapi.Param{{Name: "Last-Event-ID", Doc: "The same as after, as browsers send it."}},
			Answers: openapi.Success(http.StatusOK, "The stream.", openapi.Bytes("text/event-stream")),
		},
	}
}
