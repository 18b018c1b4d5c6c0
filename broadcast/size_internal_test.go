package broadcast

import (
	"testing"
	"unsafe"

	"github.com/everdesk/everdesk/wire"
)

// An idle tab needs only this struct, and there may be very many.
func TestTabIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Tab{}); size > 400 {
		t.Errorf("a tab has %d bytes, want fewer", size)
	}
}

// A tab whose socket is full holds a copy of its next batch, because the ring may drop the original.
func TestOwnBatchReleasesSource(t *testing.T) {
	t.Parallel()
	at := wire.Position{Epoch: 1, Seq: 1}
	c := &chunk{prev: wire.Position{Epoch: 1}, events: []entry{{at: at, end: 5}}, data: []byte("frame")}
	for _, own := range []bool{false, true} {
		var b writeBatch
		b.fillFromPage(c, &Tab{at: c.prev}, catchUpBytes, own)
		if string(b.data) != "frame" || b.at != at {
			t.Fatalf("batch (own %v): got %q up to %v, want %q up to %v", own, b.data, b.at, "frame", at)
		}
		shared := unsafe.SliceData(b.data) == unsafe.SliceData(c.data)
		held := len(b.chunks[:cap(b.chunks)]) > 0 && b.chunks[:cap(b.chunks)][0] != nil
		if own && (shared || held) {
			t.Error("a copied batch still references the chunk")
		}
		if !own && !held {
			t.Error("a batch that is not copied does not reference the chunk")
		}
	}
}
