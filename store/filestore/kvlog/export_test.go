package kvlog

import (
	"fmt"
	"path/filepath"
)

// The parts of the format that tests damage on purpose.
const (
	SegmentHeader = segmentHeader
	HeaderBytes   = headerBytes
	DurableName   = durableName
)

// Kill ends a log the way the death of its process does: nothing more is
// written, nothing synced.
func (l *Log) Kill() error {
	err := fmt.Errorf("%w: killed", ErrBroken)
	l.status.broken.Store(&err)
	return l.Close()
}

// Audit compares the running sums with what the index really holds.
func (l *Log) Audit() error {
	l.contents.mu.Lock()
	defer l.contents.mu.Unlock()
	total, live := l.contents.total.Load(), l.contents.live.Load()
	perSegment := map[uint32]int64{}
	for _, s := range l.contents.segs {
		perSegment[s.id] = s.live
	}
	(&replay{Log: l}).recountLive()
	if t, v := l.contents.total.Load(), l.contents.live.Load(); t != total || v != live {
		return fmt.Errorf("sums are %d total, %d live, want %d, %d", total, live, t, v)
	}
	for _, s := range l.contents.segs {
		if perSegment[s.id] != s.live {
			return fmt.Errorf("segment %d has %d live, want %d", s.id, perSegment[s.id], s.live)
		}
	}
	return nil
}

// Sums returns the bytes in the folder and those that are live.
func (l *Log) Sums() (total, live int64) { return l.contents.total.Load(), l.contents.live.Load() }

// Evicted returns the number of buckets with an evicted index, and of all buckets.
func (l *Log) Evicted() (folded, all int) {
	l.contents.mu.RLock()
	defer l.contents.mu.RUnlock()
	for _, b := range l.contents.buckets {
		if b.ix.Load() == nil {
			folded++
		}
	}
	return folded, len(l.contents.buckets)
}

// Where returns the file and place of a value.
func (l *Log) Where(name, key string) (path string, off, size int64) {
	_ = l.withBucket(name, func(b *bucket) {
		if e, ok := b.ix.Load().Get(key); ok {
			path, off, size = filepath.Join(l.dir, segmentName(e.at.seg)), int64(e.at.off), int64(e.at.size)
		}
	})
	return path, off, size
}

// WhereIndexRecord returns the file and the location of a bucket's index record.
func (l *Log) WhereIndexRecord(name string) (path string, off, size int64) {
	l.contents.mu.RLock()
	defer l.contents.mu.RUnlock()
	b := l.contents.buckets[name]
	if b == nil || b.ix.Load() != nil {
		return "", 0, 0
	}
	return filepath.Join(l.dir, segmentName(b.indexRecord.seg)), int64(b.indexRecord.off), int64(b.indexRecord.size)
}

// Evict evicts the index of a bucket.
func (l *Log) Evict(name string) error {
	return l.runOnCommitter(func() []*Batch { return l.contents.indexBatch(name) })
}

// ReadRecord is what opening a log does with the bytes of a record.
func ReadRecord(data []byte, off int64) (size int64, err error) {
	h, _, err := readRecord(data, seed([16]byte{}, 1), off)
	return h.size(), err
}

// AppendRecord makes a record that ReadRecord takes.
func AppendRecord(b *Batch, version uint64, off int64) []byte {
	b.version = version
	return appendRecord(nil, seed([16]byte{}, 1), off, b.setChecksum().header(0), b.body)
}

// Resync is how opening a log finds the next record.
func Resync(data []byte, off int64) int64 { return resync(data, seed([16]byte{}, 1), off) }

// NewIndex, Set and Remove let tests drive an index by itself.
func NewIndex() *Index { return new(Index) }

func (x *Index) Set(key string, size uint32) { put(x, key, loc{size: size}) }

func (x *Index) Remove(lo, hi string) (gone []string) {
	x.remove(lo, hi, func(e Entry) { gone = append(gone, e.Key) })
	return gone
}
