package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ArchiveTable is the table with what is known of the archives, by monitor.
const ArchiveTable = "archive"

// How much an archive keeps. It is trimmed by whole chunks, so that adding a row
// costs the same whatever is there.
const (
	// MaxArchived is how many rows it has at least when it is trimmed, and
	// chunkRows how many more it may have until then.
	MaxArchived = 10_000
	chunkRows   = 500
	// MaxArchivedBytes is how long its rows are together, but for the newest
	// chunk, and chunkBytes how long those of a chunk are, but for the last.
	MaxArchivedBytes = 8 << 20
	chunkBytes       = 256 << 10
)

// ArchiveList is the list with all rows of a conversation, the oldest first.
func ArchiveList(monitor wire.MonitorID) string { return store.ColdPrefix + "ui:" + string(monitor) }

var rowFormat = sync.OnceValue(wire.FormatOf[wire.UIRow])

// EncodeRow writes a row as an archive has it.
func EncodeRow(r *wire.UIRow) []byte { return rowFormat().Append(nil, r) }

// DecodeRow reads a row of an archive.
func DecodeRow(item []byte) (wire.UIRow, error) {
	row, err := rowFormat().DecodeOwn(item)
	if err != nil {
		return row, fmt.Errorf("row of an archive: %w", err)
	}
	return row, nil
}

// Archive is what is known of the list with all rows of a conversation: how many
// there are and how long they are, in the chunks by which it is trimmed. Its
// methods return what has to be done to the list. The newest rows of a
// conversation, those that the desktop has, are always the end of it.
type Archive struct {
	monitor wire.MonitorID
	chunks  []chunk
	changed bool
}

// chunk is some rows that follow each other.
type chunk struct {
	First wire.Millis `json:"first"` // ts of the first row
	Rows  int         `json:"rows"`
	Bytes int         `json:"bytes"`
}

// NewArchive is the archive of a conversation that has none, with the rows that
// the conversation has.
func NewArchive(monitor wire.MonitorID, rows []wire.UIRow) (*Archive, []store.Op) {
	a := &Archive{monitor: monitor, changed: true}
	return a, append([]store.Op{store.Drop(a.List())}, a.Add(rows...)...)
}

// RestoreArchives are the archives of a session that was kept.
func RestoreArchives(fields map[string][]byte) (map[wire.MonitorID]*Archive, error) {
	all := make(map[wire.MonitorID]*Archive, len(fields))
	for field, data := range fields {
		a := &Archive{monitor: wire.MonitorID(field)}
		if err := json.Unmarshal(data, &a.chunks); err != nil {
			return nil, fmt.Errorf("archive of %s: %w", field, err)
		}
		for _, c := range a.chunks {
			if c.Rows < 1 || c.Bytes < 0 {
				return nil, fmt.Errorf("archive of %s: a chunk of %d rows and %d bytes", field, c.Rows, c.Bytes)
			}
		}
		all[a.monitor] = a
	}
	return all, nil
}

// List is the name of the list.
func (a *Archive) List() string { return ArchiveList(a.monitor) }

// Len is how many rows there are.
func (a *Archive) Len() (n int) {
	for _, c := range a.chunks {
		n += c.Rows
	}
	return n
}

// Bytes is how long the rows are together.
func (a *Archive) Bytes() (n int) {
	for _, c := range a.chunks {
		n += c.Bytes
	}
	return n
}

// Clone is a copy.
func (a *Archive) Clone() *Archive {
	return &Archive{monitor: a.monitor, chunks: slices.Clone(a.chunks), changed: a.changed}
}

// Keep is what has to be kept besides the list, whether it has changed or not.
func (a *Archive) Keep() store.Op {
	a.changed = false
	data, err := json.Marshal(a.chunks)
	if err != nil {
		panic(err) // numbers have a JSON form
	}
	return store.Set(ArchiveTable, string(a.monitor), data)
}

// Changed reports whether that has changed since it was kept.
func (a *Archive) Changed() bool { return a.changed }

// Remove forgets all rows.
func (a *Archive) Remove() []store.Op {
	return []store.Op{store.Drop(a.List()), store.Unset(ArchiveTable, string(a.monitor))}
}

