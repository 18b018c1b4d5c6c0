package gateway

import (
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// guard says who gets to a route.
type guard uint8

const (
	guardNone   guard = iota // everybody
	guardSocket              // everybody who speaks WebSocket; who they are is asked there
	guardKnown               // who has said who they are
	guardAdmin               // full admins; to others the route is not there
	guardRead                // who may look after the hub; to others the route is not there
	guardAct                 // who may act on it too
)

// route is one line of the table that both the router and the API description
// are made from.
type route struct {
	method, path string
	guard        guard
	do           echo.HandlerFunc
	tag          string
	summary      string
	// detail says more, where the summary leaves a question.
	detail  string
	query   []param
	headers []param
	body    *content
	answers []answer
}

// param is a part of the query or a header.
type param struct {
	name, doc string
	// many may be there more than once.
	many bool
	// usual is the value of a number from 1 on when it is absent; 0 means that the
	// parameter is a text.
	usual int
}

// content is a body, of a request or of an answer.
type content struct {
	media string
	typ   reflect.Type // nil when it is not JSON of ours
	shape func() *wire.Shape
	// ref is the name of a definition of the wire's schema, instead of a type.
	ref string
	// frames says that it is a page of events.
	frames bool
	// optional bodies may be left out.
	optional bool
}

// answer is what a route may say when all is well.
type answer struct {
	status  int
	doc     string
	content *content
	headers []param
}

// of is a body that is a value of T.
func of[T any](f form[T]) *content {
	return &content{
		media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T](),
		shape: func() *wire.Shape { return f().Shape() },
	}
}

// orNone is the same for a body that may be left out.
func orNone(c *content) *content { c.optional = true; return c }

// bytes is a body that is a file.
func bytesOf(media string) *content { return &content{media: media} }

func ok(status int, doc string, c *content, headers ...param) []answer {
	return []answer{{status, doc, c, headers}}
}

func done(doc string) []answer { return []answer{{http.StatusNoContent, doc, nil, nil}} }

// routes are all routes, but for the files of another desktop.
func (s *Server) routes() []route {
	var all []route
	for _, part := range [][]route{s.sessionRoutes(), s.packRoutes(), s.messageRoutes(), s.rowRoutes(), s.taskRoutes(), s.planRoutes(), s.fileRoutes(), s.desktopRoutes(), s.peopleRoutes(), s.adminRoutes(), s.adminActRoutes(), s.hubRoutes()} {
		all = append(all, part...)
	}
	return all
}

var (
	resumeQuery  = param{name: "resume_from", doc: "The last message_id seen."}
	clientQuery  = param{name: "client_id", doc: "How the tab names itself."}
	sessionQuery = param{name: "sessionId", doc: "The session; the caller's latest when absent."}
	idempotency  = param{name: headerIdempotencyKey, doc: "The same as messageId: what is sent again with the same key has no second effect and the same answer."}
)

// fileHeaders are those that matter when a file is fetched.
var fileHeaders = []param{
	{name: "Range", doc: "Which bytes to send."},
	{name: "If-Modified-Since", doc: "The Last-Modified of an earlier answer."},
}

// fileAnswers are those of a file that is fetched, besides the whole.
func fileAnswers() []answer {
	file := bytesOf(echo.MIMEOctetStream)
	return []answer{
		{status: http.StatusPartialContent, doc: "The range that was asked for.", content: file, headers: []param{{name: "Content-Range", doc: "Which range it is."}}},
		{status: http.StatusNotModified, doc: "The file has not changed."},
		{
			status: http.StatusRequestedRangeNotSatisfiable, doc: "The file does not have that range.", content: problems(),
			headers: []param{{name: "Content-Range", doc: "How long the file is."}},
		},
	}
}

// problems is the body of what went wrong.
func problems() *content {
	c := of(problemForm)
	c.media = problemType
	return c
}

