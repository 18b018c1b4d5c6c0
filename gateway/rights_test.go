package gateway_test

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// newKey creates an API key and returns it with its id.
func (h *hall) key(user string, roles ...auth.Role) (key, id string) {
	h.t.Helper()
	key, err := h.people.NewKey(h.t.Context(), auth.Identity{User: user, Roles: roles}, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return key, key[4:20]
}

// signIn exchanges a token for a cookie.
func (h *hall) signIn(t *testing.T, token string) *http.Cookie {
	t.Helper()
	return cookieOf(t, h.post("/api/login", "", `{"token":"`+token+`"}`).want(http.StatusOK))
}

// A cookie would outlive the key that it was made from.
func TestKeysDoNotSignIn(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	key, _ := h.key("mallory", auth.RoleAdmin)
	got := h.post("/api/login", "", `{"token":"`+key+`"}`)
	got.problem(http.StatusForbidden, wire.CodeAuthFailed)
	form := h.rest(http.MethodPost, "/login", request{
		body: "token=" + key, header: header("Content-Type", "application/x-www-form-urlencoded", "Origin", "http://"+h.addr),
	}).want(http.StatusForbidden)
	if got.header.Get("Set-Cookie") != "" || form.header.Get("Set-Cookie") != "" {
		t.Error("a key was traded for a cookie")
	}
}

func TestTicketOfARevokedKey(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	key, id := h.key("mallory", auth.RoleAdmin)
	path := "/ws/" + string(h.session("mallory"))
	var tickets [3]struct{ Ticket string }
	h.post("/api/ws-ticket", key, "").want(http.StatusOK).decode(&tickets[0])
	h.post("/api/tokens/tickets", key, `{"user":"mallory"}`).want(http.StatusOK).decode(&tickets[1])
	h.post("/api/ws-ticket", key, "").want(http.StatusOK).decode(&tickets[2])
	x := h.enter(path, visit{})
	x.say(wire.Auth{Ticket: tickets[2].Ticket})
	next[wire.SessionState](x)
	if err := h.people.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	x.closed(wire.CloseLoggedOut)
	for _, ticket := range tickets[:2] {
		x := h.enter(path, visit{})
		x.say(wire.Auth{Ticket: ticket.Ticket})
		x.notice(wire.CodeAuthFailed)
		x.closed(wire.CloseUnauthorized)
	}
}

// Revoking a key closes the connections of that key, and neither those of the user's other keys nor
// of their tokens.
func TestRevokedKeyEndsItsOwnConnections(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	path := "/ws/" + string(h.session("ada"))
	key, id := h.key("ada")
	other, _ := h.key("ada")
	var ticket struct{ Ticket string }
	h.post("/api/ws-ticket", key, "").want(http.StatusOK).decode(&ticket)
	byKey, byOther, byToken := h.enter(path, as(key)), h.enter(path, as(other)), h.enter(path, as(h.user("ada")))
	byTicket := h.enter(path, visit{})
	byTicket.say(wire.Auth{Ticket: ticket.Ticket})
	next[wire.SessionState](byTicket)
	for _, x := range []*tab{byKey, byOther, byToken} {
		x.alive()
	}
	if err := h.people.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	byKey.closed(wire.CloseLoggedOut)
	byTicket.closed(wire.CloseLoggedOut)
	byOther.alive()
	byToken.alive()
}

// Removing a share closes open connections at once, independently of the heartbeat and of the
// recheck interval.
func TestShareEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.door.Heartbeat, p.door.Timeouts.Recheck = time.Hour, time.Hour })
	id := h.session("ann")
	ann, bob := h.user("ann"), h.user("bob")
	share := func(access string) {
		h.rest(http.MethodPut, at(id, "/shares/bob"), request{token: ann, body: `{"access":"` + access + `"}`}).want(http.StatusOK)
	}
	share("operator")
	x := h.enter("/ws/"+string(id), as(bob))
	x.alive()
	share("viewer")
	x.sayAs("m-1", wire.Emit{MessageID: "m-1", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}}})
	x.notice(wire.CodeForbidden)
	share("operator")
	x.alive()
	h.rest(http.MethodDelete, at(id, "/shares/bob"), request{token: ann}).want(http.StatusNoContent)
	x.notice(wire.CodeSessionNotFound)
	x.closed(wire.CloseNotFound)
}

