package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/wire"
)

func TestResumeShowsWhatWasMissed(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, x := h.sessionWithTab()
	v := as(h.token("ann", time.Minute))
	from := x.emit("m-0")
	var want []wire.Position
	for i := range 50 {
		want = append(want, x.emit(wire.MessageID(fmt.Sprintf("n-%d", i))))
	}
	for _, proto := range []string{"everdesk.v2", "everdesk.v2.batch"} {
		v.protos = []string{proto}
		y := h.mustDial("/ws/"+string(id)+"?resume_from="+from.String(), v)
		if got := y.ws.Subprotocol(); got != proto {
			t.Errorf("subprotocol: got %q, want %q", got, proto)
		}
		e, ok := y.read()
		state, is := e.Data.(wire.SessionState)
		if !ok || !is || state.Mode != wire.StateResume || state.ReplayUntil.Compare(want[len(want)-1]) < 0 {
			t.Fatalf("first event: got %+v, want a resume until %v or later", e, want[len(want)-1])
		}
		for _, at := range want {
			for {
				e, ok := y.read()
				if !ok {
					t.Fatalf("got closed with %d, want the next event", y.code)
				}
				if _, is := e.Data.(wire.Actions); is {
					if e.At != at {
						t.Fatalf("%s: actions at %v, want %v", proto, e.At, at)
					}
					break
				}
			}
		}
	}
	// Without a subprotocol a snapshot comes before the missed events.
	v.protos = nil
	y := h.mustDial("/ws/"+string(id)+"?resume_from="+from.String(), v)
	e, ok := y.read()
	state, is := e.Data.(wire.SessionState)
	if !ok || !is || state.Mode != wire.StateSnapshot || e.At != state.LastMessageID || e.At.Compare(want[len(want)-1]) < 0 {
		t.Fatalf("first event %+v, want a snapshot whose message_id is its position", e)
	}
	var got []wire.Position
	for len(got) < len(want) {
		e, ok := y.read()
		if !ok {
			t.Fatalf("got closed with %d, want the next event", y.code)
		}
		if _, is := e.Data.(wire.Actions); is {
			got = append(got, e.At)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("after the state came %v, want %v", got, want)
	}
}

func TestBatchOfMessagesInOneFrame(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := as(h.token("ann", time.Minute))
	v.protos = []string{"everdesk.v2.batch", "everdesk.v2"}
	x := h.mustDial("/ws/"+string(h.newSession("ann")), v)
	var lines []string
	for i := range 5 {
		lines = append(lines, fmt.Sprintf(`{"type":"EMIT","data":{"messageId":"m-%d","actions":[{"type":"app.badge","appId":"a","count":%d}]}}`, i, i))
	}
	x.writeText(strings.Join(lines, "\n") + "\n\n")
	for i := range 5 {
		if got := next[wire.Emitted](x); got.MessageID != wire.MessageID(fmt.Sprintf("m-%d", i)) {
			t.Errorf("emitted %+v, want m-%d", got, i)
		}
	}
	// In other protocols a frame is one message.
	_, y := h.sessionWithTab()
	y.writeText(lines[0] + "\n" + lines[1])
	y.wantError(wire.CodeInvalidMessage)
}

func TestMessageWithoutIDIsAnswered(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	_, x := h.sessionWithTab()
	x.writeText(`{"type":"USER_MESSAGE","data":{"content":"hello"}}`)
	if got := next[wire.MessageRejected](x); got.MessageID == "" || got.Code != wire.CodeProviderUnavailable {
		t.Errorf("answer: got %+v, want a rejection with an id and code %v", got, wire.CodeProviderUnavailable)
	}
	x.writeText(`{"type":"USER_MESSAGE","message_id":"mine","data":{"content":"hello"}}`)
	if got := next[wire.MessageRejected](x); got.MessageID != "mine" {
		t.Errorf("answer: got %+v, want a rejection of mine", got)
	}
}

func TestMonitorFilter(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, x := h.sessionWithTab()
	x.send(wire.SubscribeMonitor{MonitorID: "monitor-1"})
	y := h.mustDial("/ws/"+string(id)+"?monitor=monitor-1", as(h.token("ann", time.Minute)))
	next[wire.SessionState](y)
	x.send(wire.Emit{MessageID: "m-0", MonitorID: "monitor-0", Actions: []wire.Action{wire.WindowClose{WindowID: "none"}, wire.AppBadge{AppID: "zero", Count: 1}}})
	x.send(wire.Emit{MessageID: "m-1", MonitorID: "monitor-1", Actions: []wire.Action{wire.AppBadge{AppID: "one", Count: 1}}})
	if got := next[wire.Actions](y); got.MonitorID != "monitor-1" {
		t.Errorf("actions for a tab of monitor-1: got %+v, want those of monitor-1", got)
	}
	// Another monitor may be added later.
	y.send(wire.SubscribeMonitor{MonitorID: "monitor-0"})
	next[wire.SessionState](y)
	x.send(wire.Emit{MessageID: "m-2", MonitorID: "monitor-0", Actions: []wire.Action{wire.AppBadge{AppID: "zero", Count: 2}}})
	if got := next[wire.Actions](y); got.MonitorID != "monitor-0" {
		t.Errorf("actions for the tab: got %+v, want those of monitor-0", got)
	}
}

// dialDesktop opens a WebSocket of the desktop dialect.
func (h *testHub) dialDesktop(query string, v dialOptions) *tab {
	h.t.Helper()
	v.protos = nil
	x := h.mustDial("/ws"+query, v)
	x.desktop = true
	return x
}

func TestDesktopFindsItsSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := dialOptions{token: h.token("ann", time.Minute)}
	// A new user gets a session, and two tabs that connect at once get the same one.
	hello := make([]wire.ConnectionStatus, 4)
	var wg sync.WaitGroup
	for i := range hello {
		x := h.dialDesktop("", v)
		wg.Go(func() { hello[i] = next[wire.ConnectionStatus](x) })
	}
	wg.Wait()
	first := hello[0].SessionID
	for _, s := range hello {
		if s.Status != wire.LinkConnected || s.SessionID != first || first == "" || s.Provider == "" {
			t.Errorf("connection status: got %+v, want connected to %s with a provider", s, first)
		}
	}
	// The most recently updated session is opened.
	named := h.newSession("ann")
	x := h.dialDesktop("?sessionId="+string(named), v)
	if got := next[wire.ConnectionStatus](x); got.SessionID != named {
		t.Errorf("connection status: got %+v, want the named session %s", got, named)
	}
	x.writeText(`{"type":"SUBSCRIBE_MONITOR","monitorId":"monitor-1"}`)
	x.writeText(`{"type":"USER_MESSAGE","messageId":"m-1","content":"hello","monitorId":"monitor-0"}`)
	next[wire.Actions](x) // the error, as a toast
	if got := next[wire.ConnectionStatus](h.dialDesktop("", v)); got.SessionID != named {
		t.Errorf("connection status without a name: got %+v, want the latest session %s", got, named)
	}
	// For a viewer no session is created.
	h.wantRefused("/ws", dialOptions{token: h.token("eve", time.Minute, "viewer")}, http.StatusNotFound, wire.CodeSessionNotFound)
	h.wantRefused("/ws?sessionId="+string(named), dialOptions{token: h.token("eve", time.Minute, "viewer")}, http.StatusNotFound, wire.CodeSessionNotFound)
	h.wantRefused("/ws?sessionId=ses-new", dialOptions{token: h.token("eve", time.Minute, "viewer")}, http.StatusNotFound, wire.CodeSessionNotFound)
}

