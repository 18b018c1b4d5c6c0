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
	// skewIgnored is what is put down to the way to the store and back.
	skewIgnored = 10 * time.Second
	// skewBelieved is how wrong a clock may be. What is more is no time.
	skewBelieved = 30 * 24 * time.Hour
)

// skewOf is how far the clock of the store is ahead of ours, as a claim shows that
// began at some time of ours.
func skewOf(lease store.Lease, claimed time.Time) time.Duration {
	d := time.UnixMilli(int64(lease.Epoch)).Sub(claimed) //nolint:gosec // milliseconds
	if d.Abs() < skewIgnored || d.Abs() > skewBelieved {
		return 0
	}
	return d
}

// age is how long there has been a hub.
func (h *Hub) age() time.Duration { return time.Since(h.born) }

// alarm rings at a time. The zero value is off.
type alarm struct {
	timer *time.Timer
	at    time.Time // zero while it is off
}

// set has it ring at a time, or not at all. One that is past rings at once, even if it
// has done so.
func (a *alarm) set(at time.Time, ring func()) {
	switch {
	case at.IsZero():
		a.off()
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

func (a *alarm) off() {
	if !a.at.IsZero() {
		a.timer.Stop()
		a.at = time.Time{}
	}
}

// here is when something is by our clock; zero stays never.
func (l *owner) here(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-l.skew)
}
