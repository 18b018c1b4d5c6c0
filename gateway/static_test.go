package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// newDesktopHub starts a hub that serves another desktop.
func newDesktopHub(t *testing.T) *testHub {
	t.Helper()
	dir, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, "index.html"):                     "<!doctype html><title>다른 desktop</title>",
		filepath.Join(dir, "assets", "index-DiwrgTda.js"):    "console.log(1)",
		filepath.Join(dir, "assets", "style.css"):            "body{}",
		filepath.Join(dir, "assets", "apple-touch-icon.png"): "png",
		filepath.Join(dir, "font.otf"):                       "otf",
		filepath.Join(dir, "odd.thing"):                      "?",
		filepath.Join(dir, ".env"):                           "SECRET",
		filepath.Join(dir, ".git", "config"):                 "SECRET",
		filepath.Join(outside, "secret.txt"):                 "SECRET",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	return newTestHub(t, withAuthMode(auth.ModeToken), func(p *hubOptions) { p.gateway.DesktopDir = dir })
}

func TestAnotherDesktop(t *testing.T) {
	t.Parallel()
	h := newDesktopHub(t)
	for path, want := range map[string]struct{ media, cache, text string }{
		"/":                            {"text/html; charset=utf-8", "no-cache", "다른"},
		"/index.html":                  {"text/html; charset=utf-8", "no-cache", "다른"},
		"/assets/index-DiwrgTda.js":    {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "console"},
		"/assets/style.css":            {"text/css; charset=utf-8", "no-cache", "body"},
		"/assets/apple-touch-icon.png": {"image/png", "no-cache", "png"},
		"/font.otf":                    {"font/otf", "no-cache", "otf"},
		"/odd.thing":                   {"application/octet-stream", "no-cache", "?"},
	} {
		got := h.get(path, "").wantStatus(http.StatusOK)
		if !contains(got.body, want.text) || got.header.Get("Content-Type") != want.media || got.header.Get("Cache-Control") != want.cache {
			t.Errorf("%s: got %q %v, want %q as %s with %q", path, got.body, got.header, want.text, want.media, want.cache)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(got.header.Get("Content-Security-Policy"), "script-src 'self' blob:;") {
			t.Errorf("%s: got %v, want nosniff and scripts from 'self' and blob:", path, got.header)
		}
		etag := got.header.Get("ETag")
		h.rest(http.MethodGet, path, request{header: header("If-None-Match", etag)}).wantStatus(http.StatusNotModified)
		h.rest(http.MethodHead, path, request{}).wantStatus(http.StatusOK)
	}
	// The token of the printed URL is exchanged before the desktop is served.
	cookieOf(t, h.get("/?token="+h.auth.InstallationToken(), "").wantStatus(http.StatusSeeOther))
	if got := h.get("/login", "").wantStatus(http.StatusOK); !contains(got.body, "<form") {
		t.Errorf("/login: got %s, want the form", got.body)
	}
}

func TestPagesOfAnotherDesktop(t *testing.T) {
	t.Parallel()
	h := newDesktopHub(t)
	html := header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	for _, path := range []string{"/sessions/7", "/settings"} {
		if got := h.rest(http.MethodGet, path, request{header: html}).wantStatus(http.StatusOK); !contains(got.body, "다른") {
			t.Errorf("%s: got %s, want the other desktop", path, got.body)
		}
		h.get(path, "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		h.rest(http.MethodPost, path, request{header: html}).wantProblem(http.StatusMethodNotAllowed, wire.CodeInvalidMessage)
	}
	for _, path := range []string{"/missing.js", "/api/nope", "/api", "/ws/", "/assets/nope.css"} {
		h.rest(http.MethodGet, path, request{header: html}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	}
}

func TestDesktopFolderIsNoWayOut(t *testing.T) {
	t.Parallel()
	h := newDesktopHub(t)
	html := header("Accept", "text/html")
	for _, path := range []string{
		"/.env", "/.git/config", "/out/secret.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2f.env", "/assets/../.env",
		"/..%5c.env", "/assets%00.js", "/out", "/assets", "//.env", "/%2eenv", "/C:/x.txt", "/assets/",
	} {
		got := h.rest(http.MethodGet, path, request{header: html})
		if contains(got.body, "SECRET") {
			t.Errorf("%s: got %d %s, want it without the secret", path, got.status, got.body)
		}
		if got.status != http.StatusNotFound && !contains(got.body, "다른") { // the index page is fine, too
			t.Errorf("%s: got %d %s, want %d or the other desktop", path, got.status, got.body, http.StatusNotFound)
		}
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	for _, r := range []reply{
		h.get("/", ""), h.get("/api/sessions", ada), h.get("/api/nope", ada), h.get("/api/me", ""), h.get("/healthz", ""),
		h.rest(http.MethodGet, "/", request{host: "evil.example"}),
	} {
		if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Referrer-Policy") != "no-referrer" ||
			!strings.HasPrefix(r.header.Get("Content-Security-Policy"), "default-src 'none'") || r.header.Get("Cache-Control") == "" ||
			r.header.Get("Cross-Origin-Resource-Policy") != "same-origin" || r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: got %v, want the headers of every answer and no CORS", r.what, r.header)
		}
	}
}
