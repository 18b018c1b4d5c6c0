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

func TestReplicasShareAppsInS3(t *testing.T) {
	t.Parallel()
	s := s3test.New(t)
	shareApps(t, openS3(t, s), openS3(t, s))
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
