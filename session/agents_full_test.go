package session_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

const backgroundMonitor = wire.MonitorID("monitor-1")

// newOverBudgetDesktop is a desktop with a background monitor whose budget is exhausted for a
// minute.
func (o *agentHub) newOverBudgetDesktop(t *testing.T) *testDesktop {
	t.Helper()
	d := o.newDesktop(t, "ses-1")
	d.sendText(backgroundMonitor, "spends", "/stream 100")
	d.waitTurnEnd("spends")
	return d
}

// Messages wait for the budget of a monitor; together they are larger than a step may be.
func TestManyQueuedMessagesStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		o := startAgentHub(t, s, hubConfig{
			limits: agentpool.Limits{Agents: 30}, session: session.Config{Budget: policies.BudgetLimits{OutputPerMin: 20}},
		})
		d := o.newOverBudgetDesktop(t)
		const windows = 24
		for i := range windows {
			w := wire.WindowID(fmt.Sprintf("w%d", i))
			d.sendAndWait(wire.MessageID(fmt.Sprintf("e%d", i)), wire.Emit{MonitorID: backgroundMonitor, Actions: []wire.Action{window(w)}})
			// The demo provider reads the first line only.
			m := wire.WindowMessage{MonitorID: backgroundMonitor, WindowID: w, Content: "/say read\n" + strings.Repeat("x", 400_000)}
			if p, is := d.sendAndWait(wire.MessageID(fmt.Sprintf("x%d", i)), m).(wire.MessageQueued); !is {
				t.Fatalf("a message is not queued: got %+v, want a MessageQueued", p)
			}
		}
		time.Sleep(5 * time.Minute)
		fates := messageOutcomes(d.all())
		for i := range windows {
			if f := fates[wire.MessageID(fmt.Sprintf("x%d", i))]; f.accepted != 1 {
				t.Errorf("message %d has the outcome %+v, want it accepted once", i, f)
			}
		}
		d.snapshot()
	})
}

// A message that can never start is rejected, here and at the next owner. Other messages are not
// affected.
func TestMessageTooLargeToStartIsRejected(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"here": false, "at the next owner": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				small, err := filestore.Open(t.TempDir(), filestore.Config{
					Sync: filestore.SyncOff, Limits: store.Limits{BatchBytes: 10_000},
				})
				requireNoError(t, err)
				t.Cleanup(func() { requireNoError(t, small.Close()) })
				s := newDeployment(t, func(*testing.T) agentStore { return joinFile(small) })
				s.waitLimit = 24 * time.Hour
				cfg := hubConfig{session: session.Config{Budget: policies.BudgetLimits{OutputPerMin: 20}}, logger: discardLogger()}
				o := startAgentHub(t, s, cfg)
				d := o.newOverBudgetDesktop(t)
				d.sendAndWait("x", wire.UserMessage{MonitorID: backgroundMonitor, Content: "/say all these windows"})
				for i := range 90 { // the agent's next prompt lists them
					w := wire.WindowID(fmt.Sprintf("%03d-%s", i, strings.Repeat("w", 56)))
					d.sendAndWait(wire.MessageID(fmt.Sprintf("e%d", i)), wire.Emit{MonitorID: backgroundMonitor, Actions: []wire.Action{window(w)}})
				}
				if restart {
					o.stop()
					time.Sleep(2 * time.Minute)
					o = startAgentHub(t, s, cfg)
					d = o.openDesktop(t, "ses-1")
				}
				r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("x"))
				if r.Code != wire.CodeMessageTooLarge {
					t.Errorf("it is rejected with %+v, want code %s", r, wire.CodeMessageTooLarge)
				}
				d.sendText(firstMonitor, "after", "/say all is well")
				d.waitTurnEnd("after")
				if got := d.turnText("after"); got != "all is well" {
					t.Errorf(`the next turn said %q, want "all is well"`, got)
				}
			})
		})
	}
}

