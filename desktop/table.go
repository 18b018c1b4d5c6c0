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

// kind says how the values of a table are named and written.
type kind[K comparable, V any] struct {
	name   string
	field  func(K) string
	key    func(*V) K
	format wire.Format[V]
}

// record is a value in a table.
type record[V any] struct {
	value V
	field string // its name in the store, once it was written
	size  int    // of the version that the store has
	place int    // among the changes, from 1 on; 0 when it is not
	kept  bool   // the store has some version of it
	gone  bool   // it is not in the table any more
}

// table is a set of values that knows which of them have changed. A value that
// the store never had leaves no trace when it goes, so a table whose changes
// nobody asks for does not grow.
type table[K comparable, V any] struct {
	kind  *kind[K, V]
	items map[K]*record[V]
	dirty []*record[V]
	gone  map[K]struct{} // what the store still has
	bytes int            // of all values, as they were when they were written last
	mark  tableMark
}

// unwritten sums up what all tables have to write.
type unwritten struct {
	fields int
	size   int    // of the values that are there, as they were when they were written last
	tables uint32 // a bit for each that may have changes
}

// tableMark is how a table says that it has changes.
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

// touch says that the value of a record is about to change.
func (t *table[K, V]) touch(r *record[V]) *V {
	if r.place == 0 {
		t.dirty = append(t.dirty, r)
		r.place = len(t.dirty)
		t.mark.add(r.size)
	}
	return &r.value
}

// forget takes a record from the changes.
func (t *table[K, V]) forget(r *record[V]) {
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

// put gives a key a value and returns its record.
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

// add makes a record.
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
	t.forget(r)
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

// sorted are the values that are wanted, in an order.
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

// first is the value before all others in an order.
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

// changes adds what has changed since the last call. Whoever calls it clears the
// sum of all tables.
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

// all adds everything.
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
	return Change{Table: t.kind.name, Field: r.field, Value: t.kind.format.Append(nil, &r.value)}
}

func sortChanges(list []Change) {
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Field, b.Field) })
}

// restore reads what changes wrote.
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

// settle forgets that anything has changed.
func (t *table[K, V]) settle() {
	for len(t.dirty) > 0 {
		t.forget(t.dirty[0])
	}
}

// clone is a copy to try something on.
func (t *table[K, V]) clone(sum *unwritten) table[K, V] {
	c := table[K, V]{kind: t.kind, items: maps.Clone(t.items), bytes: t.bytes, mark: tableMark{sum: sum}}
	for k, r := range c.items {
		c.items[k] = &record[V]{value: r.value, size: r.size}
	}
	return c
}

// maxField is the longest name a store takes.
const maxField = 256

// fieldName makes a field's name of an id. Ids that a store would not take, and
// those that look like what we make of them, are replaced by their digest: the
// value has them in full.
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
