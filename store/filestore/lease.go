package filestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Create makes an empty session without an owner. [store.ErrExists] if the id is in use.
func (s *Sessions) Create(ctx context.Context, n store.NewSession) error {
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
func (s *Sessions) Recreate(ctx context.Context, l store.Lease, n store.NewSession) error {
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
func (s *Sessions) Deleted(ctx context.Context, id wire.SessionID, epoch uint64) (bool, error) {
	if err := s.checkOpen(ctx); err != nil {
		return false, err
	}
	if err := id.Validate(); err != nil {
		return false, err
	}
	last, err := s.tombstones.lastEpoch(id)
	if err != nil {
		return false, fmt.Errorf("read tombstone: %w", err)
	}
	return last > 0 && last >= epoch, nil
}

// create makes a session. If l has an epoch, its replica is the owner.
func (s *Sessions) create(ctx context.Context, n store.NewSession, l store.Lease) error {
	e, err := s.registry.reserve(ctx, n.ID)
	if err != nil {
		return err
	}
	now := time.Now()
	m := meta{user: n.User, created: now, updated: now}
	if m.prevEpoch, err = s.tombstones.lastEpoch(n.ID); err == nil && l.Epoch > 0 {
		m.owner, m.process, m.epoch, m.until = l.Replica, thisProcess, l.Epoch, now.Add(l.TTL)
		if m.prevEpoch >= l.Epoch {
			err = fmt.Errorf("session %s: %w", n.ID, store.ErrNotFound)
		}
	}
	if err != nil {
		s.registry.unreserve(e)
		return fmt.Errorf("create session: %w", err)
	}
	b := kvlog.NewBatch(bucketOf(n.ID))
	m.put(b)
	b.Put(cardKey, s.cfg.Schema.Seal(nil, n.Card))
	err = s.submit(ctx, func(err error) {
		if err != nil {
			s.registry.unreserve(e)
			return
		}
		s.registry.add(e, m)
		e.writeLock.unlock()
	}, b)
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	return nil
}

// Claim makes a replica the owner of a session: it increments the epoch, fences every
// earlier lease and appends the OWNER_CHANGED event. [*store.OwnedError] while another
// replica has a live lease, [*store.QuarantinedError] if the session is quarantined.
func (s *Sessions) Claim(ctx context.Context, id wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	if err := errors.Join(replica.Validate(), store.CheckTTL(ttl)); err != nil {
		return store.Lease{}, err
	}
	return s.claim(ctx, id, store.Incarnation{Replica: replica}, ttl)
}

// claim claims a session for an incarnation, or with a lease of its own if the number of the
// incarnation is 0.
func (s *Sessions) claim(ctx context.Context, id wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	e, err := s.find(ctx, id)
	if err != nil {
		return store.Lease{}, err
	}
	if err := e.writeLock.lock(ctx); err != nil {
		return store.Lease{}, err
	}
	now := time.Now()
	e.mu.Lock()
	m, err := e.meta, e.checkClaimLocked(by.Replica, now)
	e.mu.Unlock()
	if err != nil {
		e.writeLock.unlock()
		return store.Lease{}, err
	}
	epoch := store.NextEpoch(max(m.epoch, m.prevEpoch), now)
	lease := store.Lease{Session: e.id, Replica: by.Replica, Epoch: epoch, Incarnation: by.Number, TTL: ttl, Prev: m.top}
	b := kvlog.NewBatch(bucketOf(id))
	m.owner, m.process, m.epoch, m.number, m.durable = by.Replica, thisProcess, epoch, 0, false
	m.until, m.updated, m.incarnation = now.Add(ttl), now, by.Number
	if err := s.batches.appendEntry(b, &m, epoch, 0, [][]byte{store.ClaimEvent(lease, now).Frame}); err != nil {
		e.writeLock.unlock()
		return store.Lease{}, fmt.Errorf("claim session: %w", s.quarantines.handleCorrupt(e, err))
	}
	m.put(b)
	if by.Number != 0 {
		s.leases.extend(by.Number, m.until) // before the session names it
	}
	if err := s.submit(ctx, func(err error) { e.finishWrite(err, &m) }, b); err != nil {
		return store.Lease{}, fmt.Errorf("claim session: %w", err)
	}
	return lease, nil
}

// Renew extends a lease by its TTL from now. It is not written to disk, because leases are
// void in any other process. [store.ErrFenced] if the lease is not the current one,
// [store.ErrInvalid] if it is shared.
func (s *Sessions) Renew(ctx context.Context, l store.Lease) error {
	if err := l.CheckOwnLease(); err != nil {
		return err
	}
	e, err := s.findLeased(ctx, l)
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
func (s *Sessions) saveRenewals() {
	var batches []*kvlog.Batch
	for _, e := range s.registry.all() {
		if !e.writeLock.tryLock() {
			continue
		}
		defer e.writeLock.unlock()
		e.mu.Lock()
		m := e.meta
		until := e.leaseEndLocked()
		due := !e.absent && m.owner != "" && !m.until.Equal(until)
		m.until = until
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
func (s *Sessions) Release(ctx context.Context, l store.Lease) error {
	if err := l.CheckHeir(); err != nil {
		return err
	}
	e, err := s.findLeased(ctx, l)
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
	if m.owner, m.until, m.incarnation = l.Heir, (time.Time{}), 0; l.Heir != "" {
		m.until = time.Now().Add(l.TTL)
	}
	b := kvlog.NewBatch(e.bucket)
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finishWrite(err, &m) }, b); err != nil {
		return fmt.Errorf("release session: %w", err)
	}
	return nil
}

// Pack is Release. A session that is not used costs 1 KiB of memory here, and on disk its
// records, which compaction bounds: packing would write them all again.
func (s *Sessions) Pack(ctx context.Context, l store.Lease) error {
	l.Heir = ""
	return s.Release(ctx, l)
}

// Delete removes a session with all its data. [store.ErrFenced] if the lease is not the
// current one.
func (s *Sessions) Delete(ctx context.Context, l store.Lease) error {
	e, err := s.findLeased(ctx, l)
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
func (s *Sessions) Discard(ctx context.Context, id wire.SessionID) error {
	e, err := s.find(ctx, id)
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
func (s *Sessions) deleteSession(ctx context.Context, e *session, mayLocked func() error) error {
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
			s.registry.remove(e)
		}
		e.writeLock.unlock()
	}, tombstone, kvlog.Drop(e.bucket)); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}
