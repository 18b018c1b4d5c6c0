package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// sseEvent is an event of a stream.
type sseEvent struct{ kind, id, data string }

// adminStream is a stream that a test reads.
type adminStream struct {
	t    testing.TB
	res  *http.Response
	from *bufio.Reader
}

// openAdminStream opens an admin stream.
func (h *testHub) openAdminStream(path, token string) *adminStream {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), h.wait)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr+"/api/admin/"+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{Transport: h.transport()}).Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { cancel(); _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		h.t.Fatalf("%s: got %d %s, want %d", path, res.StatusCode, body, http.StatusOK)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := res.Header.Get(name); got != want {
			h.t.Errorf("%s: %s: got %q, want %q", path, name, got, want)
		}
	}
	return &adminStream{t: h.t, res: res, from: bufio.NewReader(res.Body)}
}

// next returns the next event, or false at the end.
func (x *adminStream) next() (e sseEvent, ok bool) {
	x.t.Helper()
	for {
		line, err := x.from.ReadString('\n')
		if err == io.EOF {
			return e, false
		}
		if err != nil {
			x.t.Fatalf("read a stream: %v", err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			e.kind = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e, true
			}
		}
	}
}

// until reads events until one of a kind contains a text.
func (x *adminStream) until(kind, text string) sseEvent {
	x.t.Helper()
	for {
		e, ok := x.next()
		if !ok {
			x.t.Fatalf("the stream ends before %s with %s", kind, text)
		}
		if e.kind == kind && strings.Contains(e.data, text) {
			return e
		}
	}
}

// wantEnd checks that the stream ends with a problem of a code.
func (x *adminStream) wantEnd(code wire.Code) {
	x.t.Helper()
	if e := x.until("problem", ""); !strings.Contains(e.data, fmt.Sprintf(`"code":%d`, code)) {
		x.t.Errorf("the end is %s, want code %d", e.data, code)
	}
	if e, ok := x.next(); ok {
		x.t.Errorf("event after the end: got %+v, want none", e)
	}
}

// close closes the stream at the client's end.
func (x *adminStream) close() { _ = x.res.Body.Close() }

func TestLiveIsRedacted(t *testing.T) {
	t.Parallel()
	for roles, sees := range map[string]bool{"admin:read": false, "admin:act": false, "admin:read admin:content": true, "admin": true} {
		quiet := &fakeAdminView{updates: make(chan adminview.Update)}
		h := newTestHub(t, func(p *hubOptions) { p.adminView = quiet })
		x := h.openAdminStream("live?rows=true", h.userToken("root", strings.Fields(roles)...))
		detail, _ := quiet.Detail(t.Context(), "ses-1")
		quiet.updates <- adminview.Update{
			History: &adminview.History{}, Overview: &adminview.Overview{Time: 7}, Rows: &adminview.Rows{Full: true, Rows: []adminview.Row{fakeRow}}, Detail: &detail,
		}
		if e, _ := x.next(); e.kind != "history" || e.data != `{"points":[]}` {
			t.Errorf("%s: first event: got %+v, want an empty history", roles, e)
		}
		if e, _ := x.next(); e.kind != "overview" || !strings.Contains(e.data, `"replicas":[]`) || !strings.Contains(e.data, `"time":7`) {
			t.Errorf("%s: second event: got %+v, want the overview of time 7 without replicas", roles, e)
		}
		if e, _ := x.next(); e.kind != "rows" || strings.Contains(e.data, "quince") != sees || !strings.Contains(e.data, `"full":true`) {
			t.Errorf("%s: third event: got %+v, want all rows, with content: %v", roles, e, sees)
		}
		if e, _ := x.next(); e.kind != "detail" || strings.Contains(e.data, "rowan") != sees {
			t.Errorf("%s: fourth event: got %+v, want the detail, with content: %v", roles, e, sees)
		}
	}
}

// Streams are limited in total and per user, so that one user cannot occupy all, and some are
// reserved for users with admin:act. Closing one frees its place.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withFakeAdminView)
	full := func(token string) reply {
		got := h.get("/api/admin/live", token)
		got.wantProblem(http.StatusServiceUnavailable, wire.CodeConnectionFailed)
		return got
	}
	var all []*adminStream
	for _, user := range []string{"root", "ann", "bob"} {
		token := h.userToken(user, "admin:read")
		for range 8 {
			all = append(all, h.openAdminStream("live", token))
		}
		full(token)
	}
	root := h.userToken("root", "admin:read")
	got := full(h.userToken("eve", "admin:read"))
	operator := h.userToken("op", "admin:act")
	for range 8 {
		h.openAdminStream("live", operator)
	}
	full(h.userToken("op2", "admin:act"))
	if got.header.Get("Retry-After") == "" {
		t.Error("got no Retry-After, want one")
	}
	h.get("/api/admin/overview", root).wantStatus(http.StatusOK)
	for i := range 9 { // users with admin:act hold eight of all
		all[i].close()
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(h.wait)
	for {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr+"/api/admin/live", nil)
		req.Header.Set("Authorization", "Bearer "+root)
		res, err := (&http.Client{Transport: h.transport()}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("a closed stream does not free its place: %d", res.StatusCode)
		}
	}
	if load := h.hub.Load(); load.Tabs != 0 {
		t.Errorf("tabs: got %d, want 0", load.Tabs)
	}
}

