package contextpool

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// turnMatrix is the expected table: per state the next state by event, "-" where the event has no
// effect, with "!" where the run is interrupted. S follows the state of a turn being stopped.
const turnMatrix = `
state      run-began run-restarted owner-changed tasks-awaited turn-stopped turn-aborted turn-over
accepted   running   accepted      accepted      waiting       acceptedS!   acceptedS    ended
running    -         accepted      running       waiting       runningS!    runningS     ended
waiting    -         accepted      accepted      -             waitingS     waitingS     ended
acceptedS  runningS  -             acceptedS     -             -            acceptedS    ended
runningS   -         -             runningS      -             -            runningS     ended
waitingS   -         -             acceptedS     -             -            waitingS     ended
ended      -         -             -             -             -            -            -
`

// stateNamed returns the state that the matrix names.
func stateNamed(name string) turnState {
	if phase, ok := strings.CutSuffix(name, "S"); ok {
		return turnState(phase + ", stopping")
	}
	return turnState(name)
}

func TestTurnChangesMatchTheMatrix(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(turnMatrix), "\n")
	events := strings.Fields(lines[0])[1:]
	seen, known := map[turnState]bool{}, map[turnEvent]bool{}
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		if len(cells) != len(events)+1 {
			t.Fatalf("got %d cells in the row %q, want %d", len(cells), line, len(events)+1)
		}
		from := stateNamed(cells[0])
		seen[from] = true
		for i, cell := range cells[1:] {
			e := turnEvent(strings.ReplaceAll(events[i], "-", " "))
			known[e] = true
			name, interrupts := strings.CutSuffix(cell, "!")
			x := &turn{State: from}
			c, ok := x.apply(e)
			switch {
			case cell == "-":
				if ok || x.State != from || c != (turnChange{}) {
					t.Errorf("%q in %q: got %q, want no effect", e, from, x.State)
				}
			case !ok || x.State != stateNamed(name) || c.next != x.State || c.interruptRun != interrupts:
				t.Errorf("%q in %q: got %q (%+v, %v), want %s", e, from, x.State, c, ok, cell)
			}
		}
	}
	if states := slices.Sorted(maps.Keys(turnChanges)); !slices.Equal(states, slices.Sorted(maps.Keys(seen))) {
		t.Errorf("the table has the states %q, want %q", states, slices.Sorted(maps.Keys(seen)))
	}
	for s, changes := range turnChanges {
		for e := range changes {
			if !known[e] {
				t.Errorf("the matrix lacks %q of %q, want all of them", e, s)
			}
		}
	}
}

// A state is stored as the phase and the reason for stopping, and read back as it was.
func TestTurnStatesAreStored(t *testing.T) {
	t.Parallel()
	for s, want := range map[turnState]struct {
		stored                    string
		running, stopping, parked bool
	}{
		turnAccepted:         {stored: "accepted"},
		turnRunning:          {stored: "running", running: true},
		turnParked:           {stored: "waiting", parked: true},
		turnAcceptedStopping: {stored: "accepted", stopping: true},
		turnRunningStopping:  {stored: "running", running: true, stopping: true},
		turnParkedStopping:   {stored: "waiting", parked: true, stopping: true},
	} {
		x := &turn{State: s}
		if x.running() != want.running || x.stopping() != want.stopping || x.parked() != want.parked {
			t.Errorf("%q: running %v, stopping %v, parked %v, want %v, %v, %v", s, x.running(), x.stopping(), x.parked(), want.running, want.stopping, want.parked)
		}
		if want.stopping {
			x.StopReason = "r"
		}
		data := string(encode(x))
		if !strings.Contains(data, `"state":"`+want.stored+`"`) || strings.Contains(data, `"stopping":"r"`) != want.stopping {
			t.Errorf("%q is stored as %s, want the state %s, and a reason: %v", s, data, want.stored, want.stopping)
		}
		var back turn
		if err := decode([]byte(data), &back); err != nil {
			t.Fatal(err)
		}
		if got := restoredState(back.State, back.StopReason); got != s {
			t.Errorf("%q is restored as %q, want the same", s, got)
		}
	}
	if got := restoredState("later", ""); got != turnAccepted {
		t.Errorf("an unknown state is restored as %q, want %q", got, turnAccepted)
	}
	if got := restoredState("later", "r"); got != turnAcceptedStopping {
		t.Errorf("an unknown stopped state is restored as %q, want %q", got, turnAcceptedStopping)
	}
}
