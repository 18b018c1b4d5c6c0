package session_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// outage is longer than a lease.
const outage = 7 * time.Second

// A follower has shown more than the log has after a failover. The lease in the older
// copy has run out, but its owner lives and comes a little later: the follower leaves
// the session to it, and nothing is lost.
func TestFollowerLeavesARewoundSessionToItsOwner(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 2 * time.Second, 4 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := openFailing(t)
				a, b := agentHub(t, f.site, hubConfig{}), agentHub(t, f.site, hubConfig{replica: "b"})
				d := a.newDesktop(t, "ses-1")
				far := enter(t, b.Hub, "ses-1")
				settled(t, d.handle)
				time.Sleep(time.Second)
				f.store.detach()
				at := ask(t, d.handle, says("c", "lost", emit(window("lost")))).At
				upTo(t, far, at)
				f.failOver(1)
				time.Sleep(late)
				f.links[0].cut.Store(false)
				time.Sleep(20 * time.Second)
				upTo(t, far, settled(t, d.handle))
				for _, o := range find[wire.OwnerChanged](history(t, f.store)) {
					if o.Replica != "a" {
						t.Errorf("%s claimed the session, want its living owner a to keep it", o.Replica)
					}
				}
				if got := d.windows(first); len(got) != 1 {
					t.Errorf("the windows are %v, want the one that the store lost", got)
				}
			})
		})
	}
}

// The log goes back twice, the second time before the follower could find that the owner
// had written again what the first one lost: it waits anew.
func TestFollowerLeavesASessionThatIsRewoundAgainToItsOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := openFailing(t)
		a, b := agentHub(t, f.site, hubConfig{}), agentHub(t, f.site, hubConfig{replica: "b"})
		d := a.newDesktop(t, "ses-1")
		far := enter(t, b.Hub, "ses-1")
		settled(t, d.handle)
		time.Sleep(time.Second)
		for i := range 2 {
			f.store.detach()
			id := fmt.Sprint("lost-", i)
			upTo(t, far, ask(t, d.handle, says("c", wire.MessageID(id), emit(window(wire.WindowID(id))))).At)
			f.failOver(1)
			time.Sleep(time.Second)
			f.links[0].cut.Store(false)
			upTo(t, far, settled(t, d.handle))
			time.Sleep(time.Second)
		}
		for _, o := range find[wire.OwnerChanged](history(t, f.store)) {
			if o.Replica != "a" {
				t.Errorf("%s claimed the session, want its living owner a to keep it", o.Replica)
			}
		}
		if got := d.windows(first); len(got) != 2 {
			t.Errorf("the windows are %v, want the two that the store lost", got)
		}
	})
}

// The owner of a session whose log went back is dead: a follower claims it when about a
// lease has passed.
func TestFollowerClaimsARewoundSessionOfADeadOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := openFailing(t)
		var logged bytes.Buffer // read when the hub is quiet
		a := agentHub(t, f.site, hubConfig{})
		b := agentHub(t, f.site, hubConfig{replica: "b", logger: slog.New(slog.NewTextHandler(&logged, nil))})
		d := a.newDesktop(t, "ses-1")
		far := enter(t, b.Hub, "ses-1")
		settled(t, d.handle)
		time.Sleep(time.Second)
		f.store.detach()
		upTo(t, far, ask(t, d.handle, says("c", "lost", emit(window("lost")))).At)
		f.failOver(1)
		a.stop()
		began := time.Now()
		await(t, f.store, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		if took := time.Since(began); took < 5*time.Second || took > 8*time.Second {
			t.Errorf("the follower claimed after %v, want about a lease of 6s", took)
		}
		settled(t, far)
		// The session shows that something is lost.
		state, err := far.Snapshot(t.Context(), nil)
		ok(t, err)
		if !slices.ContainsFunc(state.RecentMessages, func(r wire.UIRow) bool { return r.Say == wire.SayError }) {
			t.Errorf("the rows are %+v, want an error that says what was lost", state.RecentMessages)
		}
		synctest.Wait()
		if !strings.Contains(logged.String(), "level=ERROR") {
			t.Errorf("the follower logged no error:\n%s", logged.String())
		}
	})
}

