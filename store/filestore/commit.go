package filestore

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Commit applies a batch of the session's owner atomically. The newest number again is a
// retry, which returns the first receipt; any other number, or a Prev that is not the end
// of the log, is a [*store.GapError]. A stale lease is [store.ErrFenced]. If ctx ends
// first, the batch may still be applied; a retry detects that.
func (s *Store) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Receipt{}, err
	}
	if err := s.cfg.Limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	e := s.presentSession(l.Session)
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
	if err := s.buildCommit(p, &b); err != nil {
		e.writeLock.unlock()
		return store.Receipt{}, fmt.Errorf("commit: %w", s.handleCorrupt(e, err))
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
func (s *Store) newPendingCommit(e *session) *pendingCommit {
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
func (s *Store) recycleCommit(p *pendingCommit) {
	if p.session = nil; p.changes.Size() <= maxPooledBytes {
		s.commitPool.Put(p)
	}
}

// receipt waits until the newest batch of a session is as durable as requested and returns
// its receipt. With SyncAlways the batch was on disk before it was applied.
func (s *Store) receipt(ctx context.Context, top wire.Position, durable bool) (store.Receipt, error) {
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

// buildCommit adds the batch to p.changes and updates p.meta to the session's meta after
// it.
func (s *Store) buildCommit(p *pendingCommit, b *store.Batch) error {
	out, m := &p.changes, &p.meta
	out.Grow(batchBytes(b))
	m.number, m.durable = b.Number, b.Durable && s.cfg.Sync != SyncOff
	m.updated = time.Now()
	if b.Working != nil {
		m.working = *b.Working
	}
	if len(b.Events) > 0 {
		if err := s.appendEntry(out, m, b.Prev.Epoch, b.Prev.Seq+1, b.Events); err != nil {
			return err
		}
	}
	if err := s.applyOps(out, b.Ops); err != nil {
		return err
	}
	if err := s.consumeCommands(out, b.Consumed); err != nil {
		return err
	}
	if b.Card != nil {
		s.putSealed(out, []byte(cardKey), b.Card)
	}
	p.buf = m.append(p.buf[:0])
	out.Put(metaKey, p.buf)
	return nil
}

// batchBytes estimates the size of a batch in the log.
func batchBytes(b *store.Batch) int {
	n := 512 + len(b.Card) + 64*len(b.Ops)
	for _, f := range b.Events {
		n += len(f) + 1
	}
	for i := range b.Ops {
		for _, v := range b.Ops[i].Values {
			n += len(v) + 64
		}
	}
	return n
}

// putSealed sets a key to the sealed value.
func (s *Store) putSealed(out *kvlog.Batch, key, value []byte) {
	s.cfg.Schema.Seal(out.Reserve(key, sealBytes+len(value))[:0], value)
}

// appendEntry appends an entry with the frames to the session's log and trims the log's
// oldest entries beyond the bounds.
func (s *Store) appendEntry(out *kvlog.Batch, m *meta, epoch, first uint64, frames [][]byte) error {
	entry := span{epoch: epoch, first: first, count: uint32(len(frames))} //nolint:gosec // limited by CheckBatch
	n := len(frames) - 1
	for _, f := range frames {
		n += len(f)
	}
	sealed := out.Reserve(entry.appendKey(make([]byte, 0, spanKeyBytes)), sealBytes+n)
	lines := sealed[sealBytes:sealBytes]
	for i, f := range frames {
		if i > 0 {
			lines = append(lines, '\n')
		}
		lines = append(lines, f...)
	}
	s.cfg.Schema.Seal(sealed[:0], lines)
	if m.events == 0 {
		m.oldest = entry.oldest()
	}
	m.top = entry.newest()
	m.events += uint64(len(frames))
	m.bytes += frameBytes(entry, n)
	return s.trim(out, m, entry)
}

// frameBytes returns the bytes of the frames in an entry, given the length of its unsealed
// value, which has a line break between two frames.
func frameBytes(s span, value int) uint64 { return uint64(value) + 1 - uint64(s.count) } //nolint:gosec // a line break between each two

// sealBytes is the size that sealing adds to a value.
var sealBytes = len(store.Schema{}.Seal(nil, nil))

// trim drops the oldest entries while the log is over its bounds, but never the newest one.
func (s *Store) trim(out *kvlog.Batch, m *meta, newest span) error {
	limits := s.cfg.Limits
	over := func() bool { return m.events > uint64(limits.LogEvents) || m.bytes > uint64(limits.LogBytes) } //nolint:gosec // positive
	if !over() {
		return nil
	}
	err := s.withIndex(out.Bucket(), func(x *kvlog.Index) {
		for old := range x.Ascend(entryPrefix, prefixEnd(entryPrefix)) {
			entry := parseSpan(old.Key)
			m.oldest = entry.oldest()
			if !over() {
				return
			}
			m.events -= uint64(entry.count)
			m.bytes -= frameBytes(entry, old.Size()-sealBytes)
		}
		m.oldest = newest.oldest()
	})
	if err != nil {
		return err
	}
	out.Put(trimmedKey, nil)
	out.DeleteRange(entryPrefix, span{epoch: m.oldest.Epoch, first: m.oldest.Seq}.key())
	return nil
}

// withIndex calls fn with the index of a bucket, which must not be retained.
func (s *Store) withIndex(bucket string, fn func(x *kvlog.Index)) error {
	sel, err := s.log.Select(bucket, func(x *kvlog.Index, _ func(kvlog.Entry)) { fn(x) })
	if err != nil {
		return err
	}
	sel.Close()
	return nil
}
