package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Attacks during the handshake; attack_messages_test.go has those with messages.

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// A WebSocket from another origin is refused with 403, before the session is looked up, and
// counted.
func TestAttackForeignOrigin(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := as(h.token("ann", time.Minute))
	v.header = header("Origin", "https://evil.example")
	// No lookup: a missing session would be a 404.
	for _, path := range []string{"/ws/ses-unknown", "/ws", "/ws/" + string(h.newSession("ann"))} {
		h.wantRefused(path, v, http.StatusForbidden, wire.CodeForbidden)
	}
	if got := h.server.Refusals().Origins; got != 3 {
		t.Errorf("counted %d refused origins, want 3", got)
	}
}

// The origin null, which sandboxed frames have, is refused with 403.
func TestAttackOriginNull(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := as(h.token("ann", time.Minute))
	v.header = header("Origin", "null")
	h.wantRefused("/ws/"+string(h.newSession("ann")), v, http.StatusForbidden, wire.CodeForbidden)
}

// After DNS rebinding, host and origin agree but are not ours. The list of allowed hosts refuses
// them.
func TestAttackDNSRebinding(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := as(h.token("ann", time.Minute))
	v.header = header("Host", "evil.example", "Origin", "http://evil.example")
	h.wantRefused("/ws/"+string(h.newSession("ann")), v, http.StatusMisdirectedRequest, 0)
}

// Origins that contain the name of the hub, as in http://good.host.evil.example and
// http://good@evil, are refused with 403.
func TestAttackOriginsThatLookLikeOurs(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	path := "/ws/" + string(h.newSession("ann"))
	for _, origin := range []string{
		"http://" + h.addr + ".evil.example", "http://" + h.addr + "@evil.example",
		"http://evil.example/" + h.addr, "https://" + h.addr, "http://127.0.0.1", "//" + h.addr,
	} {
		v := as(h.token("ann", time.Minute))
		v.header = header("Origin", origin)
		h.wantRefused(path, v, http.StatusForbidden, wire.CodeForbidden)
	}
	own := as(h.token("ann", time.Minute))
	own.header = header("Origin", "http://"+h.addr)
	next[wire.SessionState](h.mustDial(path, own))
}

// A program without an origin may connect with a bearer token.
func TestAttackBearerWithoutOrigin(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	x := h.mustDial("/ws/"+string(h.newSession("ann")), as(h.token("ann", time.Minute)))
	next[wire.SessionState](x)
}

// A cookie without an origin is refused with 403.
func TestAttackCookieWithoutOrigin(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	path := "/ws/" + string(h.newSession("ann"))
	value, _, err := h.auth.NewCookie(t.Context(), auth.Identity{User: "ann", Roles: []auth.Role{auth.RoleUser}, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	v := dialOptions{header: header("Cookie", "everdesk="+value)}
	h.wantRefused(path, v, http.StatusForbidden, wire.CodeForbidden)
	v.header.Set("Origin", "http://"+h.addr)
	next[wire.SessionState](h.mustDial(path, v))
}

// A connection without credentials is closed with 4401.
func TestAttackNoAuthInTime(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.Timeouts.Auth = 50 * time.Millisecond })
	for _, path := range []string{"/ws/" + string(h.newSession("ann")), "/ws"} {
		x := h.mustDial(path, dialOptions{})
		x.desktop = path == "/ws"
		if !x.desktop {
			x.wantError(wire.CodeAuthRequired)
		}
		x.wantClosed(wire.CloseUnauthorized)
	}
}

// A connection without credentials whose first message is not auth gets error 2001 and is closed
// with 4401.
func TestAttackFirstMessageIsNotAuth(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	path := "/ws/" + string(h.newSession("ann"))
	for _, frame := range []string{
		`{"type":"USER_MESSAGE","data":{"content":"hello"}}`, `{"type":"auth","data":{}}`, `not json`,
		`{"type":"pong"}`, ``,
	} {
		x := h.mustDial(path, dialOptions{})
		x.writeText(frame)
		x.wantError(wire.CodeAuthRequired)
		x.wantClosed(wire.CloseUnauthorized)
	}
	for kind, want := range map[websocket.MessageType]wire.CloseCode{
		websocket.MessageBinary: wire.CloseUnsupported, websocket.MessageText: wire.CloseInvalidText,
	} {
		x := h.mustDial(path, dialOptions{})
		x.writeRaw(kind, []byte{'"', 0xff, '"'})
		x.wantClosed(want)
	}
}

