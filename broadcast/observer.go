package broadcast

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Observer counts deliveries. Its methods are called while writing and must not block.
type Observer interface {
	// Delivered is called after a write to one tab or a group of tabs, with the number of
	// events written to all of them and the time since the oldest of these was published; 0
	// means that they were read from the log.
	Delivered(events int, delay time.Duration)
	// Greeted is called for a new tab: with the number of events it had missed, or, if it
	// got a snapshot, with the reason.
	Greeted(reason wire.SnapshotReason, missed int)
	// Slow is called when a tab is closed because it is too slow.
	Slow()
}

// noopObserver ignores all calls.
type noopObserver struct{}

func (noopObserver) Delivered(int, time.Duration)     {}
func (noopObserver) Greeted(wire.SnapshotReason, int) {}
func (noopObserver) Slow()                            {}

// elapsedSince returns the time since t, at least 1 ns; 0 for the zero time.
func elapsedSince(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(time.Since(t), 1)
}
