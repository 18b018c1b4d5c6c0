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

// maintenance holds the signals between the committer and the maintenance goroutine.
type maintenance struct {
	wake           chan struct{} // holds a token when there may be something to do
	stalled        atomic.Bool   // compaction cannot bring the folder below its bound at present
	purgeScheduled atomic.Bool   // the purge timer is set
	evictScheduled atomic.Bool   // the eviction timer is set
}

// compactor is the maintenance goroutine: it compacts segments, purges dropped buckets and
// evicts indexes. It changes the log through tasks of the committer only. Its fields belong
// to that goroutine, or to its tasks on the committer.
type compactor struct {
	log          *Log
	retryAtTotal int64  // size of the log at which compaction is worth another round, after one that freed too little
	purgeTo      uint32 // segments up to this one may hold values of dropped buckets
	copiedBytes  int64  // bytes appended by the compaction of the current segment
	buf          []byte
}

// compactAbove returns the excess above which compaction starts.
func (l *Log) compactAbove() int64 { return 2 * l.cfg.SegmentBytes }

// compactionBehind reports whether commits must wait for compaction. The committer calls it
// before every group. After compaction starts, the folder may grow by one segment until
// compaction is done; the rest of [SlackSegments] covers the group itself, the data that
// compaction writes before it deletes, and values deleted meanwhile.
func (l *Log) compactionBehind() bool {
	q := &l.queue
	if l.contents.excess() <= l.compactAbove() {
		q.maxTotal = 0
		return false
	}
	if q.maxTotal == 0 {
		q.maxTotal = l.contents.total.Load() + l.cfg.SegmentBytes
	}
	return l.contents.total.Load() > q.maxTotal && !l.maint.stalled.Load() && l.status.broken.Load() == nil
}

// wakeMaintenance wakes the maintenance goroutine if it has work. The committer calls it
// after every group.
func (l *Log) wakeMaintenance() {
	dropped := l.contents.firstDrop.Load() > 0 && !l.maint.purgeScheduled.Load()
	if l.contents.excess() > l.compactAbove() || dropped || !l.maint.evictScheduled.Load() {
		notify(l.maint.wake)
	}
}

