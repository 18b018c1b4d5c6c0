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

// moveBytes is the number of bytes that compaction appends per task, between two groups of
// commits.
const moveBytes = 1 << 20

// retryAfter is the delay before compaction is retried after an error such as a full disk.
const retryAfter = time.Second

// maintenance is the state of the maintenance goroutine, which compacts segments, purges
// dropped buckets and evicts indexes.
type maintenance struct {
	wake chan struct{} // holds a token when there may be something to do

	stalled        atomic.Bool  // compaction cannot bring the folder below its bound at present
	firstDrop      atomic.Int64 // time of the first drop since the last purgeTimer, in Unix nanoseconds, or 0
	purgeScheduled atomic.Bool  // the purge timer is set
	evictScheduled atomic.Bool  // the eviction timer is set

	// The fields below belong to the maintenance goroutine, or to its tasks on the committer.
	retryAtTotal int64  // Log.total at which compaction is worth another round, after one that freed too little
	purgeTo      uint32 // segments up to this one may hold values of dropped buckets
	copiedBytes  int64  // bytes appended by the compaction of the current segment
	buf          []byte
}

// excess returns the bytes in the folder beyond twice the live bytes.
func (l *Log) excess() int64 { return l.total.Load() - 2*l.live.Load() }

// compactAbove returns the excess above which compaction starts.
func (l *Log) compactAbove() int64 { return 2 * l.cfg.SegmentBytes }

// compactionBehind reports whether commits must wait for compaction. The committer calls it
// before every group. After compaction starts, the folder may grow by one segment until
// compaction is done; the rest of [SlackSegments] covers the group itself, the data that
// compaction writes before it deletes, and values deleted meanwhile.
func (l *Log) compactionBehind() bool {
	q := &l.queue
	if l.excess() <= l.compactAbove() {
		q.maxTotal = 0
		return false
	}
	if q.maxTotal == 0 {
		q.maxTotal = l.total.Load() + l.cfg.SegmentBytes
	}
	return l.total.Load() > q.maxTotal && !l.maint.stalled.Load() && l.broken.Load() == nil
}

// wakeMaintenance wakes the maintenance goroutine if it has work. The committer calls it
// after every group.
func (l *Log) wakeMaintenance() {
	dropped := l.maint.firstDrop.Load() > 0 && !l.maint.purgeScheduled.Load()
	if l.excess() > l.compactAbove() || dropped || !l.maint.evictScheduled.Load() {
		notify(l.maint.wake)
	}
}

// maintenanceLoop is the maintenance goroutine.
func (l *Log) maintenanceLoop() {
	evictTimer, purgeTimer, retryTimer := stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer evictTimer.Stop()
	defer purgeTimer.Stop()
	defer retryTimer.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-evictTimer.C:
			l.maint.evictScheduled.Store(false)
			if next := l.evictIdle(time.Now()); !next.IsZero() {
				l.maint.evictScheduled.Store(true)
				evictTimer.Reset(max(time.Until(next), time.Millisecond))
			}
		case <-purgeTimer.C:
			l.beginPurge()
			l.maint.purgeScheduled.Store(false)
		case <-l.maint.wake:
			if !l.maint.evictScheduled.Swap(true) {
				evictTimer.Reset(l.cfg.EvictAfter)
			}
		case <-retryTimer.C:
		}
		if l.broken.Load() != nil {
			notify(l.queue.wake) // commits must not wait for compaction any more
			<-l.stop
			return
		}
		if first := l.maint.firstDrop.Load(); first > 0 && !l.maint.purgeScheduled.Swap(true) {
			due := time.Unix(0, first).Add(l.cfg.PurgeAfter)
			purgeTimer.Reset(max(time.Until(due), retryAfter))
			l.maint.retryAtTotal = 0
		}
		if err := l.compactAll(); err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrBroken) {
			l.cfg.Logger.Warn("compaction failed, retrying", "error", err)
			retryTimer.Reset(retryAfter)
		}
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// beginPurge starts a new segment and schedules the compaction of all segments before it,
// which contain all values of dropped buckets.
func (l *Log) beginPurge() {
	_ = l.runOnCommitter(func() []*Batch { // it returns no batches, so it cannot fail
		last := l.head().id
		if l.broken.Load() != nil {
			return nil
		}
		if _, err := l.startSegment(); err == nil { // else the disk is full and the purge is retried
			l.maint.purgeTo = last
			l.maint.firstDrop.Store(0)
		}
		return nil
	})
}

