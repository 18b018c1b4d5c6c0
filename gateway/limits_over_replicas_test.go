package gateway_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// Concurrent requests to several replicas do not exceed the session limit of a user.
func TestUserSessionsOverReplicas(t *testing.T) {
	t.Parallel()
	const limit = 5
	a, b := twoHubs(t, func(p *hubOptions) { p.gateway.UserSessions = limit })
	for round := range 5 {
		ann := fmt.Sprint("ann-", round)
		var wg sync.WaitGroup
		var created atomic.Int32
		for i := range 4 * limit {
			wg.Go(func() {
				h := []*testHub{a, b}[i%2]
				switch r := h.post("/api/sessions", h.userToken(ann), ""); r.status {
				case http.StatusCreated:
					created.Add(1)
				case http.StatusConflict:
				default:
					t.Errorf("got %d %s, want %d or %d", r.status, r.body, http.StatusCreated, http.StatusConflict)
				}
			})
		}
		wg.Wait()
		var list struct{ Sessions []struct{} }
		b.get("/api/sessions", b.userToken(ann)).wantStatus(http.StatusOK).decode(&list)
		if len(list.Sessions) > limit || int(created.Load()) != len(list.Sessions) {
			t.Errorf("%d sessions were created, %d are listed, want equal numbers of at most %d", created.Load(), len(list.Sessions), limit)
		}
		for len(list.Sessions) < limit { // a replica that deleted its session may try again
			a.post("/api/sessions", a.userToken(ann), "").wantStatus(http.StatusCreated)
			list.Sessions = append(list.Sessions, struct{}{})
		}
		a.post("/api/sessions", a.userToken(ann), "").wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	}
}

// Connects of a user are counted over all replicas.
func TestUserConnectsOverReplicas(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t, func(p *hubOptions) { p.limits = ratelimit.Config{Connects: 4} })
	path := "/ws/" + string(a.newSession("ann"))
	for i := range 4 {
		h := []*testHub{a, b}[i%2]
		h.mustDial(path, as(h.userToken("ann"))).wantAlive()
	}
	for _, h := range []*testHub{a, b} {
		h.wantRefused(path, as(h.userToken("ann")), http.StatusTooManyRequests, wire.CodeRateLimited)
	}
	b.mustDial("/ws/"+string(b.newSession("bob")), as(b.userToken("bob"))).wantAlive()
}

// Requests of a user are counted over all replicas: those that change something, and separately those
// that only read.
func TestUserRequestsOverReplicas(t *testing.T) {
	t.Parallel()
	const changes, reads = 6, 9
	a, b := twoHubs(t, func(p *hubOptions) { p.limits = ratelimit.Config{Requests: changes, Reads: reads} })
	requests := map[string]func(h *testHub) int{
		"changes": func(h *testHub) int { return h.post("/api/sessions", h.userToken("ann"), "").status },
		"reads":   func(h *testHub) int { return h.get("/api/sessions", h.userToken("ann")).status },
	}
	for kind, limit := range map[string]int32{"changes": changes, "reads": reads} {
		var wg sync.WaitGroup
		var passed, refused atomic.Int32
		for i := range 4 * limit {
			wg.Go(func() {
				switch status := requests[kind]([]*testHub{a, b}[i%2]); status {
				case http.StatusOK, http.StatusCreated:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("%s: got %d, want success or %d", kind, status, http.StatusTooManyRequests)
				}
			})
		}
		wg.Wait()
		if passed.Load() != limit || refused.Load() != 3*limit {
			t.Errorf("%s: %d passed, %d were refused, want %d and %d", kind, passed.Load(), refused.Load(), limit, 3*limit)
		}
	}
	b.get("/api/sessions", b.userToken("bob")).wantStatus(http.StatusOK)
}

// waitForRemoteCount waits until a replica counts want connections of ann to other replicas.
func (h *testHub) waitForRemoteCount(want int) {
	h.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(h.wait)
	for h.members.ConnectionsElsewhere("ann") != want {
		select {
		case <-tick.C:
		case <-deadline:
			h.t.Fatalf("%d connections elsewhere, want %d", h.members.ConnectionsElsewhere("ann"), want)
		}
	}
}

// Connections are limited over all replicas.
func TestUserConnectionsOverReplicas(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t, func(p *hubOptions) { p.gateway.UserConnections = 3 })
	id := a.newSession("ann")
	path := "/ws/" + string(id)
	x := a.mustDial(path, as(a.userToken("ann")))
	x.wantAlive()
	y := a.mustDial(path, as(a.userToken("ann")))
	y.wantAlive()
	b.waitForRemoteCount(2)
	z := b.mustDial(path, as(b.userToken("ann")))
	z.wantAlive()
	b.wantRefused(path, as(b.userToken("ann")), http.StatusTooManyRequests, wire.CodeRateLimited)
	a.waitForRemoteCount(1)
	a.wantRefused(path, as(a.userToken("ann")), http.StatusTooManyRequests, wire.CodeRateLimited)
	b.mustDial("/ws/"+string(b.newSession("bob")), as(b.userToken("bob"))).wantAlive() // other users are not affected
	if err := y.ws.CloseNow(); err != nil {
		t.Fatal(err)
	}
	b.waitForRemoteCount(1)
	b.mustDial(path, as(b.userToken("ann"))).wantAlive()
}

// A client that reconnects to another replica is not refused because the old replica still counts
// it.
func TestUserConnectionsComeBackElsewhere(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t, func(p *hubOptions) { p.gateway.UserConnections = 3 })
	id := a.newSession("ann")
	path := "/ws/" + string(id)
	var from wire.Position
	for i := range 3 {
		from = a.mustDial(path, as(a.userToken("ann"))).emit(wire.MessageID(fmt.Sprint("m-", i)))
	}
	b.waitForRemoteCount(3)
	// Counts of other replicas are soon outdated, so a retry helps soon.
	for _, query := range []string{"", "?resume_from=1-1", "?seen=garbage"} {
		x, refusal := b.tryDial(path+query, as(b.userToken("ann")))
		if x != nil { // an invalid position counted as a resume at first
			if n := x.wantError(wire.CodeRateLimited); n.RetryAfterMS != 3000 {
				t.Errorf("%q: got a wait of %d ms, want 3000", query, n.RetryAfterMS)
			}
			x.wantClosed(wire.CloseRateLimited)
		} else if got := refusal.header.Get("Retry-After"); refusal.status != http.StatusTooManyRequests || got != "3" {
			t.Errorf("%q: got %d %s, Retry-After %s, want %d and 3", query, refusal.status, refusal.body, got, http.StatusTooManyRequests)
		}
	}
	for _, query := range []string{"?resume_from=", "?seen=", "?resume_from="} {
		b.mustDial(path+query+from.String(), as(b.userToken("ann"))).wantAlive()
	}
	_, refusal := b.tryDial(path+"?resume_from="+from.String(), as(b.userToken("ann")))
	if got := refusal.header.Get("Retry-After"); refusal.status != http.StatusTooManyRequests || got != "30" {
		t.Errorf("over the limit of this replica: got %d %s, Retry-After %s, want %d and 30", refusal.status, refusal.body, got, http.StatusTooManyRequests)
	}
}
