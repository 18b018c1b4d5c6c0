package kvlog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The body of a kindIndex record is the whole index of a bucket: key, segment, offset and
// size of each entry. It is written when the index of an unused bucket is evicted from
// memory. It is redundant: if it is lost, replaying the earlier records gives the same
// index.

func appendIndex(dst []byte, x *Index) []byte {
	for e := range x.Ascend("", "") {
		dst = binary.AppendUvarint(dst, uint64(len(e.Key)))
		dst = append(dst, e.Key...)
		dst = binary.AppendUvarint(dst, uint64(e.at.seg))
		dst = binary.AppendUvarint(dst, uint64(e.at.off))
		dst = binary.AppendUvarint(dst, uint64(e.at.size))
	}
	return dst
}

func parseIndex(body []byte) (*Index, error) {
	x := new(Index)
	for r := (reader{data: body}); !r.done(); {
		key, at := r.part(), loc{r.uint32(), r.uint32(), r.uint32()}
		if r.err != nil {
			return nil, r.err
		}
		put(x, key.of(body), at)
	}
	return x, nil
}

// evictIdle evicts the indexes of buckets that were not used for EvictAfter and returns
// when the next one is due, or the zero time if none is.
func (c *compactor) evictIdle(now time.Time) (next time.Time) {
	var idle []string
	c.log.contents.mu.RLock()
	for name, b := range c.log.contents.buckets {
		if x := b.ix.Load(); x == nil || x.Len() < minEvictEntries {
			continue
		}
		due := time.Unix(0, b.used.Load()).Add(c.log.cfg.EvictAfter)
		if !due.After(now) {
			idle = append(idle, name)
		} else if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	c.log.contents.mu.RUnlock()
	for _, name := range idle {
		err := c.log.runOnCommitter(func() []*Batch { return c.log.contents.indexBatch(name) })
		if err != nil {
			// The index stays in memory, which is harmless. Commits report the same
			// error to their callers.
			return now.Add(c.log.cfg.EvictAfter)
		}
	}
	return next
}

// indexRecordCost returns the contribution of the index record to the live bytes: that of
// an entry without a key.
func (b *bucket) indexRecordCost() int64 { return entryCost(0, b.indexRecord.size) }

func (b *bucket) addLive(seg uint32, live int64) {
	i, ok := slices.BinarySearchFunc(b.liveBySegment, seg, func(t segmentLive, seg uint32) int { return cmp.Compare(t.seg, seg) })
	if !ok {
		b.liveBySegment = slices.Insert(b.liveBySegment, i, segmentLive{seg: seg})
	}
	b.liveBySegment[i].live += live
}

// hasLiveIn reports whether a bucket with an evicted index has live bytes in a segment.
func (b *bucket) hasLiveIn(seg uint32) bool {
	return slices.ContainsFunc(b.liveBySegment, func(t segmentLive) bool { return t.seg == seg })
}

// loadIndex loads the index of a bucket if it is evicted. It does nothing for nil and for a
// dropped bucket.
func (l *Log) loadIndex(b *bucket) error {
	if b == nil || b.ix.Load() != nil {
		return nil
	}
	l.contents.mu.RLock()
	s := Selection{entries: []Entry{{at: b.indexRecord}}}
	evicted := b.ix.Load() == nil && !b.dropped // checked again under the lock; otherwise the record may be deleted
	if evicted {
		s.acquireSegmentsLocked(l.contents)
	}
	l.contents.mu.RUnlock()
	if !evicted {
		return nil
	}
	defer s.Close()
	x, err := s.readIndex()
	if errors.Is(err, ErrDamaged) {
		l.cfg.Logger.Warn("index record unreadable, rebuilding index from the log", "bucket", b.name, "error", err)
		x, err = l.rebuildIndex(b.name)
	}
	if err != nil {
		return fmt.Errorf("index of bucket %q: %w", b.name, err)
	}
	notify(l.maint.wake) // schedules the next eviction
	l.contents.mu.Lock()
	defer l.contents.mu.Unlock()
	if b.ix.Load() == nil && !b.dropped && b.indexRecord == s.entries[0].at {
		b.ix.Store(x)
		b.pins, b.liveBySegment = nil, nil
		l.contents.countLocked(b.indexRecord.seg, -b.indexRecordCost())
		b.used.Store(time.Now().UnixNano())
	}
	return nil
}

// readIndex decodes the index in the record that is the only entry of the selection.
func (s *Selection) readIndex() (*Index, error) {
	values, err := s.Values(0, 1)
	if err != nil {
		return nil, err
	}
	e := s.entries[0].at
	_, body, err := parseRecord(values[0], s.segment(e.seg).seed, int64(e.off))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	x, err := parseIndex(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return x, nil
}
