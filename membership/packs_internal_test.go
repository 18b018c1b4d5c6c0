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
		if got := r.allReadCold(now); got != want {
			t.Errorf("%s: all read cold sessions is %v, want %v", what, got, want)
		}
	}
	read := func(all ...Card) { r.end(r.begin(), "a", all, now) }
	expect("before the first read", false)
	read(Card{ID: "a", ReadsPacks: true, ReadsCold: true})
	expect("while other replicas may not have announced themselves", false)
	for range 4 {
		now = now.Add(ttl / 3)
		read(Card{ID: "a", ReadsPacks: true, ReadsCold: true}, Card{ID: "b", ReadsPacks: true, ReadsCold: true})
	}
	expect("with two replicas", true)
	read(Card{ID: "a", ReadsPacks: true, ReadsCold: true}, Card{ID: "b"})
	expect("with a replica of an earlier version", false)
	read(Card{ID: "a", ReadsPacks: true, ReadsCold: true})
	expect("after it has gone", true)
	read(Card{ID: "a", ReadsPacks: true, ReadsCold: true}, Card{ID: "b", ReadsPacks: true})
	if packs, cold := r.allReadPacks(now), r.allReadCold(now); !packs || cold {
		t.Errorf("with a replica that reads packs only: all read packs is %v, cold sessions %v, want true and false", packs, cold)
	}
	read(Card{ID: "a", ReadsPacks: true, ReadsCold: true})
	now = now.Add(2 * ttl)
	expect("during an outage of the store", false)
}
