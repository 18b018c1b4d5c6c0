package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/browser"
	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/providers/outbound"
)

// domains is the list of every user.
type domains fetch.List

func (d domains) Of(context.Context, string) (fetch.List, error) { return fetch.List(d), nil }

// site is a web server that records the hosts and paths of its requests.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

// serve starts a server with pages by path. LOCALHOST in a page is the address of the same server under
// another name.
func serve(t *testing.T, pages map[string]string) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Host+r.URL.RequestURI())
		s.mu.Unlock()
		if to, ok := strings.CutPrefix(r.URL.Path, "/redirect/"); ok {
			http.Redirect(w, r, "http://"+to+"/", http.StatusFound)
			return
		}
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		body = strings.NewReplacer("LOCALHOST", s.other(), "QUERY", r.URL.Query().Get("q")).Replace(body)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) port() string {
	u, _ := url.Parse(s.URL)
	return u.Port()
}

// other returns the host of the server under the name that users have not allowed.
func (s *site) other() string { return "localhost:" + s.port() }

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// manager returns browsers that may show pages of 127.0.0.1 on the given ports.
func manager(t *testing.T, change func(*browser.Config), ports ...string) *browser.Manager {
	t.Helper()
	path, err := browser.Find()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range ports {
		list = append(list, "127.0.0.1:"+p, "localhost:"+p)
	}
	hosts, err := outbound.ParseHosts(strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	cfg := browser.Config{
		Path: path, Domains: domains{Names: []string{"127.0.0.1"}}, Hosts: hosts, NoSandbox: os.Geteuid() == 0, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	m := browser.New(cfg)
	t.Cleanup(m.Shutdown)
	return m
}

func TestActions(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{
		"/": `<title>First</title><h1>Welcome</h1><a href="/next" target="_blank">Go on</a><button id="b" onclick="alert('x'); document.title='Clicked'">Press me</button>
			<form action="/search"><input name="q" value="old"></form><div style="height:3000px"></div><p hidden>secret</p>`,
		"/next":   `<title>Second</title><a href="/">Back</a>`,
		"/search": `<title>Found QUERY</title>`,
	})
	m := manager(t, nil, s.port())
	ctx := t.Context()
	step := func(what, want string) func(browser.State, error) {
		return func(got browser.State, err error) {
			t.Helper()
			if err != nil || got.Title != want {
				t.Fatalf("%s: the page is %+v (%v), want the title %q", what, got, err, want)
			}
		}
	}
	if _, err := m.Click(ctx, "s", "#b", ""); !errors.Is(err, browser.ErrNoPage) {
		t.Errorf("a click without a page gives %v, want %v", err, browser.ErrNoPage)
	}
	step("open", "First")(m.Open(ctx, "s", "ada", s.URL+"/"))
	step("click a button that shows a dialog", "Clicked")(m.Click(ctx, "s", "", "press ME"))
	text, err := m.Extract(ctx, "s", "")
	if err != nil || !strings.Contains(text.Text, "Welcome") || strings.Contains(text.Text, "secret") || text.URL != s.URL+"/" {
		t.Errorf("the text is %+v (%v), want what is visible", text, err)
	}
	if want := []browser.Link{{URL: s.URL + "/next", Label: "Go on"}}; !slices.Equal(text.Links, want) {
		t.Errorf("the links are %+v, want %+v", text.Links, want)
	}
	picture, _, err := m.Screenshot(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if img, err := jpeg.Decode(bytes.NewReader(picture)); err != nil || img.Bounds().Dx() != 1280 {
		t.Errorf("the picture has %d bytes (%v), want a JPEG of 1280 pixels", len(picture), err)
	}
	step("scroll", "Clicked")(m.Scroll(ctx, "s", browser.Bottom))
	step("open a link that wants a new tab", "Second")(m.Click(ctx, "s", "", "Go on"))
	step("go back", "First")(m.Click(ctx, "s", "a", ""))
	step("type", "First")(m.Type(ctx, "s", "[name=q]", "tea & cake"))
	step("press", "Found tea & cake")(m.Press(ctx, "s", "Enter"))
	for name, got := range map[string]struct{ got, want error }{
		"no element":   {second(m.Click(ctx, "s", "#missing", "")), browser.ErrNoElement},
		"not editable": {second(m.Type(ctx, "s", "body", "x")), browser.ErrNotEditable},
		"no key":       {second(m.Press(ctx, "s", "Hyper")), browser.ErrKey},
	} {
		if !errors.Is(got.got, got.want) {
			t.Errorf("%s gives %v, want %v", name, got.got, got.want)
		}
	}
}

func second(_ browser.State, err error) error { return err }

// The page is always on an allowed domain, whatever leads elsewhere.
func TestPagesOfOtherDomainsAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"/": `<title>Home</title>
		<a id="link" href="http://LOCALHOST/">Link</a>
		<a id="hop" href="/redirect/LOCALHOST">Redirect</a>
		<form action="http://LOCALHOST/" method="post"><button id="form">Send</button></form>
		<button id="script" onclick="location = 'http://LOCALHOST/'">Script</button>
		<button id="window" onclick="window.open('http://LOCALHOST/')">Window</button>
		<button id="file" onclick="location = 'file:///etc/passwd'">File</button>`})
	m := manager(t, nil, s.port())
	for _, id := range []string{"link", "hop", "form", "script", "window", "file"} {
		if _, err := m.Open(t.Context(), "s", "ada", s.URL+"/"); err != nil {
			t.Fatal(err)
		}
		got, err := m.Click(t.Context(), "s", "#"+id, "")
		refused, ok := errors.AsType[*fetch.DomainError](err)
		stays := id == "window" || id == "file" // the browser itself refuses these
		switch {
		case stays && (err != nil || got.Title != "Home"):
			t.Errorf("%s leads to %+v (%v), want the same page", id, got, err)
		case !stays && (!ok || refused.Domain != "localhost" || refused.Redirect != (id == "hop")):
			t.Errorf("%s leads to %+v (%v), want a refusal of localhost", id, got, err)
		}
	}
	for _, address := range []string{"http://" + s.other(), "file:///etc/passwd", "chrome://version", "javascript:1", "data:text/html,x", "about:blank", "ftp://127.0.0.1/", "x"} {
		if _, err := m.Open(t.Context(), "s", "ada", address); err == nil {
			t.Errorf("%s can be opened, want a refusal", address)
		}
		if _, err := m.Open(t.Context(), "new", "ada", address); err == nil {
			t.Errorf("%s can be opened first, want a refusal", address)
		}
	}
	if _, err := m.Extract(t.Context(), "new", ""); !errors.Is(err, browser.ErrNoPage) {
		t.Errorf("a session whose pages were all refused reads a page with %v, want %v", err, browser.ErrNoPage)
	}
	for _, r := range s.requests() {
		if strings.HasPrefix(r, "localhost") {
			t.Errorf("the server got a request for %s, want none", r)
		}
	}
}

