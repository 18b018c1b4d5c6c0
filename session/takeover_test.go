package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// owners are those of the log, in their order.
func owners(t *testing.T, s session.Store) []wire.ReplicaID {
	t.Helper()
	var all []wire.ReplicaID
	for _, o := range find[wire.OwnerChanged](history(t, s)) {
		all = append(all, o.Replica)
	}
	return all
}

// A session goes to the replica that wants it, and back, with everything that was said
// meanwhile and without anybody in between.
func TestFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := pair(t, s)
		c, _ := startHub(t, s, "c", session.Config{})
		handles := []*session.Handle{enter(t, a, "ses-1"), enter(t, b, "ses-1"), enter(t, c, "ses-1")}
		settled(t, handles[0])
		var ids []wire.MessageID
		for round, h := range []*session.Hub{b, a, c, c} {
			var wg sync.WaitGroup
			for i, r := range handles {
				id := wire.MessageID(fmt.Sprintf("m-%d-%d", round, i))
				ids = append(ids, id)
				wg.Go(func() { ask(t, r, says("conn", id, emit(window(wire.WindowID(id))))) })
			}
			got, err := h.TakeOwnership(t.Context(), "ses-1")
			ok(t, err)
			if want := []wire.ReplicaID{"a", "b", "a", "c"}[round]; got.From != want || got.Epoch == 0 {
				t.Errorf("round %d: %+v, want from %s", round, got, want)
			}
			if !h.Owns("ses-1") {
				t.Errorf("round %d: it is not owned here", round)
			}
			wg.Wait()
		}
		for _, r := range handles {
			settled(t, r)
		}
		if got := fmt.Sprint(owners(t, s)); got != "[a b a c]" {
			t.Errorf("owners %s", got)
		}
		count := map[wire.MessageID]int{}
		for _, p := range find[wire.Actions](history(t, s)) {
			count[p.MessageID]++
		}
		for _, id := range ids {
			if count[id] != 1 {
				t.Errorf("%s was done %d times", id, count[id])
			}
		}
	})
}

// Of two who want a session at once both get it, one after the other.
func TestFetchByTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := pair(t, s)
		c, _ := startHub(t, s, "c", session.Config{})
		settled(t, enter(t, a, "ses-1"))
		var wg sync.WaitGroup
		for _, h := range []*session.Hub{b, c} {
			wg.Go(func() {
				_, err := h.TakeOwnership(t.Context(), "ses-1")
				ok(t, err)
			})
		}
		wg.Wait()
		if got := fmt.Sprint(owners(t, s)); got != "[a b c]" && got != "[a c b]" {
			t.Errorf("owners %s", got)
		}
		if b.Owns("ses-1") == c.Owns("ses-1") {
			t.Error("it is owned by both or none")
		}
	})
}

// The owner dies before it hears that the session is wanted, or with it.
func TestFetchFromTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, stop := pair(t, m)
		settled(t, enter(t, a, "ses-1"))
		m.hook(hooks{send: func(c store.Command, do func() (bool, error)) (bool, error) {
			if strings.Contains(string(c.Data), "yield") {
				go stop()
			}
			return do()
		}})
		if _, err := b.TakeOwnership(t.Context(), "ses-1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if !b.Owns("ses-1") {
			t.Error("it is not owned by who wanted it")
		}
	})
}

// Who wanted a session dies before it takes it: it goes to somebody else when the time
// is over that it was kept.
func TestFetchByTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _, _ := pair(t, m)
		c, stop := startHub(t, m, "c", session.Config{})
		r := enter(t, a, "ses-1")
		settled(t, r)
		m.onClaim(func(r wire.ReplicaID) error {
			if r == "c" {
				return store.ErrUnavailable
			}
			return nil
		})
		// It follows already, and then can claim nothing any more.
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := c.TakeOwnership(ctx, "ses-1"); err == nil {
			t.Error("who cannot claim has it")
		}
		stop()
		deliver(t, r, says("conn", "later", emit(window("w"))))
		time.Sleep(10 * time.Second)
		if !a.Owns("ses-1") {
			t.Error("nobody has taken it back")
		}
		if got := len(find[wire.Actions](history(t, m))); got != 2 { // one is that of settled
			t.Errorf("%d actions, want two", got)
		}
	})
}

// An order that was meant for an owner before does not move a session.
func TestFetchIsForOneOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, _ := pair(t, m)
		r := enter(t, a, "ses-1")
		settled(t, r)
		lease := find[wire.OwnerChanged](history(t, m))[0]
		later := time.Now().Add(time.Hour).UnixMilli()
		for i, data := range []string{
			fmt.Sprintf(`{"order":{"kind":"yield","replica":"b","epoch":%d,"until":%d}}`, lease.Epoch-1, later),
			fmt.Sprintf(`{"order":{"kind":"yield","replica":"a","epoch":%d,"until":%d}}`, lease.Epoch, later),
			fmt.Sprintf(`{"order":{"kind":"yield","replica":"no name","epoch":%d,"until":%d}}`, lease.Epoch, later),
			`{"order":{"kind":"yield"}}`,
		} {
			_, err := m.Send(t.Context(), "ses-1", store.Command{ID: fmt.Sprint("x-", i), Data: []byte(data)})
			ok(t, err)
		}
		time.Sleep(time.Minute)
		settled(t, r)
		if got := fmt.Sprint(owners(t, m)); got != "[a]" || b.Owns("ses-1") {
			t.Errorf("owners %s", got)
		}
		if _, err := b.TakeOwnership(t.Context(), "nobody"); code(err) != wire.CodeSessionNotFound {
			t.Errorf("fetched what is not there: %v", err)
		}
		b.Drain(t.Context())
		if _, err := b.TakeOwnership(t.Context(), "ses-1"); code(err) != wire.CodeStoreUnavailable {
			t.Errorf("a draining hub takes a session: %v", err)
		}
	})
}

