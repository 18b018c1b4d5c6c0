package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A follower has put a message into the inbox, and a failover of the store loses it before the owner
// has seen it. The sender's connection stays open and its log does not go back, so the sender has no
// reason to send it again: the follower does, whoever owns the session then.
func TestForwardedMessageSurvivesAFailover(t *testing.T) {
	t.Parallel()
	for name, reconnect := range map[string]struct {
		first, second int
		after         time.Duration // between the two
	}{
		"the owner continues":   {first: 0, second: 1, after: time.Second},
		"the follower takes it": {first: 1, second: 0, after: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFailoverDeployment(t)
				a, b := startAgentHub(t, f.deployment, hubConfig{}), startAgentHub(t, f.deployment, hubConfig{replica: "b"})
				d := a.newDesktop(t, "ses-1")
				far := openHandle(t, b.Hub, "ses-1")
				waitPosition(t, far, deliverBarrier(t, d.handle))
				waitPosition(t, d.handle, deliverBarrier(t, far))
				time.Sleep(time.Second)
				f.store.takeCopy()
				f.links[0].cut.Store(true)
				f.links[0].deaf.Store(true)
				answers := make(chan session.Answer, 1)
				go func() { answers <- deliverAndWait(t, far, command("c", "forwarded", emit(window("forwarded")))) }()
				synctest.Wait()
				f.links[0].deaf.Store(false)
				f.failOver(reconnect.first)
				time.Sleep(reconnect.after)
				f.links[reconnect.second].cut.Store(false)
				time.Sleep(30 * time.Second)
				select {
				case got := <-answers:
					if acts, ok := got.Data.(wire.Actions); !ok || len(acts.Actions) != 1 {
						t.Errorf("the answer is %+v, want the window", got)
					}
				default:
					t.Fatal("got no answer to the message, want one")
				}
				deliverBarrier(t, far)
				if got := d.windows(firstMonitor); len(got) != 1 {
					t.Errorf("the windows are %v, want one", got)
				}
			})
		})
	}
}

// A new owner holds the commands of its own tabs back until its barrier has come through the inbox.
// If a failover loses the barrier, the owner sends it again, so that these commands are executed.
func TestBarrierSurvivesAFailover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFailoverDeployment(t)
		a, b := startAgentHub(t, f.deployment, hubConfig{}), startAgentHub(t, f.deployment, hubConfig{replica: "b"})
		d := a.newDesktop(t, "ses-1")
		far := openHandle(t, b.Hub, "ses-1")
		waitPosition(t, far, deliverBarrier(t, d.handle))
		f.links[1].lost.Store(true)
		a.stop()
		time.Sleep(30 * time.Second)
		if !b.Owns("ses-1") {
			t.Fatal("hub b does not own the session, want it to")
		}
		f.links[1].lost.Store(false)
		answer := deliverAndWait(t, far, command("c", "held", emit(window("held"))))
		if acts, ok := answer.Data.(wire.Actions); !ok || len(acts.Actions) != 1 {
			t.Errorf("the answer is %+v, want the window", answer)
		}
	})
}

// A follower sends a forwarded message again after the store has forgotten that it was consumed. The
// owner answers from its ledger, and the message does not keep its place in the inbox.
func TestRepeatedDeliveryLeavesTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFailoverDeployment(t)
		a, b := startAgentHub(t, f.deployment, hubConfig{}), startAgentHub(t, f.deployment, hubConfig{replica: "b"})
		d := a.newDesktop(t, "ses-1")
		far := openHandle(t, b.Hub, "ses-1")
		waitPosition(t, far, deliverBarrier(t, d.handle))
		for n := range (store.Limits{}).WithDefaults().InboxCommands + 2 {
			c := command("c", wire.MessageID(fmt.Sprint("m-", n)), emit(window("same")))
			if n == 0 { // without an id: only its first delivery may have an effect
				c = command("c", "", wire.Interrupt{})
			}
			deliver(t, far, c)
			synctest.Wait()
		}
		for _, first := range f.links[1].sentMessages()[:2] {
			if got := f.links[0].timesConsumed(first.ID); got != 1 {
				t.Fatalf("delivery %s was consumed %d times, want once", first.ID, got)
			}
			known, err := f.store.Send(t.Context(), "ses-1", first)
			if requireNoError(t, err); known[0] {
				t.Fatalf("the store knows delivery %s, want it to have forgotten it", first.ID)
			}
			time.Sleep(time.Second)
			if got := f.links[0].timesConsumed(first.ID); got != 2 {
				t.Errorf("the repeated delivery %s was consumed %d times, want twice", first.ID, got)
			}
		}
		if got := d.windows(firstMonitor); len(got) != 1 {
			t.Errorf("the windows are %v, want one", got)
		}
	})
}
