package gateway

import "net/http"

// routes are the routes of admin actions.
func (o *commands) routes() []route {
	const tag = "admin"
	key := param{name: headerIdempotencyKey, doc: "The id of the action: a repeated request with the same id is recorded once, executed once and gets the same response."}
	record := append(success(http.StatusOK, "The audit record of the action.", jsonBody(auditCardForm)),
		success(http.StatusAccepted, "The action is still running: the record says begun. A request with the same key gets the outcome.", jsonBody(auditCardForm))...)
	act := func(method, path, summary, detail string, body *content) route {
		return route{
			method: method, path: path, guard: guardAct, tag: tag, summary: summary, detail: detail,
			headers: []param{key}, body: body, answers: record,
		}
	}
	drain := act(http.MethodPost, "/api/admin/replicas/:replica/drain", "Drain a replica",
		"Any replica accepts the request. The drain begins within two seconds: the replica accepts no new clients, hands its sessions over, disconnects its clients and stays up.", jsonBody(adminOrderForm))
	drain.handler = o.drainReplica
	undrain := act(http.MethodPost, "/api/admin/replicas/:replica/undrain", "End the drain of a replica", "", jsonBody(adminOrderForm))
	undrain.handler = o.undrainReplica
	interrupt := act(http.MethodPost, "/api/admin/sessions/:session/interrupt", "Stop the agents of a session", "Waiting messages stay and are processed.", jsonBody(interruptOrderForm))
	interrupt.handler = o.interruptSession
	cancel := act(http.MethodPost, "/api/admin/sessions/:session/messages/:message/cancel", "Cancel a queued message",
		"Its sender is notified that it was rejected. 404 when no such message waits, and 409 when an agent is already working on it.", jsonBody(adminOrderForm))
	cancel.handler = o.cancelMessage
	closeTab := act(http.MethodPost, "/api/admin/sessions/:session/tabs/:connection/close", "Close a connection to a session",
		"On whichever replica it is. It is closed with 4412, and the page reconnects only when its user wants that.", jsonBody(adminOrderForm))
	closeTab.handler = o.closeTab
	handover := act(http.MethodPost, "/api/admin/sessions/:session/handover", "Hand a session over to a replica",
		"Running turns are suspended and continue there, except those of agents whose conversation is not kept after the turn: these end if they have called a tool. 409 when the replica is draining.", jsonBody(handoverOrderForm))
	handover.handler = o.handOver
	reset := act(http.MethodPost, "/api/admin/sessions/:session/reset", "Close all windows of a session and delete its conversations", "", jsonBody(adminOrderForm))
	reset.handler = o.resetSession
	release := act(http.MethodPost, "/api/admin/sessions/:session/release", "Take a session out of quarantine", "It is quarantined again if its data still cannot be read.", jsonBody(adminOrderForm))
	release.handler = o.releaseSession
	remove := act(http.MethodDelete, "/api/admin/sessions/:session", "Delete a session with all its data",
		"Open connections are closed with 4410. A quarantined session is deleted even if its data cannot be read.", optionalBody(jsonBody(adminOrderForm)))
	remove.handler, remove.query = o.removeSession, []param{{name: "reason", doc: "The reason, for clients that cannot send a body."}}
	return []route{drain, undrain, interrupt, cancel, closeTab, handover, reset, release, remove}
}
