package gateway_test

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// Two tabs rewind the same conversation at once: one succeeds, and the other gets an error that the
// conversation has changed. Viewers cannot rewind.
func TestTwoTabsRewind(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			id := h.session("ann")
			path := "/ws/" + string(id)
			one := h.enter(path, as(h.user("ann")))
			one.tell("monitor-0", "m1", "/say hello")
			var ts wire.Millis
			for _, e := range one.until("m1") {
				if u, is := e.Data.(wire.MessageUpdated); is && u.Message.Say == wire.SayUserFeedback {
					ts = u.Message.TS
				}
			}
			two := h.enter(path, as(h.user("ann")))
			looks := h.enter(path, as(h.user("ann", "viewer")))
			two.alive()
			looks.sayAs("r0", wire.Rewind{TS: ts, MessageID: "r0"})
			looks.notice(wire.CodeForbidden)
			looks.sayAs("e0", wire.EditMessage{TS: ts, Text: "x", MessageID: "e0"})
			looks.notice(wire.CodeForbidden)
			tabs := map[wire.MessageID]*tab{"r1": one, "r2": two}
			for r, x := range tabs {
				x.sayAs(r, wire.Rewind{TS: ts, Revision: new(0), MessageID: r})
			}
			won, lost := 0, 0
			for r, x := range tabs {
				done := next[wire.HistoryRewound](x)
				if done.Revision != 1 || done.TS != ts || done.Removed != 3 {
					t.Errorf("%+v", done)
				}
				if done.MessageID == r {
					won++
					continue
				}
				lost++
				x.notice(wire.CodeHistoryChanged)
			}
			if won != 1 || lost != 1 {
				t.Errorf("%d have won, %d have lost", won, lost)
			}
		})
	}
}
