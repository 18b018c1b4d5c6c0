package session_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// The owner lives and writes lost data again, time after time. Its turn is run again each time and
// is not given up: the turn did not cause the failures.
func TestRewritesDoNotCountAsAttemptsOfATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFailoverDeployment(t)
		a := startAgentHub(t, f.deployment, hubConfig{logger: discardLogger()})
		d := a.newDesktop(t, "ses-1")
		d.sendText(firstMonitor, "m1", "/say one", "/sleep 1m", "/say two")
		d.waitTurnOutput("m1")
		const rewrites = 4
		for i := range rewrites {
			f.store.takeCopy()
			id := fmt.Sprint("lost-", i)
			deliverAndWait(t, d.handle, command("c", wire.MessageID(id), emit(window(wire.WindowID(id)))))
			f.failOver(0)
			time.Sleep(10 * time.Second)
			deliverBarrier(t, d.handle)
		}
		time.Sleep(2 * time.Minute)
		deliverBarrier(t, d.handle)
		var ends []string
		for _, e := range payloads[wire.AgentResponse](readLog(t, f.store)) {
			if e.IsComplete {
				ends = append(ends, fmt.Sprintf("%s %s %s", e.MessageID, e.Outcome, e.Reason))
			}
		}
		if want := []string{"m1 completed "}; !slices.Equal(ends, want) {
			t.Errorf("after %d rewrites the turns ended as %q, want %q", rewrites, ends, want)
		}
		state, err := d.handle.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if got := len(state.Windows); got != rewrites {
			t.Errorf("there are %d windows, want the %d that the store lost", got, rewrites)
		}
	})
}

// The owner keeps running, claims the session again after a failover, and cannot load it at first, or does not
// get the answers to its claims. The claims under which it committed nothing do not make it believe that another
// replica has continued.
func TestRewriteAfterAnUnusedClaim(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]struct{ loads, claims int32 }{
		"one load": {loads: 1}, "three loads": {loads: 3}, "one claim": {claims: 1}, "three claims": {claims: 3}, "both": {loads: 2, claims: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFailoverDeployment(t)
				a := startAgentHub(t, f.deployment, hubConfig{logger: discardLogger()})
				d := a.newDesktop(t, "ses-1")
				deliverBarrier(t, d.handle)
				f.store.takeCopy()
				deliverAndWait(t, d.handle, command("c", "lost", emit(window("lost"))))
				f.links[0].failLoads.Store(fails.loads)
				f.links[0].loseClaims.Store(fails.claims)
				f.failOver(0)
				time.Sleep(time.Minute)
				deliverBarrier(t, d.handle)
				if loads, claims := f.links[0].failLoads.Load(), f.links[0].loseClaims.Load(); loads >= 0 || claims >= 0 {
					t.Errorf("%d more calls of Load and %d claims could fail, want all to have failed", loads, claims)
				}
				if got := d.windows(firstMonitor); len(got) != 1 {
					t.Errorf("the windows are %v, want the one that the store lost", got)
				}
			})
		})
	}
}

// Redis goes back to a copy while the owner runs, and the answers to the next claims are lost.
func TestRewriteAfterAnUnusedClaimInRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	s := deploymentOn(t, server)
	open, link := s.openStore, &storeLink{}
	s.openStore = func(t *testing.T) agentStore {
		t.Helper()
		link.agentStore = open(t)
		return link
	}
	a := startAgentHub(t, s, hubConfig{logger: discardLogger()})
	d := a.newDesktop(t, "ses-1")
	deliverBarrier(t, d.handle)
	copied := server.TakeCopy(t)
	deliverAndWait(t, d.handle, command("c", "lost", emit(window("lost"))))
	link.loseClaims.Store(2)
	server.RevertTo(t, copied)
	deliverBarrier(t, d.handle)
	if got := link.loseClaims.Load(); got >= 0 {
		t.Errorf("the answers to %d more claims could be lost, want all to have been", got)
	}
	if got := d.windows(firstMonitor); len(got) != 1 {
		t.Errorf("the windows are %v, want the one that Redis lost", got)
	}
}
