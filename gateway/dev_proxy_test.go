package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// newDevServer starts a development server that echoes requests and WebSocket messages.
func newDevServer(t *testing.T) *url.URL {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"vite-hmr"}, InsecureSkipVerify: true})
			if err != nil {
				return
			}
			kind, frame, err := ws.Read(r.Context())
			if err == nil {
				_ = ws.Write(r.Context(), kind, frame)
			}
			_, _, _ = ws.Read(r.Context()) // until it is closed
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Set-Cookie", "everdesk=evil")
		w.Header().Set("Content-Security-Policy", "default-src *")
		_, _ = w.Write([]byte("tool " + r.Host + r.URL.RequestURI() + " " + r.Header.Get("Cookie") + r.Header.Get("Authorization")))
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDevServerServesTheDesktop(t *testing.T) {
	t.Parallel()
	at := newDevServer(t)
	h := newTestHub(t, withPages, withAuthMode(auth.ModeToken), func(p *hubOptions) { p.gateway.WebDev = at })
	c := h.signIn(t, h.auth.InstallationToken())
	cookie := header("Cookie", c.Name+"="+c.Value)
	for _, path := range []string{"/?session=s", "/join", "/@vite/client", "/src/main.tsx?t=1", "/node_modules/.vite/deps/react.js"} {
		got := h.rest(http.MethodGet, path, request{header: cookie}).wantStatus(http.StatusOK)
		if string(got.body) != "tool "+at.Host+path+" " || got.header.Get("Set-Cookie") != "" || got.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: got %v %s, want the answer of the dev server without cookies", path, got.header, got.body)
		}
		if policies := got.header.Values("Content-Security-Policy"); len(policies) != 1 || !strings.Contains(policies[0], "'unsafe-inline'") {
			t.Errorf("%s: got policies %q, want one with 'unsafe-inline'", path, policies)
		}
	}
	if got := h.get("/", "").wantStatus(http.StatusOK); !contains(got.body, "<form") {
		t.Errorf("page without a cookie: got %s, want the form", got.body)
	}
	for _, path := range []string{"/api/nope", "/api", "/ws/"} {
		h.rest(http.MethodGet, path, request{header: cookie}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	}
	h.rest(http.MethodGet, "/api/me", request{header: cookie}).wantStatus(http.StatusOK)
	// The development server's WebSocket has a token of its own.
	x := h.mustDial("/?token=vite", dialOptions{header: h.ownHeaders(c), protos: []string{"vite-hmr"}})
	x.writeRaw(websocket.MessageText, []byte("ping"))
	if _, frame, err := x.ws.Read(t.Context()); err != nil || string(frame) != "ping" {
		t.Errorf("echo of the dev server: got %q, error %v, want ping", frame, err)
	}
	h.wantRefused("/?token=vite", dialOptions{header: header("Origin", "http://evil.example")}, http.StatusForbidden, wire.CodeForbidden)
}

func TestDevServerIsUnavailable(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, withAuthMode(auth.ModeNone), func(p *hubOptions) { p.gateway.WebDev = &url.URL{Scheme: "http", Host: "127.0.0.1:1"} })
	h.get("/", "").wantProblem(http.StatusBadGateway, wire.CodeConnectionFailed)
}
