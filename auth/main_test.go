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

// openStore opens a real store that lives as long as the test.
func openStore(t testing.TB) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), filestore.Config{
		Sync: filestore.SyncOff, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newAuthority makes one that logs everything to w.
func newAuthority(t testing.TB, cfg auth.Config, docs auth.Documents, w io.Writer) *auth.Authority {
	t.Helper()
	if cfg.Mode == "" {
		cfg.Mode = auth.ModeToken
	}
	cfg.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := auth.New(t.Context(), cfg, docs)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wantCode checks that credentials were not accepted, and how.
func wantCode(t testing.TB, err error, code wire.Code) {
	t.Helper()
	e, ok := errors.AsType[*auth.Error](err)
	if !ok || e.Code != code {
		t.Errorf("got error %v (%T), want code %d", err, err, code)
	}
}

// wantUser checks that credentials were accepted.
func wantUser(t testing.TB, who auth.Identity, err error, user string) {
	t.Helper()
	if err != nil || who.User != user {
		t.Errorf("got %+v, %v; want user %s", who, err, user)
	}
}

// broken is a store that can be away.
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
