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
func (h *testHub) newKey(user string, roles ...auth.Role) (key, id string) {
	h.t.Helper()
	key, err := h.auth.NewKey(h.t.Context(), auth.Identity{User: user, Roles: roles}, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return key, key[4:20]
}

// signIn exchanges a token for a cookie.
func (h *testHub) signIn(t *testing.T, token string) *http.Cookie {
	t.Helper()
	return cookieOf(t, h.post("/api/login", "", `{"token":"`+token+`"}`).wantStatus(http.StatusOK))
}

// A cookie would outlive the key that it was made from.
func TestKeysDoNotSignIn(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	key, _ := h.newKey("mallory", auth.RoleAdmin)
	got := h.post("/api/login", "", `{"token":"`+key+`"}`)
	got.wantProblem(http.StatusForbidden, wire.CodeAuthFailed)
	form := h.rest(http.MethodPost, "/login", request{
		body: "token=" + key, header: header("Content-Type", "application/x-www-form-urlencoded", "Origin", "http://"+h.addr),
	}).wantStatus(http.StatusForbidden)
	if got.header.Get("Set-Cookie") != "" || form.header.Get("Set-Cookie") != "" {
		t.Errorf("got cookies %q and %q for a key, want none", got.header.Get("Set-Cookie"), form.header.Get("Set-Cookie"))
	}
}

func TestTicketOfARevokedKey(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	key, id := h.newKey("mallory", auth.RoleAdmin)
	path := "/ws/" + string(h.newSession("mallory"))
	var tickets [3]struct{ Ticket string }
	h.post("/api/ws-ticket", key, "").wantStatus(http.StatusOK).decode(&tickets[0])
	h.post("/api/tokens/tickets", key, `{"user":"mallory"}`).wantStatus(http.StatusOK).decode(&tickets[1])
	h.post("/api/ws-ticket", key, "").wantStatus(http.StatusOK).decode(&tickets[2])
	x := h.mustDial(path, dialOptions{})
	x.send(wire.Auth{Ticket: tickets[2].Ticket})
	next[wire.SessionState](x)
	if err := h.auth.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	x.wantClosed(wire.CloseLoggedOut)
	for _, ticket := range tickets[:2] {
		x := h.mustDial(path, dialOptions{})
		x.send(wire.Auth{Ticket: ticket.Ticket})
		x.wantError(wire.CodeAuthFailed)
		x.wantClosed(wire.CloseUnauthorized)
	}
}

// Revoking a key closes the connections of that key, and neither those of the user's other keys nor
// of their tokens.
func TestRevokedKeyEndsItsOwnConnections(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	path := "/ws/" + string(h.newSession("ada"))
	key, id := h.newKey("ada")
	other, _ := h.newKey("ada")
	var ticket struct{ Ticket string }
	h.post("/api/ws-ticket", key, "").wantStatus(http.StatusOK).decode(&ticket)
	byKey, byOther, byToken := h.mustDial(path, as(key)), h.mustDial(path, as(other)), h.mustDial(path, as(h.userToken("ada")))
	byTicket := h.mustDial(path, dialOptions{})
	byTicket.send(wire.Auth{Ticket: ticket.Ticket})
	next[wire.SessionState](byTicket)
	for _, x := range []*tab{byKey, byOther, byToken} {
		x.wantAlive()
	}
	if err := h.auth.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	byKey.wantClosed(wire.CloseLoggedOut)
	byTicket.wantClosed(wire.CloseLoggedOut)
	byOther.wantAlive()
	byToken.wantAlive()
}

// Removing a share closes open connections at once, independently of the heartbeat and of the
// recheck interval.
func TestShareEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.Heartbeat, p.gateway.Timeouts.Recheck = time.Hour, time.Hour })
	id := h.newSession("ann")
	ann, bob := h.userToken("ann"), h.userToken("bob")
	share := func(access string) {
		h.rest(http.MethodPut, sessionPath(id, "/shares/bob"), request{token: ann, body: `{"access":"` + access + `"}`}).wantStatus(http.StatusOK)
	}
	share("operator")
	x := h.mustDial("/ws/"+string(id), as(bob))
	x.wantAlive()
	share("viewer")
	x.sendWithID("m-1", wire.Emit{MessageID: "m-1", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}}})
	x.wantError(wire.CodeForbidden)
	share("operator")
	x.wantAlive()
	h.rest(http.MethodDelete, sessionPath(id, "/shares/bob"), request{token: ann}).wantStatus(http.StatusNoContent)
	x.wantError(wire.CodeSessionNotFound)
	x.wantClosed(wire.CloseNotFound)
}