// The second use of a ticket is refused with 2002 and closed with 4401.
func TestAttackTicketUsedTwice(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	ticket, err := h.auth.NewTicket(t.Context(), auth.Identity{User: "ann", Roles: []auth.Role{auth.RoleUser}, Since: time.Now()}, id)
	if err != nil {
		t.Fatal(err)
	}
	x := h.mustDial("/ws/"+string(id), dialOptions{protos: []string{"everdesk.v2"}})
	x.send(wire.Auth{Ticket: ticket})
	if got := next[wire.AuthResult](x); !got.OK || got.User != "ann" || len(got.Roles) != 1 || got.Roles[0] != "user" {
		t.Errorf("auth_result: got %+v, want the user ann", got)
	}
	next[wire.SessionState](x)
	x.wantAlive()

	again := h.mustDial("/ws/"+string(id), dialOptions{})
	again.send(wire.Auth{Ticket: ticket})
	again.wantError(wire.CodeAuthFailed)
	again.wantClosed(wire.CloseUnauthorized)
}

// A ticket for the session of another user gets 3001, not found: 403 would show that the session
// exists.
func TestAttackTicketForASessionOfAnotherUser(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	mine, theirs := h.newSession("ann"), h.newSession("bob")
	for name, bound := range map[string]wire.SessionID{"bound to mine": mine, "bound to none": ""} {
		ticket, err := h.auth.NewTicket(t.Context(), auth.Identity{User: "ann", Roles: []auth.Role{auth.RoleUser}, Since: time.Now()}, bound)
		if err != nil {
			t.Fatal(err)
		}
		x := h.mustDial("/ws/"+string(theirs), dialOptions{})
		x.send(wire.Auth{Ticket: ticket})
		n := x.wantError(wire.CodeSessionNotFound)
		x.wantClosed(wire.CloseNotFound)

		// A missing session gives the same error.
		ticket, err = h.auth.NewTicket(t.Context(), auth.Identity{User: "ann", Roles: []auth.Role{auth.RoleUser}, Since: time.Now()}, bound)
		if err != nil {
			t.Fatal(err)
		}
		x = h.mustDial("/ws/ses-not-there", dialOptions{})
		x.send(wire.Auth{Ticket: ticket})
		if got := x.wantError(wire.CodeSessionNotFound); got.Message != n.Message {
			t.Errorf("%s: got %q for a foreign session, want %q as for an unknown one", name, n.Message, got.Message)
		}
		x.wantClosed(wire.CloseNotFound)
	}
	// So it does over HTTP.
	foreign := h.wantRefused("/ws/"+string(theirs), as(h.token("ann", time.Minute)), http.StatusNotFound, wire.CodeSessionNotFound)
	none := h.wantRefused("/ws/ses-not-there", as(h.token("ann", time.Minute)), http.StatusNotFound, wire.CodeSessionNotFound)
	if foreign != none {
		t.Errorf("foreign session: got %+v, want %+v as for an unknown one", foreign, none)
	}
	// Over the desktop protocol both lead to a new session of the caller.
	for _, id := range []wire.SessionID{theirs, "ses-not-there"} {
		x := h.dialDesktop("?sessionId="+string(id), as(h.token("ann", time.Minute)))
		got := next[wire.ConnectionStatus](x)
		if info, err := h.hub.Info(t.Context(), got.SessionID); err != nil || info.User != "ann" || got.SessionID == mine {
			t.Errorf("%s led to %+v of %q (%v), want a new one of ann", id, got, info.User, err)
		}
	}
}

