package session

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
)

// The tests of the tables compare every cell with an expectation that is written as a grid: a row
// per state, a column per event, the name of the next state in each cell, "-" if the event cannot
// happen.

// checkGrid compares a table with a grid. next returns the cell of a state and an event in the
// grid's words.
func checkGrid(t *testing.T, grid string, states, events []string, next func(state, event int) string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(grid), "\n")
	head := strings.Fields(lines[0])
	if len(lines) != len(states)+1 || len(head) != len(events) {
		t.Fatalf("the grid has %d states and %d events, want %d and %d", len(lines)-1, len(head), len(states), len(events))
	}
	for s, line := range lines[1:] {
		cells := strings.Fields(line)
		if cells[0] != states[s] || len(cells) != len(events)+1 {
			t.Fatalf("row %d of the grid is %q with %d cells, want %q with %d", s, cells[0], len(cells)-1, states[s], len(events))
		}
		for e, want := range cells[1:] {
			if head[e] != events[e] {
				t.Fatalf("column %d of the grid is %q, want %q", e, head[e], events[e])
			}
			if got := next(s, e); got != want {
				t.Errorf("%s on %s: %s, want %s", states[s], events[e], got, want)
			}
		}
	}
}

func TestRoleTable(t *testing.T) {
	t.Parallel()
	states := strings.Fields("claiming following vacant drained takingOver blocked owning handingOver released retrying missing suspended closed")
	events := strings.Fields("claimed followed drained undrained ownerSeen claimFailed shown tookOver handOver released failed missing retry reopened suspended closed")
	for i, name := range states {
		if got := role(i).String(); strings.ReplaceAll(got, " ", "") != strings.ToLower(name) {
			t.Errorf("role %d is called %q, want %q", i, got, name)
		}
	}
	for i, name := range events {
		if got := roleEvent(i).String(); strings.ReplaceAll(got, " ", "") != strings.ToLower(name) {
			t.Errorf("event %d is called %q, want %q", i, got, name)
		}
	}
	const grid = `
            claimed    followed  drained undrained ownerSeen claimFailed shown       tookOver handOver    released failed   missing retry    reopened suspended closed
claiming    takingOver following -       -         -         -           -           -        -           -        retrying missing -        claiming suspended closed
following   takingOver -         drained -         following vacant      -           -        -           -        retrying missing -        claiming suspended closed
vacant      takingOver -         drained -         following vacant      -           -        -           -        retrying missing -        claiming suspended closed
drained     -          -         drained following -         -           -           -        -           -        retrying missing -        claiming suspended closed
takingOver  -          -         -       -         -         -           blocked     owning   -           -        retrying missing -        -        suspended closed
blocked     -          -         -       -         -         -           blocked     owning   -           -        retrying missing -        -        suspended closed
owning      -          -         -       -         -         -           owning      -        handingOver released retrying missing -        claiming suspended closed
handingOver -          -         -       -         -         -           handingOver -        handingOver released retrying missing -        claiming suspended closed
released    -          -         -       -         -         -           -           -        -           -        retrying -       -        claiming suspended closed
retrying    -          -         -       -         -         -           -           -        -           -        -        -       claiming -        -         closed
missing     -          -         -       -         -         -           -           -        -           -        -        -       claiming -        -         closed
suspended   -          -         -       -         -         -           -           -        -           -        -        -       -        -        -         suspended
closed      -          -         -       -         -         -           -           -        -           -        -        -       -        -        -         -`
	checkGrid(t, grid, states, events, func(s, e int) string {
		var o ownership
		o.role.Store(uint32(s))
		if !o.apply(roleEvent(e)) {
			if int(o.current()) != s {
				t.Errorf("%s on %s is impossible and changes the role to %d, want no change", states[s], events[e], o.current())
			}
			return "-"
		}
		return states[o.current()]
	})
}