// Add puts rows at the end, and drops the oldest when there are too many.
func (a *Archive) Add(rows ...wire.UIRow) []store.Op {
	if len(rows) == 0 {
		return nil
	}
	values := make([][]byte, len(rows))
	for i := range rows {
		values[i] = EncodeRow(&rows[i])
		a.count(rows[i].TS, len(values[i]))
	}
	ops := []store.Op{store.Push(a.List(), values...)}
	trimmed := false
	for len(a.chunks) > 1 && (a.Len() > MaxArchived+chunkRows || a.Bytes() > MaxArchivedBytes) {
		a.chunks, trimmed = slices.Delete(a.chunks, 0, 1), true
	}
	if trimmed {
		ops = append(ops, store.KeepLast(a.List(), a.Len()))
	}
	return ops
}

// count adds a row.
func (a *Archive) count(ts wire.Millis, size int) {
	a.changed = true
	if n := len(a.chunks); n == 0 || a.chunks[n-1].Rows >= chunkRows || a.chunks[n-1].Bytes >= chunkBytes {
		a.chunks = append(a.chunks, chunk{First: ts})
	}
	last := &a.chunks[len(a.chunks)-1]
	last.Rows++
	last.Bytes += size
}

// uncount takes the newest row away again.
func (a *Archive) uncount(size int) {
	a.changed = true
	last := &a.chunks[len(a.chunks)-1]
	last.Rows--
	last.Bytes = max(last.Bytes-size, 0)
	if last.Rows == 0 {
		a.chunks = a.chunks[:len(a.chunks)-1]
	}
}

// Change replaces the row that after others follow.
func (a *Archive) Change(after int, was, is wire.UIRow) []store.Op {
	value := EncodeRow(&is)
	rest := after
	for i := len(a.chunks) - 1; i >= 0; i-- {
		c := &a.chunks[i]
		if rest < c.Rows {
			if grown := len(value) - len(EncodeRow(&was)); grown != 0 {
				c.Bytes, a.changed = max(c.Bytes+grown, 0), true
			}
			return []store.Op{store.Replace(a.List(), -1-after, value)}
		}
		rest -= c.Rows
	}
	return nil // it was trimmed
}

// Rewind takes the newest rows away, which must be all from one on, and puts back
// those of them that stay.
func (a *Archive) Rewind(newest, stay []wire.UIRow) []store.Op {
	for i := len(newest) - 1; i >= 0 && len(a.chunks) > 0; i-- {
		a.uncount(len(EncodeRow(&newest[i])))
	}
	ops := []store.Op{store.KeepFirst(a.List(), a.Len())}
	return append(ops, a.Add(stay...)...)
}

// Expected is how many rows come before the newest ones that the desktop has, and
// the time of the oldest of all.
func (a *Archive) Expected(newest []wire.UIRow) (before int, since wire.Millis) {
	if len(a.chunks) > 0 {
		since = a.chunks[0].First
	}
	return max(a.Len()-len(newest), 0), since
}

// Heal writes the end of the list again, of which the store forgot something: what
// there is from an index to another is right, and then come the newest rows.
func (a *Archive) Heal(from, to int, newest []wire.UIRow) []store.Op {
	if before, _ := a.Expected(newest); to-from != before {
		a.resize(to - from)
		for i := range newest {
			a.count(newest[i].TS, len(EncodeRow(&newest[i])))
		}
	}
	a.changed = true
	ops := []store.Op{store.KeepFirst(a.List(), to)}
	if len(newest) > 0 {
		values := make([][]byte, len(newest))
		for i := range newest {
			values[i] = EncodeRow(&newest[i])
		}
		ops = append(ops, store.Push(a.List(), values...))
	}
	return append(ops, store.KeepLast(a.List(), a.Len()))
}

// resize makes it one of n rows, whose sizes are estimated from those that there
// were.
func (a *Archive) resize(n int) {
	left := n
	for i := range a.chunks {
		c := &a.chunks[i]
		if c.Rows > left {
			c.Bytes = c.Bytes * left / c.Rows
			c.Rows = left
		}
		left -= c.Rows
	}
	a.chunks = slices.DeleteFunc(a.chunks, func(c chunk) bool { return c.Rows == 0 })
	for ; left > 0; left-- {
		a.count(0, 0) // more than was known
	}
}