// Nothing that a page does reaches an address that is not public, unless the operator has listed it.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	inner := serve(t, map[string]string{"/": "inside"})
	at := "127.0.0.1:" + inner.port()
	s := serve(t, map[string]string{"/": fmt.Sprintf(`<title>Home</title><img src="http://%[1]s/img"><iframe src="http://%[1]s/"></iframe><link rel="prefetch" href="http://%[1]s/pre">
		<script>fetch("http://%[1]s/", {mode: "no-cors"}).catch(() => {}); new WebSocket("ws://%[1]s/"); navigator.sendBeacon("http://%[1]s/beacon", "x");
		fetch("http://localhost:%[2]s/").catch(() => {}); fetch("http://[::ffff:127.0.0.1]:%[2]s/").catch(() => {}); fetch("http://2130706433:%[2]s/").catch(() => {})</script>`, at, inner.port())})
	m := manager(t, nil, s.port())
	if got, err := m.Open(t.Context(), "s", "ada", s.URL+"/"); err != nil || got.Title != "Home" {
		t.Fatalf("the page is %+v (%v), want it open", got, err)
	}
	_, err := m.Open(t.Context(), "s", "ada", inner.URL+"/")
	if _, ok := errors.AsType[*fetch.AddressError](err); !ok {
		t.Errorf("a page on a private address gives %v, want a refusal of the address", err)
	}
	if got := inner.requests(); len(got) > 0 {
		t.Errorf("the private server got %q, want nothing", got)
	}
}

