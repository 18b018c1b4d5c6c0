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
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

// outage is longer than a lease.
const outage = 7 * time.Second

// A follower has published more than the log has after a failover. In the older copy the lease has
// expired, but its owner is alive and reconnects a little later: the follower leaves the session to
// it, and nothing is lost.
func TestFollowerLeavesARewoundSessionToItsOwner(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 2 * time.Second, 4 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFailoverDeployment(t)
				a, b := startAgentHub(t, f.deployment, hubConfig{}), startAgentHub(t, f.deployment, hubConfig{replica: "b"})
				d := a.newDesktop(t, "ses-1")
				far := openHandle(t, b.Hub, "ses-1")
				deliverBarrier(t, d.handle)
				time.Sleep(time.Second)
				f.store.takeCopy()
				at := deliverAndWait(t, d.handle, command("c", "lost", emit(window("lost")))).At
				waitPosition(t, far, at)
				f.failOver(1)
				time.Sleep(late)
				f.links[0].cut.Store(false)
				time.Sleep(20 * time.Second)
				waitPosition(t, far, deliverBarrier(t, d.handle))
				for _, o := range payloads[wire.OwnerChanged](readLog(t, f.store)) {
					if o.Replica != "a" {
						t.Errorf("%s claimed the session, want its living owner a to keep it", o.Replica)
					}
				}
				if got := d.windows(firstMonitor); len(got) != 1 {
					t.Errorf("the windows are %v, want the one that the store lost", got)
				}
			})
		})
	}
}

// The log goes back twice, the second time before the follower has seen that the owner wrote again
// what the first failover lost: the follower waits again.
func TestFollowerLeavesASessionThatIsRewoundAgainToItsOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFailoverDeployment(t)
		a, b := startAgentHub(t, f.deployment, hubConfig{}), startAgentHub(t, f.deployment, hubConfig{replica: "b"})
		d := a.newDesktop(t, "ses-1")
		far := openHandle(t, b.Hub, "ses-1")
		deliverBarrier(t, d.handle)
		time.Sleep(time.Second)
		for i := range 2 {
			f.store.takeCopy()
			id := fmt.Sprint("lost-", i)
			waitPosition(t, far, deliverAndWait(t, d.handle, command("c", wire.MessageID(id), emit(window(wire.WindowID(id))))).At)
			f.failOver(1)
			time.Sleep(time.Second)
			f.links[0].cut.Store(false)
			waitPosition(t, far, deliverBarrier(t, d.handle))
			time.Sleep(time.Second)
		}
		for _, o := range payloads[wire.OwnerChanged](readLog(t, f.store)) {
			if o.Replica != "a" {
				t.Errorf("%s claimed the session, want its living owner a to keep it", o.Replica)
			}
		}
		if got := d.windows(firstMonitor); len(got) != 2 {
			t.Errorf("the windows are %v, want the two that the store lost", got)
		}
	})
}

// The owner of a session whose log went back is dead: a follower claims it after about one lease. It
// reports the loss, also if the answer to its first claim is lost.
func TestFollowerClaimsARewoundSessionOfADeadOwner(t *testing.T) {
	t.Parallel()
	for name, lostClaims := range map[string]int32{"at once": 0, "answer lost": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRewoundSessionOfADeadOwner(t, lostClaims)
		})
	}
}

func testRewoundSessionOfADeadOwner(t *testing.T, lostClaims int32) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFailoverDeployment(t)
		var logged bytes.Buffer // read while the hub is idle
		a := startAgentHub(t, f.deployment, hubConfig{})
		b := startAgentHub(t, f.deployment, hubConfig{replica: "b", logger: slog.New(slog.NewTextHandler(&logged, nil))})
		d := a.newDesktop(t, "ses-1")
		far := openHandle(t, b.Hub, "ses-1")
		deliverBarrier(t, d.handle)
		time.Sleep(time.Second)
		f.store.takeCopy()
		waitPosition(t, far, deliverAndWait(t, d.handle, command("c", "lost", emit(window("lost")))).At)
		f.links[1].loseClaims.Store(lostClaims)
		f.failOver(1)
		a.stop()
		began := time.Now()
		waitLogged(t, f.store, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		if took := time.Since(began); took < 5*time.Second || took > 8*time.Second {
			t.Errorf("the follower claimed after %v, want about a lease of 6s", took)
		}
		deliverBarrier(t, far)
		if got := f.links[1].loseClaims.Load(); got > 0 {
			t.Errorf("the answers to %d more claims could be lost, want none", got)
		}
		// The conversation reports the loss.
		state, err := far.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if !slices.ContainsFunc(state.RecentMessages, func(r wire.UIRow) bool { return r.Say == wire.SayError }) {
			t.Errorf("the rows are %+v, want an error that says what was lost", state.RecentMessages)
		}
		synctest.Wait()
		if !strings.Contains(logged.String(), "level=ERROR") {
			t.Errorf("the follower logged no error, want one:\n%s", logged.String())
		}
	})
}

