package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/wire"
)

// wantReported checks that the session has one error row, and that a hub logged an error.
func wantReported(t *testing.T, f *failoverDeployment, row, logged string) {
	t.Helper()
	var rows []string
	for _, u := range payloads[wire.MessageUpdated](readLog(t, f.store)) {
		if u.Message.Say == wire.SayError {
			rows = append(rows, u.Message.Text)
		}
	}
	if want := []string{row}; !slices.Equal(rows, want) {
		t.Errorf("error rows: got %q, want %q", rows, want)
	}
	synctest.Wait()
	if n := strings.Count(f.errorLog.String(), logged); n != 1 {
		t.Errorf("the hubs logged %q %d times, want once:\n%s", logged, n, f.errorLog.String())
	}
}

// The store lost more than a fenced owner has kept for the replica that fenced it. The owner hands
// over what it has, and the loss of the rest is logged and shown.
func TestFencedOwnerReportsWhatItHasNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const turns = 130 // each is a message and an end, of which 256 are kept
		id := func(n int) wire.MessageID { return wire.MessageID(fmt.Sprint("m", n)) }
		f, d, started := newFencedOwner(t, nil, func(d *testDesktop) {
			for n := range turns {
				d.sendText(firstMonitor, id(n), "/say x")
				d.waitTurnEnd(id(n))
			}
		})
		deliverBarrier(t, d.handle)
		wantReported(t, f, "The store failed over and lost the newest changes of this session. "+
			"What their owner knows is restored when it is back; anything else must be done again.", "accepted messages lost")
		restored := map[wire.MessageID]bool{}
		for _, e := range payloads[wire.AgentResponse](readLog(t, f.store)) {
			if e.IsComplete {
				restored[e.MessageID] = true
			}
		}
		if len(restored) != 128 || restored[id(0)] || !restored[id(turns-1)] {
			t.Errorf("the log has the ends of %d messages, of %s: %v, of %s: %v; want the newest 128",
				len(restored), id(0), restored[id(0)], id(turns-1), restored[id(turns-1)])
		}
		if n := started.Load(); n != 0 {
			t.Errorf("the new owner started %d runs, want none: all turns had ended", n)
		}
	})
}

// The replica that fenced the owner has no room for a message that the owner hands over. Its loss is
// logged and shown.
func TestFencedOwnerReportsWhatTheNewOwnerRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := newFencedOwnerOf(t, agentpool.Limits{Agents: 1}, nil, func(d *testDesktop) {
			d.sendText(firstMonitor, "lost", "/nosteer", "/say lost", "/hang")
			d.waitTurnOutput("lost")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "busy", "/nosteer", "/say busy", "/hang")
			d.waitTurnOutput("busy")
			for n := range 10 {
				d.sendAndWait(wire.MessageID(fmt.Sprint("q", n)), wire.UserMessage{MonitorID: firstMonitor, Content: "/say queued"})
			}
		})
		deliverBarrier(t, d.handle)
		wantReported(t, f, "The store failed over and lost a message that was accepted. It could not be restored: 10 messages wait already",
			"lost message refused on restore")
	})
}
