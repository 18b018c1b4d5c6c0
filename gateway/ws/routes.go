package ws

import (
	"net/http"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/openapi"
)

// Routes returns the routes of the WebSockets.
func (s *Server) Routes() []openapi.Route {
	const tag = "conversation"
	client := openapi.Param{Name: "client_id", Doc: "The id that the tab chose for itself."}
	resume := openapi.Param{Name: "resume_from", Doc: "The message_id of the last event seen."}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: access.PathNative, Guard: openapi.GuardSocket, Handler: s.serveNative, Tag: tag,
			Summary: "WebSocket in the native dialect",
			Detail:  "Subprotocols everdesk.v2 and everdesk.v2.batch. docs/PROTOCOL.md describes the messages.",
			Query: []openapi.Param{
				client, resume,
				{Name: "seen", Doc: "A message_id that a page saw before it was reloaded: the page gets a snapshot and counts as one that reconnects."},
				{Name: "monitor", Doc: "Only this monitor's events.", Repeated: true},
				{Name: "token", Doc: "The token, where tokens in URLs are enabled."},
			},
			Answers: []openapi.Answer{{Status: http.StatusSwitchingProtocols, Doc: "The WebSocket is open."}},
		},
		{
			Method: http.MethodGet, Path: access.PathDesktop, Guard: openapi.GuardSocket, Handler: s.serveDesktop, Tag: tag,
			Summary: "WebSocket in the desktop dialect",
			Detail: "Without a sessionId the caller's most recently updated session is opened, or a first one is created. A sessionId that does not exist or that the caller " +
				"may not see creates a new session, the same for all connections that name it. CONNECTION_STATUS has the id of the open session. " +
				"An invalid sessionId is refused.",
			Query: []openapi.Param{
				{Name: "sessionId", Doc: "The session; the caller's most recently updated one when absent."},
				client, resume,
				{Name: "monitorId", Doc: "The monitor to subscribe to."},
				{Name: "token", Doc: "The token."},
			},
			Answers: []openapi.Answer{{Status: http.StatusSwitchingProtocols, Doc: "The WebSocket is open."}},
		},
	}
}
