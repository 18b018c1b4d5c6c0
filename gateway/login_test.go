package gateway_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// cookieOf returns the cookie that a response sets.
func cookieOf(t *testing.T, r reply) *http.Cookie {
	t.Helper()
	for _, line := range r.header.Values("Set-Cookie") {
		c, err := http.ParseSetCookie(line)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(c.Name, "everdesk") {
			return c
		}
	}
	t.Fatalf("%s: got no cookie in %v, want one", r.what, r.header)
	return nil
}

// ownHeaders returns headers with the hub's own origin and a cookie.
func (h *testHub) ownHeaders(c *http.Cookie) http.Header {
	return header("Origin", "http://"+h.addr, "Cookie", c.Name+"="+c.Value)
}

func TestClickOnThePrintedURL(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeToken))
	token := url.QueryEscape(h.auth.InstallationToken())
	for _, path := range []string{"/?token=" + token, "/login?token=" + token} {
		got := h.get(path, "").wantStatus(http.StatusSeeOther)
		if to := got.header.Get("Location"); to != "/" {
			t.Errorf("location after %s: got %q, want /", path, to)
		}
		if got.header.Get("Referrer-Policy") != "no-referrer" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers: got %v, want no referrer and no-store", got.header)
		}
		c := cookieOf(t, got)
		if c.Name != "everdesk" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.Domain != "" || !c.Expires.After(time.Now()) {
			t.Errorf("cookie: got %+v, want everdesk, strict, not for scripts, for / and with an end", c)
		}
		me := h.rest(http.MethodGet, "/api/me", request{header: header("Cookie", c.Name+"="+c.Value)}).wantStatus(http.StatusOK)
		if !contains(me.body, `"auth":"token"`) {
			t.Errorf("/api/me: got %s, want the mode token", me.body)
		}
		page := h.rest(http.MethodGet, "/", request{header: header("Cookie", c.Name+"="+c.Value)}).wantStatus(http.StatusOK)
		if !contains(page.body, "You are signed in as") || !contains(page.body, `action="/login" hidden`) {
			t.Errorf("page: got %s, want the user and a hidden form", page.body)
		}
	}
	if strings.Contains(h.log.String(), h.auth.InstallationToken()) {
		t.Errorf("log: got\n%s\nwant it without the token", h.log)
	}
}

func TestSignInByHand(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeToken))
	page := h.get("/login", "").wantStatus(http.StatusOK)
	if !contains(page.body, `<form method="post" action="/login">`) || !contains(page.body, "Sign in with the URL") {
		t.Errorf("/login: got %s, want the form and how to sign in", page.body)
	}
	form := func(token string) reply {
		return h.rest(http.MethodPost, "/login", request{
			body: "token=" + url.QueryEscape(token), header: header("Content-Type", "application/x-www-form-urlencoded", "Origin", "http://"+h.addr),
		})
	}
	cookieOf(t, form(" "+h.auth.InstallationToken()+"\n").wantStatus(http.StatusSeeOther))
	cookieOf(t, form("http://"+h.addr+"/?token="+h.auth.InstallationToken()).wantStatus(http.StatusSeeOther))
	for _, token := range []string{"", "wrong", "http://" + h.addr + "/?token=wrong", "http://" + h.addr, "<script>alert(1)</script>"} {
		got := form(token).wantStatus(http.StatusUnauthorized)
		if got.header.Get("Content-Type") != "text/html; charset=UTF-8" || contains(got.body, "<script>") || got.header.Get("Set-Cookie") != "" {
			t.Errorf("form with %q: got %v %s, want HTML without scripts and cookies", token, got.header, got.body)
		}
	}
	h.get("/?token=wrong", "").wantStatus(http.StatusUnauthorized)
	h.rest(http.MethodPost, "/login", request{body: `{"token":"x"}`}).wantProblem(http.StatusUnsupportedMediaType, wire.CodeInvalidMessage)
}

