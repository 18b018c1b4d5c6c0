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
func (h *hall) invite(token string, id wire.SessionID) link {
	h.t.Helper()
	var l link
	h.post("/api/join-tickets", token, `{"session":"`+string(id)+`"}`).want(http.StatusOK).decode(&l)
	return l
}

// join opens such a link, in a browser with or without a cookie.
func (h *hall) join(ticket string, c *http.Cookie) reply {
	h.t.Helper()
	head := header("Origin", "http://"+h.addr)
	if c != nil {
		head = h.own(c)
	}
	return h.rest(http.MethodPost, "/api/join", request{body: `{"ticket":"` + ticket + `"}`, header: head})
}

func TestInvitationLetsAnotherDeviceIn(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada, id := h.user("ada"), h.session("ada")
	other := h.session("ada")
	l := h.invite(ada, id)
	if !strings.HasPrefix(l.URL, "http://"+h.addr+"/join#") || len(l.ticket()) < 40 || l.ExpiresIn != 120 || !l.Loopback {
		t.Errorf("%+v", l)
	}
	in := h.join(l.ticket(), nil).want(http.StatusOK)
	if string(in.body) != `{"session":"`+string(id)+`"}` {
		t.Errorf("%s", in.body)
	}
	phone := cookieOf(t, in)
	if !phone.HttpOnly || phone.SameSite != http.SameSiteStrictMode {
		t.Errorf("cookie %+v", phone)
	}
	do := func(method, path, body string) reply {
		t.Helper()
		return h.rest(method, path, request{header: h.own(phone), body: body})
	}
	if me := do(http.MethodGet, "/api/me", "").want(http.StatusOK); !contains(me.body, `"user":"ada"`) || !contains(me.body, `"session":"`+string(id)+`"`) {
		t.Errorf("%s", me.body)
	}
	do(http.MethodGet, "/api/hub", "").want(http.StatusOK)
	var list struct{ Sessions []card }
	do(http.MethodGet, "/api/sessions", "").want(http.StatusOK).decode(&list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
		t.Errorf("%+v", list)
	}
	if got := do(http.MethodGet, at(id), "").want(http.StatusOK); !contains(got.body, `"access":"operator"`) {
		t.Errorf("%s", got.body)
	}
	h.rest(http.MethodPut, at(id, "/files/a.txt"), request{header: withMedia(h.own(phone)), body: "x"}).want(http.StatusCreated)
	do(http.MethodGet, at(id, "/files/a.txt"), "").want(http.StatusOK)
	x := h.enter("/ws/"+string(id), visit{header: h.own(phone), protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	x.alive()

	// It is valid for that session only.
	do(http.MethodGet, at(other), "").problem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.refused("/ws/"+string(other), visit{header: h.own(phone), protos: []string{"everdesk.v2"}}, http.StatusNotFound, wire.CodeSessionNotFound)
	for _, no := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/sessions", "{}"},
		{http.MethodPatch, at(id), `{"title":"mine"}`},
		{http.MethodDelete, at(id), ""},
		{http.MethodPut, at(id, "/shares/eve"), `{"access":"operator"}`},
		{http.MethodPatch, "/api/settings", `{"language":"ko"}`},
		{http.MethodPost, "/api/join-tickets", `{"session":"` + string(id) + `"}`},
	} {
		do(no.method, no.path, no.body).problem(http.StatusForbidden, wire.CodeForbidden)
	}
	do(http.MethodPost, "/api/ws-ticket", `{"session":"`+string(other)+`"}`).problem(http.StatusNotFound, wire.CodeSessionNotFound)

	// Signing out ends this device only.
	desk := h.signIn(t, ada)
	gone := cookieOf(t, do(http.MethodPost, "/api/logout", "").want(http.StatusNoContent))
	if gone.Value != "" || gone.MaxAge >= 0 {
		t.Errorf("cookie %+v", gone)
	}
	x.closed(wire.CloseLoggedOut)
	do(http.MethodGet, "/api/me", "").problem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.rest(http.MethodGet, "/api/me", request{header: h.own(desk)}).want(http.StatusOK)
}

func withMedia(h http.Header) http.Header {
	h.Set("Content-Type", "application/octet-stream")
	return h
}

// An admin's invited device has no admin role outside that session.
func TestInvitationByAnAdmin(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	root, id := h.user("root", "admin"), h.session("ada")
	phone := cookieOf(t, h.join(h.invite(root, id).ticket(), nil).want(http.StatusOK))
	for _, path := range []string{"/api/sessions", "/api/sessions?all=true", "/api/sessions?user=bob"} {
		var list struct{ Sessions []card }
		h.rest(http.MethodGet, path, request{header: h.own(phone)}).want(http.StatusOK).decode(&list)
		if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
			t.Errorf("%s: %+v", path, list)
		}
	}
	h.rest(http.MethodPost, "/api/tokens/keys", request{header: h.own(phone), body: `{"user":"eve"}`}).want(http.StatusNotFound)
	h.rest(http.MethodGet, "/api/tokens/keys", request{header: h.own(phone)}).want(http.StatusNotFound)
}

