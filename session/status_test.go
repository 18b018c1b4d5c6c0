package session_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// only is the census of a hub that owns one session.
func only(t *testing.T, h *session.Hub) session.Status {
	t.Helper()
	all := h.Statuses(t.Context())
	if len(all) != 1 {
		t.Fatalf("there are %d sessions: %+v", len(all), all)
	}
	return all[0]
}

func TestCensusTellsHowASessionIsDoing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{limits: agentpool.Limits{Agents: 1}})
		d := o.newDesktop(t, "ses-1")
		d.say(first, "bad", "/say oh", "/fail the cat is on the keyboard")
		d.ends("bad")
		synctest.Wait()
		if s := only(t, o.Hub); s.Errors != 1 || s.LastError != wire.CodeExecutionFailed || s.Working || s.Agents != 0 || s.Stuck {
			t.Errorf("after a turn that failed it is %+v", s)
		}
		d.say(first, "busy", "/nosteer", "/say wait", "/hang")
		d.begins("busy")
		d.say(first, "m1", "/say one")
		d.say(first, "m2", "/say two")
		when(t, d.diary, about[wire.MessageQueued]("m2"))
		synctest.Wait()
		s := only(t, o.Hub)
		if s.ID != "ses-1" || s.User != "ada" || s.Title != "Desk" || s.Agents != 1 || s.Queued != 2 || !s.Working || s.Monitors != 1 ||
			s.Epoch == 0 || s.Top.Epoch != s.Epoch || s.Updated.IsZero() || s.Stuck {
			t.Errorf("at work it is %+v", s)
		}
		i, err := o.Inspect(t.Context(), "ses-1")
		ok(t, err)
		if len(i.Monitors) != 1 || len(i.Monitors[0].Queue) != 2 {
			t.Fatalf("the monitors are %+v", i.Monitors)
		}
		q := i.Monitors[0].Queue[1]
		if q.ID != "m2" || q.Place != 2 || q.Since == 0 || q.Text != "/say two" {
			t.Errorf("the second that waits is %+v", q)
		}
		if len(i.Agents) != 1 || i.Agents[0].MessageID != "busy" || i.Agents[0].Provider != "demo" || i.Agents[0].Attempt != 1 || i.Agents[0].Text != "" {
			t.Errorf("the agents are %+v", i.Agents)
		}
		if len(i.Messages) != 4 || i.Messages[0].ID != "m2" || i.Messages[0].Verdict != "queued" || i.Messages[3].Verdict != "accepted" {
			t.Errorf("the ledger is %+v", i.Messages)
		}
		for n, state := range []string{"waiting", "waiting", "running", "ended"} {
			if m := i.Messages[n]; m.State != state {
				t.Errorf("the ledger says %+v, want %s", m, state)
			}
		}
		stored, err := o.InspectStored(t.Context(), "ses-1")
		ok(t, err)
		if len(stored.Agents) != 1 || len(stored.Messages) != 4 || stored.Status.User != "ada" || stored.Status.Top != s.Top {
			t.Errorf("the store says %+v", stored)
		}
		d.send("", wire.Interrupt{Scope: wire.ScopeAgent, AgentID: "main-monitor-0-busy"})
		d.ends("m2")
	})
}

func TestCensusDisturbsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var commits atomic.Int64
		m := &meddler{Store: openStore(t)}
		m.commit = func(_ context.Context, _ store.Lease, _ store.Batch, do func() (store.Receipt, error)) (store.Receipt, error) {
			commits.Add(1)
			return do()
		}
		h, _ := startHub(t, m, "a", session.Config{DormantAfter: 10 * time.Second})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		settled(t, r)
		r.Close()
		before := commits.Load()
		for range 9 {
			time.Sleep(time.Second)
			if s := only(t, h); s.Stuck {
				t.Fatalf("an idle session is %+v", s)
			}
		}
		if n := commits.Load(); n != before {
			t.Errorf("%d commits came of looking", n-before)
		}
		time.Sleep(3 * time.Second)
		if all := h.Statuses(t.Context()); len(all) != 0 {
			t.Errorf("looking has kept the session: %+v", all)
		}
	})
}

// gated is a store whose slots nobody gets while it is shut.
type gated struct {
	engine
	gate atomic.Pointer[chan struct{}]
}

func (g *gated) Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error) {
	if gate := g.gate.Load(); gate != nil {
		<-*gate
	}
	return g.engine.Acquire(ctx, r)
}

