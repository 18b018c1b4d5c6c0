package broadcast_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// status returns the next event, which must be a store_status without a position.
func (c *tab) status() wire.StoreStatus {
	c.t.Helper()
	e := c.next()
	s, ok := e.Data.(wire.StoreStatus)
	if !ok || !e.At.IsZero() || e.Session != session {
		c.t.Fatalf("got %+v, want a store_status without a position", e)
	}
	return s
}

// A notification is sent to all tabs, in every form, between the events of the log, and has no
// position.
func TestNotify(t *testing.T) {
	t.Parallel()
	w := broadcast.NewWriters(2)
	t.Cleanup(w.Close)
	for _, n := range []int{3, 40} { // written by the teller, and by writers
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, broadcast.Config{Writers: w})
			forms := []broadcast.Form{broadcast.FormNative, broadcast.FormBatch, broadcast.FormSSE}
			attach := func(i int) *tab {
				return b.attach(broadcast.TabConfig{
					Form: forms[i%len(forms)], Who: who(fmt.Sprint("c", i)), Monitors: []wire.MonitorID{"monitor-0"}[:i%2],
				})
			}
			var tabs []*tab
			for i := range n {
				tabs = append(tabs, attach(i))
			}
			desktop := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, Who: who("desktop")})
			before := b.show(tool("monitor-0", 1))
			for _, c := range tabs {
				c.greeting()
				c.expect(before...)
			}
			away := wire.StoreStatus{Since: 5}
			b.Notify(away, true)
			for _, c := range tabs {
				if got := c.status(); got != away {
					t.Fatalf("notification: got %+v, want %+v", got, away)
				}
			}
			for i := range forms { // a tab that attaches now receives the notification after the state
				c := attach(n + i)
				c.greeting()
				if got := c.status(); got != away {
					t.Fatalf("notification of a new tab: got %+v, want %+v", got, away)
				}
				tabs = append(tabs, c)
			}
			back := wire.StoreStatus{Available: true, Since: 6}
			b.Notify(back, false)
			for _, c := range tabs {
				if got := c.status(); got != back {
					t.Fatalf("notification: got %+v, want %+v", got, back)
				}
			}
			late := attach(0) // and who comes after that is not
			late.greeting()
			after := b.show(tool("monitor-0", 2))
			for _, c := range append(tabs, late) {
				c.expect(after...)
			}
			for _, want := range []string{"1", "2"} { // that dialect has no words for it
				for seen := false; !seen; {
					switch e := desktop.next().Data.(type) {
					case wire.ToolProgress:
						if seen = true; e.Message != want {
							t.Fatalf("the desktop gets %+v, want %s", e, want)
						}
					case wire.StoreStatus:
						t.Fatalf("event of the desktop tab: got %+v, want no store status", e)
					}
				}
			}
		})
	}
}

// Notifications for a tab that reads nothing are bounded: the tab is closed.
func TestNotifyIsBounded(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{Who: who("c")})
	for i := range 200_000 {
		b.Notify(wire.StoreStatus{Since: wire.Millis(i)}, false)
		select {
		case got := <-c.closed:
			if got.code != wire.CloseTooSlow {
				t.Errorf("the tab: got closed with %+v, want code %v", got, wire.CloseTooSlow)
			}
			return
		default:
		}
	}
	t.Error("a tab that reads nothing is not closed")
}

// What is for other users reaches all their tabs and none of the user's own, and leaves the lasting notification alone.
func TestMovePointer(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	as := func(id, user string) wire.Connection {
		return wire.Connection{ConnectionID: wire.ConnectionID(id), User: user}
	}
	mine, hers, herOther := b.attach(broadcast.TabConfig{Who: as("conn-1", "ann")}), b.attach(broadcast.TabConfig{Who: as("conn-2", "bea")}), b.attach(broadcast.TabConfig{Form: broadcast.FormSSE, Who: as("conn-3", "bea")})
	desktop := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, Who: as("conn-4", "cem")})
	for _, c := range []*tab{mine, hers, herOther} {
		c.greeting()
	}
	away := wire.StoreStatus{Since: 5}
	b.Notify(away, true)
	for _, c := range []*tab{mine, hers, herOther} {
		c.status()
	}
	moved := wire.PointerMoved{ConnectionID: "conn-1", User: "ann", MonitorID: "monitor-0", X: 1, Y: 2}
	if !b.MovePointer(moved) {
		t.Error("the first position: got false, want it sent")
	}
	for _, c := range []*tab{hers, herOther} {
		if got := c.next().Data; got != moved {
			t.Errorf("another user's tab: got %+v, want %+v", got, moved)
		}
	}
	late := b.attach(broadcast.TabConfig{Who: as("conn-5", "dan")})
	late.greeting()
	if got := late.status(); got != away {
		t.Errorf("a new tab: got %+v, want the lasting notification %+v", got, away)
	}
	after := b.show(tool("monitor-0", 1))
	mine.expect(after...)
	for {
		e := desktop.next().Data
		if _, ok := e.(wire.PointerMoved); ok {
			t.Fatalf("the desktop dialect: got %+v, want no pointers", e)
		}
		if _, ok := e.(wire.ToolProgress); ok {
			break
		}
	}
}

// Frequent events do not close a tab that reads nothing.
func TestMovePointerSkipsSlowTabs(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{Who: wire.Connection{ConnectionID: "conn-1", User: "bea"}})
	for i := range 20_000 {
		b.MovePointer(wire.PointerMoved{ConnectionID: "conn-2", User: "ann", MonitorID: "monitor-0", X: i % 10000, Gone: true})
	}
	select {
	case got := <-c.closed:
		t.Errorf("the tab: got closed with %+v, want it open", got)
	default:
	}
}

// All tabs of a user together move the pointer ten times per second.
func TestPointersAreLimitedPerUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		move := func(id wire.ConnectionID, user string, gone bool) bool {
			return b.MovePointer(wire.PointerMoved{ConnectionID: id, User: user, MonitorID: "monitor-0", Gone: gone})
		}
		for second := range 3 {
			sent := 0
			for range 100 {
				for _, id := range []wire.ConnectionID{"conn-1", "conn-2"} {
					if move(id, "ann", false) {
						sent++
					}
				}
				time.Sleep(10 * time.Millisecond)
			}
			if sent < 10 || sent > 12 {
				t.Errorf("second %d: got %d positions of two tabs, want 10 to 12", second, sent)
			}
		}
		time.Sleep(time.Second)
		for _, step := range []struct {
			user       string
			gone, want bool
		}{{"ann", false, true}, {"ann", false, false}, {"bea", false, true}, {"ann", true, true}, {"ann", false, false}} {
			if got := move("conn-1", step.user, step.gone); got != step.want {
				t.Errorf("%+v: got %t", step, got)
			}
		}
	})
}
