package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// The tests of attacks with timeouts, with the real times: they run in a bubble with virtual time.

// A connection that sends no auth message within 10 s is closed with 4401.
func TestAttackAuthTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		path := "/ws/" + string(h.newSession("ann"))
		start := time.Now()
		x := h.mustDial(path, dialOptions{})
		x.wantError(wire.CodeAuthRequired)
		x.wantClosed(wire.CloseUnauthorized)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("close without a credential: got it after %v, want 10s", took)
		}
		x = h.mustDial(path, dialOptions{}).readInBackground()
		time.Sleep(10*time.Second - time.Millisecond)
		x.send(wire.Auth{Token: h.token("ann", time.Minute)})
		if got := next[wire.AuthResult](x); !got.OK {
			t.Errorf("auth_result: got %+v, want OK", got)
		}
	})
}

// When a token expires, the hub sends auth_refresh_required, and closes the connection with 4401
// after 60 s.
func TestAttackAMinuteOfGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		path := "/ws/" + string(h.newSession("ann"))
		expires := time.Now().Add(90 * time.Second)
		x := h.mustDial(path, as(h.token("ann", 90*time.Second))).readInBackground()
		asked := next[wire.AuthRefreshRequired](x)
		// Connections are checked three times per heartbeat of 30 s.
		if late := time.Since(expires); late < 0 || late > 11*time.Second || asked.GraceMS != 60_000 || int64(asked.ExpiresAt) != expires.UnixMilli() {
			t.Errorf("request for a new token: got it %v after the end with %+v, want it within 11 s with a minute of grace", late, asked)
		}
		since := time.Now()
		x.wantAlive() // it still has full access
		x.wantError(wire.CodeTokenExpired)
		x.wantClosed(wire.CloseUnauthorized)
		if grace := time.Since(since); grace < time.Minute || grace > 71*time.Second {
			t.Errorf("grace before the close: got %v, want 60 to 71 s", grace)
		}
		// A client that sends a new token stays connected.
		x = h.mustDial(path, as(h.token("ann", 90*time.Second))).readInBackground()
		next[wire.AuthRefreshRequired](x)
		time.Sleep(50 * time.Second)
		x.send(wire.Auth{Token: h.token("ann", time.Hour)})
		next[wire.AuthResult](x)
		time.Sleep(10 * time.Minute)
		x.wantAlive()
	})
}

// Signing out closes all connections of the user within a second, with 4411.
func TestAttackAllClosedWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		token := h.token("ann", time.Hour)
		path := "/ws/" + string(h.newSession("ann"))
		a, b := h.mustDial(path, as(token)).readInBackground(), h.mustDial(path, as(token)).readInBackground()
		bob := h.mustDial("/ws/"+string(h.newSession("bob")), as(h.token("bob", time.Hour))).readInBackground()
		for _, x := range []*tab{a, b, bob} {
			next[wire.SessionState](x)
		}
		time.Sleep(time.Minute + 123*time.Millisecond)
		start := time.Now()
		h.post("/api/logout", token, "").wantStatus(http.StatusNoContent)
		a.wantClosed(wire.CloseLoggedOut)
		b.wantClosed(wire.CloseLoggedOut)
		if took := time.Since(start); took > time.Second {
			t.Errorf("close after the sign-out: got it after %v, want at most 1 s", took)
		}
		bob.wantAlive()
		h.wantRefused(path, as(token), http.StatusUnauthorized, wire.CodeAuthFailed)
		h.get("/api/me", token).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	})
}

// The 101st message within 60 s is refused with the time to wait, and changes nothing.
func TestAttackTheHundredAndFirstMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{} })
		id := h.newSession("ann")
		x := h.mustDial("/ws/"+string(id), as(h.token("ann", time.Hour))).readInBackground()
		next[wire.SessionState](x)
		// 24 at once, and the others over half a minute: all are accepted.
		for i := range 100 {
			if i >= 24 {
				time.Sleep(400 * time.Millisecond)
			}
			x.emit(wire.MessageID(fmt.Sprintf("m-%d", i+1)))
		}
		before, err := h.hub.Info(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		x.sendWithID("m-101", wire.Emit{MessageID: "m-101", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 101}}})
		n := x.wantError(wire.CodeRateLimited)
		if n.MessageID != "m-101" || n.RetryAfterMS <= 0 || n.RetryAfterMS > 31_000 || !n.Recoverable || n.SuggestedAction != wire.ActionWait {
			t.Errorf("error: got %+v, want a recoverable one for m-101 with a wait of at most 31 s", n)
		}
		after, err := h.hub.Info(t.Context(), id)
		if err != nil || after.Top != before.Top {
			t.Errorf("top of the log: got %v, error %v, want %v as before", after.Top, err, before.Top)
		}
		// After the delay the same message is accepted.
		time.Sleep(time.Duration(n.RetryAfterMS) * time.Millisecond)
		x.emit("m-101")
	})
}

