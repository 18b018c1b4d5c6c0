package gateway_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// These attacks are on what happens between the handshake and the greeting.

// Who resumes has a limit of their own, sixfold that of others, so that all tabs
// can come back at once. A position that somebody made up does not open it.
func TestAttackMadeUpPositionsAreNoResumes(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.limits = ratelimit.Config{} })
	id := h.session("ann")
	path := "/ws/" + string(id)
	v := as(h.token("ann", time.Minute))
	x := h.enter(path, v)
	old := x.emit("m-1")
	x.ws.CloseNow()
	// The session gets another owner, and with it another epoch: positions of
	// the last one are as good as ever.
	h.hub.Drain(t.Context())
	other := sibling(t, h)
	x = other.enter(path+"?resume_from="+old.String(), v)
	if got := next[wire.SessionState](x); got.Mode != wire.StateResume {
		t.Errorf("mode %s, reason %s", got.Mode, got.Reason)
	}
	now := x.emit("m-2")
	if now.Epoch == old.Epoch {
		t.Fatalf("%v is of the same owner as %v", now, old)
	}
	for range 9 { // one more than those two has a limit of ten
		other.enter(path, v).ws.CloseNow()
	}
	for _, from := range []string{
		"1-1", "garbage", "0-0", "",
		wire.Position{Epoch: now.Epoch, Seq: now.Seq + 1000}.String(),
		wire.Position{Epoch: now.Epoch + 1}.String(),
		wire.Position{Epoch: old.Epoch, Seq: old.Seq + 1000}.String(),
		wire.Position{Epoch: old.Epoch + 1, Seq: 1}.String(),
		"18446744073709551615-18446744073709551615",
	} {
		other.refused(path+"?resume_from="+url.QueryEscape(from), v, http.StatusTooManyRequests, wire.CodeRateLimited)
		other.refused(path+"?seen="+url.QueryEscape(from), v, http.StatusTooManyRequests, wire.CodeRateLimited)
	}
	// Nor do those of a session that one may not see, or of none.
	for _, id := range []wire.SessionID{other.session("bob"), "ses-not-there"} {
		other.refused("/ws/"+string(id)+"?resume_from="+now.String(), v, http.StatusTooManyRequests, wire.CodeRateLimited)
	}
	for _, from := range []wire.Position{now, old} {
		for range 10 {
			x := other.enter(path+"?resume_from="+from.String(), v)
			if got := next[wire.SessionState](x); got.Mode != wire.StateResume {
				t.Errorf("%v: mode %s, reason %s", from, got.Mode, got.Reason)
			}
			x.ws.CloseNow()
		}
	}
	// A page that is loaded again has seen a position and cannot go on from it.
	for range 5 {
		x := other.enter(path+"?seen="+now.String(), v)
		if got := next[wire.SessionState](x); got.Mode != wire.StateSnapshot {
			t.Errorf("mode %s", got.Mode)
		}
		x.ws.CloseNow()
	}
	// They have a limit too.
	let := 0
	for range 100 {
		x, a := other.knock(path+"?resume_from="+now.String(), v)
		if x == nil {
			if a.status != http.StatusTooManyRequests {
				t.Fatalf("%d %s", a.status, a.body)
			}
			break
		}
		let++
		x.ws.CloseNow()
	}
	if let != 60-26 {
		t.Errorf("%d more resumes were let in, want 34", let)
	}
}

// sibling is another replica's hall on the same store.
func sibling(t *testing.T, h *hall) *hall {
	t.Helper()
	return newHall(t, func(p *plan) {
		p.limits, p.session.Replica = ratelimit.Config{}, "replica-2"
		p.store = func(*slog.Logger) (engine, error) { return borrowed{h.store}, nil }
	})
}

// borrowed is a store that somebody else closes.
type borrowed struct{ engine }

func (borrowed) Close() error { return nil }

// pausing is what connects are counted with; it does something first, once.
type pausing struct {
	ratelimit.Counts
	first *atomic.Pointer[func()]
}

func (p pausing) Take(ctx context.Context, key string, limit int, window time.Duration) (time.Duration, error) {
	if first := p.first.Swap(nil); first != nil {
		(*first)()
	}
	return p.Counts.Take(ctx, key, limit, window)
}

// A credential that was good when it was looked at, of a user who has signed out
// by the time the connection is there: nobody could close it meanwhile.
func TestAttack17SignOutWhileComing(t *testing.T) {
	t.Parallel()
	var first atomic.Pointer[func()]
	h := newHall(t, func(p *plan) {
		p.limits = ratelimit.Config{}
		p.counts = func(c ratelimit.Counts) ratelimit.Counts { return pausing{c, &first} }
	})
	// meet makes a session of a user who signs out when the next one comes.
	meet := func(user string) (wire.SessionID, string) {
		id, token := h.session(user), h.token(user, time.Minute)
		watcher := h.enter("/ws/"+string(id), as(token))
		next[wire.SessionState](watcher)
		first.Store(new(func() {
			if err := h.people.SignOut(context.Background(), user); err != nil {
				t.Error(err)
			}
			watcher.closed(wire.CloseLoggedOut) // so that everybody was told
		}))
		return id, token
	}
	for user, come := range map[string]func(id wire.SessionID, token string) *tab{
		"header": func(id wire.SessionID, token string) *tab { return h.enter("/ws/"+string(id), as(token)) },
		"frame": func(id wire.SessionID, token string) *tab {
			x := h.enter("/ws/"+string(id), visit{protos: []string{"everdesk.v2"}})
			x.say(wire.Auth{Token: token})
			return x
		},
		"desktop": func(id wire.SessionID, token string) *tab {
			x := h.enter("/ws?sessionId="+string(id)+"&token="+token, visit{})
			x.desktop = true
			return x
		},
	} {
		x := come(meet(user))
		for {
			e, ok := x.read()
			if !ok {
				break
			}
			switch e.Data.(type) {
			case wire.SessionState, wire.ConnectionStatus:
				t.Fatalf("%s: let in", user)
			}
		}
		if wire.CloseCode(x.code) != wire.CloseLoggedOut {
			t.Errorf("%s: closed with %d %s", user, x.code, x.reason)
		}
	}
	// A stream of events ends before anything is shown.
	id, token := meet("stream")
	got := h.rest(http.MethodGet, at(id, "/events"), request{token: token, header: header("Accept", "text/event-stream")})
	if contains(got.body, "session_state") {
		t.Errorf("the stream began: %s", got.body)
	}
	// An API key stays good, and what it opens afterwards stays open.
	id, _ = meet("key")
	first.Store(nil)
	key, err := h.people.NewKey(t.Context(), auth.Identity{User: "key", Roles: []auth.Role{auth.RoleUser}}, "")
	if err != nil {
		t.Fatal(err)
	}
	before := h.enter("/ws/"+string(id), as(key))
	next[wire.SessionState](before)
	if err := h.people.SignOut(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	before.closed(wire.CloseLoggedOut)
	after := h.enter("/ws/"+string(id), as(key))
	next[wire.SessionState](after)
	after.alive()
}