// newFencedOwner returns a session whose owner a accepted something that the store lost, and was
// fenced by a replica that had never seen the session.
func newFencedOwner(t *testing.T, before, lost func(d *testDesktop)) (f *failoverDeployment, d *testDesktop, started *atomic.Int64) {
	t.Helper()
	return newFencedOwnerBefore(t, before, lost, nil)
}

// newFencedOwnerBefore is newFencedOwner, and calls first at the new owner before a hands over what
// the store lost.
func newFencedOwnerBefore(t *testing.T, before, lost, first func(d *testDesktop)) (f *failoverDeployment, d *testDesktop, started *atomic.Int64) {
	t.Helper()
	return newFencedOwnerOf(t, agentpool.Limits{}, before, lost, first)
}

// newFencedOwnerOf is newFencedOwnerBefore with limits of agents.
func newFencedOwnerOf(t *testing.T, limits agentpool.Limits, before, lost, first func(d *testDesktop)) (f *failoverDeployment, d *testDesktop, started *atomic.Int64) {
	t.Helper()
	f, started = newFailoverDeployment(t), &atomic.Int64{}
	log := slog.New(slog.NewTextHandler(&f.errorLog, &slog.HandlerOptions{Level: slog.LevelError}))
	a := startAgentHub(t, f.deployment, hubConfig{logger: log, limits: limits})
	c := startAgentHub(t, f.deployment, hubConfig{replica: "c", logger: log, limits: limits, wrapRunner: func(s contextpool.Runner) contextpool.Runner {
		return runCounter{s, started}
	}})
	d = a.newDesktop(t, "ses-1")
	if before != nil {
		before(d)
	}
	deliverBarrier(t, d.handle)
	time.Sleep(time.Second)
	f.store.takeCopy()
	lost(d)
	synctest.Wait()
	f.failOver(1)
	d = c.openDesktop(t, "ses-1")
	deliverBarrier(t, d.handle)
	if o := d.snapshot().Owner; o != "c" {
		t.Fatalf("%s owns the session, want c to be first", o)
	}
	if first != nil {
		first(d)
	}
	f.links[0].cut.Store(false)
	time.Sleep(10 * time.Second)
	deliverBarrier(t, d.handle)
	return f, d, started
}

// runCounter counts the runs that a session runner starts.
type runCounter struct {
	contextpool.Runner
	n *atomic.Int64
}

func (c runCounter) Start(r agentpool.Run) {
	c.n.Add(1)
	c.Runner.Start(r)
}

// A turn that ended is not run again by the replica that fenced its owner, and all its results are
// there.
func TestFencedOwnerHandsItsEndsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const call = `/call window:update {"windowId":"w","operation":"append","content":"ONCE"}`
		f, d, started := newFencedOwner(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m0", openWindowDirective("w"))
			d.waitTurnEnd("m0")
		}, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/say hello", call)
			d.waitTurnEnd("m1")
		})
		var ends []wire.AgentResponse
		for _, e := range payloads[wire.AgentResponse](readLog(t, f.store)) {
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
				t.Errorf("m1 has no row %q among %s, want one", say, joinTexts(state.RecentMessages))
			}
		}
		if got := d.conversation(f.deployment, "main-monitor-0"); !strings.Contains(got, "/say hello") {
			t.Errorf("the conversation is %s, want m1 in it", got)
		}
		again := d.sendAndWait("m1", wire.UserMessage{MonitorID: firstMonitor, Content: "/say hello\n" + call})
		if p, is := again.(wire.MessageAccepted); !is || !p.Duplicate {
			t.Errorf("m1 again is answered with %+v, want a duplicate acceptance", again)
		}
		d.sendText(firstMonitor, "m2", "/say more")
		d.waitTurnEnd("m2")
	})
}

