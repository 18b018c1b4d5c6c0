package session

import (
	"time"

	"github.com/everdesk/everdesk/store"
)

// Stored times, such as the deadline of a question, are read by the next owner, whose local clock
// may differ. So a session uses the store's clock, which every owner knows from its claim: an epoch
// is the store's time in milliseconds, unless that clock went back.
const (
	// minSkew is the difference up to which the round trip to the store may be the cause.
	minSkew = 10 * time.Second
	// maxSkew is the largest plausible difference. Beyond it the epoch is not a time.
	maxSkew = 30 * 24 * time.Hour
)

// skewOf returns how far the store's clock is ahead of the local one, from a claim that began at a
// local time.
func skewOf(lease store.Lease, claimed time.Time) time.Duration {
	d := time.UnixMilli(int64(lease.Epoch)).Sub(claimed) //nolint:gosec // milliseconds
	if d.Abs() < minSkew || d.Abs() > maxSkew {
		return 0
	}
	return d
}

// dueTimer calls a function at a time. The zero value is stopped.
type dueTimer struct {
	timer *time.Timer
	at    time.Time // zero while it is stopped
}

// set schedules fire for a time, or stops the timer if at is zero. A time in the past fires at
// once, even if it has fired already.
func (t *dueTimer) set(at time.Time, fire func()) {
	switch {
	case at.IsZero():
		t.stop()
		return
	case at.Equal(t.at) && time.Now().Before(at):
		return
	}
	t.at = at
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Until(at), fire)
	} else {
		t.timer.Reset(time.Until(at))
	}
}

func (t *dueTimer) stop() {
	if !t.at.IsZero() {
		t.timer.Stop()
		t.at = time.Time{}
	}
}

// localTime converts a time of the store's clock to the local clock; zero stays zero.
func (w *stepWriter) localTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-w.clockSkew)
}
