package admin

import (
	"net/http"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
)

// routes are the routes of admin actions.
func (cm *commands) routes() []openapi.Route {
	const tag = "admin"
	key := openapi.Param{Name: httpio.HeaderIdempotencyKey, Doc: "The id of the action: a repeated request with the same id is recorded once, executed once and gets the same response."}
	record := append(openapi.Success(http.StatusOK, "The audit record of the action.", openapi.JSONBody(auditCardForm)),
		openapi.Success(http.StatusAccepted, "The action is still running: the record says begun. A request with the same key gets the outcome.", openapi.JSONBody(auditCardForm))...)
	act := func(method, path, summary, detail string, body *openapi.Content) openapi.Route {
		return openapi.Route{
			Method: method, Path: path, Guard: openapi.GuardAct, Tag: tag, Summary: summary, Detail: detail,
			Headers: []openapi.Param{key}, Body: body, Answers: record,
		}
	}
	drain := act(http.MethodPost, "/api/admin/replicas/:replica/drain", "Drain a replica",
		"Any replica accepts the request. The drain begins within two seconds: the replica accepts no new clients, hands its sessions over, disconnects its clients and stays up.", openapi.JSONBody(adminOrderForm))
	drain.Handler = cm.drainReplica
	undrain := act(http.MethodPost, "/api/admin/replicas/:replica/undrain", "End the drain of a replica", "", openapi.JSONBody(adminOrderForm))
	undrain.Handler = cm.undrainReplica
	interrupt := act(http.MethodPost, "/api/admin/sessions/:session/interrupt", "Stop the agents of a session", "Waiting messages stay and are processed.", openapi.JSONBody(interruptOrderForm))
	interrupt.Handler = cm.interruptSession
	cancel := act(http.MethodPost, "/api/admin/sessions/:session/messages/:message/cancel", "Cancel a queued message",
		"Its sender is notified that it was rejected. 404 when no such message waits, and 409 when an agent is already working on it.", openapi.JSONBody(adminOrderForm))
	cancel.Handler = cm.cancelMessage
	closeTab := act(http.MethodPost, "/api/admin/sessions/:session/tabs/:connection/close", "Close a connection to a session",
		"On whichever replica it is. It is closed with 4412, and the page reconnects only when its user wants that.", openapi.JSONBody(adminOrderForm))
	closeTab.Handler = cm.closeTab
	handover := act(http.MethodPost, "/api/admin/sessions/:session/handover", "Hand a session over to a replica",
		"Running turns are suspended and continue there, except those of agents whose conversation is not kept after the turn: these end if they have called a tool. 409 when the replica is draining.", openapi.JSONBody(handoverOrderForm))
	handover.Handler = cm.handOver
	reset := act(http.MethodPost, "/api/admin/sessions/:session/reset", "Close all windows of a session and delete its conversations", "", openapi.JSONBody(adminOrderForm))
	reset.Handler = cm.resetSession
	release := act(http.MethodPost, "/api/admin/sessions/:session/release", "Take a session out of quarantine", "It is quarantined again if its data still cannot be read.", openapi.JSONBody(adminOrderForm))
	release.Handler = cm.releaseSession
	remove := act(http.MethodDelete, "/api/admin/sessions/:session", "Delete a session with all its data",
		"Open connections are closed with 4410. A quarantined session is deleted even if its data cannot be read.", openapi.Optional(openapi.JSONBody(adminOrderForm)))
	remove.Handler, remove.Query = cm.removeSession, []openapi.Param{{Name: "reason", Doc: "The reason, for clients that cannot send a body."}}
	return []openapi.Route{drain, undrain, interrupt, cancel, closeTab, handover, reset, release, remove}
}