// lossyStore is a store whose commits can be replaced.
type lossyStore struct {
	agentStore

	commit atomic.Pointer[func(b store.Batch, do commitFunc) (store.Receipt, error)]
}

func (f *lossyStore) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	do := func() (store.Receipt, error) { return f.agentStore.Commit(ctx, l, b) }
	if meddle := f.commit.Load(); meddle != nil {
		return (*meddle)(b, do)
	}
	return do()
}

// loseNextCommit acknowledges the next commit and stores nothing of it.
func (f *lossyStore) loseNextCommit() {
	var once atomic.Bool
	f.commit.Store(new(func(b store.Batch, do commitFunc) (store.Receipt, error) {
		if !once.Swap(true) {
			return receiptFor(b), nil
		}
		return do()
	}))
}

// A session with long conversations of many agents and a long tape is rewritten.
func TestRewriteOfLongConversations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		m := &lossyStore{agentStore: s.agentStore}
		s.openStore = func(*testing.T) agentStore { return m }
		o := startAgentHub(t, s, hubConfig{logger: discardLogger()})
		d := o.newDesktop(t, "ses-1")
		for k := range 8 {
			w := wire.WindowID(fmt.Sprintf("w%d", k))
			d.sendAndWait(wire.MessageID(fmt.Sprintf("e%d", k)), emit(window(w)))
			var last wire.MessageID
			for i := range 100 {
				last = wire.MessageID(fmt.Sprintf("m%d-%d", k, i))
				d.send(last, wire.WindowMessage{WindowID: w, Content: "/say hi"})
				if i%40 == 39 {
					d.waitTurnEnd(last)
				}
			}
			d.waitTurnEnd(last)
		}
		deliverBarrier(t, d.handle)
		before, err := s.Load(t.Context(), "ses-1")
		requireNoError(t, err)
		m.loseNextCommit()
		d.sendAndWait("lost", emit(window("lost")))
		time.Sleep(time.Second)
		d.sendAndWait("after", emit(window("after")))
		deliverBarrier(t, d.handle)
		if n := len(d.snapshot().Windows); n != 10 {
			t.Errorf("after the store lost one there are %d windows, want 10", n)
		}
		after, err := s.Load(t.Context(), "ses-1")
		requireNoError(t, err)
		for name, list := range before.Lists {
			if n := len(after.Lists[name]); n != len(list) {
				t.Errorf("list %s has %d items, want the %d from before", name, n, len(list))
			}
		}
		d.sendText(firstMonitor, "m", "/say all is well")
		d.waitTurnEnd("m")
	})
}

// A rewrite that is too large suspends the session instead of being repeated forever.
func TestRewriteTooLargeSuspendsTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{Logger: discardLogger()})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		openLargeTexts(t, r, 2, 100_000)
		var lost atomic.Bool
		var tries atomic.Int64
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			switch size := 0; {
			case !lost.Swap(true):
				return receiptFor(b), nil
			default:
				for _, op := range b.Ops {
					for _, v := range op.Values {
						size += len(v)
					}
				}
				if size > 150_000 {
					tries.Add(1)
					return store.Receipt{}, store.ErrTooLarge
				}
				return do()
			}
		})
		deliverAndWait(t, r, command("c", "lost", emit(window("lost"))))
		deliver(t, r, command("c", "after", emit(window("after"))))
		time.Sleep(20 * time.Second)
		if n := tries.Load(); n != 3 {
			t.Errorf("the commit was tried %d times, want 3", n)
		}
		time.Sleep(time.Minute)
		state, err := openHandle(t, a, "ses-1").Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if len(state.Windows) < 2 {
			t.Errorf("%d windows are left, want at least 2", len(state.Windows))
		}
	})
}

