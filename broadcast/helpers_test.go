package broadcast_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const session = wire.SessionID("ses-1")

// epoch is the time of the first event.
var epoch = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

// memory is a source with a log in memory that can be trimmed.
type memory struct {
	mu        sync.Mutex
	top       wire.Position
	trimmed   bool
	log       []store.Event
	state     wire.SessionState
	reads     int
	snapshots int
	// at, unless zero, is the position of snapshots instead of the end of the log.
	at  wire.Position
	err error
}

func (m *memory) Read(_ context.Context, after wire.Position, limit int) ([]store.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.err != nil {
		return nil, m.err
	}
	i, found := slices.BinarySearchFunc(m.log, after, func(e store.Event, p wire.Position) int { return e.At.Compare(p) })
	switch {
	case found:
		i++
	case after.IsZero() && !m.trimmed:
	case i == 0 && (len(m.log) > 0 || m.trimmed):
		return nil, store.ErrTrimmed
	case i == len(m.log):
		return nil, store.ErrAhead
	default:
		return nil, store.ErrUnknownPosition
	}
	return slices.Clone(m.log[i:min(len(m.log), i+store.PageLimit(limit))]), nil
}

func (m *memory) Oldest(context.Context) (wire.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.log) == 0 || !m.trimmed {
		return wire.Position{}, m.err
	}
	return m.log[0].At, m.err
}

func (m *memory) Snapshot(_ context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapshots++
	s := m.state
	s.Mode, s.Status, s.LastMessageID = wire.StateSnapshot, wire.SessionIdle, m.top
	if !m.at.IsZero() {
		s.LastMessageID = m.at
	}
	for _, id := range monitors {
		s.Monitors = append(s.Monitors, wire.MonitorStatus{MonitorID: id, State: wire.MonitorIdle})
	}
	return s, m.err
}

// commit appends payloads to the log and returns them as events to publish.
func (m *memory) commit(payloads ...wire.ServerPayload) []broadcast.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var events []broadcast.Event
	for _, p := range payloads {
		m.top = wire.Position{Epoch: max(m.top.Epoch, 1), Seq: m.top.Seq + 1}
		now := epoch.Add(time.Duration(m.top.Seq) * 10 * time.Millisecond)
		frame := wire.AppendEvent(nil, wire.Event{Session: session, At: m.top, Time: now, Data: p})
		m.log = append(m.log, store.Event{At: m.top, Frame: frame})
		events = append(events, broadcast.Event{At: m.top, Frame: frame, Data: p, Time: now})
	}
	return events
}

// trim drops all but the newest events.
func (m *memory) trim(keep int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.log) - keep; n > 0 {
		m.log, m.trimmed = slices.Clone(m.log[n:]), true
	}
}

func (m *memory) count() (reads, snapshots int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads, m.snapshots
}

// title returns a small event without a monitor.
func title(i int) wire.ServerPayload { return wire.SessionRenamed{Title: fmt.Sprintf("title %d", i)} }

func titles(n int) []wire.ServerPayload {
	list := make([]wire.ServerPayload, n)
	for i := range list {
		list[i] = title(i)
	}
	return list
}

// bench is a Center with its source.
type bench struct {
	*broadcast.Center
	src *memory
	t   *testing.T
}

func newTestCenter(t *testing.T, cfg broadcast.Config) *bench {
	t.Helper()
	src := &memory{}
	c := broadcast.NewCenter(cfg, session, wire.Position{}, src)
	t.Cleanup(func() {
		c.Close(wire.CloseGoingAway, "the test is over")
		c.Wait()
	})
	return &bench{c, src, t}
}

// show commits and publishes.
func (b *bench) show(payloads ...wire.ServerPayload) []broadcast.Event {
	b.t.Helper()
	events := b.src.commit(payloads...)
	b.Publish(events)
	return events
}

// tab is the client side of a connection.
type tab struct {
	*broadcast.Tab
	net.Conn
	t      *testing.T
	in     *bufio.Reader
	form   broadcast.Form
	lines  []string // of a frame of FormBatch, not yet read
	closed chan closing
	server *broadcast.Socket
}

type closing struct {
	code   wire.CloseCode
	reason string
}

// attach connects a tab over TCP.
func (b *bench) attach(cfg broadcast.TabConfig) *tab {
	b.t.Helper()
	server, client := tcpPair(b.t)
	return b.attachTo(server, client, cfg)
}

