package kvlog

import (
	"iter"
	"slices"
)

// chunkEntries bounds the length of a run: long enough that a binary search covers few
// runs, short enough that an insertion moves little memory.
const chunkEntries = 128

// Entry is one key of a bucket with the location of its value.
type Entry struct {
	Key string
	at  loc
}

// Size returns the length of the value in bytes.
func (e Entry) Size() int { return int(e.at.size) }

// loc is the location of a value. Segments are smaller than 4 GiB.
type loc struct {
	seg  uint32
	off  uint32
	size uint32
}

// cost returns the contribution of an entry to the live bytes.
func (e Entry) cost() int64 { return entryCost(uint32(len(e.Key)), e.at.size) } //nolint:gosec // within a body

func entryCost(key, value uint32) int64 { return int64(key) + int64(value) + entryOverhead }

// Index is the ordered index of a bucket: sorted runs of sorted entries. No run is empty.
type Index struct {
	runs []run
	n    int
}

// run is a contiguous part of the index. All its keys begin with the same byte (lead): keys
// that are appended with every batch, such as those of a session's log, are at the end of
// their own run, where they are found and added without moving other entries.
type run struct {
	lead    uint16
	recent  uint16 // index of the entry that was put last; a hint that may be outdated
	entries []Entry
}

// key is a key as a string or as bytes. Keys in the body of a batch are bytes and are
// converted to a string only if the index stores them.
type key interface{ string | []byte }

// leadOf returns the first byte of a key plus one, or 0 for the empty key. Leads have the
// same order as their keys.
func leadOf[K key](k K) uint16 {
	if len(k) == 0 {
		return 0
	}
	return uint16(k[0]) + 1
}

// Len returns the number of entries.
func (x *Index) Len() int { return x.n }

// seek returns the run and the index in it of the first entry that is not less than key.
func seek[K key](x *Index, key K) (at, i int) {
	lead := leadOf(key)
	lo, hi := 0, len(x.runs)
	for lo < hi {
		mid := (lo + hi) / 2
		if r := &x.runs[mid]; r.lead < lead || r.lead == lead && r.entries[len(r.entries)-1].Key < string(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(x.runs) || x.runs[lo].lead > lead {
		return lo, 0
	}
	return lo, search(x.runs[lo].entries, key)
}

// search returns the index of the first entry that is not less than key.
func search[K key](entries []Entry, key K) int {
	lo, hi := 0, len(entries)
	for lo < hi {
		mid := (lo + hi) / 2
		if entries[mid].Key < string(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Get returns the entry of a key.
func (x *Index) Get(key string) (Entry, bool) { return get(x, key) }

func get[K key](x *Index, key K) (Entry, bool) {
	at, i := seek(x, key)
	if at == len(x.runs) || x.runs[at].entries[i].Key != string(key) {
		return Entry{}, false
	}
	return x.runs[at].entries[i], true
}

// Ascend yields the entries with lo <= key < hi in order. An empty hi means no upper bound.
func (x *Index) Ascend(lo, hi string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		at, i := seek(x, lo)
		for ; at < len(x.runs); at, i = at+1, 0 {
			for _, e := range x.runs[at].entries[i:] {
				if hi != "" && e.Key >= hi || !yield(e) {
					return
				}
			}
		}
	}
}

// Descend yields the entries with lo <= key < hi in reverse order. An empty hi means no
// upper bound.
func (x *Index) Descend(lo, hi string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		at, i := len(x.runs), 0
		if hi != "" {
			at, i = seek(x, hi)
		}
		for {
			for i--; i >= 0; i-- {
				if e := x.runs[at].entries[i]; e.Key < lo || !yield(e) {
					return
				}
			}
			if at == 0 {
				return
			}
			at--
			i = len(x.runs[at].entries)
		}
	}
}

// put sets the location of a key's value and returns the entry it replaced. It first tries
// the key that was put last and the end of the run, which cover most calls because logs
// grow at their end, and searches only otherwise: the index of a bucket is seldom in a CPU
// cache.
func put[K key](x *Index, key K, to loc) (old Entry, replaced bool) {
	lead := leadOf(key)
	at := x.lastRun(lead)
	if at < 0 || x.runs[at].lead != lead {
		x.runs = slices.Insert(x.runs, at+1, run{lead: lead})
		x.insert(at+1, 0, Entry{Key: string(key), at: to})
		return Entry{}, false
	}
	r, i := &x.runs[at], int(x.runs[at].recent)
	if i >= len(r.entries) || r.entries[i].Key != string(key) {
		if i = len(r.entries); r.entries[i-1].Key >= string(key) {
			at, i = seek(x, key)
			r = &x.runs[at]
		}
	}
	if i == len(r.entries) || r.entries[i].Key != string(key) {
		x.insert(at, i, Entry{Key: string(key), at: to})
		return Entry{}, false
	}
	old, r.entries[i].at, r.recent = r.entries[i], to, uint16(i) //nolint:gosec // below chunkEntries
	return old, true
}

// lastRun returns the last run whose lead is not greater than lead, or -1.
func (x *Index) lastRun(lead uint16) int {
	lo, hi := 0, len(x.runs)
	for lo < hi {
		mid := (lo + hi) / 2
		if x.runs[mid].lead <= lead {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// insert adds an entry at index i of a run and splits the run if it is full.
func (x *Index) insert(at, i int, e Entry) {
	x.n++
	if r := &x.runs[at]; len(r.entries) == chunkEntries {
		half := chunkEntries / 2
		if i == chunkEntries { // appended keys fill the old run completely
			half = i
		}
		right := slices.Clone(r.entries[half:])
		clear(r.entries[half:])
		r.entries = r.entries[:half]
		x.runs = slices.Insert(x.runs, at+1, run{lead: r.lead, entries: right})
		if i > half || half == chunkEntries {
			at, i = at+1, i-half
		}
	}
	r := &x.runs[at]
	r.entries, r.recent = slices.Insert(r.entries, i, e), uint16(i) //nolint:gosec // below chunkEntries
}

// remove deletes the entries with lo <= key < hi and calls gone for each. An empty hi means
// no upper bound.
func (x *Index) remove(lo, hi string, gone func(Entry)) {
	at, i := seek(x, lo)
	first := at // first of the runs to delete
	for at < len(x.runs) {
		r := x.runs[at].entries
		j := len(r)
		if hi != "" && r[j-1].Key >= hi {
			j = search(r, hi)
		}
		j = max(i, j) // nothing when hi is before lo
		for _, e := range r[i:j] {
			gone(e)
		}
		x.n -= j - i
		switch {
		case i == 0 && j == len(r):
			at++
			continue
		case i == 0:
			// Logs are trimmed from the front: the remaining entries do not move.
			clear(r[:j])
			x.runs[at].entries = r[j:]
		default:
			x.runs[at].entries = slices.Delete(r, i, j)
			if j == len(r) { // the tail of this run was deleted, continue with the next run
				at++
				first++
				i = 0
				continue
			}
		}
		break
	}
	x.runs = slices.Delete(x.runs, first, at)
}

// mutate applies one mutation of a record, whose body begins at base in segment seg, and
// calls gone for each entry that it replaces or deletes.
func (x *Index) mutate(m mutation, body []byte, seg uint32, base int64, gone func(Entry)) {
	switch m.op {
	case opPut:
		if old, ok := put(x, m.key.of(body), m.loc(seg, base)); ok {
			gone(old)
		}
	case opDelete:
		key := string(m.key.of(body))
		x.remove(key, key+"\x00", gone)
	case opRange:
		x.remove(string(m.key.of(body)), string(m.arg.of(body)), gone)
	}
}
