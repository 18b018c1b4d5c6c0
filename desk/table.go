package desk

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
	dirty bool // it is among the changes
	kept  bool // the store has some version of it
	size  int  // of that version
}

// table is a set of values that knows which of them have changed. A value that
// the store never had leaves no trace when it goes, so a table whose changes
// nobody asks for does not grow.
type table[K comparable, V any] struct {
	kind  *kind[K, V]
	items map[K]*record[V]
	dirty map[K]struct{}
	gone  map[K]struct{} // what the store still has
	// bytes is the size of all values and unwritten that of the dirty ones, both
	// as they were when they were written last.
	bytes, unwritten int
}

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
func (t *table[K, V]) touch(k K, r *record[V]) *V {
	if !r.dirty {
		r.dirty = true
		t.unwritten += r.size
		if t.dirty == nil {
			t.dirty = make(map[K]struct{})
		}
		t.dirty[k] = struct{}{}
	}
	return &r.value
}

func (t *table[K, V]) put(k K, v V) {
	r := t.items[k]
	if r == nil {
		_, kept := t.gone[k]
		delete(t.gone, k)
		r = &record[V]{kept: kept}
		if t.items == nil {
			t.items = make(map[K]*record[V])
		}
		t.items[k] = r
	}
	*t.touch(k, r) = v
}

func (t *table[K, V]) drop(k K) {
	r := t.items[k]
	if r == nil {
		return
	}
	delete(t.items, k)
	delete(t.dirty, k)
	t.bytes -= r.size
	if r.dirty {
		t.unwritten -= r.size
	}
	if r.kept {
		if t.gone == nil {
			t.gone = make(map[K]struct{})
		}
		t.gone[k] = struct{}{}
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
	var best *V
	for _, r := range t.items {
		if best == nil || order(&r.value, best) < 0 {
			best = &r.value
		}
	}
	return best, best != nil
}

// changes adds what has changed since the last call.
func (t *table[K, V]) changes(dst []Change) []Change {
	if len(t.dirty) == 0 && len(t.gone) == 0 {
		return dst
	}
	from := len(dst)
	for k := range t.dirty {
		r := t.items[k]
		c := t.change(k, r)
		r.dirty, r.kept = false, true
		t.bytes += len(c.Value) - r.size
		r.size = len(c.Value)
		dst = append(dst, c)
	}
	clear(t.dirty)
	t.unwritten = 0
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
	for k, r := range t.items {
		dst = append(dst, t.change(k, r))
	}
	sortChanges(dst[from:])
	return dst
}

func (t *table[K, V]) change(k K, r *record[V]) Change {
	return Change{Table: t.kind.name, Field: t.kind.field(k), Value: t.kind.format.Append(nil, &r.value)}
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
		t.put(k, v)
		r := t.items[k]
		r.kept, r.size = true, len(text)
		t.bytes += r.size
	}
	t.settle()
	return nil
}

// settle forgets that anything has changed.
func (t *table[K, V]) settle() {
	for k := range t.dirty {
		t.items[k].dirty = false
	}
	clear(t.dirty)
	t.unwritten = 0
}

// pending is how many the next changes are, and about their size but for what
// came with the events since the last.
func (t *table[K, V]) pending() (fields, size int) { return len(t.dirty) + len(t.gone), t.unwritten }

// clone is a copy to try something on.
func (t *table[K, V]) clone() table[K, V] {
	c := table[K, V]{kind: t.kind, items: maps.Clone(t.items), bytes: t.bytes}
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
