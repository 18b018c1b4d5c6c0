package chaos_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// slowBytesPerSecond is the rate at which a slow tab reads.
const slowBytesPerSecond = 1 << 10

// readThrottle controls how fast some tabs read: at full speed, then slowly, then at full speed
// again.
type readThrottle struct {
	narrow, wide chan struct{}
}

func newReadThrottle() *readThrottle {
	return &readThrottle{narrow: make(chan struct{}), wide: make(chan struct{})}
}

// dial connects with the smallest socket buffer, because else the system, and not the hub, would
// hold most of the unread data.
func (th *readThrottle) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, slowBytesPerSecond)
		})
		return errors.Join(err, failed)
	}}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return throttledConn{c, th}, nil
}

// throttledConn is a connection that is read slowly.
type throttledConn struct {
	net.Conn
	throat *readThrottle
}

// Read implements [io.Reader].
func (s throttledConn) Read(b []byte) (int, error) {
	select {
	case <-s.throat.narrow:
	default:
		return s.Conn.Read(b)
	}
	select {
	case <-s.throat.wide:
		return s.Conn.Read(b)
	default:
	}
	n, err := s.Conn.Read(b[:min(len(b), slowBytesPerSecond)])
	select {
	case <-time.After(time.Duration(n) * time.Second / slowBytesPerSecond):
	case <-s.throat.wide:
	}
	return n, err
}

// openUncheckedTab opens a connection to a session whose events are discarded. It ends with the
// test.
func openUncheckedTab(t *testing.T, addr string, session wire.SessionID, th *readThrottle) {
	t.Helper()
	c, err := th.dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = c.Close()
		wg.Wait()
	})
	_, err = fmt.Fprintf(c, "GET /ws/%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ZXZlcmRlc2sgY2hhb3MhIQ==\r\nSec-WebSocket-Protocol: everdesk.v2.batch\r\n\r\n", session, addr)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReaderSize(c, slowBytesPerSecond)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("handshake: %v", err)
	}
	_ = answer.Body.Close() // it has none
	if answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("handshake: got %s, want status %d", answer.Status, http.StatusSwitchingProtocols)
	}
	wg.Go(func() { _, _ = io.Copy(io.Discard, in) })
}

// burstSession is a session with one tab that sends much in a short time, some tabs that read, and
// some that read slowly.
type burstSession struct {
	f       *hubtest.Cluster
	h       *hubtest.History
	session wire.SessionID
	speaker *hubtest.Tab
	watch   []*hubtest.Tab
	slow    *hubtest.Tab
	throat  *readThrottle

	mu   sync.Mutex // guards the following
	sent map[wire.Position]time.Duration
}

// newBurstSession opens the tabs. The sending tab is at the second hub, which therefore owns the
// session, and all others at the first.
func newBurstSession(t *testing.T, f *hubtest.Cluster, name string, stares int) *burstSession {
	t.Helper()
	s := &burstSession{
		f: f, h: plan.NewHistory(t, "f09-"+name), session: f.CreateSession(t), throat: newReadThrottle(),
		sent: map[wire.Position]time.Duration{},
	}
	open := func(name string, at int, dial func(context.Context, string, string) (net.Conn, error)) *hubtest.Tab {
		return s.h.OpenTab(t, hubtest.TabConfig{Name: name, URL: f.Hubs[at].URL, Session: s.session, Dial: dial})
	}
	s.speaker = open("speaker", 1, nil)
	for i := range 2 {
		s.watch = append(s.watch, open(fmt.Sprintf("watch-%d", i), 0, nil))
	}
	s.slow = open("slow", 0, s.throat.dial)
	for range stares {
		openUncheckedTab(t, f.Hubs[0].Addr, s.session, s.throat)
	}
	for i := range burstWindows {
		s.emit(t, wire.WindowCreate{
			WindowID: windowOf(i), Title: "burst", Bounds: wire.Bounds{W: 100, H: 100}, Content: wire.TextContent{Data: "none"},
		})
	}
	return s
}

// burstWindows is the number of windows that are written to.
const burstWindows = 20

func windowOf(i int) wire.WindowID { return wire.WindowID(fmt.Sprintf("w-%d", i%burstWindows)) }

// emit sends an action and waits until it is accepted.
func (s *burstSession) emit(t *testing.T, a wire.Action) {
	t.Helper()
	from := s.h.Since()
	answer, err := s.speaker.Client.Send(t.Context(), wire.Emit{Actions: []wire.Action{a}})
	if err != nil {
		t.Errorf("emit: %v", err)
		return
	}
	if e, ok := answer.Data.(wire.Emitted); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent[e.At] = from
	}
}

// burst writes to windows at a steady rate.
func (s *burstSession) burst(t *testing.T, times, size, rate int) {
	t.Helper()
	const every = 10 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	began := time.Now()
	for i := 0; i < times; {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
		for due := int(time.Since(began).Seconds() * float64(rate)); i < min(due, times); i++ {
			next := wire.WindowSetContent{
				WindowID: windowOf(i),
				Content:  wire.TextContent{Data: fmt.Sprintf("%d %s", i, strings.Repeat(string(rune('a'+i%26)), size))},
			}
			wg.Go(func() { s.emit(t, next) })
		}
	}
}

// delays returns the times from sending until each reading tab got the events.
func (s *burstSession) delays() *sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &sample{}
	for _, e := range s.h.Entries() {
		if e.Kind != hubtest.KindEvent || !strings.HasPrefix(e.Source, "watch") {
			continue
		}
		if from, ok := s.sent[e.Event.At]; ok {
			out.add(e.T - from)
		}
	}
	return out
}

// checkBehind checks that the slow tab has not seen everything that the others have.
func (s *burstSession) checkBehind(t *testing.T) {
	t.Helper()
	top, slow := s.speaker.Client.Position(), s.slow.Client.Position()
	if slow.Compare(top) >= 0 {
		t.Errorf("the slow tab received all events up to %v, want fewer", top)
	}
}

// finish checks the history. It returns the number of violations and of snapshots that the slow tab
// got.
func (s *burstSession) finish(t *testing.T) (violations, snapshots int) {
	t.Helper()
	violations = s.f.Finish(t, s.h, append([]*hubtest.Tab{s.speaker, s.slow}, s.watch...), hubtest.Rules{})
	for _, e := range s.h.Entries() {
		if e.Kind == hubtest.KindSnapshot && e.Source == s.slow.Name {
			snapshots++
		}
	}
	for _, tab := range append([]*hubtest.Tab{s.speaker, s.slow}, s.watch...) {
		tab.Close()
	}
	return violations, snapshots - 1 // the first is for everybody
}