// Only an owner writes, and only a follower forwards: the rule behind all others.
func TestRoleOutputs(t *testing.T) {
	t.Parallel()
	want := map[role]string{
		roleClaiming: "claim", roleFollowing: "claim forward", roleVacant: "claim forward", roleDrained: "forward",
		roleTakingOver: "commit", roleBlocked: "commit", roleOwning: "commit", roleHandingOver: "commit",
	}
	for r := roleClaiming; r <= roleClosed; r++ {
		var o ownership
		o.role.Store(uint32(r))
		var got []string
		for i, name := range []string{"claim", "forward", "commit"} {
			if o.may(1 << i) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want[r] {
			t.Errorf("role %d may %v, want %s", r, got, want[r])
		}
		if final := r == roleSuspended || r == roleClosed; final != (len(roleTable[r]) < 2) {
			t.Errorf("role %d has %d entries, want less than two only for a final role", r, len(roleTable[r]))
		}
	}
}

// The time without an owner begins with the first role that has none and ends with the first that
// has one: claiming and loading again do not interrupt it.
func TestTimeWithoutAnOwner(t *testing.T) {
	t.Parallel()
	var o ownership
	begun := int64(0)
	for i, step := range []struct {
		event     roleEvent
		ownerless bool
	}{
		{eventFollowed, false},
		{eventClaimFailed, true},
		{eventClaimFailed, true},
		{eventClaimed, true},
		{eventFailed, true},
		{eventRetry, true},
		{eventClaimed, true},
		{eventShown, false},
		{eventTookOver, false},
		{eventHandOver, false},
		{eventReleased, false},
		{eventReopened, false},
		{eventFollowed, false},
		{eventClaimFailed, true},
		{eventDrained, false}, // it does not try to own the session any more
		{eventUndrained, false},
	} {
		if !o.apply(step.event) {
			t.Fatalf("step %d: event %d is impossible in role %d, want it possible", i, step.event, o.current())
		}
		since := o.ownerlessSince.Load()
		if (since != 0) != step.ownerless {
			t.Errorf("step %d: without an owner since %d, want %t", i, since, step.ownerless)
		}
		if begun != 0 && since != 0 && since != begun {
			t.Errorf("step %d: without an owner since %d, want still %d", i, since, begun)
		}
		begun = since
	}
}

func TestLeaseTable(t *testing.T) {
	t.Parallel()
	states, events := strings.Fields("held ending released lost stale"), strings.Fields("end release fenced expired")
	const grid = `
         end      release  fenced   expired
held     ending   released lost     stale
ending   ending   released ending   stale
released released released released released
lost     lost     released lost     lost
stale    stale    released lost     stale`
	checkGrid(t, grid, states, events, func(s, e int) string {
		var l leaseStatus
		l.state.Store(uint32(s))
		err := l.apply(leaseEvent(e))
		want := []error{nil, nil, errLost, errStale}[e]
		if after := states[l.state.Load()]; after == "ending" || after == "released" {
			want = nil
		}
		if !errors.Is(err, want) {
			t.Errorf("%s on %s ends the owner with %v, want %v", states[s], events[e], err, want)
		}
		return states[l.state.Load()]
	})
}

// fencedWriter refuses all commits.
type fencedWriter struct{ Writer }

func (fencedWriter) Commit(context.Context, store.Lease, store.Batch) (store.Receipt, error) {
	return store.Receipt{}, store.ErrFenced
}

// A refused commit is no success, whatever the state of the lease.
func TestFencedCommitFails(t *testing.T) {
	t.Parallel()
	for _, state := range []leaseState{leaseHeld, leaseEnding, leaseReleased, leaseLost, leaseStale} {
		ls := &liveSession{env: &environment{store: Store{Writer: fencedWriter{}}, started: time.Now()}, log: slog.New(slog.DiscardHandler)}
		ls.ownership.role.Store(uint32(roleOwning))
		held := &heldLease{ctx: t.Context()}
		held.status.state.Store(uint32(state))
		cm := &committer{live: ls, held: held, view: &introspection{}}
		if _, _, err := cm.commitBatch(store.Batch{Number: 1}); !errors.Is(err, errLost) {
			t.Errorf("a refused commit ends with %v in state %d of the lease, want %v", err, state, errLost)
		}
	}
}

func TestStepTable(t *testing.T) {
	t.Parallel()
	states := strings.Fields("idle handling committing uncertain broken brokenUncertain")
	events := strings.Fields("itemBegins itemEnds attemptBegins committed unanswered notCommitted refused panicked")
	outputs := strings.Fields("impossible none publish refuseItem isolate")
	const grid = `
                itemBegins itemEnds attemptBegins committed    unanswered notCommitted refused                 panicked
idle            handling   -        committing    -            -          -            -                       broken+isolate
handling        -          idle     -             -            -          -            -                       broken+refuseItem
committing      -          -        -             idle+publish uncertain  idle         broken+isolate          brokenUncertain+isolate
uncertain       -          -        uncertain     idle+publish uncertain  uncertain    brokenUncertain+isolate brokenUncertain+isolate
broken          -          -        -             -            -          -            -                       broken+isolate
brokenUncertain -          -        -             -            -          -            -                       brokenUncertain+isolate`
	checkGrid(t, grid, states, events, func(s, e int) string {
		now := stepState(s)
		out := now.apply(stepEvent(e))
		switch out {
		case outputImpossible:
			if int(now) != s {
				t.Errorf("%s on %s is impossible and changes the state to %d, want no change", states[s], events[e], now)
			}
			return "-"
		case outputNone:
			return states[now]
		}
		return states[now] + "+" + outputs[out]
	})
	for s, name := range states {
		uncertain := name == "committing" || strings.HasSuffix(strings.ToLower(name), "uncertain")
		if now := stepState(s); now.isUncertain() != uncertain || now.isBroken() != strings.HasPrefix(name, "broken") {
			t.Errorf("%s: uncertain %t, broken %t, want %t and %t", name, now.isUncertain(), now.isBroken(), uncertain, strings.HasPrefix(name, "broken"))
		}
	}
}

func TestCopyTable(t *testing.T) {
	t.Parallel()
	states, events := strings.Fields("intact lost rewriting"), strings.Fields("gapFound rewriteStarts rewritten")
	const grid = `
          gapFound  rewriteStarts rewritten
intact    lost      rewriting     -
lost      lost      -             -
rewriting rewriting -             intact`
	checkGrid(t, grid, states, events, func(s, e int) string {
		now := copyState(s)
		if _, ok := copyTable[now][copyEvent(e)]; !ok {
			return "-"
		}
		now.apply(copyEvent(e))
		return states[now]
	})
	for s, want := range map[copyState][3]bool{
		copyIntact: {true, true, true}, copyLost: {true, true, false}, copyRewriting: {false, false, false},
	} {
		if got := [3]bool{s.may(copyServes), s.may(copyRecords), s.may(copyUnloads)}; got != want {
			t.Errorf("%s allows %v, want %v", states[s], got, want)
		}
	}
}

func TestMailboxTable(t *testing.T) {
	t.Parallel()
	states, events := strings.Fields("collect hold closed"), strings.Fields("hold release close")
	const grid = `
        hold   release close
collect hold   collect closed
hold    hold   collect closed
closed  closed closed  closed`
	checkGrid(t, grid, states, events, func(s, e int) string {
		now := mailboxMode(s)
		now.apply(mailboxEvent(e))
		return states[now]
	})
}
