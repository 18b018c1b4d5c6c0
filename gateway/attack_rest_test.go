package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// Attacks with HTTP requests; the other files have those with WebSockets.

// foreignOrigins are origins that a hub at addr must refuse.
func foreignOrigins(addr string) []string {
	return []string{
		"https://evil.example", "null", "http://" + addr + ".evil.example", "http://" + addr + "@evil.example",
		"http://good@" + addr, "https://" + addr, "http://127.0.0.1", "http://127.0.0.1:1", "//" + addr, addr, "http://" + addr + "/",
		"http://" + addr + "/x", "http://" + addr + "?", "http://" + addr + "#", "http://", "file://", "chrome-extension://" + addr, " ",
		"http://" + addr + ", http://evil.example", "http://[::1]:99999", "http://localhost.evil.example",
	}
}

func TestAttackRequestsFromForeignOrigins(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	all := 0
	for _, origin := range foreignOrigins(h.addr) {
		// No lookup: a missing session is refused in the same way.
		for _, path := range []string{sessionPath(id, "/actions"), sessionPath("ses-unknown", "/actions"), "/api/nope"} {
			h.rest(http.MethodPost, path, request{token: ada, body: badgeRequest("mail"), header: header("Origin", origin)}).
				wantProblem(http.StatusForbidden, wire.CodeForbidden)
			all++
		}
	}
	for _, path := range []string{sessionPath(id, "/events"), sessionPath(id, "/snapshot"), "/"} {
		for _, accept := range []string{"text/event-stream", "*/*"} {
			h.rest(http.MethodGet, path, request{token: ada, header: header("Origin", "https://evil.example", "Accept", accept)}).
				wantProblem(http.StatusForbidden, wire.CodeForbidden)
			all++
		}
	}
	if got := h.server.Refusals().Origins; got != uint64(all) {
		t.Errorf("%d refused origins were counted, want %d", got, all)
	}
	if log := h.get(sessionPath(id, "/events"), ada).wantStatus(http.StatusOK); contains(log.body, "app.badge") {
		t.Errorf("events after refused requests: got %s, want no badge", log.body)
	}
}

func TestAttackRequestsFromSandboxedFrames(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeNone))
	// Not even in mode none, and not for reading either.
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		h.rest(method, "/api/sessions", request{header: header("Origin", "null")}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	h.post("/api/sessions", "", "").wantStatus(http.StatusCreated)
}

func TestAttackRequestsToReboundNames(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeNone), func(p *hubOptions) { p.gateway.Hosts = []string{"Desk.Example.org:8443", "192.0.2.7", "[2001:db8::7]"} })
	_, port, err := net.SplitHostPort(h.addr)
	if err != nil {
		t.Fatal(err)
	}
	bad := []string{
		"evil.example", "evil.example:" + port, "localhost.evil.example", "127.0.0.1.evil.example", "evillocalhost", "192.0.2.8", "0.0.0.0",
		"desk.example.org.evil.example", "127.1", "2130706433", "0x7f000001", "[::ffff:192.0.2.8]", "169.254.169.254", "evil.example.", "*",
	}
	for _, host := range bad {
		for _, path := range []string{"/", "/api/sessions", "/healthz", "/api/nope", "/api/sessions/x/events"} {
			h.rest(http.MethodGet, path, request{host: host, header: header("Origin", "http://"+host)}).
				wantProblem(http.StatusMisdirectedRequest, wire.CodeInvalidMessage)
		}
	}
	if got, want := h.server.Refusals().Hosts, uint64(5*len(bad)); got != want {
		t.Errorf("%d refused hosts were counted, want %d", got, want)
	}
	for _, host := range []string{
		h.addr, "localhost", "localhost:1", "LOCALHOST:" + port, "localhost.", "a.localhost", "127.0.0.1", "127.9.9.9:80", "[::1]:80",
		"[::ffff:127.0.0.1]", "desk.example.org", "DESK.example.ORG:99", "desk.example.org.", "192.0.2.7:8080", "[2001:db8::7]:80", "[2001:DB8:0::7]",
	} {
		h.rest(http.MethodGet, "/api/sessions", request{host: host}).wantStatus(http.StatusOK)
	}
	anyName := newTestHub(t, func(p *hubOptions) { p.gateway.Hosts = []string{"*"} })
	anyName.rest(http.MethodGet, "/healthz", request{host: "whatever.example"}).wantStatus(http.StatusOK)
}

