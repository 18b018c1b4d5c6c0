package gateway_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
)

// pages returns a site of a few files.
func pages(files map[string]string) *web.Site {
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	site, err := web.NewSite(folder)
	if err != nil {
		panic(err) // cannot fail: in memory
	}
	return site
}

// withPages adds a desktop, and apps with a listener of their own.
func withPages(p *hubOptions) {
	p.desktop = pages(map[string]string{
		"index.html": "<!doctype html><title>our desktop</title>", "assets/index-abcd1234.js": "console.log(1)",
		"assets/index-abcd1234.js.br": "<brotli>", "icon.svg": "<svg/>",
	})
	p.apps = pages(map[string]string{"stage.html": "stage", "diagram.html": "diagram", "stage.js": "script"})
	p.ownApps = true
}

func TestOurDesktop(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, withAuthMode(auth.ModeToken))
	c := h.signIn(t, h.auth.InstallationToken())
	page := h.rest(http.MethodGet, "/?session=ses-1", request{header: header("Cookie", c.Name+"="+c.Value)}).wantStatus(http.StatusOK)
	if !contains(page.body, "our desktop") || page.header.Get("Cache-Control") != "no-cache" || page.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("page: got %v %s, want our desktop as HTML with no-cache", page.header, page.body)
	}
	for _, part := range []string{
		"default-src 'none'; ", "script-src 'self'; ", "style-src 'self'; ", "connect-src 'self' ws://" + h.addr + " wss://" + h.addr + ";",
		"frame-src http://" + h.apps + ";", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types dompurify",
	} {
		if !strings.Contains(page.header.Get("Content-Security-Policy"), part) {
			t.Errorf("policy: got %q, want it to contain %q", page.header.Get("Content-Security-Policy"), part)
		}
	}
	if strings.Contains(page.header.Get("Content-Security-Policy"), "unsafe") || !strings.Contains(page.header.Get("Permissions-Policy"), "camera=()") ||
		page.header.Get("Cross-Origin-Opener-Policy") != "same-origin" || page.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: got %v, want nothing unsafe, no camera, same-origin and nosniff", page.header)
	}
	again := h.rest(http.MethodGet, "/", request{header: header("Cookie", c.Name+"="+c.Value, "If-None-Match", page.header.Get("ETag"))})
	if again.wantStatus(http.StatusNotModified); len(again.body) > 0 {
		t.Errorf("page that did not change: got %s, want no body", again.body)
	}
	// Without a cookie the same request gets another response.
	if got := h.rest(http.MethodGet, "/", request{header: header("If-None-Match", page.header.Get("ETag"))}).wantStatus(http.StatusOK); !contains(got.body, "<form") {
		t.Errorf("page without a cookie: got %s, want the form", got.body)
	}
}

func TestDesktopOrSignInPage(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, withAuthMode(auth.ModeToken))
	for _, cookie := range []string{"", "everdesk=" + strings.Repeat("x", 43), "everdesk=x"} {
		got := h.rest(http.MethodGet, "/?session=a%22b", request{header: header("Cookie", cookie)}).wantStatus(http.StatusOK)
		if contains(got.body, "our desktop") || !contains(got.body, `action="/login?session=a%22b"`) || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("page with cookie %q: got %s, want the form, not stored", cookie, got.body)
		}
	}
	// A link on another site: the browser withholds the cookie.
	if got := h.rest(http.MethodGet, "/", request{header: header("Sec-Fetch-Site", "cross-site")}).wantStatus(http.StatusOK); !contains(got.body, "our desktop") {
		t.Errorf("page from another site: got %s, want our desktop", got.body)
	}
	if got := h.get("/join", "").wantStatus(http.StatusOK); !contains(got.body, "our desktop") || !strings.Contains(got.header.Get("Content-Security-Policy"), "trusted-types") {
		t.Errorf("/join: got %v %s, want our desktop with trusted types", got.header, got.body)
	}
	c := h.signIn(t, h.auth.InstallationToken())
	if got := h.rest(http.MethodGet, "/login", request{header: header("Cookie", c.Name+"="+c.Value)}).wantStatus(http.StatusOK); !contains(got.body, `class="open" href="/">`) {
		t.Errorf("/login with a cookie: got %s, want a link to the desktop", got.body)
	}
}

