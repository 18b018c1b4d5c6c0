package filestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// Store is an open folder; [Open] returns one. Its fields implement the parts of the
// contract in package store. It owns the log and one maintenance goroutine. Close stops
// both and waits for them.
type Store struct {
	*folder

	Sessions   *Sessions
	Documents  *Documents
	Semaphores *Semaphores
	Replicas   *Replicas
	Rates      *Rates

	cancelRun context.CancelFunc
	wg        sync.WaitGroup
	once      sync.Once
	err       error // of Close
}

// Open opens the store in a folder, which is created if it does not exist.
func Open(dir string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	runCtx, cancel := context.WithCancel(context.Background())
	f := &folder{cfg: cfg, runCtx: runCtx, wake: make(chan struct{}, 1)}
	s := &Store{
		folder: f, cancelRun: cancel,
		Sessions: newSessions(f), Documents: newDocuments(f), Semaphores: newSemaphores(f),
		Replicas: newReplicas(f), Rates: newRates(f),
	}
	log, err := kvlog.Open(dir, kvlog.Config{
		Sync: cfg.Sync, SyncEvery: cfg.SyncEvery, SegmentBytes: cfg.SegmentBytes,
		Logger: cfg.Logger, OpenFile: cfg.openFile, EvictAfter: cfg.evictAfter,
		OnDamage: s.Sessions.repairer.addDamage,
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open store: %w", storeError(err))
	}
	f.log = log
	if err := s.Sessions.load(); err != nil {
		cancel()
		return nil, fmt.Errorf("open store: %w", errors.Join(storeError(err), log.Close()))
	}
	// A store that cannot write, as on a full disk, still serves reads.
	if err := errors.Join(s.Sessions.repairer.repairDamaged(), s.Sessions.tombstones.deleteOld()); err != nil {
		cfg.Logger.Warn("store opened without repairs, retrying later", "error", err)
	}
	s.wg.Go(s.maintenanceLoop)
	return s, nil
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
		err := errors.Join(s.Sessions.repairer.repairDamaged(), s.Sessions.repairer.saveQuarantines())
		now := time.Now()
		next := s.Semaphores.expire(now)
		due, documents := s.Documents.expire(now)
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

// Close stops the store. Waiting calls return [store.ErrClosed]. All acknowledged writes
// are on disk afterwards, in every sync mode. Later calls return the same result.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.cancelRun()
		s.wg.Wait()
		s.Sessions.saveRenewals()
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
