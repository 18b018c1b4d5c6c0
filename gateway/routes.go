package gateway

import (
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// guard is the access check of a route.
type guard uint8

const (
	guardNone     guard = iota // none
	guardSocket                // WebSocket; the client authenticates in the handshake or in the first frame
	guardIdentity              // an authenticated caller
	guardAdmin                 // the role admin; others get 404
	guardRead                  // the role admin:read; others get 404
	guardAct                   // the role admin:act as well
)

// route is one line of the table from which both the router and the API description are made.
type route struct {
	method, path string
	guard        guard
	handler      echo.HandlerFunc
	tag          string
	summary      string
	// detail is the longer description, where the summary is not enough.
	detail  string
	query   []param
	headers []param
	body    *content
	answers []answer
}

// param describes a query parameter or a header.
type param struct {
	name, doc string
	// repeated says that the parameter may occur more than once.
	repeated bool
	// defaultValue makes the parameter an integer from 1 with that default; 0 means a string.
	defaultValue int
}

// content describes the body of a request or a response.
type content struct {
	media string
	typ   reflect.Type // nil for other bodies than JSON objects
	shape func() *wire.Shape
	// ref is the name of a definition of package wire, instead of a type.
	ref string
	// frames says that the body is a page of events.
	frames bool
	// optional says that the body may be omitted.
	optional bool
}

// answer describes a response of a route other than an error.
type answer struct {
	status  int
	doc     string
	content *content
	headers []param
}

// jsonBody describes a body that is a value of T.
func jsonBody[T any](f form[T]) *content {
	return &content{
		media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T](),
		shape: func() *wire.Shape { return f().Shape() },
	}
}

// optionalBody marks a body as optional.
func optionalBody(c *content) *content { c.optional = true; return c }

// bytesOf describes a body that is a file.
func bytesOf(media string) *content { return &content{media: media} }

func success(status int, doc string, c *content, headers ...param) []answer {
	return []answer{{status, doc, c, headers}}
}

func noContent(doc string) []answer { return []answer{{http.StatusNoContent, doc, nil, nil}} }

// routes returns all routes, except those of registerPages.
func (s *Server) routes() []route {
	var all []route
	for _, part := range [][]route{s.sessionRoutes(), s.sessionFileRoutes(), s.messageRoutes(), s.rowRoutes(), s.taskRoutes(), s.planRoutes(), s.fileRoutes(), s.desktopRoutes(), s.signInRoutes(), s.adminRoutes(), s.adminActRoutes(), s.hubRoutes()} {
		all = append(all, part...)
	}
	return all
}

var (
	resumeQuery  = param{name: "resume_from", doc: "The message_id of the last event seen."}
	clientQuery  = param{name: "client_id", doc: "The id that the tab chose for itself."}
	sessionQuery = param{name: "sessionId", doc: "The session; the caller's most recently updated one when absent."}
	idempotency  = param{name: headerIdempotencyKey, doc: "The same as messageId: a repeated request with the same key has no second effect and gets the same response."}
)

// fileHeaders are the request headers for fetching a file.
var fileHeaders = []param{
	{name: "Range", doc: "Which bytes to send."},
	{name: "If-Modified-Since", doc: "The Last-Modified of an earlier response."},
}

// fileAnswers returns the responses to fetching a file besides the whole file.
func fileAnswers() []answer {
	file := bytesOf(echo.MIMEOctetStream)
	return []answer{
		{status: http.StatusPartialContent, doc: "The requested range.", content: file, headers: []param{{name: "Content-Range", doc: "The range."}}},
		{status: http.StatusNotModified, doc: "The file has not changed."},
		{
			status: http.StatusRequestedRangeNotSatisfiable, doc: "The file does not have that range.", content: problems(),
			headers: []param{{name: "Content-Range", doc: "The size of the file."}},
		},
	}
}

// problems describes the body of an error response.
func problems() *content {
	c := jsonBody(problemForm)
	c.media = problemType
	return c
}

