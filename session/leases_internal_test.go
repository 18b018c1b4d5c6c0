package session

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
)

// The lease of another replica has ended when it is missing and its time is over by the local clock,
// too: a clock of the store that is set forward must not end the leases of living owners.
func TestEndOfOtherLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &partitionLease{others: map[uint64]time.Time{}}
		check := func(step string, live map[uint64]time.Duration, want map[uint64]bool) {
			t.Helper()
			if got := p.setOthers(live); !maps.Equal(got, want) {
				t.Errorf("%s: got the end of %v, want %v", step, got, want)
			}
		}
		none := map[uint64]bool{}
		check("first read", map[uint64]time.Duration{1: 6 * time.Second, 2: 4 * time.Second}, none)
		p.watch(&store.OwnedError{Incarnation: 3, For: time.Second})
		p.watch(&store.OwnedError{Incarnation: 1, For: time.Hour}) // known better
		if due, first := p.isDue(-1, time.Now()); due || first != time.Now().Add(time.Second) {
			t.Errorf("got due %v, first end %v, want false and in a second", due, first)
		}
		check("clock of the store set forward", nil, none)
		time.Sleep(time.Second)
		if due, _ := p.isDue(-1, time.Now()); !due {
			t.Error("got no read due when a lease should have ended, want one")
		}
		check("one has ended", map[uint64]time.Duration{1: 6 * time.Second, 2: 6 * time.Second}, map[uint64]bool{3: true})
		time.Sleep(6 * time.Second)
		check("one was renewed", map[uint64]time.Duration{2: time.Second}, map[uint64]bool{1: true})
		if p.isLive(1) || !p.isLive(2) {
			t.Errorf("got live %v and %v, want false and true", p.isLive(1), p.isLive(2))
		}
	})
}

// Only a later renewal or claim extends the lease.
func TestExtendPartitionLease(t *testing.T) {
	t.Parallel()
	var p partitionLease
	for _, began := range []time.Duration{5, 9, 7} {
		p.extend(began)
	}
	if got := p.renewed.Load(); got != 9 {
		t.Errorf("got a lease from %d, want from 9", got)
	}
}
