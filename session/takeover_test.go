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

// logOwners returns the owners in the log, in order.
func logOwners(t *testing.T, s testStore) []wire.ReplicaID {
	t.Helper()
	var all []wire.ReplicaID
	for _, o := range payloads[wire.OwnerChanged](readLog(t, s)) {
		all = append(all, o.Replica)
	}
	return all
}

// A session moves to the replica that wants it, and back, with all commands of the meantime and
// without another owner in between.
func TestTakeOwnership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		c, _ := startHub(t, s, "c", session.Config{})
		handles := []*session.Handle{openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1"), openHandle(t, c, "ses-1")}
		deliverBarrier(t, handles[0])
		var ids []wire.MessageID
		for round, h := range []*session.Hub{b, a, c, c} {
			var wg sync.WaitGroup
			for i, r := range handles {
				id := wire.MessageID(fmt.Sprintf("m-%d-%d", round, i))
				ids = append(ids, id)
				wg.Go(func() { deliverAndWait(t, r, command("conn", id, emit(window(wire.WindowID(id))))) })
			}
			got, err := h.TakeOwnership(t.Context(), "ses-1")
			requireNoError(t, err)
			if want := []wire.ReplicaID{"a", "b", "a", "c"}[round]; got.From != want || got.Epoch == 0 {
				t.Errorf("round %d: %+v, want from %s", round, got, want)
			}
			if !h.Owns("ses-1") {
				t.Errorf("round %d: the session is not owned here, want it owned", round)
			}
			wg.Wait()
		}
		for _, r := range handles {
			deliverBarrier(t, r)
		}
		if got := fmt.Sprint(logOwners(t, s)); got != "[a b a c]" {
			t.Errorf("the owners in the log are %s, want [a b a c]", got)
		}
		count := map[wire.MessageID]int{}
		for _, p := range payloads[wire.Actions](readLog(t, s)) {
			count[p.MessageID]++
		}
		for _, id := range ids {
			if count[id] != 1 {
				t.Errorf("%s was done %d times, want once", id, count[id])
			}
		}
	})
}

// Two replicas want a session at the same time: both get it, one after the other.
func TestTakeOwnershipByTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		c, _ := startHub(t, s, "c", session.Config{})
		deliverBarrier(t, openHandle(t, a, "ses-1"))
		var wg sync.WaitGroup
		for _, h := range []*session.Hub{b, c} {
			wg.Go(func() {
				_, err := h.TakeOwnership(t.Context(), "ses-1")
				requireNoError(t, err)
			})
		}
		wg.Wait()
		if got := fmt.Sprint(logOwners(t, s)); got != "[a b c]" && got != "[a c b]" {
			t.Errorf("the owners in the log are %s, want [a b c] or [a c b]", got)
		}
		if b.Owns("ses-1") == c.Owns("ses-1") {
			t.Errorf("got ownership %t at b and %t at c, want exactly one", b.Owns("ses-1"), c.Owns("ses-1"))
		}
	})
}

// The owner dies before it gets the order, or while it executes it.
func TestTakeOwnershipFromADeadOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, stop := startPair(t, m)
		deliverBarrier(t, openHandle(t, a, "ses-1"))
		m.setHooks(hooks{send: func(c store.Command, do func() (bool, error)) (bool, error) {
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
			t.Error("got another owner than b, want b")
		}
	})
}

// The replica that wants a session dies before it claims it: another one gets it when the
// reservation has expired.
func TestTakeOwnershipByAReplicaThatDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _, _ := startPair(t, m)
		c, stop := startHub(t, m, "c", session.Config{})
		r := openHandle(t, a, "ses-1")
		deliverBarrier(t, r)
		m.onClaim(func(r wire.ReplicaID) error {
			if r == "c" {
				return store.ErrUnavailable
			}
			return nil
		})
		// It follows the session already, and then cannot claim any more.
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := c.TakeOwnership(ctx, "ses-1"); err == nil {
			t.Error("got no error from a replica that cannot claim, want one")
		}
		stop()
		deliver(t, r, command("conn", "later", emit(window("w"))))
		time.Sleep(10 * time.Second)
		if !a.Owns("ses-1") {
			t.Error("got no owner at a, want a to claim the session again")
		}
		if got := len(payloads[wire.Actions](readLog(t, m))); got != 2 { // one is that of settled
			t.Errorf("%d actions, want two", got)
		}
	})
}

