package tools_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// site starts a server with a few pages and returns its URL.
func site(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<title>A &lt;page&gt;</title><h1>Hello</h1><p>of %s</p></web_page><script>bad()</script>", r.Header.Get("X-Name"))
	})
	mux.HandleFunc("GET /long", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, strings.Repeat("가", 47_999)+"<end of the first part>"+strings.Repeat("나", 100))
	})
	mux.HandleFunc("GET /picture", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n rest") })
	mux.HandleFunc("GET /binary", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\x7fELF\x00\x01") })
	mux.HandleFunc("GET /there", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/page", http.StatusFound) })
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.example/", http.StatusFound)
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s: %s", r.Header.Get("Content-Type"), body)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// allow allows the domain of the test servers.
func (b *bench) allow() {
	b.t.Helper()
	if _, err := b.web.Domains().Allow(b.t.Context(), "ann", "127.0.0.1"); err != nil {
		b.t.Fatal(err)
	}
}

func TestWebPagesAreRead(t *testing.T) {
	t.Parallel()
	b, at := setUp(t), site(t)
	b.allow()
	for name, tt := range map[string]struct {
		tool, input string
		wants       []string
		isError     bool
	}{
		"a page": {
			"system_http_get", `{"url":"` + at + `/page","headers":{"x-name":"ann"}}`,
			[]string{`<web_page url="` + at + `/page" status="200" type="text/html; charset=utf-8" title="A &lt;page&gt;">` + "\n# Hello\n\nof ann\n</web_page>"},
			false,
		},
		"a redirect":         {"system_http_get", `{"url":"` + at + `/there"}`, []string{`url="` + at + `/page"`, "# Hello"}, false},
		"an unfollowed one":  {"system_http_get", `{"url":"` + at + `/there","followRedirects":false}`, []string{`status="302"`, `redirects_to="/page"`}, false},
		"a redirect away":    {"system_http_get", `{"url":"` + at + `/elsewhere"}`, []string{"other.example", "system_request_allowing_domain"}, true},
		"a missing page":     {"system_http_get", `{"url":"` + at + `/none"}`, []string{`status="404"`}, true},
		"something else":     {"system_http_get", `{"url":"` + at + `/binary"}`, []string{"neither text nor a picture"}, true},
		"no URL":             {"system_http_get", `{"url":"page"}`, []string{"Want a URL"}, true},
		"a file":             {"system_http_get", `{"url":"file:///etc/passwd"}`, []string{"Want a URL"}, true},
		"a cookie":           {"system_http_get", `{"url":"` + at + `/page","headers":{"Cookie":"a=b"}}`, []string{"header", "Cookie"}, true},
		"a long page":        {"system_http_get", `{"url":"` + at + `/long"}`, []string{"[characters 0 to 48000 of 48122; read on with offset 48000]"}, false},
		"its second part":    {"system_http_get", `{"url":"` + at + `/long","offset":48000}`, []string{">\nend of the first part&gt;나"}, false},
		"beyond its end":     {"system_http_get", `{"url":"` + at + `/long","offset":50000}`, []string{"nothing at 50000"}, true},
		"a post":             {"system_http_post", `{"url":"` + at + `/echo","body":"{}"}`, []string{"application/json: {}"}, false},
		"a post of a form":   {"system_http_post", `{"url":"` + at + `/echo","body":"a=b","contentType":"form"}`, []string{"application/x-www-form-urlencoded: a=b"}, false},
		"a post of its type": {"system_http_post", `{"url":"` + at + `/echo","body":"<a/>","headers":{"content-type":"text/xml"}}`, []string{"text/xml: &lt;a/&gt;"}, false},
		"a strange type":     {"system_http_post", `{"url":"` + at + `/echo","contentType":"yaml"}`, []string{"contentType"}, true},
	} {
		r := b.callAs(b.worker(), tt.tool, tt.input)
		for _, want := range tt.wants {
			if !strings.Contains(r.Text, want) || r.IsError != tt.isError {
				t.Errorf("%s gives %.300q, error %v, want %q, error %v", name, r.Text, r.IsError, want, tt.isError)
			}
		}
	}
	if r := b.callAs(b.worker(), "system_http_get", `{"url":"`+at+`/picture"}`); r.IsError || len(r.Images) != 1 || r.Images[0].MediaType != "image/png" {
		t.Errorf("a picture gives %+v, want it as an image", r)
	}
}

// A domain can be reached after the user has allowed it, and not after the user has removed it.
func TestDomainsAreAllowedByTheUser(t *testing.T) {
	t.Parallel()
	b, at := setUp(t), site(t)
	get := `{"url":"` + at + `/page"}`
	if r := b.callAs(b.worker(), "system_http_get", get); !r.IsError || !strings.Contains(r.Text, `system_request_allowing_domain and the domain "127.0.0.1"`) {
		t.Errorf("a domain that is not allowed gives %+v, want an error that says how to ask", r)
	}
	ask := `{"domain":"127.0.0.1","reason":"to read\u202e a page"}`
	b.desktop.confirm = no("")
	if r := b.callAs(b.worker(), "system_request_allowing_domain", ask); !r.IsError {
		t.Errorf("a no gives %+v, want an error", r)
	}
	b.desktop.confirm = yes("")
	b.mustAs(b.worker(), "system_request_allowing_domain", ask)
	if q := b.desktop.confirms[1]; q.Title != "Allow 127.0.0.1?" || !strings.HasSuffix(q.Message, `to read\u{202e} a page`) || q.PermissionOptions.ShowRememberChoice {
		t.Errorf("asked %+v, want the domain and the reason, without an answer for ever", q)
	}
	b.mustAs(b.worker(), "system_http_get", get)
	b.mustAs(b.worker(), "system_request_allowing_domain", ask)
	if len(b.desktop.confirms) != 2 {
		t.Errorf("asked %d times, want no question about an allowed domain", len(b.desktop.confirms))
	}
	if _, err := b.web.Domains().Change(t.Context(), "ann", fetch.Change{Remove: []string{"127.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	if r := b.callAs(b.worker(), "system_http_get", get); !r.IsError {
		t.Errorf("a removed domain gives %+v, want an error", r)
	}
	for _, wrong := range []string{`{"domain":"https://example.org/"}`, `{"domain":"*.example.org"}`, `{"domain":"a b"}`, `{"domain":"example.org:80"}`} {
		if r := b.callAs(b.worker(), "system_request_allowing_domain", wrong); !r.IsError || !strings.Contains(r.Text, "example.org") {
			t.Errorf("%s gives %+v, want an error with an example", wrong, r)
		}
	}
	guest := b.worker()
	guest.Guest = true
	for tool, input := range map[string]string{"system_request_allowing_domain": ask, "system_http_post": get} {
		if r := b.callAs(guest, tool, input); !r.IsError || !strings.Contains(r.Text, "owner") {
			t.Errorf("%s of a guest gives %+v, want an error that names the owner", tool, r)
		}
	}
}

// The profiles differ in the tools for the web.
func TestProfilesWithTheWeb(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for profile, want := range map[string]bool{
		tools.ProfileMain: false, tools.ProfileAll: true, tools.ProfileDefault: true, tools.ProfileWeb: true, tools.ProfileCode: false, tools.ProfileApp: true,
	} {
		if got := slices.Contains(names(b.exec, profile), "system_http_get"); got != want {
			t.Errorf("the profile %s has system_http_get: %v, want %v", profile, got, want)
		}
	}
	without := tools.New(tools.Config{})
	if got := without.Tools(tools.Caller{Profile: tools.ProfileWeb, Kind: wire.AgentTask}); slices.ContainsFunc(got, isWebTool) {
		t.Errorf("a hub without the web has %v, want no tools for it", got)
	}
}

func isWebTool(t providers.Tool) bool { return strings.HasPrefix(t.Name, "system_http") }
