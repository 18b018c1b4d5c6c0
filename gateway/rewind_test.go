package gateway_test

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// Two tabs rewind the same conversation at once: one succeeds, and the other gets an error that the
// conversation has changed. Viewers cannot rewind.
func TestTwoTabsRewind(t *testing.T) {
	t.Parallel()
	for name, open := range agentHubs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			id := h.newSession("ann")
			path := "/ws/" + string(id)
			one := h.mustDial(path, as(h.userToken("ann")))
			one.sendToAgent("monitor-0", "m1", "/say hello")
			var ts wire.Millis
			for _, e := range one.untilTurnEnd("m1") {
				if u, is := e.Data.(wire.MessageUpdated); is && u.Message.Say == wire.SayUserFeedback {
					ts = u.Message.TS
				}
			}
			two := h.mustDial(path, as(h.userToken("ann")))
			looks := h.mustDial(path, as(h.userToken("ann", "viewer")))
			two.wantAlive()
			looks.sendWithID("r0", wire.Rewind{TS: ts, MessageID: "r0"})
			looks.wantError(wire.CodeForbidden)
			looks.sendWithID("e0", wire.EditMessage{TS: ts, Text: "x", MessageID: "e0"})
			looks.wantError(wire.CodeForbidden)
			tabs := map[wire.MessageID]*tab{"r1": one, "r2": two}
			for r, x := range tabs {
				x.sendWithID(r, wire.Rewind{TS: ts, Revision: new(0), MessageID: r})
			}
			won, lost := 0, 0
			for r, x := range tabs {
				done := next[wire.HistoryRewound](x)
				if done.Revision != 1 || done.TS != ts || done.Removed != 3 {
					t.Errorf("got %+v, want revision 1 and 3 removed rows", done)
				}
				if done.MessageID == r {
					won++
					continue
				}
				lost++
				x.wantError(wire.CodeHistoryChanged)
			}
			if won != 1 || lost != 1 {
				t.Errorf("rewinds of two tabs: got %d won and %d lost, want one each", won, lost)
			}
		})
	}
}