// Of more than a hundred messages at once a hundred pass. A refused message has no effect and
// gets the time to wait, and the third refusal closes the connection.
func TestAttackMoreThanAHundredMessagesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{} })
		id := h.newSession("ann")
		v := as(h.token("ann", time.Hour))
		v.protos = []string{"everdesk.v2.batch"}
		x := h.mustDial("/ws/"+string(id), v).readInBackground()
		next[wire.SessionState](x)
		var frame []byte
		for i := range 110 {
			m := wire.MessageID(fmt.Sprintf("m-%d", i+1))
			frame = wire.Native{}.AppendMessage(frame, wire.Message{ID: m, Data: wire.Emit{
				MessageID: m, Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: uint64(1000 + i + 1)}},
			}})
			frame = append(frame, '\n')
		}
		x.writeText(string(frame))
		refused := map[wire.MessageID]bool{}
		for {
			e, ok := x.read()
			if !ok {
				break
			}
			if n, ok := e.Data.(wire.ErrorNotice); ok {
				refused[n.MessageID] = true
				if n.Code != wire.CodeRateLimited || n.RetryAfterMS <= 0 {
					t.Errorf("error: got %+v, want code %v with a time to wait", n, wire.CodeRateLimited)
				}
			}
		}
		if wire.CloseCode(x.code) != wire.CloseRateLimited || !strings.HasPrefix(x.reason, "retry_after=") || len(refused) != 3 {
			t.Errorf("got closed with %d %q after refusals of %v, want %d with retry_after after three", x.code, x.reason, refused, wire.CloseRateLimited)
		}
		time.Sleep(time.Second)
		events, err := h.store.Read(t.Context(), id, wire.Position{}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		for i := range 110 {
			for _, e := range events {
				if bytes.Contains(e.Frame, fmt.Appendf(nil, `"count":%d`, 1000+i+1)) {
					passed++
					if refused[wire.MessageID(fmt.Sprintf("m-%d", i+1))] {
						t.Errorf("log: got %s of a refused message, want no effect", e.Frame)
					}
				}
			}
		}
		if passed != 100 {
			t.Errorf("%d messages of 110 had an effect, want 100", passed)
		}
	})
}

// The 31st answer to a question within a minute is refused.
func TestAttackTheThirtyFirstAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		id := h.newSession("ann")
		v := as(h.token("ann", time.Hour))
		tabs := []*tab{h.mustDial("/ws/"+string(id), v).readInBackground(), h.mustDial("/ws/"+string(id), v).readInBackground()}
		for _, x := range tabs {
			next[wire.SessionState](x)
		}
		asked, taken := 0, 0
		// answer answers one more question, alternating between the tabs, and reports whether the
		// answer was accepted.
		answer := func() bool {
			x, dialog := tabs[taken%2], wire.DialogID(fmt.Sprintf("dialog-%d", taken))
			if asked == taken {
				asked++
				x.openDialog(dialog)
			}
			x.send(wire.DialogFeedback{DialogID: dialog, Confirmed: true, MessageID: wire.MessageID("a-" + dialog)})
			for {
				e, ok := x.read()
				if !ok {
					t.Fatalf("got closed with %d %s, want an answer", x.code, x.reason)
				}
				switch p := e.Data.(type) {
				case wire.DialogClosed:
					if p.DialogID == dialog && p.Reason == wire.ClosedAnswered {
						return true
					}
				case wire.ErrorNotice:
					if p.Code != wire.CodeRateLimited || p.MessageID != wire.MessageID("a-"+dialog) {
						t.Fatalf("error: got %+v, want code %v for a-%s", p, wire.CodeRateLimited, dialog)
					}
					return false
				}
			}
		}
		start := time.Now()
		for time.Since(start) < time.Minute {
			if answer() {
				taken++
				continue
			}
			if taken < 5 {
				t.Fatalf("answers taken at once: got %d, want at least 5", taken)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if taken != 29 && taken != 30 { // one token comes back every 2.4 s, the last at the very end
			t.Errorf("%d answers were taken in a minute, want 30", taken)
		}
		for answer() {
			taken++
		}
		if taken > 30 {
			t.Errorf("answers taken in a minute: got %d, want at most 30", taken)
		}
		// The dialog of the refused answer is still open, and the session still works.
		info, err := h.hub.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer info.Close()
		state, err := info.Snapshot(t.Context(), nil)
		last := wire.DialogID(fmt.Sprintf("dialog-%d", taken))
		if err != nil || !containsDialog(state.Dialogs, last) {
			t.Errorf("open dialogs: got %+v, error %v, want %s among them", state.Dialogs, err, last)
		}
		tabs[0].wantAlive()
	})
}

