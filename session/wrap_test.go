package session_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// meddler is a store that can be made to misbehave.
type meddler struct {
	session.Store

	mu     sync.Mutex // guards the following
	commit func(ctx context.Context, l store.Lease, b store.Batch, do func() (store.Receipt, error)) (store.Receipt, error)
	renew  func(l store.Lease) error
	claim  func(replica wire.ReplicaID) error
	hooks  hooks
}

// hooks are called around what is seldom meddled with.
type hooks struct {
	send     func(c store.Command, do func() (bool, error)) (bool, error)
	loaded   func()
	claimed  func(l store.Lease, err error) error
	released func()
}

func (m *meddler) hook(h hooks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks = h
}

func (m *meddler) hooked() hooks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hooks
}

func (m *meddler) Send(ctx context.Context, id wire.SessionID, c store.Command) (bool, error) {
	do := func() (bool, error) { return m.Store.Send(ctx, id, c) }
	if f := m.hooked().send; f != nil {
		return f(c, do)
	}
	return do()
}

func (m *meddler) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	s, err := m.Store.Load(ctx, id)
	if f := m.hooked().loaded; f != nil {
		f()
	}
	return s, err
}

func (m *meddler) Release(ctx context.Context, l store.Lease) error {
	err := m.Store.Release(ctx, l)
	if f := m.hooked().released; f != nil {
		f()
	}
	return err
}

func (m *meddler) onCommit(f func(ctx context.Context, l store.Lease, b store.Batch, do func() (store.Receipt, error)) (store.Receipt, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commit = f
}

func (m *meddler) onRenew(f func(l store.Lease) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renew = f
}

func (m *meddler) onClaim(f func(replica wire.ReplicaID) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claim = f
}

func (m *meddler) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	m.mu.Lock()
	f := m.commit
	m.mu.Unlock()
	do := func() (store.Receipt, error) { return m.Store.Commit(ctx, l, b) }
	if f == nil {
		return do()
	}
	return f(ctx, l, b, do)
}

func (m *meddler) Renew(ctx context.Context, l store.Lease) error {
	m.mu.Lock()
	f := m.renew
	m.mu.Unlock()
	if f != nil {
		if err := f(l); err != nil {
			return err
		}
	}
	return m.Store.Renew(ctx, l)
}

func (m *meddler) Claim(ctx context.Context, id wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	m.mu.Lock()
	f := m.claim
	m.mu.Unlock()
	if f != nil {
		if err := f(replica); err != nil {
			return store.Lease{}, err
		}
	}
	l, err := m.Store.Claim(ctx, id, replica, ttl)
	if f := m.hooked().claimed; f != nil {
		if err := f(l, err); err != nil {
			return l, err
		}
	}
	return l, err
}

func openMeddler(t *testing.T) *meddler {
	t.Helper()
	return &meddler{Store: openStore(t)}
}
