package kvlog

import (
	"iter"
	"slices"
	"strings"
)

// chunkEntries bounds the runs an index is made of: long enough to find things
// by bisection over few runs, short enough that inserting moves little memory.
const chunkEntries = 128

// Entry is one key of a bucket and where its value lies.
type Entry struct {
	Key string
	at  loc
}

// Size is the length of the value in bytes.
func (e Entry) Size() int { return int(e.at.size) }

// loc is where a value lies. A segment never outgrows 32 bits.
type loc struct {
	seg  uint32
	off  uint32
	size uint32
}

// cost is what an entry counts for in the sum of live bytes.
func (e Entry) cost() int64 { return int64(len(e.Key)) + int64(e.at.size) + entryOverhead }

// Index is the ordered index of a bucket: sorted runs of sorted entries, none
// of them empty.
type Index struct {
	runs [][]Entry
	n    int
}

// Len is the number of entries.
func (x *Index) Len() int { return x.n }

// seek returns the place of the first entry that is not before key.
func (x *Index) seek(key string) (run, i int) {
	run, _ = slices.BinarySearchFunc(x.runs, key, func(r []Entry, k string) int {
		return strings.Compare(r[len(r)-1].Key, k)
	})
	if run == len(x.runs) {
		return run, 0
	}
	i, _ = slices.BinarySearchFunc(x.runs[run], key, func(e Entry, k string) int {
		return strings.Compare(e.Key, k)
	})
	return run, i
}

// Get returns the entry of a key.
func (x *Index) Get(key string) (Entry, bool) {
	run, i := x.seek(key)
	if run == len(x.runs) || x.runs[run][i].Key != key {
		return Entry{}, false
	}
	return x.runs[run][i], true
}

// Ascend yields the entries from lo to before hi in order. An empty hi means
// the end.
func (x *Index) Ascend(lo, hi string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		run, i := x.seek(lo)
		for ; run < len(x.runs); run, i = run+1, 0 {
			for _, e := range x.runs[run][i:] {
				if hi != "" && e.Key >= hi || !yield(e) {
					return
				}
			}
		}
	}
}

// Descend yields the entries from before hi down to lo. An empty hi means the
// end.
func (x *Index) Descend(lo, hi string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		run, i := len(x.runs), 0
		if hi != "" {
			run, i = x.seek(hi)
		}
		for {
			for i--; i >= 0; i-- {
				if e := x.runs[run][i]; e.Key < lo || !yield(e) {
					return
				}
			}
			if run == 0 {
				return
			}
			run--
			i = len(x.runs[run])
		}
	}
}

// set puts an entry and returns the one it replaced.
func (x *Index) set(e Entry) (old Entry, replaced bool) {
	run, i := x.seek(e.Key)
	if run < len(x.runs) && x.runs[run][i].Key == e.Key {
		old = x.runs[run][i]
		x.runs[run][i].at = e.at // the old key's memory stays, it is the same
		return old, true
	}
	x.n++
	if run == len(x.runs) { // after everything else, as logs grow
		if run == 0 || len(x.runs[run-1]) >= chunkEntries {
			x.runs = append(x.runs, []Entry{e})
		} else {
			x.runs[run-1] = append(x.runs[run-1], e)
		}
		return Entry{}, false
	}
	r := slices.Insert(x.runs[run], i, e)
	x.runs[run] = r
	if len(r) > chunkEntries {
		half := len(r) / 2
		right := slices.Clone(r[half:])
		clear(r[half:])
		x.runs[run] = r[:half]
		x.runs = slices.Insert(x.runs, run+1, right)
	}
	return Entry{}, false
}

// remove deletes the entries from lo to before hi and shows each to gone.
func (x *Index) remove(lo, hi string, gone func(Entry)) {
	run, i := x.seek(lo)
	first := run // of the runs to delete
	for run < len(x.runs) {
		r := x.runs[run]
		j := len(r)
		if hi != "" && r[j-1].Key >= hi {
			j, _ = slices.BinarySearchFunc(r, hi, func(e Entry, k string) int { return strings.Compare(e.Key, k) })
		}
		j = max(i, j) // nothing when hi is before lo
		for _, e := range r[i:j] {
			gone(e)
		}
		x.n -= j - i
		switch {
		case i == 0 && j == len(r):
			run++
			continue
		case i == 0:
			// Logs are trimmed from the front: no need to move the rest.
			clear(r[:j])
			x.runs[run] = r[j:]
		default:
			x.runs[run] = slices.Delete(r, i, j)
			if j == len(r) { // the rest of this run went, go on in the next
				run++
				first++
				i = 0
				continue
			}
		}
		break
	}
	x.runs = slices.Delete(x.runs, first, run)
}

// mutate applies one change of a record whose body begins at body, and shows
// the entries that are not valid any more to gone.
func (x *Index) mutate(m mutation, seg uint32, body int64, gone func(Entry)) {
	switch m.op {
	case opPut:
		e := Entry{Key: m.key, at: loc{seg, uint32(body) + m.off, m.size}} //nolint:gosec // within a segment
		if old, ok := x.set(e); ok {
			gone(old)
		}
	case opDelete:
		x.remove(m.key, m.key+"\x00", gone)
	case opRange:
		x.remove(m.key, m.hi, gone)
	}
}
