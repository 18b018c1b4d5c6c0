package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// reads returns what the audit log has of reads of a user, the oldest first.
func (h *testHub) reads(who string) (all []string) {
	for _, r := range slices.Backward(h.auditRecords()) {
		if r.Who == who && r.Result == "done" {
			all = append(all, fmt.Sprint(r.Action, " ", r.Target, " ", r.Reason))
		}
	}
	return all
}

// Every view of an admin that has texts of users is recorded when it is opened: once, however many pages and
// polls follow. Admins who see no texts are not recorded.
func TestAdminReadsOfContentAreAudited(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAdmin)
	id := h.newSession("ann")
	h.writeSecrets(id, 0)
	admin := "/api/admin/sessions"
	views := []string{admin, admin + "/" + string(id), admin + "/" + string(id) + "/events"}
	for _, roles := range [][]string{{"admin:read"}, {"admin:read", "admin:content"}} {
		token := h.userToken("eve", roles...)
		for range 3 {
			for _, path := range views {
				h.get(path, token).wantStatus(http.StatusOK)
			}
		}
		if len(roles) == 1 && len(h.reads("eve")) != 0 {
			t.Errorf("audit log of an admin without texts: got %q, want nothing", h.reads("eve"))
		}
	}
	want := []string{
		"sessions.titles  at GET /api/admin/sessions",
		"session.detail " + string(id) + " at GET /api/admin/sessions/:session",
		"session.log " + string(id) + " at GET /api/admin/sessions/:session/events",
	}
	if got := h.reads("eve"); !slices.Equal(got, want) {
		t.Errorf("audit log: got %q, want %q", got, want)
	}
	// A film is its own record, which covers the log that is read for it.
	seeing := h.userToken("mia", "admin:read", "admin:content")
	for _, path := range []string{"/film", "/events", "/events"} {
		h.get(admin+"/"+string(id)+path, seeing).wantStatus(http.StatusOK)
	}
	if got, want := h.reads("mia"), []string{"session.film " + string(id) + " at GET /api/admin/sessions/:session/film"}; !slices.Equal(got, want) {
		t.Errorf("audit log after a film: got %q, want %q", got, want)
	}
}

// A full admin reads sessions of others as their owners do, over any route. Each route is recorded once.
func TestAdminReadsOfOthersSessionsAreAudited(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAdmin)
	id := h.newSession("ann")
	h.rest(http.MethodPut, "/api/sessions/"+string(id)+"/shares/bob", request{token: h.userToken("ann"), body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
	path := "/api/sessions/" + string(id)
	for _, who := range []string{"root", "ann", "bob"} {
		roles := []string{"user"}
		if who != "ann" {
			roles = []string{"admin"} // bob is an admin, and the session is shared with him
		}
		token := h.userToken(who, roles...)
		for range 2 {
			for _, route := range []string{"", "/messages", "/files", "/checkpoints", "/film"} {
				h.get(path+route, token).wantStatus(http.StatusOK)
			}
		}
		next[wire.SessionState](h.mustDial("/ws/"+string(id), as(token)))
	}
	h.get("/api/sessions?user=ann", h.userToken("root", "admin")).wantStatus(http.StatusOK)
	var want []string
	for _, route := range []string{"", "/messages", "/files", "/checkpoints", "/film"} {
		want = append(want, "session.read "+string(id)+" at GET /api/sessions/:session"+route)
	}
	want = append(want, "session.read "+string(id)+" at GET /ws/:session", "sessions.titles ann at GET /api/sessions")
	if got := h.reads("root"); !slices.Equal(got, want) {
		t.Errorf("audit log: got %q, want %q", got, want)
	}
	for _, who := range []string{"ann", "bob"} {
		if got := h.reads(who); len(got) != 0 {
			t.Errorf("audit log of %s, who may see the session: got %q, want nothing", who, got)
		}
	}
}