// Pending work of the previous owner's agents is not executed after a rewrite: the owner's state is
// what the log says.
func TestWorkOfPreviousOwnerIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		m := &lossyStore{agentStore: s.agentStore}
		s.openStore = func(*testing.T) agentStore { return m }
		o := startAgentHub(t, s, hubConfig{logger: discardLogger()})
		d := o.newDesktop(t, "ses-1")
		other, _ := startHub(t, s.agentStore, "b", session.Config{})
		follower := openHandle(t, other, "ses-1")
		d.sendText(firstMonitor, "m", "/say I begin", "/sleep 1s", openWindowDirective("of-agent"), "/hang")
		d.waitTurnOutput("m")
		deliverBarrier(t, d.handle)
		var once atomic.Bool
		m.commit.Store(new(func(b store.Batch, do commitFunc) (store.Receipt, error) {
			if !once.Swap(true) {
				time.Sleep(3 * time.Second) // in which more comes
				return receiptFor(b), nil
			}
			return do()
		}))
		d.send("e", emit(window("lost")))
		time.Sleep(300 * time.Millisecond)
		for i := range 20 { // more than a step has; behind it is what the agent wants
			w := window(wire.WindowID(fmt.Sprintf("w%d", i)))
			w.Content = wire.TextContent{Data: strings.Repeat("x", 60_000)}
			d.send(wire.MessageID(fmt.Sprintf("e%d", i)), emit(w))
		}
		time.Sleep(20 * time.Second)
		waitPosition(t, follower, deliverBarrier(t, d.handle))
		if n := len(d.windows(firstMonitor)); n != 22 {
			t.Errorf("there are %d windows, want 22", n)
		}
		if x, y := snapshotBytes(t, d.handle), snapshotBytes(t, follower); !bytes.Equal(x, y) {
			t.Errorf("the owner shows %.2000s\nand the follower %.2000s, want the same", x, y)
		}
	})
}

// However often a queued message is repeated, it is accepted once.
func TestMessageRepeatedManyTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{})
		d := o.newDesktop(t, "ses-1")
		d.sendText(firstMonitor, "m1", "/say a", "/ask Which? | a | b", "/say b")
		p := d.waitPrompt("main-monitor-0-m1")
		d.sendText(firstMonitor, "m2", "/say steered")
		deliverBarrier(t, d.handle)
		for i := range 5000 {
			from := wire.ConnectionID(fmt.Sprintf("c%d", i%40))
			deliver(t, d.handle, command(from, "m2", wire.UserMessage{MonitorID: firstMonitor, Content: "/say steered"}))
		}
		deliverBarrier(t, d.handle)
		d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}})
		d.waitIdle()
		heard := map[wire.ConnectionID]int{}
		for _, p := range payloads[wire.MessageQueued](d.all()) {
			if p.Duplicate && p.MessageID == "m2" {
				heard[p.To]++
			}
		}
		if len(heard) != 40 {
			t.Errorf("%d senders got the answer, want 40", len(heard))
		}
		taken := payloads[wire.MessageAccepted](d.all())
		if last := taken[len(taken)-1]; len(taken) != 2 || last.MessageID != "m2" || last.How != wire.TakenSteered {
			t.Errorf("accepted was %+v, want two messages, the last one m2, steered", taken)
		}
	})
}

// A message without an id does not occupy the id of another.
func TestMessageWithoutAnID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{limits: agentpool.Limits{Agents: 1}})
		d := o.newDesktop(t, "ses-1")
		d.send("", wire.UserMessage{MonitorID: firstMonitor, Content: "/nosteer\n/sleep 5s"})
		d.send("unnamed", wire.UserMessage{MonitorID: firstMonitor, Content: "/say hi"})
		d.waitTurnEnd("unnamed")
		if got := d.turnText("unnamed"); got != "hi" {
			t.Errorf(`the message after one without an id is answered with %q, want "hi"`, got)
		}
	})
}

// checkNoTurnData checks that no data of ended turns is stored.
func checkNoTurnData(t *testing.T, kept store.State) {
	t.Helper()
	for name, table := range kept.Tables {
		if strings.HasPrefix(name, "turns.") && len(table) > 0 {
			t.Errorf("table %s holds %s at the end, want it empty", name, table)
		}
	}
}
