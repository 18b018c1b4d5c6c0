package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	w := redistest.Sentinel(t)
	w.DownAfter(t, time.Minute) // until it is time
	s := open(t, deploy(t, w.URL()).client, config("failover"))
	a := newAuthor(t, s, "s")
	a.mustWrite(t, 20)
	const events = 40
	var seen []string
	tail := follow(t, s, "s", func(e store.Event) bool {
		if e.At.Seq > 0 {
			seen = append(seen, string(e.Frame))
		}
		return len(seen) < events
	})
	replicated(t, a)
	w.Master.Kill(t)
	w.DownAfter(t, time.Second)
	a.mustWrite(t, events-20)
	if a.claims != 1 {
		t.Errorf("session was claimed %d times, want once: a replicated claim or batch was lost", a.claims)
	}
	a.verify(t)
	if err := <-tail; err != nil {
		t.Fatal(err)
	}
	same(t, "tail", seen, a.acked)
}

// TestSentinelSwitch has the two change places, so that the old master answers,
// as a replica.
func TestSentinelSwitch(t *testing.T) {
	t.Parallel()
	w := redistest.Sentinel(t)
	w.DownAfter(t, time.Minute)
	s := open(t, deploy(t, w.URL()).client, config("switch"))
	a := newAuthor(t, s, "s")
	a.mustWrite(t, 10)
	var seen []string
	tail := follow(t, s, "s", func(e store.Event) bool {
		if e.At.Seq > 0 {
			seen = append(seen, string(e.Frame))
		}
		return len(seen) < 30
	})
	replicated(t, a)
	if err := w.Sentinels[0].Client(t).Do(t.Context(), "sentinel", "failover", redistest.MasterName).Err(); err != nil {
		t.Fatal(err)
	}
	a.mustWrite(t, 10)
	w.AwaitMaster(t, w.Replica)
	a.mustWrite(t, 10)
	if a.claims == 1 { // or the last writes before the switch were lost, and it was noticed
		a.verify(t)
		if err := <-tail; err != nil {
			t.Fatal(err)
		}
		same(t, "tail", seen, a.acked)
	}
}

// replicated commits until a second node has everything.
func replicated(t *testing.T, a *author) {
	t.Helper()
	for {
		r, err := a.try(t.Context(), store.Batch{Durable: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Durable {
			return
		}
	}
}

// TestFailoverThatForgets makes the replica fall behind by more than what the
// kernel holds between the two, and then kills the master.
func TestFailoverThatForgets(t *testing.T) {
	t.Parallel()
	w := redistest.Sentinel(t)
	w.DownAfter(t, time.Minute) // until it is time
	cfg := config("forgetful")
	cfg.Limits = store.Limits{LogBytes: 1 << 30}
	s := open(t, deploy(t, w.URL()).client, cfg)
	a := newAuthor(t, s, "s")
	a.mustWrite(t, 5)
	replicated(t, a)
	kept := a.top
	w.Replica.Stop(t)
	frame := bytes.Repeat([]byte("x"), 1<<20)
	for range 32 {
		if _, err := a.try(t.Context(), store.Batch{Events: [][]byte{frame}}); err != nil {
			t.Fatal(err)
		}
	}
	lost := a.top
	w.Master.Kill(t)
	w.Replica.Continue(t)
	w.DownAfter(t, time.Second)
	w.AwaitMaster(t, w.Replica)

	_, err := a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("more")}})
	for errors.Is(err, store.ErrUnavailable) {
		_, err = a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("more")}})
	}
	gap, ok := errors.AsType[*store.GapError](err)
	if !ok || gap.Top.Compare(kept) < 0 || gap.Top.Compare(lost) >= 0 {
		t.Fatalf("commit after the loss is %v, want a *GapError from %v to before %v", err, kept, lost)
	}
	for _, err := range s.Sessions.Tail(t.Context(), "s", lost) {
		if !errors.Is(err, store.ErrAhead) {
			t.Errorf("tail from a lost position is %v, want ErrAhead", err)
		}
		break
	}
	if err := a.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.lease.Epoch <= lost.Epoch || a.lease.Prev != gap.Top {
		t.Errorf("lease is %+v, want one after epoch %d that follows %v", a.lease, lost.Epoch, gap.Top)
	}
	if _, err := s.Sessions.Read(t.Context(), "s", lost, 1); !errors.Is(err, store.ErrUnknownPosition) {
		t.Errorf("reading after a lost position is %v, want ErrUnknownPosition", err)
	}
	a.mustWrite(t, 1)
}

