package kvlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Log is an open folder; [Open] returns one. It writes batches and selects entries; its
// parts hold the index, sync, compact and quarantine. It owns three goroutines, the
// committer, the syncer and the maintenance goroutine. Close stops them and waits for them.
type Log struct {
	dir  string
	cfg  Config
	id   [16]byte
	lock *os.File

	contents   *contents
	status     *status
	quarantine *quarantine
	syncer     *syncer
	queue      queue
	maint      maintenance

	full atomic.Bool // the newest write failed for lack of space

	wg   sync.WaitGroup
	stop chan struct{} // closed to stop the syncer and the maintenance goroutine
}

// status is whether the log can be used.
type status struct {
	logger *slog.Logger
	broken atomic.Pointer[error] // the reason why the log refuses writes, or nil
	closed atomic.Bool
}

// bucket is a set of keys with its index.
type bucket struct {
	// The fields that applying a batch touches are adjacent: with many buckets none of
	// them is in a CPU cache.

	// ix is nil while the index is evicted. Only the committer evicts it; any goroutine
	// may load it.
	ix             atomic.Pointer[Index]
	version        uint64       // version of its newest record
	used           atomic.Int64 // time of the last use, in Unix nanoseconds
	dropped        bool         // dropped
	lastWrite      uint64       // committer only: number of the newest write with records of this bucket
	pendingVersion uint64       // committer only: version of the newest record in that write

	name string

	// While the index is evicted, these replace it.
	indexRecord   loc           // location of the record with the index
	pins          []Entry       // entries whose key begins with a zero byte
	liveBySegment []segmentLive // live bytes by segment, including indexRecord
}

// segmentLive is the number of live bytes in a segment.
type segmentLive struct {
	seg  uint32
	live int64
}

// cost is the contribution of the bucket itself to the live bytes: the size of one record
// without a body.
func (b *bucket) cost() int64 { return int64(headerBytes + len(b.name)) }

// pinned reports whether an entry stays in memory while the index of its bucket is evicted.
func pinned(key string) bool { return key != "" && key[0] == 0 }

// usable returns ErrClosed after Close.
func (s *status) usable() error {
	if s.closed.Load() {
		return ErrClosed
	}
	return nil
}

// Err returns the reason why the log accepts no batches ([ErrBroken], [ErrClosed]), or nil.
func (l *Log) Err() error {
	if err := l.status.broken.Load(); err != nil {
		return *err
	}
	return l.status.usable()
}

// spaceProbe is the size of the test write after a full disk: more than most batches have.
const spaceProbe = 64 << 10

// CheckSpace returns [ErrNoSpace] if the newest write failed for lack of space and a test
// write of spaceProbe bytes fails, too. It writes a file because the free space that the
// file system reports does not include quotas.
func (l *Log) CheckSpace() error {
	if err := l.status.usable(); err != nil || !l.full.Load() {
		return err
	}
	path := filepath.Join(l.dir, "space.tmp")
	f, err := l.cfg.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err == nil {
		_, err = f.WriteAt(make([]byte, spaceProbe), 0)
		err = errors.Join(err, f.Close())
		_ = os.Remove(path) // a concurrent caller may have removed it
	}
	if err != nil {
		return fmt.Errorf("check for space: %w", asNoSpace(err))
	}
	l.full.Store(false)
	return nil
}

// markBroken makes the log refuse all writes until it is opened again. The first error is
// kept.
func (s *status) markBroken(err error) error {
	err = fmt.Errorf("%w: %w", ErrBroken, err)
	if s.broken.CompareAndSwap(nil, &err) {
		s.logger.Error("log broken, refusing writes until reopened", "error", err)
	}
	return *s.broken.Load()
}

// withBucket calls fn under the read lock with the bucket, whose index is loaded, or with
// nil if the bucket does not exist.
func (l *Log) withBucket(name string, fn func(b *bucket)) error {
	for {
		if err := l.status.usable(); err != nil {
			return err
		}
		b := l.contents.withLoadedBucket(name, fn)
		if b == nil {
			return nil
		}
		if err := l.loadIndex(b); err != nil {
			return err
		}
	}
}

// Buckets yields the bucket names that begin with prefix in order, as of the start of the
// iteration.
func (l *Log) Buckets(prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		l.contents.mu.RLock()
		names := slices.Collect(maps.Keys(l.contents.buckets))
		l.contents.mu.RUnlock()
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
		slices.Sort(names)
		for _, n := range names {
			if !yield(n) {
				return
			}
		}
	}
}

