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

// While turns of all kinds run, the state at a position of the log is the same for the owner, a
// follower, and a reader of the whole log.
func TestOwnerFollowerAndLogAgree(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{limits: agentpool.Limits{Agents: 8}, session: session.Config{Budget: roomyBudget}}
			a := startAgentHub(t, s, cfg)
			cfg.replica = "b"
			b := startAgentHub(t, s, cfg)
			d := a.newDesktop(t, "ses-1")
			far := b.openDesktop(t, "ses-1")

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

			d.sendText(firstMonitor, "m0", "/nosteer", "/think hmm 안녕", "/stream 40 300", openWindowDirective("w"), "/task web /stream 20 200; "+openWindowDirective("t"), "/say done")
			d.sendText(firstMonitor, "m1", "/say beside")
			far.sendText("monitor-1", "m2", openWindowDirective("w"), `/call window:lock {"windowId":"w"}`, "/stream 40 300", "/toast bread", "/ask Which? | a | b")
			d.waitTurnOutput("m2")
			d.sendText("monitor-1", "m3", "/say three")
			p := d.waitPrompt("main-monitor-1-m2")
			far.send("w0", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: "/stream 20 200\n/fail rate 1s: enough"})
			d.send("", wire.UserInteractions{MonitorID: "monitor-1", Interactions: []wire.UserInteraction{
				{Type: wire.DidMoveWindow, WindowID: "w", Bounds: &wire.Bounds{X: 5, Y: 5, W: 100, H: 100}},
			}})
			far.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
			d.sendText("monitor-2", "m4", "/nosteer", "/stream 1000 300")
			d.waitTurnOutput("m4")
			for i := range 3 {
				d.sendText("monitor-2", wire.MessageID(fmt.Sprintf("m4%d", i)), "/stream 10 300")
			}
			d.send("", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-2", Queues: wire.QueuesDrop})
			d.waitTurnEnd("m0")
			d.send("", wire.RemoveMonitor{MonitorID: "monitor-2"})
			d.waitIdle()
			close(stop)
			wg.Wait()
			at := deliverBarrier(t, d.handle)
			waitPosition(t, far.handle, at)
			look("owner", d.handle)
			look("follower", far.handle)

			mirror := desktop.New("ses-1")
			both, compared := 0, 0
			for _, e := range readLog(t, s) {
				mirror.Apply(e)
				hashes := seen[e.At]
				if len(hashes) == 2 {
					both++
				}
				for who, hash := range hashes {
					compared++
					if want := mirror.Hash(); hash != want {
						t.Errorf("at %v the %s sees the state %v, want %v", e.At, who, hash, want)
					}
				}
			}
			if both == 0 || compared < 10 {
				t.Errorf("only %d states were compared, %d of them with each other, want at least 10, and one or more with each other", compared, both)
			}
			t.Logf("%d states were compared, %d of them with each other", compared, both)
		})
	}
}