func TestDurableCommits(t *testing.T) {
	t.Parallel()
	w := redistest.Sentinel(t)
	w.DownAfter(t, time.Minute) // until it is time
	cfg := config("durable")
	cfg.ReplicaWait = 2 * time.Second
	s := open(t, deploy(t, w.URL()).client, cfg)
	a, other := newAuthor(t, s, "s"), newAuthor(t, s, "other")
	b := a.batch(store.Batch{Events: [][]byte{[]byte("x")}, Durable: true})
	r, err := a.try(t.Context(), b)
	if err != nil || !r.Durable {
		t.Fatalf("receipt is %+v, error %v, want durable", r, err)
	}
	if again, err := s.Sessions.Commit(t.Context(), a.lease, b); err != nil || again != r {
		t.Errorf("receipt of a retry is %+v, error %v, want %+v", again, err, r)
	}
	w.Replica.Stop(t)
	type result struct {
		store.Receipt
		error
	}
	waiting := make(chan result, 1)
	go func() {
		r, err := a.try(context.WithoutCancel(t.Context()), store.Batch{Events: [][]byte{[]byte("y")}, Durable: true})
		waiting <- result{r, err}
	}()
	other.mustWrite(t, 20)
	select {
	case r := <-waiting:
		t.Errorf("durable commit ended with %+v, want it to wait", r)
	default: // and the others have not waited for it
	}
	if r := <-waiting; r.error != nil || r.Durable {
		t.Errorf("receipt without a second node is %+v, want committed and not durable", r)
	}
	w.Replica.Continue(t)
	replicated(t, a)
}

func TestNoReplicaIsNoDurability(t *testing.T) {
	t.Parallel()
	s := open(t, deploy(t, redistest.Standalone(t).URL()).client, config("alone"))
	a := newAuthor(t, s, "s")
	r, err := a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("x")}, Durable: true})
	if err != nil || r.Durable {
		t.Errorf("receipt is %+v, error %v, want committed and not durable", r, err)
	}
}

func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 1)
	c.DownAfter(t, time.Minute) // until it is time
	s := open(t, deploy(t, c.URL()).client, config("failover"))
	victim := c.Masters[0]
	var hit, spared *author
	for i := 0; hit == nil || spared == nil; i++ {
		id := wire.SessionID([]byte{'s', byte('a' + i)})
		isHit := c.MasterOf(t, redisstore.KeysOf("failover", id).Meta) == victim
		if isHit && hit == nil {
			hit = newAuthor(t, s, id)
		} else if !isHit && spared == nil {
			spared = newAuthor(t, s, id)
		}
	}
	const events = 30
	var seen []string
	tail := follow(t, s, hit.lease.Session, func(e store.Event) bool {
		if e.At.Seq > 0 {
			seen = append(seen, string(e.Frame))
		}
		return len(seen) < events
	})
	hit.mustWrite(t, 10)
	replicated(t, hit)
	victim.Kill(t)
	c.DownAfter(t, 2*time.Second)
	spared.mustWrite(t, 10) // whose master is not the one that is away
	hit.mustWrite(t, events-10)
	spared.mustWrite(t, 10)
	for _, a := range []*author{hit, spared} {
		if a.claims != 1 {
			t.Errorf("%s was claimed %d times, want once", a.lease.Session, a.claims)
		}
		a.verify(t)
	}
	if err := <-tail; err != nil {
		t.Fatal(err)
	}
	same(t, "tail", seen, hit.acked)
}
