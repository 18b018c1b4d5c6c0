package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ArchiveTable is the store table with the metadata of the archives: one field per monitor.
const ArchiveTable = "archive"

// Bounds of an archive. It is trimmed by whole chunks, so that appending a row has a
// constant cost.
const (
	// An archive keeps at least the newest MaxArchived rows and is trimmed when it has more
	// than MaxArchived+chunkRows, unless MaxArchivedBytes trims it earlier.
	MaxArchived = 10_000
	chunkRows   = 500
	// MaxArchivedBytes bounds the encoded size of all rows, except that the newest chunk
	// always stays. A chunk is full once it has chunkBytes or chunkRows.
	MaxArchivedBytes = 8 << 20
	chunkBytes       = 256 << 10
)

// ArchiveList returns the name of the store list with all rows of a monitor's conversation,
// oldest first.
func ArchiveList(monitor wire.MonitorID) string { return store.ColdPrefix + "ui:" + string(monitor) }

var rowFormat = sync.OnceValue(wire.FormatOf[wire.UIRow])

// EncodeRow encodes a row for the archive list.
func EncodeRow(r *wire.UIRow) []byte { return rowFormat().Append(nil, r) }

// DecodeRow decodes a row of the archive list.
func DecodeRow(item []byte) (wire.UIRow, error) {
	row, err := rowFormat().DecodeOwn(item)
	if err != nil {
		return row, fmt.Errorf("row of an archive: %w", err)
	}
	return row, nil
}

// Archive is the metadata of the list with all rows of a conversation: the number and the
// size of the rows, in the chunks by which it is trimmed. It does not hold rows; its
// methods return the store operations that change the list. The newest rows, which are also
// in the desktop state, are always the end of the list.
type Archive struct {
	monitor wire.MonitorID
	chunks  []chunk
	changed bool
}

// chunk describes consecutive rows.
type chunk struct {
	First wire.Millis `json:"first"` // TS of the first row
	Rows  int         `json:"rows"`
	Bytes int         `json:"bytes"`
}

// NewArchive creates the archive of a conversation that has none yet, and returns the
// operations that write rows to it.
func NewArchive(monitor wire.MonitorID, rows []wire.UIRow) (*Archive, []store.Op) {
	a := &Archive{monitor: monitor, changed: true}
	return a, append([]store.Op{store.Drop(a.List())}, a.Add(rows...)...)
}

// RestoreArchives decodes the archives of a session from the fields of [ArchiveTable].
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

// List returns the name of the store list.
func (a *Archive) List() string { return ArchiveList(a.monitor) }

// Len returns the number of rows.
func (a *Archive) Len() (n int) {
	for _, c := range a.chunks {
		n += c.Rows
	}
	return n
}

// Bytes returns the total encoded size of the rows.
func (a *Archive) Bytes() (n int) {
	for _, c := range a.chunks {
		n += c.Bytes
	}
	return n
}

// Clone returns a copy that shares nothing with a that either of them changes.
func (a *Archive) Clone() *Archive {
	return &Archive{monitor: a.monitor, chunks: slices.Clone(a.chunks), changed: a.changed}
}

// SaveOp returns the operation that stores the metadata, and clears [Archive.Changed].
func (a *Archive) SaveOp() store.Op {
	a.changed = false
	data, err := json.Marshal(a.chunks)
	if err != nil {
		panic(err) // a struct of numbers always encodes
	}
	return store.Set(ArchiveTable, string(a.monitor), data)
}

// Changed reports whether the metadata differs from what SaveOp last stored.
func (a *Archive) Changed() bool { return a.changed }

// Remove returns the operations that delete the list and the metadata.
func (a *Archive) Remove() []store.Op {
	return []store.Op{store.Drop(a.List()), store.Unset(ArchiveTable, string(a.monitor))}
}

// Add appends rows, and trims the oldest chunks if the archive exceeds its bounds.
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

// count adds a row of the given size to the newest chunk.
func (a *Archive) count(ts wire.Millis, size int) {
	a.changed = true
	if n := len(a.chunks); n == 0 || a.chunks[n-1].Rows >= chunkRows || a.chunks[n-1].Bytes >= chunkBytes {
		a.chunks = append(a.chunks, chunk{First: ts})
	}
	last := &a.chunks[len(a.chunks)-1]
	last.Rows++
	last.Bytes += size
}

// uncount removes the newest row from the counts.
func (a *Archive) uncount(size int) {
	a.changed = true
	last := &a.chunks[len(a.chunks)-1]
	last.Rows--
	last.Bytes = max(last.Bytes-size, 0)
	if last.Rows == 0 {
		a.chunks = a.chunks[:len(a.chunks)-1]
	}
}

// Change replaces the row that is followed by the given number of rows.
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
	return nil // the row was trimmed
}

// Rewind removes the newest rows, which must be the whole end of the list, and appends
// those of them that stay.
func (a *Archive) Rewind(newest, stay []wire.UIRow) []store.Op {
	for i := len(newest) - 1; i >= 0 && len(a.chunks) > 0; i-- {
		a.uncount(len(EncodeRow(&newest[i])))
	}
	ops := []store.Op{store.KeepFirst(a.List(), a.Len())}
	return append(ops, a.Add(stay...)...)
}

// Expected returns the number of rows before the given newest ones, and the TS of the
// oldest row.
func (a *Archive) Expected(newest []wire.UIRow) (before int, since wire.Millis) {
	if len(a.chunks) > 0 {
		since = a.chunks[0].First
	}
	return max(a.Len()-len(newest), 0), since
}

// Repair rewrites the end of the list after the store has lost writes: the rows with the
// indexes from to to-1 are correct, and the newest rows follow them.
func (a *Archive) Repair(from, to int, newest []wire.UIRow) []store.Op {
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

// resize changes the counts to n rows, and estimates the sizes from those that were known.
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
		a.count(0, 0) // the store has more rows than the metadata said
	}
}
