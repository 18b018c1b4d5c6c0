package gateway

import (
	"context"
	"sync"
	"time"
)

const (
	// turnstilePlaces is how many clients are let in at a time: fewer than a hub
	// has connections to its store, so that leases are renewed meanwhile.
	turnstilePlaces = 24
	// placeTime is for how long a place is held at most. Who takes longer waits
	// for something, such as a session that nobody owns or a part of the store that
	// does not answer, and those behind have no part in that.
	placeTime = 250 * time.Millisecond
)

// authGate lets clients in one after the other. When all tabs come back in the same
// moment and are all served at once, all have to wait for the last; so half of them
// wait for half of the time, and the hub's own calls to the store do not wait behind
// theirs.
type authGate chan struct{}

func newAuthGate() authGate { return make(authGate, turnstilePlaces) }

// enter waits for a place. It is given back with leave, which may be called more
// than once, or by itself when it was held for long.
func (t authGate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	back := sync.OnceFunc(func() { <-t })
	timer := time.AfterFunc(placeTime, back)
	return func() {
		timer.Stop()
		back()
	}, nil
}
