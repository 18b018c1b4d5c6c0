package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// author owns a session and writes to it the way a hub does: it sends a batch
// again that the store may not have, and claims again when the store has
// forgotten something.
type author struct {
	store  *redisstore.Store
	lease  store.Lease
	number uint64
	top    wire.Position
	acked  []string // frames the store has confirmed
	claims int
}

func newAuthor(t *testing.T, s *redisstore.Store, id wire.SessionID) *author {
	t.Helper()
	if err := s.Sessions.Create(t.Context(), store.NewSession{ID: id, User: "user"}); err != nil {
		t.Fatal(err)
	}
	a := &author{store: s, lease: store.Lease{Session: id, Replica: "author"}}
	if err := a.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *author) claim(ctx context.Context) error {
	l, err := a.store.Sessions.Claim(ctx, a.lease.Session, a.lease.Replica, time.Hour)
	if err != nil {
		return err
	}
	a.lease, a.number, a.top = l, 0, l.Top()
	a.claims++
	return nil
}

// batch completes a batch.
func (a *author) batch(b store.Batch) store.Batch {
	b.Number, b.Prev = a.number+1, a.top
	return b
}

// try commits a batch once.
func (a *author) try(ctx context.Context, b store.Batch) (store.Receipt, error) {
	b = a.batch(b)
	r, err := a.store.Sessions.Commit(ctx, a.lease, b)
	if err == nil {
		a.number, a.top = b.Number, r.Top
		for _, f := range b.Events {
			a.acked = append(a.acked, string(f))
		}
	}
	return r, err
}

// write commits an event until it is committed, whatever happens to the store.
func (a *author) write(ctx context.Context) error {
	frame := fmt.Sprintf("%s event %d", a.lease.Session, len(a.acked))
	b := store.Batch{Events: [][]byte{[]byte(frame)}, Ops: []store.Op{store.Push("events", []byte(frame))}}
	for {
		_, err := a.try(ctx, b)
		if errors.Is(err, store.ErrGap) || errors.Is(err, store.ErrFenced) {
			err = a.claim(ctx)
			for errors.Is(err, store.ErrUnavailable) {
				err = a.claim(ctx)
			}
			if err == nil {
				continue
			}
		}
		if !errors.Is(err, store.ErrUnavailable) {
			return err
		}
	}
}

// mustWrite writes n events.
func (a *author) mustWrite(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := a.write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// verify holds the log and the list against what was confirmed: everything is
// there, once and in order.
func (a *author) verify(t *testing.T) {
	t.Helper()
	var got []string
	for after := (wire.Position{}); ; {
		page, err := a.store.Sessions.Read(t.Context(), a.lease.Session, after, 1000)
		if errors.Is(err, store.ErrUnavailable) {
			continue // the pool has not noticed yet that the outage is over
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if after = e.At; e.At.Seq > 0 {
				got = append(got, string(e.Frame))
			}
		}
	}
	same(t, fmt.Sprintf("log of %s", a.lease.Session), got, a.acked)
	state, err := a.store.Sessions.Load(t.Context(), a.lease.Session)
	for errors.Is(err, store.ErrUnavailable) {
		state, err = a.store.Sessions.Load(t.Context(), a.lease.Session)
	}
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	for _, i := range state.Lists["events"] {
		items = append(items, string(i))
	}
	same(t, fmt.Sprintf("list of %s", a.lease.Session), items, a.acked)
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: %d entries, want %d; the first difference is at %d", what, len(got), len(want), i)
		}
	}
}

// follow shows all events of a session to fn until it returns false. It returns
// when the first was shown: a tail that has begun stays through outages.
func follow(t *testing.T, s *redisstore.Store, id wire.SessionID, fn func(store.Event) bool) <-chan error {
	t.Helper()
	ended, begun := make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() { // ends with its context, which the Cleanup cancels and waits for
		defer close(done)
		first := sync.OnceFunc(func() { close(begun) })
		defer first()
		for news, err := range s.Sessions.Tail(ctx, id, wire.Position{}) {
			if err != nil {
				ended <- err
				return
			}
			for _, e := range news.Events {
				first()
				if !fn(e) {
					ended <- nil
					return
				}
			}
		}
	}()
	<-begun
	return ended
}
