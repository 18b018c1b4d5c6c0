package gateway

import "net/http"

// adminActRoutes are what admins do, and what is written down of it. They are there
// when there is a fleet to look after.
func (s *Server) adminActRoutes() []route {
	if s.members == nil || s.audit == nil {
		return nil
	}
	const tag = "admin"
	key := param{name: headerIdempotencyKey, doc: "The id of the action: what is sent again with the same one is written down once, done once and answered the same."}
	record := append(ok(http.StatusOK, "What was done, as it is written down.", of(auditCardForm)),
		ok(http.StatusAccepted, "It takes long and is under way: the record says begun. The same key again hears how it ended.", of(auditCardForm))...)
	act := func(method, path, summary, detail string, body *content) route {
		return route{
			method: method, path: path, guard: guardAct, tag: tag, summary: summary, detail: detail,
			headers: []param{key}, body: body, answers: record,
		}
	}
	drain := act(http.MethodPost, "/api/admin/replicas/:replica/drain", "Have a replica hand everything over",
		"Any replica can be asked. It begins within two seconds: it takes nobody new, hands its sessions over, sends its clients elsewhere and stays up.", of(adminOrderForm))
	drain.do = s.drainReplica
	undrain := act(http.MethodPost, "/api/admin/replicas/:replica/undrain", "Have a replica take people again", "", of(adminOrderForm))
	undrain.do = s.undrainReplica
	interrupt := act(http.MethodPost, "/api/admin/sessions/:session/interrupt", "Stop the agents of a session", "What waits stays and goes on.", of(interruptOrderForm))
	interrupt.do = s.interruptSession
	cancel := act(http.MethodPost, "/api/admin/sessions/:session/messages/:message/cancel", "Take a message that waits out of its queue",
		"Whoever sent it is told that it is rejected. It is 404 when no such message waits, and 409 when an agent has it already.", of(adminOrderForm))
	cancel.do = s.cancelMessage
	closeTab := act(http.MethodPost, "/api/admin/sessions/:session/tabs/:connection/close", "Close a connection to a session",
		"Wherever it is; it is closed with 4412, and the page connects again only when its user wants that.", of(adminOrderForm))
	closeTab.do = s.closeTab
	handover := act(http.MethodPost, "/api/admin/sessions/:session/handover", "Have a replica run a session",
		"What runs is parked and goes on there, but for agents that are forgotten after their turn: once they have called a tool, they end. It is 409 when the replica is draining.", of(handoverOrderForm))
	handover.do = s.handOver
	reset := act(http.MethodPost, "/api/admin/sessions/:session/reset", "Close all windows of a session and forget its conversations", "", of(adminOrderForm))
	reset.do = s.resetSession
	release := act(http.MethodPost, "/api/admin/sessions/:session/release", "Take a session out of quarantine", "It is set aside again if its data still cannot be read.", of(adminOrderForm))
	release.do = s.releaseSession
	remove := act(http.MethodDelete, "/api/admin/sessions/:session", "Delete a session with everything in it",
		"Open connections are closed with 4410. One that is set aside is given up, whatever of it cannot be read.", orNone(of(adminOrderForm)))
	remove.do, remove.query = s.removeSession, []param{{name: "reason", doc: "The reason, for those who cannot send a body."}}
	return append(s.auditRoutes(), drain, undrain, interrupt, cancel, closeTab, handover, reset, release, remove)
}