func (s *Server) sessionRoutes() []route {
	const tag = "sessions"
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions", guard: guardIdentity, handler: s.listSessions, tag: tag,
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
			method: http.MethodPost, path: "/api/sessions", guard: guardIdentity, handler: s.createSession, tag: tag,
			summary: "Create a session", detail: "409 when the caller has reached the session limit.", body: optionalBody(jsonBody(newSessionForm)),
			answers: append(success(http.StatusCreated, "The session.", jsonBody(cardForm), param{name: "Location", doc: "The URL of the session."}),
				answer{status: http.StatusOK, doc: "The caller's existing session of that name.", content: jsonBody(cardForm)}),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session", guard: guardIdentity, handler: s.getSession, tag: tag,
			summary: "Get a session", answers: success(http.StatusOK, "The session.", jsonBody(cardForm)),
		},
		{
			method: http.MethodPatch, path: "/api/sessions/:session", guard: guardIdentity, handler: s.patchSession, tag: tag,
			summary: "Rename a session", detail: "For its owner.", body: jsonBody(sessionPatchForm),
			answers: success(http.StatusOK, "The changed session.", jsonBody(cardForm)),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session", guard: guardIdentity, handler: s.deleteSession, tag: tag,
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

func (s *Server) messageRoutes() []route {
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
		{
			method: http.MethodGet, path: pathNative, guard: guardSocket, handler: s.serveNative, tag: tag,
			summary: "WebSocket in the native dialect",
			detail:  "Subprotocols everdesk.v2 and everdesk.v2.batch. docs/PROTOCOL.md describes the messages.",
			query: []param{
				clientQuery, resumeQuery,
				{name: "seen", doc: "A message_id that a page saw before it was reloaded: the page gets a snapshot and counts as one that reconnects."},
				{name: "monitor", doc: "Only this monitor's events.", repeated: true},
				{name: "token", doc: "The token, where tokens in URLs are enabled."},
			},
			answers: []answer{{status: http.StatusSwitchingProtocols, doc: "The WebSocket is open."}},
		},
		{
			method: http.MethodGet, path: pathDesktop, guard: guardSocket, handler: s.serveDesktop, tag: tag,
			summary: "WebSocket in the desktop dialect",
			detail: "Without a sessionId the caller's most recently updated session is opened, or a first one is created. A sessionId that does not exist or that the caller " +
				"may not see creates a new session, the same for all connections that name it. CONNECTION_STATUS has the id of the open session. " +
				"An invalid sessionId is refused.",
			query:   []param{sessionQuery, clientQuery, resumeQuery, {name: "monitorId", doc: "The monitor to subscribe to."}, {name: "token", doc: "The token."}},
			answers: []answer{{status: http.StatusSwitchingProtocols, doc: "The WebSocket is open."}},
		},
	}
}

