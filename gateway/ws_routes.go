package gateway

import "net/http"

// routes are the routes of the WebSockets.
func (s *Server) wsRoutes() []route {
	const tag = "conversation"
	client := param{name: "client_id", doc: "The id that the tab chose for itself."}
	resume := param{name: "resume_from", doc: "The message_id of the last event seen."}
	return []route{
		{
			method: http.MethodGet, path: pathNative, guard: guardSocket, handler: s.serveNative, tag: tag,
			summary: "WebSocket in the native dialect",
			detail:  "Subprotocols everdesk.v2 and everdesk.v2.batch. docs/PROTOCOL.md describes the messages.",
			query: []param{
				client, resume,
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
			query: []param{
				{name: "sessionId", doc: "The session; the caller's most recently updated one when absent."},
				client, resume,
				{name: "monitorId", doc: "The monitor to subscribe to."},
				{name: "token", doc: "The token."},
			},
			answers: []answer{{status: http.StatusSwitchingProtocols, doc: "The WebSocket is open."}},
		},
	}
}
