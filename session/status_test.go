package session_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// singleStatus is the status of the only session of a hub.
func singleStatus(t *testing.T, h *session.Hub) session.Status {
	t.Helper()
	all := h.Statuses(t.Context())
	if len(all) != 1 {
		t.Fatalf("there are %d sessions, want 1: %+v", len(all), all)
	}
	return all[0]
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{limits: agentpool.Limits{Agents: 1}})
		d := o.newDesktop(t, "ses-1")
		d.sendText(firstMonitor, "bad", "/say oh", "/fail the cat is on the keyboard")
		d.waitTurnEnd("bad")
		synctest.Wait()
		if s := singleStatus(t, o.Hub); s.Errors != 1 || s.LastError != wire.CodeExecutionFailed || s.Working || s.Agents != 0 || s.Stuck {
			t.Errorf("after a turn that failed the session is %+v, want it idle with one error of code %s", s, wire.CodeExecutionFailed)
		}
		d.sendText(firstMonitor, "busy", "/nosteer", "/say wait", "/hang")
		d.waitTurnOutput("busy")
		d.sendText(firstMonitor, "m1", "/say one")
		d.sendText(firstMonitor, "m2", "/say two")
		waitEvent(t, d.eventLog, isAbout[wire.MessageQueued]("m2"))
		synctest.Wait()
		s := singleStatus(t, o.Hub)
		if s.ID != "ses-1" || s.User != "ada" || s.Title != "Desk" || s.Agents != 1 || s.Queued != 2 || !s.Working || s.Monitors != 1 ||
			s.Epoch == 0 || s.Top.Epoch != s.Epoch || s.Updated.IsZero() || s.Stuck {
			t.Errorf("at work the session is %+v, want Desk of ada with 1 agent and 2 queued messages, not stuck", s)
		}
		i, err := o.Inspect(t.Context(), "ses-1")
		requireNoError(t, err)
		if len(i.Monitors) != 1 || len(i.Monitors[0].Queue) != 2 {
			t.Fatalf("the monitors are %+v, want one with 2 queued messages", i.Monitors)
		}
		q := i.Monitors[0].Queue[1]
		if q.ID != "m2" || q.Place != 2 || q.Since == 0 || q.Text != "/say two" {
			t.Errorf("the second queued message is %+v, want m2 with its text and time in place 2", q)
		}
		if len(i.Agents) != 1 || i.Agents[0].MessageID != "busy" || i.Agents[0].Provider != "demo" || i.Agents[0].Attempt != 1 || i.Agents[0].Text != "" {
			t.Errorf("the agents are %+v, want one of demo on message busy, without text", i.Agents)
		}
		if len(i.Messages) != 4 || i.Messages[0].ID != "m2" || i.Messages[0].Verdict != "queued" || i.Messages[3].Verdict != "accepted" {
			t.Errorf("the ledger is %+v, want 4 messages, the newest m2 queued and the oldest accepted", i.Messages)
		}
		for n, state := range []string{"waiting", "waiting", "running", "ended"} {
			if m := i.Messages[n]; m.State != state {
				t.Errorf("the ledger says %+v, want %s", m, state)
			}
		}
		stored, err := o.InspectStored(t.Context(), "ses-1")
		requireNoError(t, err)
		if len(stored.Agents) != 1 || len(stored.Messages) != 4 || stored.Status.User != "ada" || stored.Status.Top != s.Top {
			t.Errorf("the store says %+v, want 1 agent and 4 messages of ada at %v", stored, s.Top)
		}
		d.send("", wire.Interrupt{Scope: wire.ScopeAgent, AgentID: "main-monitor-0-busy"})
		d.waitTurnEnd("m2")
	})
}

func TestStatusesKeepSessionsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var commits atomic.Int64
		m := &faultStore{testStore: openStore(t)}
		m.commit = func(_ context.Context, _ store.Lease, _ store.Batch, do func() (store.Receipt, error)) (store.Receipt, error) {
			commits.Add(1)
			return do()
		}
		h, _ := startHub(t, m, "a", session.Config{DormantAfter: 10 * time.Second})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverBarrier(t, r)
		r.Close()
		before := commits.Load()
		for range 9 {
			time.Sleep(time.Second)
			if s := singleStatus(t, h); s.Stuck {
				t.Fatalf("an idle session is %+v, want it not stuck", s)
			}
		}
		if n := commits.Load(); n != before {
			t.Errorf("reading statuses made %d commits, want 0", n-before)
		}
		time.Sleep(3 * time.Second)
		if all := h.Statuses(t.Context()); len(all) != 0 {
			t.Errorf("reading statuses has kept the session loaded: %+v, want none", all)
		}
	})
}

// gatedSlots is a store whose slots are unavailable while its gate is closed.
type gatedSlots struct {
	agentStore
	gate atomic.Pointer[chan struct{}]
}

func (g *gatedSlots) Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error) {
	if gate := g.gate.Load(); gate != nil {
		<-*gate
	}
	return g.agentStore.Acquire(ctx, r)
}