func TestAttackOwnOriginsAndListedOnes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) {
		p.gateway.Hosts, p.gateway.Origins = []string{"desk.example.org"}, []string{"https://Other.example", "http://localhost:5173/"}
	})
	ada := h.userToken("ada")
	for _, r := range []struct{ host, origin string }{
		{h.addr, "http://" + h.addr},
		{"desk.example.org", "http://desk.example.org"},
		{"desk.example.org:80", "http://desk.example.org"},
		{"desk.example.org:8080", "http://desk.example.org:8080"},
		{h.addr, "https://other.example"},
		{h.addr, "http://localhost:5173"},
		{"localhost:8080", "http://localhost:8080"},
		{"[::1]:8080", "http://[::1]:8080"},
	} {
		h.rest(http.MethodPost, "/api/sessions", request{token: ada, host: r.host, header: header("Origin", r.origin)}).wantStatus(http.StatusCreated)
	}
	for _, r := range []struct{ host, origin string }{
		{"desk.example.org:8080", "http://desk.example.org"},
		{"localhost:8080", "http://127.0.0.1:8080"},
		{h.addr, "http://other.example"},
		{h.addr, "https://other.example:8443"},
		{h.addr, "http://localhost:5174"},
		{h.addr, "https://x.other.example"},
		{h.addr, "https://other.example.evil.example"},
	} {
		h.rest(http.MethodPost, "/api/sessions", request{token: ada, host: r.host, header: header("Origin", r.origin)}).
			wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	// Two Origin headers are refused.
	two := header("Origin", "http://"+h.addr)
	two.Add("Origin", "https://evil.example")
	h.rest(http.MethodPost, "/api/sessions", request{token: ada, header: two}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
}

func TestPagesOfListedOriginsAreAnswered(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.Origins = []string{"https://other.example"} })
	ask := h.rest(http.MethodOptions, "/api/sessions", request{header: header(
		"Origin", "https://other.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type",
	)}).wantStatus(http.StatusNoContent)
	if ask.header.Get("Access-Control-Allow-Origin") != "https://other.example" || !strings.Contains(ask.header.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(ask.header.Get("Access-Control-Allow-Headers"), "Authorization") || ask.header.Get("Vary") != "Origin" {
		t.Errorf("preflight: got %v, want the origin, POST and Authorization allowed", ask.header)
	}
	got := h.rest(http.MethodGet, "/api/me", request{token: h.userToken("ada"), header: header("Origin", "https://other.example")}).wantStatus(http.StatusOK)
	if got.header.Get("Access-Control-Allow-Origin") != "https://other.example" {
		t.Errorf("headers: got %v, want the origin allowed", got.header)
	}
	h.rest(http.MethodOptions, "/api/sessions", request{header: header("Origin", "https://evil.example", "Access-Control-Request-Method", "POST")}).
		wantProblem(http.StatusForbidden, wire.CodeForbidden)
	// The hub's own pages need no CORS headers, and get none.
	own := h.rest(http.MethodGet, "/api/me", request{token: h.userToken("ada"), header: header("Origin", "http://"+h.addr)}).wantStatus(http.StatusOK)
	if own.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("headers for an own page: got %v, want no CORS", own.header)
	}
}