func TestNewCredentialsCountForEverything(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id := h.session("ann")
	x := h.enter("/ws/"+string(id), as(h.user("ann")))
	x.alive()
	x.say(wire.Auth{Token: h.user("ann", "viewer")})
	next[wire.AuthResult](x)
	x.sayAs("m-1", wire.Emit{MessageID: "m-1", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}}})
	x.notice(wire.CodeForbidden)
	x.say(wire.Auth{Token: h.user("ann")})
	next[wire.AuthResult](x)
	x.alive()
	x.say(wire.Auth{Token: h.user("bob")})
	x.notice(wire.CodeAuthFailed)
	x.alive()
	// A demoted admin loses access to the session.
	y := h.enter("/ws/"+string(id), as(h.user("root", "admin")))
	y.alive()
	y.say(wire.Auth{Token: h.user("root")})
	y.notice(wire.CodeSessionNotFound)
	y.closed(wire.CloseNotFound)
}

// Token expiry and rechecks do not depend on the heartbeat interval.
func TestTimesDoNotDependOnTheHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := inBubble(t, func(p *plan) { p.door.Heartbeat = 10 * time.Minute })
		id := h.session("ann")
		expires := time.Now().Add(90 * time.Second)
		x := h.enter("/ws/"+string(id), as(h.token("ann", 90*time.Second))).attend()
		next[wire.AuthRefreshRequired](x)
		if late := time.Since(expires); late < 0 || late > 3*time.Second {
			t.Errorf("asked %v after the end", late)
		}
		x.closed(wire.CloseUnauthorized)
		if late := time.Since(expires); late > 67*time.Second {
			t.Errorf("closed %v after the end", late)
		}
		// Another replica changes the shares.
		if err := h.hub.Share(t.Context(), id, "bob", session.ShareViewer); err != nil {
			t.Fatal(err)
		}
		x = h.enter("/ws/"+string(id), as(h.token("bob", time.Hour))).attend()
		next[wire.SessionState](x)
		time.Sleep(5 * time.Minute)
		if err := h.hub.Share(t.Context(), id, "bob", ""); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		x.closed(wire.CloseNotFound)
		if took := time.Since(start); took > 91*time.Second {
			t.Errorf("closed after %v", took)
		}
	})
}