func TestDesktopTokenInQuery(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	token := h.token("ann", time.Minute)
	x := h.dialDesktop("?token="+token, dialOptions{})
	next[wire.ConnectionStatus](x)
	bad := h.dialDesktop("?token=wrong", dialOptions{})
	bad.wantClosed(wire.CloseUnauthorized)
	// The native endpoint accepts it only where that is enabled.
	id := h.newSession("ann")
	y := h.mustDial("/ws/"+string(id)+"?token="+token, dialOptions{})
	y.send(wire.Pong{})
	y.wantClosed(wire.CloseUnauthorized)
	open := newTestHub(t, func(p *hubOptions) { p.gateway.QueryTokens = true })
	next[wire.SessionState](open.mustDial("/ws/"+string(open.newSession("ann"))+"?token="+open.token("ann", time.Minute), dialOptions{}))
}

func TestNotAWebSocket(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for path, head := range map[string]http.Header{
		"/ws":       {},
		"/ws/ses-1": header("Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "8"),
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = head
		transport := &http.Transport{}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		transport.CloseIdleConnections()
		if res.StatusCode/100 != 4 || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %s %s, want a problem with status 4xx", path, res.Status, body)
		}
	}
}

// eventStream is a response in Server-Sent Events.
type eventStream struct {
	t      testing.TB
	status int
	header http.Header
	whole  bool // its length was announced, or the connection stays open after it
	lines  *bufio.Scanner
	stop   func()
}

