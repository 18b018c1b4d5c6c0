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

// Store is an open folder; [Open] returns one. Its methods implement the contract of
// package store. It owns its log and one maintenance goroutine. Close stops both and waits
// for them.
type Store struct {
	cfg       Config
	log       *kvlog.Log
	runCtx    context.Context // canceled by Close
	cancelRun context.CancelFunc

	// mu guards the registry of sessions: a map, and the sorted ids, of all sessions and by
	// user, for listings.
	mu       sync.RWMutex
	sessions map[wire.SessionID]*session
	ids      []wire.SessionID
	byUser   map[string][]wire.SessionID
	// unsavedQuarantines are sessions whose quarantine is not stored yet.
	unsavedQuarantines []*session

	pendingDamage damageQueue
	replicas      replicas
	semaphores    semaphores
	rates         rates
	documents     documents

	commitPool sync.Pool // of *pendingCommit

	wake chan struct{} // wakes the maintenance goroutine
	wg   sync.WaitGroup
	once sync.Once
	err  error // of Close
}

// Open opens the store in a folder, which is created if it does not exist.
func Open(dir string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	life, end := context.WithCancel(context.Background())
	s := &Store{
		cfg: cfg, runCtx: life, cancelRun: end,
		sessions:   map[wire.SessionID]*session{},
		byUser:     map[string][]wire.SessionID{},
		replicas:   replicas{known: map[wire.ReplicaID]store.Replica{}},
		semaphores: semaphores{named: map[string]*semaphore{}},
		rates:      rates{counted: map[string]*rate{}, sweepAt: minSweep},
		documents:  documents{seed: maphash.MakeSeed()},
		wake:       make(chan struct{}, 1),
	}
	log, err := kvlog.Open(dir, kvlog.Config{
		Sync: cfg.Sync, SyncEvery: cfg.SyncEvery, SegmentBytes: cfg.SegmentBytes,
		Logger: cfg.Logger, OpenFile: cfg.openFile, EvictAfter: cfg.evictAfter,
		OnDamage: func(d kvlog.Damage) {
			s.pendingDamage.add(d)
			notify(s.wake) // the maintenance goroutine handles it
		},
	})
	if err != nil {
		end()
		return nil, fmt.Errorf("open store: %w", storeError(err))
	}
	s.log = log
	if err := s.load(); err != nil {
		end()
		return nil, fmt.Errorf("open store: %w", errors.Join(storeError(err), log.Close()))
	}
	// A store that cannot write, as on a full disk, still serves reads.
	if err := errors.Join(s.repairDamaged(), s.deleteOldTombstones()); err != nil {
		cfg.Logger.Warn("store opened without repairs, retrying later", "error", err)
	}
	s.wg.Go(s.maintenanceLoop)
	return s, nil
}

// load fills the registry from the log.
func (s *Store) load() error {
	for bucket := range s.log.Buckets(sessionPrefix) {
		c, err := s.readPinned(bucket)
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
			s.quarantineNow(e, c.damage)
		}
	}
	return nil
}

// maintenanceLoop is the maintenance goroutine: it expires slots and documents, and
// quarantines and repairs damaged sessions. After an error it retries every second, because
// a full disk may recover, unless the log is broken.
func (s *Store) maintenanceLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-s.runCtx.Done():
			return
		case <-timer.C:
		case <-s.wake:
		}
		err := errors.Join(s.repairDamaged(), s.saveQuarantines())
		now := time.Now()
		next := s.semaphores.expire(now)
		due, documents := s.expireDocuments(now)
		if err = errors.Join(err, documents); err != nil && s.runCtx.Err() == nil {
			if !failing { // log once per series of failures
				s.cfg.Logger.Warn("store maintenance failed, retrying", "error", err)
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

// notify puts a token into c unless it holds one.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close stops the store. Waiting calls return [store.ErrClosed]. All acknowledged writes
// are on disk afterwards, in every sync mode. Later calls return the same result.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.cancelRun()
		s.wg.Wait()
		s.saveRenewals()
		if err := s.log.Close(); err != nil {
			s.err = fmt.Errorf("close store: %w", err)
		}
	})
	return s.err
}

// Ready returns nil if the store accepts writes, [store.ErrNoSpace] if the disk is full,
// and [store.ErrUnavailable] after a failed fsync.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if err := s.log.Err(); err != nil {
		return storeError(err)
	}
	return storeError(s.log.CheckSpace())
}

