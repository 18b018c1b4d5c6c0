package gateway_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// sessionWithTab starts a hub with a session of ann and a tab.
func (h *testHub) sessionWithTab() (wire.SessionID, *tab) {
	h.t.Helper()
	id := h.newSession("ann")
	x := h.mustDial("/ws/"+string(id), as(h.token("ann", time.Minute)))
	next[wire.SessionState](x)
	return id, x
}

// A frame of more than 64 KiB is closed with 1009.
func TestAttackFrameTooBig(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	_, x := h.sessionWithTab()
	pad := func(size int) string {
		const head, tail = `{"type":"USER_MESSAGE","data":{"content":"`, `"}}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	x.writeText(pad(64 << 10))
	next[wire.MessageRejected](x) // it was decoded, but there is no agent
	x.writeText(pad(64<<10 + 1))
	x.wantError(wire.CodeMessageTooLarge)
	x.wantClosed(wire.CloseTooBig)
}

// A text frame with invalid UTF-8 is closed with 1007, a binary frame with 1003.
func TestAttackNotText(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	_, x := h.sessionWithTab()
	x.writeRaw(websocket.MessageText, []byte("{\"type\":\"USER_MESSAGE\",\"data\":{\"content\":\"\xff\xfe\"}}"))
	x.wantClosed(wire.CloseInvalidText)
	_, x = h.sessionWithTab()
	x.writeRaw(websocket.MessageBinary, []byte(`{"type":"pong"}`))
	x.wantClosed(wire.CloseUnsupported)
}

// JSON that is nested too deeply, has duplicate keys or numbers out of range is answered with
// error 1003, and the connection stays open. Duplicate keys are refused so that no two readers
// see different types.
func TestAttackJSONThatIsNone(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	frames := map[string]string{
		"depth":          `{"type":"USER_MESSAGE","data":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
		"duplicate type": `{"type":"pong","type":"RESET","data":{}}`,
		"duplicate key":  `{"type":"USER_MESSAGE","data":{"content":"a","content":"b"}}`,
		"huge number":    `{"type":"USER_INTERACTION","data":{"interactions":[{"type":"window.move","timestamp":1e999}]}}`,
		"NaN":            `{"type":"USER_INTERACTION","data":{"interactions":[{"type":"window.move","timestamp":NaN}]}}`,
		"two values":     `{"type":"pong"}{"type":"pong"}`,
		"empty":          ``,
		"not an object":  `["type","pong"]`,
	}
	for name, frame := range frames {
		_, x := h.sessionWithTab()
		x.writeText(frame)
		if n := x.wantError(wire.CodeInvalidMessage); !n.Recoverable {
			t.Errorf("%s: got %+v, want a recoverable error", name, n)
		}
		x.wantAlive()
	}
}

// Messages of an unknown type, without data or with fields of a wrong type get error 1003 with
// their message id.
func TestAttackMessagesThatDoNotFit(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for _, tt := range []struct{ name, frame, field string }{
		{"unknown type", `{"type":"FORMAT_DISK","message_id":"m-1","data":{}}`, "type"},
		{"event of the hub", `{"type":"session_state","message_id":"m-1","data":{}}`, "type"},
		{"missing data", `{"type":"USER_MESSAGE","message_id":"m-1"}`, "data.content"},
		{"wrong type", `{"type":"USER_MESSAGE","data":{"messageId":"m-1","content":7}}`, "data.content"},
		{"another session", `{"type":"USER_MESSAGE","session_id":"ses-other","data":{"messageId":"m-1","content":"x"}}`, "session_id"},
	} {
		_, x := h.sessionWithTab()
		x.writeText(tt.frame)
		if n := x.wantError(wire.CodeInvalidMessage); n.MessageID != "m-1" || n.Field != tt.field {
			t.Errorf("%s: %+v, want field %s", tt.name, n, tt.field)
		}
		x.wantAlive()
	}
	// The fifth within a minute closes the connection.
	_, x := h.sessionWithTab()
	for range 5 {
		x.writeText(`{"type":"FORMAT_DISK"}`)
		x.wantError(wire.CodeInvalidMessage)
	}
	x.wantClosed(wire.CloseBadMessages)
}

// A message over the limit is refused with the time to wait, and changes nothing.
func TestAttackTooManyMessages(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{Messages: 1} })
	id, x := h.sessionWithTab()
	at := x.emit("m-0")
	for i := range 3 {
		id := wire.MessageID(fmt.Sprintf("m-%d", i+1))
		x.sendWithID(id, wire.Emit{MessageID: id, Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 99}}})
		if n := x.wantError(wire.CodeRateLimited); n.MessageID != id || n.RetryAfterMS <= 0 {
			t.Errorf("error: got %+v, want one for %s with a time to wait", n, id)
		}
		if i == 0 { // interactions have a limit of their own
			x.send(wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidDismissToast, Timestamp: 1}}})
		}
	}
	if reason := x.wantClosed(wire.CloseRateLimited); !strings.Contains(reason, "retry_after") {
		t.Errorf("reason of the close: got %q, want retry_after", reason)
	}
	events, err := h.store.Read(t.Context(), id, at, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if bytes.Contains(e.Frame, []byte("99")) {
			t.Errorf("log: got %s of a refused message, want no effect", e.Frame)
		}
	}
}

