//go:build s3server

package s3files_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/files/s3files"
	"github.com/everdesk/everdesk/files/s3files/s3test"
)

// withHook returns a backend whose requests pass a proxy. The hook is called once, after the first copy of an object.
func withHook(t *testing.T, s *s3test.Server, prefix string, hook func()) *s3files.Backend {
	t.Helper()
	target, err := url.Parse("http://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	once := sync.OnceFunc(hook)
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward.ServeHTTP(w, r)
		if r.Header.Get("X-Amz-Copy-Source") != "" {
			once()
		}
	}))
	t.Cleanup(proxy.Close)
	cfg, err := s3files.Parse(strings.Replace(s.Address(prefix), target.Host, strings.TrimPrefix(proxy.URL, "http://"), 1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s3files.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withFolder returns the files of a replica, with two in the folder dir.
func withFolder(t *testing.T, s *s3test.Server) *files.Store {
	t.Helper()
	store := files.New(open(t, s, "r"), files.Config{})
	for _, name := range []string{"dir/a.txt", "dir/b.txt"} {
		if _, err := store.Save(t.Context(), "ses-1", name, strings.NewReader("old"), 3); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// What another replica saves while a folder moves is not lost: it moves as well.
func TestSaveDuringAMove(t *testing.T) {
	t.Parallel()
	s := s3test.New(t)
	two := withFolder(t, s)
	one := withHook(t, s, "r", func() {
		for _, name := range []string{"dir/a.txt", "dir/b.txt"} { // one is copied already, the other is not
			if _, err := two.Save(t.Context(), "ses-1", name, strings.NewReader("newer"), 5); err != nil {
				t.Errorf("save %s: %v", name, err)
			}
		}
	})
	if _, err := one.Move(t.Context(), files.Key{Session: "ses-1", Area: files.AreaFiles, Name: "dir"}, files.Key{Session: "ses-1", Area: files.AreaFiles, Name: "moved"}); err != nil {
		t.Fatalf("move: %v", err)
	}
	all, err := two.ListAll(t.Context(), "ses-1", "")
	if err != nil || len(all) != 2 || all[0].Path != "moved/a.txt" || all[0].Size != 5 || all[1].Size != 5 {
		t.Errorf("files after the move: got %+v and the error %v, want the newer a.txt and b.txt in moved", all, err)
	}
}

// A file that another replica removes while its folder moves is gone.
func TestRemoveDuringAMove(t *testing.T) {
	t.Parallel()
	s := s3test.New(t)
	two := withFolder(t, s)
	one := withHook(t, s, "r", func() {
		if err := two.Remove(t.Context(), "ses-1", "dir/b.txt"); err != nil {
			t.Errorf("remove: %v", err)
		}
	})
	if e, err := one.Move(t.Context(), files.Key{Session: "ses-1", Area: files.AreaFiles, Name: "dir"}, files.Key{Session: "ses-1", Area: files.AreaFiles, Name: "moved"}); err != nil {
		t.Errorf("move: got %+v and the error %v, want the folder", e, err)
	}
	all, err := two.ListAll(t.Context(), "ses-1", "")
	if err != nil || len(all) != 1 || all[0].Path != "moved/a.txt" {
		t.Errorf("files after the move: got %+v and the error %v, want moved/a.txt", all, err)
	}
}