func TestAttackChangesByCookieWithoutOrigin(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	c := cookieOf(t, h.post("/api/login", "", `{"token":"`+h.userToken("ada")+`"}`).wantStatus(http.StatusOK))
	cookie := c.Name + "=" + c.Value
	id := h.newSession("ada")
	for _, r := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/sessions", ""},
		{http.MethodDelete, sessionPath(id), ""},
		{http.MethodPost, sessionPath(id, "/actions"), badgeRequest("mail")},
		{http.MethodPut, sessionPath(id, "/files/x"), "x"},
		{http.MethodPost, "/api/logout", ""},
		{http.MethodPost, "/api/ws-ticket", ""},
	} {
		for _, site := range []string{"", "cross-site", "same-site", "none"} {
			head := header("Cookie", cookie)
			if site != "" {
				head.Set("Sec-Fetch-Site", site)
			}
			h.rest(r.method, r.path, request{body: r.body, header: head}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
		}
	}
	// Reading is harmless, and the hub's own pages may do everything.
	h.rest(http.MethodGet, "/api/sessions", request{header: header("Cookie", cookie)}).wantStatus(http.StatusOK)
	h.rest(http.MethodPost, "/api/sessions", request{header: header("Cookie", cookie, "Sec-Fetch-Site", "same-origin")}).wantStatus(http.StatusCreated)
	h.rest(http.MethodPost, "/api/sessions", request{header: h.ownHeaders(c)}).wantStatus(http.StatusCreated)
	// Browsers do not send a token on their own, with or without a cookie.
	h.rest(http.MethodPost, "/api/sessions", request{token: h.userToken("ada"), header: header("Cookie", cookie)}).wantStatus(http.StatusCreated)
	// In mode none, Sec-Fetch-Site counts.
	open := newTestHub(t, withAuthMode(auth.ModeNone))
	open.rest(http.MethodPost, "/api/sessions", request{header: header("Sec-Fetch-Site", "cross-site")}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	// HTML forms of other pages cannot send JSON.
	open.rest(http.MethodPost, "/api/sessions", request{body: `{"title":"x"}`, header: header("Content-Type", "text/plain")}).
		wantProblem(http.StatusUnsupportedMediaType, wire.CodeInvalidMessage)
}

func TestAttackSessionIDsInPaths(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	h.newSession("ada")
	unknown := h.get(sessionPath("ses-unknown"), ada)
	unknown.wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	foreign := h.get(sessionPath(h.newSession("bob")), ada)
	if foreign.status != unknown.status || !bytes.Equal(foreign.body, unknown.body) {
		t.Errorf("foreign session: got %d %s, want %d %s as for an unknown one", foreign.status, foreign.body, unknown.status, unknown.body)
	}
	for _, id := range []string{
		"..%2Fx", "%2e%2e", strings.Repeat("x", 10<<10), "%ED%95%9C", "%7Bp1%7D", "a%00b", "a%0Ab", "a%20b", "a%2F..%2Fb", "*", "ses-1%0D%0A", "%FF",
	} {
		for _, r := range []struct{ method, path, body string }{
			{http.MethodGet, "", ""},
			{http.MethodGet, "/snapshot", ""},
			{http.MethodGet, "/events", ""},
			{http.MethodGet, "/files/x", ""},
			{http.MethodDelete, "", ""},
			{http.MethodPost, "/messages", `{"content":"x"}`},
			{http.MethodPut, "/files/x", "x"},
		} {
			got := h.rest(r.method, "/api/sessions/"+id+r.path, request{token: ada, body: r.body})
			if got.status != unknown.status || !bytes.Equal(got.body, unknown.body) {
				t.Errorf("%s %.40s%s: got %d %.200s, want the same as for an unknown session, %d", r.method, id, r.path, got.status, got.body, unknown.status)
			}
		}
		for _, path := range []string{"/api/shortcuts?sessionId=", "/api/storage/x?sessionId="} {
			h.get(path+id, ada).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
		}
	}
}

func TestAttackAdminRoutesAreNotThereForUsers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	tokens := []string{h.userToken("ada"), h.userToken("olaf", "viewer")}
	for _, token := range tokens {
		for _, r := range []struct{ method, path, body string }{
			{http.MethodGet, "/api/tokens/keys", ""},
			{http.MethodPost, "/api/tokens/keys", `{"user":"ada","roles":["admin"]}`},
			{http.MethodDelete, "/api/tokens/keys/0123456789abcdef", ""},
			{http.MethodPost, "/api/tokens/tickets", `{"user":"root","roles":["admin"]}`},
		} {
			got := h.rest(r.method, r.path, request{token: token, body: r.body})
			got.wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
			nowhere := h.rest(http.MethodGet, "/api/tokens/nowhere", request{token: token})
			if want := strings.ReplaceAll(string(nowhere.body), "/api/tokens/nowhere", r.path); string(got.body) != want {
				t.Errorf("%s %s: %s, what is not there is %s", r.method, r.path, got.body, want)
			}
		}
		h.get("/api/sessions?all=true", token).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	h.get("/api/tokens/keys", "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.get("/api/tokens/keys", h.userToken("root", "admin")).wantStatus(http.StatusOK)
}

func TestAttackSpoofedAddressesOfRequests(t *testing.T) {
	t.Parallel()
	spoof := func(i int) http.Header {
		from := fmt.Sprintf("10.0.1.%d", i)
		return header("X-Forwarded-For", from, "X-Real-IP", from, "Forwarded", "for="+from)
	}
	few := func(p *hubOptions) { p.limits = ratelimit.Config{Strangers: 4} }
	h := newTestHub(t, few)
	limited := 0
	for i := range 12 {
		if h.rest(http.MethodGet, "/api/me", request{header: spoof(i)}).status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 8 {
		t.Errorf("refused requests of 12: got %d, want at least 8", limited)
	}
	// With a trusted proxy each client behind it has a limit of its own, and X-Forwarded-For
	// entries that clients add have no effect.
	h = newTestHub(t, few, func(p *hubOptions) { p.gateway.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	for i := range 12 {
		h.rest(http.MethodGet, "/api/me", request{header: spoof(i)}).wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	}
	limited = 0
	for i := range 12 {
		if h.rest(http.MethodGet, "/api/me", request{header: header("X-Forwarded-For", fmt.Sprintf("10.0.2.%d, 203.0.113.9", i))}).status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 8 {
		t.Errorf("refused requests of 12: got %d, want at least 8", limited)
	}
}

func TestAttackRequestsThatNeverEnd(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	// The header of a request may be large, but not endless.
	res, err := h.sendRaw("GET /healthz HTTP/1.1\r\nHost: " + h.addr + "\r\nX-Long: " + strings.Repeat("x", 1<<20) + "\r\n\r\n")
	if err != nil || !strings.HasPrefix(res, "HTTP/1.1 431 ") {
		t.Errorf("header of 1 MiB: got %.100q, error %v, want status 431", res, err)
	}
	// The server does not wait for a body whose announced size is too large.
	id := h.newSession("ada")
	res, err = h.sendRaw("PUT " + sessionPath(id, "/files/x") + " HTTP/1.1\r\nHost: " + h.addr + "\r\nAuthorization: Bearer " + h.userToken("ada") +
		"\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n")
	if err != nil || !strings.HasPrefix(res, "HTTP/1.1 413 ") {
		t.Errorf("file of 100 GB: got %.300q, error %v, want status 413", res, err)
	}
	// A request without Host is refused.
	res, err = h.sendRaw("GET /healthz HTTP/1.0\r\n\r\n")
	if err != nil || !strings.HasPrefix(res, "HTTP/1.0 421 ") {
		t.Errorf("request without Host: got %.300q, error %v, want status 421", res, err)
	}
}

// sendRaw sends bytes and reads until the hub closes the connection.
func (h *testHub) sendRaw(text string) (string, error) {
	h.t.Helper()
	var d net.Dialer
	c, err := d.DialContext(h.t.Context(), "tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }() // the hub may respond before it has read all
	head := make([]byte, 512)
	n, err := io.ReadAtLeast(c, head, 16)
	return string(head[:n]), err
}

func TestAttackFloodOfRequests(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{Strangers: 30} })
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	let := 0
	for range 3000 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.addr+"/api/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusTooManyRequests {
			let++
		}
	}
	if let == 0 || let > 60 { // the test may take longer than a minute on a busy machine
		t.Errorf("%d requests got through, want about 30", let)
	}
	if got := h.server.Refusals().Rates; got < 2900 {
		t.Errorf("counted refusals: got %d, want at least 2900", got)
	}
}

func TestAttackPathsThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id, other := h.newSession("ada"), h.newSession("bob")
	if _, err := h.fileStore.Save(t.Context(), other, "secret", strings.NewReader("SECRET"), 6); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"../" + string(other) + "/secret", "..%2F" + string(other) + "%2Fsecret", "%2e%2e%2f" + string(other) + "%2fsecret", "../../etc/passwd",
		"..%5C..%5Cetc%5Cpasswd", url.PathEscape(secret), "%2Fetc%2Fpasswd", "a%00b", "C:%5Cx", "c:x", strings.Repeat("n", 300), "a%0Ab", "a/%2E%2E/b", "a//b",
		"CON", "nul.txt", "%FF", "", ".", ".partial/x", "a/",
	} {
		for _, base := range []string{sessionPath(id, "/files/"), "/api/storage/"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				got := h.rest(method, base+name, request{token: ada, body: map[bool]string{true: "x"}[method == http.MethodPost]})
				if got.status < 400 || contains(got.body, "SECRET") {
					t.Errorf("%s %s%.60s: got %d %s, want a refusal without the secret", method, base, name, got.status, got.body)
				}
			}
		}
		if name != "" {
			if got := h.get(sessionPath(id, "/files?folder=")+name, ada); got.status < 400 {
				t.Errorf("folder %s: got %d %s, want a refusal", name, got.status, got.body)
			}
		}
	}
	if all, err := h.fileStore.List(t.Context(), id, ""); err != nil || len(all) != 0 {
		t.Errorf("files of the session: got %+v, error %v, want none", all, err)
	}
	if all, err := h.fileStore.List(t.Context(), other, ""); err != nil || len(all) != 1 {
		t.Errorf("files of another session: got %+v, error %v, want one", all, err)
	}
}