// Ids with line breaks or braces do not reach Lua as code: ids are validated, and scripts get
// them as arguments only.
func TestAttackIDsAreNoCode(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	_, x := h.sessionWithTab()
	for _, id := range []string{"a\nb", "}", "\x00", "'; return redis.call('FLUSHALL')"} {
		frame := wire.Native{}.AppendMessage(nil, wire.Message{Data: wire.Emit{
			MessageID: wire.MessageID(id), Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}},
		}})
		x.writeRaw(websocket.MessageText, frame)
		if strings.ContainsAny(id, "\n\x00") {
			x.wantError(wire.CodeInvalidMessage)
		} else if got := next[wire.Emitted](x); string(got.MessageID) != id {
			t.Errorf("id: got %q, want %q", got.MessageID, id)
		}
	}
	x.send(wire.SubscribeMonitor{MonitorID: "monitor-1"})
	x.writeText(`{"type":"SUBSCRIBE_MONITOR","data":{"monitorId":"{p1}"}}`)
	x.wantError(wire.CodeInvalidMessage)
	x.wantAlive()
}

// Line breaks and ANSI sequences in texts of users are escaped in the log, and removed in the
// terminal.
func TestAttackLogInjection(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const evil = "x\r\nlevel=ERROR msg=\"all is lost\"\x1b[31m"
	id := h.newSession("ann")
	v := as(h.token("ann\x1b[31m", time.Minute))
	if x, _ := h.tryDial("/ws/"+string(id), v); x != nil {
		t.Error("got a connection for a user with control characters, want a refusal")
	}
	v = as(h.token("ann", time.Minute))
	q := url.QueryEscape(evil)
	x := h.mustDial("/ws/"+string(id)+"?client_id="+q+"&resume_from="+q+"&token="+q, v)
	x.sendWithID("m-1", wire.UserMessage{MessageID: "m-1", Content: evil})
	x.writeText(evil)
	x.wantError(wire.CodeInvalidMessage)
	x.wantAlive()
	if log := h.log.String(); strings.Contains(log, "\x1b") || strings.Contains(log, "\nlevel=ERROR msg=\"all is lost\"") || strings.Contains(log, "all is lost") {
		t.Errorf("log: got\n%s\nwant it without the text of the client", log)
	}
	if rec, err := h.store.Read(t.Context(), id, wire.Position{}, 100); err != nil || len(rec) == 0 {
		t.Errorf("log of the session: got %d events, error %v, want at least one", len(rec), err)
	}
}
