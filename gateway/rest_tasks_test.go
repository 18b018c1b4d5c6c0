package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestTasksAreForThoseWhoMaySeeTheSession(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada := h.user("ada")
	id := h.session("ada")
	const part = "/tasks"
	if got := h.get(at(id, part+"?q=x&status=active&monitor=monitor-0&limit=3&before=t9"), ada).want(http.StatusOK); strings.TrimSpace(string(got.body)) != `{"tasks":[],"more":false}` {
		t.Errorf("no tasks are %s", got.body)
	}
	for query, field := range map[string]string{
		"?limit=0": "limit", "?limit=x": "limit", "?status=happy": "status", "?monitor=a%20b": "monitor",
		"?before=" + strings.Repeat("t", 65): "before", "?before=zzz": "before", "?before=t0": "before", "?before=t-1": "before", "?q=" + strings.Repeat("w", 501): "q",
	} {
		if p := h.get(at(id, part+query), ada).problem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != field {
			t.Errorf("%s: %+v", query, p)
		}
	}
	h.get(at(id, part), "").problem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.get(at("nobody", part), ada).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.get(at(id, part), h.user("bob")).problem(http.StatusNotFound, wire.CodeSessionNotFound)
}
