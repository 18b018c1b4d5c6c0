package session_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// The owner lives and writes again what the store lost, time after time. Its turn is run
// again each time, and is not given up: the turn has not cut its owner off.
func TestRewritesDoNotGiveATurnUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := openFailing(t)
		a := agentHub(t, f.site, hubConfig{logger: silence()})
		d := a.newDesktop(t, "ses-1")
		d.say(first, "m1", "/say one", "/sleep 1m", "/say two")
		d.begins("m1")
		const rewrites = 4
		for i := range rewrites {
			f.store.detach()
			id := fmt.Sprint("lost-", i)
			ask(t, d.handle, says("c", wire.MessageID(id), emit(window(wire.WindowID(id)))))
			f.failOver(0)
			time.Sleep(10 * time.Second)
			settled(t, d.handle)
		}
		time.Sleep(2 * time.Minute)
		settled(t, d.handle)
		var ends []string
		for _, e := range find[wire.AgentResponse](history(t, f.store)) {
			if e.IsComplete {
				ends = append(ends, fmt.Sprintf("%s %s %s", e.MessageID, e.Outcome, e.Reason))
			}
		}
		if want := []string{"m1 completed "}; !slices.Equal(ends, want) {
			t.Errorf("after %d rewrites the turns ended as %q, want %q", rewrites, ends, want)
		}
		state, err := d.handle.Snapshot(t.Context(), nil)
		ok(t, err)
		if got := len(state.Windows); got != rewrites {
			t.Errorf("there are %d windows, want the %d that the store lost", got, rewrites)
		}
	})
}
