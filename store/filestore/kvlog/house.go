package kvlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// moveBytes is how much compaction copies at once, between two groups.
const moveBytes = 1 << 20

// retryAfter is how long compaction waits when it could not go on, as on a full
// disk.
const retryAfter = time.Second

// house is the state of the housekeeper, who compacts segments and folds
// buckets.
type house struct {
	wake chan struct{} // holds a token when there may be something to do

	stuck   atomic.Bool  // compaction could not do what it should
	dropped atomic.Int64 // when the first drop since the last purge was, or 0
	purging atomic.Bool  // the housekeeper knows of it
	folding atomic.Bool  // the housekeeper will look for buckets to fold

	// What follows belongs to the housekeeper alone.
	fruitless int64  // total when a whole round of compaction did not help
	purgeTo   uint32 // segments up to this one hold what was dropped
	moved     int64  // bytes that compaction of a segment copied
	buf       []byte
}

// excess is how many bytes the folder holds beyond twice what is live.
func (l *Log) excess() int64 { return l.total.Load() - 2*l.live.Load() }

// Compaction starts when there is more in excess than this.
func (l *Log) compactAbove() int64 { return 2 * l.cfg.SegmentBytes }

// behind reports whether compaction is so far behind that commits must wait for
// it. It is asked by the committer before every group. What is in excess when
// compaction starts may grow by one segment until it is done; the rest of
// [SlackSegments] is for the group itself, for what compaction writes before it
// deletes, and for values that are deleted meanwhile.
func (l *Log) behind() bool {
	q := &l.queue
	if l.excess() <= l.compactAbove() {
		q.ceiling = 0
		return false
	}
	if q.ceiling == 0 {
		q.ceiling = l.total.Load() + l.cfg.SegmentBytes
	}
	return l.total.Load() > q.ceiling && !l.house.stuck.Load() && l.broken.Load() == nil
}

// tendLater wakes the housekeeper if there is something for it. It is called
// by the committer after every group.
func (l *Log) tendLater() {
	dropped := l.house.dropped.Load() > 0 && !l.house.purging.Load()
	if l.excess() > l.compactAbove() || dropped || !l.house.folding.Load() {
		signal(l.house.wake)
	}
}

// housekeep is the housekeeper.
func (l *Log) housekeep() {
	fold, purge, retry := stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer fold.Stop()
	defer purge.Stop()
	defer retry.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-fold.C:
			l.house.folding.Store(false)
			if next := l.foldIdle(time.Now()); !next.IsZero() {
				l.house.folding.Store(true)
				fold.Reset(max(time.Until(next), time.Millisecond))
			}
		case <-purge.C:
			l.beginPurge()
			l.house.purging.Store(false)
		case <-l.house.wake:
			if !l.house.folding.Swap(true) {
				fold.Reset(l.cfg.FoldAfter)
			}
		case <-retry.C:
		}
		if l.broken.Load() != nil {
			signal(l.queue.wake) // nobody need wait for compaction any more
			<-l.stop
			return
		}
		if first := l.house.dropped.Load(); first > 0 && !l.house.purging.Swap(true) {
			due := time.Unix(0, first).Add(l.cfg.PurgeAfter)
			purge.Reset(max(time.Until(due), retryAfter))
			l.house.fruitless = 0
		}
		if err := l.compactAll(); err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrBroken) {
			l.cfg.Logger.Warn("compaction stopped and will be tried again", "error", err)
			retry.Reset(retryAfter)
		}
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// beginPurge starts a new segment and has those before it compacted: all that
// was dropped lies there.
func (l *Log) beginPurge() {
	_ = l.do(func() []*Batch { // it writes nothing that could fail
		last := l.head().id
		if l.broken.Load() != nil {
			return nil
		}
		if _, err := l.roll(); err == nil { // or else the disk is full and it is tried again
			l.house.purgeTo = last
			l.house.dropped.Store(0)
		}
		return nil
	})
}

// compactAll compacts segments as long as the folder is too large or something
// is to be purged.
func (l *Log) compactAll() error {
	defer func() {
		l.house.stuck.Store(l.excess() > l.compactAbove())
		l.house.buf = nil
		signal(l.queue.wake) // those who waited need not any more
	}()
	end, freed := l.newest(), int64(0)
	for {
		seg := l.oldest()
		over := l.excess() > l.compactAbove() && l.total.Load() >= l.house.fruitless
		if !over && (seg.id > l.house.purgeTo || seg.id >= end) {
			return nil
		}
		if seg.id >= end { // every segment was visited once
			if freed < l.cfg.SegmentBytes {
				// Going round again would not help. More writing may.
				l.house.fruitless = l.total.Load() + l.cfg.SegmentBytes
				return nil
			}
			if end, freed = l.newest(), 0; seg.id >= end {
				return nil
			}
		}
		select {
		case <-l.stop:
			return ErrClosed
		default:
		}
		l.house.stuck.Store(false)
		l.house.moved = 0
		if err := l.compact(seg); err != nil {
			return fmt.Errorf("compact %s: %w", segmentName(seg.id), err)
		}
		freed += seg.size - l.house.moved
	}
}