// openEventStream requests a session's Server-Sent Events.
func (h *testHub) openEventStream(id wire.SessionID, query string, pairs ...string) *eventStream {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.addr+"/api/sessions/"+string(id)+"/events"+query, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header = header(append(pairs, "Accept", "text/event-stream", "Authorization", "Bearer "+h.token("ann", time.Minute))...)
	transport := &http.Transport{}
	res, err := transport.RoundTrip(req) //nolint:bodyclose // stop does
	if err != nil {
		h.t.Fatal(err)
	}
	f := &eventStream{
		t: h.t, status: res.StatusCode, header: res.Header, whole: res.ContentLength >= 0 || !res.Close,
		lines: bufio.NewScanner(res.Body),
		stop: func() {
			res.Body.Close()
			transport.CloseIdleConnections()
		},
	}
	f.lines.Buffer(nil, 1<<20)
	h.t.Cleanup(f.stop)
	return f
}

// next returns the next event and its id.
func (s *eventStream) next() (wire.Event, string) {
	s.t.Helper()
	var id, data string
	for s.lines.Scan() {
		switch line := s.lines.Text(); {
		case line == "" && data != "":
			e, err := wire.Native{}.DecodeEvent([]byte(data))
			if err != nil {
				s.t.Fatal(err)
			}
			return e, id
		case strings.HasPrefix(line, "id:"):
			id = strings.TrimSpace(line[3:])
		case strings.HasPrefix(line, "data:"):
			data += strings.TrimSpace(line[5:])
		case strings.HasPrefix(line, "event:"):
			s.t.Errorf("%s: onmessage would not see it", line)
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return wire.Event{}, ""
}

func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.Heartbeat, p.gateway.Timeouts.Pong = 300*time.Millisecond, time.Minute })
	id, x := h.sessionWithTab()
	s := h.openEventStream(id, "")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := s.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if s.status != http.StatusOK || s.whole {
		t.Errorf("stream: got status %d, whole %v, want %d and an open stream", s.status, s.whole, http.StatusOK)
	}
	if e, _ := s.next(); e.Data.(wire.SessionState).Mode != wire.StateSnapshot {
		t.Errorf("first event: got %+v, want a snapshot", e)
	}
	from := x.emit("m-1")
	var want []wire.Position
	for i := range 10 {
		want = append(want, x.emit(wire.MessageID(fmt.Sprintf("n-%d", i))))
	}
	for {
		e, at := s.next()
		if _, ok := e.Data.(wire.Actions); ok {
			if at != from.String() || e.At != from {
				t.Errorf("id of the event at %v: got %q, want %v", e.At, at, from)
			}
			break
		}
	}
	for pinged := false; !pinged; {
		e, _ := s.next()
		_, pinged = e.Data.(wire.Ping)
	}
	// Both ways to send the last event id.
	for _, s := range []*eventStream{h.openEventStream(id, "", "Last-Event-ID", from.String()), h.openEventStream(id, "?last_event_id="+from.String())} {
		if e, _ := s.next(); e.Data.(wire.SessionState).Mode != wire.StateResume {
			t.Fatalf("first event: got %+v, want a resume", e)
		}
		for _, at := range want {
			for {
				e, id := s.next()
				if _, ok := e.Data.(wire.Actions); ok {
					if e.At != at || id != at.String() {
						t.Fatalf("event %v with id %s, want %v", e.At, id, at)
					}
					break
				}
			}
		}
	}
	// Users without access get none.
	if s := h.openEventStream(h.newSession("bob"), ""); s.status != http.StatusNotFound {
		t.Errorf("stream of a foreign session: got %d, want %d", s.status, http.StatusNotFound)
	}
	if s := h.openEventStream("ses-not-there", "", "Last-Event-ID", "garbage"); s.status != http.StatusNotFound {
		t.Errorf("stream of an unknown session: got %d, want %d", s.status, http.StatusNotFound)
	}
}