func TestFilesOfOurDesktop(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages)
	const script = "/assets/index-abcd1234.js"
	got := h.get(script, "").wantStatus(http.StatusOK)
	if string(got.body) != "console.log(1)" || got.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || got.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("script: got %v %s, want it plain and immutable", got.header, got.body)
	}
	got = h.rest(http.MethodGet, script, request{header: header("Accept-Encoding", "gzip, br")}).wantStatus(http.StatusOK)
	if string(got.body) != "<brotli>" || got.header.Get("Content-Encoding") != "br" {
		t.Errorf("compressed script: got %v %s, want brotli", got.header, got.body)
	}
	h.rest(http.MethodHead, script, request{}).wantStatus(http.StatusOK)
	html := header("Accept", "text/html")
	for _, path := range []string{"/settings", "/index.html", "/join/x", "/assets/gone-abcd1234.js", script + ".br", "/api", "/api/nope", "/ws/", "/assets/", "/%2e%2e/x"} {
		h.rest(http.MethodGet, path, request{header: html}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	}
	h.rest(http.MethodPost, "/api/nope", request{}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodPost, "/join", request{}).wantProblem(http.StatusMethodNotAllowed, wire.CodeInvalidMessage)
}

func TestLinksLeadOn(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, withAuthMode(auth.ModeToken))
	token := url.QueryEscape(h.auth.InstallationToken())
	for path, want := range map[string]string{
		"/?session=ses-1&token=" + token + "&monitor=monitor-1":                           "/?monitor=monitor-1&session=ses-1",
		"/login?token=" + token + "&session=" + url.QueryEscape("//evil.example\r\nX: y"): "/?session=%2F%2Fevil.example%0D%0AX%3A+y",
		"/?token=" + token: "/",
	} {
		if got := h.get(path, "").wantStatus(http.StatusSeeOther); got.header.Get("Location") != want {
			t.Errorf("location after %s: got %q, want %q", path, got.header.Get("Location"), want)
		}
	}
	got := h.rest(http.MethodPost, "/login?session=ses-1", request{
		body: "token=" + token, header: header("Content-Type", "application/x-www-form-urlencoded", "Origin", "http://"+h.addr),
	}).wantStatus(http.StatusSeeOther)
	if got.header.Get("Location") != "/?session=ses-1" {
		t.Errorf("headers after the form: got %v, want the location /?session=ses-1", got.header)
	}
}

func TestLanguageOfThePage(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAuthMode(auth.ModeToken))
	for accept, want := range map[string]string{
		"": "en", "ko": "ko", "ko-KR,ko;q=0.9,en;q=0.8": "ko", "en-GB,ko;q=0.5": "en", "fr,ko;q=0.2": "ko", "fr": "en", "ko;q=0,en;q=0.1": "en", "ko;q=x": "en", "KO": "ko",
	} {
		got := h.rest(http.MethodGet, "/", request{header: header("Accept-Language", accept)}).wantStatus(http.StatusOK)
		if !contains(got.body, `<html lang="`+want+`">`) || contains(got.body, "{{") {
			t.Errorf("page for %q: got %s, want language %s", accept, got.body, want)
		}
	}
	got := h.rest(http.MethodPost, "/login", request{
		body: "token=x", header: header("Content-Type", "application/x-www-form-urlencoded", "Accept-Language", "ko", "Origin", "http://"+h.addr),
	}).wantStatus(http.StatusUnauthorized)
	if !contains(got.body, "토큰이 맞지 않아요") {
		t.Errorf("page after a wrong token: got %s, want a Korean text", got.body)
	}
}
