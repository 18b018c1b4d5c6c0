package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/everdesk/everdesk/web"
)

// newSite returns a site with a script in three encodings, one in two and a page in one.
func newSite(t *testing.T) *httptest.Server {
	t.Helper()
	site, err := web.NewSite(fstest.MapFS{
		"index.html":                 {Data: []byte("<!doctype html>")},
		"assets/main-abcd1234.js":    {Data: []byte("plain script")},
		"assets/main-abcd1234.js.br": {Data: []byte("brotli")},
		"assets/main-abcd1234.js.gz": {Data: []byte("gzipped")},
		"assets/a-abcd1234.css":      {Data: []byte("plain style")},
		"assets/a-abcd1234.css.gz":   {Data: []byte("gzipped style")},
		"photos.tar.gz":              {Data: []byte("a file of its own")},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if !site.Has(name) {
			http.NotFound(w, r)
			return
		}
		if err := site.Serve(w, r, name); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// answer is a response.
type answer struct {
	status int
	length int64
	header http.Header
}

// ask requests a file, with pairs of headers.
func ask(t *testing.T, server *httptest.Server, method, path string, headers ...string) (answer, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.ContentLength, res.Header}, string(body)
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	server := newSite(t)
	for accept, want := range map[string][3]string{
		"":                                  {"", "plain script", "plain style"},
		"gzip, deflate, br, zstd":           {"br", "brotli", "gzipped style"},
		"gzip":                              {"gzip", "gzipped", "gzipped style"},
		"x-gzip":                            {"gzip", "gzipped", "gzipped style"},
		"GZIP;q=1.0, BR;q=0.5":              {"gzip", "gzipped", "gzipped style"},
		"br;q=0, gzip;q=0.1":                {"gzip", "gzipped", "gzipped style"},
		"br;q=0,gzip;q=0":                   {"", "plain script", "plain style"},
		"*":                                 {"br", "brotli", "gzipped style"},
		"*;q=0":                             {"", "plain script", "plain style"},
		"identity;q=0, *;q=0":               {"", "plain script", "plain style"},
		"identity, gzip;q=0.5":              {"", "plain script", "plain style"},
		"identity;q=0.5, *;q=0.2":           {"", "plain script", "plain style"},
		"br;q=nonsense, gzip;q=7, ;;, ,=;q": {"", "plain script", "plain style"},
		"br;q=NaN":                          {"", "plain script", "plain style"},
		"deflate, br ; q=1":                 {"br", "brotli", "plain style"},
	} {
		res, body := ask(t, server, http.MethodGet, "/assets/main-abcd1234.js", "Accept-Encoding", accept)
		if res.header.Get("Content-Encoding") != want[0] || body != want[1] || res.header.Get("Vary") != "Accept-Encoding" ||
			res.header.Get("Content-Type") != "text/javascript; charset=utf-8" || res.length != int64(len(body)) {
			t.Errorf("%q: %v %s", accept, res.header, body)
		}
		if _, body := ask(t, server, http.MethodGet, "/assets/a-abcd1234.css", "Accept-Encoding", accept); body != want[2] {
			t.Errorf("%q: style %s", accept, body)
		}
	}
}

func TestCaching(t *testing.T) {
	t.Parallel()
	server := newSite(t)
	tags := map[string]bool{}
	for _, tt := range []struct{ path, accept, cache string }{
		{"/index.html", "br", "no-cache"},
		{"/assets/main-abcd1234.js", "br", "public, max-age=31536000, immutable"},
		{"/assets/main-abcd1234.js", "gzip", "public, max-age=31536000, immutable"},
		{"/assets/main-abcd1234.js", "", "public, max-age=31536000, immutable"},
		{"/photos.tar.gz", "gzip", "no-cache"},
	} {
		res, body := ask(t, server, http.MethodGet, tt.path, "Accept-Encoding", tt.accept)
		tag := res.header.Get("ETag")
		if res.status != http.StatusOK || res.header.Get("Cache-Control") != tt.cache || !strings.HasPrefix(tag, `"`) || tags[tag] {
			t.Errorf("%s %s: %d %v", tt.path, tt.accept, res.status, res.header)
		}
		tags[tag] = true
		head, nothing := ask(t, server, http.MethodHead, tt.path, "Accept-Encoding", tt.accept)
		if head.status != http.StatusOK || nothing != "" || head.length != int64(len(body)) || head.header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %d %v", tt.path, head.status, head.header)
		}
		for same, status := range map[string]int{
			tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"x", ` + tag: http.StatusNotModified, "*": http.StatusNotModified,
			`"x"`: http.StatusOK, strings.Trim(tag, `"`): http.StatusOK,
		} {
			res, body := ask(t, server, http.MethodGet, tt.path, "Accept-Encoding", tt.accept, "If-None-Match", same)
			if res.status != status || status == http.StatusNotModified && (body != "" || res.header.Get("ETag") != tag || res.header.Get("Cache-Control") != tt.cache) {
				t.Errorf("%s if not %s: %d %v", tt.path, same, res.status, res.header)
			}
		}
	}
	for _, path := range []string{"/assets/main-abcd1234.js.br", "/assets/main-abcd1234.js.gz", "/nope", "/assets", "/"} {
		if res, _ := ask(t, server, http.MethodGet, path); res.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.status)
		}
	}
}

// The embedded files can be served; a folder that was not built is empty.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	for what, site := range map[string]*web.Site{"desktop": web.Desktop(), "admin": web.Admin()} {
		if !site.Has("index.html") {
			t.Errorf("no %s in %v", what, site.Names())
		}
	}
	for _, site := range []*web.Site{web.Desktop(), web.Admin(), web.Apps()} {
		for _, name := range site.Names() {
			rec := httptest.NewRecorder()
			if err := site.Serve(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), name); err != nil || rec.Code != http.StatusOK || rec.Body.Len() == 0 {
				t.Errorf("%s: %d %v", name, rec.Code, err)
			}
		}
	}
	none, err := web.NewSite(fstest.MapFS{})
	if err != nil || len(none.Names()) != 0 {
		t.Errorf("%v %v", none, err)
	}
	if err := none.Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "x"); err == nil {
		t.Error("nothing was served")
	}
}
