package ws

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// fullGate returns a gate without a free slot, and the functions that release the slots.
func fullGate(t *testing.T) (authGate, []func()) {
	t.Helper()
	ts := newAuthGate()
	places := make([]func(), authGateSlots)
	for i := range places {
		leave, err := ts.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		places[i] = leave
	}
	return ts, places
}

func TestAuthGateReusesReleasedSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts, places := fullGate(t)
		in := make(chan func())
		go func() {
			leave, err := ts.acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			in <- leave
		}()
		synctest.Wait()
		select {
		case <-in:
			t.Fatal("got a place in a full gate, want a wait")
		default:
		}
		began := time.Now()
		places[0]()
		places[0]() // a second call has no effect
		leave := <-in
		if waited := time.Since(began); waited != 0 {
			t.Errorf("wait for a free slot: got %v, want none", waited)
		}
		if len(ts) != authGateSlots {
			t.Errorf("slots taken: got %d, want %d", len(ts), authGateSlots)
		}
		leave()
		for _, leave := range places {
			leave()
		}
		if len(ts) != 0 {
			t.Errorf("slots taken in the end: got %d, want 0", len(ts))
		}
	})
}

func TestAuthGateReleasesBlockedSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts, places := fullGate(t)
		began := time.Now()
		leave, err := ts.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != authGateHold {
			t.Errorf("waited %v, want %v", waited, authGateHold)
		}
		for _, late := range places {
			late() // its slot was already released
		}
		if len(ts) != 1 {
			t.Errorf("%d places are taken, want 1", len(ts))
		}
		leave()
	})
}

func TestAuthGateContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts, places := fullGate(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := ts.acquire(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("acquire with a cancelled context: got error %v, want %v", err, context.Canceled)
		}
		for _, leave := range places {
			leave()
		}
	})
}
