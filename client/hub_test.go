package client_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// realHub is a whole hub on a file store, behind a real listener.
type realHub struct {
	hub  *session.Hub
	addr string
	stop func()
}

// openHub starts a hub in mode none.
func openHub(dir string, log *slog.Logger) (*realHub, error) {
	store, err := filestore.Open(filepath.Join(dir, "store"), filestore.Config{Sync: filestore.SyncOff, Logger: log})
	if err != nil {
		return nil, err
	}
	people, err := auth.New(context.Background(), auth.Config{Mode: auth.ModeNone, Logger: log}, store.Documents)
	if err != nil {
		return nil, err
	}
	fileStore, err := files.Open(filepath.Join(dir, "files"), files.Config{})
	if err != nil {
		return nil, err
	}
	hub := session.NewHub(session.Config{Replica: "example", Logger: log}, session.StoreOf(store.Sessions))
	server := gateway.New(gateway.Config{DrainAfter: time.Millisecond}, log, gateway.Deps{
		Store: gateway.Store{Readiness: store, Events: store.Sessions, Documents: store.Documents}, Hub: hub, Auth: people, Limiter: ratelimit.New(ratelimit.Config{Off: true}, store.Rates), Files: fileStore,
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is there at once
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { hub.Run(ctx) })
	wg.Go(func() { _ = server.Serve(ln) })
	return &realHub{hub: hub, addr: ln.Addr().String(), stop: func() {
		hub.Drain(ctx)
		_ = server.Shutdown(ctx)
		cancel()
		wg.Wait()
		_ = store.Close()
	}}, nil
}

// newSession creates a session of the local user.
func (h *realHub) newSession(ctx context.Context) (wire.SessionID, error) {
	info, err := h.hub.Create(ctx, session.NewSession{User: "local"})
	return info.ID, err
}

// TestCutsOfARealHub follows a burst of events of a real hub over a connection that keeps breaking.
// The follower ends with the same hash as the client that made the burst.
func TestCutsOfARealHub(t *testing.T) {
	t.Parallel()
	const messages = 300
	h, err := openHub(t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	id, err := h.newSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	line := &cuttingProxy{to: h.addr, t: t}
	addr := line.listen(ctx, &wg)
	// Each client reports its hash when it has the last message.
	const end wire.NoticeID = "end"
	hashes := make(chan string, 2)
	var clients [2]*client.Client
	for i, at := range []string{h.addr, addr} {
		var c *client.Client
		c, err = client.New(client.Config{
			URL: "http://" + at, Session: id, Backoff: func(int) time.Duration { return time.Millisecond },
			OnEvent: func(_ context.Context, e client.Event) {
				if a, ok := e.Data.(wire.Actions); ok {
					if n, ok := a.Actions[0].(wire.NotificationShow); ok && n.ID == end {
						hash, _ := c.Hash()
						hashes <- hash
					}
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		clients[i] = c
		wg.Go(func() { _ = c.Run(ctx) })
	}
	<-clients[1].Ready()
	for n := range messages {
		// From both ends, over the good and the bad connection.
		_, err := clients[n%2].Send(ctx, wire.Emit{Actions: []wire.Action{wire.WindowCreate{
			WindowID: wire.WindowID(fmt.Sprintf("w%d", n%7)), Title: fmt.Sprintf("%d %s", n, strings.Repeat("x", n)),
			Bounds: wire.Bounds{X: float64(n), W: 100, H: 100}, Content: wire.TextContent{Data: strconv.Itoa(n)},
		}}})
		if err != nil {
			t.Fatalf("message %d: %v", n, err)
		}
	}
	line.allowConnections()
	if _, err := clients[0].Send(ctx, wire.Emit{Actions: []wire.Action{
		wire.NotificationShow{Notification: wire.Notification{ID: end, Title: "end"}},
	}}); err != nil {
		t.Fatal(err)
	}
	one, other := <-hashes, <-hashes
	cancel()
	wg.Wait()
	stats := clients[1].Stats()
	if one != other {
		t.Errorf("hashes of both clients: got %s and %s, want the same; %+v", one, other, stats)
	}
	if stats.Connections < 10 {
		t.Errorf("connections: got %d, want at least 10 (the line is too good for this test)", stats.Connections)
	}
}

// cuttingProxy forwards connections and breaks each after a random number of bytes.
type cuttingProxy struct {
	t    *testing.T
	to   string
	mu   sync.Mutex
	good bool
}

// allowConnections lets further connections live.
func (l *cuttingProxy) allowConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.good = true
}

func (l *cuttingProxy) listen(ctx context.Context, wg *sync.WaitGroup) string {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { ln.Close() })
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { l.pass(ctx, c) })
		}
	})
	return ln.Addr().String()
}

func (l *cuttingProxy) pass(ctx context.Context, down net.Conn) {
	var d net.Dialer
	up, err := d.DialContext(ctx, "tcp", l.to)
	if err != nil {
		down.Close()
		return
	}
	l.mu.Lock()
	life := int64(1<<60 - 1)
	if !l.good {
		life = 500 + rand.Int64N(8000)
	}
	l.mu.Unlock()
	var wg sync.WaitGroup
	both := func() { down.Close(); up.Close() }
	stop := context.AfterFunc(ctx, both)
	wg.Go(func() { _, _ = io.CopyN(down, up, life); both() })
	wg.Go(func() { _, _ = io.CopyN(up, down, life); both() })
	wg.Wait()
	stop()
}
