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

const background = wire.MonitorID("monitor-1")

// spent is a desktop with a monitor in the background that has used up its budget
// for a minute.
func (o *office) spent(t *testing.T) *testDesktop {
	t.Helper()
	d := o.newDesktop(t, "ses-1")
	d.say(background, "spends", "/stream 100")
	d.ends("spends")
	return d
}

// Messages wait for the budget of a monitor, together more than a step may have.
func TestMuchThatWaitsBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inBubble(t)
		o := agentHub(t, s, hubConfig{
			limits: agentpool.Limits{Agents: 30}, session: session.Config{Budget: policies.BudgetLimits{OutputPerMin: 20}},
		})
		d := o.spent(t)
		const windows = 24
		for i := range windows {
			w := wire.WindowID(fmt.Sprintf("w%d", i))
			d.ask(wire.MessageID(fmt.Sprintf("e%d", i)), wire.Emit{MonitorID: background, Actions: []wire.Action{window(w)}})
			// The demo reads the first line and no further.
			m := wire.WindowMessage{MonitorID: background, WindowID: w, Content: "/say read\n" + strings.Repeat("x", 400_000)}
			if p, is := d.ask(wire.MessageID(fmt.Sprintf("x%d", i)), m).(wire.MessageQueued); !is {
				t.Fatalf("a message is answered with %+v", p)
			}
		}
		time.Sleep(5 * time.Minute)
		fates := fates(d.all())
		for i := range windows {
			if f := fates[wire.MessageID(fmt.Sprintf("x%d", i))]; f.accepted != 1 {
				t.Errorf("message %d: %+v", i, f)
			}
		}
		d.snapshot()
	})
}

// What can never begin is rejected, here and at the next owner. Nothing else
// suffers.
func TestTooLargeToBegin(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"here": false, "at the next owner": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				small, err := filestore.Open(t.TempDir(), filestore.Config{
					Sync: filestore.SyncOff, Limits: store.Limits{BatchBytes: 10_000},
				})
				ok(t, err)
				t.Cleanup(func() { ok(t, small.Close()) })
				s := newSite(t, func(*testing.T) engine { return small })
				s.patience = 24 * time.Hour
				cfg := hubConfig{session: session.Config{Budget: policies.BudgetLimits{OutputPerMin: 20}}, logger: silence()}
				o := agentHub(t, s, cfg)
				d := o.spent(t)
				d.ask("x", wire.UserMessage{MonitorID: background, Content: "/say all these windows"})
				for i := range 90 { // of which the agent is told
					w := wire.WindowID(fmt.Sprintf("%03d-%s", i, strings.Repeat("w", 56)))
					d.ask(wire.MessageID(fmt.Sprintf("e%d", i)), wire.Emit{MonitorID: background, Actions: []wire.Action{window(w)}})
				}
				if restart {
					o.stop()
					time.Sleep(2 * time.Minute)
					o = agentHub(t, s, cfg)
					d = o.enter(t, "ses-1")
				}
				r := when(t, d.diary, about[wire.MessageRejected]("x"))
				if r.Code != wire.CodeMessageTooLarge {
					t.Errorf("it is rejected with %+v", r)
				}
				d.say(first, "after", "/say all is well")
				d.ends("after")
				if got := d.said("after"); got != "all is well" {
					t.Errorf("the next turn said %q", got)
				}
			})
		})
	}
}

// forgetful is a store whose commits can be meddled with.
type forgetful struct {
	engine

	commit atomic.Pointer[func(b store.Batch, do commitFunc) (store.Receipt, error)]
}

func (f *forgetful) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	do := func() (store.Receipt, error) { return f.engine.Commit(ctx, l, b) }
	if meddle := f.commit.Load(); meddle != nil {
		return (*meddle)(b, do)
	}
	return do()
}

// forget acknowledges the next commit and keeps nothing of it.
func (f *forgetful) forget() {
	var once atomic.Bool
	f.commit.Store(new(func(b store.Batch, do commitFunc) (store.Receipt, error) {
		if !once.Swap(true) {
			return acknowledged(b), nil
		}
		return do()
	}))
}

// A session that was used for a while is written again: long conversations of many
// agents, and a long tape.
func TestRewriteOfALongLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inBubble(t)
		m := &forgetful{engine: s.engine}
		s.open = func(*testing.T) engine { return m }
		o := agentHub(t, s, hubConfig{logger: silence()})
		d := o.newDesktop(t, "ses-1")
		for k := range 8 {
			w := wire.WindowID(fmt.Sprintf("w%d", k))
			d.ask(wire.MessageID(fmt.Sprintf("e%d", k)), emit(window(w)))
			var last wire.MessageID
			for i := range 100 {
				last = wire.MessageID(fmt.Sprintf("m%d-%d", k, i))
				d.send(last, wire.WindowMessage{WindowID: w, Content: "/say hi"})
				if i%40 == 39 {
					d.ends(last)
				}
			}
			d.ends(last)
		}
		settled(t, d.handle)
		before, err := s.Load(t.Context(), "ses-1")
		ok(t, err)
		m.forget()
		d.ask("lost", emit(window("lost")))
		time.Sleep(time.Second)
		d.ask("after", emit(window("after")))
		settled(t, d.handle)
		if n := len(d.snapshot().Windows); n != 10 {
			t.Errorf("after the store forgot one there are %d windows", n)
		}
		after, err := s.Load(t.Context(), "ses-1")
		ok(t, err)
		for name, list := range before.Lists {
			if n := len(after.Lists[name]); n != len(list) {
				t.Errorf("list %s had %d items and has %d", name, len(list), n)
			}
		}
		d.say(first, "m", "/say all is well")
		d.ends("m")
	})
}

