package gateway_test

import (
	"net/http"
	"testing"

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
