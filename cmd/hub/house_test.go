package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// clinging is a store that lets no session go.
type clinging struct{ engine }

func (c clinging) Release(ctx context.Context, _ store.Lease) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Sessions that cannot be handed over in time do not keep the tabs from hearing
// where to go.
func TestRunTellsTabsHoweverLongSessionsTake(t *testing.T) {
	t.Parallel()
	files, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg := config{
		auth: auth.Config{Mode: auth.ModeNone}, replica: "me", files: t.TempDir(),
		store: storeConfig{kind: fileStore, folder: t.TempDir()},
	}
	h, err := build(t.Context(), cfg, clinging{files}, ln.Addr(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.files.Close() })
	info, err := h.hub.Create(t.Context(), session.NewSession{User: "local"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	done := make(chan error, 1)
	go func() { done <- h.answer(ctx, ln, 2*time.Second, log) }()
	ws, _, err := websocket.Dial(t.Context(), "ws://"+ln.Addr().String()+"/ws/"+string(info.ID),
		&websocket.DialOptions{Subprotocols: []string{"everdesk.v2"}}) //nolint:bodyclose // the library does
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	var seen []string
	for {
		_, frame, err := ws.Read(t.Context())
		if code := websocket.CloseStatus(err); code != -1 {
			if wire.CloseCode(code) != wire.CloseDraining || len(seen) == 0 || seen[len(seen)-1] != "reconnect" {
				t.Errorf("closed with %d after %v", code, seen)
			}
			break
		}
		if err != nil {
			t.Fatalf("after %v: %v", seen, err)
		}
		var e struct{ Type string }
		if err := json.Unmarshal(frame, &e); err != nil {
			t.Fatal(err)
		}
		if seen = append(seen, e.Type); e.Type == "session_state" {
			stop(errors.New("test is over"))
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRunDrainTime(t *testing.T) {
	t.Parallel()
	for grace, want := range map[time.Duration]time.Duration{
		20 * time.Second: 17 * time.Second, 4 * time.Second: 3 * time.Second, 4 * time.Millisecond: 3 * time.Millisecond, 0: 0,
	} {
		if got := drainTime(grace); got != want {
			t.Errorf("of %v sessions get %v, want %v", grace, got, want)
		}
	}
}

// The token lies beside the data only as long as it opens something, and only for
// who owns it.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := storeConfig{kind: fileStore, folder: folder}
	path := filepath.Join(folder, tokenFile)
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil { //nolint:gosec // that is the mistake
		t.Fatal(err)
	}
	if err := leaveToken(at, "secret"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || localToken(folder) != "secret" {
		t.Errorf("%v, %v, %q", info.Mode(), err, localToken(folder))
	}
	for range 2 {
		if err := leaveToken(at, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the token of another mode is still there: %v", err)
		}
	}
	if err := leaveToken(storeConfig{kind: redisStore, folder: folder}, "secret"); err != nil || localToken(folder) != "" {
		t.Errorf("with Redis: %v, %q", err, localToken(folder))
	}
}
