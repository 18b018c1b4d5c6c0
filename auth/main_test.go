package auth_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openStore opens a real store that is closed with the test.
func openStore(tb testing.TB) *filestore.Documents {
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
	return s.Documents
}

// newAuthority returns an authority that logs to w.
func newAuthority(tb testing.TB, cfg auth.Config, docs auth.Documents, w io.Writer) *auth.Authority {
	tb.Helper()
	if cfg.Mode == "" {
		cfg.Mode = auth.ModeToken
	}
	cfg.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := auth.New(tb.Context(), cfg, docs)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// wantCode checks that a credential was refused with a code.
func wantCode(tb testing.TB, err error, code wire.Code) {
	tb.Helper()
	e, ok := errors.AsType[*auth.Error](err)
	if !ok || e.Code != code {
		tb.Errorf("got error %v (%T), want code %d", err, err, code)
	}
}

// wantUser checks that a credential was accepted.
func wantUser(tb testing.TB, who auth.Identity, err error, user string) {
	tb.Helper()
	if err != nil || who.User != user {
		tb.Errorf("got %+v, %v; want user %s", who, err, user)
	}
}

// full is a store that refuses writes once it is full.
type full struct {
	docs
	yes func() bool
}

func (f full) Put(ctx context.Context, d store.Document) (uint64, error) {
	if f.yes() {
		return 0, store.ErrNoSpace
	}
	return f.docs.Put(ctx, d)
}

// broken is a store that can be made unavailable.
type broken struct {
	docs // embedded under another name, since one of its methods is called Documents
	away func() bool
}

type docs = auth.Documents

func (b broken) Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error) {
	if b.away() {
		return store.Page[store.Document]{}, store.ErrUnavailable
	}
	return b.docs.Documents(ctx, collection, after, limit)
}

func (b broken) Get(ctx context.Context, collection, name string) (store.Document, error) {
	if b.away() {
		return store.Document{}, store.ErrUnavailable
	}
	return b.docs.Get(ctx, collection, name)
}

var ann = auth.Identity{User: "ann", Roles: []auth.Role{auth.RoleUser}}