func TestNewCredentialsCountForEverything(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	x := h.mustDial("/ws/"+string(id), as(h.userToken("ann")))
	x.wantAlive()
	x.send(wire.Auth{Token: h.userToken("ann", "viewer")})
	next[wire.AuthResult](x)
	x.sendWithID("m-1", wire.Emit{MessageID: "m-1", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}}})
	x.wantError(wire.CodeForbidden)
	x.send(wire.Auth{Token: h.userToken("ann")})
	next[wire.AuthResult](x)
	x.wantAlive()
	x.send(wire.Auth{Token: h.userToken("bob")})
	x.wantError(wire.CodeAuthFailed)
	x.wantAlive()
	// A demoted admin loses access to the session.
	y := h.mustDial("/ws/"+string(id), as(h.userToken("root", "admin")))
	y.wantAlive()
	y.send(wire.Auth{Token: h.userToken("root")})
	y.wantError(wire.CodeSessionNotFound)
	y.wantClosed(wire.CloseNotFound)
}

// Token expiry and rechecks do not depend on the heartbeat interval.
func TestTimesDoNotDependOnTheHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t, func(p *hubOptions) { p.gateway.Heartbeat = 10 * time.Minute })
		id := h.newSession("ann")
		expires := time.Now().Add(90 * time.Second)
		x := h.mustDial("/ws/"+string(id), as(h.token("ann", 90*time.Second))).readInBackground()
		next[wire.AuthRefreshRequired](x)
		if late := time.Since(expires); late < 0 || late > 3*time.Second {
			t.Errorf("request for a new token: got it %v after the end, want 0 to 3 s", late)
		}
		x.wantClosed(wire.CloseUnauthorized)
		if late := time.Since(expires); late > 67*time.Second {
			t.Errorf("close: got it %v after the end, want at most 67 s", late)
		}
		// Another replica changes the shares.
		if err := h.hub.Share(t.Context(), id, "bob", session.ShareViewer); err != nil {
			t.Fatal(err)
		}
		x = h.mustDial("/ws/"+string(id), as(h.token("bob", time.Hour))).readInBackground()
		next[wire.SessionState](x)
		time.Sleep(5 * time.Minute)
		if err := h.hub.Share(t.Context(), id, "bob", ""); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		x.wantClosed(wire.CloseNotFound)
		if took := time.Since(start); took > 91*time.Second {
			t.Errorf("close: got it after %v, want at most 91 s", took)
		}
	})
}