// Sessions share nothing, a browser has nothing of the hub's environment, and it leaves nothing behind.
func TestSessionsShareNothing(t *testing.T) {
	t.Setenv("EVERDESK_CANARY", "sk-canary")
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s := serve(t, map[string]string{"/": `<script>document.title = document.cookie + localStorage.getItem("x"); document.cookie = "a=b"; localStorage.setItem("x", "y")</script>`})
	m := manager(t, nil, s.port())
	for range 2 {
		if _, err := m.Open(t.Context(), "one", "ada", s.URL+"/"); err != nil {
			t.Fatal(err)
		}
	}
	one, err := m.Extract(t.Context(), "one", "")
	if err != nil || one.Title != "a=by" {
		t.Errorf("the session's own page says %q (%v), want what it has stored", one.Title, err)
	}
	if got, err := m.Open(t.Context(), "two", "ada", s.URL+"/"); err != nil || got.Title != "null" {
		t.Errorf("the page in another session says %q (%v), want nothing of the first", got.Title, err)
	}
	pids := children(t, folder)
	if len(pids) < 2 {
		t.Fatalf("got %d browser processes, want one for each session", len(pids))
	}
	for _, pid := range pids {
		if env, _ := os.ReadFile(fmt.Sprintf("/proc/%s/environ", pid)); bytes.Contains(env, []byte("canary")) {
			t.Errorf("process %s has the environment of the hub", pid)
		}
	}
	m.Close("one")
	if _, err := m.Extract(t.Context(), "one", ""); !errors.Is(err, browser.ErrNoPage) {
		t.Errorf("after its end the browser gives %v, want %v", err, browser.ErrNoPage)
	}
	m.Shutdown()
	if left, _ := filepath.Glob(folder + "/everdesk-browser-*"); len(left) > 0 {
		t.Errorf("got the folders %q after the end, want none", left)
	}
	if left := children(t, folder); len(left) > 0 {
		t.Errorf("got the processes %q after the end, want none", left)
	}
}

// children returns the processes whose arguments name a folder.
func children(t *testing.T, folder string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(folder)) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}

// A browser that was killed is reported once, and the next page starts another.
func TestKilledBrowser(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s := serve(t, map[string]string{"/": "<title>Home</title>"})
	m := manager(t, nil, s.port())
	if _, err := m.Open(t.Context(), "s", "ada", s.URL+"/"); err != nil {
		t.Fatal(err)
	}
	for _, pid := range children(t, folder) {
		var id int
		if _, err := fmt.Sscan(pid, &id); err != nil {
			t.Fatal(err)
		}
		if p, err := os.FindProcess(id); err == nil {
			_ = p.Kill()
		}
	}
	if _, err := m.Extract(t.Context(), "s", ""); !errors.Is(err, browser.ErrLost) {
		t.Errorf("a killed browser gives %v, want %v", err, browser.ErrLost)
	}
	if got, err := m.Open(t.Context(), "s", "ada", s.URL+"/"); err != nil || got.Title != "Home" {
		t.Errorf("the next page is %+v (%v), want it open", got, err)
	}
}

// The number of browsers is bounded, and idle ones end.
func TestBrowsersAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"/": "<title>Home</title>"})
	m := manager(t, func(c *browser.Config) { c.Most, c.Idle = 1, 3*time.Second }, s.port())
	if _, err := m.Open(t.Context(), "one", "ada", s.URL+"/"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), "two", "ada", s.URL+"/"); !errors.Is(err, browser.ErrBusy) {
		t.Errorf("the second browser of one gives %v, want %v", err, browser.ErrBusy)
	}
	for {
		_, err := m.Open(t.Context(), "two", "ada", s.URL+"/")
		if err == nil {
			break
		}
		if !errors.Is(err, browser.ErrBusy) || t.Context().Err() != nil {
			t.Fatalf("after the first is idle the second gives %v, want a page", err)
		}
		<-time.After(50 * time.Millisecond) // there is no event to wait for
	}
	if _, err := m.Extract(t.Context(), "one", ""); !errors.Is(err, browser.ErrNoPage) {
		t.Errorf("the idle browser gives %v, want %v", err, browser.ErrNoPage)
	}
}
