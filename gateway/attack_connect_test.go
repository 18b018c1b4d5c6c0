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

// Attacks between the handshake and the attached session.

// Resumes have a limit of their own, six times that of other connects, so that all tabs can
// reconnect at once. An invented position does not count as a resume.
func TestAttackMadeUpPositionsAreNoResumes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{} })
	id := h.newSession("ann")
	path := "/ws/" + string(id)
	v := as(h.token("ann", time.Minute))
	x := h.mustDial(path, v)
	old := x.emit("m-1")
	x.ws.CloseNow()
	// The session gets another owner and thereby another epoch: positions of the previous one stay
	// valid.
	h.hub.Drain(t.Context())
	other := otherReplica(t, h)
	x = other.mustDial(path+"?resume_from="+old.String(), v)
	if got := next[wire.SessionState](x); got.Mode != wire.StateResume {
		t.Errorf("got mode %s, reason %s, want %s", got.Mode, got.Reason, wire.StateResume)
	}
	now := x.emit("m-2")
	if now.Epoch == old.Epoch {
		t.Fatalf("epoch: got %v, want another than that of %v", now, old)
	}
	for range 9 { // with the first connect of x this reaches the limit of ten
		other.mustDial(path, v).ws.CloseNow()
	}
	for _, from := range []string{
		"1-1", "garbage", "0-0", "",
		wire.Position{Epoch: now.Epoch, Seq: now.Seq + 1000}.String(),
		wire.Position{Epoch: now.Epoch + 1}.String(),
		wire.Position{Epoch: old.Epoch, Seq: old.Seq + 1000}.String(),
		wire.Position{Epoch: old.Epoch + 1, Seq: 1}.String(),
		"18446744073709551615-18446744073709551615",
	} {
		other.wantRefused(path+"?resume_from="+url.QueryEscape(from), v, http.StatusTooManyRequests, wire.CodeRateLimited)
		other.wantRefused(path+"?seen="+url.QueryEscape(from), v, http.StatusTooManyRequests, wire.CodeRateLimited)
	}
	// Positions of other users' or missing sessions do not count either.
	for _, id := range []wire.SessionID{other.newSession("bob"), "ses-not-there"} {
		other.wantRefused("/ws/"+string(id)+"?resume_from="+now.String(), v, http.StatusTooManyRequests, wire.CodeRateLimited)
	}
	for _, from := range []wire.Position{now, old} {
		for range 10 {
			x := other.mustDial(path+"?resume_from="+from.String(), v)
			if got := next[wire.SessionState](x); got.Mode != wire.StateResume {
				t.Errorf("%v: got mode %s, reason %s, want %s", from, got.Mode, got.Reason, wire.StateResume)
			}
			x.ws.CloseNow()
		}
	}
	// A reloaded page sends a position as seen and gets a snapshot.
	for range 5 {
		x := other.mustDial(path+"?seen="+now.String(), v)
		if got := next[wire.SessionState](x); got.Mode != wire.StateSnapshot {
			t.Errorf("got mode %s, want %s", got.Mode, wire.StateSnapshot)
		}
		x.ws.CloseNow()
	}
	// The limit of resumes is 60. The test has used 26: one by x, 20 with resume_from, 5 with seen.
	admitted := 0
	for range 100 {
		x, a := other.tryDial(path+"?resume_from="+now.String(), v)
		if x == nil {
			if a.status != http.StatusTooManyRequests {
				t.Fatalf("refused connection: got %d %s, want %d", a.status, a.body, http.StatusTooManyRequests)
			}
			break
		}
		admitted++
		x.ws.CloseNow()
	}
	if admitted != 60-26 {
		t.Errorf("%d more resumes were admitted, want 34", admitted)
	}
}