// hesitant is a session runner that does nothing, and does not say what it can.
type hesitant struct{ gate chan struct{} }

func (hesitant) TryReserve() *agentpool.Slot { return nil }
func (hesitant) Start(agentpool.Run)         {}
func (hesitant) Steer(agentpool.Steering)    {}
func (hesitant) Interrupt(string, string)    {}
func (hesitant) Dispose(string)              {}
func (hesitant) Cancel(*agentpool.Slot)      {}
func (hesitant) CanSteer(string) bool        { return false }
func (hesitant) ContextWindow(string) int    { return 0 }
func (hesitant) Launch()                     {}
func (hesitant) Close()                      {}
func (h hesitant) HasProvider(string) bool {
	<-h.gate
	return true
}

func TestAStuckSessionSaysWhatItIsIn(t *testing.T) {
	t.Parallel()
	t.Run("a message", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			h, _ := startHub(t, openStore(t), "a", session.Config{
				Provider: "demo", NewRunner: func(context.Context, agentpool.SessionRef) session.Runner { return hesitant{gate} },
			})
			create(t, h, "ses-1")
			r := enter(t, h, "ses-1")
			settled(t, r)
			deliver(t, r, says("conn", "m1", wire.UserMessage{Content: "hello"}))
			time.Sleep(time.Second)
			if got := only(t, h); !got.Stuck || got.Activity != "USER_MESSAGE" || got.For < time.Second {
				t.Errorf("it is %+v", got)
			}
			close(gate)
			settled(t, r)
			if got := only(t, h); got.Stuck || !got.Working {
				t.Errorf("later it is %+v", got)
			}
		})
	})
	t.Run("what an agent wants", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := inBubble(t)
			g := &gated{engine: s.open(t)}
			s.open = func(*testing.T) engine { return g }
			o := agentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "busy", "/nosteer", "/say wait", "/hang")
			d.begins("busy")
			gate := make(chan struct{})
			g.gate.Store(&gate)
			only(t, o.Hub)
			d.say(first, "m1", "/say one")
			synctest.Wait()
			time.Sleep(500 * time.Millisecond)
			got := only(t, o.Hub)
			if !got.Stuck || got.Activity != "agent" || got.For < 500*time.Millisecond || got.Agents != 1 || got.User != "ada" {
				t.Errorf("it is %+v", got)
			}
			if _, err := o.Inspect(t.Context(), "ses-1"); err == nil {
				t.Error("it could be inspected")
			}
			g.gate.Store(nil)
			close(gate)
			d.ends("m1")
			d.send("", wire.Interrupt{Scope: wire.ScopeSession})
			d.ends("busy")
			if got := only(t, o.Hub); got.Stuck || got.Activity != "" {
				t.Errorf("later it is %+v", got)
			}
		})
	})
	t.Run("commit", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m := &meddler{Store: openStore(t)}
			h, _ := startHub(t, m, "a", session.Config{})
			create(t, h, "ses-1")
			r := enter(t, h, "ses-1")
			settled(t, r)
			m.cut.Store(true)
			deliver(t, r, says("conn", "m1", emit(window("w"))))
			time.Sleep(300 * time.Millisecond)
			if got := only(t, h); !got.Stuck || got.Activity != "commit" || got.For < 300*time.Millisecond {
				t.Errorf("it is %+v", got)
			}
			m.cut.Store(false)
			settled(t, r)
			if got := only(t, h); got.Stuck || got.Windows != 1 {
				t.Errorf("later it is %+v", got)
			}
		})
	})
	t.Run("load", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m := &meddler{Store: openStore(t)}
			gate := make(chan struct{})
			m.hook(hooks{loaded: func() { <-gate }})
			h, _ := startHub(t, m, "a", session.Config{})
			create(t, h, "ses-1")
			opened := make(chan error, 1)
			go func() {
				r, err := h.Open(t.Context(), "ses-1")
				if err == nil {
					r.Close()
				}
				opened <- err
			}()
			synctest.Wait()
			if got := only(t, h); !got.Stuck || got.Activity != "load" || got.ID != "ses-1" {
				t.Errorf("it is %+v", got)
			}
			close(gate)
			ok(t, <-opened)
		})
	})
}

