package gateway_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/wire"
)

// fakeAdminView is an admin view whose updates come from the test.
type fakeAdminView struct {
	updates chan adminview.Update
	query   adminview.Query // the last one
}

func (s *fakeAdminView) Overview(context.Context) (adminview.Overview, error) {
	return adminview.Overview{}, nil
}

func (s *fakeAdminView) Sessions(_ context.Context, q adminview.Query) (adminview.Page, error) {
	s.query = q
	if q.After == "nowhere" {
		return adminview.Page{}, adminview.ErrQuery
	}
	return adminview.Page{Rows: []adminview.Row{fakeRow}, Total: 1}, nil
}

// fakeRow has content to redact.
var fakeRow = adminview.Row{SessionID: "ses-1", User: "ann", Title: "quince", Status: adminview.Idle}

func (s *fakeAdminView) Detail(context.Context, wire.SessionID) (adminview.Detail, error) {
	return adminview.Detail{Row: fakeRow, Windows: []adminview.Window{{ID: "w1", MonitorID: "monitor-0", Title: "rowan"}}}, nil
}

func (s *fakeAdminView) Watch(ctx context.Context, i adminview.Interest) iter.Seq2[adminview.Update, error] {
	return func(yield func(adminview.Update, error) bool) {
		for {
			select {
			case u := <-s.updates:
				if !yield(u, nil) {
					return
				}
			case <-ctx.Done():
				yield(adminview.Update{}, ctx.Err())
				return
			}
		}
	}
}

func withFakeAdminView(p *hubOptions) {
	p.adminView = &fakeAdminView{updates: make(chan adminview.Update)}
}

// adminGets are all admin endpoints to read, adminActs all actions.
func adminGets(id string) []string {
	return []string{
		"me", "overview", "replicas", "limits", "sessions", "sessions/" + id, "sessions/" + id + "/events", "audit", "audit/verify",
	}
}

func adminActs(id string) []struct{ method, path string } {
	return []struct{ method, path string }{
		{http.MethodPost, "replicas/unknown/drain"},
		{http.MethodPost, "replicas/unknown/undrain"},
		{http.MethodPost, "sessions/" + id + "/interrupt"},
		{http.MethodPost, "sessions/" + id + "/messages/m-1/cancel"},
		{http.MethodPost, "sessions/" + id + "/tabs/c-1/close"},
		{http.MethodPost, "sessions/" + id + "/handover"},
		{http.MethodPost, "sessions/" + id + "/reset"},
		{http.MethodPost, "sessions/" + id + "/release"},
		{http.MethodDelete, "sessions/" + id + "?reason=because"},
	}
}

// The access of each admin role, and 404 for other users.
func TestAdminRoles(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withFakeAdminView, func(p *hubOptions) {
		p.admin = pages(map[string]string{"index.html": "the monitor"})
		p.metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) })
	})
	id := string(h.newSession("ann"))
	other := string(h.newSession("ann"))
	type rights struct{ read, act, content, full bool }
	for _, who := range []struct {
		roles string
		rights
	}{
		{"user", rights{}},
		{"viewer", rights{}},
		{"user viewer", rights{}},
		{"admin:content", rights{}},
		{"user admin:content", rights{}},
		{"admin:read", rights{read: true}},
		{"viewer admin:read", rights{read: true}},
		{"admin:act", rights{read: true, act: true}},
		{"admin:read admin:content", rights{read: true, content: true}},
		{"admin:act admin:content user", rights{read: true, act: true, content: true}},
		{"admin", rights{read: true, act: true, content: true, full: true}},
	} {
		token := h.userToken("root", strings.Fields(who.roles)...)
		for _, path := range adminGets(other) {
			got := h.get("/api/admin/"+path, token)
			if !who.read {
				got.wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
				continue
			}
			got.wantStatus(http.StatusOK)
		}
		for _, path := range []string{"live", "sessions/" + other + "/tail"} {
			got := h.rest(http.MethodHead, "/api/admin/"+path, request{token: token})
			if want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[who.read]; got.status != want {
				t.Errorf("%s: HEAD %s: %d, want %d", who.roles, path, got.status, want)
			}
		}
		if got := h.get("/metrics", token).status; (got == http.StatusOK) != who.read {
			t.Errorf("%s: /metrics: got %d, want it allowed: %v", who.roles, got, who.read)
		}
		cookie := h.signIn(t, token)
		page := h.rest(http.MethodGet, "/admin", request{header: header("Cookie", cookie.String())})
		if (page.status == http.StatusOK && string(page.body) == "the monitor") != who.read || !who.read && page.status != http.StatusNotFound {
			t.Errorf("%s: page: got %d %.100s, want it allowed: %v", who.roles, page.status, page.body, who.read)
		}
		for _, a := range adminActs("ses-unknown") {
			r := request{token: token}
			if a.method == http.MethodPost {
				r.body = `{"reason":"because","to":"unknown"}`
			}
			got := h.rest(a.method, "/api/admin/"+a.path, r)
			switch {
			case !who.read:
				got.wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
			case !who.act:
				got.wantProblem(http.StatusForbidden, wire.CodeForbidden)
			case got.status == http.StatusForbidden:
				t.Errorf("%s: %s: got %d %s, want it allowed", who.roles, a.path, got.status, got.body)
			}
		}
		if who.read {
			var me struct{ Read, Act, Content bool }
			h.get("/api/admin/me", token).decode(&me)
			if me != (struct{ Read, Act, Content bool }{true, who.act, who.content}) {
				t.Errorf("%s: /api/admin/me: got %+v, want read true, act %v, content %v", who.roles, me, who.act, who.content)
			}
			list := h.get("/api/admin/sessions", token).body
			detail := h.get("/api/admin/sessions/"+id, token).body
			if contains(list, "quince") != who.content || contains(detail, "rowan") != who.content || contains(detail, "quince") != who.content {
				t.Errorf("%s: got %s %s, want the content in both: %v", who.roles, list, detail, who.content)
			}
		}
		// None of them opens another user's session.
		if got := h.get(sessionPath(wire.SessionID(id), "/snapshot"), token).status; (got == http.StatusOK) != who.full {
			t.Errorf("%s: snapshot of another user: got %d, want it allowed: %v", who.roles, got, who.full)
		}
		if got := h.get("/api/tokens/keys", token).status; (got == http.StatusOK) != who.full {
			t.Errorf("%s: keys: got %d, want them allowed: %v", who.roles, got, who.full)
		}
	}
	h.get("/api/admin/me", "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
}

