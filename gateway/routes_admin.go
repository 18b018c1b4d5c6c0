package gateway

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/adminview"
)

// adminRoutes are the read-only routes of the admin API. They need a membership and an audit log.
func (s *Server) adminRoutes() []route {
	if s.members == nil || s.audit == nil {
		return nil
	}
	const tag = "admin"
	all := []route{
		{
			method: http.MethodGet, path: "/api/admin/me", guard: guardRead, handler: s.getAdminMe, tag: tag,
			summary: "What the caller may do here", answers: success(http.StatusOK, "The caller.", jsonBody(adminIdentityForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/replicas", guard: guardRead, handler: s.listReplicas, tag: tag,
			summary: "List the live replicas", answers: success(http.StatusOK, "The replicas.", jsonBody(replicaListForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/limits", guard: guardRead, handler: s.getLimits, tag: tag,
			summary: "The limits and their use", answers: success(http.StatusOK, "The limits.", jsonBody(limitsForm)),
		},
	}
	all = append(all, s.adminLogRoutes()...)
	if s.adminView != nil {
		all = append(all, s.adminViewRoutes()...)
	}
	return append(all, s.adminPageRoutes()...)
}

const contentNote = "Without the role admin:content the response has no texts of users and agents."

// adminViewRoutes are the routes of the admin view of all sessions.
func (s *Server) adminViewRoutes() []route {
	const tag = "admin"
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/overview", guard: guardRead, handler: s.getOverview, tag: tag,
			summary: "The current state of all replicas", answers: success(http.StatusOK, "The overview.", jsonOutput[adminview.Overview]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions", guard: guardRead, handler: s.listAllSessions, tag: tag,
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
			method: http.MethodGet, path: "/api/admin/sessions/:session", guard: guardRead, handler: s.getAdminSession, tag: tag,
			summary: "The details of a session, without opening it", detail: contentNote,
			answers: success(http.StatusOK, "The session.", jsonOutput[adminview.Detail]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/live", guard: guardRead, handler: s.serveAdminLive, tag: tag,
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

// adminLogRoutes are the routes of the logs of sessions.
func (s *Server) adminLogRoutes() []route {
	const tag = "admin"
	wanted := []param{
		{name: "after", doc: "The message_id of the last event seen."},
		{name: "type", doc: "Only events of this type."},
		{name: "agent", doc: "Only events of this agent."},
		{name: "monitor", doc: "Only events of this monitor."},
	}
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session/events", guard: guardRead, handler: s.getAdminEvents, tag: tag,
			summary: "A page of a session's log",
			detail: contentNote + " Without after it begins with the oldest stored event; trimmed says that earlier ones were deleted. " +
				"A page may be empty while its next is not top.",
			query: append([]param{eventLimit.param()}, wanted...), answers: success(http.StatusOK, "A page of events.", jsonOutput[adminEvents]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session/tail", guard: guardRead, handler: s.serveTail, tag: tag,
			summary: "Stream a session's log with Server-Sent Events",
			detail: "Events are event, whose id is its message_id, trimmed when events are missing and, before the hub ends the stream, problem. " +
				"Without after it begins with the next event. " + contentNote + " " + streamLimitNote,
			query: wanted, headers: []param{{name: "Last-Event-ID", doc: "The same as after, as browsers send it."}},
			answers: success(http.StatusOK, "The stream.", bytesOf("text/event-stream")),
		},
	}
}

// adminPageRoutes are the routes of /metrics and of the admin page.
func (s *Server) adminPageRoutes() []route {
	const tag = "admin"
	var all []route
	if s.metrics != nil {
		all = append(all, route{
			method: http.MethodGet, path: pathMetrics, guard: guardRead, handler: echo.WrapHandler(s.metrics), tag: tag,
			summary: "Prometheus metrics", detail: "Needs no credential on a separate admin listener.",
			answers: success(http.StatusOK, "The metrics.", bytesOf(echo.MIMETextPlain)),
		})
	}
	if s.adminPage == nil || !s.adminPage.Has(indexFile) {
		return all
	}
	html := success(http.StatusOK, "A page.", bytesOf(echo.MIMETextHTML))
	led := answer{status: http.StatusSeeOther, doc: "Signed in; redirects to /admin.", headers: []param{{name: "Set-Cookie", doc: "The cookie."}}}
	return append(all,
		route{
			method: http.MethodGet, path: pathAdmin, handler: s.serveAdminPage, tag: tag, summary: "The admin page",
			query: []param{{name: "token", doc: "The token of the URL that the hub prints."}}, answers: append(html, led),
		},
		route{
			method: http.MethodPost, path: pathAdmin, handler: s.submitLogin, tag: tag, summary: "Sign in with a form, for the admin page",
			body: bytesOf(echo.MIMEApplicationForm), answers: []answer{led},
		},
		route{
			method: http.MethodGet, path: pathAdmin + "/*", handler: s.serveAdminPage, tag: tag, summary: "The files of the admin page", answers: html,
		},
	)
}

// jsonOutput describes a response that is a value of T, a type without a [wire.Format].
func jsonOutput[T any]() *content {
	return &content{media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T]()}
}