// Signing out closes all connections of the user with 4411.
func TestAttackSignOut(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	token := h.token("ann", time.Minute)
	first, second := h.mustDial("/ws/"+string(h.newSession("ann")), as(token)), h.mustDial("/ws", as(token))
	second.desktop = true
	other := h.mustDial("/ws/"+string(h.newSession("bob")), as(h.token("bob", time.Minute)))
	next[wire.SessionState](first)
	next[wire.ConnectionStatus](second)
	next[wire.SessionState](other)
	start := time.Now()
	if err := h.auth.SignOut(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	first.wantClosed(wire.CloseLoggedOut)
	second.wantClosed(wire.CloseLoggedOut)
	t.Logf("closed after %v", time.Since(start))
	other.wantAlive()
	h.wantRefused("/ws/ses-1", as(token), http.StatusUnauthorized, 0)
}

// Session ids with path elements, 10 KB of text, other alphabets or braces (which would select a
// slot in Redis) are refused with 400 or 3001.
func TestAttackSessionIDs(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := as(h.token("ann", time.Minute))
	for _, id := range []string{"../x", strings.Repeat("x", 10<<10), "séance", "{p1}", "a b", "a\nb", "%00", "a/b"} {
		for _, path := range []string{"/ws/" + url.PathEscape(id), "/ws?sessionId=" + url.QueryEscape(id)} {
			for _, who := range []dialOptions{v, {}} {
				x, a := h.tryDial(path, who)
				if x != nil || a.status != http.StatusBadRequest && a.status != http.StatusNotFound {
					t.Errorf("path %.50q: got %d %s, want %d or %d", path, a.status, a.body, http.StatusBadRequest, http.StatusNotFound)
				}
			}
		}
	}
	for _, monitor := range []string{"{p1}", "", "monitor 1"} {
		h.wantRefused("/ws/ses-1?monitor="+url.QueryEscape(monitor), v, http.StatusBadRequest, wire.CodeInvalidMessage)
	}
}

// A resume from a position that is malformed, of another epoch or ahead of the log gets a
// snapshot with the reason, and no error.
func TestAttackResumeFromNowhere(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	v := as(h.token("ann", time.Minute))
	x := h.mustDial("/ws/"+string(id), v)
	at := x.emit("m-1")
	ahead := wire.Position{Epoch: at.Epoch, Seq: at.Seq + 1000}
	later := wire.Position{Epoch: at.Epoch + 1, Seq: 0}
	for _, from := range []string{
		"garbage", "-1--1", "9223372036854775808-0", "18446744073709551616-1", "1-1", ahead.String(), later.String(),
		"\x00", strings.Repeat("9", 5000), "null", "4-127 OR 1=1",
	} {
		x := h.mustDial("/ws/"+string(id)+"?resume_from="+url.QueryEscape(from), v)
		got := next[wire.SessionState](x)
		if got.Mode != wire.StateSnapshot || got.Reason == "" || got.LastMessageID.Compare(at) < 0 {
			t.Errorf("resume from %.40q: got mode %s, reason %s at %v, want a snapshot with a reason at %v or later", from, got.Mode, got.Reason, got.LastMessageID, at)
		}
		x.wantAlive()
	}
}

// A client id that another tab uses does not affect that tab: every connection gets a random id
// of its own.
func TestAttackClientIDOfAnotherTab(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	path := "/ws/" + string(h.newSession("ann")) + "?client_id=tab-1"
	v := as(h.token("ann", time.Minute))
	first := h.mustDial(path, v)
	next[wire.SessionState](first)
	second := h.mustDial(path, v)
	next[wire.SessionState](second)
	for {
		p := next[wire.Presence](first)
		if len(p.Connections) < 2 {
			continue
		}
		a, b := p.Connections[0], p.Connections[1]
		if a.ClientID != "tab-1" || b.ClientID != "tab-1" || a.ConnectionID == b.ConnectionID || !strings.HasPrefix(string(a.ConnectionID), "conn-") {
			t.Errorf("connections: got %+v, want two of tab-1 with their own ids", p.Connections)
		}
		break
	}
	second.ws.CloseNow()
	first.wantAlive()
}

// X-Forwarded-For from an address that is no trusted proxy does not evade the limit per address.
func TestAttackSpoofedAddress(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits.Off, p.limits.Strangers = false, 2 })
	path := "/ws/" + string(h.newSession("ann"))
	h.mustDial(path, dialOptions{header: header("X-Forwarded-For", "10.0.0.1")})
	for i := range 5 {
		from := fmt.Sprintf("10.0.1.%d", i)
		h.wantRefused(path, dialOptions{header: header("X-Forwarded-For", from, "X-Real-IP", from, "Forwarded", "for="+from)},
			http.StatusTooManyRequests, wire.CodeRateLimited)
	}
}

