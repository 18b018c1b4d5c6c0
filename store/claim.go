package store

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ClaimEvent returns the OWNER_CHANGED event that a claim appends to the log. It depends on
// its arguments alone, so an engine that chooses the epoch inside the store may store the
// arguments instead of the frame and still return identical bytes to every reader.
func ClaimEvent(lease Lease, at time.Time) Event {
	pos := lease.Top()
	frame := wire.AppendEvent(nil, wire.Event{
		Session: lease.Session, At: pos, Time: at,
		Data: wire.OwnerChanged{Replica: lease.Replica, Epoch: lease.Epoch, Prev: lease.Prev},
	})
	return Event{At: pos, Frame: frame}
}

// NextEpoch returns the epoch of a claim: greater than every earlier epoch and not less
// than the store's clock in ms. The clock prevents a store that lost its newest writes from
// reusing positions.
func NextEpoch(previous uint64, now time.Time) uint64 {
	return max(previous+1, uint64(max(now.UnixMilli(), 0)))
}
