package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// link is the response with an invitation.
type link struct {
	URL       string
	ExpiresIn int
	Loopback  bool
}

func (l link) ticket() string {
	_, ticket, _ := strings.Cut(l.URL, "#")
	return ticket
}

// invite makes a link to a session.
func (h *testHub) invite(token string, id wire.SessionID) link {
	h.t.Helper()
	var l link
	h.post("/api/join-tickets", token, `{"session":"`+string(id)+`"}`).wantStatus(http.StatusOK).decode(&l)
	return l
}

// join opens such a link, in a browser with or without a cookie.
func (h *testHub) join(ticket string, c *http.Cookie) reply {
	h.t.Helper()
	head := header("Origin", "http://"+h.addr)
	if c != nil {
		head = h.ownHeaders(c)
	}
	return h.rest(http.MethodPost, "/api/join", request{body: `{"ticket":"` + ticket + `"}`, header: head})
}

func TestInvitationLetsAnotherDeviceIn(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	other := h.newSession("ada")
	l := h.invite(ada, id)
	if !strings.HasPrefix(l.URL, "http://"+h.addr+"/join#") || len(l.ticket()) < 40 || l.ExpiresIn != 120 || !l.Loopback {
		t.Errorf("got %+v, want a /join link of the hub with a ticket that expires in 120 s", l)
	}
	in := h.join(l.ticket(), nil).wantStatus(http.StatusOK)
	if string(in.body) != `{"session":"`+string(id)+`"}` {
		t.Errorf("join: got %s, want session %s", in.body, id)
	}
	phone := cookieOf(t, in)
	if !phone.HttpOnly || phone.SameSite != http.SameSiteStrictMode {
		t.Errorf("cookie: got %+v, want it strict and not for scripts", phone)
	}
	do := func(method, path, body string) reply {
		t.Helper()
		return h.rest(method, path, request{header: h.ownHeaders(phone), body: body})
	}
	if me := do(http.MethodGet, "/api/me", "").wantStatus(http.StatusOK); !contains(me.body, `"user":"ada"`) || !contains(me.body, `"session":"`+string(id)+`"`) {
		t.Errorf("/api/me: got %s, want ada in %s", me.body, id)
	}
	do(http.MethodGet, "/api/hub", "").wantStatus(http.StatusOK)
	var list struct{ Sessions []card }
	do(http.MethodGet, "/api/sessions", "").wantStatus(http.StatusOK).decode(&list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
		t.Errorf("got %+v, want only the session of the invitation", list)
	}
	if got := do(http.MethodGet, sessionPath(id), "").wantStatus(http.StatusOK); !contains(got.body, `"access":"operator"`) {
		t.Errorf("session: got %s, want the access operator", got.body)
	}
	h.rest(http.MethodPut, sessionPath(id, "/files/a.txt"), request{header: withMedia(h.ownHeaders(phone)), body: "x"}).wantStatus(http.StatusCreated)
	do(http.MethodGet, sessionPath(id, "/files/a.txt"), "").wantStatus(http.StatusOK)
	x := h.mustDial("/ws/"+string(id), dialOptions{header: h.ownHeaders(phone), protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	x.wantAlive()

	// It is valid for that session only.
	do(http.MethodGet, sessionPath(other), "").wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.wantRefused("/ws/"+string(other), dialOptions{header: h.ownHeaders(phone), protos: []string{"everdesk.v2"}}, http.StatusNotFound, wire.CodeSessionNotFound)
	for _, no := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/sessions", "{}"},
		{http.MethodPatch, sessionPath(id), `{"title":"mine"}`},
		{http.MethodDelete, sessionPath(id), ""},
		{http.MethodPut, sessionPath(id, "/shares/eve"), `{"access":"operator"}`},
		{http.MethodPatch, "/api/settings", `{"language":"ko"}`},
		{http.MethodPost, "/api/join-tickets", `{"session":"` + string(id) + `"}`},
	} {
		do(no.method, no.path, no.body).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	do(http.MethodPost, "/api/ws-ticket", `{"session":"`+string(other)+`"}`).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)

	// Signing out ends this device only.
	otherDevice := h.signIn(t, ada)
	gone := cookieOf(t, do(http.MethodPost, "/api/logout", "").wantStatus(http.StatusNoContent))
	if gone.Value != "" || gone.MaxAge >= 0 {
		t.Errorf("cookie after the sign-out: got %+v, want it removed", gone)
	}
	x.wantClosed(wire.CloseLoggedOut)
	do(http.MethodGet, "/api/me", "").wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.rest(http.MethodGet, "/api/me", request{header: h.ownHeaders(otherDevice)}).wantStatus(http.StatusOK)
}

func withMedia(h http.Header) http.Header {
	h.Set("Content-Type", "application/octet-stream")
	return h
}

// An admin's invited device has no admin role outside that session.
func TestInvitationByAnAdmin(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	root, id := h.userToken("root", "admin"), h.newSession("ada")
	phone := cookieOf(t, h.join(h.invite(root, id).ticket(), nil).wantStatus(http.StatusOK))
	for _, path := range []string{"/api/sessions", "/api/sessions?all=true", "/api/sessions?user=bob"} {
		var list struct{ Sessions []card }
		h.rest(http.MethodGet, path, request{header: h.ownHeaders(phone)}).wantStatus(http.StatusOK).decode(&list)
		if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
			t.Errorf("%s: got %+v, want only %s", path, list, id)
		}
	}
	h.rest(http.MethodPost, "/api/tokens/keys", request{header: h.ownHeaders(phone), body: `{"user":"eve"}`}).wantStatus(http.StatusNotFound)
	h.rest(http.MethodGet, "/api/tokens/keys", request{header: h.ownHeaders(phone)}).wantStatus(http.StatusNotFound)
}

