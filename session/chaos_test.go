package session_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// faultyStore makes the store fail for one replica for a while.
type faultyStore struct {
	mu    sync.Mutex // guards the following
	who   wire.ReplicaID
	how   int
	until time.Time
}

func (d *faultyStore) begin(who wire.ReplicaID, how int, lasts time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.who, d.how, d.until = who, how, time.Now().Add(lasts)
}

// faultOf returns the present fault for a replica; 0 means none.
func (d *faultyStore) faultOf(who wire.ReplicaID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if who != d.who || !time.Now().Before(d.until) {
		return 0
	}
	return d.how
}

func (d *faultyStore) unavailableErr(who wire.ReplicaID) error {
	if d.faultOf(who) != 0 {
		return store.ErrUnavailable
	}
	return nil
}

func (d *faultyStore) commit(ctx context.Context, l store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
	switch d.faultOf(l.Replica) {
	case 0:
		return do()
	case 1: // the answer is lost
		_, _ = do()
		return store.Receipt{}, store.ErrUnavailable
	case 2:
		return store.Receipt{}, store.ErrUnavailable
	case 3: // it hangs
		<-ctx.Done()
		return store.Receipt{}, ctx.Err()
	}
	_, _ = do()
	d.begin("", 0, 0)
	panic("after the commit")
}

// Whatever fails, every command is executed once, and all tabs see all events in the same order.
func TestChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runChaos(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func runChaos(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	m := openFaultStore(t)
	a, _ := startHub(t, m, "a", session.Config{})
	b, _ := startHub(t, m, "b", session.Config{})
	createSession(t, a, "ses-1")
	handles := []*session.Handle{openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")}
	tabs := []*tab{attachTab(t, handles[0], "conn-a"), attachTab(t, handles[1], "conn-b")}
	var now faultyStore
	m.onCommit(now.commit)
	m.onRenew(now.unavailableErr)
	m.onClaim(now.unavailableErr)
	n := 0
	for i := range 25 {
		how := 1 + rnd.IntN(3)
		if i%3 == 0 { // more would suspend the session
			how = 4
		}
		now.begin([]wire.ReplicaID{"a", "b"}[rnd.IntN(2)], how, time.Duration(rnd.IntN(12_000))*time.Millisecond)
		for range 20 {
			n++
			badge := emit(wire.AppBadge{AppID: "x", Count: uint64(n)})
			deliver(t, handles[rnd.IntN(2)], command("c", wire.MessageID(fmt.Sprintf("m%d", n)), badge))
			time.Sleep(time.Duration(rnd.IntN(500)) * time.Millisecond)
		}
		time.Sleep(25 * time.Second)
	}
	waitPosition(t, handles[1], deliverBarrier(t, handles[0]))
	time.Sleep(time.Second)
	synctest.Wait()
	done := map[wire.MessageID]int{}
	var log []wire.Position
	for _, e := range readLog(t, m) {
		switch p := e.Data.(type) {
		case wire.Actions:
			if len(p.Actions) > 0 {
				done[p.MessageID]++
			}
		case wire.MessageRejected:
			t.Errorf("%s was refused: %s, want no refusals", p.MessageID, p.Reason)
		}
		if wire.AddresseeOf(e.Data) == "" {
			log = append(log, e.At)
		}
	}
	for i := 1; i <= n; i++ {
		if c := done[wire.MessageID(fmt.Sprintf("m%d", i))]; c != 1 {
			t.Errorf("m%d was done %d times, want once", i, c)
		}
	}
	for i, w := range tabs {
		checkSeen(t, fmt.Sprintf("tab %d", i), w, log)
	}
	if x, y := snapshotBytes(t, handles[0]), snapshotBytes(t, handles[1]); !bytes.Equal(x, y) {
		t.Errorf("snapshots differ, want the same:\n%s\n%s", x, y)
	}
}

// checkSeen checks that a tab has seen the log from each snapshot on without a gap, up to its end.
func checkSeen(t *testing.T, name string, w *tab, log []wire.Position) {
	t.Helper()
	at := map[wire.Position]int{}
	for i, p := range log {
		at[p] = i
	}
	last := -1
	for len(w.events) > 0 {
		e := <-w.events
		if s, is := e.Data.(wire.SessionState); is {
			if i, known := at[s.LastMessageID]; known {
				last = i
			}
			continue
		}
		if e.At.IsZero() {
			continue
		}
		last++
		if last >= len(log) || log[last] != e.At {
			t.Fatalf("%s was shown %v, want %v", name, e.At, log[min(last, len(log)-1)])
		}
	}
	if last != len(log)-1 {
		t.Errorf("%s was shown %d of %d events, want all", name, last+1, len(log))
	}
}
