package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/store"
)

func TestOps(t *testing.T) {
	t.Parallel()
	a, b := []byte("a"), []byte("b")
	for _, c := range []struct{ got, want store.Op }{
		{store.Set("t", "f", a), store.Op{Kind: store.OpSet, Name: "t", Field: "f", Values: [][]byte{a}}},
		{store.Unset("t", "f"), store.Op{Kind: store.OpUnset, Name: "t", Field: "f"}},
		{store.Clear("t"), store.Op{Kind: store.OpClear, Name: "t"}},
		{store.Push("l", a, b), store.Op{Kind: store.OpPush, Name: "l", Values: [][]byte{a, b}}},
		{store.Push("l"), store.Op{Kind: store.OpPush, Name: "l"}},
		{store.Replace("l", -2, b), store.Op{Kind: store.OpReplace, Name: "l", N: -2, Values: [][]byte{b}}},
		{store.KeepLast("l", 3), store.Op{Kind: store.OpKeepLast, Name: "l", N: 3}},
		{store.KeepFirst("l", 4), store.Op{Kind: store.OpKeepFirst, Name: "l", N: 4}},
		{store.Drop("l"), store.Op{Kind: store.OpDrop, Name: "l"}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	}
}