// A page that reloads disappears from the list of connections at once.
func TestDisconnectIsVisible(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, x := h.sessionWithTab()
	watcher := h.openEventStream(id, "?client_id=watcher")
	y := h.mustDial("/ws/"+string(id)+"?client_id=second", as(h.token("ann", time.Minute)))
	seen := func(want ...wire.ClientID) {
		t.Helper()
		for {
			p := next[wire.Presence](x)
			got := map[wire.ClientID]bool{}
			for _, c := range p.Connections {
				got[c.ClientID] = true
			}
			if len(got) == len(want)+1 {
				for _, id := range want {
					if !got[id] {
						t.Errorf("connections %+v, want %v", p.Connections, want)
					}
				}
				return
			}
		}
	}
	seen("watcher", "second")
	watcher.stop()
	seen("second")
	y.ws.Close(websocket.StatusNormalClosure, "")
	seen()
}

func TestDrainDisconnectsAllClients(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) {
		p.gateway.DrainGrace, p.gateway.Timeouts.Close = 200*time.Millisecond, time.Minute
	})
	id := h.newSession("ann")
	v := as(h.token("ann", time.Minute))
	var tabs []*tab
	for range 200 { // more than one batch
		x := h.mustDial("/ws/"+string(id), v)
		next[wire.SessionState](x)
		tabs = append(tabs, x)
	}
	unauthenticated := h.mustDial("/ws/"+string(id), dialOptions{})
	watcher := h.openEventStream(id, "")
	watcher.next()
	h.server.Drain()
	h.wantRefused("/ws/"+string(id), v, http.StatusServiceUnavailable, wire.CodeConnectionFailed)
	if s := h.openEventStream(id, ""); s.status != http.StatusServiceUnavailable {
		t.Errorf("stream while draining: got %d, want %d", s.status, http.StatusServiceUnavailable)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.server.Shutdown(context.Background()) }()
	var wg sync.WaitGroup
	for _, x := range tabs {
		wg.Go(func() {
			if got := next[wire.GoElsewhere](x); got.AfterMS < 0 || got.AfterMS > 5000 {
				t.Errorf("reconnect: got %+v, want it after 0 to 5 s", got)
			}
			x.wantClosed(wire.CloseDraining)
		})
	}
	wg.Go(func() { unauthenticated.wantClosed(wire.CloseDraining) })
	wg.Wait()
	for {
		if e, _ := watcher.next(); e.Data != nil {
			if _, ok := e.Data.(wire.GoElsewhere); ok {
				break
			}
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A client that does not answer the close does not block the others: when the time is over it is
// cut.
func TestShutdownCutsSilentClients(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.DrainGrace, p.gateway.Timeouts.Close = time.Hour, time.Hour })
	id := h.newSession("ann")
	var dead []rawConn
	for range 3 {
		dead = append(dead, h.dialRaw(id)) // never answers a close
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := h.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for _, r := range dead {
		if code := r.closeCode(); code != int(wire.CloseDraining) {
			t.Errorf("close of a silent client: got %d, want %d", code, wire.CloseDraining)
		}
		if n, err := r.conn.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read after the close: got %d bytes, error %v, want only an error", n, err)
		}
	}
}

// Data that a client sends together with its handshake is not lost.
func TestDataBehindTheHandshake(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	frame := `{"type":"USER_MESSAGE","data":{"messageId":"hasty","content":"hello"}}`
	head := "GET /ws/" + string(id) + " HTTP/1.1\r\nHost: " + h.addr + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer " + h.token("ann", time.Minute) + "\r\n\r\n"
	var all strings.Builder
	all.WriteString(head)
	for range 40 { // more than the buffers hold
		all.Write([]byte{0x81, 0x80 | byte(len(frame)), 0, 0, 0, 0})
		all.WriteString(frame)
	}
	if _, err := io.WriteString(conn, all.String()); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(h.wait)); err != nil {
		t.Fatal(err)
	}
	answers := 0
	for r := bufio.NewReader(conn); answers < 40; {
		line, err := r.ReadString('}')
		if err != nil {
			t.Fatalf("after %d answers: %v", answers, err)
		}
		answers += strings.Count(line, `"MESSAGE_REJECTED"`)
	}
}
