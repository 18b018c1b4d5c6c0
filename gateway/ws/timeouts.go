package ws

import (
	"cmp"
	"time"
)

// Timeouts are the deadlines for clients of the streaming endpoints. The zero value means the
// defaults.
type Timeouts struct {
	// Auth bounds the time until a client has authenticated. It defaults to 10 s.
	Auth time.Duration
	// Naming is how long a desktop client written for YAAR has to send its first frame, which shows
	// how it names monitors, before it gets its snapshot. It defaults to 1 s.
	Naming time.Duration
	// Pong is added to the heartbeat interval for the longest time that a client may be silent. It
	// defaults to 10 s.
	Pong time.Duration
	// Refresh is how long a client with an expired token may take to send a new one. It defaults to
	// 1 min.
	Refresh time.Duration
	// Recheck is the interval at which the access of connected users to the sessions of others is
	// looked up again, in case another replica changed it. It defaults to 1 min.
	Recheck time.Duration
	// Close is how long a client may take to answer a close frame. It defaults to 5 s, which is
	// also the maximum.
	Close time.Duration
}

// WithDefaults returns p with the defaults in place of zeros.
func (t Timeouts) WithDefaults() Timeouts {
	t.Auth = cmp.Or(t.Auth, 10*time.Second)
	t.Naming = cmp.Or(t.Naming, time.Second)
	t.Pong = cmp.Or(t.Pong, 10*time.Second)
	t.Refresh = cmp.Or(t.Refresh, time.Minute)
	t.Recheck = cmp.Or(t.Recheck, time.Minute)
	t.Close = cmp.Or(t.Close, 5*time.Second)
	return t
}
