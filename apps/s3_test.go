//go:build s3server

// These tests need an S3 server: make test-s3 builds versitygw from the Go proxy and runs them.

package apps_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/files/s3files"
	"github.com/everdesk/everdesk/files/s3files/s3test"
)

// setCredentials sets the environment for parallel tests, which [testing.T.Setenv] does not.
var setCredentials = sync.OnceValue(func() (err error) {
	for name, value := range s3test.Credentials() {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return err
})

func openS3(t *testing.T, s *s3test.Server) *s3files.Backend {
	t.Helper()
	if err := setCredentials(); err != nil {
		t.Fatal(err)
	}
	cfg, err := s3files.Parse(s.Address("hubs"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s3files.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What one replica does with an app is there on another one, which shares nothing with it but the bucket.
func TestReplicasShareAppsInS3(t *testing.T) {
	t.Parallel()
	s := s3test.New(t)
	old := t.TempDir()
	if err := open(t, old).Deploy(t.Context(), ada, "older", page("older")); err != nil {
		t.Fatal(err)
	}
	one, two := apps.New(openS3(t, s), nil), apps.New(openS3(t, s), nil)
	if users, err := one.MoveFrom(t.Context(), old); err != nil || users != 1 {
		t.Fatalf("MoveFrom a folder: got %d, %v, want 1 user", users, err)
	}
	sandbox, err := one.Sandboxes().Create(t.Context(), ada, map[string][]byte{"src/main.ts": []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Sandboxes().Write(t.Context(), ada, sandbox, "src/main.ts", []byte("two")); err != nil {
		t.Fatal(err)
	}
	if data, err := one.Sandboxes().File(t.Context(), ada, sandbox, "src/main.ts"); err != nil || string(data) != "two" {
		t.Errorf("the file of the sandbox: got %q, %v, want two", data, err)
	}
	for _, text := range []string{"first", "second"} {
		if err := one.Deploy(t.Context(), ada, "counter", page(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := two.Get(t.Context(), ada, "counter"); err != nil || string(b.Page()) != text || len(b.Files) != 3 {
			t.Errorf("Get: got %q, %v, want %s", b.Files, err, text)
		}
		if all, err := two.List(t.Context(), ada); err != nil || len(all) != 2 || all[0].ID != "counter" || all[1].ID != "older" {
			t.Errorf("List: got %+v, %v, want counter and older", all, err)
		}
	}
	if err := two.WriteData(t.Context(), ada, "counter", "notes/a.md", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", "notes/a.md/b"} {
		if err := one.WriteData(t.Context(), ada, "counter", name, nil); !errors.Is(err, files.ErrName) {
			t.Errorf("WriteData(%q): got %v, want ErrName", name, err)
		}
	}
	if data, err := one.ReadData(t.Context(), ada, "counter", "notes/a.md"); err != nil || string(data) != "x" {
		t.Errorf("ReadData: got %q, %v, want x", data, err)
	}
	if err := two.Remove(t.Context(), ada, "counter"); err != nil {
		t.Fatal(err)
	}
	if all, err := one.List(t.Context(), ada); err != nil || len(all) != 1 {
		t.Errorf("List after Remove: got %+v, %v, want older", all, err)
	}
	if left := s.Files(t, "/counter/"); len(left) > 0 {
		t.Errorf("objects of the removed app: got %v, want none", left)
	}
}

// Of several writers on two replicas that have all seen the same version, one succeeds.
func TestOneOfSeveralWritersReplacesDataInS3(t *testing.T) {
	t.Parallel()
	s := s3test.New(t)
	stores := []*apps.Store{apps.New(openS3(t, s), nil), apps.New(openS3(t, s), nil)}
	if err := stores[0].Deploy(t.Context(), ada, "a", page("x")); err != nil {
		t.Fatal(err)
	}
	was := ""
	for round := range 3 {
		var wg sync.WaitGroup
		var won atomic.Int32
		for w := range 6 {
			wg.Go(func() {
				err := stores[w%2].ReplaceData(t.Context(), ada, "a", "f", fmt.Appendf(nil, "%d by %d", round, w), was)
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, files.ErrChanged):
					t.Errorf("round %d: got %v, want nil or ErrChanged", round, err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("round %d: %d writers succeeded, want 1", round, n)
		}
		data, err := stores[1].ReadData(t.Context(), ada, "a", "f")
		if err != nil {
			t.Fatal(err)
		}
		was = apps.DataVersion(data)
	}
}
