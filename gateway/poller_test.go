package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// emitFrame returns the frame of an EMIT with an id and one action.
func emitFrame(id string) string {
	return `{"type":"EMIT","data":{"actions":[{"type":"app.badge","appId":"mail","count":1}],"messageId":"` + id + `"}}`
}

// nextEmitted returns the ids of the next n answers to EMIT.
func (x *tab) nextEmitted(n int) (ids []string) {
	x.t.Helper()
	for range n {
		ids = append(ids, string(next[wire.Emitted](x).MessageID))
	}
	return ids
}

// cloggedStore is a store that blocks the commits of one session.
type cloggedStore struct {
	engine
	session atomic.Pointer[wire.SessionID]
	through chan struct{} // closed to unblock the commits
}

func (s *cloggedStore) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if id := s.session.Load(); id != nil && *id == l.Session {
		select {
		case <-s.through:
		case <-ctx.Done():
			return store.Receipt{}, store.ErrUnavailable
		}
	}
	return s.engine.Commit(ctx, l, b)
}

// Messages in one frame take effect in their order, also when some of them would block the poller.
func TestMessagesOfAllKindsInOneFrame(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	x := h.mustDial("/ws/"+string(id), dialOptions{token: h.userToken("ann"), protos: []string{"everdesk.v2.batch"}})
	next[wire.SessionState](x)
	for round := range 3 {
		first, second, third := fmt.Sprint("first-", round), fmt.Sprint("second-", round), fmt.Sprint("third-", round)
		lines := []string{
			emitFrame(first),
			fmt.Sprintf(`{"type":"SUBSCRIBE_MONITOR","data":{"monitorId":"monitor-%d"}}`, round%2),
			emitFrame(second),
			`{"type":"auth","data":{"token":"` + h.userToken("ann") + `"}}`,
			emitFrame(third),
		}
		if err := x.ws.Write(t.Context(), websocket.MessageText, []byte(strings.Join(lines, "\n"))); err != nil {
			t.Fatal(err)
		}
		if got := x.nextEmitted(3); !slices.Equal(got, []string{first, second, third}) {
			t.Errorf("answers: got %v, want those to the three messages in order", got)
		}
	}
}

// A session with a full mailbox delays only its own clients, and their messages stay in order.
func TestFullMailboxDelaysItsSessionOnly(t *testing.T) {
	t.Parallel()
	clogged := &cloggedStore{through: make(chan struct{})}
	h := newTestHub(t, func(p *hubOptions) {
		p.store = func(log *slog.Logger) (_ engine, err error) {
			clogged.engine, err = joinFile(filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
			return clogged, err
		}
	})
	stuck := h.newSession("ann")
	x := h.mustDial("/ws/"+string(stuck), dialOptions{token: h.userToken("ann"), protos: []string{"everdesk.v2.batch"}})
	next[wire.SessionState](x)
	var others []*tab
	for range 8 {
		o := h.mustDial("/ws/"+string(h.newSession("bea")), as(h.userToken("bea")))
		next[wire.SessionState](o)
		others = append(others, o)
	}
	clogged.session.Store(&stuck)
	open := sync.OnceFunc(func() { close(clogged.through) })
	defer open()
	const frames, lines = 20, 100 // more than a mailbox holds
	var want []string
	for f := range frames {
		var frame bytes.Buffer
		for l := range lines {
			name := fmt.Sprintf("m-%d-%d", f, l)
			want = append(want, name)
			fmt.Fprintln(&frame, emitFrame(name))
		}
		if err := x.ws.Write(t.Context(), websocket.MessageText, frame.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	for i, o := range others {
		if err := o.ws.Write(t.Context(), websocket.MessageText, []byte(emitFrame("other"))); err != nil {
			t.Fatal(err)
		}
		if got := o.nextEmitted(1); got[0] != "other" {
			t.Errorf("session %d: got the answer to %v, want other", i, got)
		}
	}
	open()
	if got := x.nextEmitted(frames * lines); !slices.Equal(got, want) {
		t.Errorf("answers: got %q, want %q", got, want)
	}
}

// panickingTracer panics at every message for an agent.
type panickingTracer struct{}

func (panickingTracer) MessageReceived(wire.SessionID, wire.MessageID, string) { panic("boom") }

// A message whose handling panics closes its connection. The messages before it in the same frame take
// effect, also where they cannot be delivered without blocking, as on a follower.
func TestMessagesBeforeAPanicTakeEffect(t *testing.T) {
	t.Parallel()
	owner := newTestHub(t)
	id := owner.newSession("ann")
	watching := owner.mustDial("/ws/"+string(id), as(owner.userToken("ann")))
	next[wire.SessionState](watching)
	follower := newTestHub(t, func(p *hubOptions) {
		p.session.Replica, p.tracer = "replica-2", panickingTracer{}
		p.store = func(*slog.Logger) (engine, error) { return borrowedStore{owner.store}, nil }
	})
	x := follower.mustDial("/ws/"+string(id), dialOptions{token: owner.userToken("ann"), protos: []string{"everdesk.v2.batch"}})
	next[wire.SessionState](x)
	lines := []string{emitFrame("first"), emitFrame("second"), `{"type":"USER_MESSAGE","data":{"messageId":"m1","content":"hello"}}`, emitFrame("dropped")}
	if err := x.ws.Write(t.Context(), websocket.MessageText, []byte(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	x.wantClosed(wire.CloseInternal)
	for n := range 2 {
		if got, want := len(next[wire.Actions](watching).Actions), 1; got != want {
			t.Errorf("event %d has %d actions, want %d", n, got, want)
		}
	}
}

// Messages of a client that closes the connection at once are processed, and the connection is
// removed.
func TestMessagesBeforeADisconnect(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	watching := h.mustDial("/ws/"+string(id), as(h.userToken("ann")))
	next[wire.SessionState](watching)
	var d net.Dialer
	for round := range 20 {
		c, err := d.DialContext(t.Context(), "tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET /ws/%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer %s\r\n\r\n", id, h.addr, h.token("ann", time.Minute))
		var first [1]byte
		for range 2 { // the hub has begun to answer
			if _, err := io.ReadFull(c, first[:]); err != nil {
				t.Fatal(err)
			}
		}
		message := fmt.Sprintf(`{"type":"EMIT","data":{"actions":[{"type":"app.badge","appId":"mail","count":%d}]}}`, round+1)
		// A masked text frame; the mask is 0.
		frame := append([]byte{0x81, 0x80 | byte(len(message)), 0, 0, 0, 0}, message...)
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			t.Fatalf("connection: got a %T, want a TCP connection", c)
		}
		if err := tcp.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		for {
			actions := next[wire.Actions](watching)
			if b, ok := actions.Actions[0].(wire.AppBadge); ok && b.Count == uint64(round+1) {
				break
			}
		}
		if _, err := io.Copy(io.Discard, c); err != nil { // until the end of the connection
			t.Error(err)
		}
		c.Close()
	}
}
