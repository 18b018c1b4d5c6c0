package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// The film of a session begins with content, so it needs admin:content, and the audit log names who saw it.
func TestAdminFilm(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	id := a.newSession("ann")
	a.writeSecrets(id, 0)
	path := "/api/admin/sessions/" + string(id) + "/film"
	a.get(path, a.userToken("ann")).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	for _, roles := range [][]string{{"admin:read"}, {"admin:act"}} {
		got := a.get(path, a.userToken("eve", roles...))
		got.wantProblem(http.StatusForbidden, wire.CodeForbidden)
		if !contains(got.body, "admin:content") {
			t.Errorf("%v: got %s, want the role that is missing", roles, got.body)
		}
	}
	seeing := a.userToken("eve", "admin:read", "admin:content")
	a.get("/api/admin/sessions/ses-unknown/film", seeing).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	films := func() (all []string) {
		for _, r := range a.auditRecords() {
			if r.Action == "session.film" {
				all = append(all, r.Who+" "+r.Target+" "+r.Result)
			}
		}
		return all
	}
	if got := films(); len(got) != 0 {
		t.Errorf("audit log after refusals: got %q, want no film", got)
	}
	// Through any replica, and without opening the session there.
	for _, h := range []*testHub{a, b} {
		var start struct{ After string }
		h.get(path, seeing).wantStatus(http.StatusOK).decode(&start)
		if start.After != "0-0" {
			t.Errorf("beginning: got %q, want 0-0", start.After)
		}
	}
	eve := "eve " + string(id)
	if got, want := films(), []string{eve + " done", eve + " begun", eve + " done", eve + " begun"}; !slices.Equal(got, want) {
		t.Errorf("audit log: got %q, want %q", got, want)
	}
	if load := b.hub.Load(); load.Owned != 0 || load.Followed != 0 {
		t.Errorf("sessions of the other replica: got %+v, want none", load)
	}
}

// The page of a film is the desktop for admins. It makes no frames, and the admin page stays as it is.
func TestAdminFilmPage(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAdmin, func(p *hubOptions) { p.ownAdmin = true })
	page := func(roles ...string) reply {
		t.Helper()
		cookie := h.signIn(t, h.userToken("eve", roles...))
		return h.atAdmin(http.MethodGet, "/admin/film/ses-1", request{header: header("Cookie", cookie.String())})
	}
	page("user").wantStatus(http.StatusNotFound)
	got := page("admin:read").wantStatus(http.StatusOK)
	shell := h.rest(http.MethodGet, "/join", request{}).wantStatus(http.StatusOK)
	if string(got.body) != string(shell.body) {
		t.Errorf("page of a film: got %s, want the desktop %s", got.body, shell.body)
	}
	if policy := got.header.Get("Content-Security-Policy"); strings.Contains(policy, "frame-src") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy of a film: got %q, want no frames", policy)
	}
	if got := h.atAdmin(http.MethodGet, "/admin/film/ses-1", request{}); contains(got.body, string(shell.body)) {
		t.Errorf("page of a film without a credential: got %d %s, want to sign in", got.status, got.body)
	}
	h.rest(http.MethodGet, "/admin/film/ses-1", request{}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
}
