package filestore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Create makes an empty session without an owner. [store.ErrExists] if the id is in use.
func (s *Store) Create(ctx context.Context, n store.NewSession) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if err := s.cfg.Limits.CheckSession(n); err != nil {
		return err
	}
	return s.create(ctx, n, store.Lease{})
}

// Recreate creates a session that is missing without having been deleted, owned by the
// lease's replica. [store.ErrExists] if it exists, [store.ErrNotFound] if it was deleted.
func (s *Store) Recreate(ctx context.Context, l store.Lease, n store.NewSession) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	err := errors.Join(l.Replica.Validate(), store.CheckTTL(l.TTL), s.cfg.Limits.CheckSession(n), store.CheckLeaseOf(l, n))
	if err != nil {
		return err
	}
	return s.create(ctx, n, l)
}

// Deleted reports whether a session was deleted at or after an epoch.
func (s *Store) Deleted(ctx context.Context, id wire.SessionID, epoch uint64) (bool, error) {
	if err := s.checkOpen(ctx); err != nil {
		return false, err
	}
	if err := id.Validate(); err != nil {
		return false, err
	}
	last, err := s.lastEpoch(id)
	if err != nil {
		return false, fmt.Errorf("read tombstone: %w", err)
	}
	return last > 0 && last >= epoch, nil
}

// create makes a session. If l has an epoch, its replica is the owner.
func (s *Store) create(ctx context.Context, n store.NewSession, l store.Lease) error {
	e, err := s.reserve(ctx, n.ID)
	if err != nil {
		return err
	}
	now := time.Now()
	m := meta{user: n.User, created: now, updated: now}
	if m.prevEpoch, err = s.lastEpoch(n.ID); err == nil && l.Epoch > 0 {
		m.owner, m.process, m.epoch, m.until = l.Replica, thisProcess, l.Epoch, now.Add(l.TTL)
		if m.prevEpoch >= l.Epoch {
			err = fmt.Errorf("session %s: %w", n.ID, store.ErrNotFound)
		}
	}
	if err != nil {
		s.unreserve(e)
		return fmt.Errorf("create session: %w", err)
	}
	b := kvlog.NewBatch(bucketOf(n.ID))
	m.put(b)
	b.Put(cardKey, s.cfg.Schema.Seal(nil, n.Card))
	err = s.submit(ctx, func(err error) {
		if err != nil {
			s.unreserve(e)
			return
		}
		s.mu.Lock()
		e.mu.Lock()
		e.meta, e.absent, e.until = m, false, m.until
		s.registerLocked(e)
		e.mu.Unlock()
		s.mu.Unlock()
		e.writeLock.unlock()
	}, b)
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	return nil
}

// reserve returns an absent session with its write lock held, so that the caller can create
// it.
func (s *Store) reserve(ctx context.Context, id wire.SessionID) (*session, error) {
	for {
		s.mu.Lock()
		e := s.sessions[id]
		if e == nil {
			e = newSession(id)
			s.sessions[e.id] = e
		}
		s.mu.Unlock()
		if err := e.writeLock.lock(ctx); err != nil {
			return nil, err
		}
		if !e.isAbsent() {
			e.writeLock.unlock()
			return nil, fmt.Errorf("session %s: %w", id, store.ErrExists)
		}
		s.mu.RLock()
		current := s.sessions[id] == e
		s.mu.RUnlock()
		if current {
			return e, nil
		}
		e.writeLock.unlock() // deleted meanwhile
	}
}

// unreserve removes the absent session and unlocks it.
func (s *Store) unreserve(e *session) {
	s.mu.Lock()
	delete(s.sessions, e.id)
	s.mu.Unlock()
	e.writeLock.unlock()
}

// Claim makes a replica the owner of a session: it increments the epoch, fences every
// earlier lease and appends the OWNER_CHANGED event. [*store.OwnedError] while another
// replica has a live lease, [*store.QuarantinedError] if the session is quarantined.
func (s *Store) Claim(ctx context.Context, id wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	e, err := s.findSession(ctx, id)
	if err != nil {
		return store.Lease{}, err
	}
	if err := errors.Join(replica.Validate(), store.CheckTTL(ttl)); err != nil {
		return store.Lease{}, err
	}
	if err := e.writeLock.lock(ctx); err != nil {
		return store.Lease{}, err
	}
	now := time.Now()
	e.mu.Lock()
	m, err := e.meta, e.checkClaimLocked(replica, now)
	e.mu.Unlock()
	if err != nil {
		e.writeLock.unlock()
		return store.Lease{}, err
	}
	epoch := store.NextEpoch(max(m.epoch, m.prevEpoch), now)
	lease := store.Lease{Session: e.id, Replica: replica, Epoch: epoch, TTL: ttl, Prev: m.top}
	b := kvlog.NewBatch(bucketOf(id))
	m.owner, m.process, m.epoch, m.number, m.durable = replica, thisProcess, epoch, 0, false
	m.until, m.updated = now.Add(ttl), now
	if err := s.appendEntry(b, &m, epoch, 0, [][]byte{store.ClaimEvent(lease, now).Frame}); err != nil {
		e.writeLock.unlock()
		return store.Lease{}, fmt.Errorf("claim session: %w", s.handleCorrupt(e, err))
	}
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finishWrite(err, &m) }, b); err != nil {
		return store.Lease{}, fmt.Errorf("claim session: %w", err)
	}
	return lease, nil
}

