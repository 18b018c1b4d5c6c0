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

// Create makes a new session.
func (s *Store) Create(ctx context.Context, n store.NewSession) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if err := s.cfg.Limits.CheckSession(n); err != nil {
		return err
	}
	return s.create(ctx, n, store.Lease{})
}

// Recreate makes a session again that is not there any more without having been
// deleted.
func (s *Store) Recreate(ctx context.Context, l store.Lease, n store.NewSession) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	err := errors.Join(l.Replica.Validate(), store.CheckTTL(l.TTL), s.cfg.Limits.CheckSession(n), store.CheckLeaseOf(l, n))
	if err != nil {
		return err
	}
	return s.create(ctx, n, l)
}

// Deleted says whether a session was deleted after an epoch.
func (s *Store) Deleted(ctx context.Context, id wire.SessionID, epoch uint64) (bool, error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	if err := id.Validate(); err != nil {
		return false, err
	}
	last, err := s.lastEpoch(id)
	if err != nil {
		return false, fmt.Errorf("ask about a deletion: %w", err)
	}
	return last > 0 && last >= epoch, nil
}

// create makes a session, owned by whoever has a lease of it.
func (s *Store) create(ctx context.Context, n store.NewSession, l store.Lease) error {
	e, err := s.reserve(ctx, n.ID)
	if err != nil {
		return err
	}
	now := time.Now()
	m := meta{user: n.User, created: now, updated: now}
	if m.before, err = s.lastEpoch(n.ID); err == nil && l.Epoch > 0 {
		m.owner, m.process, m.epoch, m.until = l.Replica, thisProcess, l.Epoch, now.Add(l.TTL)
		if m.before >= l.Epoch {
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
		e.turn.give()
	}, b)
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	return nil
}

// reserve returns an absent session with the turn to create it.
func (s *Store) reserve(ctx context.Context, id wire.SessionID) (*session, error) {
	for {
		s.mu.Lock()
		e := s.sessions[id]
		if e == nil {
			e = newSession(id)
			s.sessions[e.id] = e
		}
		s.mu.Unlock()
		if err := e.turn.take(ctx); err != nil {
			return nil, err
		}
		if !e.isAbsent() {
			e.turn.give()
			return nil, fmt.Errorf("session %s: %w", id, store.ErrExists)
		}
		s.mu.RLock()
		current := s.sessions[id] == e
		s.mu.RUnlock()
		if current {
			return e, nil
		}
		e.turn.give() // deleted meanwhile
	}
}

// unreserve undoes reserve.
func (s *Store) unreserve(e *session) {
	s.mu.Lock()
	delete(s.sessions, e.id)
	s.mu.Unlock()
	e.turn.give()
}

// Claim makes a replica the owner of a session.
func (s *Store) Claim(ctx context.Context, id wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	e, err := s.find(ctx, id)
	if err != nil {
		return store.Lease{}, err
	}
	if err := errors.Join(replica.Validate(), store.CheckTTL(ttl)); err != nil {
		return store.Lease{}, err
	}
	if err := e.turn.take(ctx); err != nil {
		return store.Lease{}, err
	}
	now := time.Now()
	e.mu.Lock()
	m, err := e.meta, e.claimableLocked(replica, now)
	e.mu.Unlock()
	if err != nil {
		e.turn.give()
		return store.Lease{}, err
	}
	epoch := store.NextEpoch(max(m.epoch, m.before), now)
	lease := store.Lease{Session: e.id, Replica: replica, Epoch: epoch, TTL: ttl, Prev: m.top}
	b := kvlog.NewBatch(bucketOf(id))
	m.owner, m.process, m.epoch, m.number, m.durable = replica, thisProcess, epoch, 0, false
	m.until, m.updated = now.Add(ttl), now
	if err := s.appendEntry(b, &m, epoch, 0, [][]byte{store.ClaimEvent(lease, now).Frame}); err != nil {
		e.turn.give()
		return store.Lease{}, fmt.Errorf("claim session: %w", s.corrupt(e, err))
	}
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finish(err, &m) }, b); err != nil {
		return store.Lease{}, fmt.Errorf("claim session: %w", err)
	}
	return lease, nil
}

