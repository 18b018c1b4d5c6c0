package broadcast_test

import (
	"fmt"
	"strconv"
	"testing"

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
			for i := range forms { // who comes now is told after the state
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
