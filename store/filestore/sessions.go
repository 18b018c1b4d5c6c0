package filestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Sessions implements the part of the store contract about sessions: leases, batches, reads,
// inboxes and the directory. It decides what a call may do; its parts store and read.
type Sessions struct {
	*folder
	registry    *registry
	leases      *sharedLeases
	quarantines *quarantines
	reader      *sessionReader
	batches     *batchWriter
	tombstones  *tombstones
	repairer    *repairer
	commitPool  sync.Pool // of *pendingCommit
}

func newSessions(f *folder) *Sessions {
	leases := &sharedLeases{until: map[uint64]time.Time{}}
	all, quarantines := newRegistry(leases), &quarantines{folder: f}
	return &Sessions{
		folder: f, registry: all, leases: leases, quarantines: quarantines,
		reader:     &sessionReader{folder: f, quarantines: quarantines},
		batches:    &batchWriter{folder: f},
		tombstones: &tombstones{folder: f},
		repairer:   &repairer{folder: f, registry: all, quarantines: quarantines},
	}
}

// load fills the registry from the log. Leases of earlier processes are void: one
// process at a time has the folder open.
func (s *Sessions) load() error {
	for bucket := range s.log.Buckets(sessionPrefix) {
		c, err := s.reader.readPinned(bucket)
		if err != nil {
			return err
		}
		e := s.registry.newSession(wire.SessionID(bucket[len(sessionPrefix):]))
		e.quarantined = c.quarantined
		if c.meta.process != thisProcess {
			c.meta.owner, c.meta.until, c.meta.incarnation = "", time.Time{}, 0
		}
		if c.meta.incarnation != 0 {
			s.leases.extend(c.meta.incarnation, c.meta.until)
		}
		s.registry.add(e, c.meta)
		if c.damage != "" {
			s.quarantines.add(e, c.damage)
		}
	}
	return nil
}

// find returns the session with the id, or [store.ErrNotFound].
func (s *Sessions) find(ctx context.Context, id wire.SessionID) (*session, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	if err := id.Validate(); err != nil {
		return nil, err
	}
	e := s.registry.find(id)
	if e == nil {
		return nil, fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	return e, nil
}

// findLeased returns the session of a lease, or [store.ErrFenced] if the session does
// not exist. It does not check the lease.
func (s *Sessions) findLeased(ctx context.Context, l store.Lease) (*session, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	e := s.registry.find(l.Session)
	if e == nil {
		return nil, store.ErrFenced
	}
	return e, nil
}
