package broadcast

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Observer is told what tabs are shown, for those who count it. It is called in the
// middle of writing and must not wait.
type Observer interface {
	// Delivered is called after a write to one tab or a group of them, with how many
	// events they took all together and how long ago the oldest of these was
	// published; 0 means that they were read from the log.
	Delivered(events int, delay time.Duration)
	// Greeted is called for a new tab: with how many events it had missed, or, if
	// there is a reason for it, with the whole state.
	Greeted(reason wire.SnapshotReason, missed int)
	// Slow is called when a tab is given up because it is too slow.
	Slow()
}

// blind is an observer who looks at nothing.
type blind struct{}

func (blind) Delivered(int, time.Duration)     {}
func (blind) Greeted(wire.SnapshotReason, int) {}
func (blind) Slow()                            {}

// since is how long ago something was; 0 for what has no time.
func since(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(time.Since(t), 1)
}
