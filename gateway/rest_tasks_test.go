package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestTasksAreForThoseWhoMaySeeTheSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	const part = "/tasks"
	if got := h.get(sessionPath(id, part+"?q=x&status=active&monitor=monitor-0&limit=3&before=t9"), ada).wantStatus(http.StatusOK); strings.TrimSpace(string(got.body)) != `{"tasks":[],"more":false}` {
		t.Errorf("tasks: got %s, want none", got.body)
	}
	for query, field := range map[string]string{
		"?limit=0": "limit", "?limit=x": "limit", "?status=happy": "status", "?monitor=a%20b": "monitor",
		"?before=" + strings.Repeat("t", 65): "before", "?before=zzz": "before", "?before=t0": "before", "?before=t-1": "before", "?q=" + strings.Repeat("w", 501): "q",
	} {
		if p := h.get(sessionPath(id, part+query), ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != field {
			t.Errorf("%s: got %+v, want the field %s", query, p, field)
		}
	}
	h.get(sessionPath(id, part), "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.get(sessionPath("unknown", part), ada).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.get(sessionPath(id, part), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}
