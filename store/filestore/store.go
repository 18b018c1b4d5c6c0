package filestore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Store is an open folder. Open makes one; its methods are the contract of
// package store.
//
// Ownership: a Store owns its log and its clock, a goroutine for what ends by
// itself. Close ends them and waits.
type Store struct {
	cfg  Config
	log  *kvlog.Log
	life context.Context // ends with Close
	end  context.CancelFunc

	// mu guards the registry of sessions: a map, and the ids in order, of all
	// and by user, for listings.
	mu       sync.RWMutex
	sessions map[wire.SessionID]*session
	ids      []wire.SessionID
	byUser   map[string][]wire.SessionID
	// setAsides are sessions whose quarantine is not written down yet.
	setAsides []*session

	found      damages
	replicas   replicas
	semaphores semaphores
	rates      rates
	documents  documents

	steps sync.Pool // of *step, for commits

	alarm chan struct{} // wakes the clock
	wg    sync.WaitGroup
	once  sync.Once
	err   error // of Close
}

// Open opens the store in a folder, which is made if need be.
func Open(dir string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	life, end := context.WithCancel(context.Background())
	s := &Store{
		cfg: cfg, life: life, end: end,
		sessions:   map[wire.SessionID]*session{},
		byUser:     map[string][]wire.SessionID{},
		replicas:   replicas{known: map[wire.ReplicaID]store.Replica{}},
		semaphores: semaphores{named: map[string]*semaphore{}},
		rates:      rates{counted: map[string]*rate{}, sweepAt: minSweep},
		documents:  documents{seed: maphash.MakeSeed()},
		alarm:      make(chan struct{}, 1),
	}
	log, err := kvlog.Open(dir, kvlog.Config{
		Sync: cfg.Sync, SyncEvery: cfg.SyncEvery, SegmentBytes: cfg.SegmentBytes,
		Logger: cfg.Logger, OpenFile: cfg.openFile, EvictAfter: cfg.foldAfter,
		OnDamage: func(d kvlog.Damage) {
			s.found.add(d)
			signal(s.alarm) // the clock will see to it
		},
	})
	if err != nil {
		end()
		return nil, fmt.Errorf("open store: %w", asStore(err))
	}
	s.log = log
	if err := s.load(); err != nil {
		end()
		return nil, fmt.Errorf("open store: %w", errors.Join(asStore(err), log.Close()))
	}
	// Whoever cannot write can still read.
	if err := errors.Join(s.heed(), s.buryOld()); err != nil {
		cfg.Logger.Warn("store was opened without putting it in order", "error", err)
	}
	s.wg.Go(s.clock)
	return s, nil
}

// load makes the registry.
func (s *Store) load() error {
	for bucket := range s.log.Buckets(sessionPrefix) {
		c, err := s.readCore(bucket)
		if err != nil {
			return err
		}
		e := newSession(wire.SessionID(bucket[len(sessionPrefix):]))
		e.meta, e.quarantined, e.absent = c.meta, c.quarantined, false
		if e.meta.process != thisProcess {
			e.meta.owner, e.meta.until = "", time.Time{}
		}
		e.until = e.meta.until
		s.registerLocked(e)
		s.sessions[e.id] = e
		if c.damage != "" {
			s.setAside(e, c.damage)
		}
	}
	return nil
}

// clock does what is due: it ends slots and documents whose time is over and
// quarantines what was found damaged. What fails it tries again after a second,
// for disks do not stay full, unless the log is broken for good.
func (s *Store) clock() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-s.life.Done():
			return
		case <-timer.C:
		case <-s.alarm:
		}
		err := errors.Join(s.heed(), s.saveQuarantines())
		now := time.Now()
		next := s.semaphores.expire(now)
		due, documents := s.expireDocuments(now)
		if err = errors.Join(err, documents); err != nil && s.life.Err() == nil {
			if !failing { // once is enough
				s.cfg.Logger.Warn("housekeeping of the store will be tried again", "error", err)
			}
			if due = now.Add(time.Second); s.log.Err() != nil {
				due = time.Time{}
			}
		}
		failing = err != nil
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(max(time.Until(next), 0))
		}
	}
}

// signal leaves a token for whoever waits.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close ends the store. Those who wait get [store.ErrClosed]; what was
// acknowledged is on disk afterwards, whatever the sync mode.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.end()
		s.wg.Wait()
		s.keepRenewals()
		if err := s.log.Close(); err != nil {
			s.err = fmt.Errorf("close store: %w", err)
		}
	})
	return s.err
}

// Ready reports whether the store takes writes: [store.ErrNoSpace] when the disk is
// full.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if err := s.log.Err(); err != nil {
		return asStore(err)
	}
	return asStore(s.log.CheckSpace())
}