// stuckRunner is a session runner that does nothing and blocks in HasProvider.
type stuckRunner struct{ gate chan struct{} }

func (stuckRunner) TryReserve() *agentpool.Slot { return nil }
func (stuckRunner) Start(agentpool.Run)         {}
func (stuckRunner) Steer(agentpool.Steering)    {}
func (stuckRunner) Interrupt(string, string)    {}
func (stuckRunner) Dispose(string)              {}
func (stuckRunner) Caps(string) providers.Caps  { return providers.Caps{} }
func (stuckRunner) Launch()                     {}

func (stuckRunner) DefaultProvider(profiles.Role) string { return "" }
func (h stuckRunner) FindProvider(name string) (string, bool) {
	return name, h.HasProvider(name)
}

func (h stuckRunner) HasProvider(string) bool {
	<-h.gate
	return true
}

func TestStuckSessionNamesItsActivity(t *testing.T) {
	t.Parallel()
	t.Run("a message", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			h, _ := startHub(t, openStore(t), "a", session.Config{
				Provider: "demo", NewRunner: func(context.Context, agentpool.SessionRef) session.Runner {
					r := stuckRunner{gate}
					return session.Runner{Runs: r, Providers: r, Close: func() {}}
				},
			})
			createSession(t, h, "ses-1")
			r := openHandle(t, h, "ses-1")
			deliverBarrier(t, r)
			deliver(t, r, command("conn", "m1", wire.UserMessage{Content: "hello"}))
			time.Sleep(time.Second)
			if got := singleStatus(t, h); !got.Stuck || got.Activity != "USER_MESSAGE" || got.For < time.Second {
				t.Errorf("during a message the session is %+v, want it stuck in USER_MESSAGE for 1s or more", got)
			}
			close(gate)
			deliverBarrier(t, r)
			if got := singleStatus(t, h); got.Stuck || !got.Working {
				t.Errorf("later the session is %+v, want it working and not stuck", got)
			}
		})
	})
	t.Run("what an agent wants", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newSyncDeployment(t)
			g := &gatedSlots{agentStore: s.openStore(t)}
			s.openStore = func(*testing.T) agentStore { return g }
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "busy", "/nosteer", "/say wait", "/hang")
			d.waitTurnOutput("busy")
			gate := make(chan struct{})
			g.gate.Store(&gate)
			singleStatus(t, o.Hub)
			d.sendText(firstMonitor, "m1", "/say one")
			synctest.Wait()
			time.Sleep(500 * time.Millisecond)
			got := singleStatus(t, o.Hub)
			if !got.Stuck || got.Activity != "agent" || got.For < 500*time.Millisecond || got.Agents != 1 || got.User != "ada" {
				t.Errorf("during work of an agent the session of ada is %+v, want it stuck in agent for 500ms or more", got)
			}
			if _, err := o.Inspect(t.Context(), "ses-1"); err == nil {
				t.Error("got an inspection, want an error")
			}
			g.gate.Store(nil)
			close(gate)
			d.waitTurnEnd("m1")
			d.send("", wire.Interrupt{Scope: wire.ScopeSession})
			d.waitTurnEnd("busy")
			if got := singleStatus(t, o.Hub); got.Stuck || got.Activity != "" {
				t.Errorf("later the session is %+v, want it without an activity and not stuck", got)
			}
		})
	})
	t.Run("commit", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m := &faultStore{testStore: openStore(t)}
			h, _ := startHub(t, m, "a", session.Config{})
			createSession(t, h, "ses-1")
			r := openHandle(t, h, "ses-1")
			deliverBarrier(t, r)
			m.cut.Store(true)
			deliver(t, r, command("conn", "m1", emit(window("w"))))
			time.Sleep(300 * time.Millisecond)
			if got := singleStatus(t, h); !got.Stuck || got.Activity != "commit" || got.For < 300*time.Millisecond {
				t.Errorf("during a commit the session is %+v, want it stuck in commit for 300ms or more", got)
			}
			m.cut.Store(false)
			deliverBarrier(t, r)
			if got := singleStatus(t, h); got.Stuck || got.Windows != 1 {
				t.Errorf("later the session is %+v, want one window and not stuck", got)
			}
		})
	})
	t.Run("load", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m := &faultStore{testStore: openStore(t)}
			gate := make(chan struct{})
			m.setHooks(hooks{loaded: func() { <-gate }})
			h, _ := startHub(t, m, "a", session.Config{})
			createSession(t, h, "ses-1")
			opened := make(chan error, 1)
			go func() {
				r, err := h.Open(t.Context(), "ses-1")
				if err == nil {
					r.Close()
				}
				opened <- err
			}()
			synctest.Wait()
			if got := singleStatus(t, h); !got.Stuck || got.Activity != "load" || got.ID != "ses-1" {
				t.Errorf("during the load the session is %+v, want it stuck in load", got)
			}
			close(gate)
			requireNoError(t, <-opened)
		})
	})
}