func (b *bench) attachTo(server *broadcast.Socket, client net.Conn, cfg broadcast.TabConfig) *tab {
	b.t.Helper()
	c := &tab{
		Conn: client, t: b.t, in: bufio.NewReader(client), form: cfg.Form,
		closed: make(chan closing, 1), server: server,
	}
	cfg.Conn = server
	cfg.Closed = func(code wire.CloseCode, reason string) { c.closed <- closing{code, reason} }
	var err error
	if c.Tab, err = b.Attach(b.t.Context(), cfg); err != nil {
		b.t.Fatalf("attach: %v", err)
	}
	b.t.Cleanup(func() {
		c.Detach()
		server.Close()
		client.Close()
	})
	return c
}

// tcpPair returns both sides of a connection over loopback.
func tcpPair(tb testing.TB) (server *broadcast.Socket, client net.Conn) {
	tb.Helper()
	var listen net.ListenConfig
	ln, err := listen.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := ln.Accept()
		accepted <- c
	}()
	var dial net.Dialer
	client, err = dial.DialContext(tb.Context(), "tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	conn := <-accepted
	if conn == nil {
		tb.Fatal("accept: got no connection, want one")
	}
	return &broadcast.Socket{Conn: conn}, client
}

// pipe returns both sides of an unbuffered connection: a write waits for the reader.
func pipe() (server *broadcast.Socket, client net.Conn) {
	conn, client := net.Pipe()
	return &broadcast.Socket{Conn: conn}, client
}

// readFrame returns the opcode and the payload of the next WebSocket frame.
func readFrame(r *bufio.Reader) (byte, []byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	if head[0]&0x80 == 0 || head[0]&0x70 != 0 {
		return 0, nil, fmt.Errorf("a frame begins with %x", head)
	}
	size := uint64(head[1])
	switch size {
	case 126:
		var b [2]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return 0, nil, err
		}
		size = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return 0, nil, err
		}
		size = binary.BigEndian.Uint64(b[:])
	}
	if size > 64<<20 {
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	payload := make([]byte, size)
	_, err := io.ReadFull(r, payload)
	return head[0] & 0x0f, payload, err
}

var errControl = errors.New("a control frame")

// line returns the next envelope.
func (c *tab) line() (string, error) {
	switch c.form {
	case broadcast.FormSSE:
		var data, id string
		for {
			s, err := c.in.ReadString('\n')
			if err != nil {
				return "", err
			}
			s = strings.TrimSuffix(s, "\n")
			switch {
			case s == "":
				if id != "" && !strings.Contains(data, `"`+id+`"`) {
					return "", fmt.Errorf("id %s of %s", id, data)
				}
				return data, nil
			case strings.HasPrefix(s, "id: "):
				id = s[4:]
			case strings.HasPrefix(s, "data: "):
				data = s[6:]
			default:
				return "", fmt.Errorf("line %q", s)
			}
		}
	case broadcast.FormBatch:
		if len(c.lines) > 0 {
			s := c.lines[0]
			c.lines = c.lines[1:]
			return s, nil
		}
	}
	op, payload, err := readFrame(c.in)
	switch {
	case err != nil:
		return "", err
	case op != 1:
		return "", fmt.Errorf("%w: %x %s", errControl, op, payload)
	}
	if c.form == broadcast.FormBatch {
		c.lines = strings.Split(string(payload), "\n")
		return c.line()
	}
	return string(payload), nil
}

// next returns the next event.
func (c *tab) next() wire.Event {
	c.t.Helper()
	s, err := c.line()
	if err != nil {
		c.t.Fatalf("read a frame: %v", err)
	}
	d := wire.Dialect(wire.Native{})
	if c.form == broadcast.FormDesktop || c.form == broadcast.FormNumbered {
		d = wire.Desktop{}
	}
	e, err := d.DecodeEvent([]byte(s))
	if err != nil {
		c.t.Fatalf("decode %.200q: %v", s, err)
	}
	return e
}

// greeting returns the next event, which must be session_state.
func (c *tab) greeting() wire.SessionState {
	c.t.Helper()
	e := c.next()
	s, ok := e.Data.(wire.SessionState)
	if !ok {
		c.t.Fatalf("first frame is %T, want session_state", e.Data)
	}
	if s.HeartbeatMS == 0 || e.Session != session || !e.At.IsZero() {
		c.t.Errorf("session_state: got %+v, want one of %s with a heartbeat and no position", e, session)
	}
	return s
}

// expect reads events and compares their positions.
func (c *tab) expect(events ...broadcast.Event) {
	c.t.Helper()
	for _, want := range events {
		if got := c.next(); got.At != want.At {
			c.t.Fatalf("got %v (%T), want %v", got.At, got.Data, want.At)
		}
	}
}

func who(id string) wire.Connection { return wire.Connection{ConnectionID: wire.ConnectionID(id)} }