// A stream ends with its credential, however that ends.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withFakeAdminView)
	tail := "sessions/" + string(h.newSession("ann")) + "/tail"
	expiring := h.openAdminStream("live", h.token("root", 3*time.Second, "admin:read"))
	key, id := h.newKey("dashboard", auth.RoleAdminRead)
	revoked := h.openAdminStream(tail, key)
	out := h.openAdminStream("live", h.userToken("eve", "user", "admin"))
	if err := h.auth.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	h.post("/api/logout", h.userToken("eve", "user"), "").wantStatus(http.StatusNoContent)
	revoked.wantEnd(wire.CodeAuthFailed)
	expiring.wantEnd(wire.CodeTokenExpired)
	if e := out.until("problem", ""); !strings.Contains(e.data, `"status":401`) {
		t.Errorf("problem after the sign-out: got %+v, want status 401", e)
	}
}

// Streams end when the hub drains or stops; a draining hub accepts new ones.
func TestStreamsEndWithTheHub(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withFakeAdminView)
	root := h.userToken("root", "admin:read")
	x := h.openAdminStream("live", root)
	h.server.Drain()
	x.wantEnd(wire.CodeConnectionFailed)
	y := h.openAdminStream("live", root)
	ctx, cancel := context.WithTimeout(t.Context(), h.wait)
	defer cancel()
	if err := h.server.Shutdown(ctx); err != nil {
		t.Errorf("an admin stream blocks the shutdown: %v", err)
	}
	y.wantEnd(wire.CodeConnectionFailed)
}

// A client that does not read is disconnected, and blocks no other client.
func TestSlowAdminStream(t *testing.T) {
	t.Parallel()
	quiet := &fakeAdminView{updates: make(chan adminview.Update)}
	h := newTestHub(t, func(p *hubOptions) { p.adminView = quiet })
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	fmt.Fprintf(conn, "GET /api/admin/live?rows=true HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", h.addr, h.userToken("root", "admin:read"))
	big := adminview.Rows{}
	for i := range 5000 {
		row := fakeRow
		row.SessionID = wire.SessionID(fmt.Sprint("ses-", i))
		big.Rows = append(big.Rows, row)
	}
	deadline, tick := time.After(h.wait), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for taken := 0; !strings.Contains(h.log.String(), "path=/api/admin/live"); { // logged when the request has ended
		select {
		case quiet.updates <- adminview.Update{Rows: &big}:
			if taken++; taken > 1000 {
				t.Fatalf("got %d writes to a client that does not read, want an error", taken)
			}
		case <-tick.C:
		case <-deadline:
			t.Fatal("got a connection to a client that does not read, want it closed")
		}
	}
}

// The stream of any replica has the events of the others.
func TestLiveOverReplicas(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	id := a.newSession("ann")
	path := "/ws/" + string(id)
	a.mustDial(path, as(a.userToken("ann"))).wantAlive()
	x := b.openAdminStream("live?rows=true&session="+string(id), b.userToken("eve", "admin:read"))
	x.until("overview", `"id":"one"`)
	x.until("rows", string(id))
	x.until("detail", `"known":true`)
	tab := b.mustDial(path, as(b.userToken("ann")))
	tab.wantAlive()
	x.until("rows", `"tabs":2`)
	x.until("overview", `"tabs":2`)
	if err := tab.ws.CloseNow(); err != nil {
		t.Fatal(err)
	}
	x.until("rows", `"tabs":1`)
	bob := a.newSession("bob")
	a.mustDial("/ws/"+string(bob), as(a.userToken("bob"))).wantAlive()
	x.until("rows", string(bob))
	// A session whose replica stops is shown with its new owner.
	a.server.Drain()
	a.hub.Drain(t.Context())
	b.mustDial("/ws/"+string(bob), as(b.userToken("bob"))).wantAlive()
	x.until("rows", `"owner":"two"`)
	// A deleted session is removed.
	b.adminRequest(http.MethodDelete, "sessions/"+string(bob)+"?reason=gone", "", "").wantStatus(http.StatusOK)
	x.until("rows", `"gone":["`+string(bob)+`"]`)
}
