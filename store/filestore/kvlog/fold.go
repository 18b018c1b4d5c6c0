package kvlog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The body of a kindFold record is the whole index of a bucket: for each entry
// its key, segment, offset and size. It is written when a bucket was not used
// for a while, so that a bucket nobody uses costs next to no memory. It says
// nothing that the records before it did not say; if it is lost, opening the
// log again finds the same index in them.

func appendFold(dst []byte, x *Index) []byte {
	for e := range x.Ascend("", "") {
		dst = binary.AppendUvarint(dst, uint64(len(e.Key)))
		dst = append(dst, e.Key...)
		dst = binary.AppendUvarint(dst, uint64(e.at.seg))
		dst = binary.AppendUvarint(dst, uint64(e.at.off))
		dst = binary.AppendUvarint(dst, uint64(e.at.size))
	}
	return dst
}

func parseFold(body []byte) (*Index, error) {
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

// foldIdle folds the buckets that were not used for a while and returns when
// the next one is due, or the zero time.
func (l *Log) foldIdle(now time.Time) (next time.Time) {
	var idle []string
	l.mu.RLock()
	for name, b := range l.buckets {
		if x := b.ix.Load(); x == nil || x.Len() < foldKeys {
			continue
		}
		due := time.Unix(0, b.used.Load()).Add(l.cfg.FoldAfter)
		if !due.After(now) {
			idle = append(idle, name)
		} else if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	l.mu.RUnlock()
	for _, name := range idle {
		err := l.do(func() []*Batch { return l.foldBatch(name) })
		if err != nil {
			// It stays in memory. That is no harm, and the reason is felt by
			// others more.
			return now.Add(l.cfg.FoldAfter)
		}
	}
	return next
}

// foldBatch returns the record that folds a bucket. It runs on the committer.
func (l *Log) foldBatch(name string) []*Batch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	b := l.buckets[name]
	if b == nil || b.ix.Load() == nil {
		return nil
	}
	fold := &Batch{bucket: name, kind: kindFold, body: appendFold(nil, b.ix.Load())}
	return []*Batch{fold.summed()}
}

// foldLocked forgets the index of a bucket, which is stored in a record.
func (l *Log) foldLocked(b *bucket, record loc) {
	b.fold = record
	b.pins, b.spread = nil, nil
	for e := range b.ix.Load().Ascend("", "") {
		if pinned(e.Key) {
			b.pins = append(b.pins, e)
		}
		b.spreadAdd(e.at.seg, e.cost())
	}
	b.spreadAdd(record.seg, b.foldCost())
	b.spread = slices.Clip(b.spread)
	b.ix.Store(nil)
	l.countLocked(record.seg, b.foldCost())
}

// foldCost is what the record of a folded index counts for: an entry without a
// key.
func (b *bucket) foldCost() int64 { return entryCost(0, b.fold.size) }

func (b *bucket) spreadAdd(seg uint32, live int64) {
	i, ok := slices.BinarySearchFunc(b.spread, seg, func(t tally, seg uint32) int { return cmp.Compare(t.seg, seg) })
	if !ok {
		b.spread = slices.Insert(b.spread, i, tally{seg: seg})
	}
	b.spread[i].live += live
}

// liesIn reports whether a folded bucket has anything in a segment.
func (b *bucket) liesIn(seg uint32) bool {
	return slices.ContainsFunc(b.spread, func(t tally) bool { return t.seg == seg })
}

// unfold brings the index of a bucket back to memory, if there is one and it is
// not there. A bucket that was dropped has none.
func (l *Log) unfold(b *bucket) error {
	if b == nil || b.ix.Load() != nil {
		return nil
	}
	l.mu.RLock()
	s := Selection{entries: []Entry{{at: b.fold}}}
	folded := b.ix.Load() == nil && !b.gone // still, or b.fold may be gone
	if folded {
		s.pinLocked(l)
	}
	l.mu.RUnlock()
	if !folded {
		return nil
	}
	defer s.Close()
	x, err := s.fold()
	if errors.Is(err, ErrDamaged) {
		l.cfg.Logger.Warn("folded index is unreadable and made anew", "bucket", b.name, "error", err)
		x, err = l.rebuild(b.name)
	}
	if err != nil {
		return fmt.Errorf("index of bucket %q: %w", b.name, err)
	}
	signal(l.house.wake) // it wants to be folded again one day
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.ix.Load() == nil && !b.gone && b.fold == s.entries[0].at {
		b.ix.Store(x)
		b.pins, b.spread = nil, nil
		l.countLocked(b.fold.seg, -b.foldCost())
		b.used.Store(time.Now().UnixNano())
	}
	return nil
}

// fold reads the index in the record that is selected.
func (s *Selection) fold() (*Index, error) {
	values, err := s.Values(0, 1)
	if err != nil {
		return nil, err
	}
	e := s.entries[0].at
	_, body, err := parseRecord(values[0], s.segment(e.seg).seed, int64(e.off))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	x, err := parseFold(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return x, nil
}