func TestLoginAndLogout(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	got := h.post("/api/login", "", `{"token":"`+h.userToken("ada")+`"}`).wantStatus(http.StatusOK)
	if !contains(got.body, `"user":"ada"`) {
		t.Errorf("login: got %s, want ada", got.body)
	}
	c := cookieOf(t, got)
	made := h.rest(http.MethodPost, "/api/sessions", request{header: h.ownHeaders(c)}).wantStatus(http.StatusCreated)
	var s card
	made.decode(&s)
	if s.User != "ada" {
		t.Errorf("session: got %s, want one of ada", made.body)
	}
	x := h.mustDial("/ws/"+string(s.SessionID), dialOptions{header: h.ownHeaders(c), protos: []string{"everdesk.v2"}})
	next[wire.SessionState](x)
	out := h.rest(http.MethodPost, "/api/logout", request{header: h.ownHeaders(c)}).wantStatus(http.StatusNoContent)
	if gone := cookieOf(t, out); gone.Value != "" || gone.MaxAge >= 0 {
		t.Errorf("cookie after the sign-out: got %+v, want it removed", gone)
	}
	x.wantClosed(wire.CloseLoggedOut)
	h.rest(http.MethodGet, "/api/me", request{header: h.ownHeaders(c)}).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)

	h.post("/api/login", "", `{"token":"wrong"}`).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.post("/api/login", "", `{"token":""}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.post("/api/logout", "", "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
}

// Behind a trusted proxy with TLS the cookie is a Secure one.
func TestCookieOverTLS(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		proxies []netip.Prefix
		cookie  string
	}{
		"trusted": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "__Host-everdesk"},
		"not":     {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "everdesk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t, func(p *hubOptions) {
				p.gateway.TrustedProxies, p.gateway.Hosts = tt.proxies, []string{"desk.example.org"}
			})
			got := h.rest(http.MethodPost, "/api/login", request{
				host: "desk.example.org", body: `{"token":"` + h.userToken("ada") + `"}`, header: header("X-Forwarded-Proto", "https"),
			}).wantStatus(http.StatusOK)
			c := cookieOf(t, got)
			if c.Name != tt.cookie || c.Secure != strings.HasPrefix(tt.cookie, "__Host-") {
				t.Errorf("cookie: got %+v, want %s, secure only with __Host-", c, tt.cookie)
			}
			origin := "http://desk.example.org"
			if c.Secure {
				origin = "https://desk.example.org"
			}
			h.rest(http.MethodPost, "/api/sessions", request{
				host: "desk.example.org", header: header("X-Forwarded-Proto", "https", "Origin", origin, "Cookie", c.Name+"="+c.Value),
			}).wantStatus(http.StatusCreated)
		})
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.QueryTokens = true })
	key, err := h.auth.NewKey(t.Context(), auth.Identity{User: "robot", Roles: []auth.Role{auth.RoleUser}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path string
		head http.Header
		user string
	}{
		"bearer":         {"", header("Authorization", "Bearer "+h.userToken("ada")), "ada"},
		"any case":       {"", header("Authorization", "bearer  "+h.userToken("ada")), "ada"},
		"key as bearer":  {"", header("Authorization", "Bearer "+key), "robot"},
		"key":            {"", header("X-API-Key", key), "robot"},
		"header first":   {"?token=" + h.userToken("bob"), header("Authorization", "Bearer "+h.userToken("ada")), "ada"},
		"key over query": {"?token=" + h.userToken("bob"), header("X-API-Key", key), "robot"},
	} {
		if got := h.rest(http.MethodGet, "/api/me"+tt.path, request{header: tt.head}).wantStatus(http.StatusOK); !contains(got.body, `"user":"`+tt.user+`"`) {
			t.Errorf("%s: got %s, want the user %s", name, got.body, tt.user)
		}
	}
	for name, tt := range map[string]struct {
		head http.Header
		code wire.Code
	}{
		"nothing":     {nil, wire.CodeAuthRequired},
		"basic":       {header("Authorization", "Basic YTpi"), wire.CodeAuthFailed},
		"no token":    {header("Authorization", "Bearer"), wire.CodeAuthRequired},
		"wrong":       {header("Authorization", "Bearer x"), wire.CodeAuthFailed},
		"wrong key":   {header("X-API-Key", key+"x"), wire.CodeAuthFailed},
		"old":         {header("Authorization", "Bearer "+h.token("ada", -time.Hour)), wire.CodeTokenExpired},
		"bad cookie":  {header("Cookie", "everdesk=x"), wire.CodeAuthFailed},
		"other name":  {header("Cookie", "__Host-everdesk=x"), wire.CodeAuthRequired},
		"wrong first": {header("Authorization", "Bearer x", "X-API-Key", key), wire.CodeAuthFailed},
	} {
		got := h.rest(http.MethodGet, "/api/me", request{header: tt.head})
		got.what += " " + name
		got.wantProblem(http.StatusUnauthorized, tt.code)
		if challenge := got.header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer ") || (tt.code == wire.CodeAuthRequired) == strings.Contains(challenge, "error=") {
			t.Errorf("%s: got WWW-Authenticate %q, want Bearer, with an error only for a bad credential", name, challenge)
		}
	}
	if got := h.server.Refusals().Credentials; got != 9 {
		t.Errorf("%d refused credentials were counted, want 9", got)
	}
	shut := newTestHub(t)
	shut.rest(http.MethodGet, "/api/me?token="+shut.userToken("ada"), request{}).wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	open := newTestHub(t, withAuthMode(auth.ModeNone))
	if got := open.get("/api/me", "").wantStatus(http.StatusOK); !contains(got.body, `"auth":"none"`) {
		t.Errorf("/api/me: got %s, want the mode none", got.body)
	}
}

func TestWhatNeedsNoAuth(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for _, path := range []string{"/", "/login", "/health", "/healthz", "/readyz", "/api/openapi.json"} {
		h.get(path, "").wantStatus(http.StatusOK)
	}
}

func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{Requests: 10, Strangers: 8} })
	ada := h.userToken("ada")
	var refused reply
	for range 11 {
		refused = h.post("/api/ws-ticket", ada, "")
		if refused.status != http.StatusOK {
			break
		}
	}
	p := refused.wantProblem(http.StatusTooManyRequests, wire.CodeRateLimited)
	if refused.header.Get("Retry-After") == "" || refused.header.Get("Retry-After") == "0" || p.RetryAfterMS <= 0 {
		t.Errorf("refused request: got %+v %v, want a time to wait in both", p, refused.header)
	}
	h.get("/api/me", ada).wantStatus(http.StatusOK) // reads have another limit
	h.post("/api/ws-ticket", h.userToken("bob"), "").wantStatus(http.StatusOK)

	for range 9 {
		refused = h.get("/api/me", "wrong")
		if refused.status != http.StatusUnauthorized {
			break
		}
	}
	refused.wantProblem(http.StatusTooManyRequests, wire.CodeRateLimited)
	h.get("/api/me", ada).wantStatus(http.StatusOK) // authenticated clients are not affected
	if got := h.server.Refusals(); got.Rates < 2 || got.Credentials < 2 {
		t.Errorf("counted refusals: got %+v, want at least two of rates and two of credentials", got)
	}
}

func TestKeysAndTickets(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	root := h.userToken("root", "admin")
	var made struct{ Key string }
	h.post("/api/tokens/keys", root, `{"user":"robot","name":"ci","roles":["user"],"expires_in":3600}`).wantStatus(http.StatusCreated).decode(&made)
	if got := h.rest(http.MethodGet, "/api/me", request{header: header("X-API-Key", made.Key)}).wantStatus(http.StatusOK); !contains(got.body, `"user":"robot"`) || !contains(got.body, "expiresAt") {
		t.Errorf("/api/me with the key: got %s, want robot with an end", got.body)
	}
	var list struct {
		Keys []struct {
			ID, Name, User, CreatedAt, ExpiresAt string
			Roles                                []string
		}
	}
	page := h.get("/api/tokens/keys", root).wantStatus(http.StatusOK)
	page.decode(&list)
	if len(list.Keys) != 1 || list.Keys[0].Name != "ci" || list.Keys[0].ExpiresAt == "" || contains(page.body, made.Key) {
		t.Fatalf("keys: got %s, want ci with an end, without the key", page.body)
	}
	h.rest(http.MethodDelete, "/api/tokens/keys/"+list.Keys[0].ID, request{token: root}).wantStatus(http.StatusNoContent)
	h.rest(http.MethodDelete, "/api/tokens/keys/"+list.Keys[0].ID, request{token: root}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodGet, "/api/me", request{header: header("X-API-Key", made.Key)}).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)

	var ticket struct{ Ticket string }
	h.post("/api/tokens/tickets", root, `{"user":"guest","roles":["viewer"],"session":"ses-1"}`).wantStatus(http.StatusOK).decode(&ticket)
	who, err := h.auth.Ticket(t.Context(), ticket.Ticket)
	if err != nil || who.User != "guest" || who.Session != "ses-1" || who.Has(auth.RoleUser) {
		t.Errorf("identity of the ticket: got %+v, error %v, want guest in ses-1, not a user", who, err)
	}
	for _, body := range []string{`{}`, `{"user":""}`, `{"user":"a","roles":["king"]}`, `{"user":"a","expires_in":-1}`, `{"user":"a\nb"}`} {
		h.post("/api/tokens/keys", root, body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.post("/api/tokens/tickets", root, `{"user":"a","roles":["king"]}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if log := h.log.String(); strings.Contains(log, made.Key) || strings.Contains(log, ticket.Ticket) {
		t.Error("got a key or a ticket in the log, want none")
	}
}
