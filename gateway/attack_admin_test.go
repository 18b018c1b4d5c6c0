package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// Admin routes answer 404 to credentials of users, to every other credential without the role,
// and to an admin's credential for one session only.
func TestAttackAdminRoutesWithOtherCredentials(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ada")
	visits := map[string]request{"user's token": {token: h.userToken("ada")}, "viewer's token": {token: h.userToken("eve", "viewer")}}
	for _, role := range []auth.Role{auth.RoleUser, auth.RoleViewer} {
		key, err := h.auth.NewKey(t.Context(), auth.Identity{User: "ada", Roles: []auth.Role{role}}, "")
		if err != nil {
			t.Fatal(err)
		}
		visits[string(role)+"'s key as a bearer"] = request{token: key}
		visits[string(role)+"'s key"] = request{header: header("X-API-Key", key)}
	}
	// An unknown role has no effect.
	visits["made-up role"] = request{token: h.userToken("ada", "Admin", "root", "admin:write")}
	// Nor does an admin:… role.
	visits["role to look"] = request{token: h.userToken("ada", "admin:read", "admin:act", "admin:content")}
	for name, v := range visits {
		for _, r := range []struct{ method, path, body string }{
			{http.MethodGet, "/api/tokens/keys", ""},
			{http.MethodPost, "/api/tokens/keys", `{"user":"ada","roles":["admin"]}`},
			{http.MethodDelete, "/api/tokens/keys/0123456789abcdef", ""},
			{http.MethodPost, "/api/tokens/tickets", `{"user":"root","roles":["admin"]}`},
		} {
			v.body = r.body
			got := h.rest(r.method, r.path, v)
			got.wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
			v.body = ""
			nowhere := h.rest(http.MethodGet, "/api/tokens/nowhere", v)
			if want := strings.ReplaceAll(string(nowhere.body), "/api/tokens/nowhere", r.path); string(got.body) != want {
				t.Errorf("%s, %s %s: %s, what is not there is %s", name, r.method, r.path, got.body, want)
			}
		}
		h.rest(http.MethodGet, "/api/sessions?all=true", v).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	if keys, err := h.auth.Keys(t.Context(), "", 100); err != nil || len(keys.Items) != 2 {
		t.Errorf("keys: got %+v, error %v, want two", keys.Items, err)
	}
	// Nor does admin:read allow changes.
	viewer := h.userToken("ada", "viewer")
	h.get(sessionPath(id), viewer).wantStatus(http.StatusOK)
	h.rest(http.MethodDelete, sessionPath(id), request{token: viewer}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	x := h.mustDial("/ws/"+string(id), as(viewer))
	next[wire.SessionState](x)
	x.send(wire.Auth{Token: h.token("root", time.Minute, "admin")})
	x.wantError(wire.CodeAuthFailed)
	x.send(wire.Reset{MessageID: "m-1"})
	x.wantError(wire.CodeForbidden)
}