// An order for an earlier owner does not move a session.
func TestYieldIsForOneOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, _ := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		deliverBarrier(t, r)
		lease := payloads[wire.OwnerChanged](readLog(t, m))[0]
		later := time.Now().Add(time.Hour).UnixMilli()
		for i, data := range []string{
			fmt.Sprintf(`{"order":{"kind":"yield","replica":"b","epoch":%d,"until":%d}}`, lease.Epoch-1, later),
			fmt.Sprintf(`{"order":{"kind":"yield","replica":"a","epoch":%d,"until":%d}}`, lease.Epoch, later),
			fmt.Sprintf(`{"order":{"kind":"yield","replica":"no name","epoch":%d,"until":%d}}`, lease.Epoch, later),
			`{"order":{"kind":"yield"}}`,
		} {
			_, err := m.Send(t.Context(), "ses-1", store.Command{ID: fmt.Sprint("x-", i), Data: []byte(data)})
			requireNoError(t, err)
		}
		time.Sleep(time.Minute)
		deliverBarrier(t, r)
		if got := fmt.Sprint(logOwners(t, m)); got != "[a]" || b.Owns("ses-1") {
			t.Errorf("the owners in the log are %s and b owns it: %v, want [a] and false", got, b.Owns("ses-1"))
		}
		if _, err := b.TakeOwnership(t.Context(), "unknown"); errorCode(err) != wire.CodeSessionNotFound {
			t.Errorf("taking a session that does not exist gives %v, want code %s", err, wire.CodeSessionNotFound)
		}
		b.Drain(t.Context())
		if _, err := b.TakeOwnership(t.Context(), "ses-1"); errorCode(err) != wire.CodeStoreUnavailable {
			t.Errorf("taking a session on a draining hub gives %v, want code %s", err, wire.CodeStoreUnavailable)
		}
	})
}

// A session moves to another replica during a stream, with an open question and queued messages:
// nothing is lost and nothing happens twice.
func TestTakeOwnershipWhileAgentsRun(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			a := startAgentHub(t, s, hubConfig{})
			b := startAgentHub(t, s, hubConfig{replica: "b"})
			d := a.newDesktop(t, "ses-1")
			d.sendText("monitor-1", "q", "/nosteer", "/ask Which? | a | b", "/say asked")
			asked := d.waitPrompt("main-monitor-1-q")
			d.sendText(firstMonitor, "m1", "/nosteer", "/say one", openWindowDirective("w1"), "/stream 60 100", openWindowDirective("w2"), "/say two")
			waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.MessageID == "m1" && strings.Contains(r.Delta, "w10") })
			for i := range 3 {
				d.sendText(firstMonitor, wire.MessageID(fmt.Sprint("w-", i)), fmt.Sprintf("/say queued %d", i))
			}
			for _, o := range []*agentHub{b, a, b} {
				if _, err := o.TakeOwnership(t.Context(), "ses-1"); err != nil {
					t.Fatal(err)
				}
			}
			d.send("", wire.UserPromptResponse{PromptID: asked.ID, SelectedValues: []string{"b"}})
			d.waitIdle() // also checks the outcomes
			if got := fmt.Sprint(logOwners(t, s)); got != "[a b a b]" {
				t.Errorf("the owners in the log are %s, want [a b a b]", got)
			}
			words := make([]string, 60)
			for i := range words {
				words[i] = fmt.Sprint("w", i+1)
			}
			if said := d.turnText("m1"); said != "one\n"+strings.Join(words, " ")+"\ntwo" {
				t.Errorf("the turn said %q, want one, the words w1 to w%d in order, and two", said, len(words))
			}
			if got := d.windows(firstMonitor); fmt.Sprint(got) != "[w1 w2]" {
				t.Errorf("the windows are %v, want [w1 w2]", got)
			}
			if got := d.turnText("q"); !strings.HasSuffix(got, "asked") || strings.Count(got, `"b"`) != 1 {
				t.Errorf("the turn with the question said %q, want the answer b once and then asked", got)
			}
		})
	}
}

func TestCloseTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := startHub(t, openStore(t), "a", session.Config{})
		createSession(t, h, "ses-1")
		if h.CloseTab("ses-1", "conn-a") {
			t.Error("got true for a tab that does not exist, want false")
		}
		r := openHandle(t, h, "ses-1")
		attachTab(t, r, "conn-a")
		attachTab(t, r, "conn-b")
		if h.CloseTab("ses-1", "conn-c") || !h.CloseTab("ses-1", "conn-a") {
			t.Error("got true for conn-c or false for conn-a, want false and true")
		}
	})
}

// The order expires before the owner gets to it: the session stays where it is.
func TestYieldExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, _ := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		deliverBarrier(t, r)
		gate := make(chan struct{})
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do func() (store.Receipt, error)) (store.Receipt, error) {
			<-gate
			return do()
		})
		deliver(t, r, command("conn", "m1", emit(window("w"))))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := b.TakeOwnership(ctx, "ses-1"); err == nil {
			t.Fatal("got ownership from an owner that does not answer, want an error")
		}
		time.Sleep(5 * time.Minute)
		m.onCommit(nil)
		close(gate)
		time.Sleep(time.Second)
		began := time.Now()
		deliverAndWait(t, r, command("conn", "m2", emit(window("w2"))))
		if took := time.Since(began); took > 100*time.Millisecond || !a.Owns("ses-1") {
			t.Errorf("the next message took %v; owners %v, want at most 100ms with the owner a", took, logOwners(t, m))
		}
		if got := fmt.Sprint(logOwners(t, m)); got != "[a]" {
			t.Errorf("the owners in the log are %s, want [a]", got)
		}
		if _, err := b.TakeOwnership(t.Context(), "ses-1"); err != nil || !b.Owns("ses-1") {
			t.Errorf("taking the session gives %v and b owns it: %v, want no error and true", err, b.Owns("ses-1"))
		}
	})
}

// The owner has accepted the order, but its next commit takes so long that the order expires meanwhile:
// the session stays where it is.
func TestAcceptedYieldExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, _ := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		deliverBarrier(t, r)
		gates := make(chan struct{})
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do func() (store.Receipt, error)) (store.Receipt, error) {
			<-gates
			return do()
		})
		deliver(t, r, command("conn", "m1", emit(window("w1"))))
		synctest.Wait() // until the owner commits
		deliver(t, r, command("conn", "m2", emit(window("w2"))))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := b.TakeOwnership(ctx, "ses-1")
			done <- err
		}()
		time.Sleep(time.Second)
		gates <- struct{}{} // the owner processes the message and the order in one step, and commits
		if err := <-done; err == nil {
			t.Fatal("got ownership from an owner that does not answer, want an error")
		}
		time.Sleep(5 * time.Minute)
		m.onCommit(nil)
		close(gates)
		time.Sleep(time.Second)
		deliverAndWait(t, r, command("conn", "m3", emit(window("w3"))))
		if got := fmt.Sprint(logOwners(t, m)); got != "[a]" || !a.Owns("ses-1") {
			t.Errorf("the owners in the log are %s, want [a]", got)
		}
	})
}

// fenceCounter counts lost leases.
type fenceCounter struct {
	countingObserver
	lost atomic.Int64
}

func (f *fenceCounter) Fenced() { f.lost.Add(1) }

// A session that is handed over is not counted as fenced.
func TestTakeOwnershipIsNotFencing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		f := &fenceCounter{}
		a, _ := startHub(t, s, "a", session.Config{Observer: f})
		b, _ := startHub(t, s, "b", session.Config{})
		createSession(t, a, "ses-1")
		deliverBarrier(t, openHandle(t, a, "ses-1"))
		_, err := b.TakeOwnership(t.Context(), "ses-1")
		requireNoError(t, err)
		time.Sleep(5 * time.Second)
		if n := f.lost.Load(); n != 0 {
			t.Errorf("an orderly hand-over counts as %d lost leases, want 0", n)
		}
	})
}