func TestViewersCannotSignOutTheUser(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	mine := h.signIn(t, h.userToken("ann"))
	me := func(c *http.Cookie) reply {
		return h.rest(http.MethodGet, "/api/me", request{header: header("Cookie", c.Name+"="+c.Value)})
	}
	viewer, _ := h.newKey("ann", auth.RoleViewer)
	user, _ := h.newKey("ann", auth.RoleUser)
	for _, token := range []string{viewer, user, h.userToken("ann", "viewer")} {
		h.post("/api/logout", token, "").wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	for _, token := range []string{viewer, h.userToken("ann", "viewer")} {
		h.rest(http.MethodPatch, "/api/settings", request{token: token, body: `{"language":"ko"}`}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	me(mine).wantStatus(http.StatusOK)
	// A cookie may always end itself and its connections.
	looks, other := h.signIn(t, h.userToken("ann", "viewer")), h.signIn(t, h.userToken("ann", "viewer"))
	path := "/ws/" + string(h.newSession("ann"))
	x := h.mustDial(path, dialOptions{header: h.ownHeaders(looks), protos: []string{"everdesk.v2"}})
	y := h.mustDial(path, dialOptions{header: h.ownHeaders(other), protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	next[wire.SessionState](y)
	out := h.rest(http.MethodPost, "/api/logout", request{header: h.ownHeaders(looks)}).wantStatus(http.StatusNoContent)
	if gone := cookieOf(t, out); gone.Value != "" || gone.MaxAge >= 0 {
		t.Errorf("cookie after the sign-out: got %+v, want it removed", gone)
	}
	x.wantClosed(wire.CloseLoggedOut)
	me(looks).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	me(other).wantStatus(http.StatusOK)
	me(mine).wantStatus(http.StatusOK)
	y.send(wire.Auth{Token: h.userToken("ann")})
	next[wire.AuthResult](y)
	y.wantAlive()
	h.rest(http.MethodPost, "/api/logout", request{header: h.ownHeaders(mine)}).wantStatus(http.StatusNoContent)
	me(other).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
}

// A link on a page of an attacker must not sign a browser in as another user.
func TestLinkOnlySignsInWithTheInstallationsToken(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeToken))
	token := url.QueryEscape(h.auth.InstallationToken())
	key, _ := h.newKey("mallory")
	for _, path := range []string{"/?token=", "/login?token="} {
		if got := h.get(path+key, "").wantStatus(http.StatusUnauthorized); got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s with a key: got the cookie %q, want none", path, got.header.Get("Set-Cookie"))
		}
		c := h.signIn(t, h.auth.InstallationToken())
		for site, want := range map[string]int{"none": http.StatusSeeOther, "cross-site": http.StatusOK} {
			got := h.rest(http.MethodGet, path+token, request{header: header("Sec-Fetch-Site", site, "Cookie", c.Name+"="+c.Value)}).wantStatus(want)
			if replaced := got.header.Get("Set-Cookie") != ""; replaced != (want == http.StatusSeeOther) {
				t.Errorf("%s from %s: got cookie replaced %v, want %v", path, site, replaced, want == http.StatusSeeOther)
			}
		}
		h.rest(http.MethodGet, path+token, request{header: header("Sec-Fetch-Site", "cross-site")}).wantStatus(http.StatusSeeOther)
	}
	jwt := newTestHub(t)
	if got := jwt.get("/?token="+jwt.userToken("mallory"), "").wantStatus(http.StatusUnauthorized); got.header.Get("Set-Cookie") != "" {
		t.Errorf("got cookie %q for a signed token in a link, want none", got.header.Get("Set-Cookie"))
	}
}

func TestExtendedCookieIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Two days pass and there are no sessions, so the hub need not look for them every
		// half second.
		rarely := func(p *hubOptions) { p.session.Lease, p.session.SweepEvery = time.Hour, time.Hour }
		h := newBubbleHub(t, withAuthMode(auth.ModeToken), rarely)
		c := h.signIn(t, h.auth.InstallationToken())
		setCookies := func() []string {
			got := h.rest(http.MethodGet, "/api/me", request{header: header("Cookie", c.Name+"="+c.Value)}).wantStatus(http.StatusOK)
			return got.header.Values("Set-Cookie")
		}
		const day = 24 * time.Hour
		for range 2 {
			time.Sleep(day / 2)
			if got := setCookies(); len(got) != 0 {
				t.Fatalf("cookies after half a day: got %v, want none", got)
			}
			time.Sleep(day/2 + time.Minute)
			got := setCookies()
			if len(got) != 1 {
				t.Fatalf("cookies after a day: got %v, want one", got)
			}
			again, err := http.ParseSetCookie(got[0])
			if err != nil || again.Value != c.Value || again.Name != c.Name || !again.HttpOnly ||
				again.SameSite != http.SameSiteStrictMode || again.Expires.Sub(time.Now().Add(7*day)).Abs() > 2*time.Second {
				t.Errorf("cookie after a day: got %v, error %v, want the same for 7 more days", again, err)
			}
			if got := setCookies(); len(got) != 0 {
				t.Errorf("cookies right after another: got %v, want none", got)
			}
		}
	})
}

