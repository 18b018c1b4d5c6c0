package policies_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/policies"
)

func TestMainQueueKeepsArrivalOrder(t *testing.T) {
	t.Parallel()
	q := policies.NewMainQueue[string]()
	for i := range 12 {
		id := "m" + strconv.Itoa(i)
		position, ok := q.Push("monitor-0", id)
		if wantOK := i < policies.MainQueueLimit; ok != wantOK || ok && position != i+1 {
			t.Errorf("push of %s: got position %d, ok %v, want %d, %v", id, position, ok, i+1, wantOK)
		}
	}
	if !q.Full("monitor-0") || q.Full("monitor-1") {
		t.Error("full queues: got others than monitor-0, want only monitor-0")
	}
	for i := range policies.MainQueueLimit {
		if v, ok := q.Pop("monitor-0"); !ok || v != "m"+strconv.Itoa(i) {
			t.Errorf("pop %d: got %q, %v, want m%d", i, v, ok, i)
		}
	}
	if v, ok := q.Pop("monitor-0"); ok {
		t.Errorf("pop of an empty queue: got %q, want nothing", v)
	}
}

func TestWindowQueueKeysAreIndependent(t *testing.T) {
	t.Parallel()
	q := policies.NewWindowQueue[int]()
	for i := range policies.WindowQueueLimit {
		q.Push("a", i)
	}
	if _, ok := q.Push("a", 99); ok {
		t.Error("the 51st message of a window was taken")
	}
	if position, ok := q.Push("b", 1); !ok || position != 1 {
		t.Errorf("push to another window's queue: got position %d, ok %v, want 1, true", position, ok)
	}
	if got := q.Keys(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("keys: got %v, want a and b", got)
	}
	if got := q.Remove(func(i int) bool { return i == 1 }); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("removed: got %v, want the 1 of both windows", got)
	}
	if q.Len("a") != policies.WindowQueueLimit-1 || q.Len("b") != 0 || !slices.Equal(q.Keys(), []string{"a"}) {
		t.Errorf("left after Remove: got %d and %d, keys %v, want %d and 0, key a", q.Len("a"), q.Len("b"), q.Keys(), policies.WindowQueueLimit-1)
	}
	if got := q.Drop("a"); len(got) != policies.WindowQueueLimit-1 || q.Total() != 0 {
		t.Errorf("after Drop: got %d dropped and %d left, want %d and 0", len(got), q.Total(), policies.WindowQueueLimit-1)
	}
}

func TestQueueKeepsWhatWasAcceptedUnderAHigherLimit(t *testing.T) {
	t.Parallel()
	q := policies.NewQueue[int](2)
	q.Restore("a", []int{1, 2, 3})
	if _, ok := q.Push("a", 4); ok || q.Len("a") != 3 {
		t.Errorf("after a restore over the limit: got push %v and len %d, want false and 3", ok, q.Len("a"))
	}
	q.Restore("b", nil)
	if len(q.Keys()) != 1 {
		t.Errorf("keys after the restore of an empty queue: got %v, want only a", q.Keys())
	}
}

// A queue behaves like one list per key.
func TestQueueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		q := policies.NewQueue[int](limit)
		model := make(map[string][]int)
		keys := rapid.SampledFrom([]string{"a", "b", ""})
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				next++
				position, ok := q.Push(k, next)
				if ok != (len(model[k]) < limit) {
					t.Fatalf("push to %q with %d of %d: got %v, want it taken below the limit only", k, len(model[k]), limit, ok)
				}
				if ok {
					model[k] = append(model[k], next)
					if position != len(model[k]) {
						t.Fatalf("position after push: got %d, want %d", position, len(model[k]))
					}
				}
			},
			"pop": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				peeked, _ := q.Peek(k)
				v, ok := q.Pop(k)
				if ok != (len(model[k]) > 0) || ok && (v != model[k][0] || v != peeked) {
					t.Fatalf("pop: got %d, %v after peek %d, want the first of %v", v, ok, peeked, model[k])
				}
				if ok {
					model[k] = model[k][1:]
				}
			},
			"remove": func(t *rapid.T) {
				n := rapid.IntRange(2, 4).Draw(t, "divisor")
				match := func(v int) bool { return v%n == 0 }
				want := 0
				for k, line := range model {
					want += len(line)
					model[k] = slices.DeleteFunc(slices.Clone(line), match)
					want -= len(model[k])
				}
				got := q.Remove(match)
				if len(got) != want || slices.ContainsFunc(got, func(v int) bool { return !match(v) }) {
					t.Fatalf("removed %v, want %d", got, want)
				}
			},
			"drop": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				if got := q.Drop(k); !slices.Equal(got, model[k]) {
					t.Fatalf("dropped %v, want %v", got, model[k])
				}
				delete(model, k)
			},
			"restore": func(*rapid.T) {
				fresh := policies.NewQueue[int](limit)
				for _, k := range q.Keys() {
					fresh.Restore(k, q.All(k))
				}
				q = fresh
			},
			"": func(t *rapid.T) {
				total := 0
				for k, line := range model {
					total += len(line)
					if !slices.Equal(q.All(k), line) || q.Len(k) != len(line) || len(line) > limit {
						t.Fatalf("%q has %v, want %v", k, q.All(k), line)
					}
				}
				if q.Total() != total {
					t.Fatalf("total %d, want %d", q.Total(), total)
				}
			},
		})
	})
}