// fenced is a session whose owner a accepted something that the store lost, and was
// fenced by a replica that had never seen the session.
func fenced(t *testing.T, before, lost func(d *testDesktop)) (f *failing, d *testDesktop, started *atomic.Int64) {
	t.Helper()
	return fencedBefore(t, before, lost, nil)
}

// fencedBefore is fenced, and something happens at the new owner before a hands over what
// the store lost.
func fencedBefore(t *testing.T, before, lost, first func(d *testDesktop)) (f *failing, d *testDesktop, started *atomic.Int64) {
	t.Helper()
	f, started = openFailing(t), &atomic.Int64{}
	a := agentHub(t, f.site, hubConfig{logger: silence()})
	c := agentHub(t, f.site, hubConfig{replica: "c", logger: silence(), runner: func(s session.Runner) session.Runner {
		return counted{s, started}
	}})
	d = a.newDesktop(t, "ses-1")
	if before != nil {
		before(d)
	}
	settled(t, d.handle)
	time.Sleep(time.Second)
	f.store.detach()
	lost(d)
	synctest.Wait()
	f.failOver(1)
	d = c.enter(t, "ses-1")
	settled(t, d.handle)
	if o := d.snapshot().Owner; o != "c" {
		t.Fatalf("%s owns the session, want c to be first", o)
	}
	if first != nil {
		first(d)
	}
	f.links[0].cut.Store(false)
	time.Sleep(10 * time.Second)
	settled(t, d.handle)
	return f, d, started
}

// counted counts the runs that a session runner starts.
type counted struct {
	session.Runner
	n *atomic.Int64
}

func (c counted) Start(r agentpool.Run) {
	c.n.Add(1)
	c.Runner.Start(r)
}

// A turn that ended is not run again by the replica that fenced its owner, and all that
// came of it is there.
func TestFencedOwnerHandsItsEndsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const call = `/call window:update {"windowId":"w","operation":"append","content":"ONCE"}`
		f, d, started := fenced(t, func(d *testDesktop) {
			d.say(first, "m0", opening("w"))
			d.ends("m0")
		}, func(d *testDesktop) {
			d.say(first, "m1", "/say hello", call)
			d.ends("m1")
		})
		var ends []wire.AgentResponse
		for _, e := range find[wire.AgentResponse](history(t, f.store)) {
			if e.MessageID == "m1" && e.IsComplete {
				ends = append(ends, e)
			}
		}
		if len(ends) != 1 || ends[0].Outcome != wire.OutcomeCompleted {
			t.Errorf("the log has the ends %+v of m1, want one", ends)
		}
		if n := started.Load(); n != 0 {
			t.Errorf("the new owner started %d runs, want none: the turn had ended", n)
		}
		state := d.snapshot()
		if n := strings.Count(string(snapshotBytes(t, d.handle)), `helloONCE`); n != 1 {
			t.Errorf("the window is %+v, want ONCE once", state.Windows)
		}
		for _, say := range []wire.Say{wire.SayUserFeedback, wire.SayText, wire.SayAPIReqFinished} {
			if !slices.ContainsFunc(state.RecentMessages, func(r wire.UIRow) bool { return r.MessageID == "m1" && r.Say == say }) {
				t.Errorf("m1 has no row %q among %s", say, texts(state.RecentMessages))
			}
		}
		if got := d.conversation(f.site, "main-monitor-0"); !strings.Contains(got, "/say hello") {
			t.Errorf("the conversation is %s, want m1 in it", got)
		}
		again := d.ask("m1", wire.UserMessage{MonitorID: first, Content: "/say hello\n" + call})
		if p, is := again.(wire.MessageAccepted); !is || !p.Duplicate {
			t.Errorf("m1 again is answered with %+v, want a duplicate acceptance", again)
		}
		d.say(first, "m2", "/say more")
		d.ends("m2")
	})
}

// A message that joined a turn ends under its own id at the replica that fenced the
// owner of the turn.
func TestFencedOwnerHandsJoinedMessagesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, started := fenced(t, nil, func(d *testDesktop) {
			d.say(first, "m1", "/say one", "/sleep 1s")
			d.begins("m1")
			d.say(first, "m2", "/say two")
			d.ends("m2")
		})
		if n := started.Load(); n != 0 {
			t.Errorf("the new owner started %d runs, want none: the turn had ended", n)
		}
		ends := map[wire.MessageID][]wire.AgentResponse{}
		for _, e := range find[wire.AgentResponse](history(t, f.store)) {
			if e.IsComplete {
				ends[e.MessageID] = append(ends[e.MessageID], e)
			}
		}
		for id, joined := range map[wire.MessageID]wire.MessageID{"m1": "", "m2": "m1"} {
			if got := ends[id]; len(got) != 1 || got[0].Outcome != wire.OutcomeCompleted || got[0].Joined != joined {
				t.Errorf("the log has the ends %+v of %s, want one, joined to %q", got, id, joined)
			}
		}
	})
}

