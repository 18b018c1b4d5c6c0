package session_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// While turns of all kinds run, whoever looks at a position of the log sees the
// same state: the owner, a follower, and who reads the log from its beginning.
func TestStateIsTheSameForAll(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{limits: agentpool.Limits{Agents: 8}, session: session.Config{Budget: roomyBudget}}
			a := agentHub(t, s, cfg)
			cfg.replica = "b"
			b := agentHub(t, s, cfg)
			d := a.newDesktop(t, "ses-1")
			far := b.enter(t, "ses-1")

			var mu sync.Mutex
			seen := map[wire.Position]map[string]string{}
			look := func(who string, r *session.Handle) {
				now, err := r.Snapshot(t.Context(), nil)
				if err != nil {
					t.Errorf("snapshot: %v", err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if seen[now.LastMessageID] == nil {
					seen[now.LastMessageID] = map[string]string{}
				}
				seen[now.LastMessageID][who] = desktop.HashOf(now)
			}
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for who, r := range map[string]*session.Handle{"owner": d.handle, "follower": far.handle} {
				wg.Go(func() {
					for {
						look(who, r)
						select {
						case <-stop:
							return
						case <-time.After(5 * time.Millisecond):
						}
					}
				})
			}

			d.say(first, "m0", "/nosteer", "/think hmm 안녕", "/stream 40 300", opening("w"), "/task web /stream 20 200; "+opening("t"), "/say done")
			d.say(first, "m1", "/say beside")
			far.say("monitor-1", "m2", opening("w"), `/call window:lock {"windowId":"w"}`, "/stream 40 300", "/toast bread", "/ask Which? | a | b")
			d.begins("m2")
			d.say("monitor-1", "m3", "/say three")
			p := d.asked("main-monitor-1-m2")
			far.send("w0", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: "/stream 20 200\n/fail rate 1s: enough"})
			d.send("", wire.UserInteractions{MonitorID: "monitor-1", Interactions: []wire.UserInteraction{
				{Type: wire.DidMoveWindow, WindowID: "w", Bounds: &wire.Bounds{X: 5, Y: 5, W: 100, H: 100}},
			}})
			far.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
			d.say("monitor-2", "m4", "/nosteer", "/stream 1000 300")
			d.begins("m4")
			for i := range 3 {
				d.say("monitor-2", wire.MessageID(fmt.Sprintf("m4%d", i)), "/stream 10 300")
			}
			d.send("", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-2", Queues: wire.QueuesDrop})
			d.ends("m0")
			d.send("", wire.RemoveMonitor{MonitorID: "monitor-2"})
			d.rest()
			close(stop)
			wg.Wait()
			at := settled(t, d.handle)
			upTo(t, far.handle, at)
			look("owner", d.handle)
			look("follower", far.handle)

			mirror := desktop.New("ses-1")
			both, compared := 0, 0
			for _, e := range history(t, s) {
				mirror.Apply(e)
				hashes := seen[e.At]
				if len(hashes) == 2 {
					both++
				}
				for who, hash := range hashes {
					compared++
					if want := mirror.Hash(); hash != want {
						t.Errorf("at %v the %s sees something else", e.At, who)
					}
				}
			}
			if both == 0 || compared < 10 {
				t.Errorf("only %d states were compared, %d of them with each other", compared, both)
			}
			t.Logf("%d states were compared, %d of them with each other", compared, both)
		})
	}
}
