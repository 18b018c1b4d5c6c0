package session_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// faultStore is a store that can be made to fail.
type faultStore struct {
	testStore

	cut   atomic.Bool  // every call fails
	calls atomic.Int64 // number of calls
	tails atomic.Int64 // number of open tails
	lists atomic.Int64 // number of list reads
	packs atomic.Int64 // number of calls of Pack
	// parts, if set, is the partition of a session, and lost is the partition that is unavailable.
	parts func(wire.SessionID) int
	lost  atomic.Int64

	mu     sync.Mutex // guards the following
	commit func(ctx context.Context, l store.Lease, b store.Batch, do func() (store.Receipt, error)) (store.Receipt, error)
	renew  func(replica wire.ReplicaID) error
	claim  func(replica wire.ReplicaID) error
	hooks  hooks
}

// hooks are called around calls that few tests change.
type hooks struct {
	send    func(c store.Command, do func() (bool, error)) (bool, error)
	loaded  func()
	claimed func(l store.Lease, err error) error
	// releasing is called before a release, and released after it.
	releasing, released func()
}

func (m *faultStore) setHooks(h hooks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks = h
}

func (m *faultStore) currentHooks() hooks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hooks
}

// err returns the error of calls for a session, if there is one.
func (m *faultStore) err(id wire.SessionID) error {
	m.calls.Add(1)
	if m.cut.Load() || m.parts != nil && int64(m.parts(id)) == m.lost.Load() {
		return store.ErrUnavailable
	}
	return nil
}

func (m *faultStore) Partition(id wire.SessionID) int {
	if m.parts != nil {
		return m.parts(id)
	}
	return m.testStore.Partition(id)
}

func (m *faultStore) Session(ctx context.Context, id wire.SessionID) (store.Info, error) {
	if err := m.err(id); err != nil {
		return store.Info{}, err
	}
	return m.testStore.Session(ctx, id)
}

func (m *faultStore) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	if err := m.err(id); err != nil {
		return nil, err
	}
	return m.testStore.Read(ctx, id, after, limit)
}

func (m *faultStore) ReadList(ctx context.Context, id wire.SessionID, list string, from, limit int) (store.ListPage, error) {
	m.lists.Add(1)
	if err := m.err(id); err != nil {
		return store.ListPage{}, err
	}
	return m.testStore.ReadList(ctx, id, list, from, limit)
}

func (m *faultStore) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		m.tails.Add(1)
		defer m.tails.Add(-1)
		m.testStore.Tail(ctx, id, after)(yield)
	}
}

func (m *faultStore) Send(ctx context.Context, id wire.SessionID, commands ...store.Command) (duplicates []bool, err error) {
	if err := m.err(id); err != nil {
		return nil, err
	}
	f := m.currentHooks().send
	if f == nil {
		return m.testStore.Send(ctx, id, commands...)
	}
	for _, c := range commands {
		known, err := f(c, func() (bool, error) {
			one, err := m.testStore.Send(ctx, id, c)
			return slices.Contains(one, true), err
		})
		if err != nil {
			return duplicates, err
		}
		duplicates = append(duplicates, known)
	}
	return duplicates, nil
}

func (m *faultStore) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	if err := m.err(id); err != nil {
		return store.State{}, err
	}
	s, err := m.testStore.Load(ctx, id)
	if f := m.currentHooks().loaded; f != nil {
		f()
	}
	return s, err
}

func (m *faultStore) Release(ctx context.Context, l store.Lease) error {
	if err := m.err(l.Session); err != nil {
		return err
	}
	if f := m.currentHooks().releasing; f != nil {
		f()
	}
	err := m.testStore.Release(ctx, l)
	if f := m.currentHooks().released; f != nil {
		f()
	}
	if err == nil {
		err = context.Cause(ctx) // an answer does not reach a caller that does not wait any more
	}
	return err
}

func (m *faultStore) Pack(ctx context.Context, l store.Lease) error {
	m.packs.Add(1)
	return m.Release(ctx, l)
}

func (m *faultStore) onCommit(f func(ctx context.Context, l store.Lease, b store.Batch, do func() (store.Receipt, error)) (store.Receipt, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commit = f
}

func (m *faultStore) onRenew(f func(replica wire.ReplicaID) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renew = f
}

func (m *faultStore) onClaim(f func(replica wire.ReplicaID) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claim = f
}

func (m *faultStore) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := m.err(l.Session); err != nil {
		return store.Receipt{}, err
	}
	m.mu.Lock()
	f := m.commit
	m.mu.Unlock()
	do := func() (store.Receipt, error) { return m.testStore.Commit(ctx, l, b) }
	if f == nil {
		return do()
	}
	return f(ctx, l, b, do)
}

func (m *faultStore) RenewShared(ctx context.Context, by store.Incarnation, partition int, ttl time.Duration) (store.Renewal, error) {
	m.calls.Add(1)
	if m.cut.Load() || m.parts != nil && int64(partition) == m.lost.Load() {
		return store.Renewal{}, store.ErrUnavailable
	}
	m.mu.Lock()
	f := m.renew
	m.mu.Unlock()
	if f != nil {
		if err := f(by.Replica); err != nil {
			return store.Renewal{}, err
		}
	}
	return m.testStore.RenewShared(ctx, by, partition, ttl)
}

func (m *faultStore) Claim(ctx context.Context, id wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	return m.claimWith(id, replica, func() (store.Lease, error) { return m.testStore.Claim(ctx, id, replica, ttl) })
}

func (m *faultStore) ClaimShared(ctx context.Context, id wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	return m.claimWith(id, by.Replica, func() (store.Lease, error) { return m.testStore.ClaimShared(ctx, id, by, ttl) })
}

// claimWith claims a session with do, unless the claim is to fail.
func (m *faultStore) claimWith(id wire.SessionID, replica wire.ReplicaID, do func() (store.Lease, error)) (store.Lease, error) {
	if err := m.err(id); err != nil {
		return store.Lease{}, err
	}
	m.mu.Lock()
	f := m.claim
	m.mu.Unlock()
	if f != nil {
		if err := f(replica); err != nil {
			return store.Lease{}, err
		}
	}
	l, err := do()
	if f := m.currentHooks().claimed; f != nil {
		if err := f(l, err); err != nil {
			return l, err
		}
	}
	return l, err
}

func openFaultStore(t *testing.T) *faultStore {
	t.Helper()
	return newFaultStore(openStore(t))
}

// newFaultStore is the connection of one replica to a store.
func newFaultStore(s testStore) *faultStore {
	m := &faultStore{testStore: s}
	m.lost.Store(-1)
	return m
}
