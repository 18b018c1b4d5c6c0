package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// readLink is a read-only link in a response.
type readLink struct{ URL, ID, Label, CreatedAt, ExpiresAt string }

func (l readLink) secret() string {
	_, secret, _ := strings.Cut(l.URL, "#")
	return secret
}

// newLink makes a read-only link to a session.
func (h *testHub) newLink(token string, id wire.SessionID, body string) readLink {
	h.t.Helper()
	var l readLink
	h.post(sessionPath(id, "/links"), token, body).wantStatus(http.StatusCreated).decode(&l)
	return l
}

// openLink opens a link in a browser, with or without the cookie of a user.
func (h *testHub) openLink(secret string, c *http.Cookie) reply {
	h.t.Helper()
	head := header("Origin", "http://"+h.addr)
	if c != nil {
		head = h.ownHeaders(c)
	}
	return h.rest(http.MethodPost, "/api/links/open", request{body: `{"link":"` + secret + `"}`, header: head})
}

// linkCookies returns the cookies of a response by their paths.
func linkCookies(t *testing.T, r reply) map[string]*http.Cookie {
	t.Helper()
	out := map[string]*http.Cookie{}
	for _, line := range r.header.Values("Set-Cookie") {
		c, err := http.ParseSetCookie(line)
		if err != nil {
			t.Fatal(err)
		}
		out[c.Path] = c
	}
	return out
}

// guestOf opens a link and returns the headers of the browser.
func guestOf(t *testing.T, h *testHub, id wire.SessionID, secret string) http.Header {
	t.Helper()
	c := linkCookies(t, h.openLink(secret, nil).wantStatus(http.StatusOK))["/ws/"+string(id)]
	if c == nil || c.Value == "" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		t.Fatalf("got cookie %+v, want a strict one for the session's socket", c)
	}
	return h.ownHeaders(c)
}

