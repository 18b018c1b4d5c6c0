package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/audit"
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

// adminDeps are the components and settings of the admin API.
type adminDeps struct {
	Log           *slog.Logger
	Hub           *session.Hub
	Store         EventStore
	Sessions      *Sessions
	Authenticator *Authenticator
	Budget        *responseBudget
	Actions       *Actions
	// Members and Audit are nil without an admin API.
	Members Membership
	Audit   *audit.Log
	// View is the admin view of all sessions, or nil.
	View AdminView
	// Agents counts the running agents, of which AgentLimit may run; nil means zero.
	Agents     Agents
	AgentLimit int
	// UserSessions and UserConnections are the limits of a user, for display.
	UserSessions, UserConnections int
	// FrameBytes bounds the body of a request.
	FrameBytes int64
}

// adminAPI is the admin API: views of all sessions and replicas, streams, actions and the audit log.
type adminAPI struct {
	streams  *adminStreams
	audit    auditHandlers
	logs     eventLogs
	views    views
	commands commands
	enabled  bool // there are a membership and an audit log
}

// newAdminAPI returns the admin API.
func newAdminAPI(d adminDeps) *adminAPI {
	streams := &adminStreams{log: d.Log, authenticator: d.Authenticator}
	v := views{hub: d.Hub, adminView: d.View, streams: streams, members: d.Members, agents: d.Agents}
	v.limits.UserSessions, v.limits.UserConnections = d.UserSessions, d.UserConnections
	if d.Agents != nil {
		v.limits.Agents.Limit = d.AgentLimit
	}
	return &adminAPI{
		streams:  streams,
		audit:    auditHandlers{log: d.Log, audit: d.Audit},
		logs:     eventLogs{hub: d.Hub, store: d.Store, budget: d.Budget, streams: streams},
		views:    v,
		commands: commands{hub: d.Hub, sessions: d.Sessions, members: d.Members, actions: d.Actions, frameBytes: d.FrameBytes},
		enabled:  d.Actions.audited(),
	}
}

// routes returns the routes of the admin API. Without a membership and an audit log there are none.
func (a *adminAPI) routes() []route {
	if !a.enabled {
		return nil
	}
	return slices.Concat(a.views.routes(), a.logs.routes(), a.views.sessionRoutes(), a.audit.routes(), a.commands.routes())
}

// Enabled reports whether there is an admin API.
func (a *adminAPI) Enabled() bool { return a.enabled }

// CloseStreams ends the open streams; if final, no stream may be opened any more.
func (a *adminAPI) CloseStreams(final bool) { a.streams.closeAll(final) }

// Profile serves a runtime profile as one of the admin streams.
func (a *adminAPI) Profile(next http.HandlerFunc) echo.HandlerFunc {
	return a.streams.serveProfile(next)
}

// ExecuteCommand executes a command of another replica.
func (a *adminAPI) ExecuteCommand(ctx context.Context, e membership.Command) membership.Answer {
	return a.commands.Execute(ctx, e)
}

// routes are the routes of the caller's rights, of the replicas and of the limits.
func (v *views) routes() []route {
	const tag = "admin"
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/me", guard: guardRead, handler: v.getMe, tag: tag,
			summary: "What the caller may do here", answers: success(http.StatusOK, "The caller.", jsonBody(adminIdentityForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/replicas", guard: guardRead, handler: v.listReplicas, tag: tag,
			summary: "List the live replicas", answers: success(http.StatusOK, "The replicas.", jsonBody(replicaListForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/limits", guard: guardRead, handler: v.getLimits, tag: tag,
			summary: "The limits and their use", answers: success(http.StatusOK, "The limits.", jsonBody(limitsForm)),
		},
	}
}

const contentNote = "Without the role admin:content the response has no texts of users and agents."

// sessionRoutes are the routes of the admin view of all sessions.
func (v *views) sessionRoutes() []route {
	if v.adminView == nil {
		return nil
	}
	const tag = "admin"
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/overview", guard: guardRead, handler: v.getOverview, tag: tag,
			summary: "The current state of all replicas", answers: success(http.StatusOK, "The overview.", jsonOutput[adminview.Overview]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions", guard: guardRead, handler: v.listSessions, tag: tag,
			summary: "List all users' sessions", detail: contentNote + " Then text does not match titles.",
			query: []param{
				adminSessionLimit.param(),
				{name: "after", doc: "The next of the previous page."},
				{name: "user", doc: "Only sessions of this user."},
				{name: "status", doc: "Only sessions with this status: " + strings.Join(names(statuses), ", ") + "."},
				{name: "owner", doc: "Only sessions that this replica owns."},
				{name: "text", doc: "Only sessions with this text in their id, user or title."},
				{name: "stuck", doc: "true for stuck or stalled sessions."},
				{name: "questions", doc: "true for sessions that wait for a user's answer."},
				{name: "errors", doc: "true for sessions with failed turns."},
				{name: "tabs", doc: "0 for sessions without tabs."},
				{name: "quarantined", doc: "true for quarantined sessions."},
				{name: "sort", doc: "The sort key: " + strings.Join(sortKeys, ", ") + ". Most recently updated first when absent."},
				{name: "desc", doc: "true for descending order."},
			},
			answers: success(http.StatusOK, "A page of sessions.", jsonOutput[adminview.Page]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session", guard: guardRead, handler: v.getSession, tag: tag,
			summary: "The details of a session, without opening it", detail: contentNote,
			answers: success(http.StatusOK, "The session.", jsonOutput[adminview.Detail]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/live", guard: guardRead, handler: v.serveLive, tag: tag,
			summary: "Stream the state of all replicas and sessions with Server-Sent Events",
			detail: "Events are history (AdminHistory), which comes once and first, overview (AdminOverview), rows (AdminRows), detail (AdminDetail) and, before the hub ends the stream, problem. " +
				"The first events are complete, later ones have changes; an overview comes at least once a second. " + contentNote + " " + streamLimitNote,
			query: []param{
				{name: "rows", doc: "true for the table of all sessions."},
				{name: "session", doc: "A session whose details to send."},
			},
			answers: success(http.StatusOK, "The stream.", bytesOf("text/event-stream")),
		},
	}
}

const streamLimitNote = "503 with Retry-After when this replica has too many admin streams."

// routes are the routes of the logs of sessions.
func (l *eventLogs) routes() []route {
	const tag = "admin"
	wanted := []param{
		{name: "after", doc: "The message_id of the last event seen."},
		{name: "type", doc: "Only events of this type."},
		{name: "agent", doc: "Only events of this agent."},
		{name: "monitor", doc: "Only events of this monitor."},
	}
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session/events", guard: guardRead, handler: l.getPage, tag: tag,
			summary: "A page of a session's log",
			detail: contentNote + " Without after it begins with the oldest stored event; trimmed says that earlier ones were deleted. " +
				"A page may be empty while its next is not top.",
			query: append([]param{eventLimit.param()}, wanted...), answers: success(http.StatusOK, "A page of events.", jsonOutput[adminEvents]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session/tail", guard: guardRead, handler: l.serveTail, tag: tag,
			summary: "Stream a session's log with Server-Sent Events",
			detail: "Events are event, whose id is its message_id, trimmed when events are missing and, before the hub ends the stream, problem. " +
				"Without after it begins with the next event. " + contentNote + " " + streamLimitNote,
			query: wanted, headers: []param{{name: "Last-Event-ID", doc: "The same as after, as browsers send it."}},
			answers: success(http.StatusOK, "The stream.", bytesOf("text/event-stream")),
		},
	}
}