// A handshake that does not finish is closed by the timeout for headers, a half-open socket by
// the missing pong.
func TestAttackSlowHandshakeAndHalfOpenSocket(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) {
		p.gateway.Heartbeat, p.gateway.Timeouts.Pong = 90*time.Millisecond, 60*time.Millisecond
	})
	// The server does not wait for an endless request header.
	var d net.Dialer
	slow, err := d.DialContext(t.Context(), "tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /ws HTTP/1.1\r\nHost: "+h.addr+"\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	// A client that reads but does not answer pings is closed.
	x := h.mustDial("/ws/"+string(h.newSession("ann")), as(h.token("ann", time.Minute)))
	next[wire.Ping](x)
	x.wantError(wire.CodeConnectionTimeout)
	x.wantClosed(wire.CloseTooSlow)
	if rest, err := io.ReadAll(bufio.NewReader(slow)); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("slow handshake: got %q, error %v, want the end or a reset", rest, err)
	}
}

// A client that answers pings stays connected, with our pong message or with WebSocket pongs.
func TestAttackPongKeepsTheConnection(t *testing.T) {
	t.Parallel()
	const pong = 5 * time.Second // enough for a busy machine
	h := newTestHub(t, func(p *hubOptions) { p.gateway.Heartbeat, p.gateway.Timeouts.Pong = 500*time.Millisecond, pong })
	native := h.mustDial("/ws/"+string(h.newSession("ann")), as(h.token("ann", time.Minute)))
	plain := h.mustDial("/ws/"+string(h.newSession("ann")), dialOptions{token: h.token("ann", time.Minute)})
	desktop := h.mustDial("/ws", as(h.token("ann", time.Minute)))
	desktop.desktop = true
	done := make(chan struct{})
	go func() { // reading answers pings
		defer close(done)
		for desktop.code == 0 {
			desktop.read()
		}
	}()
	for began := time.Now(); time.Since(began) < 2*pong; {
		next[wire.Ping](plain)
		next[wire.Ping](native)
		native.send(wire.Pong{})
	}
	native.wantAlive()
	plain.wantAlive()
	if err := h.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-done
	if desktop.code != websocket.StatusCode(wire.CloseDraining) {
		t.Errorf("desktop: got closed with %d %s, want %d", desktop.code, desktop.reason, wire.CloseDraining)
	}
}

func TestAttackAccessToASharedSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) {
		p.gateway.Heartbeat, p.gateway.Timeouts.Pong, p.gateway.Timeouts.Recheck = 90*time.Millisecond, time.Minute, 90*time.Millisecond
	})
	id := h.newSession("ann")
	path := "/ws/" + string(id)
	bob := as(h.token("bob", time.Minute))
	h.wantRefused(path, bob, http.StatusNotFound, wire.CodeSessionNotFound)
	if err := h.hub.Share(t.Context(), id, "bob", session.ShareViewer); err != nil {
		t.Fatal(err)
	}
	x := h.mustDial(path, bob)
	next[wire.SessionState](x)
	x.sendWithID("m-1", wire.UserMessage{MessageID: "m-1", Content: "hello"})
	if n := x.wantError(wire.CodeForbidden); n.MessageID != "m-1" {
		t.Errorf("error: got %+v, want one for m-1", n)
	}
	// A new share has an effect on open connections.
	if err := h.hub.Share(t.Context(), id, "bob", session.ShareOperator); err != nil {
		t.Fatal(err)
	}
	for emitted := false; !emitted; {
		x.sendWithID("", wire.Emit{MessageID: "m-2", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}}})
		for answered := false; !answered; {
			e, ok := x.read()
			if !ok {
				t.Fatalf("got closed with %d %s, want an answer", x.code, x.reason)
			}
			switch p := e.Data.(type) {
			case wire.Emitted:
				answered, emitted = true, true
			case wire.ErrorNotice:
				if p.Code != wire.CodeForbidden {
					t.Fatalf("error: got %+v, want code %v", p, wire.CodeForbidden)
				}
				next[wire.Ping](x) // time passes
				answered = true
			}
		}
	}
	// So has a removed one.
	if err := h.hub.Share(t.Context(), id, "bob", ""); err != nil {
		t.Fatal(err)
	}
	x.wantError(wire.CodeSessionNotFound)
	x.wantClosed(wire.CloseNotFound)
}