func (s *Server) fileRoutes() []route {
	const tag = "files"
	file := bytesOf(echo.MIMEOctetStream)
	save := route{
		guard: guardIdentity, handler: s.putFile, tag: tag, path: "/api/sessions/:session/files/*", body: file,
		summary: "Store a file", detail: "The body is the file. It replaces an existing file of that name.",
		answers: success(http.StatusCreated, "The file is stored.", jsonBody(fileEntryForm)),
	}
	put, post := save, save
	put.method, post.method = http.MethodPut, http.MethodPost
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions/:session/files", guard: guardIdentity, handler: s.listFiles, tag: tag,
			summary: "List a folder of the session's files", query: []param{{name: "folder", doc: "The folder; the top folder when absent."}},
			answers: success(http.StatusOK, "The content of the folder.", jsonBody(fileListForm)),
		},
		put, post,
		{
			method: http.MethodGet, path: "/api/sessions/:session/files/*", guard: guardIdentity, handler: s.getFile, tag: tag,
			summary: "Fetch a file", headers: fileHeaders,
			detail:  "Nothing in the file can run on the hub's origin: all files except images, audio, video and plain text are sent as attachments.",
			answers: append(success(http.StatusOK, "The file.", file), fileAnswers()...),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session/files/*", guard: guardIdentity, handler: s.deleteFile, tag: tag,
			summary: "Delete a file", answers: noContent("Deleted."),
		},
		{
			method: http.MethodGet, path: pathStorage, guard: guardIdentity, handler: s.getStorage, tag: tag,
			summary: "Fetch a file or list a folder, for the desktop dialect",
			query:   []param{sessionQuery, {name: "list", doc: "true to list the folder instead."}, {name: "token", doc: "The token, where tokens in URLs are enabled."}},
			headers: fileHeaders,
			answers: append(success(http.StatusOK, "The listing, or the file.", jsonBody(storageListForm)), fileAnswers()...),
		},
		{
			method: http.MethodPost, path: "/api/storage/*", guard: guardIdentity, handler: s.postStorage, tag: tag,
			summary: "Store a file, for the desktop dialect", query: []param{sessionQuery}, body: file,
			answers: success(http.StatusOK, "The file is stored.", jsonBody(storageForm)),
		},
		{
			method: http.MethodDelete, path: "/api/storage/*", guard: guardIdentity, handler: s.deleteStorage, tag: tag,
			summary: "Delete a file, for the desktop dialect", query: []param{sessionQuery},
			answers: success(http.StatusOK, "Deleted.", jsonBody(storageForm)),
		},
	}
}

func (s *Server) signInRoutes() []route {
	const tag = "people"
	html, formBody := bytesOf(echo.MIMETextHTML), bytesOf(echo.MIMEApplicationForm)
	led := answer{status: http.StatusSeeOther, doc: "Signed in; redirects to /.", headers: []param{{name: "Set-Cookie", doc: "The cookie."}}}
	token := []param{{name: "token", doc: "The token of the URL that the hub prints."}}
	return []route{
		{
			method: http.MethodGet, path: "/", handler: s.homePage, tag: tag, summary: "The desktop", query: token,
			answers: append(success(http.StatusOK, "A page.", html), led),
		},
		{
			method: http.MethodGet, path: "/join", handler: s.joinPage, tag: tag, summary: "The desktop, for an invited device",
			detail: "The ticket is in the fragment of the URL, after the #.", answers: success(http.StatusOK, "A page.", html),
		},
		{
			method: http.MethodGet, path: "/login", handler: s.getLogin, tag: tag, summary: "The sign-in page", query: token,
			answers: append(success(http.StatusOK, "A page.", html), led),
		},
		{
			method: http.MethodPost, path: "/login", handler: s.submitLogin, tag: tag,
			summary: "Sign in with a form", body: formBody, answers: []answer{led},
		},
		{
			method: http.MethodPost, path: "/api/login", handler: s.postLogin, tag: tag,
			summary: "Exchange a token for a cookie", body: jsonBody(loginForm),
			answers: success(http.StatusOK, "Signed in.", jsonBody(identityForm), param{name: "Set-Cookie", doc: "The cookie."}),
		},
		{
			method: http.MethodPost, path: "/api/logout", guard: guardIdentity, handler: s.postLogout, tag: tag,
			summary: "Sign out everywhere", detail: "All cookies and tickets of the user end and all their connections close with 4411. " +
				"For a viewer or an invited device only the cookie of the request and its connections end. API keys cannot sign out.",
			answers: noContent("Signed out."),
		},
		{
			method: http.MethodGet, path: "/api/me", guard: guardIdentity, handler: s.getMe, tag: tag,
			summary: "The identity of the caller", answers: success(http.StatusOK, "The caller.", jsonBody(identityForm)),
		},
		{
			method: http.MethodPost, path: "/api/join-tickets", guard: guardIdentity, handler: s.postInvitation, tag: tag,
			summary: "Make a link that gives another device access to a session", body: jsonBody(invitationRequestForm),
			detail:  "Needs operator access. The link is valid once and for two minutes. API keys and credentials for one session cannot make one.",
			answers: success(http.StatusOK, "The link.", jsonBody(invitationForm)),
		},
		{
			method: http.MethodPost, path: "/api/join", handler: s.postJoin, tag: tag,
			summary: "Exchange the ticket of such a link for a cookie", body: jsonBody(joinForm),
			detail: "The cookie is valid for that session only: it cannot create or see others, nor rename, share or delete this one. " +
				"A browser that is signed in as the same user keeps its cookie. Used, expired and other users' links get the same response.",
			answers: success(http.StatusOK, "The device has access.", jsonBody(joinedForm), param{name: "Set-Cookie", doc: "The cookie."}),
		},
		{
			method: http.MethodPost, path: "/api/ws-ticket", guard: guardIdentity, handler: s.postTicket, tag: tag,
			summary: "Make a ticket for one WebSocket", body: optionalBody(jsonBody(ticketRequestForm)),
			answers: success(http.StatusOK, "The ticket.", jsonBody(ticketForm)),
		},
		{
			method: http.MethodPost, path: "/api/tokens/keys", guard: guardAdmin, handler: s.postKey, tag: tag,
			summary: "Create an API key", body: jsonBody(keyRequestForm), answers: success(http.StatusCreated, "The key.", jsonBody(keyForm)),
		},
		{
			method: http.MethodGet, path: "/api/tokens/keys", guard: guardAdmin, handler: s.listKeys, tag: tag,
			summary: "List API keys", query: []param{listLimit.param(), {name: "after", doc: "The next of the previous page."}},
			answers: success(http.StatusOK, "A page of keys.", jsonBody(keyListForm)),
		},
		{
			method: http.MethodDelete, path: "/api/tokens/keys/:key", guard: guardAdmin, handler: s.deleteKey, tag: tag,
			summary: "Revoke an API key", answers: noContent("Revoked."),
			detail: "Connections that it opened are closed; those of the user's other credentials stay open.",
		},
		{
			method: http.MethodPost, path: "/api/tokens/tickets", guard: guardAdmin, handler: s.postUserTicket, tag: tag,
			summary: "Make a ticket for another user", body: jsonBody(userTicketRequestForm), answers: success(http.StatusOK, "The ticket.", jsonBody(ticketForm)),
		},
	}
}

func (s *Server) hubRoutes() []route {
	const tag = "hub"
	return []route{
		{
			method: http.MethodGet, path: "/health", handler: s.health, tag: tag,
			summary: "Whether the process is up, for desktops", answers: success(http.StatusOK, "It is up.", jsonBody(healthForm)),
		},
		{
			method: http.MethodGet, path: "/healthz", handler: s.health, tag: tag,
			summary: "Whether the process is up", answers: success(http.StatusOK, "It is up.", jsonBody(healthForm)),
		},
		{
			method: http.MethodGet, path: "/readyz", handler: s.readyz, tag: tag,
			summary: "Whether the process accepts clients", detail: "503 while the store is unavailable and while the hub drains or shuts down.",
			answers: success(http.StatusOK, "It accepts clients.", jsonBody(healthForm)),
		},
		{
			method: http.MethodGet, path: "/api/openapi.json", handler: s.getOpenAPI, tag: tag,
			summary: "This description", answers: success(http.StatusOK, "An OpenAPI 3.1 document.", bytesOf(echo.MIMEApplicationJSON)),
		},
	}
}
