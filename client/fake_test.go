package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

const sessionID wire.SessionID = "ses-12345678"

// fakeHub implements the protocol in memory without a hub, so that it runs in virtual time. Each
// connection is served by the next step of its script; the last step serves all further ones.
type fakeHub struct {
	t      *testing.T
	script []func(*peer)

	over chan struct{} // closed when the test ends
	wg   sync.WaitGroup

	mu    sync.Mutex
	conns int
	dials []time.Time
}

// peer is the hub's end of one connection.
type peer struct {
	t      *testing.T
	over   chan struct{}
	number int // from 0
	query  url.Values
	header http.Header
	raw    *countedConn
	w      http.ResponseWriter
	r      *http.Request
	ws     *websocket.Conn
}

// start serves the script and returns the HTTP client that reaches it.
func (h *fakeHub) start(t *testing.T) *http.Client {
	t.Helper()
	h.t = t
	ln := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{
		Handler:           http.HandlerFunc(h.serve),
		ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	h.over = make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: got error %v, want %v", err, http.ErrServerClosed)
		}
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		h.mu.Lock()
		h.dials = append(h.dials, time.Now())
		h.mu.Unlock()
		return ln.dial(ctx)
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		h.mu.Lock() // a request either counts before the end, or is not served
		close(h.over)
		h.mu.Unlock()
		srv.Close()
		wg.Wait()
		h.wg.Wait()
	})
	return &http.Client{Transport: transport}
}

type connKey struct{}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	n, ok := h.countRequest()
	if !ok {
		return
	}
	defer h.wg.Done()
	raw, _ := r.Context().Value(connKey{}).(*countedConn)
	p := &peer{t: h.t, over: h.over, number: n, query: r.URL.Query(), header: r.Header, raw: raw, w: w, r: r}
	if r.URL.Path != "/ws/"+string(sessionID) {
		h.t.Errorf("path of the request: got %s, want %s", r.URL.Path, "/ws/"+string(sessionID))
	}
	h.script[min(n, len(h.script)-1)](p)
	if p.ws != nil {
		p.ws.CloseNow()
	}
}

// countRequest returns the number of a request, unless the test has ended. The caller ends the request with
// h.wg.Done.
func (h *fakeHub) countRequest() (n int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.over:
		return 0, false
	default:
	}
	h.wg.Add(1)
	n = h.conns
	h.conns++
	return n, true
}

// accept makes the handshake.
func (p *peer) accept() {
	ws, err := websocket.Accept(p.w, p.r, &websocket.AcceptOptions{
		Subprotocols: []string{"everdesk.v2.batch", "everdesk.v2"},
	})
	if err != nil {
		p.t.Errorf("accept: %v", err)
		return
	}
	ws.SetReadLimit(1 << 20)
	p.ws = ws
}

// greet accepts and sends a session_state.
func (p *peer) greet(s wire.SessionState) {
	p.accept()
	if s.HeartbeatMS == 0 {
		s.HeartbeatMS = 48 * 60 * 60 * 1000 // longer than any test
	}
	p.send(wire.Event{Data: s})
}

// send sends events, each in a frame of its own.
func (p *peer) send(events ...wire.Event) {
	for _, e := range events {
		e.Session = sessionID
		if e.Time.IsZero() {
			e.Time = time.Unix(1_800_000_000, 0)
		}
		if !p.text(string(wire.AppendEvent(nil, e))) {
			return
		}
	}
}

// text sends a raw frame. It reports whether that succeeded.
func (p *peer) text(frame string) bool {
	return p.ws.Write(context.Background(), websocket.MessageText, []byte(frame)) == nil
}

// readMessage reads a message; it reports false when the connection has ended.
func (p *peer) readMessage() (wire.Message, bool) {
	_, frame, err := p.ws.Read(context.Background())
	if err != nil {
		return wire.Message{}, false
	}
	m, err := wire.Native{}.DecodeMessage(frame)
	if err != nil {
		p.t.Errorf("client sent %s: %v", frame, err)
	}
	return m, true
}

// hold keeps the connection until the client disconnects, and ignores its messages.
func (p *peer) hold() {
	for {
		if _, ok := p.readMessage(); !ok {
			return
		}
	}
}

// close closes the connection with a code, without waiting for the client's answer.
func (p *peer) close(code wire.CloseCode, reason string) {
	if err := p.ws.Close(websocket.StatusCode(code), reason); err != nil {
		p.t.Logf("close: %v", err)
	}
}

// drop cuts the connection without a close frame.
func (p *peer) drop() { p.ws.CloseNow() }

// pipeListener accepts connections made in memory.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- &countedConn{Conn: theirs}:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// countedConn breaks after a number of bytes, possibly in the middle of a frame.
type countedConn struct {
	net.Conn
	mu   sync.Mutex
	left int
	cut  bool
}

// breakAfter lets n more bytes through.
func (c *countedConn) breakAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.cut = n, true
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	left, cut := c.left, c.cut
	c.left -= min(c.left, len(b))
	c.mu.Unlock()
	if !cut || len(b) <= left {
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:left])
	c.Close()
	return n, net.ErrClosed
}

// pos returns a position.
func pos(epoch, seq uint64) wire.Position { return wire.Position{Epoch: epoch, Seq: seq} }

// renamed returns a small durable event.
func renamed(at wire.Position, title string) wire.Event {
	return wire.Event{At: at, Data: wire.SessionRenamed{Title: title}}
}

// snapshot returns the session_state for a new client.
func snapshot(at wire.Position) wire.SessionState {
	return wire.SessionState{Mode: wire.StateSnapshot, Reason: wire.SnapshotFresh, LastMessageID: at}
}

// resume returns the session_state for a resuming client.
func resume(until wire.Position) wire.SessionState {
	return wire.SessionState{Mode: wire.StateResume, ReplayUntil: until}
}

// run is a client under test.
type run struct {
	*client.Client
	stop context.CancelFunc
	done chan struct{}
	err  error // after done

	mu     sync.Mutex
	events []client.Event
	links  []client.Link
}

// follow runs a client against the script.
func follow(t *testing.T, h *fakeHub, cfg client.Config) *run {
	t.Helper()
	r := &run{done: make(chan struct{})}
	cfg.URL, cfg.Session, cfg.HTTPClient = "http://hub", sessionID, h.start(t)
	also := cfg.OnEvent
	cfg.OnEvent = func(ctx context.Context, e client.Event) {
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
		if also != nil {
			also(ctx, e)
		}
	}
	cfg.OnLink = func(_ context.Context, l client.Link) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.links = append(r.links, l)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Client = c
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() {
		defer close(r.done)
		r.err = c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// seen are the positions of the durable events that the handler got; a session_state is recorded as
// its mode.
func (r *run) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		switch d := e.Data.(type) {
		case wire.SessionState:
			out = append(out, string(d.Mode))
		default:
			name := e.At.String()
			if e.At.IsZero() {
				name = e.Type
			}
			if e.Replayed {
				name += " replayed"
			}
			out = append(out, name)
		}
	}
	return out
}

// states are the states of the link in order.
func (r *run) states() []client.LinkState {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []client.LinkState
	for _, l := range r.links {
		out = append(out, l.State)
	}
	return out
}
