package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// countedCall is a tool call whose effects can be counted.
const countedCall = `/call window:update {"windowId":"w","operation":"append","content":"ONCE"}`

// wantOnce checks that countedCall had its effect once, and that all messages completed once.
func wantOnce(t *testing.T, f *failoverDeployment, d *testDesktop, ids ...wire.MessageID) {
	t.Helper()
	deliverBarrier(t, d.handle)
	windows := fmt.Sprint(d.snapshot().Windows)
	if n := strings.Count(windows, "ONCE"); n != 1 {
		t.Errorf("the windows say ONCE %d times, want once: %s", n, windows)
	}
	ends := map[wire.MessageID][]wire.Outcome{}
	for _, e := range payloads[wire.AgentResponse](readLog(t, f.store)) {
		if e.IsComplete {
			ends[e.MessageID] = append(ends[e.MessageID], e.Outcome)
		}
	}
	for _, id := range ids {
		if got := ends[id]; len(got) != 1 || got[0] != wire.OutcomeCompleted {
			t.Errorf("the log has the ends %v of %s, want that it completed once", got, id)
		}
	}
}

// A message that had joined a turn was repeated to the replica that fenced the owner, and was
// executed there before the owner hands the turn over. The turn is run instead of restored: its
// actions include those of the message.
func TestFencedOwnerHandsOverATurnWhoseJoinedMessageWasDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := newFencedOwnerBefore(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m0", openWindowDirective("w"))
			d.waitTurnEnd("m0")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/say one", "/sleep 1s")
			d.waitTurnOutput("m1")
			d.sendText(firstMonitor, "m2", countedCall)
			d.waitTurnEnd("m2")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m2", countedCall)
			d.waitTurnEnd("m2")
		})
		d.waitTurnEnd("m1")
		wantOnce(t, f, d, "m1", "m2")
	})
}

// The same while the message waits for another turn to which it was offered.
func TestFencedOwnerHandsOverATurnWhoseJoinedMessageJoinsAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := newFencedOwnerBefore(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m0", openWindowDirective("w"))
			d.waitTurnEnd("m0")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/say one", "/sleep 1s")
			d.waitTurnOutput("m1")
			d.sendText(firstMonitor, "m2", countedCall)
			d.waitTurnEnd("m2")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m3", "/say three", "/sleep 20s")
			d.waitTurnOutput("m3")
			d.sendText(firstMonitor, "m2", countedCall)
		})
		for _, id := range []wire.MessageID{"m1", "m2", "m3"} {
			d.waitTurnEnd(id)
		}
		time.Sleep(time.Minute)
		wantOnce(t, f, d, "m1", "m2", "m3")
	})
}

// A turn wrote into two windows, one of which the new owner does not have. The valid actions are
// restored, and a row reports the rest.
func TestFencedOwnerHandsOverActionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, started := newFencedOwnerBefore(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m0", openWindowDirective("w"))
			d.waitTurnEnd("m0")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", openWindowDirective("v"))
			d.waitTurnEnd("m1")
			d.sendText(firstMonitor, "m2", `/call window:update {"windowId":"v","operation":"append","content":"MORE"}`, countedCall)
			d.waitTurnEnd("m2")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/say something else")
			d.waitTurnEnd("m1")
		})
		wantOnce(t, f, d, "m2")
		if n := started.Load(); n != 1 {
			t.Errorf("the new owner started %d runs, want only that of m1: m2 had ended", n)
		}
		rows := d.snapshot().RecentMessages
		if !slices.ContainsFunc(rows, func(r wire.UIRow) bool {
			return r.Say == wire.SayError && strings.Contains(r.Text, "an agent had done")
		}) {
			t.Errorf("the rows are %s, want one that says what was lost", joinTexts(rows))
		}
	})
}

// The desktop actions of a task are restored with the turn that it worked for.
func TestFencedOwnerHandsOverWhatTasksDid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, started := newFencedOwner(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m0", openWindowDirective("w"))
			d.waitTurnEnd("m0")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/task default "+countedCall)
			d.waitTurnEnd("m1")
		})
		if n := started.Load(); n != 0 {
			t.Errorf("the new owner started %d runs, want none: the turn had ended", n)
		}
		wantOnce(t, f, d, "m1")
	})
}