// run is the loop of the maintenance goroutine.
func (c *compactor) run() {
	evictTimer, purgeTimer, retryTimer := stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer evictTimer.Stop()
	defer purgeTimer.Stop()
	defer retryTimer.Stop()
	for {
		select {
		case <-c.log.stop:
			return
		case <-evictTimer.C:
			c.log.maint.evictScheduled.Store(false)
			if next := c.evictIdle(time.Now()); !next.IsZero() {
				c.log.maint.evictScheduled.Store(true)
				evictTimer.Reset(max(time.Until(next), time.Millisecond))
			}
		case <-purgeTimer.C:
			c.beginPurge()
			c.log.maint.purgeScheduled.Store(false)
		case <-c.log.maint.wake:
			if !c.log.maint.evictScheduled.Swap(true) {
				evictTimer.Reset(c.log.cfg.EvictAfter)
			}
		case <-retryTimer.C:
		}
		if c.log.status.broken.Load() != nil {
			notify(c.log.queue.wake) // commits must not wait for compaction any more
			<-c.log.stop
			return
		}
		if first := c.log.contents.firstDrop.Load(); first > 0 && !c.log.maint.purgeScheduled.Swap(true) {
			due := time.Unix(0, first).Add(c.log.cfg.PurgeAfter)
			purgeTimer.Reset(max(time.Until(due), retryAfter))
			c.retryAtTotal = 0
		}
		if err := c.compactAll(); err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrBroken) {
			c.log.cfg.Logger.Warn("compaction failed, retrying", "error", err)
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
func (c *compactor) beginPurge() {
	_ = c.log.runOnCommitter(func() []*Batch { // it returns no batches, so it cannot fail
		last := c.log.contents.head().id
		if c.log.status.broken.Load() != nil {
			return nil
		}
		if _, err := c.log.startSegment(); err == nil { // else the disk is full and the purge is retried
			c.purgeTo = last
			c.log.contents.firstDrop.Store(0)
		}
		return nil
	})
}

// compactAll compacts segments while the folder is above its bound or a purge is pending.
func (c *compactor) compactAll() error {
	defer func() {
		c.log.maint.stalled.Store(c.log.contents.excess() > c.log.compactAbove())
		c.buf = nil
		notify(c.log.queue.wake) // commits that waited can go on
	}()
	end, freed := c.log.contents.newest(), int64(0)
	for {
		seg := c.log.contents.oldest()
		over := c.log.contents.excess() > c.log.compactAbove() && c.log.contents.total.Load() >= c.retryAtTotal
		if !over && (seg.id > c.purgeTo || seg.id >= end) {
			return nil
		}
		if seg.id >= end { // every segment was compacted once
			if freed < c.log.cfg.SegmentBytes {
				// Another round would free too little until more was written.
				c.retryAtTotal = c.log.contents.total.Load() + c.log.cfg.SegmentBytes
				return nil
			}
			if end, freed = c.log.contents.newest(), 0; seg.id >= end {
				return nil
			}
		}
		select {
		case <-c.log.stop:
			return ErrClosed
		default:
		}
		c.log.maint.stalled.Store(false)
		c.copiedBytes = 0
		if err := c.compact(seg); err != nil {
			return fmt.Errorf("compact %s: %w", segmentName(seg.id), err)
		}
		freed += seg.size - c.copiedBytes
	}
}

// compact appends the live values of the oldest segment to the end of the log and deletes
// the segment. Because it is the oldest, deletions recorded in it need no tombstones.
func (c *compactor) compact(seg *segment) error {
	if err := c.copyLiveValues(seg); err != nil {
		return err
	}
	lost, err := c.deleteUnreadable(seg)
	if err != nil {
		return err
	}
	if err := c.log.runOnCommitter(func() []*Batch {
		return []*Batch{(&Batch{kind: kindFloor, body: floorBody(seg.id + 1)}).setChecksum()}
	}); err != nil {
		return err
	}
	// The copies must be on disk before the original is deleted, in every mode.
	if err := c.log.Sync(context.Background()); err != nil {
		return err
	}
	if lost {
		err = c.log.quarantine.moveSegment(seg)
	} else {
		err = os.Remove(seg.path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The deletion of the next segment must not become durable before this one: if this
	// segment reappeared after a crash, keys deleted by records of later segments that
	// are gone would reappear with it.
	if err := syncDir(c.log.dir); err != nil {
		return c.log.status.markBroken(fmt.Errorf("fsync folder: %w", err))
	}
	err = c.log.runOnCommitter(func() []*Batch {
		c.log.contents.mu.Lock()
		defer c.log.contents.mu.Unlock()
		c.log.contents.segs = c.log.contents.segs[1:]
		c.log.contents.total.Add(-seg.size)
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
func (c *compactor) copyLiveValues(seg *segment) error {
	c.log.contents.mu.RLock()
	live, size := seg.live, seg.size
	c.log.contents.mu.RUnlock()
	if live == 0 {
		return nil
	}
	data, err := seg.readAll(c.buf, size)
	if err != nil {
		return err
	}
	c.buf = data
	gathered, bytes := map[string][]movedValue{}, 0
	for off := int64(segmentHeader); off >= 0 && off < size; {
		h, body, err := parseRecord(data[off:], seg.seed, off)
		if err != nil {
			// deleteUnreadable reports live values in these bytes.
			off = resync(data, seg.seed, off+1)
			continue
		}
		found, err := c.liveValuesIn(seg, h, body, off)
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
			if err := c.appendMoved(gathered); err != nil {
				return err
			}
			clear(gathered)
			bytes = 0
		}
	}
	return c.appendMoved(gathered)
}

// liveValuesIn returns the values of a record that the index still refers to.
func (c *compactor) liveValuesIn(seg *segment, h header, body []byte, off int64) (found []movedValue, err error) {
	c.log.contents.mu.RLock()
	b := c.log.contents.buckets[h.name]
	evicted := b != nil && b.ix.Load() == nil
	elsewhere := evicted && !b.hasLiveIn(seg.id)
	c.log.contents.mu.RUnlock()
	if b == nil || elsewhere || h.kind != kindBatch && h.kind != kindMove && h.kind != kindIndex {
		return nil, nil
	}
	if evicted {
		if err := c.log.loadIndex(b); err != nil {
			return nil, err
		}
	}
	if h.kind == kindIndex {
		return nil, nil // the index was loaded, so its record is no longer live
	}
	c.log.contents.mu.RLock()
	defer c.log.contents.mu.RUnlock()
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
func (c *compactor) appendMoved(gathered map[string][]movedValue) error {
	return c.log.runOnCommitter(func() []*Batch {
		c.log.contents.mu.RLock()
		defer c.log.contents.mu.RUnlock()
		var batches []*Batch
		for name, list := range gathered {
			b := c.log.contents.buckets[name]
			if b == nil || b.ix.Load() == nil {
				continue // dropped meanwhile, and perhaps created again
			}
			batch := &Batch{bucket: name, kind: kindMove}
			for _, m := range list {
				if e, ok := b.ix.Load().Get(m.key); ok && e.at == m.from {
					batch.Put(m.key, m.value)
				}
			}
			if c.copiedBytes += int64(len(batch.body)); len(batch.muts) > 0 {
				batches = append(batches, batch.setChecksum())
			}
		}
		return batches
	})
}
