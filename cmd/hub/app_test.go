package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/metrics"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// clinging is the leases of a store whose Release blocks until ctx ends.
type clinging struct{ session.Leases }

func (c clinging) Release(ctx context.Context, _ store.Lease) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Tabs are disconnected with CloseDraining even if sessions cannot be handed over in time.
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
		auth: auth.Config{Mode: auth.ModeNone}, files: t.TempDir(),
		store: storeConfig{kind: fileStore, folder: t.TempDir()},
	}
	p := process{replica: "me", addr: ln.Addr(), metrics: metrics.New(metrics.Config{Replica: "me", Logger: log}), log: log}
	parts := fileEngine(files)
	parts.sessions.Leases = clinging{files.Sessions}
	h, err := build(t.Context(), cfg, p, parts)
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
	go func() { done <- h.run(ctx, ln, 2*time.Second, log) }()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /ws/%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: everdesk.v2\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", info.ID, ln.Addr())
	// The close code; its two bytes do not occur in the text of frames.
	goodbye := binary.BigEndian.AppendUint16(nil, uint16(wire.CloseDraining))
	var seen []byte
	for buf := make([]byte, 4096); !bytes.Contains(seen, goodbye); {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("after %q: %v", seen, err)
		}
		if seen = append(seen, buf[:n]...); bytes.Contains(seen, []byte(`"session_state"`)) {
			stop(errors.New("test is over"))
		}
	}
	if !bytes.Contains(seen, []byte(`"reconnect"`)) {
		t.Errorf("frames before the close: got %q, want a reconnect", seen)
	}
	conn.Close()
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

// The token file exists only while there is a token, and only its owner can read it.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := storeConfig{kind: fileStore, folder: folder}
	path := filepath.Join(folder, remote.TokenFile)
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := writeTokenFile(at, "secret"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || remote.LocalToken(folder) != "secret" {
		t.Errorf("token file: got mode %v, error %v, token %q, want mode 0600 and the token secret", info.Mode(), err, remote.LocalToken(folder))
	}
	for range 2 {
		if err := writeTokenFile(at, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("token file in another mode: got error %v, want %v", err, os.ErrNotExist)
		}
	}
	if err := writeTokenFile(storeConfig{kind: redisStore, folder: folder}, "secret"); err != nil || remote.LocalToken(folder) != "" {
		t.Errorf("with Redis: got error %v, token %q, want neither", err, remote.LocalToken(folder))
	}
}
