package filestore

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Commit applies a batch of a session's owner.
func (s *Store) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := s.enter(ctx); err != nil {
		return store.Receipt{}, err
	}
	if err := s.cfg.Limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	e := s.present(l.Session)
	if e == nil {
		return store.Receipt{}, store.ErrFenced
	}
	if err := e.turn.take(ctx); err != nil {
		return store.Receipt{}, err
	}
	p := s.step(e)
	e.mu.Lock()
	p.meta = e.meta
	err := e.holdsLocked(l)
	if err == nil {
		err = e.writableLocked()
	}
	e.mu.Unlock()
	switch {
	case err != nil:
	case b.Number == p.meta.number:
		e.turn.give()
		return s.receipt(ctx, p.meta.top, p.meta.durable)
	case b.Number != p.meta.number+1 || b.Prev != p.meta.top:
		err = &store.GapError{Top: p.meta.top, Number: p.meta.number}
	}
	if err != nil {
		e.turn.give()
		return store.Receipt{}, err
	}
	if err := s.fill(p, &b); err != nil {
		e.turn.give()
		return store.Receipt{}, fmt.Errorf("commit: %w", s.corrupt(e, err))
	}
	if err := s.await(ctx, p.done, p.settle, &p.changes); err != nil {
		return store.Receipt{}, fmt.Errorf("commit: %w", err)
	}
	top, durable := p.meta.top, p.meta.durable
	s.reuse(p)
	return s.receipt(ctx, top, durable)
}

// step is a commit on its way.
type step struct {
	session *session
	meta    meta // that the session will have
	changes kvlog.Batch
	buf     []byte      // for the meta as it is stored
	done    chan error  // holds what became of it
	settle  func(error) // is called by the log
}

// step returns a step of a session.
func (s *Store) step(e *session) *step {
	p, ok := s.steps.Get().(*step)
	if !ok {
		p = &step{done: make(chan error, 1)}
		p.settle = func(err error) {
			p.session.place = p.changes.BucketRef()
			p.session.finish(err, &p.meta)
			p.done <- err // from here on it may be somebody else's
		}
	}
	p.session = e
	p.changes.Reset(e.bucket, e.place)
	return p
}

// stepSpare is up to what size the memory of a step is used again.
const stepSpare = 64 << 10

// reuse takes back a step that the log is done with and nobody waits for.
func (s *Store) reuse(p *step) {
	if p.session = nil; p.changes.Size() <= stepSpare {
		s.steps.Put(p)
	}
}

// receipt answers the newest batch of a session, when it is as durable as asked.
// Where everything is forced to the disk, the batch was before it was applied.
func (s *Store) receipt(ctx context.Context, top wire.Position, durable bool) (store.Receipt, error) {
	if durable && s.cfg.Sync == SyncInterval {
		if err := s.log.Sync(ctx); err != nil {
			return store.Receipt{}, fmt.Errorf("commit: %w", asContext(ctx, err))
		}
	}
	return store.Receipt{Top: top, Durable: durable}, nil
}

// asContext is asStore for errors that may be the context's.
func asContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return asStore(err)
}

// fill adds a batch to the changes of a step, and makes its meta what the
// session's will be.
func (s *Store) fill(p *step, b *store.Batch) error {
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
	if err := s.consume(out, b.Consumed); err != nil {
		return err
	}
	if b.Card != nil {
		s.putSealed(out, []byte(cardKey), b.Card)
	}
	p.buf = m.append(p.buf[:0])
	out.Put(metaKey, p.buf)
	return nil
}

// batchBytes is about how long a batch will be in the log.
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

// putSealed gives a key the stored form of a value.
func (s *Store) putSealed(out *kvlog.Batch, key, value []byte) {
	s.cfg.Schema.Seal(out.Reserve(key, sealBytes+len(value))[:0], value)
}

// appendEntry adds an entry to the log, and takes from its other end what the
// bounds have no room for.
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
