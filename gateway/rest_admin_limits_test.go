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
	const most = 5
	a, b := twins(t, func(p *plan) { p.door.UserSessions = most })
	for round := range 5 {
		ann := fmt.Sprint("ann-", round)
		var wg sync.WaitGroup
		var made atomic.Int32
		for i := range 4 * most {
			wg.Go(func() {
				h := []*hall{a, b}[i%2]
				switch r := h.post("/api/sessions", h.user(ann), ""); r.status {
				case http.StatusCreated:
					made.Add(1)
				case http.StatusConflict:
				default:
					t.Errorf("%d %s", r.status, r.body)
				}
			})
		}
		wg.Wait()
		var list struct{ Sessions []struct{} }
		b.get("/api/sessions", b.user(ann)).want(http.StatusOK).decode(&list)
		if len(list.Sessions) > most || int(made.Load()) != len(list.Sessions) {
			t.Errorf("%d sessions were made, %d are there, want at most %d", made.Load(), len(list.Sessions), most)
		}
		for len(list.Sessions) < most { // a replica that deleted its session may try again
			a.post("/api/sessions", a.user(ann), "").want(http.StatusCreated)
			list.Sessions = append(list.Sessions, struct{}{})
		}
		a.post("/api/sessions", a.user(ann), "").problem(http.StatusConflict, wire.CodeSessionInvalidState)
	}
}

// Connects of a user are counted over all replicas.
func TestUserConnectsOverReplicas(t *testing.T) {
	t.Parallel()
	a, b := twins(t, func(p *plan) { p.limits = ratelimit.Config{Connects: 4} })
	path := "/ws/" + string(a.session("ann"))
	for i := range 4 {
		h := []*hall{a, b}[i%2]
		h.enter(path, as(h.user("ann"))).alive()
	}
	for _, h := range []*hall{a, b} {
		h.refused(path, as(h.user("ann")), http.StatusTooManyRequests, wire.CodeRateLimited)
	}
	b.enter("/ws/"+string(b.session("bob")), as(b.user("bob"))).alive()
}

// So are requests: those that change something, and those that only read.
func TestUserRequestsOverReplicas(t *testing.T) {
	t.Parallel()
	const changes, reads = 6, 9
	a, b := twins(t, func(p *plan) { p.limits = ratelimit.Config{Requests: changes, Reads: reads} })
	ask := map[string]func(h *hall) int{
		"changes": func(h *hall) int { return h.post("/api/sessions", h.user("ann"), "").status },
		"reads":   func(h *hall) int { return h.get("/api/sessions", h.user("ann")).status },
	}
	for kind, most := range map[string]int32{"changes": changes, "reads": reads} {
		var wg sync.WaitGroup
		var passed, refused atomic.Int32
		for i := range 4 * most {
			wg.Go(func() {
				switch status := ask[kind]([]*hall{a, b}[i%2]); status {
				case http.StatusOK, http.StatusCreated:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("%s: %d", kind, status)
				}
			})
		}
		wg.Wait()
		if passed.Load() != most || refused.Load() != 3*most {
			t.Errorf("%s: %d passed, %d were refused, want %d and %d", kind, passed.Load(), refused.Load(), most, 3*most)
		}
	}
	b.get("/api/sessions", b.user("bob")).want(http.StatusOK)
}

// waitForRemoteCount waits until a replica counts want connections of ann to other replicas.
func (h *hall) elsewhere(want int) {
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
	a, b := twins(t, func(p *plan) { p.door.UserConnections = 3 })
	id := a.session("ann")
	path := "/ws/" + string(id)
	x := a.enter(path, as(a.user("ann")))
	x.alive()
	y := a.enter(path, as(a.user("ann")))
	y.alive()
	b.elsewhere(2)
	z := b.enter(path, as(b.user("ann")))
	z.alive()
	b.refused(path, as(b.user("ann")), http.StatusTooManyRequests, wire.CodeRateLimited)
	a.elsewhere(1)
	a.refused(path, as(a.user("ann")), http.StatusTooManyRequests, wire.CodeRateLimited)
	b.enter("/ws/"+string(b.session("bob")), as(b.user("bob"))).alive() // other users are not affected
	if err := y.ws.CloseNow(); err != nil {
		t.Fatal(err)
	}
	b.elsewhere(1)
	b.enter(path, as(b.user("ann"))).alive()
}

// A client that reconnects to another replica is not refused because the old replica still counts
// it.
func TestUserConnectionsComeBackElsewhere(t *testing.T) {
	t.Parallel()
	a, b := twins(t, func(p *plan) { p.door.UserConnections = 3 })
	id := a.session("ann")
	path := "/ws/" + string(id)
	var from wire.Position
	for i := range 3 {
		from = a.enter(path, as(a.user("ann"))).emit(wire.MessageID(fmt.Sprint("m-", i)))
	}
	b.elsewhere(3)
	// Counts of other replicas are soon outdated, so a retry helps soon.
	for _, query := range []string{"", "?resume_from=1-1", "?seen=garbage"} {
		x, refusal := b.knock(path+query, as(b.user("ann")))
		if x != nil { // an invalid position counted as a resume at first
			if n := x.notice(wire.CodeRateLimited); n.RetryAfterMS != 3000 {
				t.Errorf("%q: told to wait %d ms", query, n.RetryAfterMS)
			}
			x.closed(wire.CloseRateLimited)
		} else if got := refusal.header.Get("Retry-After"); refusal.status != http.StatusTooManyRequests || got != "3" {
			t.Errorf("%q: %d %s, told to wait %s s", query, refusal.status, refusal.body, got)
		}
	}
	for _, query := range []string{"?resume_from=", "?seen=", "?resume_from="} {
		b.enter(path+query+from.String(), as(b.user("ann"))).alive()
	}
	_, refusal := b.knock(path+"?resume_from="+from.String(), as(b.user("ann")))
	if got := refusal.header.Get("Retry-After"); refusal.status != http.StatusTooManyRequests || got != "30" {
		t.Errorf("who has too many here: %d %s, told to wait %s s", refusal.status, refusal.body, got)
	}
}
