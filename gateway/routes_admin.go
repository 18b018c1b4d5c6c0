package gateway

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/adminview"
)

// adminRoutes are what those look at who look after the hub. They are there when there
// is a fleet to look after.
func (s *Server) adminRoutes() []route {
	if s.members == nil || s.audit == nil {
		return nil
	}
	const tag = "admin"
	all := []route{
		{
			method: http.MethodGet, path: "/api/admin/me", guard: guardRead, do: s.getAdminMe, tag: tag,
			summary: "What the caller may do here", answers: ok(http.StatusOK, "The caller.", of(adminIdentityForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/replicas", guard: guardRead, do: s.listReplicas, tag: tag,
			summary: "The replicas that are alive", answers: ok(http.StatusOK, "All of them.", of(replicaListForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/limits", guard: guardRead, do: s.getLimits, tag: tag,
			summary: "How much of what is bounded is in use", answers: ok(http.StatusOK, "The limits.", of(limitsForm)),
		},
	}
	all = append(all, s.logRoutes()...)
	if s.adminView != nil {
		all = append(all, s.monitorRoutes()...)
	}
	return append(all, s.adminPageRoutes()...)
}

const blindness = "Without the role admin:content no text of people and agents is shown."

// monitorRoutes show all sessions.
func (s *Server) monitorRoutes() []route {
	const tag = "admin"
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/overview", guard: guardRead, do: s.getOverview, tag: tag,
			summary: "The whole fleet as it is now", answers: ok(http.StatusOK, "The fleet.", showing[adminview.Overview]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions", guard: guardRead, do: s.listAllSessions, tag: tag,
			summary: "Everybody's sessions", detail: blindness + " Then text is not looked for in titles.",
			query: []param{
				adminSessionLimit.param(),
				{name: "after", doc: "The next of the page before."},
				{name: "user", doc: "Only this user's."},
				{name: "status", doc: "Only those with this status: " + strings.Join(names(statuses), ", ") + "."},
				{name: "owner", doc: "Only those that this replica has."},
				{name: "text", doc: "Only those with this in their id, user or title."},
				{name: "stuck", doc: "true for those that are stuck or stalled."},
				{name: "questions", doc: "true for those that wait for a person."},
				{name: "errors", doc: "true for those with turns that failed."},
				{name: "tabs", doc: "0 for those that nobody watches."},
				{name: "quarantined", doc: "true for those that are set aside."},
				{name: "sort", doc: "By what: " + strings.Join(sortings, ", ") + ". Those changed last come first when nothing is said."},
				{name: "desc", doc: "true for the largest first."},
			},
			answers: ok(http.StatusOK, "A page of sessions.", showing[adminview.Page]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session", guard: guardRead, do: s.getAnySession, tag: tag,
			summary: "All that is known of a session without opening it", detail: blindness,
			answers: ok(http.StatusOK, "The session.", showing[adminview.Detail]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/live", guard: guardRead, do: s.serveLive, tag: tag,
			summary: "The fleet and all sessions as they change, with Server-Sent Events",
			detail: "Events are history (AdminHistory), which comes once and first, overview (AdminOverview), rows (AdminRows), detail (AdminDetail) and, before the hub ends the stream, problem. " +
				"The first ones are whole, then come changes, and an overview once a second at least. " + blindness + " " + crowded,
			query: []param{
				{name: "rows", doc: "true for the table of all sessions."},
				{name: "session", doc: "A session to show everything of."},
			},
			answers: ok(http.StatusOK, "The stream.", bytesOf("text/event-stream")),
		},
	}
}

const crowded = "503 with Retry-After when too many watch this replica."

// logRoutes show the log of a session.
func (s *Server) logRoutes() []route {
	const tag = "admin"
	wanted := []param{
		{name: "after", doc: "The message_id of the last event seen."},
		{name: "type", doc: "Only events of this type."},
		{name: "agent", doc: "Only those of this agent."},
		{name: "monitor", doc: "Only those of this monitor."},
	}
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session/events", guard: guardRead, do: s.getAnyEvents, tag: tag,
			summary: "A page of a session's log",
			detail: blindness + " Without after it begins with the oldest event there is; trimmed says that earlier ones are gone. " +
				"A page may be empty while its next is not top.",
			query: append([]param{eventLimit.param()}, wanted...), answers: ok(http.StatusOK, "A page of events.", showing[adminEvents]()),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session/tail", guard: guardRead, do: s.serveTail, tag: tag,
			summary: "A session's log as it grows, with Server-Sent Events",
			detail: "Events are event, whose id is its message_id, trimmed when some are gone and, before the hub ends the stream, problem. " +
				"Without after it begins with the next event. " + blindness + " " + crowded,
			query: wanted, headers: []param{{name: "Last-Event-ID", doc: "The same as after, as browsers send it."}},
			answers: ok(http.StatusOK, "The stream.", bytesOf("text/event-stream")),
		},
	}
}

// adminPageRoutes are for people and for programs that measure.
func (s *Server) adminPageRoutes() []route {
	const tag = "admin"
	var all []route
	if s.metrics != nil {
		all = append(all, route{
			method: http.MethodGet, path: pathMetrics, guard: guardRead, do: echo.WrapHandler(s.metrics), tag: tag,
			summary: "What is measured, as Prometheus reads it", detail: "At an address of their own, those who look after the hub need not say who they are.",
			answers: ok(http.StatusOK, "The numbers.", bytesOf(echo.MIMETextPlain)),
		})
	}
	if s.adminPage == nil || !s.adminPage.Has(indexFile) {
		return all
	}
	html := ok(http.StatusOK, "A page.", bytesOf(echo.MIMETextHTML))
	led := answer{status: http.StatusSeeOther, doc: "Signed in; on to /admin.", headers: []param{{name: "Set-Cookie", doc: "The cookie."}}}
	return append(all,
		route{
			method: http.MethodGet, path: pathAdmin, do: s.adminHome, tag: tag, summary: "The monitor, for people",
			query: []param{{name: "token", doc: "The token of the URL that the hub prints."}}, answers: append(html, led),
		},
		route{
			method: http.MethodPost, path: pathAdmin, do: s.submitLogin, tag: tag, summary: "Sign in with a form, for the monitor",
			body: bytesOf(echo.MIMEApplicationForm), answers: []answer{led},
		},
		route{
			method: http.MethodGet, path: pathAdmin + "/*", do: s.adminHome, tag: tag, summary: "The files of the monitor", answers: html,
		},
	)
}

// showing is an answer that is a value of T, which the wire does not know.
func showing[T any]() *content {
	return &content{media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T]()}
}