// What cannot be written again closes the session for a while and is not tried for
// ever.
func TestRewriteThatIsTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{Logger: silence()})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		large(t, r, 2, 100_000)
		var lost atomic.Bool
		var tries atomic.Int64
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			switch size := 0; {
			case !lost.Swap(true):
				return acknowledged(b), nil
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
		ask(t, r, says("c", "lost", emit(window("lost"))))
		deliver(t, r, says("c", "after", emit(window("after"))))
		time.Sleep(20 * time.Second)
		if n := tries.Load(); n != 3 {
			t.Errorf("it was tried %d times", n)
		}
		time.Sleep(time.Minute)
		state, err := enter(t, a, "ses-1").Snapshot(t.Context(), nil)
		ok(t, err)
		if len(state.Windows) < 2 {
			t.Errorf("%d windows are left", len(state.Windows))
		}
	})
}

// What agents of the owner before wanted to be done is not done after a rewrite:
// what the owner shows is what the log says.
func TestNothingOfTheOwnerBeforeIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inBubble(t)
		m := &forgetful{engine: s.engine}
		s.open = func(*testing.T) engine { return m }
		o := agentHub(t, s, hubConfig{logger: silence()})
		d := o.newDesktop(t, "ses-1")
		other, _ := startHub(t, s.engine, "b", session.Config{})
		follower := enter(t, other, "ses-1")
		d.say(first, "m", "/say I begin", "/sleep 1s", opening("of-agent"), "/hang")
		d.begins("m")
		settled(t, d.handle)
		var once atomic.Bool
		m.commit.Store(new(func(b store.Batch, do commitFunc) (store.Receipt, error) {
			if !once.Swap(true) {
				time.Sleep(3 * time.Second) // in which more comes
				return acknowledged(b), nil
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
		upTo(t, follower, settled(t, d.handle))
		if n := len(d.windows(first)); n != 22 {
			t.Errorf("there are %d windows", n)
		}
		if x, y := snapshotBytes(t, d.handle), snapshotBytes(t, follower); !bytes.Equal(x, y) {
			t.Errorf("the owner shows %.2000s\nand the follower %.2000s", x, y)
		}
	})
}

// However often a message is sent again while it waits, it is taken once.
func TestSentAgainVeryOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{})
		d := o.newDesktop(t, "ses-1")
		d.say(first, "m1", "/say a", "/ask Which? | a | b", "/say b")
		p := d.asked("main-monitor-0-m1")
		d.say(first, "m2", "/say steered")
		settled(t, d.handle)
		for i := range 5000 {
			from := wire.ConnectionID(fmt.Sprintf("c%d", i%40))
			deliver(t, d.handle, says(from, "m2", wire.UserMessage{MonitorID: first, Content: "/say steered"}))
		}
		settled(t, d.handle)
		d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}})
		d.rest()
		heard := map[wire.ConnectionID]int{}
		for _, p := range find[wire.MessageQueued](d.all()) {
			if p.Duplicate && p.MessageID == "m2" {
				heard[p.To]++
			}
		}
		if len(heard) != 40 {
			t.Errorf("%d senders heard of it", len(heard))
		}
		taken := find[wire.MessageAccepted](d.all())
		if last := taken[len(taken)-1]; len(taken) != 2 || last.MessageID != "m2" || last.How != wire.TakenSteered {
			t.Errorf("accepted was %+v", taken)
		}
	})
}

// A message without an id takes nobody's id.
func TestMessageWithoutAnID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{limits: agentpool.Limits{Agents: 1}})
		d := o.newDesktop(t, "ses-1")
		d.send("", wire.UserMessage{MonitorID: first, Content: "/nosteer\n/sleep 5s"})
		d.send("unnamed", wire.UserMessage{MonitorID: first, Content: "/say hi"})
		d.ends("unnamed")
		if got := d.said("unnamed"); got != "hi" {
			t.Errorf("it is answered with %q", got)
		}
	})
}

// noParts checks that nothing is left of what turns called and did.
func noParts(t *testing.T, kept store.State) {
	t.Helper()
	for name, table := range kept.Tables {
		if strings.HasPrefix(name, "turns.") && len(table) > 0 {
			t.Errorf("left is %s: %s", name, table)
		}
	}
}
