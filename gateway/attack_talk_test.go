package gateway_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/quota"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// room is a hall with a session of ann's and somebody in it.
func (h *hall) room() (wire.SessionID, *tab) {
	h.t.Helper()
	id := h.session("ann")
	x := h.enter("/ws/"+string(id), as(h.token("ann", time.Minute)))
	next[wire.SessionState](x)
	return id, x
}

func TestAttack21FrameTooBig(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	_, x := h.room()
	pad := func(size int) string {
		const head, tail = `{"type":"USER_MESSAGE","data":{"content":"`, `"}}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	x.text(pad(64 << 10))
	next[wire.MessageRejected](x) // it was heard, but there is nobody to answer
	x.text(pad(64<<10 + 1))
	x.notice(wire.CodeMessageTooLarge)
	x.closed(wire.CloseTooBig)
}

// Compression is not on offer, so that there is nothing to blow up: a frame that
// claims to be compressed is a breach of the protocol.
func TestAttack22DeflateBomb(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	v := as(h.token("ann", time.Minute))
	v.header = header("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")
	id := h.session("ann")
	x, a := h.knock("/ws/"+string(id), v)
	if x == nil {
		t.Fatal(a.status)
	}
	if got := a.header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("negotiated %q", got)
	}
	raw := h.dialRaw(id)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	raw.frame(0xc1, bytes.Repeat([]byte{0}, 60<<10)) // FIN, RSV1, text
	if code := raw.closeCode(); code != int(websocket.StatusProtocolError) {
		t.Errorf("closed with %d", code)
	}
	runtime.ReadMemStats(&after)
	t.Logf("heap grew by %d KiB", (int64(after.HeapAlloc)-int64(before.HeapAlloc))/1024)
}

func TestAttack23NotText(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	_, x := h.room()
	x.raw(websocket.MessageText, []byte("{\"type\":\"USER_MESSAGE\",\"data\":{\"content\":\"\xff\xfe\"}}"))
	x.closed(wire.CloseInvalidText)
	_, x = h.room()
	x.raw(websocket.MessageBinary, []byte(`{"type":"pong"}`))
	x.closed(wire.CloseUnsupported)
}

func TestAttack24JSONThatIsNone(t *testing.T) {
	t.Parallel()
	h := newHall(t)
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
		_, x := h.room()
		x.text(frame)
		if n := x.notice(wire.CodeInvalidMessage); !n.Recoverable {
			t.Errorf("%s: %+v", name, n)
		}
		x.alive()
	}
}

func TestAttack25MessagesThatDoNotFit(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	for _, tt := range []struct{ name, frame, field string }{
		{"unknown type", `{"type":"FORMAT_DISK","message_id":"m-1","data":{}}`, "type"},
		{"event of the hub", `{"type":"session_state","message_id":"m-1","data":{}}`, "type"},
		{"missing data", `{"type":"USER_MESSAGE","message_id":"m-1"}`, "data.content"},
		{"wrong type", `{"type":"USER_MESSAGE","data":{"messageId":"m-1","content":7}}`, "data.content"},
		{"another session", `{"type":"USER_MESSAGE","session_id":"ses-other","data":{"messageId":"m-1","content":"x"}}`, "session_id"},
	} {
		_, x := h.room()
		x.text(tt.frame)
		if n := x.notice(wire.CodeInvalidMessage); n.MessageID != "m-1" || n.Field != tt.field {
			t.Errorf("%s: %+v, want field %s", tt.name, n, tt.field)
		}
		x.alive()
	}
	// The fifth in a minute is the last.
	_, x := h.room()
	for range 5 {
		x.text(`{"type":"FORMAT_DISK"}`)
		x.notice(wire.CodeInvalidMessage)
	}
	x.closed(wire.CloseBadMessages)
}

func TestAttack26TooManyMessages(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.quota = quota.Config{Messages: 2} }) // one, and the next when a minute is over
	id, x := h.room()
	at := x.emit("m-0")
	for i := range 3 {
		id := wire.MessageID(fmt.Sprintf("m-%d", i+1))
		x.sayAs(id, wire.Emit{MessageID: id, Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 99}}})
		if n := x.notice(wire.CodeRateLimited); n.MessageID != id || n.RetryAfterMS <= 0 {
			t.Errorf("error %+v", n)
		}
		if i == 0 { // what the user does on the desktop is counted apart
			x.say(wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidDismissToast, Timestamp: 1}}})
		}
	}
	if reason := x.closed(wire.CloseRateLimited); !strings.Contains(reason, "retry_after") {
		t.Errorf("reason %q", reason)
	}
	events, err := h.store.Read(t.Context(), id, at, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if bytes.Contains(e.Frame, []byte("99")) {
			t.Errorf("a refused message had an effect: %s", e.Frame)
		}
	}
}

func TestAttack27TooManyAnswers(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	_, x := h.room()
	limited := 0
	for i := range 31 {
		id := wire.MessageID(fmt.Sprintf("answer-%d", i))
		x.sayAs(id, wire.DialogFeedback{DialogID: "nothing", Confirmed: true, MessageID: id})
		if n := next[wire.ErrorNotice](x); n.Code == wire.CodeRateLimited {
			limited++
		}
	}
	if limited == 0 {
		t.Error("31 answers in a minute were taken")
	}
	x.alive()
}

func TestAttack28SameMessageFiveTimes(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id, a := h.room()
	v := as(h.token("ann", time.Minute))
	b, c := h.enter("/ws/"+string(id), v), h.enter("/ws/"+string(id), v)
	next[wire.SessionState](b)
	next[wire.SessionState](c)
	m := wire.UserMessage{MessageID: "m-1", Content: "once"}
	for _, x := range []*tab{a, a, b, b, c} {
		x.say(m)
	}
	rows, answers, again := 0, 0, 0
	for answers < 5 {
		e, ok := c.read()
		if !ok {
			t.Fatalf("closed with %d %s", c.code, c.reason)
		}
		switch p := e.Data.(type) {
		case wire.MessageUpdated:
			if p.Message.Text == "once" {
				rows++
			}
		case wire.MessageRejected:
			answers++
			if p.MessageID != "m-1" {
				t.Errorf("answer %+v", p)
			}
			if p.Duplicate {
				again++
			}
		}
	}
	if again != 4 || rows > 1 {
		t.Errorf("%d of 5 answers are duplicates, %d rows; want 4 and at most 1", again, rows)
	}
}

func TestAttack29SameIDOtherMessage(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	_, x := h.room()
	x.emit("m-1")
	x.sayAs("m-1", wire.Emit{MessageID: "m-1", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 2}}})
	if n := x.notice(wire.CodeSessionInvalidState); n.MessageID != "m-1" {
		t.Errorf("error %+v", n)
	}
}

// ask opens a dialog in the session.
func (x *tab) ask(dialog wire.DialogID) {
	x.t.Helper()
	x.say(wire.Emit{MessageID: wire.MessageID(dialog), Actions: []wire.Action{wire.DialogConfirm{ID: dialog, Title: "Sure?", Message: "Really?"}}})
	next[wire.Emitted](x)
}

func TestAttack30Answers(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id, x := h.room()
	x.ask("dialog-1")
	x.sayAs("a-1", wire.DialogFeedback{DialogID: "dialog-1", Confirmed: true, MessageID: "a-1"})
	if got := next[wire.DialogClosed](x); got.DialogID != "dialog-1" || !got.Confirmed {
		t.Errorf("closed %+v", got)
	}
	// The same answer again, which is no harm, and another one, which is late.
	x.sayAs("a-1", wire.DialogFeedback{DialogID: "dialog-1", Confirmed: true, MessageID: "a-1"})
	x.sayAs("a-2", wire.DialogFeedback{DialogID: "dialog-1", Confirmed: false, MessageID: "a-2"})
	if n := x.notice(wire.CodeHITLRequestExpired); n.MessageID != "a-2" {
		t.Errorf("error %+v", n)
	}
	x.sayAs("a-3", wire.DialogFeedback{DialogID: "never-asked", Confirmed: true, MessageID: "a-3"})
	if n := next[wire.ErrorNotice](x); n.MessageID != "a-3" || n.Code != wire.CodeHITLRequestExpired && n.Code != wire.CodeHITLInvalidResponse {
		t.Errorf("error %+v", n)
	}
	// A viewer has no say.
	x.ask("dialog-2")
	if err := h.hub.Share(t.Context(), id, "eve", session.ShareViewer); err != nil {
		t.Fatal(err)
	}
	eve := h.enter("/ws/"+string(id), as(h.token("eve", time.Minute)))
	eve.sayAs("a-4", wire.DialogFeedback{DialogID: "dialog-2", Confirmed: true, MessageID: "a-4"})
	if n := eve.notice(wire.CodeForbidden); n.MessageID != "a-4" {
		t.Errorf("error %+v", n)
	}
	x.sayAs("a-5", wire.DialogFeedback{DialogID: "dialog-2", Confirmed: false, MessageID: "a-5"})
	if got := next[wire.DialogClosed](eve); got.Confirmed {
		t.Errorf("the viewer's answer counted: %+v", got)
	}
}

func TestAttack31TwoAnswersAtOnce(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.session.AnswersPerMinute = -1 })
	id, a := h.room()
	b := h.enter("/ws/"+string(id), as(h.token("ann", time.Minute)))
	next[wire.SessionState](b)
	for i := range 20 {
		dialog := wire.DialogID(fmt.Sprintf("dialog-%d", i))
		a.ask(dialog)
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.say(wire.DialogFeedback{DialogID: dialog, Confirmed: false})
		}()
		a.say(wire.DialogFeedback{DialogID: dialog, Confirmed: true})
		<-done
		var seen [2]wire.DialogClosed
		for i, x := range []*tab{a, b} {
			for seen[i].DialogID != dialog {
				seen[i] = next[wire.DialogClosed](x)
			}
		}
		if seen[0] != seen[1] || seen[0].AnsweredBy == "" {
			t.Fatalf("one was told %+v, the other %+v", seen[0], seen[1])
		}
	}
	a.alive()
	events, err := h.store.Read(t.Context(), id, wire.Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	for _, e := range events {
		if head, ok := wire.Peek(e.Frame); ok && head.Type == "DIALOG_CLOSED" {
			closed++
		}
	}
	if closed != 20 {
		t.Errorf("%d dialogs of 20 were closed", closed)
	}
}

func TestAttack32InterruptOfSomebodyElsesAgent(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	_, x := h.room()
	x.sayAs("m-1", wire.InterruptAgent{AgentID: "main-monitor-0-of-somebody-else", MessageID: "m-1"})
	if n := next[wire.ErrorNotice](x); n.MessageID != "m-1" {
		t.Errorf("error %+v", n)
	}
	x.alive()
}

func TestAttack49CorruptSession(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id := h.session("ann")
	lease, err := h.store.Claim(t.Context(), id, "replica-0", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Commit(t.Context(), lease, store.Batch{
		Number: 1, Prev: lease.Top(), Ops: []store.Op{store.Set("windows", "monitor-0/w", []byte("not a window"))},
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	v := as(h.token("ann", time.Minute))
	if x, a := h.knock("/ws/"+string(id), v); x != nil {
		x.notice(wire.CodeSessionInvalidState)
		x.closed(wire.CloseInternal)
	} else if a.status != http.StatusConflict {
		t.Errorf("answered with %d", a.status)
	}
	_, x := h.room()
	x.alive()
}

func TestAttack51IDsAreNoCode(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	_, x := h.room()
	for _, id := range []string{"a\nb", "}", "\x00", "'; return redis.call('FLUSHALL')"} {
		frame := wire.Native{}.AppendMessage(nil, wire.Message{Data: wire.Emit{
			MessageID: wire.MessageID(id), Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}},
		}})
		x.raw(websocket.MessageText, frame)
		if strings.ContainsAny(id, "\n\x00") {
			x.notice(wire.CodeInvalidMessage)
		} else if got := next[wire.Emitted](x); string(got.MessageID) != id {
			t.Errorf("%q became %q", id, got.MessageID)
		}
	}
	x.say(wire.SubscribeMonitor{MonitorID: "monitor-1"})
	x.text(`{"type":"SUBSCRIBE_MONITOR","data":{"monitorId":"{p1}"}}`)
	x.notice(wire.CodeInvalidMessage)
	x.alive()
}

func TestAttack52LogInjection(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	const evil = "x\r\nlevel=ERROR msg=\"all is lost\"\x1b[31m"
	id := h.session("ann")
	v := as(h.token("ann\x1b[31m", time.Minute))
	if x, _ := h.knock("/ws/"+string(id), v); x != nil {
		t.Error("a user with control characters was let in")
	}
	v = as(h.token("ann", time.Minute))
	q := url.QueryEscape(evil)
	x := h.enter("/ws/"+string(id)+"?client_id="+q+"&resume_from="+q+"&token="+q, v)
	x.sayAs("m-1", wire.UserMessage{MessageID: "m-1", Content: evil})
	x.text(evil)
	x.notice(wire.CodeInvalidMessage)
	x.alive()
	if log := h.log.String(); strings.Contains(log, "\x1b") || strings.Contains(log, "\nlevel=ERROR msg=\"all is lost\"") || strings.Contains(log, "all is lost") {
		t.Errorf("the log has what the client sent:\n%s", log)
	}
	if rec, err := h.store.Read(t.Context(), id, wire.Position{}, 100); err != nil || len(rec) == 0 {
		t.Errorf("log of the session: %d events, %v", len(rec), err)
	}
}

// rawConn is a client that keeps to no rules.
type rawConn struct {
	t    testing.TB
	conn io.ReadWriteCloser
}

// frame sends a masked frame whose first byte is head.
func (r rawConn) frame(head byte, payload []byte) {
	r.t.Helper()
	b := []byte{head, 0x80 | 127}
	b = binary.BigEndian.AppendUint64(b, uint64(len(payload)))
	b = append(b, 0, 0, 0, 0) // a mask that changes nothing
	if _, err := r.conn.Write(append(b, payload...)); err != nil {
		r.t.Fatal(err)
	}
}

// closeCode reads frames until the close frame.
func (r rawConn) closeCode() int {
	r.t.Helper()
	for {
		var head [2]byte
		if _, err := io.ReadFull(r.conn, head[:]); err != nil {
			r.t.Fatal(err)
		}
		size := uint64(head[1] & 0x7f)
		var long [8]byte
		switch size {
		case 126:
			io.ReadFull(r.conn, long[6:])
			size = binary.BigEndian.Uint64(long[:])
		case 127:
			io.ReadFull(r.conn, long[:])
			size = binary.BigEndian.Uint64(long[:])
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(r.conn, payload); err != nil {
			r.t.Fatal(err)
		}
		if head[0] == 0x88 && size >= 2 {
			return int(binary.BigEndian.Uint16(payload))
		}
	}
}

// dialRaw makes the handshake and hands out what is beneath.
func (h *hall) dialRaw(id wire.SessionID) rawConn {
	h.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+h.addr+"/ws/"+string(id), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header = header("Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Authorization", "Bearer "+h.token("ann", time.Minute))
	transport := &http.Transport{}
	h.t.Cleanup(transport.CloseIdleConnections)
	res, err := transport.RoundTrip(req) //nolint:bodyclose // the body is the connection, closed below
	if err != nil {
		h.t.Fatal(err)
	}
	conn, ok := res.Body.(io.ReadWriteCloser)
	if !ok {
		h.t.Fatal(res.Status)
	}
	h.t.Cleanup(func() { conn.Close() })
	return rawConn{h.t, conn}
}
