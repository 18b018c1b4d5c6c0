package ratelimit_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/store/filestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openStore opens a real store that is closed with the test.
func openStore(tb testing.TB) *filestore.Rates {
	tb.Helper()
	s, err := filestore.Open(tb.TempDir(), filestore.Config{
		Sync: filestore.SyncOff, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s.Rates
}

// broken is a store that fails with err, if set.
type broken struct {
	ratelimit.Counts
	err   atomic.Pointer[error]
	calls atomic.Int32
}

func (b *broken) fail(err error) { b.err.Store(&err) }

func (b *broken) Take(ctx context.Context, key string, limit int, window time.Duration) (time.Duration, error) {
	b.calls.Add(1)
	if err := b.err.Load(); err != nil {
		return 0, *err
	}
	return b.Counts.Take(ctx, key, limit, window)
}
