package broadcast

import (
	"testing"
	"unsafe"

	"github.com/everdesk/everdesk/wire"
)

// An idle tab is this struct and nothing else, and there may be very many.
func TestTabIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Tab{}); size > 400 {
		t.Errorf("a tab takes %d bytes", size)
	}
}

// A tab whose socket is full has a copy of what it is to be given next. What that was
// copied from is gone when the ring has moved on.
func TestOwnBatchHoldsNothingElse(t *testing.T) {
	t.Parallel()
	at := wire.Position{Epoch: 1, Seq: 1}
	c := &chunk{prev: wire.Position{Epoch: 1}, events: []entry{{at: at, end: 5}}, data: []byte("frame")}
	for _, own := range []bool{false, true} {
		var b writeBatch
		b.fillFromPage(c, &Tab{at: c.prev}, catchUpBytes, own)
		if string(b.data) != "frame" || b.at != at {
			t.Fatalf("own %v: the batch has %q up to %v", own, b.data, b.at)
		}
		shared := unsafe.SliceData(b.data) == unsafe.SliceData(c.data)
		held := len(b.chunks[:cap(b.chunks)]) > 0 && b.chunks[:cap(b.chunks)][0] != nil
		if own && (shared || held) {
			t.Error("a copy holds what it was made of")
		}
		if !own && !held {
			t.Error("what is not copied is not held")
		}
	}
}