// Pins selects the entries of a bucket whose keys begin with a zero byte, without loading
// an evicted index. The caller must Close the selection.
func (l *Log) Pins(name string) (*Selection, error) {
	if err := l.status.usable(); err != nil {
		return nil, err
	}
	s := new(Selection)
	l.contents.mu.RLock()
	defer l.contents.mu.RUnlock()
	if b := l.contents.buckets[name]; b == nil {
		return s, nil
	} else if x := b.ix.Load(); x != nil {
		s.entries = slices.Collect(x.Ascend("\x00", "\x01"))
	} else {
		s.entries = slices.Clone(b.pins)
	}
	s.acquireSegmentsLocked(l.contents)
	return s, nil
}

// Select calls pick with the index of a bucket, which is empty if the bucket does not
// exist, and returns the entries that pick passed to keep. pick sees the state between two
// batches; it must not block, call methods of the log, or retain the index. The caller must
// Close the selection.
func (l *Log) Select(name string, pick func(x *Index, keep func(Entry))) (*Selection, error) {
	s := new(Selection)
	err := l.withBucket(name, func(b *bucket) {
		x := new(Index)
		if b != nil {
			x = b.ix.Load()
		}
		pick(x, func(e Entry) { s.entries = append(s.entries, e) })
		s.acquireSegmentsLocked(l.contents)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Selection is a set of entries whose values stay readable until Close, even if they are
// deleted or compacted meanwhile.
type Selection struct {
	entries []Entry
	segs    []*segment
}

// acquireSegmentsLocked holds the segments of all entries. A missing segment becomes an
// error when the value is read.
func (s *Selection) acquireSegmentsLocked(c *contents) {
	for _, e := range s.entries {
		if s.segment(e.at.seg) == nil {
			if seg := c.segmentLocked(e.at.seg); seg != nil {
				seg.acquire()
				s.segs = append(s.segs, seg)
			}
		}
	}
}

func (s *Selection) segment(id uint32) *segment {
	for _, seg := range s.segs {
		if seg.id == id {
			return seg
		}
	}
	return nil
}

// Entries returns the selected entries in the order of selection.
func (s *Selection) Entries() []Entry { return s.entries }

// Location returns the file and the offset of a value, for error messages.
func (s *Selection) Location(i int) (file string, off int64) {
	return segmentName(s.entries[i].at.seg), int64(s.entries[i].at.off)
}

// Close releases the segments.
func (s *Selection) Close() {
	for _, seg := range s.segs {
		seg.release()
	}
	s.segs = nil
}

// Values calls ReadAt once for values that are at most maxReadGap bytes apart, up to
// maxReadBytes per call.
const (
	maxReadGap   = 1 << 10
	maxReadBytes = 1 << 20
)

// Values reads the values of the entries with indexes from to to-1. The results may share
// memory with each other only. They are not verified against a checksum: the caller must be
// able to detect damaged values.
func (s *Selection) Values(from, to int) ([][]byte, error) {
	order := make([]int, to-from)
	for i := range order {
		order[i] = from + i
	}
	slices.SortFunc(order, func(a, b int) int {
		return s.entries[a].at.compare(s.entries[b].at)
	})
	values := make([][]byte, to-from)
	for len(order) > 0 {
		first := s.entries[order[0]].at
		n, end := 1, first.end()
		for ; n < len(order); n++ {
			next := s.entries[order[n]].at
			if next.seg != first.seg || int64(next.off) > end+maxReadGap || next.end()-int64(first.off) > maxReadBytes {
				break
			}
			end = next.end()
		}
		buf := make([]byte, end-int64(first.off))
		seg := s.segment(first.seg)
		if seg == nil {
			return nil, fmt.Errorf("%w: segment %s of %q is missing", ErrDamaged, segmentName(first.seg), s.entries[order[0]].Key)
		}
		if _, err := seg.file.ReadAt(buf, int64(first.off)); err != nil {
			switch {
			case errors.Is(err, io.EOF):
				err = fmt.Errorf("%w: %w", ErrDamaged, io.ErrUnexpectedEOF)
			case errors.Is(err, fs.ErrClosed):
				err = ErrClosed // the log was closed after the entry was selected
			}
			return nil, fmt.Errorf("read %s: %w", filepath.Base(seg.path), err)
		}
		for _, i := range order[:n] {
			e := s.entries[i].at
			lo := e.off - first.off
			values[i-from] = buf[lo : lo+e.size : lo+e.size]
		}
		order = order[n:]
	}
	return values, nil
}

func (l loc) end() int64 { return int64(l.off) + int64(l.size) }

func (l loc) compare(b loc) int {
	switch pa, pb := at(l.seg, int64(l.off)), at(b.seg, int64(b.off)); {
	case pa < pb:
		return -1
	case pa > pb:
		return 1
	}
	return 0
}