func TestInvitationRights(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ada")
	for user, share := range map[string]session.Share{"op": session.ShareOperator, "looker": session.ShareViewer} {
		if err := h.hub.Share(t.Context(), id, user, share); err != nil {
			t.Fatal(err)
		}
	}
	phone := cookieOf(t, h.join(h.invite(h.userToken("op"), id).ticket(), nil).wantStatus(http.StatusOK))
	if got := h.rest(http.MethodGet, "/api/sessions", request{header: h.ownHeaders(phone)}).wantStatus(http.StatusOK); !contains(got.body, string(id)) {
		t.Errorf("sessions: got %s, want %s", got.body, id)
	}
	key, _ := h.newKey("ada")
	body := `{"session":"` + string(id) + `"}`
	h.post("/api/join-tickets", h.userToken("looker"), body).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.post("/api/join-tickets", key, body).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.post("/api/join-tickets", h.userToken("eve"), body).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.post("/api/join-tickets", "", body).wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.post("/api/join-tickets", h.userToken("ada"), `{}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.post("/api/join-tickets", h.userToken("ada"), `{"session":"`+string(id)+`","monitor":"a b"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	// From a page of another origin, with the cookie that the browser adds.
	c := h.signIn(t, h.userToken("ada"))
	foreign := header("Origin", "http://evil.example", "Cookie", c.Name+"="+c.Value)
	h.rest(http.MethodPost, "/api/join-tickets", request{header: foreign, body: body}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPost, "/api/join", request{header: foreign, body: `{"ticket":"x"}`}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
}

// All invalid links get the same response.
func TestInvitationsThatAreNone(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id, doomed := h.userToken("ada"), h.newSession("ada"), h.newSession("ada")
	used := h.invite(ada, id).ticket()
	h.join(used, nil).wantStatus(http.StatusOK)
	toGone := h.invite(ada, doomed).ticket()
	h.rest(http.MethodDelete, sessionPath(doomed), request{token: ada}).wantStatus(http.StatusNoContent)
	var socket struct{ Ticket string }
	h.post("/api/ws-ticket", ada, "").wantStatus(http.StatusOK).decode(&socket)
	eve := h.signIn(t, h.userToken("eve"))
	var first string
	for name, got := range map[string]reply{
		"used": h.join(used, nil), "unknown": h.join(strings.Repeat("A", 43), nil), "short": h.join("x", nil), "of a socket": h.join(socket.Ticket, nil),
		"to a session that is gone": h.join(toGone, nil), "another user's": h.join(h.invite(ada, id).ticket(), eve),
	} {
		got.wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
		if first == "" {
			first = string(got.body)
		}
		if string(got.body) != first || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: got %v %s, want no cookie and the same answer as for others, %s", name, got.header, got.body, first)
		}
	}
	h.join("", nil).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	// An invitation opens no WebSocket.
	x := h.mustDial("/ws/"+string(id), dialOptions{protos: []string{"everdesk.v2"}})
	x.send(wire.Auth{Ticket: h.invite(ada, id).ticket()})
	x.wantError(wire.CodeAuthFailed)
}

// A link replaces no cookie with more rights.
func TestInvitationOnADeviceThatIsIn(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id, other := h.userToken("ada"), h.newSession("ada"), h.newSession("ada")
	otherDevice := h.signIn(t, ada)
	if got := h.join(h.invite(ada, id).ticket(), otherDevice).wantStatus(http.StatusOK); got.header.Get("Set-Cookie") != "" {
		t.Errorf("headers with the cookie of a user: got %v, want no new cookie", got.header)
	}
	phone := cookieOf(t, h.join(h.invite(ada, id).ticket(), nil).wantStatus(http.StatusOK))
	if got := h.join(h.invite(ada, id).ticket(), phone).wantStatus(http.StatusOK); got.header.Get("Set-Cookie") != "" {
		t.Errorf("headers with the cookie of the session: got %v, want no new cookie", got.header)
	}
	moved := cookieOf(t, h.join(h.invite(ada, other).ticket(), phone).wantStatus(http.StatusOK))
	h.rest(http.MethodGet, sessionPath(other), request{header: h.ownHeaders(moved)}).wantStatus(http.StatusOK)
	h.rest(http.MethodGet, sessionPath(id), request{header: h.ownHeaders(phone)}).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	stale := &http.Cookie{Name: phone.Name, Value: strings.Repeat("A", 43)}
	cookieOf(t, h.join(h.invite(ada, id).ticket(), stale).wantStatus(http.StatusOK))
}

func TestInvitationToAMonitor(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	var l link
	h.post("/api/join-tickets", ada, `{"session":"`+string(id)+`","monitor":"monitor-1"}`).wantStatus(http.StatusOK).decode(&l)
	if got := h.join(l.ticket(), nil).wantStatus(http.StatusOK); !contains(got.body, `"monitor":"monitor-1"`) {
		t.Errorf("join: got %s, want monitor-1", got.body)
	}
}

func TestInvitationWaitsTwoMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		id := h.newSession("ada")
		ada := h.token("ada", time.Hour)
		early, late := h.invite(ada, id).ticket(), h.invite(ada, id).ticket()
		time.Sleep(2*time.Minute - time.Second)
		phone := cookieOf(t, h.join(early, nil).wantStatus(http.StatusOK))
		time.Sleep(2 * time.Second)
		h.join(late, nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
		// It ends with the credential it was made with.
		time.Sleep(time.Hour)
		h.rest(http.MethodGet, "/api/me", request{header: h.ownHeaders(phone)}).wantStatus(http.StatusUnauthorized)
	})
}