func TestWhoMayInvite(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id := h.session("ada")
	for user, share := range map[string]session.Share{"op": session.ShareOperator, "looker": session.ShareViewer} {
		if err := h.hub.Share(t.Context(), id, user, share); err != nil {
			t.Fatal(err)
		}
	}
	phone := cookieOf(t, h.join(h.invite(h.user("op"), id).ticket(), nil).want(http.StatusOK))
	if got := h.rest(http.MethodGet, "/api/sessions", request{header: h.own(phone)}).want(http.StatusOK); !contains(got.body, string(id)) {
		t.Errorf("%s", got.body)
	}
	key, _ := h.key("ada")
	body := `{"session":"` + string(id) + `"}`
	h.post("/api/join-tickets", h.user("looker"), body).problem(http.StatusForbidden, wire.CodeForbidden)
	h.post("/api/join-tickets", key, body).problem(http.StatusForbidden, wire.CodeForbidden)
	h.post("/api/join-tickets", h.user("eve"), body).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.post("/api/join-tickets", "", body).problem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.post("/api/join-tickets", h.user("ada"), `{}`).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.post("/api/join-tickets", h.user("ada"), `{"session":"`+string(id)+`","monitor":"a b"}`).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	// From a page of another origin, with the cookie that the browser adds.
	c := h.signIn(t, h.user("ada"))
	foreign := header("Origin", "http://evil.example", "Cookie", c.Name+"="+c.Value)
	h.rest(http.MethodPost, "/api/join-tickets", request{header: foreign, body: body}).problem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPost, "/api/join", request{header: foreign, body: `{"ticket":"x"}`}).problem(http.StatusForbidden, wire.CodeForbidden)
}

// All invalid links get the same response.
func TestInvitationsThatAreNone(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada, id, doomed := h.user("ada"), h.session("ada"), h.session("ada")
	used := h.invite(ada, id).ticket()
	h.join(used, nil).want(http.StatusOK)
	toGone := h.invite(ada, doomed).ticket()
	h.rest(http.MethodDelete, at(doomed), request{token: ada}).want(http.StatusNoContent)
	var socket struct{ Ticket string }
	h.post("/api/ws-ticket", ada, "").want(http.StatusOK).decode(&socket)
	eve := h.signIn(t, h.user("eve"))
	var first string
	for name, got := range map[string]reply{
		"used": h.join(used, nil), "unknown": h.join(strings.Repeat("A", 43), nil), "short": h.join("x", nil), "of a socket": h.join(socket.Ticket, nil),
		"to a session that is gone": h.join(toGone, nil), "somebody else's": h.join(h.invite(ada, id).ticket(), eve),
	} {
		got.problem(http.StatusUnauthorized, wire.CodeAuthFailed)
		if first == "" {
			first = string(got.body)
		}
		if string(got.body) != first || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v %s", name, got.header, got.body)
		}
	}
	h.join("", nil).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	// An invitation opens no WebSocket.
	x := h.enter("/ws/"+string(id), visit{protos: []string{"everdesk.v2"}})
	x.say(wire.Auth{Ticket: h.invite(ada, id).ticket()})
	x.notice(wire.CodeAuthFailed)
}

