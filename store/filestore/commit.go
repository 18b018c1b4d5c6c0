package filestore

import (
	"context"
	"fmt"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Commit applies a batch of the session's owner atomically. The newest number again is a
// retry, which returns the first receipt; any other number, or a Prev that is not the end
// of the log, is a [*store.GapError]. A stale lease is [store.ErrFenced]. If ctx ends
// first, the batch may still be applied; a retry detects that.
func (s *Sessions) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Receipt{}, err
	}
	if err := s.cfg.Limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	e := s.registry.find(l.Session)
	if e == nil {
		return store.Receipt{}, store.ErrFenced
	}
	if err := e.writeLock.lock(ctx); err != nil {
		return store.Receipt{}, err
	}
	p := s.newPendingCommit(e)
	e.mu.Lock()
	p.meta = e.meta
	err := e.checkLeaseLocked(l)
	if err == nil {
		err = e.checkWritableLocked()
	}
	e.mu.Unlock()
	switch {
	case err != nil:
	case b.Number == p.meta.number:
		e.writeLock.unlock()
		return s.receipt(ctx, p.meta.top, p.meta.durable)
	case b.Number != p.meta.number+1 || b.Prev != p.meta.top:
		err = &store.GapError{Top: p.meta.top, Number: p.meta.number}
	}
	if err != nil {
		e.writeLock.unlock()
		return store.Receipt{}, err
	}
	if err := s.batches.build(p, &b); err != nil {
		e.writeLock.unlock()
		return store.Receipt{}, fmt.Errorf("commit: %w", s.quarantines.handleCorrupt(e, err))
	}
	if err := s.queueAndWait(ctx, p.done, p.onWritten, &p.changes); err != nil {
		return store.Receipt{}, fmt.Errorf("commit: %w", err)
	}
	top, durable := p.meta.top, p.meta.durable
	s.recycleCommit(p)
	return s.receipt(ctx, top, durable)
}

// pendingCommit is a commit in progress. The structs are pooled.
type pendingCommit struct {
	session   *session
	meta      meta // the session's meta after the commit
	changes   kvlog.Batch
	buf       []byte      // encoding of meta
	done      chan error  // receives the result
	onWritten func(error) // the log's callback
}

// newPendingCommit returns an empty pendingCommit for a session.
func (s *Sessions) newPendingCommit(e *session) *pendingCommit {
	p, ok := s.commitPool.Get().(*pendingCommit)
	if !ok {
		p = &pendingCommit{done: make(chan error, 1)}
		p.onWritten = func(err error) {
			p.session.bucketRef = p.changes.BucketRef()
			p.session.finishWrite(err, &p.meta)
			p.done <- err // p may be reused from here on
		}
	}
	p.session = e
	p.changes.Reset(e.bucket, e.bucketRef)
	return p
}

// maxPooledBytes is the largest batch whose memory is kept for reuse.
const maxPooledBytes = 64 << 10

// recycleCommit returns p to the pool. The log's callback must have run, and no caller may
// wait for p.
func (s *Sessions) recycleCommit(p *pendingCommit) {
	if p.session = nil; p.changes.Size() <= maxPooledBytes {
		s.commitPool.Put(p)
	}
}

// receipt waits until the newest batch of a session is as durable as requested and returns
// its receipt. With SyncAlways the batch was on disk before it was applied.
func (s *Sessions) receipt(ctx context.Context, top wire.Position, durable bool) (store.Receipt, error) {
	if durable && s.cfg.Sync == SyncInterval {
		if err := s.log.Sync(ctx); err != nil {
			return store.Receipt{}, fmt.Errorf("commit: %w", contextOrStoreError(ctx, err))
		}
	}
	return store.Receipt{Top: top, Durable: durable}, nil
}

// contextOrStoreError returns err unchanged if the context has ended and storeError(err)
// otherwise.
func contextOrStoreError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return storeError(err)
}
