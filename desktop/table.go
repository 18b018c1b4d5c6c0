package desktop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// kind describes the names and the encoding of a table's values.
type kind[K comparable, V any] struct {
	name   string
	field  func(K) string
	key    func(*V) K
	format wire.Format[V]
	schema uint8 // version that a program must know to read the values; 0 means any
}

// record is a value in a table.
type record[V any] struct {
	value V
	field string // name in the store, set at the first write
	size  int    // of the stored version
	place int    // index + 1 among the changes; 0 if unchanged
	kept  bool   // the store has a version of it
	gone  bool   // it was dropped from the table
}

// table is a set of values that tracks changes. A value that was never stored leaves no
// trace when it is dropped, so a table whose changes are never taken does not grow.
type table[K comparable, V any] struct {
	kind  *kind[K, V]
	items map[K]*record[V]
	dirty []*record[V]
	gone  map[K]struct{} // dropped keys that the store still has
	bytes int            // of all values, as last written
	mark  tableMark
}

// tableOf returns an empty table.
func tableOf[K comparable, V any](k *kind[K, V]) table[K, V] { return table[K, V]{kind: k} }

// unwritten sums up the changes of all tables.
type unwritten struct {
	fields int
	size   int    // of the changed values, as last written
	tables uint32 // a bit for each table that may have changes
}

// tableMark connects a table with the sum of changes.
type tableMark struct {
	sum *unwritten
	bit uint32
}

func (m tableMark) add(size int) {
	m.sum.fields++
	m.sum.size += size
	m.sum.tables |= m.bit
}

func (m tableMark) remove(size int) {
	m.sum.fields--
	m.sum.size -= size
}

func (t *table[K, V]) join(m tableMark) { t.mark = m }

func (t *table[K, V]) get(k K) *record[V] { return t.items[k] }

func (t *table[K, V]) value(k K) (V, bool) {
	if r := t.items[k]; r != nil {
		return r.value, true
	}
	var none V
	return none, false
}

func (t *table[K, V]) len() int { return len(t.items) }

// touch marks a record as changed and returns its value for modification.
func (t *table[K, V]) touch(r *record[V]) *V {
	if r.place == 0 {
		t.dirty = append(t.dirty, r)
		r.place = len(t.dirty)
		t.mark.add(r.size)
	}
	return &r.value
}

// unmark removes a record from the changes.
func (t *table[K, V]) unmark(r *record[V]) {
	if r.place == 0 {
		return
	}
	end := len(t.dirty) - 1
	last := t.dirty[end]
	t.dirty[r.place-1], last.place = last, r.place
	t.dirty[end] = nil
	t.dirty, r.place = t.dirty[:end], 0
	t.mark.remove(r.size)
}

// put sets the value of a key and returns its record.
func (t *table[K, V]) put(k K, v V) *record[V] {
	r := t.items[k]
	if r == nil {
		r = t.add(k)
		if _, r.kept = t.gone[k]; r.kept {
			delete(t.gone, k)
			t.mark.remove(0)
		}
	}
	*t.touch(r) = v
	return r
}

// add creates a record.
func (t *table[K, V]) add(k K) *record[V] {
	if t.items == nil {
		t.items = make(map[K]*record[V])
	}
	r := new(record[V])
	t.items[k] = r
	return r
}

func (t *table[K, V]) drop(k K) {
	r := t.items[k]
	if r == nil {
		return
	}
	delete(t.items, k)
	r.gone = true
	t.bytes -= r.size
	t.unmark(r)
	if r.kept {
		if t.gone == nil {
			t.gone = make(map[K]struct{})
		}
		t.gone[k] = struct{}{}
		t.mark.add(0)
	}
}

func (t *table[K, V]) dropIf(unwanted func(*V) bool) {
	for k, r := range t.items {
		if unwanted(&r.value) {
			t.drop(k)
		}
	}
}

// sorted returns the wanted values in order.
func (t *table[K, V]) sorted(wanted func(*V) bool, order func(a, b *V) int) []V {
	if len(t.items) == 0 {
		return nil
	}
	list := make([]*V, 0, len(t.items))
	for _, r := range t.items {
		if wanted == nil || wanted(&r.value) {
			list = append(list, &r.value)
		}
	}
	slices.SortFunc(list, order)
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = *v
	}
	return out
}

// first returns the first value in order.
func (t *table[K, V]) first(order func(a, b *V) int) (*V, bool) {
	if len(t.items) == 0 {
		return nil, false
	}
	var best *V
	for _, r := range t.items {
		if best == nil || order(&r.value, best) < 0 {
			best = &r.value
		}
	}
	return best, true
}

// changes appends what changed since the last call. The caller resets the sum of all
// tables.
func (t *table[K, V]) changes(dst []Change) []Change {
	from := len(dst)
	for _, r := range t.dirty {
		c := t.change(r)
		t.bytes += len(c.Value) - r.size
		r.size, r.place, r.kept = len(c.Value), 0, true
		dst = append(dst, c)
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	for k := range t.gone {
		dst = append(dst, Change{Table: t.kind.name, Field: t.kind.field(k)})
	}
	clear(t.gone)
	sortChanges(dst[from:])
	return dst
}

// all appends everything.
func (t *table[K, V]) all(dst []Change) []Change {
	from := len(dst)
	for _, r := range t.items {
		dst = append(dst, t.change(r))
	}
	sortChanges(dst[from:])
	return dst
}

func (t *table[K, V]) change(r *record[V]) Change {
	if r.field == "" {
		r.field = t.kind.field(t.kind.key(&r.value))
	}
	return Change{Table: t.kind.name, Field: r.field, Value: t.kind.format.Append(nil, &r.value), Schema: t.kind.schema}
}

func sortChanges(list []Change) {
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Field, b.Field) })
}

// restore decodes what changes wrote.
func (t *table[K, V]) restore(tables map[string]map[string][]byte) error {
	for field, text := range tables[t.kind.name] {
		v, err := t.kind.format.DecodeOwn(text)
		if err != nil {
			return fmt.Errorf("read field %q of table %s: %w", field, t.kind.name, err)
		}
		k := t.kind.key(&v)
		if want := t.kind.field(k); want != field {
			return fmt.Errorf("read field %q of table %s: it holds what belongs to %q", field, t.kind.name, want)
		}
		r := t.add(k)
		r.value, r.field, r.size, r.kept = v, field, len(text), true
		t.bytes += r.size
	}
	return nil
}

// clearChanges discards the record of changes.
func (t *table[K, V]) clearChanges() {
	for len(t.dirty) > 0 {
		t.unmark(t.dirty[0])
	}
}

// clone returns a copy for trial changes.
func (t *table[K, V]) clone(sum *unwritten) table[K, V] {
	c := table[K, V]{kind: t.kind, items: maps.Clone(t.items), bytes: t.bytes, mark: tableMark{sum: sum}}
	for k, r := range c.items {
		c.items[k] = &record[V]{value: r.value, size: r.size}
	}
	return c
}

// maxField is the maximum length of a field name in a store.
const maxField = 256

// fieldName converts an id to a field name. Ids that a store does not accept, and those
// that look like a converted one, are replaced by their digest; the value contains the full
// id.
func fieldName(id string) string {
	plain := id != "" && len(id) <= maxField && id[0] != '#'
	for i := 0; plain && i < len(id); i++ {
		plain = id[i] >= ' ' && id[i] != 0x7f
	}
	if plain {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "#" + hex.EncodeToString(sum[:])
}

// empty drops everything.
func (t *table[K, V]) empty() {
	for k := range t.items {
		t.drop(k)
	}
}
