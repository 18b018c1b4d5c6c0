package kvlog_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// TestIndexIsAnOrderedMap drives an index and a map with the same operations.
func TestIndexIsAnOrderedMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x, m := kvlog.NewIndex(), map[string]int{}
		key := rapid.StringOfN(rapid.RuneFrom([]rune("abcd")), 0, 6, -1)
		for i := range rapid.IntRange(0, 900).Draw(t, "steps") {
			k := key.Draw(t, "key")
			if i%7 < 6 {
				x.Set(k, uint32(i))
				m[k] = i
				continue
			}
			hi := key.Draw(t, "hi")
			var want []string
			for _, have := range slices.Sorted(maps.Keys(m)) {
				if have >= k && (hi == "" || have < hi) && i%14 == 6 {
					want = append(want, have)
					delete(m, have)
				}
			}
			if i%14 == 6 {
				if got := x.Remove(k, hi); !slices.Equal(got, want) {
					t.Fatalf("remove %q to %q: got %q, want %q", k, hi, got, want)
				}
			}
		}
		lo, hi := key.Draw(t, "lo"), key.Draw(t, "hi")
		var want, got []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if k >= lo && (hi == "" || k < hi) {
				want = append(want, k)
			}
			if e, found := x.Get(k); !found || e.Size() != m[k] {
				t.Fatalf("entry of %q is %v, %v, want %d", k, e, found, m[k])
			}
		}
		for e := range x.Ascend(lo, hi) {
			got = append(got, e.Key)
		}
		if !slices.Equal(got, want) || x.Len() != len(m) {
			t.Fatalf("ascend %q to %q: got %q, want %q", lo, hi, got, want)
		}
		got = nil
		for e := range x.Descend(lo, hi) {
			got = append(got, e.Key)
		}
		if slices.Reverse(want); !slices.Equal(got, want) {
			t.Fatalf("descend %q to %q: got %q, want %q", lo, hi, got, want)
		}
	})
}
