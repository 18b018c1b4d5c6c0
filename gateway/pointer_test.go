package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// Pointers reach the tabs of other users, viewers too, at most ten per second, and are not in the log.
func TestPointersOfOtherUsers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/shares/vic"), request{token: ada, body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
	path := "/ws/" + string(id)
	mine, other, vic := h.mustDial(path, as(ada)), h.mustDial(path, as(ada)), h.mustDial(path, as(h.userToken("vic")))
	for _, x := range []*tab{mine, other, vic} {
		next[wire.SessionState](x)
	}
	top := h.get(sessionPath(id, ""), ada)
	for i := range 500 { // many at once: most are dropped, without an error
		mine.send(wire.Pointer{MonitorID: "monitor-0", X: i, Y: 10000})
	}
	mine.send(wire.Pointer{MonitorID: "monitor-0", Gone: true})
	mine.wantAlive()
	got := 0
	for {
		p := next[wire.PointerMoved](vic)
		if p.User != "ada" || p.ConnectionID == "" || p.MonitorID != "monitor-0" {
			t.Fatalf("got %+v, want a pointer of ada on monitor-0", p)
		}
		if p.Gone {
			break
		}
		got++
	}
	if got == 0 || got > 250 {
		t.Errorf("got %d of 500 positions, want some and far from all", got)
	}
	mine.send(wire.Pointer{MonitorID: "monitor-0", Gone: true}) // it is gone already
	vic.send(wire.Pointer{MonitorID: "monitor-0", X: 7, Y: 8})
	if p := next[wire.PointerMoved](mine); p.User != "vic" || p.X != 7 || p.Y != 8 {
		t.Errorf("got %+v, want that of vic and none of the own", p)
	}
	if p := next[wire.PointerMoved](other); p.User != "vic" {
		t.Errorf("another tab of the same user: got %+v, want only the pointer of vic", p)
	}
	mine.send(wire.Pointer{MonitorID: "monitor-0", X: 10001})
	mine.wantError(wire.CodeInvalidMessage)
	if events := h.get(sessionPath(id, "/events?limit=1000"), ada).wantStatus(http.StatusOK); contains(events.body, "POINTER") {
		t.Errorf("the log has pointers: %s, was %s", events.body, top.body)
	}
}

// Pointers reach the users at other replicas, through a channel that only sessions with several users have.
func TestPointersCrossReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	a, b := twoHubsOn(t, server)
	redis := server.Client(t)
	ada, id := a.userToken("ada"), a.newSession("ada")
	a.rest(http.MethodPut, sessionPath(id, "/shares/vic"), request{token: ada, body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
	path := "/ws/" + string(id)
	mine, other := a.mustDial(path, as(ada)), b.mustDial(path, as(b.userToken("ada")))
	channels := func() []string {
		t.Helper()
		names, err := redis.PubSubShardChannels(t.Context(), "*:signals").Result()
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	vic := b.mustDial(path, as(b.userToken("vic")))
	mine.readInBackground()
	vic.readInBackground()
	moves := time.NewTicker(20 * time.Millisecond)
	defer moves.Stop()
	sent := 0
	for _, way := range []struct {
		from, to *tab
		user     string
	}{{mine, vic, "ada"}, {vic, mine, "vic"}} {
		// Positions are lost until both replicas listen, so the pointer comes and goes until both were seen. It stays for
		// some positions: of those that follow each other at once only the last is shown.
		deadline := time.After(a.wait)
		for moved, gone := false, false; !moved || !gone; {
			select {
			case e := <-way.to.events:
				p, ok := e.Data.(wire.PointerMoved)
				if !ok {
					continue
				}
				if p.User != way.user || p.MonitorID != "monitor-0" || p.ConnectionID == "" || !p.Gone && (p.X != 7 || p.Y != 8) {
					t.Errorf("got %+v, want a pointer of %s at 7, 8", p, way.user)
				}
				moved, gone = moved || !p.Gone, gone || p.Gone
			case <-moves.C:
				position := wire.Pointer{MonitorID: "monitor-0", X: 7, Y: 8}
				if sent++; sent/10%2 == 1 {
					position = wire.Pointer{MonitorID: "monitor-0", Gone: true}
				}
				way.from.send(position)
			case <-deadline:
				t.Fatalf("the pointer of %s never came: moved %v, gone %v", way.user, moved, gone)
			}
		}
	}
	if p := next[wire.PointerMoved](other); p.User != "vic" {
		t.Errorf("another tab of the same user: got %+v, want only the pointer of vic", p)
	}
	if got := channels(); len(got) != 1 {
		t.Errorf("channels with two users: got %q, want one", got)
	}
	vic.ws.CloseNow()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(a.wait); len(channels()) > 0; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("channels after vic has left: got %q, want none", channels())
		}
	}
}