// A session that is used and cannot be claimed is included, and so is a suspended one.
func TestStatusesOfSessionsBetweenOwners(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverBarrier(t, r)
		epoch := singleStatus(t, h).Epoch
		m.onClaim(func(wire.ReplicaID) error { return store.ErrUnavailable })
		m.onCommit(func(context.Context, store.Lease, store.Batch, func() (store.Receipt, error)) (store.Receipt, error) {
			return store.Receipt{}, store.ErrFenced
		})
		deliver(t, r, command("c", "m1", emit(window("w"))))
		time.Sleep(2 * time.Minute)
		if got := singleStatus(t, h); !got.Stuck || got.Activity != "claim" || got.For < time.Minute || got.Epoch != epoch || got.ID != "ses-1" {
			t.Errorf("without a claim the session is %+v, want it stuck in claim for 1m or more at epoch %d", got, epoch)
		}
		if l := h.Gauges(); l.Stuck != 1 || l.Followed != 0 {
			t.Errorf("the gauges are %+v, want one stuck session and none followed", l)
		}
		m.onCommit(nil)
		m.onClaim(nil)
		deliverBarrier(t, r)
		if got := singleStatus(t, h); got.Stuck || got.Windows != 1 {
			t.Errorf("later the session is %+v, want one window and not stuck", got)
		}
	})
}

// A follower of a working session is not included, except when the owner is dead and no replica can
// claim the session.
func TestStatusesOfFollowersWithoutOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, stop := startPair(t, m)
		deliverBarrier(t, openHandle(t, a, "ses-1"))
		r := openHandle(t, b, "ses-1")
		deliverBarrier(t, r)
		time.Sleep(time.Minute)
		if all := b.Statuses(t.Context()); len(all) != 0 {
			t.Errorf("a session that is followed is listed as %+v, want none", all)
		}
		m.onClaim(func(wire.ReplicaID) error { return store.ErrUnavailable })
		stop()
		time.Sleep(time.Minute)
		if got := singleStatus(t, b); !got.Stuck || got.Activity != "claim" || got.For < 10*time.Second || got.Epoch == 0 {
			t.Errorf("without an owner the session is %+v, want it stuck in claim for 10s or more", got)
		}
		m.onClaim(nil)
		time.Sleep(5 * time.Second)
		if got := singleStatus(t, b); got.Stuck || !b.Owns("ses-1") {
			t.Errorf("later the session is %+v, want it owned by b and not stuck", got)
		}
	})
}

func TestViewersAndTail(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	if got := h.Viewers("ses-1"); len(got) != 0 {
		t.Errorf("a session that is not loaded is watched by %+v, want none", got)
	}
	r := openHandle(t, h, "ses-1")
	at := deliverBarrier(t, r)
	seen := 0
	for news, err := range h.Tail(t.Context(), "ses-1", wire.Position{}) {
		requireNoError(t, err)
		seen += len(news.Events)
		if n := len(news.Events); n > 0 && news.Events[n-1].At.Compare(at) >= 0 {
			break
		}
	}
	if seen < 2 {
		t.Errorf("the log has %d events, want at least 2", seen)
	}
}

// Stalled agents are noticed, however often tabs attach, detach and move windows.
func TestTabsDoNotHideStalledAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{})
		d := o.newDesktop(t, "ses-1")
		d.sendText(firstMonitor, "m", "/nosteer", "/say wait", "/hang")
		d.waitTurnOutput("m")
		begun := time.Now()
		for i := range 10 {
			time.Sleep(7 * time.Second)
			attachTab(t, d.handle, "conn-x").detach()
			deliverAndWait(t, d.handle, command("conn", wire.MessageID(fmt.Sprint("w", i)), emit(window("w"))))
		}
		synctest.Wait()
		s := singleStatus(t, o.Hub)
		if s.Progress.After(begun.Add(time.Second)) || time.Since(s.Updated) > 10*time.Second || !s.Working || !s.Stalled {
			t.Errorf("since %v the session is %+v, want it working and stalled, without progress", begun, s)
		}
		if l := o.Gauges(); l.Stalled != 1 {
			t.Errorf("the gauges are %+v, want one stalled session", l)
		}
	})
}

// Config.StalledAfter sets the time without progress.
func TestStalledAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{session: session.Config{StalledAfter: 5 * time.Second}})
		d := o.newDesktop(t, "ses-1")
		d.sendText(firstMonitor, "m", "/nosteer", "/say wait", "/hang")
		d.waitTurnOutput("m")
		for _, stalled := range []bool{false, true} {
			time.Sleep(3 * time.Second)
			if s, l := singleStatus(t, o.Hub), o.Gauges(); s.Stalled != stalled || (l.Stalled == 1) != stalled || l.Working+l.Stalled != 1 {
				t.Errorf("want stalled %v: %+v, %+v", stalled, s, l)
			}
		}
	})
}
