package broadcast

import (
	"strconv"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A ring reuses the memory of dropped chunks, but never while a writer uses it.
func TestRingReusesMemory(t *testing.T) {
	t.Parallel()
	r := &ring{}
	tab := &Tab{ring: r, at: wire.Position{Epoch: 1}}
	seq := uint64(0)
	publish := func() *chunk {
		prev := wire.Position{Epoch: 1, Seq: seq}
		seq++
		at := wire.Position{Epoch: 1, Seq: seq}
		c := r.encode(prev, []Event{{At: at, Frame: []byte("event " + strconv.FormatUint(100+seq, 10))}})
		r.add(c, 2, 1<<20) // room for two
		return c
	}
	first, second := publish(), publish()
	var b writeBatch
	if got := b.fillFromRing(tab, 1, false); got != batchFilled || b.at.Seq != 1 {
		t.Fatalf("batch: got %v up to %v, want it filled up to seq 1", got, b.at)
	}
	text := string(b.data)
	publish() // lets go of the first
	if c := publish(); c == first {
		t.Error("the memory of a chunk was reused while a writer used it")
	}
	if c := publish(); c != second {
		t.Error("the memory of an unused chunk was not reused")
	}
	if string(b.data) != text {
		t.Errorf("batch after its chunk was dropped: got %q, want %q", b.data, text)
	}
	tab.at = b.at
	if got := b.fillFromRing(tab, 1<<20, true); got != batchGap {
		t.Errorf("found %v for a dropped position, want none", got)
	}
	if n := first.holders.Load(); n != 0 {
		t.Errorf("%d batches use a released chunk, want none", n)
	}
}

// The memory of a large event is not reused for small ones, because a ring would then hold much more
// memory than its bytes.
func TestRingDropsLargeChunks(t *testing.T) {
	t.Parallel()
	r := &ring{spare: &chunk{data: make([]byte, 0, 64<<10)}}
	c := r.encode(wire.Position{}, []Event{{At: wire.Position{Epoch: 1, Seq: 1}, Frame: []byte("{}")}})
	if cap(c.data) > 64 {
		t.Errorf("chunk of %d bytes: got a capacity of %d, want at most 64", len(c.data), cap(c.data))
	}
	r = &ring{}
	for seq, size := range []int{1 << 20, 100, 100} {
		at := wire.Position{Epoch: 1, Seq: uint64(seq)}
		r.add(r.encode(at, []Event{{At: wire.Position{Epoch: 1, Seq: at.Seq + 1}, Frame: make([]byte, size)}}), 10, 64<<10)
	}
	if r.spare != nil || r.bytes > 300 {
		t.Errorf("ring: got %d bytes and a spare chunk: %v, want at most 300 and none", r.bytes, r.spare != nil)
	}
}
