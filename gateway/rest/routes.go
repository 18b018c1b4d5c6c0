package rest

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
)

var (
	sessionQuery = openapi.Param{Name: "sessionId", Doc: "The session; the caller's most recently updated one when absent."}
	idempotency  = openapi.Param{Name: httpio.HeaderIdempotencyKey, Doc: "The same as messageId: a repeated request with the same key has no second effect and gets the same response."}
)

func (s *sessionHandlers) routes() []openapi.Route {
	const tag = "sessions"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions", Guard: openapi.GuardIdentity, Handler: s.list, Tag: tag,
			Summary: "List sessions, most recently updated first",
			Query: []openapi.Param{
				httpio.ListLimit.Param(),
				{Name: "after", Doc: "The next of the previous page."},
				{Name: "q", Doc: "Only sessions of the caller with all these words in their title, or in a request or result of their conversation. Each request looks at 20 sessions at most; a page may be empty and have a next."},
				{Name: "user", Doc: "Another user's sessions; for admins."},
				{Name: "all", Doc: "true for all users' sessions; for admins."},
			},
			Answers: openapi.Success(http.StatusOK, "A page of sessions.", openapi.JSONBody(listForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions", Guard: openapi.GuardIdentity, Handler: s.create, Tag: tag,
			Summary: "Create a session", Detail: "409 when the caller has reached the session limit.", Body: openapi.Optional(openapi.JSONBody(newSessionForm)),
			Answers: append(openapi.Success(http.StatusCreated, "The session.", openapi.JSONBody(cardForm), openapi.Param{Name: "Location", Doc: "The URL of the session."}),
				openapi.Answer{Status: http.StatusOK, Doc: "The caller's existing session of that name.", Content: openapi.JSONBody(cardForm)}),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session", Guard: openapi.GuardIdentity, Handler: s.get, Tag: tag,
			Summary: "Get a session", Answers: openapi.Success(http.StatusOK, "The session.", openapi.JSONBody(cardForm)),
		},
		{
			Method: http.MethodPatch, Path: "/api/sessions/:session", Guard: openapi.GuardIdentity, Handler: s.patch, Tag: tag,
			Summary: "Rename a session", Detail: "For its owner.", Body: openapi.JSONBody(sessionPatchForm),
			Answers: openapi.Success(http.StatusOK, "The changed session.", openapi.JSONBody(cardForm)),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session", Guard: openapi.GuardIdentity, Handler: s.delete, Tag: tag,
			Summary: "Delete a session with all its data", Detail: "For its owner. Open connections are closed with 4410.",
			Answers: openapi.NoContent("Deleted."),
		},
		{
			Method: http.MethodPut, Path: "/api/sessions/:session/shares/:user", Guard: openapi.GuardIdentity, Handler: s.putShare, Tag: tag,
			Summary: "Share a session with another user", Body: openapi.JSONBody(newShareForm),
			Detail:  "For its owner. A viewer reads, an operator also sends messages, answers and acts.",
			Answers: openapi.Success(http.StatusOK, "The changed session.", openapi.JSONBody(cardForm)),
		},
		{
			Method: http.MethodPut, Path: "/api/sessions/:session/owner", Guard: openapi.GuardIdentity, Handler: s.putOwner, Tag: tag,
			Summary: "Give a session to another user", Body: openapi.JSONBody(newOwnerForm),
			Detail: "For its owner, who stays an operator. The session must be shared with the user: else 400. " +
				"409 while agents are at work or wait for an answer, and when the user has reached the limit of sessions. " +
				"Its chosen model, mode and auto-approval rules and its MCP tokens end; all of it happens, or none.",
			Answers: openapi.Success(http.StatusOK, "The session, as the caller sees it now.", openapi.JSONBody(cardForm)),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/shares/:user", Guard: openapi.GuardIdentity, Handler: s.deleteShare, Tag: tag,
			Summary: "Stop sharing a session with a user",
			Detail:  "For its owner. Open connections of that user to this replica are closed at once, those to others within a minute or two.",
			Answers: openapi.NoContent("No longer shared."),
		},
	}
}

func (m *messages) routes() []openapi.Route {
	const tag = "conversation"
	return []openapi.Route{
		m.filmRoute(),
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/messages", Guard: openapi.GuardIdentity, Handler: m.postMessage, Tag: tag,
			Summary: "Send a message to the session's agents", Headers: []openapi.Param{idempotency}, Body: openapi.JSONBody(userMessageForm),
			Detail:  "Responds once the message is accepted, queued or rejected. A rejection is a problem with its code.",
			Answers: openapi.Success(http.StatusAccepted, "MESSAGE_ACCEPTED or MESSAGE_QUEUED, as it is in the log.", &openapi.Content{Media: echo.MIMEApplicationJSON, Ref: "ServerEvent"}),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/actions", Guard: openapi.GuardIdentity, Handler: m.postActions, Tag: tag,
			Summary: "Apply actions to the session's desktop", Headers: []openapi.Param{idempotency}, Body: openapi.JSONBody(emitForm),
			Detail:  "For programs that open a window, raise a notification and so on without an agent.",
			Answers: openapi.Success(http.StatusOK, "The actions are committed.", openapi.JSONBody(emittedForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/snapshot", Guard: openapi.GuardIdentity, Handler: m.getSnapshot, Tag: tag,
			Summary: "The whole state of the session",
			Query:   []openapi.Param{{Name: "monitor", Doc: "Only this monitor.", Repeated: true}},
			Headers: []openapi.Param{{Name: "If-None-Match", Doc: "The ETag of an earlier response."}},
			Answers: append(openapi.Success(http.StatusOK, "The state at one position of the log.", openapi.JSONBody(stateForm),
				openapi.Param{Name: "ETag", Doc: "The position."}, openapi.Param{Name: headerStateHash, Doc: "Hash of the state: equal for clients that have applied the same log; absent when monitors were named."}),
				openapi.Answer{Status: http.StatusNotModified, Doc: "Unchanged since."}),
		},
		{
			Method: http.MethodGet, Path: access.PathEvents, Guard: openapi.GuardIdentity, Handler: m.getEvents, Tag: tag,
			Summary: "The session's log, page by page or as a stream",
			Detail: "With Accept: text/event-stream it is an endless stream of Server-Sent Events that begins with session_state; " +
				"the id of an event is its message_id, and Last-Event-ID or, without that, last_event_id or resume_from continues after it. " +
				"A page may be shorter than its limit because of its size; it ends where next is.",
			Query: []openapi.Param{
				{Name: "after", Doc: "The message_id after which to continue; from the oldest stored event when absent. 410 when the log no longer has it."},
				httpio.EventLimit.Param(),
				{Name: "monitor", Doc: "Only this monitor's events; streams only.", Repeated: true},
				{Name: "resume_from", Doc: "The message_id of the last event seen; streams only."},
				{Name: "last_event_id", Doc: "The same as Last-Event-ID, for clients that cannot send headers; streams only."},
				{Name: "client_id", Doc: "The id that the client chose for itself; streams only."},
			},
			Headers: []openapi.Param{{Name: "Last-Event-ID", Doc: "The message_id of the last event seen; streams only."}},
			Answers: []openapi.Answer{
				{Status: http.StatusOK, Doc: "A page of the log, or the stream.", Content: &openapi.Content{Media: echo.MIMEApplicationJSON, Frames: true}},
			},
		},
	}
}
