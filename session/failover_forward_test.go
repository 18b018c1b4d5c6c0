package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
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
					t.Fatal("the message was not answered")
				}
				deliverBarrier(t, far)
				if got := d.windows(firstMonitor); len(got) != 1 {
					t.Errorf("the windows are %v, want one", got)
				}
			})
		})
	}
}