// A user with admin roles only has no sessions, not even under their own name.
func TestAdminRolesHaveNoSessions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	h.rest(http.MethodPatch, sessionPath(id), request{token: h.userToken("ann"), body: `{"title":"quince"}`}).wantStatus(http.StatusOK)
	for _, roles := range [][]string{{"admin:read"}, {"admin:act"}, {"admin:act", "admin:content"}} {
		token := h.userToken("ann", roles...)
		h.get(sessionPath(id), token).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
		for _, part := range []string{"/snapshot", "/events", "/files"} {
			h.get(sessionPath(id, part), token).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
		}
		if got := h.get("/api/sessions", token).wantStatus(http.StatusOK); contains(got.body, "quince") || contains(got.body, string(id)) {
			t.Errorf("sessions with roles %v: got %s, want none of another user", roles, got.body)
		}
		h.get("/api/sessions?all=true", token).wantProblem(http.StatusForbidden, wire.CodeForbidden)
		h.post("/api/sessions", token, "").wantProblem(http.StatusForbidden, wire.CodeForbidden)
		h.post(sessionPath(id, "/actions"), token, badgeRequest("mail")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
		h.wantRefused("/ws/"+string(id), as(token), http.StatusNotFound, wire.CodeSessionNotFound)
		h.get("/api/storage/x", token).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
	// Shares have no effect either, unless the user also has the role viewer.
	h.rest(http.MethodPut, sessionPath(id, "/shares/eve"), request{token: h.userToken("ann"), body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	h.get(sessionPath(id), h.userToken("eve", "admin:act")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.get(sessionPath(id), h.userToken("eve", "admin:act", "viewer")).wantStatus(http.StatusOK)
}

// An API key with such a role is accepted, and a credential for one session is not.
func TestAdminKeys(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withFakeAdminView)
	key, _ := h.newKey("dashboard", "admin:read")
	h.get("/api/admin/overview", key).wantStatus(http.StatusOK)
	h.rest(http.MethodGet, "/api/admin/overview", request{header: header("X-API-Key", key)}).wantStatus(http.StatusOK)
	root := h.userToken("root", "admin")
	var made struct{ Key string }
	h.post("/api/tokens/keys", root, `{"user":"eve","roles":["admin:act","admin:content"]}`).wantStatus(http.StatusCreated).decode(&made)
	h.get("/api/admin/overview", made.Key).wantStatus(http.StatusOK)
	for _, after := range []string{"zzz", "%00"} {
		if p := h.get("/api/tokens/keys?after="+after, root).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "after" {
			t.Errorf("keys after %s: got %+v, want the field after", after, p)
		}
	}
	p := h.post("/api/tokens/keys", root, `{"user":"eve","roles":["admin:write"]}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if p.Field != "roles" {
		t.Errorf("key with an unknown role: got field %q, want roles", p.Field)
	}
	short := h.token("eve", -time.Hour, "admin:read")
	h.get("/api/admin/overview", short).wantProblem(http.StatusUnauthorized, wire.CodeTokenExpired)
}