func (l *Log) oldest() *segment {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.segs[0]
}

func (l *Log) newest() uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.head().id
}

// compact writes what is live in the oldest segment to the end of the log and
// deletes the segment. Because it is the oldest, what was deleted there needs no
// remembering.
func (l *Log) compact(seg *segment) error {
	if err := l.evacuate(seg); err != nil {
		return err
	}
	lost, err := l.abandon(seg)
	if err != nil {
		return err
	}
	if err := l.do(func() []*Batch {
		return []*Batch{(&Batch{kind: kindFloor, body: floorBody(seg.id + 1)}).summed()}
	}); err != nil {
		return err
	}
	// What was copied must be on disk before the original goes, in every mode.
	if err := l.Sync(context.Background()); err != nil {
		return err
	}
	if lost {
		err = l.moveAside(seg)
	} else {
		err = os.Remove(seg.path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The next deletion must not become durable before this one: a segment
	// that came back would bring back what later ones had deleted.
	if err := syncDir(l.dir); err != nil {
		return l.fail(fmt.Errorf("fsync folder: %w", err))
	}
	err = l.do(func() []*Batch {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.segs = l.segs[1:]
		l.total.Add(-seg.size)
		return nil
	})
	seg.release()
	return err
}

// moved is a value on its way to the end of the log.
type moved struct {
	key   string
	from  loc
	value []byte
}

// evacuate copies what is live in a segment.
func (l *Log) evacuate(seg *segment) error {
	l.mu.RLock()
	live, size := seg.live, seg.size
	l.mu.RUnlock()
	if live == 0 {
		return nil
	}
	data, err := seg.readAll(l.house.buf, size)
	if err != nil {
		return err
	}
	l.house.buf = data
	gathered, bytes := map[string][]moved{}, 0
	for off := int64(segmentHeader); off >= 0 && off < size; {
		h, body, err := parseRecord(data[off:], seg.seed, off)
		if err != nil {
			// If anything live lies here, abandon will notice.
			off = resync(data, seg.seed, off+1)
			continue
		}
		found, err := l.liveIn(seg, h, body, off)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			gathered[h.name] = append(gathered[h.name], found...)
			for _, m := range found {
				bytes += len(m.value)
			}
		}
		if off += h.size(); bytes >= moveBytes {
			if err := l.move(gathered); err != nil {
				return err
			}
			clear(gathered)
			bytes = 0
		}
	}
	return l.move(gathered)
}

// liveIn returns the values in a record that the index still refers to.
func (l *Log) liveIn(seg *segment, h header, body []byte, off int64) (found []moved, err error) {
	l.mu.RLock()
	b := l.buckets[h.name]
	folded := b != nil && b.ix.Load() == nil
	elsewhere := folded && !b.liesIn(seg.id)
	l.mu.RUnlock()
	if b == nil || elsewhere || h.kind != kindBatch && h.kind != kindMove && h.kind != kindFold {
		return nil, nil
	}
	if folded {
		if err := l.unfold(b); err != nil {
			return nil, err
		}
	}
	if h.kind == kindFold {
		return nil, nil // unfolded, it is not needed any more
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	x, base := b.ix.Load(), off+h.size()-int64(h.body)
	err = parseBody(body, func(m mutation) {
		if m.op != opPut {
			return
		}
		at := m.loc(seg.id, base)
		if e, ok := get(x, m.key.of(body)); ok && e.at == at {
			found = append(found, moved{key: e.Key, from: at, value: m.arg.of(body)})
		}
	})
	return found, err
}

// move appends values that are still live when it is their turn.
func (l *Log) move(gathered map[string][]moved) error {
	return l.do(func() []*Batch {
		l.mu.RLock()
		defer l.mu.RUnlock()
		var batches []*Batch
		for name, list := range gathered {
			b := l.buckets[name]
			if b == nil || b.ix.Load() == nil {
				continue // dropped meanwhile, and perhaps made again
			}
			batch := &Batch{bucket: name, kind: kindMove}
			for _, m := range list {
				if e, ok := b.ix.Load().Get(m.key); ok && e.at == m.from {
					batch.Put(m.key, m.value)
				}
			}
			if l.house.moved += int64(len(batch.body)); len(batch.muts) > 0 {
				batches = append(batches, batch.summed())
			}
		}
		return batches
	})
}