func TestGuessingInvitationsIsSlow(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{Strangers: 5} })
	var got reply
	for range 6 {
		if got = h.join(strings.Repeat("A", 43), nil); got.status != http.StatusUnauthorized {
			break
		}
	}
	got.wantProblem(http.StatusTooManyRequests, wire.CodeRateLimited)
}

// Signing out everywhere ends invitations and the devices that used them.
func TestSigningOutEndsInvitations(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeToken))
	token, id := h.auth.InstallationToken(), h.newSession("local")
	phone := cookieOf(t, h.join(h.invite(token, id).ticket(), nil).wantStatus(http.StatusOK))
	open := h.invite(token, id).ticket()
	h.post("/api/logout", token, "").wantStatus(http.StatusNoContent)
	h.join(open, nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.rest(http.MethodGet, "/api/me", request{header: h.ownHeaders(phone)}).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
}

// An invited device cannot make permanent approvals.
func TestInvitedDevicesApproveOnce(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	id := h.newSession("ada")
	phone := cookieOf(t, h.join(h.invite(h.userToken("ada"), id).ticket(), nil).wantStatus(http.StatusOK))
	x := h.mustDial("/ws/"+string(id), dialOptions{header: h.ownHeaders(phone), protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	for _, turn := range []wire.MessageID{"m1", "m2"} {
		x.sendToAgent("monitor-0", turn, `/call system:set_config {"section":"hooks","event":"launch","label":"L","action":{"type":"interaction","payload":"hi"}}`)
		q := next[wire.ApprovalRequest](x)
		x.send(wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true, RememberChoice: wire.RememberAlways, MessageID: "a-" + turn})
		x.untilTurnEnd(turn)
	}
}