// A link replaces no cookie with more rights.
func TestInvitationOnADeviceThatIsIn(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada, id, other := h.user("ada"), h.session("ada"), h.session("ada")
	desk := h.signIn(t, ada)
	if got := h.join(h.invite(ada, id).ticket(), desk).want(http.StatusOK); got.header.Get("Set-Cookie") != "" {
		t.Errorf("%v", got.header)
	}
	phone := cookieOf(t, h.join(h.invite(ada, id).ticket(), nil).want(http.StatusOK))
	if got := h.join(h.invite(ada, id).ticket(), phone).want(http.StatusOK); got.header.Get("Set-Cookie") != "" {
		t.Errorf("%v", got.header)
	}
	moved := cookieOf(t, h.join(h.invite(ada, other).ticket(), phone).want(http.StatusOK))
	h.rest(http.MethodGet, at(other), request{header: h.own(moved)}).want(http.StatusOK)
	h.rest(http.MethodGet, at(id), request{header: h.own(phone)}).problem(http.StatusUnauthorized, wire.CodeAuthFailed)
	stale := &http.Cookie{Name: phone.Name, Value: strings.Repeat("A", 43)}
	cookieOf(t, h.join(h.invite(ada, id).ticket(), stale).want(http.StatusOK))
}

func TestInvitationToAMonitor(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada, id := h.user("ada"), h.session("ada")
	var l link
	h.post("/api/join-tickets", ada, `{"session":"`+string(id)+`","monitor":"monitor-1"}`).want(http.StatusOK).decode(&l)
	if got := h.join(l.ticket(), nil).want(http.StatusOK); !contains(got.body, `"monitor":"monitor-1"`) {
		t.Errorf("%s", got.body)
	}
}

func TestInvitationWaitsTwoMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := inBubble(t)
		id := h.session("ada")
		ada := h.token("ada", time.Hour)
		early, late := h.invite(ada, id).ticket(), h.invite(ada, id).ticket()
		time.Sleep(2*time.Minute - time.Second)
		phone := cookieOf(t, h.join(early, nil).want(http.StatusOK))
		time.Sleep(2 * time.Second)
		h.join(late, nil).problem(http.StatusUnauthorized, wire.CodeAuthFailed)
		// It ends with the credential it was made with.
		time.Sleep(time.Hour)
		h.rest(http.MethodGet, "/api/me", request{header: h.own(phone)}).want(http.StatusUnauthorized)
	})
}

func TestGuessingInvitationsIsSlow(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.limits = ratelimit.Config{Strangers: 5} })
	var got reply
	for range 6 {
		if got = h.join(strings.Repeat("A", 43), nil); got.status != http.StatusUnauthorized {
			break
		}
	}
	got.problem(http.StatusTooManyRequests, wire.CodeRateLimited)
}

// Signing out everywhere ends invitations and the devices that used them.
func TestSigningOutEndsInvitations(t *testing.T) {
	t.Parallel()
	h := newHall(t, inMode(auth.ModeToken))
	token, id := h.people.InstallationToken(), h.session("local")
	phone := cookieOf(t, h.join(h.invite(token, id).ticket(), nil).want(http.StatusOK))
	open := h.invite(token, id).ticket()
	h.post("/api/logout", token, "").want(http.StatusNoContent)
	h.join(open, nil).problem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.rest(http.MethodGet, "/api/me", request{header: h.own(phone)}).problem(http.StatusUnauthorized, wire.CodeAuthFailed)
}

// An invited device cannot make permanent approvals.
func TestInvitedDecideOnce(t *testing.T) {
	t.Parallel()
	h := agentHall(t, false)
	id := h.session("ada")
	phone := cookieOf(t, h.join(h.invite(h.user("ada"), id).ticket(), nil).want(http.StatusOK))
	x := h.enter("/ws/"+string(id), visit{header: h.own(phone), protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	for _, turn := range []wire.MessageID{"m1", "m2"} {
		x.tell("monitor-0", turn, `/call system:set_config {"section":"hooks","event":"launch","label":"L","action":{"type":"interaction","payload":"hi"}}`)
		q := next[wire.ApprovalRequest](x)
		x.say(wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true, RememberChoice: wire.RememberAlways, MessageID: "a-" + turn})
		x.until(turn)
	}
}