// A session that cannot be owned although somebody uses it is counted, and so is one
// that nobody may open for a while.
func TestCensusTellsOfSessionsBetweenOwners(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		h, _ := startHub(t, m, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		settled(t, r)
		epoch := only(t, h).Epoch
		m.onClaim(func(wire.ReplicaID) error { return store.ErrUnavailable })
		m.onCommit(func(context.Context, store.Lease, store.Batch, func() (store.Receipt, error)) (store.Receipt, error) {
			return store.Receipt{}, store.ErrFenced
		})
		deliver(t, r, says("c", "m1", emit(window("w"))))
		time.Sleep(2 * time.Minute)
		if got := only(t, h); !got.Stuck || got.Activity != "claim" || got.For < time.Minute || got.Epoch != epoch || got.ID != "ses-1" {
			t.Errorf("it is %+v", got)
		}
		if l := h.Levels(); l.Stuck != 1 || l.Followed != 0 {
			t.Errorf("the levels are %+v", l)
		}
		m.onCommit(nil)
		m.onClaim(nil)
		settled(t, r)
		if got := only(t, h); got.Stuck || got.Windows != 1 {
			t.Errorf("later it is %+v", got)
		}
	})
}

// Who follows a session that works is not between owners, and is when the owner is gone
// and nobody may be the next.
func TestCensusTellsOfFollowersWithoutOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, stop := pair(t, m)
		settled(t, enter(t, a, "ses-1"))
		r := enter(t, b, "ses-1")
		settled(t, r)
		time.Sleep(time.Minute)
		if all := b.Statuses(t.Context()); len(all) != 0 {
			t.Errorf("a session that is followed is %+v", all)
		}
		m.onClaim(func(wire.ReplicaID) error { return store.ErrUnavailable })
		stop()
		time.Sleep(time.Minute)
		if got := only(t, b); !got.Stuck || got.Activity != "claim" || got.For < 10*time.Second || got.Epoch == 0 {
			t.Errorf("without an owner it is %+v", got)
		}
		m.onClaim(nil)
		time.Sleep(5 * time.Second)
		if got := only(t, b); got.Stuck || !b.Owns("ses-1") {
			t.Errorf("later it is %+v", got)
		}
	})
}

func TestAudienceAndTail(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	create(t, h, "ses-1")
	if got := h.Viewers("ses-1"); len(got) != 0 {
		t.Errorf("a session that is not loaded is watched by %+v", got)
	}
	r := enter(t, h, "ses-1")
	at := settled(t, r)
	seen := 0
	for news, err := range h.Tail(t.Context(), "ses-1", wire.Position{}) {
		ok(t, err)
		seen += len(news.Events)
		if n := len(news.Events); n > 0 && news.Events[n-1].At.Compare(at) >= 0 {
			break
		}
	}
	if seen < 2 {
		t.Errorf("the log has %d events", seen)
	}
}

// Agents that hang are noticed, however often people come, go and move windows.
func TestTabsDoNotHideAgentsThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{})
		d := o.newDesktop(t, "ses-1")
		d.say(first, "m", "/nosteer", "/say wait", "/hang")
		d.begins("m")
		begun := time.Now()
		for i := range 10 {
			time.Sleep(7 * time.Second)
			watch(t, d.handle, "conn-x").leave()
			ask(t, d.handle, says("conn", wire.MessageID(fmt.Sprint("w", i)), emit(window("w"))))
		}
		synctest.Wait()
		s := only(t, o.Hub)
		if s.Progress.After(begun.Add(time.Second)) || time.Since(s.Updated) > 10*time.Second || !s.Working || !s.Stalled {
			t.Errorf("since %v it is %+v", begun, s)
		}
		if l := o.Levels(); l.Stalled != 1 {
			t.Errorf("the levels are %+v", l)
		}
	})
}

// How long agents may show nothing can be chosen.
func TestStalledAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{session: session.Config{StalledAfter: 5 * time.Second}})
		d := o.newDesktop(t, "ses-1")
		d.say(first, "m", "/nosteer", "/say wait", "/hang")
		d.begins("m")
		for _, stalled := range []bool{false, true} {
			time.Sleep(3 * time.Second)
			if s, l := only(t, o.Hub), o.Levels(); s.Stalled != stalled || (l.Stalled == 1) != stalled || l.Working+l.Stalled != 1 {
				t.Errorf("want stalled %v: %+v, %+v", stalled, s, l)
			}
		}
	})
}
