package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openStore opens a real store that lives as long as the test.
func openStore(tb testing.TB) *filestore.Store {
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
	return s
}

// broken is a store that answers with an error, if there is one.
type broken struct {
	ratelimit.Documents
	err  atomic.Pointer[error]
	puts atomic.Int32
}

func (b *broken) fail(err error) { b.err.Store(&err) }

func (b *broken) Get(ctx context.Context, collection, name string) (store.Document, error) {
	if err := b.err.Load(); err != nil && !errors.Is(*err, store.ErrConflict) {
		return store.Document{}, *err
	}
	return b.Documents.Get(ctx, collection, name)
}

func (b *broken) Put(ctx context.Context, d store.Document) (uint64, error) {
	b.puts.Add(1)
	if err := b.err.Load(); err != nil {
		return 0, *err
	}
	return b.Documents.Put(ctx, d)
}
