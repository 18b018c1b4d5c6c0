package kvlog

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// contents is the state that the parts of a [Log] share: the index of all buckets, the
// segments and the sums over both. Its methods change it as records are applied.
type contents struct {
	// mu guards the index (the buckets with all their fields) and the list of segments. It
	// is never held across I/O. Only the committer modifies what mu guards, except that any
	// goroutine may load an evicted index; so the committer reads without the lock.
	mu      sync.RWMutex
	buckets map[string]*bucket
	segs    []*segment // oldest first; the last one is the head, which is written to

	total     atomic.Int64 // bytes in all segments
	live      atomic.Int64 // bytes of live entries and buckets
	firstDrop atomic.Int64 // time of the first drop of a bucket since the last purge, in Unix nanoseconds, or 0
}

// excess returns the bytes in the folder beyond twice the live bytes.
func (c *contents) excess() int64 { return c.total.Load() - 2*c.live.Load() }

func (c *contents) head() *segment { return c.segs[len(c.segs)-1] }

// segmentLocked returns the segment with the number id, or nil.
func (c *contents) segmentLocked(id uint32) *segment {
	if n := len(c.segs); n > 0 && c.segs[n-1].id == id { // the most likely one
		return c.segs[n-1]
	}
	i, ok := slices.BinarySearchFunc(c.segs, id, func(s *segment, id uint32) int { return cmp.Compare(s.id, id) })
	if !ok {
		return nil
	}
	return c.segs[i]
}

// withLoadedBucket calls fn as withBucket does, or returns the bucket if its index must be
// loaded first. The lock is released even if fn panics.
func (c *contents) withLoadedBucket(name string, fn func(b *bucket)) (evicted *bucket) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := c.buckets[name]
	if b != nil && b.ix.Load() == nil {
		return b
	}
	if b != nil {
		b.used.Store(time.Now().UnixNano())
	}
	fn(b)
	return nil
}

func (c *contents) oldest() *segment {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.segs[0]
}

func (c *contents) newest() uint32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.head().id
}

// applyLocked applies a batch, which was written to the end of a segment, to the index.
func (c *contents) applyLocked(b *Batch, seg *segment, now int64) {
	switch b.kind {
	case kindBatch, kindMove:
	case kindIndex:
		b.target.version = b.version
		c.evictLocked(b.target, loc{seg.id, uint32(seg.size), uint32(b.size())}) //nolint:gosec // within a segment
		return
	case kindDrop:
		c.dropLocked(b.bucket, b.dropTime)
		return
	default:
		return
	}
	t := b.target
	if t == nil || t.dropped {
		t = c.bucketLocked(b.bucket)
	}
	t.version = b.version
	t.used.Store(now)
	x, base, added := t.ix.Load(), seg.size+b.size()-int64(len(b.body)), int64(0)
	for _, m := range b.muts {
		x.mutate(m, b.body, seg.id, base, c.uncountLocked)
		if m.op == opPut {
			added += entryCost(m.key.size, m.arg.size)
		}
	}
	c.countLocked(seg.id, added)
}

// uncountLocked subtracts an entry that is no longer live from the live bytes.
func (c *contents) uncountLocked(old Entry) { c.countLocked(old.at.seg, -old.cost()) }

// bucketLocked returns a bucket, which it creates if needed.
func (c *contents) bucketLocked(name string) *bucket {
	b := c.buckets[name]
	if b == nil {
		b = &bucket{name: name}
		b.ix.Store(new(Index))
		c.buckets[name] = b
		c.live.Add(b.cost())
	}
	return b
}

// dropLocked removes a bucket that was dropped at the time when, in Unix nanoseconds.
func (c *contents) dropLocked(name string, when int64) {
	b := c.buckets[name]
	if b == nil {
		return
	}
	delete(c.buckets, name)
	b.dropped = true
	c.live.Add(-b.cost())
	if first := c.firstDrop.Load(); first == 0 || when < first {
		c.firstDrop.Store(when)
	}
	for _, t := range b.liveBySegment {
		c.countLocked(t.seg, -t.live)
	}
	if x := b.ix.Load(); x != nil {
		x.remove("", "", c.uncountLocked)
	}
}

// countLocked adds delta to the live bytes of a segment and of the log.
func (c *contents) countLocked(id uint32, delta int64) {
	c.live.Add(delta)
	if s := c.segmentLocked(id); s != nil {
		s.live += delta
	}
}

// evictLocked removes the index of a bucket from memory, after it was written to record.
func (c *contents) evictLocked(b *bucket, record loc) {
	b.indexRecord = record
	b.pins, b.liveBySegment = nil, nil
	for e := range b.ix.Load().Ascend("", "") {
		if pinned(e.Key) {
			b.pins = append(b.pins, e)
		}
		b.addLive(e.at.seg, e.cost())
	}
	b.addLive(record.seg, b.indexRecordCost())
	b.liveBySegment = slices.Clip(b.liveBySegment)
	b.ix.Store(nil)
	c.countLocked(record.seg, b.indexRecordCost())
}

// indexBatch returns the record with the index of a bucket; applying it evicts the index.
// It runs on the committer.
func (c *contents) indexBatch(name string) []*Batch {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := c.buckets[name]
	if b == nil || b.ix.Load() == nil {
		return nil
	}
	record := &Batch{bucket: name, kind: kindIndex, body: appendIndex(nil, b.ix.Load())}
	return []*Batch{record.setChecksum()}
}