// Over the desktop protocol, ids of deleted and of other users' sessions both lead to a new
// session.
func TestDesktopDoesNotChooseIDs(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	bob := dialOptions{token: h.userToken("bob")}
	gone, anns := h.newSession("ann"), h.newSession("ann")
	h.rest(http.MethodDelete, sessionPath(gone), request{token: h.userToken("ann")}).wantStatus(http.StatusNoContent)
	var first wire.SessionID
	for _, id := range []wire.SessionID{gone, anns, "ses-never"} {
		got := next[wire.ConnectionStatus](h.dialDesktop("?sessionId="+string(id), bob)).SessionID
		if got == gone || got == anns || got == "ses-never" || got == "" || got == first {
			t.Errorf("%s became %s after %s, want a new session", id, got, first)
		}
		first = got
	}
	h.get(sessionPath(gone), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	// Own and shared sessions are opened by their id.
	if err := h.hub.Share(t.Context(), anns, "bob", session.ShareViewer); err != nil {
		t.Fatal(err)
	}
	for _, id := range []wire.SessionID{first, anns} {
		if got := next[wire.ConnectionStatus](h.dialDesktop("?sessionId="+string(id), bob)).SessionID; got != id {
			t.Errorf("session of the desktop: got %s, want %s", got, id)
		}
	}
}

func TestCapsOfAUser(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.UserSessions, p.gateway.UserConnections = 3, 2 })
	ann := h.userToken("ann")
	for range 3 {
		h.post("/api/sessions", ann, "").wantStatus(http.StatusCreated)
	}
	h.post("/api/sessions", ann, "").wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	bob := h.newSession("bob")
	h.post("/api/sessions", h.userToken("bob"), "").wantStatus(http.StatusCreated)
	path := "/ws/" + string(bob)
	v := as(h.userToken("bob"))
	x := h.mustDial(path, v)
	next[wire.SessionState](x)
	unauthenticated := h.mustDial(path, dialOptions{})
	next[wire.SessionState](h.mustDial(path, v))
	h.wantRefused(path, v, http.StatusTooManyRequests, wire.CodeRateLimited)
	unauthenticated.send(wire.Auth{Token: v.token})
	unauthenticated.wantError(wire.CodeRateLimited)
	unauthenticated.wantClosed(wire.CloseRateLimited)
	h.post("/api/sessions", h.userToken("carl"), "").wantStatus(http.StatusCreated)
	// A closed connection frees its place.
	x.ws.Close(websocket.StatusNormalClosure, "")
	for {
		y, _ := h.tryDial(path, v)
		if y != nil {
			next[wire.SessionState](y)
			break
		}
	}
	// A limit of zero.
	free := newTestHub(t, func(p *hubOptions) { p.gateway.UserSessions, p.gateway.UserConnections = -1, -1 })
	for range 201 {
		free.post("/api/sessions", free.userToken("ann"), "").wantStatus(http.StatusCreated)
	}
}

// Concurrent requests do not exceed the limit.
func TestCapHoldsAtOnce(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.UserSessions = 5 })
	ann := h.userToken("ann")
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
	h := newTestHub(t, func(p *hubOptions) { p.gateway.QueryTokens = true })
	id, token := h.newSession("ann"), h.userToken("ann")
	for _, path := range []string{"/api/me", "/api/sessions", sessionPath(id), sessionPath(id, "/events"), sessionPath(id, "/snapshot")} {
		h.get(path+"?token="+token, "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	}
	h.post("/api/sessions?token="+token, "", "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	// Pages of the desktop dialect put the token into the URLs of images.
	h.post("/api/storage/a.txt", token, "hello").wantStatus(http.StatusOK)
	if got := h.get("/api/storage/a.txt?token="+token, "").wantStatus(http.StatusOK); string(got.body) != "hello" {
		t.Errorf("got %q, want hello", got.body)
	}
	h.get("/api/storage/a.txt?token=wrong", "").wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.post("/api/storage/a.txt?token="+token, "", "x").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.rest(http.MethodDelete, "/api/storage/a.txt?token="+token, request{}).wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	next[wire.SessionState](h.mustDial("/ws/"+string(id)+"?token="+token, dialOptions{}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.addr+sessionPath(id, "/events?token="+token), nil)
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
		t.Errorf("events: got %s, want status %d", res.Status, http.StatusOK)
	}
}

func TestKeysExpireWithinAYear(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	root := h.userToken("root", "admin")
	for _, seconds := range []string{"31622401", "9223372037", "9007199254740991"} {
		h.post("/api/tokens/keys", root, `{"user":"robot","expires_in":`+seconds+`}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.post("/api/tokens/keys", root, `{"user":"robot","expires_in":31622400}`).wantStatus(http.StatusCreated)
}
