package ratelimit

// recent remembers what was used lately: at least the last size keys, at most
// twice as many. When the younger half is full, the older one is dropped, which
// costs nothing per key.
type recent[K comparable, V any] struct {
	size         int
	young, older map[K]V
}

func newRecent[K comparable, V any](size int) recent[K, V] {
	return recent[K, V]{size: size, young: map[K]V{}}
}

// get is the value of a key, a new one if it is not remembered.
func (r *recent[K, V]) get(key K, fresh func() V) V {
	if v, ok := r.young[key]; ok {
		return v
	}
	v, ok := r.older[key]
	if !ok {
		v = fresh()
	}
	r.set(key, v)
	return v
}

// set remembers a value.
func (r *recent[K, V]) set(key K, v V) {
	if _, there := r.young[key]; !there && len(r.young) >= r.size {
		r.older, r.young = r.young, make(map[K]V)
	}
	r.young[key] = v
}
