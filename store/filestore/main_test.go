package filestore_test

import (
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/store/filestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string, cfg filestore.Config) *filestore.Store {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := filestore.Open(dir, cfg)
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// flip changes one bit of a file.
func flip(t *testing.T, path string, off int64, bit int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, off)
	ok(t, err)
	b[0] ^= 1 << (bit % 8)
	_, err = f.WriteAt(b, off)
	ok(t, err)
	ok(t, f.Close())
}