func containsDialog(all []wire.ApprovalRequest, id wire.DialogID) bool {
	for _, d := range all {
		if d.DialogID == id {
			return true
		}
	}
	return false
}

// An answer after the deadline of its question gets 5003.
func TestAttackAnswerAfterTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		x := h.mustDial("/ws/"+string(h.newSession("ann")), as(h.token("ann", time.Hour))).readInBackground()
		next[wire.SessionState](x)
		x.openDialog("dialog-1")
		if got := next[wire.DialogClosed](x); got.Reason != wire.ClosedExpired || got.Confirmed || got.AnsweredBy != "" {
			t.Errorf("closed dialog: got %+v, want it expired, without an answer", got)
		}
		x.sendWithID("a-1", wire.DialogFeedback{DialogID: "dialog-1", Confirmed: true, MessageID: "a-1"})
		if n := x.wantError(wire.CodeHITLRequestExpired); n.MessageID != "a-1" || !strings.Contains(n.Message, "in time") {
			t.Errorf("error: got %+v, want one for a-1 about the time", n)
		}
	})
}

// A handshake whose headers take more than 5 s is closed.
func TestAttackHeaderTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		slow, err := h.pipes.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		start := time.Now()
		go func() { // a byte a second
			for _, b := range []byte("GET /ws HTTP/1.1\r\nHost: " + h.addr + "\r\nX-Slow: yes") {
				if _, err := slow.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		if _, err := io.ReadAll(slow); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("wait for a header: got %v, want 5s", took)
		}
		// The client reads but never answers.
		x := h.mustDial("/ws/"+string(h.newSession("ann")), as(h.token("ann", time.Hour)))
		start = time.Now()
		x.wantError(wire.CodeConnectionTimeout)
		x.wantClosed(wire.CloseTooSlow)
		if took := time.Since(start); took < 40*time.Second || took > 52*time.Second {
			t.Errorf("closed after %v, want a heartbeat of 30 s, 10 s more, and a look", took)
		}
	})
}

// A renewal costs a signature check and a store lookup, so renewals are limited too.
func TestAttackRenewalsWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{} })
		v := as(h.token("ann", time.Hour))
		v.protos = []string{"everdesk.v2.batch"}
		x := h.mustDial("/ws/"+string(h.newSession("ann")), v).readInBackground()
		next[wire.SessionState](x)
		token := h.token("ann", time.Hour)
		taken := 0
		x.writeText(strings.Repeat(string(wire.Native{}.AppendMessage(nil, wire.Message{Data: wire.Auth{Token: token}}))+"\n", 50))
		for {
			e, ok := x.read()
			if !ok {
				break
			}
			switch p := e.Data.(type) {
			case wire.AuthResult:
				taken++
			case wire.ErrorNotice:
				if p.Code != wire.CodeRateLimited || p.RetryAfterMS <= 0 {
					t.Errorf("error: got %+v, want code %v with a time to wait", p, wire.CodeRateLimited)
				}
			}
			if taken == 50 {
				t.Fatalf("got %d renewals accepted at once, want fewer", taken)
			}
		}
		if taken != 5 || wire.CloseCode(x.code) != wire.CloseRateLimited {
			t.Errorf("got %d renewals, then %d %s, want 5, then %d", taken, x.code, x.reason, wire.CloseRateLimited)
		}
		// Reconnecting does not refill the bucket, a minute does. A client that renews in time
		// never reaches the limit.
		time.Sleep(time.Minute)
		x = h.mustDial("/ws/"+string(h.newSession("ann")), as(h.token("ann", time.Hour))).readInBackground()
		for range 20 {
			x.send(wire.Auth{Token: token})
			next[wire.AuthResult](x)
			time.Sleep(15 * time.Second)
		}
	})
}
