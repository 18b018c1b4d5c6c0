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

// once is a call whose effects can be counted.
const once = `/call window:update {"windowId":"w","operation":"append","content":"ONCE"}`

// wantOnce checks that the call had its effect once, and that all messages completed once.
func wantOnce(t *testing.T, f *failing, d *testDesktop, ids ...wire.MessageID) {
	t.Helper()
	settled(t, d.handle)
	windows := fmt.Sprint(d.snapshot().Windows)
	if n := strings.Count(windows, "ONCE"); n != 1 {
		t.Errorf("the windows say ONCE %d times, want once: %s", n, windows)
	}
	ends := map[wire.MessageID][]wire.Outcome{}
	for _, e := range find[wire.AgentResponse](history(t, f.store)) {
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

// A message that had joined a turn was sent again to the replica that fenced the owner, and
// was done there before the owner hands the turn over. The turn is run instead of restored:
// its actions include those of the message.
func TestFencedOwnerHandsOverATurnWhoseJoinedMessageWasDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := fencedBefore(t, func(d *testDesktop) {
			d.say(first, "m0", opening("w"))
			d.ends("m0")
		}, func(d *testDesktop) {
			d.say(first, "m1", "/say one", "/sleep 1s")
			d.begins("m1")
			d.say(first, "m2", once)
			d.ends("m2")
		}, func(d *testDesktop) {
			d.say(first, "m2", once)
			d.ends("m2")
		})
		d.ends("m1")
		wantOnce(t, f, d, "m1", "m2")
	})
}

// The same while the message waits for another turn, which was offered it.
func TestFencedOwnerHandsOverATurnWhoseJoinedMessageJoinsAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := fencedBefore(t, func(d *testDesktop) {
			d.say(first, "m0", opening("w"))
			d.ends("m0")
		}, func(d *testDesktop) {
			d.say(first, "m1", "/say one", "/sleep 1s")
			d.begins("m1")
			d.say(first, "m2", once)
			d.ends("m2")
		}, func(d *testDesktop) {
			d.say(first, "m3", "/say three", "/sleep 20s")
			d.begins("m3")
			d.say(first, "m2", once)
		})
		for _, id := range []wire.MessageID{"m1", "m2", "m3"} {
			d.ends(id)
		}
		time.Sleep(time.Minute)
		wantOnce(t, f, d, "m1", "m2", "m3")
	})
}

// A turn wrote into two windows, one of which the new owner does not have. What fits is
// restored, and the session is told of the rest.
func TestFencedOwnerHandsOverActionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, started := fencedBefore(t, func(d *testDesktop) {
			d.say(first, "m0", opening("w"))
			d.ends("m0")
		}, func(d *testDesktop) {
			d.say(first, "m1", opening("v"))
			d.ends("m1")
			d.say(first, "m2", `/call window:update {"windowId":"v","operation":"append","content":"MORE"}`, once)
			d.ends("m2")
		}, func(d *testDesktop) {
			d.say(first, "m1", "/say something else")
			d.ends("m1")
		})
		wantOnce(t, f, d, "m2")
		if n := started.Load(); n != 1 {
			t.Errorf("the new owner started %d runs, want only that of m1: m2 had ended", n)
		}
		rows := d.snapshot().RecentMessages
		if !slices.ContainsFunc(rows, func(r wire.UIRow) bool {
			return r.Say == wire.SayError && strings.Contains(r.Text, "an agent had done")
		}) {
			t.Errorf("the rows are %s, want one that says what was lost", texts(rows))
		}
	})
}

// What a task did on the desktop is restored with the turn that it worked for.
func TestFencedOwnerHandsOverWhatTasksDid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, started := fenced(t, func(d *testDesktop) {
			d.say(first, "m0", opening("w"))
			d.ends("m0")
		}, func(d *testDesktop) {
			d.say(first, "m1", "/task default "+once)
			d.ends("m1")
		})
		if n := started.Load(); n != 0 {
			t.Errorf("the new owner started %d runs, want none: the turn had ended", n)
		}
		wantOnce(t, f, d, "m1")
	})
}