func TestReadOnlyLink(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id, other := h.userToken("ada"), h.newSession("ada"), h.newSession("ada")
	made := h.newLink(ada, id, `{"label":"Review","ttl":3600}`)
	if !strings.HasPrefix(made.URL, "http://"+h.addr+"/link#edl_") || len(made.secret()) < 60 || made.Label != "Review" || made.ID == "" {
		t.Errorf("got %+v, want a /link URL with a secret", made)
	}
	listed := h.get(sessionPath(id, "/links"), ada).wantStatus(http.StatusOK)
	var list struct{ Links []readLink }
	if listed.decode(&list); len(list.Links) != 1 || list.Links[0].ID != made.ID || contains(listed.body, made.secret()[30:]) {
		t.Errorf("list: got %s, want the link without its secret", listed.body)
	}
	guest := guestOf(t, h, id, made.secret())
	do := func(method, path, body string) reply {
		t.Helper()
		return h.rest(method, path, request{header: guest, body: body})
	}
	for _, path := range []string{"", "/snapshot", "/messages", "/rows", "/files", "/plan"} {
		do(http.MethodGet, sessionPath(id, path), "").wantStatus(http.StatusOK)
	}
	if card := do(http.MethodGet, sessionPath(id, ""), ""); !contains(card.body, `"access":"viewer"`) || contains(card.body, `"shares"`) {
		t.Errorf("card: got %s, want access viewer and no shares", card.body)
	}
	do(http.MethodGet, sessionPath(id, "/apps/counter/icon"), "").wantStatus(http.StatusNotFound) // no such app
	do(http.MethodGet, sessionPath(other, ""), "").wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "/api/me", ""},
		{http.MethodGet, "/api/settings/values", ""},
		{http.MethodGet, "/api/sessions", ""},
		{http.MethodGet, sessionPath(id, "/links"), ""},
		{http.MethodGet, sessionPath(id, "/export"), ""},
		{http.MethodGet, sessionPath(id, "/film"), ""},
		{http.MethodGet, sessionPath(id, "/tasks"), ""},
		{http.MethodGet, sessionPath(id, "/apps/counter/index.html"), ""},
		{http.MethodGet, sessionPath(id, "/sandboxes/1/index.html"), ""},
		{http.MethodGet, sessionPath(id, "/mcp-tokens"), ""},
		{http.MethodPost, sessionPath(id, "/links"), `{}`},
		{http.MethodPost, sessionPath(id, "/messages"), `{"content":"x"}`},
		{http.MethodPut, sessionPath(id, "/files/a.txt"), "x"},
		{http.MethodPatch, sessionPath(id, ""), `{"title":"x"}`},
		{http.MethodDelete, sessionPath(id, ""), ""},
		{http.MethodPost, "/api/ws-ticket", `{}`},
		{http.MethodPost, "/api/sessions", `{}`},
		{http.MethodPost, "/api/logout", ""},
	} {
		do(r.method, r.path, r.body).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	h.wantRefused("/ws/"+string(other), dialOptions{header: guest, protos: []string{"everdesk.v2"}}, http.StatusNotFound, wire.CodeSessionNotFound)
	h.wantRefused("/ws", dialOptions{header: guest}, http.StatusForbidden, wire.CodeForbidden)
	x := h.mustDial("/ws/"+string(id), dialOptions{header: guest, protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	x.send(wire.UserMessage{Content: "hi", MonitorID: "monitor-0"})
	x.wantError(wire.CodeForbidden)

	y := h.mustDial("/ws/"+string(id), as(ada))
	next[wire.SessionState](y)
	h.rest(http.MethodDelete, sessionPath(id, "/links/", made.ID), request{token: ada}).wantStatus(http.StatusNoContent)
	x.wantClosed(wire.CloseLoggedOut)
	y.wantAlive()
	do(http.MethodGet, sessionPath(id, ""), "").wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.openLink(made.secret(), nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.rest(http.MethodDelete, sessionPath(id, "/links/", made.ID), request{token: ada}).wantStatus(http.StatusNotFound)
}

func TestOnlyTheOwnerHandlesLinks(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	made := h.newLink(ada, id, "")
	h.rest(http.MethodPut, sessionPath(id, "/shares/bob"), request{token: ada, body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	h.rest(http.MethodPut, sessionPath(id, "/shares/vic"), request{token: ada, body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
	for user, status := range map[string]int{"bob": http.StatusForbidden, "vic": http.StatusForbidden, "zoe": http.StatusNotFound} {
		token := h.userToken(user)
		h.get(sessionPath(id, "/links"), token).wantStatus(status)
		h.post(sessionPath(id, "/links"), token, `{}`).wantStatus(status)
		h.rest(http.MethodDelete, sessionPath(id, "/links/", made.ID), request{token: token}).wantStatus(status)
	}
	h.post(sessionPath(id, "/links"), h.userToken("root", "user", "admin"), `{}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	for _, body := range []string{`{"ttl":299}`, `{"ttl":2592001}`, `{"ttl":-1}`, `{"label":"a\nb"}`, `{"label":"` + strings.Repeat("x", 65) + `"}`, `{"label":"` + strings.Repeat("😀", 60) + `"}`, `{"ttl":"1"}`, `[]`} {
		if got := h.post(sessionPath(id, "/links"), ada, body); got.status != http.StatusBadRequest && got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want a refusal of the body", body, got.status)
		}
	}
	for range auth.MaxLinks - 1 {
		h.newLink(ada, id, `{}`)
	}
	h.post(sessionPath(id, "/links"), ada, `{}`).wantStatus(http.StatusConflict)
}

// A browser in which a user is signed in keeps that user's rights.
func TestLinkKeepsTheSignedInUser(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	secret := h.newLink(ada, id, "").secret()
	owner := h.openLink(secret, h.signIn(t, ada)).wantStatus(http.StatusOK)
	if c := linkCookies(t, owner)["/ws/"+string(id)]; !contains(owner.body, `"own":true`) || c == nil || c.MaxAge >= 0 {
		t.Errorf("the owner: got %s and cookie %+v, want no cookie of the link", owner.body, c)
	}
	bob := h.signIn(t, h.userToken("bob"))
	got := h.openLink(secret, bob).wantStatus(http.StatusOK)
	c := linkCookies(t, got)["/api/sessions/"+string(id)]
	if c == nil || contains(got.body, `"own"`) {
		t.Fatalf("bob: got %s and no cookie, want one", got.body)
	}
	both := header("Origin", "http://"+h.addr, "Cookie", bob.Name+"="+bob.Value+"; "+c.Name+"="+c.Value)
	if card := h.rest(http.MethodGet, sessionPath(id, ""), request{header: both}).wantStatus(http.StatusOK); !contains(card.body, `"access":"viewer"`) {
		t.Errorf("bob by the link: got %s, want access viewer", card.body)
	}
	h.rest(http.MethodPut, sessionPath(id, "/shares/bob"), request{token: ada, body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	if card := h.rest(http.MethodGet, sessionPath(id, ""), request{header: both}).wantStatus(http.StatusOK); !contains(card.body, `"access":"operator"`) {
		t.Errorf("bob with both cookies and a share: got %s, want his own access", card.body)
	}
	if me := h.rest(http.MethodGet, "/api/me", request{header: h.ownHeaders(bob)}).wantStatus(http.StatusOK); !contains(me.body, `"user":"bob"`) {
		t.Errorf("/api/me: got %s, want bob", me.body)
	}
}

func TestLinkEndsItsConnectionsWhenItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		id := h.newSession("ada")
		made := h.newLink(h.token("ada", time.Hour), id, `{"ttl":300}`)
		guest := guestOf(t, h, id, made.secret())
		x := h.mustDial("/ws/"+string(id), dialOptions{header: guest, protos: []string{"everdesk.v2"}}).readInBackground()
		time.Sleep(5*time.Minute - time.Second)
		h.rest(http.MethodGet, sessionPath(id, ""), request{header: guest}).wantStatus(http.StatusOK)
		time.Sleep(2 * time.Second)
		h.rest(http.MethodGet, sessionPath(id, ""), request{header: guest}).wantStatus(http.StatusUnauthorized)
		h.openLink(made.secret(), nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
		x.wantClosed(wire.CloseUnauthorized)
	})
}

// A replica that missed the notice of a revocation closes the connections of the link nevertheless.
func TestLostRevocationOfALink(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.Timeouts.Recheck = 90 * time.Millisecond })
	ada, id := h.userToken("ada"), h.newSession("ada")
	guest := guestOf(t, h, id, h.newLink(ada, id, "").secret())
	x := h.mustDial("/ws/"+string(id), dialOptions{header: guest, protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.addr+sessionPath(id, "/events"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = guest.Clone()
	req.Header.Set("Accept", "text/event-stream")
	transport := h.transport()
	defer transport.CloseIdleConnections()
	stream, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("events: got %s, want status %d", stream.Status, http.StatusOK)
	}
	if err := h.auth.Links.RemoveAll(t.Context(), id); err != nil { // publishes no revocation
		t.Fatal(err)
	}
	x.wantClosed(wire.CloseLoggedOut)
	_, _ = io.Copy(io.Discard, stream.Body) // ends when the hub closes the stream
}

// Settings are not for those who opened a link.
func TestLinkIsNotNotifiedOfSettings(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, root, id := h.userToken("ada"), h.userToken("root", "admin"), h.newSession("ada")
	guest := guestOf(t, h, id, h.newLink(ada, id, "").secret())
	x, owner := h.mustDial("/ws/"+string(id), dialOptions{header: guest, protos: []string{"everdesk.v2"}}), h.mustDial("/ws/"+string(id), as(ada))
	for _, tab := range []*tab{x, owner} {
		next[wire.SessionState](tab)
	}
	for _, language := range []string{"ko", "en"} { // after the second, all tabs have the first
		h.patchValues(root, "?scope=hub", `{"values":{"language":"`+language+`"}}`)
		next[wire.SettingsChanged](owner)
	}
	owner.emit("m-1")
	for {
		e, ok := x.read()
		if !ok {
			t.Fatalf("closed with %d %q, want the action", x.code, x.reason)
		}
		switch p := e.Data.(type) {
		case wire.SettingsChanged:
			t.Fatalf("got %+v, want no settings", p)
		case wire.Actions:
			return
		}
	}
}

// Each opening stores a token, so they are counted. Those of users who need no link store none.
func TestOpeningALinkIsLimited(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{Requests: 5} })
	ada, id := h.userToken("ada"), h.newSession("ada")
	secret := h.newLink(ada, id, "").secret()
	h.openLink(secret, h.signIn(t, ada)).wantStatus(http.StatusOK)
	for range 5 {
		h.openLink(secret, nil).wantStatus(http.StatusOK)
	}
	h.openLink(secret, nil).wantProblem(http.StatusTooManyRequests, wire.CodeRateLimited)
	page, err := h.store.Documents(t.Context(), "auth-link-tokens", "", 10)
	if err != nil || len(page.Items) != 5 {
		t.Errorf("got %d tokens with error %v, want 5", len(page.Items), err)
	}
}

func TestGuessingLinksIsSlow(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{Strangers: 5} })
	id := h.newSession("ada")
	var got reply
	for range 6 {
		if got = h.openLink("edl_"+string(id)+"_0123456789abcdef_"+strings.Repeat("A", 43), nil); got.status != http.StatusUnauthorized {
			break
		}
	}
	got.wantProblem(http.StatusTooManyRequests, wire.CodeRateLimited)
}

// Without sign-in everyone who reaches the hub may do everything, so no link can be read-only.
func TestHubWithoutSignInMakesNoLinks(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeNone))
	h.post(sessionPath(h.newSession("local"), "/links"), "", `{}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
}