// enter begins every call.
func (s *Store) enter(ctx context.Context) error {
	if s.life.Err() != nil {
		return store.ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// asStore says an error of the log in the words of package store.
func asStore(err error) error {
	if err == nil {
		return nil
	}
	for _, m := range []struct{ from, to error }{
		{kvlog.ErrClosed, store.ErrClosed},
		{kvlog.ErrNoSpace, store.ErrNoSpace},
		{kvlog.ErrTooLarge, store.ErrTooLarge},
	} {
		if errors.Is(err, m.from) {
			return fmt.Errorf("%w: %w", m.to, err)
		}
	}
	switch {
	case errors.Is(err, kvlog.ErrLocked), errors.Is(err, kvlog.ErrFormat):
		return err
	case errors.Is(err, kvlog.ErrDamaged):
		return &store.CorruptError{Where: "log", Reason: err.Error()}
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// submit writes batches and calls then on the log's goroutine, in the order of
// the log, also if nobody waits any more. It answers what then was told, or the
// context's error.
func (s *Store) submit(ctx context.Context, then func(error), first *kvlog.Batch, more ...*kvlog.Batch) error {
	done := make(chan error, 1)
	return s.await(ctx, done, func(err error) {
		then(err)
		done <- err
	}, first, more...)
}

// await writes batches and waits for what settle, which the log calls, leaves in
// done.
func (s *Store) await(ctx context.Context, done <-chan error, settle func(error), first *kvlog.Batch, more ...*kvlog.Batch) error {
	if err := s.log.Queue(settle, first, more...); err != nil {
		settle(err)
		return asStore(<-done)
	}
	// Where many commit, the others do so when they have their turn, and one write
	// is enough for all. Somebody may have seen to it already by then, and to look
	// is cheaper than to wait.
	runtime.Gosched()
	select {
	case err := <-done:
		return asStore(err)
	default:
	}
	s.log.Wake()
	select {
	case err := <-done:
		return asStore(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// session is one session in memory.
type session struct {
	id     wire.SessionID
	bucket string          // its bucket's name
	turn   turn            // of those who write
	place  kvlog.BucketRef // of its bucket, for who has the turn

	mu          sync.Mutex // guards the following, never held across I/O
	meta        meta
	until       time.Time // of the lease, renewals included
	quarantined string
	unsaved     bool // the quarantine is not written down yet
	torn        bool // records are lost and the rest is not mended yet
	absent      bool // not created yet, or deleted
	news        bell // rings when anything has changed
	mail        bell // rings when something came in or the owner may be another
}

// newSession returns a session that is absent. Its names share their memory.
func newSession(id wire.SessionID) *session {
	bucket := bucketOf(id)
	return &session{id: wire.SessionID(bucket[len(sessionPrefix):]), bucket: bucket, absent: true}
}

// bell wakes those who wait for something. The lock of its session guards it.
type bell struct{ c chan struct{} } // nil if nobody waits

func (b *bell) ring() {
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// wait returns a channel that is closed when a bell of the session rings next.
func (e *session) wait(b *bell) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

// changedLocked wakes all who wait.
func (e *session) changedLocked() {
	e.news.ring()
	e.mail.ring()
}

// holdsLocked reports whether a lease is good.
func (e *session) holdsLocked(l store.Lease) error {
	if e.absent || e.meta.owner == "" || e.meta.owner != l.Replica || e.meta.epoch != l.Epoch {
		return store.ErrFenced
	}
	return nil
}

func (e *session) holds(l store.Lease) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.holdsLocked(l)
}

// writableLocked reports whether a quarantine forbids writing.
func (e *session) writableLocked() error {
	if e.quarantined != "" {
		return &store.QuarantinedError{Session: e.id, Reason: e.quarantined}
	}
	return nil
}

// find returns a session by name.
func (s *Store) find(ctx context.Context, id wire.SessionID) (*session, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if err := id.Validate(); err != nil {
		return nil, err
	}
	e := s.present(id)
	if e == nil {
		return nil, fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	return e, nil
}

// present returns a session that is there, or nil.
func (s *Store) present(id wire.SessionID) *session {
	s.mu.RLock()
	e := s.sessions[id]
	s.mu.RUnlock()
	if e == nil || e.isAbsent() {
		return nil
	}
	return e
}

// owned returns the session of a lease, whether it is good or not. A lease of a
// session that is not there is not.
func (s *Store) owned(ctx context.Context, l store.Lease) (*session, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	e := s.present(l.Session)
	if e == nil {
		return nil, store.ErrFenced
	}
	return e, nil
}

func (e *session) isAbsent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.absent
}

// registerLocked adds a session to the listings.
func (s *Store) registerLocked(e *session) {
	s.ids = insert(s.ids, e.id)
	s.byUser[e.meta.user] = insert(s.byUser[e.meta.user], e.id)
}

// forgetLocked takes a session out of the registry.
func (s *Store) forgetLocked(e *session) {
	delete(s.sessions, e.id)
	s.ids = remove(s.ids, e.id)
	if rest := remove(s.byUser[e.meta.user], e.id); len(rest) > 0 {
		s.byUser[e.meta.user] = rest
	} else {
		delete(s.byUser, e.meta.user)
	}
}

func insert(ids []wire.SessionID, id wire.SessionID) []wire.SessionID {
	i, found := slices.BinarySearch(ids, id)
	if found {
		return ids
	}
	return slices.Insert(ids, i, id)
}

func remove(ids []wire.SessionID, id wire.SessionID) []wire.SessionID {
	i, found := slices.BinarySearch(ids, id)
	if !found {
		return ids
	}
	return slices.Delete(ids, i, i+1)
}