func TestAttackIDsInRequestsAreNoCode(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	for _, key := range []string{"}", "'; return redis.call('FLUSHALL')", "{p1}", "$(reboot)", "%s%n"} {
		got := h.rest(http.MethodPost, sessionPath(id, "/actions"), request{token: ada, body: badgeRequest("mail"), header: header("Idempotency-Key", key)}).wantStatus(http.StatusOK)
		var done struct {
			MessageID string `json:"messageId"`
		}
		if got.decode(&done); done.MessageID != key {
			t.Errorf("id: got %q, want %q", done.MessageID, key)
		}
	}
	for _, body := range []string{
		`{"content":"x","messageId":"a\nb"}`, `{"content":"x","messageId":"\u0000"}`, `{"content":"x","monitorId":"{p1}"}`, `{"content":"x","monitorId":"a\nb"}`,
	} {
		h.post(sessionPath(id, "/messages"), ada, body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	for _, user := range []string{"a%0Ab", "%00"} {
		h.rest(http.MethodPut, sessionPath(id, "/shares/"+user), request{token: ada, body: `{"access":"viewer"}`}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.get(sessionPath(id), ada).wantStatus(http.StatusOK)
}

func TestAttackLogInjectionByRequests(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const evil = "x\r\nlevel=ERROR msg=\"all is lost\"\x1b[31m"
	escaped := url.PathEscape(evil)
	ada, root := h.userToken("ada"), h.userToken("root", "admin")
	id := h.newSession("ada")
	h.get("/"+escaped, ada)
	h.get(sessionPath(id, "/files/", escaped), ada)
	h.get("/api/me?token="+url.QueryEscape("secret-"+evil), ada)
	h.get("/api/sessions/"+escaped, ada)
	h.post(sessionPath(id, "/messages"), ada, `{"content":"secret words\r\nlevel=ERROR \u001b[31m"}`)
	h.post("/api/tokens/keys", root, `{"user":"bob","name":"x\r\ny\u001b[31m"}`)
	h.post("/api/tokens/keys", root, `{"user":"bob","name":"sp ace=\"quote\""}`).wantStatus(http.StatusCreated)
	h.rest(http.MethodPut, sessionPath(id, "/files/a.txt"), request{token: ada, body: "secret file"}).wantStatus(http.StatusCreated)
	h.post("/api/login", "", `{"token":"secret-token"}`)
	log := h.log.String()
	for _, never := range []string{"\x1b", "\nlevel=ERROR msg=\"all is lost\"", "secret", ada, root} {
		if strings.Contains(log, never) {
			t.Errorf("log: got\n%s\nwant it without %q", log, never)
		}
	}
	if !strings.Contains(log, "path=") {
		t.Errorf("log: got\n%s\nwant the requests with their paths", log)
	}
}
