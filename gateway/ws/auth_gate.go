package ws

import (
	"context"
	"sync"
	"time"
)

const (
	// authGateSlots is the number of clients that connect at a time: fewer than a hub has
	// connections to its store, so that leases are renewed meanwhile.
	authGateSlots = 24
	// authGateHold is the longest time that a slot is held. A client that takes longer is blocked
	// on something, such as a session without an owner or a shard of the store that does not
	// answer, and the clients behind it must not wait for that.
	authGateHold = 250 * time.Millisecond
)

// authGate limits how many clients authorize and open their session concurrently. When all tabs
// reconnect at the same moment and are served at once, each takes as long as the last; with the
// gate half of them are done in half of the time, and the hub's own store calls do not queue behind
// theirs.
type authGate chan struct{}

func newAuthGate() authGate { return make(authGate, authGateSlots) }

// acquire waits for a slot. The caller releases it with release, which may be called more than
// once; the gate releases it after authGateHold.
func (g authGate) acquire(ctx context.Context) (release func(), err error) {
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	back := sync.OnceFunc(func() { <-g })
	timer := time.AfterFunc(authGateHold, back)
	return func() {
		timer.Stop()
		back()
	}, nil
}