// claimableLocked reports why a replica may not have the session now.
func (e *session) claimableLocked(replica wire.ReplicaID, now time.Time) error {
	if e.absent {
		return fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
	}
	if err := e.writableLocked(); err != nil {
		return err
	}
	if by := e.meta.owner; by != "" && by != replica && e.until.After(now) {
		return &store.OwnedError{By: by, For: e.until.Sub(now)}
	}
	return nil
}

// finish ends a write: if it succeeded its meta becomes the session's, and the
// turn is given back either way.
func (e *session) finish(err error, m *meta) {
	if err == nil {
		e.mu.Lock()
		if m.epoch != e.meta.epoch || m.owner != e.meta.owner {
			e.until = m.until // else renewals went on meanwhile
		}
		if m.sent != e.meta.sent || m.epoch != e.meta.epoch || m.owner != e.meta.owner {
			e.mail.ring() // an owner is not to be woken by each commit of its own
		}
		e.meta = *m
		e.news.ring()
		e.mu.Unlock()
	}
	e.turn.give()
}

// Renew makes a lease last for another while. It is not written to disk: who
// outlives this process has no use for it.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	e, err := s.owned(ctx, l)
	if err != nil {
		return err
	}
	if err := store.CheckTTL(l.TTL); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.holdsLocked(l); err != nil {
		return err
	}
	e.until = time.Now().Add(l.TTL)
	return nil
}

// keepRenewals writes down how long leases last, for the case that this very
// process opens the folder again. It runs when no new calls come in; who still
// writes is left alone.
func (s *Store) keepRenewals() {
	s.mu.RLock()
	sessions := slices.Collect(maps.Values(s.sessions))
	s.mu.RUnlock()
	var batches []*kvlog.Batch
	for _, e := range sessions {
		if !e.turn.tryTake() {
			continue
		}
		defer e.turn.give()
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
		s.cfg.Logger.Warn("renewals of leases were not saved", "error", err)
	}
}

// Release gives a session back, or leaves it to an heir.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := l.CheckHeir(); err != nil {
		return err
	}
	e, err := s.owned(ctx, l)
	if err != nil {
		return err
	}
	if err := e.turn.take(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	m, err := e.meta, e.holdsLocked(l)
	e.mu.Unlock()
	if err != nil {
		e.turn.give()
		return err
	}
	if m.owner, m.until = l.Heir, (time.Time{}); l.Heir != "" {
		m.until = time.Now().Add(l.TTL)
	}
	b := kvlog.NewBatch(e.bucket)
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finish(err, &m) }, b); err != nil {
		return fmt.Errorf("release session: %w", err)
	}
	return nil
}

// Delete removes a session with everything in it.
func (s *Store) Delete(ctx context.Context, l store.Lease) error {
	e, err := s.owned(ctx, l)
	if err != nil {
		return err
	}
	return s.bury(ctx, e, func() error {
		if err := e.holdsLocked(l); err != nil {
			return err
		}
		return e.writableLocked()
	})
}

// Discard removes a session that is set aside, whatever of it can be read.
func (s *Store) Discard(ctx context.Context, id wire.SessionID) error {
	e, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	return s.bury(ctx, e, func() error {
		switch {
		case e.absent:
			return fmt.Errorf("session %s: %w", id, store.ErrNotFound)
		case e.quarantined == "":
			return fmt.Errorf("session %s is not quarantined: %w", id, store.ErrConflict)
		}
		return nil
	})
}

// bury removes a session that may be removed, as is asked under its lock.
func (s *Store) bury(ctx context.Context, e *session, mayLocked func() error) error {
	if err := e.turn.take(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	err, epoch := mayLocked(), e.meta.epoch
	e.mu.Unlock()
	if err != nil {
		e.turn.give()
		return err
	}
	// The grave is dug first, so that an id never comes back with an epoch it
	// had before.
	grave := kvlog.NewBatch(graveyardBucket)
	grave.Put(string(e.id), encodeGrave(epoch))
	if err := s.submit(ctx, func(err error) {
		if err == nil {
			s.mu.Lock()
			e.mu.Lock()
			e.absent = true
			s.forgetLocked(e)
			e.changedLocked()
			e.mu.Unlock()
			s.mu.Unlock()
		}
		e.turn.give()
	}, grave, kvlog.Drop(e.bucket)); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}