// checkClaimLocked returns the reason why the replica cannot claim the session now.
func (e *session) checkClaimLocked(replica wire.ReplicaID, now time.Time) error {
	if e.absent {
		return fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
	}
	if err := e.checkWritableLocked(); err != nil {
		return err
	}
	if by := e.meta.owner; by != "" && by != replica && e.until.After(now) {
		return &store.OwnedError{By: by, For: e.until.Sub(now)}
	}
	return nil
}

// finishWrite ends a write: after success m becomes the session's meta. It releases the
// write lock in any case.
func (e *session) finishWrite(err error, m *meta) {
	if err == nil {
		e.mu.Lock()
		if m.epoch != e.meta.epoch || m.owner != e.meta.owner {
			e.until = m.until // else keep the renewals made meanwhile
		}
		if m.sent != e.meta.sent || m.epoch != e.meta.epoch || m.owner != e.meta.owner {
			e.inboxChanged.notifyAll() // only for commands and new owners: an owner's own commits must not wake its Receive
		}
		e.meta = *m
		e.changed.notifyAll()
		e.mu.Unlock()
	}
	e.writeLock.unlock()
}

// Renew extends a lease by its TTL from now. It is not written to disk, because leases are
// void in any other process. [store.ErrFenced] if the lease is not the current one.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	e, err := s.leasedSession(ctx, l)
	if err != nil {
		return err
	}
	if err := store.CheckTTL(l.TTL); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.checkLeaseLocked(l); err != nil {
		return err
	}
	e.until = time.Now().Add(l.TTL)
	return nil
}

// saveRenewals stores the expiry times of leases, in case this process opens the folder
// again. It runs when no new calls are accepted and skips sessions that are being written.
func (s *Store) saveRenewals() {
	s.mu.RLock()
	sessions := slices.Collect(maps.Values(s.sessions))
	s.mu.RUnlock()
	var batches []*kvlog.Batch
	for _, e := range sessions {
		if !e.writeLock.tryLock() {
			continue
		}
		defer e.writeLock.unlock()
		e.mu.Lock()
		m := e.meta
		due := !e.absent && m.owner != "" && !m.until.Equal(e.until)
		m.until = e.until
		e.mu.Unlock()
		if due {
			b := kvlog.NewBatch(e.bucket)
			m.put(b)
			batches = append(batches, b)
		}
	}
	if len(batches) == 0 {
		return
	}
	if err := s.log.Apply(batches[0], batches[1:]...); err != nil {
		s.cfg.Logger.Warn("cannot save lease renewals", "error", err)
	}
}

// Release ends a lease, so that any replica can claim the session at once, or only
// [store.Lease.Heir] for one TTL. [store.ErrFenced] if the lease is not the current one.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := l.CheckHeir(); err != nil {
		return err
	}
	e, err := s.leasedSession(ctx, l)
	if err != nil {
		return err
	}
	if err := e.writeLock.lock(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	m, err := e.meta, e.checkLeaseLocked(l)
	e.mu.Unlock()
	if err != nil {
		e.writeLock.unlock()
		return err
	}
	if m.owner, m.until = l.Heir, (time.Time{}); l.Heir != "" {
		m.until = time.Now().Add(l.TTL)
	}
	b := kvlog.NewBatch(e.bucket)
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finishWrite(err, &m) }, b); err != nil {
		return fmt.Errorf("release session: %w", err)
	}
	return nil
}

// Delete removes a session with all its data. [store.ErrFenced] if the lease is not the
// current one.
func (s *Store) Delete(ctx context.Context, l store.Lease) error {
	e, err := s.leasedSession(ctx, l)
	if err != nil {
		return err
	}
	return s.deleteSession(ctx, e, func() error {
		if err := e.checkLeaseLocked(l); err != nil {
			return err
		}
		return e.checkWritableLocked()
	})
}

// Discard removes a quarantined session, even if its data is unreadable.
// [store.ErrConflict] if it is not quarantined.
func (s *Store) Discard(ctx context.Context, id wire.SessionID) error {
	e, err := s.findSession(ctx, id)
	if err != nil {
		return err
	}
	return s.deleteSession(ctx, e, func() error {
		switch {
		case e.absent:
			return fmt.Errorf("session %s: %w", id, store.ErrNotFound)
		case e.quarantined == "":
			return fmt.Errorf("session %s is not quarantined: %w", id, store.ErrConflict)
		}
		return nil
	})
}

// deleteSession removes a session if mayLocked, called under the session's mutex, returns
// nil.
func (s *Store) deleteSession(ctx context.Context, e *session, mayLocked func() error) error {
	if err := e.writeLock.lock(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	err, epoch := mayLocked(), e.meta.epoch
	e.mu.Unlock()
	if err != nil {
		e.writeLock.unlock()
		return err
	}
	// The tombstone is written first, so that a new session with this id never reuses
	// an epoch.
	tombstone := kvlog.NewBatch(tombstoneBucket)
	tombstone.Put(string(e.id), encodeTombstone(epoch))
	if err := s.submit(ctx, func(err error) {
		if err == nil {
			s.mu.Lock()
			e.mu.Lock()
			e.absent = true
			s.unregisterLocked(e)
			e.notifyWaitersLocked()
			e.mu.Unlock()
			s.mu.Unlock()
		}
		e.writeLock.unlock()
	}, tombstone, kvlog.Drop(e.bucket)); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}