func TestViewersSignNobodyOut(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	mine := h.signIn(t, h.user("ann"))
	me := func(c *http.Cookie) reply {
		return h.rest(http.MethodGet, "/api/me", request{header: header("Cookie", c.Name+"="+c.Value)})
	}
	viewer, _ := h.key("ann", auth.RoleViewer)
	user, _ := h.key("ann", auth.RoleUser)
	for _, token := range []string{viewer, user, h.user("ann", "viewer")} {
		h.post("/api/logout", token, "").problem(http.StatusForbidden, wire.CodeForbidden)
	}
	for _, token := range []string{viewer, h.user("ann", "viewer")} {
		h.rest(http.MethodPatch, "/api/settings", request{token: token, body: `{"language":"ko"}`}).problem(http.StatusForbidden, wire.CodeForbidden)
	}
	me(mine).want(http.StatusOK)
	// A cookie may always end itself and its connections.
	looks, other := h.signIn(t, h.user("ann", "viewer")), h.signIn(t, h.user("ann", "viewer"))
	path := "/ws/" + string(h.session("ann"))
	x := h.enter(path, visit{header: h.own(looks), protos: []string{"everdesk.v2"}})
	y := h.enter(path, visit{header: h.own(other), protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	next[wire.SessionState](y)
	out := h.rest(http.MethodPost, "/api/logout", request{header: h.own(looks)}).want(http.StatusNoContent)
	if gone := cookieOf(t, out); gone.Value != "" || gone.MaxAge >= 0 {
		t.Errorf("cookie %+v", gone)
	}
	x.closed(wire.CloseLoggedOut)
	me(looks).problem(http.StatusUnauthorized, wire.CodeAuthFailed)
	me(other).want(http.StatusOK)
	me(mine).want(http.StatusOK)
	y.say(wire.Auth{Token: h.user("ann")})
	next[wire.AuthResult](y)
	y.alive()
	h.rest(http.MethodPost, "/api/logout", request{header: h.own(mine)}).want(http.StatusNoContent)
	me(other).problem(http.StatusUnauthorized, wire.CodeAuthFailed)
}

// A link on a page of an attacker must not sign a browser in as another user.
func TestLinkOnlySignsInWithTheInstallationsToken(t *testing.T) {
	t.Parallel()
	h := newHall(t, inMode(auth.ModeToken))
	token := url.QueryEscape(h.people.InstallationToken())
	key, _ := h.key("mallory")
	for _, path := range []string{"/?token=", "/login?token="} {
		if got := h.get(path+key, "").want(http.StatusUnauthorized); got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: a key in a link signed in", path)
		}
		c := h.signIn(t, h.people.InstallationToken())
		for site, want := range map[string]int{"none": http.StatusSeeOther, "cross-site": http.StatusOK} {
			got := h.rest(http.MethodGet, path+token, request{header: header("Sec-Fetch-Site", site, "Cookie", c.Name+"="+c.Value)}).want(want)
			if replaced := got.header.Get("Set-Cookie") != ""; replaced != (want == http.StatusSeeOther) {
				t.Errorf("%s from %s: cookie replaced: %v", path, site, replaced)
			}
		}
		h.rest(http.MethodGet, path+token, request{header: header("Sec-Fetch-Site", "cross-site")}).want(http.StatusSeeOther)
	}
	jwt := newHall(t)
	if got := jwt.get("/?token="+jwt.user("mallory"), "").want(http.StatusUnauthorized); got.header.Get("Set-Cookie") != "" {
		t.Error("a signed token in a link signed in")
	}
}

func TestBrowserIsToldThatItsCookieLivesLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := inBubble(t, inMode(auth.ModeToken))
		c := h.signIn(t, h.people.InstallationToken())
		told := func() []string {
			got := h.rest(http.MethodGet, "/api/me", request{header: header("Cookie", c.Name+"="+c.Value)}).want(http.StatusOK)
			return got.header.Values("Set-Cookie")
		}
		const day = 24 * time.Hour
		for range 2 {
			time.Sleep(day / 2)
			if got := told(); len(got) != 0 {
				t.Fatalf("told after half a day: %v", got)
			}
			time.Sleep(day/2 + time.Minute)
			got := told()
			if len(got) != 1 {
				t.Fatalf("told %v after a day", got)
			}
			again, err := http.ParseSetCookie(got[0])
			if err != nil || again.Value != c.Value || again.Name != c.Name || !again.HttpOnly ||
				again.SameSite != http.SameSiteStrictMode || again.Expires.Sub(time.Now().Add(7*day)).Abs() > 2*time.Second {
				t.Errorf("%v, %v", again, err)
			}
			if got := told(); len(got) != 0 {
				t.Errorf("told again at once: %v", got)
			}
		}
	})
}

// Over the desktop protocol, ids of deleted and of other users' sessions both lead to a new
// session.
func TestDesktopDoesNotChooseIDs(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	bob := visit{token: h.user("bob")}
	gone, anns := h.session("ann"), h.session("ann")
	h.rest(http.MethodDelete, at(gone), request{token: h.user("ann")}).want(http.StatusNoContent)
	var first wire.SessionID
	for _, id := range []wire.SessionID{gone, anns, "ses-never"} {
		got := next[wire.ConnectionStatus](h.desktop("?sessionId="+string(id), bob)).SessionID
		if got == gone || got == anns || got == "ses-never" || got == "" || got == first {
			t.Errorf("%s became %s after %s, want a new session", id, got, first)
		}
		first = got
	}
	h.get(at(gone), h.user("bob")).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	// Own and shared sessions are opened by their id.
	if err := h.hub.Share(t.Context(), anns, "bob", session.ShareViewer); err != nil {
		t.Fatal(err)
	}
	for _, id := range []wire.SessionID{first, anns} {
		if got := next[wire.ConnectionStatus](h.desktop("?sessionId="+string(id), bob)).SessionID; got != id {
			t.Errorf("%s became %s", id, got)
		}
	}
}