// A message that waits at the replica that fenced the owner, and that had joined a turn
// there which has ended since, is not run a second time.
func TestFencedOwnerHandsOverWhatHadJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := fenced(t, func(d *testDesktop) {
			d.say(first, "m0", opening("w"))
			d.ends("m0")
			d.say(first, "m1", "/say one", "/sleep 9s", "/say three")
			d.begins("m1")
			d.say(first, "m2", `/call window:update {"windowId":"w","operation":"append","content":"ONCE"}`)
		}, func(d *testDesktop) { d.ends("m2") })
		time.Sleep(time.Minute)
		settled(t, d.handle)
		if n := strings.Count(string(snapshotBytes(t, d.handle)), `helloONCE`); n != 1 {
			t.Errorf("the windows are %+v, want ONCE once", d.snapshot().Windows)
		}
		if strings.Contains(string(snapshotBytes(t, d.handle)), "ONCEONCE") {
			t.Errorf("the windows are %+v, want ONCE once", d.snapshot().Windows)
		}
		ends := map[wire.MessageID]int{}
		for _, e := range find[wire.AgentResponse](history(t, f.store)) {
			if e.IsComplete {
				ends[e.MessageID]++
			}
		}
		if ends["m1"] != 1 || ends["m2"] != 1 {
			t.Errorf("the log has %v ends, want one of m1 and one of m2", ends)
		}
	})
}

// A turn that was under way when the replicas fell behind, and ended after it, ends the
// same way at the replica that fenced its owner and has begun to run it again.
func TestFencedOwnerEndsATurnThatRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, started := fenced(t, func(d *testDesktop) {
			d.say(first, "m1", "/say one", "/sleep 9s", "/say two")
			d.begins("m1")
		}, func(d *testDesktop) { d.ends("m1") })
		if n := started.Load(); n != 1 {
			t.Errorf("the new owner started %d runs, want 1: it finds the turn under way", n)
		}
		text, ends := "", 0
		for _, e := range find[wire.AgentResponse](history(t, f.store)) {
			if e.Delta != "" {
				text = text[:min(e.Offset, len(text))] + e.Delta
			}
			if e.IsComplete {
				ends++
			}
		}
		if text != "one\ntwo" || ends != 1 {
			t.Errorf("the turn says %q and ends %d times, want %q and once", text, ends, "one\ntwo")
		}
		if got := d.conversation(f.site, "main-monitor-0"); !strings.Contains(got, "two") {
			t.Errorf("the conversation is %s, want all that the turn said", got)
		}
		d.say(first, "m2", "/say more")
		d.ends("m2")
	})
}

// A turn that had not begun, or not ended, is run by the replica that fenced its owner.
func TestFencedOwnerHandsItsMessagesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, d, _ := fenced(t, nil, func(d *testDesktop) {
			d.say(first, "m1", "/nosteer", "/sleep 20s", "/say one")
			d.begins("m1")
			d.say(first, "m2", "/say two")
			settled(d.t, d.handle)
		})
		d.ends("m1")
		d.ends("m2")
	})
}

// An answer is not asked for again.
func TestFencedOwnerHandsItsAnswersOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := fenced(t, func(d *testDesktop) {
			d.say(first, "m1", "/ask Which? | tea | coffee", "/sleep 10ms")
			d.asked("main-monitor-0-m1")
		}, func(d *testDesktop) {
			d.send("", wire.UserPromptResponse{PromptID: d.asked("main-monitor-0-m1").ID, SelectedValues: []string{"tea"}})
			settled(d.t, d.handle)
		})
		d.ends("m1")
		closed := find[wire.PromptClosed](history(t, f.store))
		if len(closed) != 1 || closed[0].Reason != wire.ClosedAnswered {
			t.Errorf("the question was closed with %+v, want the answer", closed)
		}
	})
}