// A message that joined a turn ends under its own id at the replica that fenced the owner of the
// turn.
func TestFencedOwnerHandsJoinedMessagesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, started := newFencedOwner(t, nil, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/say one", "/sleep 1s")
			d.waitTurnOutput("m1")
			d.sendText(firstMonitor, "m2", "/say two")
			d.waitTurnEnd("m2")
		})
		if n := started.Load(); n != 0 {
			t.Errorf("the new owner started %d runs, want none: the turn had ended", n)
		}
		ends := map[wire.MessageID][]wire.AgentResponse{}
		for _, e := range payloads[wire.AgentResponse](readLog(t, f.store)) {
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

// A message that is queued at the replica that fenced the owner, and that had joined a turn which
// has ended since, is not run a second time.
func TestFencedOwnerHandsOverWhatHadJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := newFencedOwner(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m0", openWindowDirective("w"))
			d.waitTurnEnd("m0")
			d.sendText(firstMonitor, "m1", "/say one", "/sleep 9s", "/say three")
			d.waitTurnOutput("m1")
			d.sendText(firstMonitor, "m2", `/call window:update {"windowId":"w","operation":"append","content":"ONCE"}`)
		}, func(d *testDesktop) { d.waitTurnEnd("m2") })
		time.Sleep(time.Minute)
		deliverBarrier(t, d.handle)
		if n := strings.Count(string(snapshotBytes(t, d.handle)), `helloONCE`); n != 1 {
			t.Errorf("the windows are %+v, want ONCE once", d.snapshot().Windows)
		}
		if strings.Contains(string(snapshotBytes(t, d.handle)), "ONCEONCE") {
			t.Errorf("the windows are %+v, want ONCE once", d.snapshot().Windows)
		}
		ends := map[wire.MessageID]int{}
		for _, e := range payloads[wire.AgentResponse](readLog(t, f.store)) {
			if e.IsComplete {
				ends[e.MessageID]++
			}
		}
		if ends["m1"] != 1 || ends["m2"] != 1 {
			t.Errorf("the log has %v ends, want one of m1 and one of m2", ends)
		}
	})
}

// A turn that was running at the time of the copy and ended after it ends the same way at the
// replica that fenced its owner and has started to run it again.
func TestFencedOwnerEndsATurnThatRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, started := newFencedOwner(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/say one", "/sleep 9s", "/say two")
			d.waitTurnOutput("m1")
		}, func(d *testDesktop) { d.waitTurnEnd("m1") })
		if n := started.Load(); n != 1 {
			t.Errorf("the new owner started %d runs, want 1: it finds the turn under way", n)
		}
		text, ends := "", 0
		for _, e := range payloads[wire.AgentResponse](readLog(t, f.store)) {
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
		if got := d.conversation(f.deployment, "main-monitor-0"); !strings.Contains(got, "two") {
			t.Errorf("the conversation is %s, want all that the turn said", got)
		}
		d.sendText(firstMonitor, "m2", "/say more")
		d.waitTurnEnd("m2")
	})
}

// A turn that had not started, or not ended, is run by the replica that fenced its owner.
func TestFencedOwnerHandsItsMessagesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, d, _ := newFencedOwner(t, nil, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/nosteer", "/sleep 20s", "/say one")
			d.waitTurnOutput("m1")
			d.sendText(firstMonitor, "m2", "/say two")
			deliverBarrier(d.t, d.handle)
		})
		d.waitTurnEnd("m1")
		d.waitTurnEnd("m2")
	})
}

// A question that was answered is not asked again.
func TestFencedOwnerHandsItsAnswersOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, d, _ := newFencedOwner(t, func(d *testDesktop) {
			d.sendText(firstMonitor, "m1", "/ask Which? | tea | coffee", "/sleep 10ms")
			d.waitPrompt("main-monitor-0-m1")
		}, func(d *testDesktop) {
			d.send("", wire.UserPromptResponse{PromptID: d.waitPrompt("main-monitor-0-m1").ID, SelectedValues: []string{"tea"}})
			deliverBarrier(d.t, d.handle)
		})
		d.waitTurnEnd("m1")
		closed := payloads[wire.PromptClosed](readLog(t, f.store))
		if len(closed) != 1 || closed[0].Reason != wire.ClosedAnswered {
			t.Errorf("the question was closed with %+v, want the answer", closed)
		}
	})
}
