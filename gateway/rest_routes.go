package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

var (
	sessionQuery = param{name: "sessionId", doc: "The session; the caller's most recently updated one when absent."}
	idempotency  = param{name: headerIdempotencyKey, doc: "The same as messageId: a repeated request with the same key has no second effect and gets the same response."}
)

func (s *sessionHandlers) routes() []route {
	const tag = "sessions"
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions", guard: guardIdentity, handler: s.list, tag: tag,
			summary: "List sessions, most recently updated first",
			query: []param{
				listLimit.param(),
				{name: "after", doc: "The next of the previous page."},
				{name: "user", doc: "Another user's sessions; for admins."},
				{name: "all", doc: "true for all users' sessions; for admins."},
			},
			answers: success(http.StatusOK, "A page of sessions.", jsonBody(listForm)),
		},
		{
			method: http.MethodPost, path: "/api/sessions", guard: guardIdentity, handler: s.create, tag: tag,
			summary: "Create a session", detail: "409 when the caller has reached the session limit.", body: optionalBody(jsonBody(newSessionForm)),
			answers: append(success(http.StatusCreated, "The session.", jsonBody(cardForm), param{name: "Location", doc: "The URL of the session."}),
				answer{status: http.StatusOK, doc: "The caller's existing session of that name.", content: jsonBody(cardForm)}),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session", guard: guardIdentity, handler: s.get, tag: tag,
			summary: "Get a session", answers: success(http.StatusOK, "The session.", jsonBody(cardForm)),
		},
		{
			method: http.MethodPatch, path: "/api/sessions/:session", guard: guardIdentity, handler: s.patch, tag: tag,
			summary: "Rename a session", detail: "For its owner.", body: jsonBody(sessionPatchForm),
			answers: success(http.StatusOK, "The changed session.", jsonBody(cardForm)),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session", guard: guardIdentity, handler: s.delete, tag: tag,
			summary: "Delete a session with all its data", detail: "For its owner. Open connections are closed with 4410.",
			answers: noContent("Deleted."),
		},
		{
			method: http.MethodPut, path: "/api/sessions/:session/shares/:user", guard: guardIdentity, handler: s.putShare, tag: tag,
			summary: "Share a session with another user", body: jsonBody(newShareForm),
			detail:  "For its owner. A viewer reads, an operator also sends messages, answers and acts.",
			answers: success(http.StatusOK, "The changed session.", jsonBody(cardForm)),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session/shares/:user", guard: guardIdentity, handler: s.deleteShare, tag: tag,
			summary: "Stop sharing a session with a user",
			detail:  "For its owner. Open connections of that user to this replica are closed at once, those to others within a minute or two.",
			answers: noContent("No longer shared."),
		},
	}
}

func (s *messages) routes() []route {
	const tag = "conversation"
	return []route{
		{
			method: http.MethodPost, path: "/api/sessions/:session/messages", guard: guardIdentity, handler: s.postMessage, tag: tag,
			summary: "Send a message to the session's agents", headers: []param{idempotency}, body: jsonBody(userMessageForm),
			detail:  "Responds once the message is accepted, queued or rejected. A rejection is a problem with its code.",
			answers: success(http.StatusAccepted, "MESSAGE_ACCEPTED or MESSAGE_QUEUED, as it is in the log.", &content{media: echo.MIMEApplicationJSON, ref: "ServerEvent"}),
		},
		{
			method: http.MethodPost, path: "/api/sessions/:session/actions", guard: guardIdentity, handler: s.postActions, tag: tag,
			summary: "Apply actions to the session's desktop", headers: []param{idempotency}, body: jsonBody(emitForm),
			detail:  "For programs that open a window, raise a notification and so on without an agent.",
			answers: success(http.StatusOK, "The actions are committed.", jsonBody(emittedForm)),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session/snapshot", guard: guardIdentity, handler: s.getSnapshot, tag: tag,
			summary: "The whole state of the session",
			query:   []param{{name: "monitor", doc: "Only this monitor.", repeated: true}},
			headers: []param{{name: "If-None-Match", doc: "The ETag of an earlier response."}},
			answers: append(success(http.StatusOK, "The state at one position of the log.", jsonBody(stateForm),
				param{name: "ETag", doc: "The position."}, param{name: headerStateHash, doc: "Hash of the state: equal for clients that have applied the same log; absent when monitors were named."}),
				answer{status: http.StatusNotModified, doc: "Unchanged since."}),
		},
		{
			method: http.MethodGet, path: pathEvents, guard: guardIdentity, handler: s.getEvents, tag: tag,
			summary: "The session's log, page by page or as a stream",
			detail: "With Accept: text/event-stream it is an endless stream of Server-Sent Events that begins with session_state; " +
				"the id of an event is its message_id, and Last-Event-ID or, without that, last_event_id or resume_from continues after it. " +
				"A page may be shorter than its limit because of its size; it ends where next is.",
			query: []param{
				{name: "after", doc: "The message_id after which to continue; from the oldest stored event when absent. 410 when the log no longer has it."},
				eventLimit.param(),
				{name: "monitor", doc: "Only this monitor's events; streams only.", repeated: true},
				{name: "resume_from", doc: "The message_id of the last event seen; streams only."},
				{name: "last_event_id", doc: "The same as Last-Event-ID, for clients that cannot send headers; streams only."},
				{name: "client_id", doc: "The id that the client chose for itself; streams only."},
			},
			headers: []param{{name: "Last-Event-ID", doc: "The message_id of the last event seen; streams only."}},
			answers: []answer{
				{status: http.StatusOK, doc: "A page of the log, or the stream.", content: &content{media: echo.MIMEApplicationJSON, frames: true}},
			},
		},
	}
}
