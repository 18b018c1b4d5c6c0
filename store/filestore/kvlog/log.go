package kvlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Log is an open folder. Open makes one.
//
// Ownership: a Log owns its committer, its syncer and its housekeeper. Close
// ends them and waits.
type Log struct {
	dir  string
	cfg  Config
	id   [16]byte
	lock *os.File

	// mu guards the index: the buckets with everything in them and the list
	// of segments. It is never held across I/O. Only the committer changes
	// what it guards, except that anybody may unfold a bucket; so the
	// committer reads it without the lock.
	mu      sync.RWMutex
	buckets map[string]*bucket
	segs    []*segment // oldest first; the last one is written to
	total   atomic.Int64
	live    atomic.Int64

	top       *os.File // the durable file
	topFailed bool     // it was not written the last time; guarded by syncer.one

	queue  queue
	syncer syncer
	house  house

	written atomic.Uint64 // point up to which the operating system has it
	durable atomic.Uint64 // point up to which it is on disk
	broken  atomic.Pointer[error]
	full    atomic.Bool // the disk had no room for the newest write

	wg     sync.WaitGroup
	stop   chan struct{} // closed when the syncer and the housekeeper must end
	closed atomic.Bool
}

// bucket is a set of keys.
type bucket struct {
	// These are all that a batch needs. They lie side by side, since none of
	// them is in a cache when many buckets are written to in turn.

	// ix is nil when folded. Only the committer folds; anybody may unfold.
	ix      atomic.Pointer[Index]
	version uint64       // of its newest record
	used    atomic.Int64 // when it was last used, in Unix nanoseconds
	gone    bool         // dropped
	write   uint64       // for the committer alone: the newest write with records of this bucket
	staged  uint64       // for the committer alone: version of the newest of them

	name string

	// When folded, these are what is left of the index.
	fold   loc     // where the index is
	pins   []Entry // entries whose key begins with a zero byte
	spread []tally // live bytes by segment, that of fold included
}

// tally is how many live bytes lie in a segment.
type tally struct {
	seg  uint32
	live int64
}

// cost is what a bucket itself counts for in the sum of live bytes: a record
// of its own.
func (b *bucket) cost() int64 { return int64(headerBytes + len(b.name)) }

// pinned reports whether an entry stays in memory when its bucket is folded.
func pinned(key string) bool { return key != "" && key[0] == 0 }

func (l *Log) head() *segment { return l.segs[len(l.segs)-1] }

// usable reports why the log cannot be used.
func (l *Log) usable() error {
	if l.closed.Load() {
		return ErrClosed
	}
	return nil
}

// Err reports why the log takes no more batches, or nil.
func (l *Log) Err() error {
	if err := l.broken.Load(); err != nil {
		return *err
	}
	return l.usable()
}

// spaceProbe is how many bytes must fit on a disk that was full: more than most
// batches have.
const spaceProbe = 64 << 10

// CheckSpace returns [ErrNoSpace] if the newest write found no room and there is none
// now. It writes a file to find out, because free space of the disk does not
// show a quota.
func (l *Log) CheckSpace() error {
	if err := l.usable(); err != nil || !l.full.Load() {
		return err
	}
	path := filepath.Join(l.dir, "space.tmp")
	f, err := l.cfg.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err == nil {
		_, err = f.WriteAt(make([]byte, spaceProbe), 0)
		err = errors.Join(err, f.Close())
		_ = os.Remove(path) // another caller may have
	}
	if err != nil {
		return fmt.Errorf("check for space: %w", noSpace(err))
	}
	l.full.Store(false)
	return nil
}

// fail ends all writing for good.
func (l *Log) fail(err error) error {
	err = fmt.Errorf("%w: %w", ErrBroken, err)
	if l.broken.CompareAndSwap(nil, &err) {
		l.cfg.Logger.Error("log takes no more writes until it is opened again", "error", err)
	}
	return *l.broken.Load()
}

// view calls fn with a bucket under the read lock, or with nil if there is
// none, and sees to it that the bucket is not folded then.
func (l *Log) view(name string, fn func(b *bucket)) error {
	for {
		if err := l.usable(); err != nil {
			return err
		}
		b := l.viewIfUnfolded(name, fn)
		if b == nil {
			return nil
		}
		if err := l.unfold(b); err != nil {
			return err
		}
	}
}

