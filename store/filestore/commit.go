package filestore

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// Commit applies a batch of a session's owner.
func (s *Store) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := s.enter(ctx); err != nil {
		return store.Receipt{}, err
	}
	if err := s.cfg.Limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	e, err := s.owned(ctx, l)
	if err != nil {
		return store.Receipt{}, err
	}
	if err := e.turn.take(ctx); err != nil {
		return store.Receipt{}, err
	}
	e.mu.Lock()
	m, err := e.meta, e.holdsLocked(l)
	if err == nil {
		err = e.writableLocked()
	}
	e.mu.Unlock()
	switch {
	case err != nil:
	case b.Number == m.number:
		e.turn.give()
		return s.receipt(ctx, m)
	case b.Number != m.number+1 || b.Prev != m.top:
		err = &store.GapError{Top: m.top, Number: m.number}
	}
	if err != nil {
		e.turn.give()
		return store.Receipt{}, err
	}
	changes := s.batch(bucketOf(e.id))
	if err := s.changes(changes, &m, b); err != nil {
		e.turn.give()
		return store.Receipt{}, fmt.Errorf("commit: %w", s.corrupt(e, err))
	}
	if err := s.submit(ctx, func(err error) {
		e.finish(err, m)
		s.reuse(changes)
	}, changes); err != nil {
		return store.Receipt{}, fmt.Errorf("commit: %w", err)
	}
	return s.receipt(ctx, m)
}

// receipt answers the newest batch of a session, when it is as durable as asked.
// Where everything is forced to the disk, the batch was before it was applied.
func (s *Store) receipt(ctx context.Context, m meta) (store.Receipt, error) {
	if m.durable && s.cfg.Sync == SyncInterval {
		if err := s.log.Sync(ctx); err != nil {
			return store.Receipt{}, fmt.Errorf("commit: %w", asContext(ctx, err))
		}
	}
	return store.Receipt{Top: m.top, Durable: m.durable}, nil
}

// asContext is asStore for errors that may be the context's.
func asContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return asStore(err)
}

// batchSpare is up to what size the memory of a batch is used again.
const batchSpare = 64 << 10

// batch returns an empty batch for a bucket.
func (s *Store) batch(bucket string) *kvlog.Batch {
	if b, ok := s.batches.Get().(*kvlog.Batch); ok {
		b.Reset(bucket)
		return b
	}
	return kvlog.NewBatch(bucket)
}

// reuse takes back a batch that the log is done with.
func (s *Store) reuse(b *kvlog.Batch) {
	if b.Size() <= batchSpare {
		s.batches.Put(b)
	}
}

// changes adds a batch to changes of the session's bucket, and makes m what the
// session's meta will be.
func (s *Store) changes(out *kvlog.Batch, m *meta, b store.Batch) error {
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
	if err := s.consume(out, b.Consumed); err != nil {
		return err
	}
	if b.Card != nil {
		s.putSealed(out, cardKey, b.Card)
	}
	out.Put(metaKey, m.encode())
	return nil
}

// batchBytes is about how long a batch will be in the log.
func batchBytes(b store.Batch) int {
	n := 512 + len(b.Card) + 64*len(b.Ops)
	for _, f := range b.Events {
		n += len(f) + 1
	}
	for _, op := range b.Ops {
		for _, v := range op.Values {
			n += len(v) + 64
		}
	}
	return n
}

// buffer returns an empty buffer that buffers takes back.
func (s *Store) buffer() *[]byte {
	buf, ok := s.buffers.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	*buf = (*buf)[:0]
	return buf
}

// putSealed gives a key the stored form of a value.
func (s *Store) putSealed(out *kvlog.Batch, key string, value []byte) {
	buf := s.buffer()
	*buf = s.cfg.Schema.Seal(*buf, value)
	out.Put(key, *buf)
	s.buffers.Put(buf)
}

// appendEntry adds an entry to the log, and takes from its other end what the
// bounds have no room for.
func (s *Store) appendEntry(out *kvlog.Batch, m *meta, epoch, first uint64, frames [][]byte) error {
	entry := span{epoch: epoch, first: first, count: uint32(len(frames))} //nolint:gosec // limited by CheckBatch
	buf := s.buffer()
	for i, f := range frames {
		if i > 0 {
			*buf = append(*buf, '\n')
		}
		*buf = append(*buf, f...)
	}
	n := len(*buf)
	*buf = s.cfg.Schema.Seal(*buf, *buf)
	out.Put(entry.key(), (*buf)[n:])
	s.buffers.Put(buf)
	if m.events == 0 {
		m.oldest = entry.oldest()
	}
	m.top = entry.newest()
	m.events += uint64(len(frames))
	m.bytes += frameBytes(entry, n)
	return s.trim(out, m, entry)
}

// frameBytes is how many bytes of frames an entry holds, given the length of
// its value without the seal.
func frameBytes(s span, value int) uint64 { return uint64(value) + 1 - uint64(s.count) } //nolint:gosec // a line break between each two

// sealBytes is what a seal adds to a value.
var sealBytes = len(store.Schema{}.Seal(nil, nil))

// trim drops the oldest entries as long as the log is over its bounds, but
// never the newest one.
func (s *Store) trim(out *kvlog.Batch, m *meta, newest span) error {
	limits := s.cfg.Limits
	over := func() bool { return m.events > uint64(limits.LogEvents) || m.bytes > uint64(limits.LogBytes) } //nolint:gosec // positive
	if !over() {
		return nil
	}
	err := s.look(out.Bucket(), func(x *kvlog.Index) {
		for old := range x.Ascend(entryPrefix, after(entryPrefix)) {
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

// look calls fn with the index of a bucket.
func (s *Store) look(bucket string, fn func(x *kvlog.Index)) error {
	sel, err := s.log.Select(bucket, func(x *kvlog.Index, _ func(kvlog.Entry)) { fn(x) })
	if err != nil {
		return err
	}
	sel.Close()
	return nil
}