// otherReplica starts another hub on the same store.
func otherReplica(t *testing.T, h *testHub) *testHub {
	t.Helper()
	return newTestHub(t, func(p *hubOptions) {
		p.limits, p.session.Replica = ratelimit.Config{}, "replica-2"
		p.store = func(*slog.Logger) (engine, error) { return borrowedStore{h.store}, nil }
	})
}

// borrowedStore is the store of another hub, which closes it.
type borrowedStore struct{ engine }

func (borrowedStore) Close() error { return nil }

// pausingCounts runs a function before the next count, once.
type pausingCounts struct {
	ratelimit.Counts
	before *atomic.Pointer[func()]
}

func (p pausingCounts) Take(ctx context.Context, key string, limit int, window time.Duration) (time.Duration, error) {
	if before := p.before.Swap(nil); before != nil {
		(*before)()
	}
	return p.Counts.Take(ctx, key, limit, window)
}

// The user signs out after the credential was checked and before the connection is registered, so
// that the revocation cannot find it.
func TestAttackSignOutDuringConnect(t *testing.T) {
	t.Parallel()
	var beforeCount atomic.Pointer[func()]
	h := newTestHub(t, func(p *hubOptions) {
		p.limits = ratelimit.Config{}
		p.counts = func(c ratelimit.Counts) ratelimit.Counts { return pausingCounts{c, &beforeCount} }
	})
	// prepare creates a session of a user who signs out during the next connect.
	prepare := func(user string) (wire.SessionID, string) {
		id, token := h.newSession(user), h.token(user, time.Minute)
		watcher := h.mustDial("/ws/"+string(id), as(token))
		next[wire.SessionState](watcher)
		beforeCount.Store(new(func() {
			if err := h.auth.SignOut(context.Background(), user); err != nil {
				t.Error(err)
			}
			watcher.wantClosed(wire.CloseLoggedOut) // so that all replicas have processed the sign-out
		}))
		return id, token
	}
	for user, connect := range map[string]func(id wire.SessionID, token string) *tab{
		"header": func(id wire.SessionID, token string) *tab { return h.mustDial("/ws/"+string(id), as(token)) },
		"frame": func(id wire.SessionID, token string) *tab {
			x := h.mustDial("/ws/"+string(id), dialOptions{protos: []string{"everdesk.v2"}})
			x.send(wire.Auth{Token: token})
			return x
		},
		"desktop": func(id wire.SessionID, token string) *tab {
			x := h.mustDial("/ws?sessionId="+string(id)+"&token="+token, dialOptions{})
			x.desktop = true
			return x
		},
	} {
		x := connect(prepare(user))
		for {
			e, ok := x.read()
			if !ok {
				break
			}
			switch e.Data.(type) {
			case wire.SessionState, wire.ConnectionStatus:
				t.Fatalf("%s: got %T, want no state after the sign-out", user, e.Data)
			}
		}
		if wire.CloseCode(x.code) != wire.CloseLoggedOut {
			t.Errorf("%s: got closed with %d %s, want %d", user, x.code, x.reason, wire.CloseLoggedOut)
		}
	}
	// An event stream ends before any event.
	id, token := prepare("stream")
	got := h.rest(http.MethodGet, sessionPath(id, "/events"), request{token: token, header: header("Accept", "text/event-stream")})
	if contains(got.body, "session_state") {
		t.Errorf("stream after the sign-out: got %s, want no state", got.body)
	}
	// An API key stays valid, and its later connections stay open.
	id, _ = prepare("key")
	beforeCount.Store(nil)
	key, err := h.auth.NewKey(t.Context(), auth.Identity{User: "key", Roles: []auth.Role{auth.RoleUser}}, "")
	if err != nil {
		t.Fatal(err)
	}
	before := h.mustDial("/ws/"+string(id), as(key))
	next[wire.SessionState](before)
	if err := h.auth.SignOut(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	before.wantClosed(wire.CloseLoggedOut)
	after := h.mustDial("/ws/"+string(id), as(key))
	next[wire.SessionState](after)
	after.wantAlive()
}
