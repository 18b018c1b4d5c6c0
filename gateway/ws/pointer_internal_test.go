package ws

import (
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// noWaker is a connection without a goroutine.
type noWaker struct{}

func (noWaker) wake() {}

// Positions of a pointer never close a connection, unless there are thousands per second.
func TestFloodOfPointersClosesTheConnection(t *testing.T) {
	t.Parallel()
	in := &inbox{peer: &peer{conn: noWaker{}}}
	now := time.Now()
	for range 3 {
		for range pointerFlood {
			in.movePointer(wire.Pointer{MonitorID: "monitor-0"}, now)
		}
		now = now.Add(time.Second)
	}
	if in.peer.closing() {
		t.Fatalf("after %d per second: got %+v, want it open", pointerFlood, *in.peer.closeRequested.Load())
	}
	for range pointerFlood + 1 {
		in.movePointer(wire.Pointer{MonitorID: "monitor-0"}, now)
	}
	if r := in.peer.closeRequested.Load(); r == nil || r.code != wire.CloseRateLimited {
		t.Errorf("after %d in a second: got %+v, want a close with %d", pointerFlood+1, r, wire.CloseRateLimited)
	}
}
