package gateway

import "net/http"

// adminRoutes are what admins look at. They are there when there is a fleet to look
// after.
func (s *Server) adminRoutes() []route {
	if s.fleet == nil || s.audit == nil {
		return nil
	}
	const tag = "admin"
	after := param{name: "after", doc: "The next of the page before."}
	return []route{
		{
			method: http.MethodGet, path: "/api/admin/replicas", guard: guardRead, do: s.listReplicas, tag: tag,
			summary: "The replicas that are alive", answers: ok(http.StatusOK, "All of them.", of(replicaListForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions", guard: guardRead, do: s.listAllSessions, tag: tag,
			summary: "Everybody's sessions, in no order",
			detail:  "A page may be empty and still have a next.",
			query: []param{
				pageLimit(listPage), after,
				{name: "user", doc: "Only this user's."},
				{name: "owner", doc: "Only those that this replica has."},
				{name: "quarantined", doc: "true for those that are set aside, false for the others."},
			},
			answers: ok(http.StatusOK, "A page of sessions.", of(adminSessionListForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/sessions/:session", guard: guardRead, do: s.getAnySession, tag: tag,
			summary: "All that is known of a session without opening it", answers: ok(http.StatusOK, "The session.", of(adminSessionForm)),
		},
		{
			method: http.MethodGet, path: "/api/admin/limits", guard: guardRead, do: s.getLimits, tag: tag,
			summary: "How much of what is bounded is in use", answers: ok(http.StatusOK, "The limits.", of(limitsForm)),
		},
	}
}