func (s *Server) sessionRoutes() []route {
	const tag = "sessions"
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions", guard: guardKnown, do: s.listSessions, tag: tag,
			summary: "List sessions, the one used last first",
			query: []param{
				listLimit.param(),
				{name: "after", doc: "The next of the page before."},
				{name: "user", doc: "Somebody else's sessions; for admins."},
				{name: "all", doc: "true for everybody's sessions; for admins."},
			},
			answers: ok(http.StatusOK, "A page of sessions.", of(listForm)),
		},
		{
			method: http.MethodPost, path: "/api/sessions", guard: guardKnown, do: s.createSession, tag: tag,
			summary: "Make a session", detail: "409 when the caller has as many as one may have.", body: orNone(of(newSessionForm)),
			answers: append(ok(http.StatusCreated, "The session.", of(cardForm), param{name: "Location", doc: "Where the session is."}),
				answer{status: http.StatusOK, doc: "The caller's session of that name, which was there.", content: of(cardForm)}),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session", guard: guardKnown, do: s.getSession, tag: tag,
			summary: "Look a session up", answers: ok(http.StatusOK, "The session.", of(cardForm)),
		},
		{
			method: http.MethodPatch, path: "/api/sessions/:session", guard: guardKnown, do: s.patchSession, tag: tag,
			summary: "Rename a session", detail: "For its owner.", body: of(sessionPatchForm),
			answers: ok(http.StatusOK, "The session as it is now.", of(cardForm)),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session", guard: guardKnown, do: s.deleteSession, tag: tag,
			summary: "Delete a session with everything in it", detail: "For its owner. Open connections are closed with 4410.",
			answers: done("It is gone."),
		},
		{
			method: http.MethodPut, path: "/api/sessions/:session/shares/:user", guard: guardKnown, do: s.putShare, tag: tag,
			summary: "Share a session with somebody", body: of(newShareForm),
			detail:  "For its owner. A viewer looks, an operator also speaks, answers and acts.",
			answers: ok(http.StatusOK, "The session as it is now.", of(cardForm)),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session/shares/:user", guard: guardKnown, do: s.deleteShare, tag: tag,
			summary: "Share a session with somebody no longer",
			detail:  "For its owner. Open connections of that user to this replica are closed at once, those to others within a minute or two.",
			answers: done("It is not shared with them."),
		},
	}
}

func (s *Server) messageRoutes() []route {
	const tag = "conversation"
	return []route{
		{
			method: http.MethodPost, path: "/api/sessions/:session/messages", guard: guardKnown, do: s.postMessage, tag: tag,
			summary: "Say something to the session's agents", headers: []param{idempotency}, body: of(userMessageForm),
			detail:  "Answered once it is decided what becomes of the message. A rejection is a problem with its code.",
			answers: ok(http.StatusAccepted, "MESSAGE_ACCEPTED or MESSAGE_QUEUED, as it is in the log.", &content{media: echo.MIMEApplicationJSON, ref: "ServerEvent"}),
		},
		{
			method: http.MethodPost, path: "/api/sessions/:session/actions", guard: guardKnown, do: s.postActions, tag: tag,
			summary: "Show something in the session", headers: []param{idempotency}, body: of(emitForm),
			detail:  "For programs that want to open a window, raise a notification and so on, without an agent.",
			answers: ok(http.StatusOK, "The actions are kept.", of(emittedForm)),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session/snapshot", guard: guardKnown, do: s.getSnapshot, tag: tag,
			summary: "The whole state of the session",
			query:   []param{{name: "monitor", doc: "Only this monitor.", many: true}},
			headers: []param{{name: "If-None-Match", doc: "The ETag of an earlier answer."}},
			answers: append(ok(http.StatusOK, "The state at one position of the log.", of(stateForm),
				param{name: "ETag", doc: "The position."}, param{name: headerStateHash, doc: "The same for everybody who has seen the same log; absent when monitors were named."}),
				answer{status: http.StatusNotModified, doc: "Nothing has happened since."}),
		},
		{
			method: http.MethodGet, path: pathEvents, guard: guardKnown, do: s.getEvents, tag: tag,
			summary: "The session's log, page by page or as a stream",
			detail: "With Accept: text/event-stream it is a stream of Server-Sent Events that begins with session_state and goes on for ever; " +
				"the id of an event is its message_id, and Last-Event-ID or, without that, last_event_id or resume_from continues after it. " +
				"A page may be shorter than its limit because of its size; it ends where next is.",
			query: []param{
				{name: "after", doc: "The message_id to go on after; from the oldest event kept when absent. 410 when the log no longer has it."},
				eventLimit.param(),
				{name: "monitor", doc: "Only this monitor's events; streams only.", many: true},
				{name: "resume_from", doc: "The last message_id seen; streams only."},
				{name: "last_event_id", doc: "The same as Last-Event-ID, for who cannot send headers; streams only."},
				{name: "client_id", doc: "How the client names itself; streams only."},
			},
			headers: []param{{name: "Last-Event-ID", doc: "The last message_id seen; streams only."}},
			answers: []answer{
				{status: http.StatusOK, doc: "A page of the log, or the stream.", content: &content{media: echo.MIMEApplicationJSON, frames: true}},
			},
		},
		{
			method: http.MethodGet, path: pathNative, guard: guardSocket, do: s.serveNative, tag: tag,
			summary: "WebSocket in the native dialect",
			detail:  "Subprotocols everdesk.v2 and everdesk.v2.batch. What is said there is in docs/PROTOCOL.md.",
			query: []param{
				clientQuery, resumeQuery,
				{name: "seen", doc: "A message_id that a page saw before it was loaded again: it gets a snapshot and counts as one that comes back."},
				{name: "monitor", doc: "Only this monitor's events.", many: true},
				{name: "token", doc: "Where tokens in URLs are enabled."},
			},
			answers: []answer{{status: http.StatusSwitchingProtocols, doc: "The socket is open."}},
		},
		{
			method: http.MethodGet, path: pathDesktop, guard: guardSocket, do: s.serveDesktop, tag: tag,
			summary: "WebSocket in the desktop dialect",
			detail: "Without a sessionId the caller's latest session is opened, or a first one. A sessionId that is not there or that the caller " +
				"may not see makes a new session, the same for all connections that name it. CONNECTION_STATUS has the id of the session that is open. " +
				"A sessionId that cannot be an id is refused.",
			query:   []param{sessionQuery, clientQuery, resumeQuery, {name: "monitorId", doc: "The monitor to subscribe to."}, {name: "token", doc: "The token."}},
			answers: []answer{{status: http.StatusSwitchingProtocols, doc: "The socket is open."}},
		},
	}
}

