package session

import (
	"time"

	"github.com/everdesk/everdesk/store"
)

// Times that are kept, such as when a question expires, are read by the next
// owner, whose clock may be wrong, or right where ours was wrong. So a session
// goes by the store's clock, which all owners know from their claims: an epoch is
// its time in milliseconds, unless that went back.
const (
	// minSkew is what is put down to the way to the store and back.
	minSkew = 10 * time.Second
	// maxSkew is how wrong a clock may be. What is more is no time.
	maxSkew = 30 * 24 * time.Hour
)

// skewOf is how far the clock of the store is ahead of ours, as a claim shows that
// began at some time of ours.
func skewOf(lease store.Lease, claimed time.Time) time.Duration {
	d := time.UnixMilli(int64(lease.Epoch)).Sub(claimed) //nolint:gosec // milliseconds
	if d.Abs() < minSkew || d.Abs() > maxSkew {
		return 0
	}
	return d
}

// uptime is how long there has been a hub.
func (h *Hub) uptime() time.Duration { return time.Since(h.started) }

// dueTimer rings at a time. The zero value is off.
type dueTimer struct {
	timer *time.Timer
	at    time.Time // zero while it is off
}

// set has it ring at a time, or not at all. One that is past rings at once, even if it
// has done so.
func (a *dueTimer) set(at time.Time, ring func()) {
	switch {
	case at.IsZero():
		a.stop()
		return
	case at.Equal(a.at) && time.Now().Before(at):
		return
	}
	a.at = at
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(at), ring)
	} else {
		a.timer.Reset(time.Until(at))
	}
}

func (a *dueTimer) stop() {
	if !a.at.IsZero() {
		a.timer.Stop()
		a.at = time.Time{}
	}
}

// localTime is when something is by our clock; zero stays never.
func (l *owner) localTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-l.clockSkew)
}