// checkOpen returns [store.ErrClosed] after Close and the cause of an ended context. Every
// method calls it first.
func (s *Store) checkOpen(ctx context.Context) error {
	if s.runCtx.Err() != nil {
		return store.ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// storeError converts an error of the log into one of package store.
func storeError(err error) error {
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

// submit writes batches and waits for the result or the end of ctx. It calls then with the
// result on the log's goroutine, in log order, even if ctx ended before.
func (s *Store) submit(ctx context.Context, then func(error), first *kvlog.Batch, more ...*kvlog.Batch) error {
	done := make(chan error, 1)
	return s.queueAndWait(ctx, done, func(err error) {
		then(err)
		done <- err
	}, first, more...)
}

// queueAndWait queues batches with the callback settle and waits for the value that settle
// sends to done, or for the end of ctx.
func (s *Store) queueAndWait(ctx context.Context, done <-chan error, settle func(error), first *kvlog.Batch, more ...*kvlog.Batch) error {
	if err := s.log.Queue(settle, first, more...); err != nil {
		settle(err)
		return storeError(<-done)
	}
	// Yield before waking the committer, so that concurrent callers queue their batches
	// and all share one write. Another caller may have woken the committer meanwhile;
	// polling done is cheaper than another wakeup.
	runtime.Gosched()
	select {
	case err := <-done:
		return storeError(err)
	default:
	}
	s.log.Wake()
	select {
	case err := <-done:
		return storeError(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// session is one session in memory.
type session struct {
	id        wire.SessionID
	bucket    string          // name of its bucket
	writeLock keyLock         // held by the writer until the log's callback
	bucketRef kvlog.BucketRef // guarded by writeLock

	mu                sync.Mutex // guards the fields below, never held across I/O
	meta              meta
	until             time.Time // expiry of the lease, including renewals
	quarantined       string
	quarantineUnsaved bool     // the quarantine is not stored yet
	needsRepair       bool     // records are lost and the session is not repaired yet
	absent            bool     // not created yet, or deleted
	changed           notifier // notified of every change
	inboxChanged      notifier // notified of new commands and changes of the owner
}

// newSession returns an absent session. Its id and bucket share memory.
func newSession(id wire.SessionID) *session {
	bucket := bucketOf(id)
	return &session{id: wire.SessionID(bucket[len(sessionPrefix):]), bucket: bucket, absent: true}
}

// notifier wakes all waiting goroutines at once. The session's mutex guards it.
type notifier struct{ c chan struct{} } // nil without waiters

func (b *notifier) notifyAll() {
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// waitFor returns a channel that is closed at the next notification.
func (e *session) waitFor(b *notifier) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

// notifyWaitersLocked wakes all goroutines that wait for the session.
func (e *session) notifyWaitersLocked() {
	e.changed.notifyAll()
	e.inboxChanged.notifyAll()
}

// checkLeaseLocked returns [store.ErrFenced] unless l is the current lease.
func (e *session) checkLeaseLocked(l store.Lease) error {
	if e.absent || e.meta.owner == "" || e.meta.owner != l.Replica || e.meta.epoch != l.Epoch {
		return store.ErrFenced
	}
	return nil
}

func (e *session) checkLease(l store.Lease) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.checkLeaseLocked(l)
}

// checkWritableLocked returns [*store.QuarantinedError] if the session is quarantined.
func (e *session) checkWritableLocked() error {
	if e.quarantined != "" {
		return &store.QuarantinedError{Session: e.id, Reason: e.quarantined}
	}
	return nil
}

// findSession returns the session with the id, or [store.ErrNotFound].
func (s *Store) findSession(ctx context.Context, id wire.SessionID) (*session, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	if err := id.Validate(); err != nil {
		return nil, err
	}
	e := s.presentSession(id)
	if e == nil {
		return nil, fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	return e, nil
}

// presentSession returns the session with the id if it exists, or nil.
func (s *Store) presentSession(id wire.SessionID) *session {
	s.mu.RLock()
	e := s.sessions[id]
	s.mu.RUnlock()
	if e == nil || e.isAbsent() {
		return nil
	}
	return e
}

// leasedSession returns the session of a lease, or [store.ErrFenced] if the session does
// not exist. It does not check the lease.
func (s *Store) leasedSession(ctx context.Context, l store.Lease) (*session, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	e := s.presentSession(l.Session)
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

// unregisterLocked removes a session from the registry and the listings.
func (s *Store) unregisterLocked(e *session) {
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