func (s *Server) fileRoutes() []route {
	const tag = "files"
	file := bytesOf(echo.MIMEOctetStream)
	save := route{
		guard: guardKnown, do: s.putFile, tag: tag, path: "/api/sessions/:session/files/*", body: file,
		summary: "Keep a file", detail: "The body is the file. One of that name is replaced.",
		answers: ok(http.StatusCreated, "The file is kept.", of(fileEntryForm)),
	}
	put, post := save, save
	put.method, post.method = http.MethodPut, http.MethodPost
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions/:session/files", guard: guardKnown, do: s.listFiles, tag: tag,
			summary: "List a folder of the session's files", query: []param{{name: "folder", doc: "The folder; the session's own when absent."}},
			answers: ok(http.StatusOK, "What the folder holds.", of(fileListForm)),
		},
		put, post,
		{
			method: http.MethodGet, path: "/api/sessions/:session/files/*", guard: guardKnown, do: s.getFile, tag: tag,
			summary: "Fetch a file", headers: fileHeaders,
			detail:  "Nothing in the file can run on the hub's origin: all but pictures, sound, films and plain text comes as bytes to be saved.",
			answers: append(ok(http.StatusOK, "The file.", file), fileAnswers()...),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session/files/*", guard: guardKnown, do: s.deleteFile, tag: tag,
			summary: "Remove a file", answers: done("It is gone."),
		},
		{
			method: http.MethodGet, path: pathStorage, guard: guardKnown, do: s.getStorage, tag: tag,
			summary: "Fetch a file or list a folder, for the desktop dialect",
			query:   []param{sessionQuery, {name: "list", doc: "true to list the folder instead."}, {name: "token", doc: "Where tokens in URLs are enabled."}},
			headers: fileHeaders,
			answers: append(ok(http.StatusOK, "The listing, or the file as it is.", of(storageListForm)), fileAnswers()...),
		},
		{
			method: http.MethodPost, path: "/api/storage/*", guard: guardKnown, do: s.postStorage, tag: tag,
			summary: "Keep a file, for the desktop dialect", query: []param{sessionQuery}, body: file,
			answers: ok(http.StatusOK, "The file is kept.", of(storageForm)),
		},
		{
			method: http.MethodDelete, path: "/api/storage/*", guard: guardKnown, do: s.deleteStorage, tag: tag,
			summary: "Remove a file, for the desktop dialect", query: []param{sessionQuery},
			answers: ok(http.StatusOK, "It is gone.", of(storageForm)),
		},
	}
}

func (s *Server) peopleRoutes() []route {
	const tag = "people"
	html, formBody := bytesOf(echo.MIMETextHTML), bytesOf(echo.MIMEApplicationForm)
	led := answer{status: http.StatusSeeOther, doc: "Signed in; on to /.", headers: []param{{name: "Set-Cookie", doc: "The cookie."}}}
	token := []param{{name: "token", doc: "The token of the URL that the hub prints."}}
	return []route{
		{
			method: http.MethodGet, path: "/", do: s.home, tag: tag, summary: "The desktop, for people", query: token,
			answers: append(ok(http.StatusOK, "A page.", html), led),
		},
		{
			method: http.MethodGet, path: "/join", do: s.join, tag: tag, summary: "The desktop, for a device that was invited",
			detail: "What lets it in is behind the # of its address.", answers: ok(http.StatusOK, "A page.", html),
		},
		{
			method: http.MethodGet, path: "/login", do: s.getLogin, tag: tag, summary: "A page to sign in", query: token,
			answers: append(ok(http.StatusOK, "A page.", html), led),
		},
		{
			method: http.MethodPost, path: "/login", do: s.submitLogin, tag: tag,
			summary: "Sign in with a form", body: formBody, answers: []answer{led},
		},
		{
			method: http.MethodPost, path: "/api/login", do: s.postLogin, tag: tag,
			summary: "Trade a token for a cookie", body: of(loginForm),
			answers: ok(http.StatusOK, "Signed in.", of(identityForm), param{name: "Set-Cookie", doc: "The cookie."}),
		},
		{
			method: http.MethodPost, path: "/api/logout", guard: guardKnown, do: s.postLogout, tag: tag,
			summary: "Sign out everywhere", detail: "All cookies and tickets of the user end and all their connections close with 4411. " +
				"Who may only look, or came in by an invitation, ends the cookie the request came with and its connections. API keys cannot sign out.",
			answers: done("Signed out."),
		},
		{
			method: http.MethodGet, path: "/api/me", guard: guardKnown, do: s.getMe, tag: tag,
			summary: "Who the caller is taken for", answers: ok(http.StatusOK, "The caller.", of(identityForm)),
		},
		{
			method: http.MethodPost, path: "/api/join-tickets", guard: guardKnown, do: s.postInvitation, tag: tag,
			summary: "A link that lets another device into a session", body: of(invitationRequestForm),
			detail:  "For those who may act in the session. It is good once and for two minutes. API keys and credentials for one session invite nobody.",
			answers: ok(http.StatusOK, "The link.", of(invitationForm)),
		},
		{
			method: http.MethodPost, path: "/api/join", do: s.postJoin, tag: tag,
			summary: "Trade what is in such a link for a cookie", body: of(joinForm),
			detail: "The cookie is good for that session only: it neither makes nor shows others, and it does not rename, share or delete this one. " +
				"Who is signed in already as the same user keeps the cookie they have. Links that are used up, too old or somebody else's get the same answer.",
			answers: ok(http.StatusOK, "It is in.", of(joinedForm), param{name: "Set-Cookie", doc: "The cookie."}),
		},
		{
			method: http.MethodPost, path: "/api/ws-ticket", guard: guardKnown, do: s.postTicket, tag: tag,
			summary: "A ticket to open one socket with", body: orNone(of(ticketRequestForm)),
			answers: ok(http.StatusOK, "The ticket.", of(ticketForm)),
		},
		{
			method: http.MethodPost, path: "/api/tokens/keys", guard: guardAdmin, do: s.postKey, tag: tag,
			summary: "Make an API key", body: of(keyRequestForm), answers: ok(http.StatusCreated, "The key.", of(keyForm)),
		},
		{
			method: http.MethodGet, path: "/api/tokens/keys", guard: guardAdmin, do: s.listKeys, tag: tag,
			summary: "List API keys", query: []param{listLimit.param(), {name: "after", doc: "The next of the page before."}},
			answers: ok(http.StatusOK, "A page of keys.", of(keyListForm)),
		},
		{
			method: http.MethodDelete, path: "/api/tokens/keys/:key", guard: guardAdmin, do: s.deleteKey, tag: tag,
			summary: "End an API key", answers: done("It is good no longer."),
			detail: "Connections that it opened are closed; those of the user's other credentials stay.",
		},
		{
			method: http.MethodPost, path: "/api/tokens/tickets", guard: guardAdmin, do: s.postUserTicket, tag: tag,
			summary: "A ticket for somebody", body: of(userTicketRequestForm), answers: ok(http.StatusOK, "The ticket.", of(ticketForm)),
		},
	}
}

func (s *Server) hubRoutes() []route {
	const tag = "hub"
	return []route{
		{
			method: http.MethodGet, path: "/health", do: s.health, tag: tag,
			summary: "Whether the process is up, as desktops ask", answers: ok(http.StatusOK, "It is.", of(healthForm)),
		},
		{
			method: http.MethodGet, path: "/healthz", do: s.health, tag: tag,
			summary: "Whether the process is up", answers: ok(http.StatusOK, "It is.", of(healthForm)),
		},
		{
			method: http.MethodGet, path: "/readyz", do: s.readyz, tag: tag,
			summary: "Whether the process may be sent users", detail: "503 while the store is away and while the hub shuts down.",
			answers: ok(http.StatusOK, "It may.", of(healthForm)),
		},
		{
			method: http.MethodGet, path: "/api/openapi.json", do: s.getOpenAPI, tag: tag,
			summary: "This description", answers: ok(http.StatusOK, "An OpenAPI 3.1 document.", bytesOf(echo.MIMEApplicationJSON)),
		},
	}
}
