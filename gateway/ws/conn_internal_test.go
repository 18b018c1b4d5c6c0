package ws

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// noObserver ignores all events.
type noObserver struct{}

func (noObserver) Closed(wire.CloseCode) {}
func (noObserver) Limited(string)        {}

// newConnServer starts a server whose connections run hello.
func newConnServer(t *testing.T, hello func(context.Context, *conn) bool) (url string, logged *strings.Builder) {
	t.Helper()
	store, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	people, err := auth.New(t.Context(), auth.Config{Mode: auth.ModeNone, Logger: slog.New(slog.DiscardHandler)}, store.Documents)
	if err != nil {
		t.Fatal(err)
	}
	logged = &strings.Builder{}
	s := New(Config{FrameBytes: 64 << 10, Heartbeat: 30 * time.Second, UserConnections: -1, Timeouts: Timeouts{}.WithDefaults()}, Deps{
		Log: slog.New(slog.NewTextHandler(logged, nil)), Auth: people, Observer: noObserver{},
	})
	router := echo.New()
	router.GET("/conn", func(c echo.Context) error {
		cn, err := s.upgrade(c, &connectRequest{})
		if err == nil {
			s.startConn(cn, func(ctx context.Context) bool { return hello(ctx, cn) })
		}
		return err
	})
	web := httptest.NewServer(router)
	t.Cleanup(func() {
		web.Close()
		s.Close(context.Background())
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return "ws" + strings.TrimPrefix(web.URL, "http") + "/conn", logged
}

func closeCode(t *testing.T, url string) wire.CloseCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // the library does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	_, _, err = ws.Read(ctx)
	ce, ok := errors.AsType[websocket.CloseError](err)
	if !ok {
		t.Fatalf("read: got error %v, want a close frame", err)
	}
	return wire.CloseCode(ce.Code)
}

func TestPanicClosesOneConnection(t *testing.T) {
	t.Parallel()
	for name, hello := range map[string]func(context.Context, *conn) bool{
		"while greeting": func(context.Context, *conn) bool { panic("boom") },
		"while leaving": func(_ context.Context, c *conn) bool {
			c.peer.guard("take a message", func() { panic("boom") })
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, logged := newConnServer(t, hello)
			for range 2 { // the next connection is still served
				if got := closeCode(t, url); got != wire.CloseInternal {
					t.Errorf("connection with a panic: got closed with %d, want %d", got, wire.CloseInternal)
				}
			}
			if !strings.Contains(logged.String(), "boom") || !strings.Contains(logged.String(), "conn_internal_test.go") {
				t.Errorf("log: got\n%s\nwant the panic and its place", logged)
			}
		})
	}
}

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var d net.Dialer
	if client, err = d.DialContext(t.Context(), "tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		client.Close()
	})
	return server, client
}

func TestLinkReadsEverythingAndHoldsNothing(t *testing.T) {
	t.Parallel()
	server, client := pair(t)
	l := &link{Socket: broadcast.Socket{Conn: server}, resources: newConnResources(nil), unread: []byte("early ")}
	want := make([]byte, 1<<20)
	for i := range want {
		want[i] = byte(rand.Uint32())
	}
	go func() {
		for rest := want; len(rest) > 0; { // in reads of any size
			n := min(len(rest), 1+rand.IntN(5000))
			if _, err := client.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
		client.Close()
	}()
	got, err := io.ReadAll(bufio.NewReaderSize(l, readBuffer))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, append([]byte("early "), want...)) {
		t.Errorf("read %d bytes that are not the %d sent", len(got), len(want)+6)
	}
	if l.buffer != nil || len(l.unread) != 0 {
		t.Errorf("idle link: got %d bytes and buffer %v, want none", len(l.unread), l.buffer != nil)
	}
}

func TestConnectGrowth(t *testing.T) {
	t.Parallel()
	var g connectGrowth
	var due []int
	for n := range 10_001 {
		if g.isDue(n) {
			due = append(due, n)
		}
	}
	want := []int{500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5062, 5694, 6405, 7205, 8105, 9118}
	if !slices.Equal(due, want) {
		t.Errorf("while connections grow: got collections at %v, want %v", due, want)
	}
	for n := range 10_001 {
		if g.isDue(n) {
			t.Errorf("reconnecting: got a collection at %d connections, want none", n)
		}
	}
}

func TestConnectBurstSubsides(t *testing.T) {
	t.Parallel()
	var b connectBurst
	tidied := 0
	var allocated, work uint64
	ticks := func(n int, arrived uint64) {
		for range n {
			if allocated += work; b.subsided(arrived, allocated) {
				tidied++
			}
		}
	}
	ticks(100, 0)
	ticks(100, burstSize-1)
	if tidied != 0 {
		t.Errorf("tidied after a few connections: got %d, want 0", tidied)
	}
	for n := range uint64(10) { // during the burst nothing is freed
		ticks(burstQuietTicks, burstSize+n)
	}
	if tidied != 0 {
		t.Errorf("tidied during the rush: got %d, want 0", tidied)
	}
	work = busyAllocBytes
	ticks(1000, burstSize+9)
	if tidied != 0 {
		t.Errorf("tidied while there was work: got %d, want 0", tidied)
	}
	work = busyAllocBytes - 1
	ticks(1000, burstSize+9)
	if tidied != 1 {
		t.Errorf("tidied after the rush: got %d, want 1", tidied)
	}
	ticks(1000, 2*burstSize+8)
	ticks(1000, 2*burstSize+9)
	if tidied != 2 {
		t.Errorf("tidied after two rushes: got %d, want 2", tidied)
	}
}

func TestIsPong(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]bool{
		`{"type":"pong"}`:                           true,
		`{"type":"pong","data":{}}`:                 true,
		`{"type":"pong","timestamp":"x","data":{}}`: true,
		`{"type":"pong","type":"RESET"}`:            false,
		`{"type":"pong"}{"type":"RESET"}`:           false,
		`{"type":"pong","data":{}}{"type":"RESET"}`: false,
		`{"type":"pongo"}`:                          false,
		`{"type":"pong"`:                            false,
		`{"data":{},"type":"pong"}`:                 false, // decoded as any other message
		"{\"type\":\"pong\"}\n{\"type\":\"RESET\"}": false,
		``: false,
	} {
		if got := isPong([]byte(frame)); got != want {
			t.Errorf("is %q a pong: got %v, want %v", frame, got, want)
		}
	}
	if !isPong(wire.Native{}.AppendMessage(nil, wire.Message{Data: wire.Pong{}})) {
		t.Error("got false for the pong of our clients, want true")
	}
}
