package membership

import (
	"testing"
	"time"
)

func TestPacksNeedAllReplicas(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	now := time.Unix(1_000_000, 0)
	r := newReplicaList(ttl)
	expect := func(what string, want bool) {
		t.Helper()
		if got := r.allReadPacks(now); got != want {
			t.Errorf("%s: all read packs is %v, want %v", what, got, want)
		}
	}
	read := func(all ...Card) { r.end(r.begin(), "a", all, now) }
	expect("before the first read", false)
	read(Card{ID: "a", ReadsPacks: true})
	expect("while other replicas may not have announced themselves", false)
	for range 4 {
		now = now.Add(ttl / 3)
		read(Card{ID: "a", ReadsPacks: true}, Card{ID: "b", ReadsPacks: true})
	}
	expect("with two replicas", true)
	read(Card{ID: "a", ReadsPacks: true}, Card{ID: "b"})
	expect("with a replica of an earlier version", false)
	read(Card{ID: "a", ReadsPacks: true})
	expect("after it has gone", true)
	now = now.Add(2 * ttl)
	expect("during an outage of the store", false)
}