func TestCapsOfAUser(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.door.UserSessions, p.door.UserConnections = 3, 2 })
	ann := h.user("ann")
	for range 3 {
		h.post("/api/sessions", ann, "").want(http.StatusCreated)
	}
	h.post("/api/sessions", ann, "").problem(http.StatusConflict, wire.CodeSessionInvalidState)
	bob := h.session("bob")
	h.post("/api/sessions", h.user("bob"), "").want(http.StatusCreated)
	path := "/ws/" + string(bob)
	v := as(h.user("bob"))
	x := h.enter(path, v)
	next[wire.SessionState](x)
	stranger := h.enter(path, visit{})
	next[wire.SessionState](h.enter(path, v))
	h.refused(path, v, http.StatusTooManyRequests, wire.CodeRateLimited)
	stranger.say(wire.Auth{Token: v.token})
	stranger.notice(wire.CodeRateLimited)
	stranger.closed(wire.CloseRateLimited)
	h.post("/api/sessions", h.user("carl"), "").want(http.StatusCreated)
	// A closed connection frees its place.
	x.ws.Close(websocket.StatusNormalClosure, "")
	for {
		y, _ := h.knock(path, v)
		if y != nil {
			next[wire.SessionState](y)
			break
		}
	}
	// A limit of zero.
	free := newHall(t, func(p *plan) { p.door.UserSessions, p.door.UserConnections = -1, -1 })
	for range 201 {
		free.post("/api/sessions", free.user("ann"), "").want(http.StatusCreated)
	}
}

// Concurrent requests do not exceed the limit.
func TestCapHoldsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.door.UserSessions = 5 })
	ann := h.user("ann")
	var wg sync.WaitGroup
	made := make([]bool, 20)
	for i := range made {
		wg.Go(func() {
			made[i] = h.post("/api/sessions", ann, fmt.Sprintf(`{"title":"%d"}`, i)).status == http.StatusCreated
		})
	}
	wg.Wait()
	n := 0
	for _, ok := range made {
		if ok {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d sessions were made, want 5", n)
	}
}

func TestQueryTokensAreForStreams(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.door.QueryTokens = true })
	id, token := h.session("ann"), h.user("ann")
	for _, path := range []string{"/api/me", "/api/sessions", at(id), at(id, "/events"), at(id, "/snapshot")} {
		h.get(path+"?token="+token, "").problem(http.StatusUnauthorized, wire.CodeAuthRequired)
	}
	h.post("/api/sessions?token="+token, "", "").problem(http.StatusUnauthorized, wire.CodeAuthRequired)
	// Pages of the desktop dialect put the token into the URLs of images.
	h.post("/api/storage/a.txt", token, "hello").want(http.StatusOK)
	if got := h.get("/api/storage/a.txt?token="+token, "").want(http.StatusOK); string(got.body) != "hello" {
		t.Errorf("got %q, want hello", got.body)
	}
	h.get("/api/storage/a.txt?token=wrong", "").problem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.post("/api/storage/a.txt?token="+token, "", "x").problem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.rest(http.MethodDelete, "/api/storage/a.txt?token="+token, request{}).problem(http.StatusUnauthorized, wire.CodeAuthRequired)
	next[wire.SessionState](h.enter("/ws/"+string(id)+"?token="+token, visit{}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.addr+at(id, "/events?token="+token), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	transport := h.transport()
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("events: %s", res.Status)
	}
}

func TestKeysExpireWithinAYear(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	root := h.user("root", "admin")
	for _, seconds := range []string{"31622401", "9223372037", "9007199254740991"} {
		h.post("/api/tokens/keys", root, `{"user":"robot","expires_in":`+seconds+`}`).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.post("/api/tokens/keys", root, `{"user":"robot","expires_in":31622400}`).want(http.StatusCreated)
}