// compactAll compacts segments while the folder is above its bound or a purge is pending.
func (l *Log) compactAll() error {
	defer func() {
		l.maint.stalled.Store(l.excess() > l.compactAbove())
		l.maint.buf = nil
		notify(l.queue.wake) // commits that waited can go on
	}()
	end, freed := l.newest(), int64(0)
	for {
		seg := l.oldest()
		over := l.excess() > l.compactAbove() && l.total.Load() >= l.maint.retryAtTotal
		if !over && (seg.id > l.maint.purgeTo || seg.id >= end) {
			return nil
		}
		if seg.id >= end { // every segment was compacted once
			if freed < l.cfg.SegmentBytes {
				// Another round would free too little until more was written.
				l.maint.retryAtTotal = l.total.Load() + l.cfg.SegmentBytes
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
		l.maint.stalled.Store(false)
		l.maint.copiedBytes = 0
		if err := l.compact(seg); err != nil {
			return fmt.Errorf("compact %s: %w", segmentName(seg.id), err)
		}
		freed += seg.size - l.maint.copiedBytes
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

// compact appends the live values of the oldest segment to the end of the log and deletes
// the segment. Because it is the oldest, deletions recorded in it need no tombstones.
func (l *Log) compact(seg *segment) error {
	if err := l.copyLiveValues(seg); err != nil {
		return err
	}
	lost, err := l.deleteUnreadable(seg)
	if err != nil {
		return err
	}
	if err := l.runOnCommitter(func() []*Batch {
		return []*Batch{(&Batch{kind: kindFloor, body: floorBody(seg.id + 1)}).setChecksum()}
	}); err != nil {
		return err
	}
	// The copies must be on disk before the original is deleted, in every mode.
	if err := l.Sync(context.Background()); err != nil {
		return err
	}
	if lost {
		err = l.quarantineSegment(seg)
	} else {
		err = os.Remove(seg.path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The deletion of the next segment must not become durable before this one: if this
	// segment reappeared after a crash, keys deleted by records of later segments that
	// are gone would reappear with it.
	if err := syncDir(l.dir); err != nil {
		return l.markBroken(fmt.Errorf("fsync folder: %w", err))
	}
	err = l.runOnCommitter(func() []*Batch {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.segs = l.segs[1:]
		l.total.Add(-seg.size)
		return nil
	})
	seg.release()
	return err
}

// movedValue is a live value that compaction copies to the end of the log.
type movedValue struct {
	key   string
	from  loc
	value []byte
}

// copyLiveValues appends the live values of a segment to the end of the log.
func (l *Log) copyLiveValues(seg *segment) error {
	l.mu.RLock()
	live, size := seg.live, seg.size
	l.mu.RUnlock()
	if live == 0 {
		return nil
	}
	data, err := seg.readAll(l.maint.buf, size)
	if err != nil {
		return err
	}
	l.maint.buf = data
	gathered, bytes := map[string][]movedValue{}, 0
	for off := int64(segmentHeader); off >= 0 && off < size; {
		h, body, err := parseRecord(data[off:], seg.seed, off)
		if err != nil {
			// deleteUnreadable reports live values in these bytes.
			off = resync(data, seg.seed, off+1)
			continue
		}
		found, err := l.liveValuesIn(seg, h, body, off)
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
			if err := l.appendMoved(gathered); err != nil {
				return err
			}
			clear(gathered)
			bytes = 0
		}
	}
	return l.appendMoved(gathered)
}

// liveValuesIn returns the values of a record that the index still refers to.
func (l *Log) liveValuesIn(seg *segment, h header, body []byte, off int64) (found []movedValue, err error) {
	l.mu.RLock()
	b := l.buckets[h.name]
	evicted := b != nil && b.ix.Load() == nil
	elsewhere := evicted && !b.hasLiveIn(seg.id)
	l.mu.RUnlock()
	if b == nil || elsewhere || h.kind != kindBatch && h.kind != kindMove && h.kind != kindIndex {
		return nil, nil
	}
	if evicted {
		if err := l.loadIndex(b); err != nil {
			return nil, err
		}
	}
	if h.kind == kindIndex {
		return nil, nil // the index was loaded, so its record is no longer live
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
			found = append(found, movedValue{key: e.Key, from: at, value: m.arg.of(body)})
		}
	})
	return found, err
}

// appendMoved appends the values that are still live when the committer runs it.
func (l *Log) appendMoved(gathered map[string][]movedValue) error {
	return l.runOnCommitter(func() []*Batch {
		l.mu.RLock()
		defer l.mu.RUnlock()
		var batches []*Batch
		for name, list := range gathered {
			b := l.buckets[name]
			if b == nil || b.ix.Load() == nil {
				continue // dropped meanwhile, and perhaps created again
			}
			batch := &Batch{bucket: name, kind: kindMove}
			for _, m := range list {
				if e, ok := b.ix.Load().Get(m.key); ok && e.at == m.from {
					batch.Put(m.key, m.value)
				}
			}
			if l.maint.copiedBytes += int64(len(batch.body)); len(batch.muts) > 0 {
				batches = append(batches, batch.setChecksum())
			}
		}
		return batches
	})
}