// In the middle of a stream, with a question open and messages waiting, a session goes
// to another replica: nothing is lost and nothing is done twice.
func TestFetchWhileAgentsRun(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			a := agentHub(t, s, hubConfig{})
			b := agentHub(t, s, hubConfig{replica: "b"})
			d := a.newDesktop(t, "ses-1")
			d.say("monitor-1", "q", "/nosteer", "/ask Which? | a | b", "/say asked")
			asked := d.asked("main-monitor-1-q")
			d.say(first, "m1", "/nosteer", "/say one", opening("w1"), "/stream 60 100", opening("w2"), "/say two")
			when(t, d.diary, func(r wire.AgentResponse) bool { return r.MessageID == "m1" && strings.Contains(r.Delta, "w10") })
			for i := range 3 {
				d.say(first, wire.MessageID(fmt.Sprint("w-", i)), fmt.Sprintf("/say queued %d", i))
			}
			for _, o := range []*office{b, a, b} {
				if _, err := o.TakeOwnership(t.Context(), "ses-1"); err != nil {
					t.Fatal(err)
				}
			}
			d.send("", wire.UserPromptResponse{PromptID: asked.ID, SelectedValues: []string{"b"}})
			d.rest() // which is also lawful
			if got := fmt.Sprint(owners(t, s)); got != "[a b a b]" {
				t.Errorf("owners %s", got)
			}
			words := make([]string, 60)
			for i := range words {
				words[i] = fmt.Sprint("w", i+1)
			}
			if said := d.said("m1"); said != "one\n"+strings.Join(words, " ")+"\ntwo" {
				t.Errorf("the turn said %q", said)
			}
			if got := d.windows(first); fmt.Sprint(got) != "[w1 w2]" {
				t.Errorf("the windows are %v", got)
			}
			if got := d.said("q"); !strings.HasSuffix(got, "asked") || strings.Count(got, `"b"`) != 1 {
				t.Errorf("the question ended with %q", got)
			}
		})
	}
}

func TestCloseTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := startHub(t, openStore(t), "a", session.Config{})
		create(t, h, "ses-1")
		if h.CloseTab("ses-1", "conn-a") {
			t.Error("closed what is not there")
		}
		r := enter(t, h, "ses-1")
		watch(t, r, "conn-a")
		watch(t, r, "conn-b")
		if h.CloseTab("ses-1", "conn-c") || !h.CloseTab("ses-1", "conn-a") {
			t.Error("closed another than the one that was named")
		}
	})
}

// Who wanted a session has given up long ago when its owner gets to the order: the
// session stays where it is.
func TestAnOrderToYieldHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, _ := pair(t, m)
		r := enter(t, a, "ses-1")
		settled(t, r)
		gate := make(chan struct{})
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do func() (store.Receipt, error)) (store.Receipt, error) {
			<-gate
			return do()
		})
		deliver(t, r, says("conn", "m1", emit(window("w"))))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := b.TakeOwnership(ctx, "ses-1"); err == nil {
			t.Fatal("it was fetched from an owner that does not answer")
		}
		time.Sleep(5 * time.Minute)
		m.onCommit(nil)
		close(gate)
		time.Sleep(time.Second)
		began := time.Now()
		ask(t, r, says("conn", "m2", emit(window("w2"))))
		if took := time.Since(began); took > 100*time.Millisecond || !a.Owns("ses-1") {
			t.Errorf("the next message took %v; owners %v", took, owners(t, m))
		}
		if got := fmt.Sprint(owners(t, m)); got != "[a]" {
			t.Errorf("owners %s", got)
		}
		if _, err := b.TakeOwnership(t.Context(), "ses-1"); err != nil || !b.Owns("ses-1") {
			t.Errorf("now it could not be fetched: %v", err)
		}
	})
}

// fences counts the leases that were lost.
type fences struct {
	counting
	lost atomic.Int64
}

func (f *fences) Fenced() { f.lost.Add(1) }

// A session that is handed over is no lease that was lost.
func TestAFetchedSessionIsNotFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		f := &fences{}
		a, _ := startHub(t, s, "a", session.Config{Observer: f})
		b, _ := startHub(t, s, "b", session.Config{})
		create(t, a, "ses-1")
		settled(t, enter(t, a, "ses-1"))
		_, err := b.TakeOwnership(t.Context(), "ses-1")
		ok(t, err)
		time.Sleep(5 * time.Second)
		if n := f.lost.Load(); n != 0 {
			t.Errorf("an orderly hand-over counts as %d lost leases", n)
		}
	})
}
