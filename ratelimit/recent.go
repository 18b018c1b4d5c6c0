package ratelimit

// recent is a map of the most recently used keys: at least the last size keys, at most twice as
// many. When the younger half is full, the older one is dropped at once.
type recent[K comparable, V any] struct {
	size         int
	young, older map[K]V
}

func newRecent[K comparable, V any](size int) recent[K, V] {
	return recent[K, V]{size: size, young: map[K]V{}}
}

// get returns the value of a key, or stores and returns fresh() if there is none.
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

// set stores a value.
func (r *recent[K, V]) set(key K, v V) {
	if _, there := r.young[key]; !there && len(r.young) >= r.size {
		r.older, r.young = r.young, make(map[K]V)
	}
	r.young[key] = v
}