// viewIfUnfolded calls fn as view does, or returns the bucket that must be
// unfolded before. The lock is let go of even if fn panics.
func (l *Log) viewIfUnfolded(name string, fn func(b *bucket)) (folded *bucket) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	b := l.buckets[name]
	if b != nil && b.ix.Load() == nil {
		return b
	}
	if b != nil {
		b.used.Store(time.Now().UnixNano())
	}
	fn(b)
	return nil
}

// segmentLocked returns a segment by its number, or nil.
func (l *Log) segmentLocked(id uint32) *segment {
	if n := len(l.segs); n > 0 && l.segs[n-1].id == id { // the most likely one
		return l.segs[n-1]
	}
	i, ok := slices.BinarySearchFunc(l.segs, id, func(s *segment, id uint32) int { return cmp.Compare(s.id, id) })
	if !ok {
		return nil
	}
	return l.segs[i]
}

// Buckets yields the names that begin with prefix, in order, as they are when
// it begins.
func (l *Log) Buckets(prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		l.mu.RLock()
		names := slices.Collect(maps.Keys(l.buckets))
		l.mu.RUnlock()
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
		slices.Sort(names)
		for _, n := range names {
			if !yield(n) {
				return
			}
		}
	}
}

// Pins selects the entries of a bucket whose keys begin with a zero byte. They
// are read without unfolding the bucket.
func (l *Log) Pins(name string) (*Selection, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	s := new(Selection)
	l.mu.RLock()
	defer l.mu.RUnlock()
	if b := l.buckets[name]; b == nil {
		return s, nil
	} else if x := b.ix.Load(); x != nil {
		s.entries = slices.Collect(x.Ascend("\x00", "\x01"))
	} else {
		s.entries = slices.Clone(b.pins)
	}
	s.pinLocked(l)
	return s, nil
}

// Select calls pick with the index of a bucket, which is empty if there is no
// such bucket, and returns the entries that pick kept. What pick sees is the
// state between two batches; it must not block, call the log, or hold on to the
// index. The caller must Close the selection.
func (l *Log) Select(name string, pick func(x *Index, keep func(Entry))) (*Selection, error) {
	s := new(Selection)
	err := l.view(name, func(b *bucket) {
		x := new(Index)
		if b != nil {
			x = b.ix.Load()
		}
		pick(x, func(e Entry) { s.entries = append(s.entries, e) })
		s.pinLocked(l)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Selection is a set of entries whose values stay readable, whatever happens to
// the log, until Close.
type Selection struct {
	entries []Entry
	segs    []*segment
}

// pinLocked keeps the segments of all entries. Entries outside any segment are
// found out when they are read.
func (s *Selection) pinLocked(l *Log) {
	for _, e := range s.entries {
		if s.segment(e.at.seg) == nil {
			if seg := l.segmentLocked(e.at.seg); seg != nil {
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

// Entries are what was selected, in the order it was.
func (s *Selection) Entries() []Entry { return s.entries }

// Place says where a value lies, for an operator to find it.
func (s *Selection) Place(i int) (file string, off int64) {
	return segmentName(s.entries[i].at.seg), int64(s.entries[i].at.off)
}

// Close lets go of the values.
func (s *Selection) Close() {
	for _, seg := range s.segs {
		seg.release()
	}
	s.segs = nil
}

// Reads of values that lie close together are done as one.
const (
	readGap = 1 << 10
	readRun = 1 << 20
)

// Values reads the values of entries from to before to. They may share memory
// with each other but with nothing else. They are what the disk holds: whoever
// wrote them must be able to tell whether they are whole.
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
			if next.seg != first.seg || int64(next.off) > end+readGap || next.end()-int64(first.off) > readRun {
				break
			}
			end = next.end()
		}
		buf := make([]byte, end-int64(first.off))
		seg := s.segment(first.seg)
		if seg == nil {
			return nil, fmt.Errorf("%w: segment %s of %q is gone", ErrDamaged, segmentName(first.seg), s.entries[order[0]].Key)
		}
		if _, err := seg.file.ReadAt(buf, int64(first.off)); err != nil {
			switch {
			case errors.Is(err, io.EOF):
				err = fmt.Errorf("%w: %w", ErrDamaged, io.ErrUnexpectedEOF)
			case errors.Is(err, fs.ErrClosed):
				err = ErrClosed // the log was, after the entry was found
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

func (a loc) end() int64 { return int64(a.off) + int64(a.size) }

func (a loc) compare(b loc) int {
	switch pa, pb := at(a.seg, int64(a.off)), at(b.seg, int64(b.off)); {
	case pa < pb:
		return -1
	case pa > pb:
		return 1
	}
	return 0
}
