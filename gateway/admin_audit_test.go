package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// What an admin changes through ordinary endpoints in other users' sessions is audited, with the
// endpoint as the reason; a user's changes of their own sessions are not.
func TestAdminChangesAreAudited(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.members = true })
	root, ann := h.userToken("root", "admin"), h.userToken("ann")
	for _, token := range []string{ann, root} {
		path := "/api/sessions/" + string(h.newSession("ann"))
		h.rest(http.MethodPatch, path, request{token: token, body: `{"title":"secret"}`}).wantStatus(http.StatusOK)
		h.post(path+"/actions", token, `{"actions":[]}`)
		h.rest(http.MethodPut, path+"/shares/bob", request{token: token, body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
		h.rest(http.MethodDelete, path+"/shares/bob", request{token: token}).wantStatus(http.StatusNoContent)
		h.rest(http.MethodDelete, path, request{token: token}).wantStatus(http.StatusNoContent)
	}
	h.post("/api/tokens/keys", root, `{"user":"mallory","roles":["admin"]}`).wantStatus(http.StatusCreated)
	h.rest(http.MethodDelete, "/api/tokens/keys/0123456789abcdef", request{token: root}).wantStatus(http.StatusNotFound)
	var got []string
	for _, r := range slices.Backward(h.auditRecords()) {
		got = append(got, fmt.Sprint(r.Action, " ", r.Result))
	}
	want := []string{
		"session.rename begun", "session.rename done", "session.enter begun", "session.enter done",
		"session.share begun", "session.share done",
		"session.share begun", "session.share done", "session.delete begun", "session.delete done",
		"key.make begun", "key.make done", "key.end begun", "key.end failed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
