package store

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ClaimEvent is the event a claim appends to the log. It is a function of its
// arguments alone, so an engine whose epoch is chosen inside the store may keep
// the arguments instead of the bytes and still show the same bytes to everyone.
func ClaimEvent(lease Lease, at time.Time) Event {
	pos := lease.Top()
	frame := wire.AppendEvent(nil, wire.Event{
		Session: lease.Session, At: pos, Time: at,
		Data: wire.OwnerChanged{Replica: lease.Replica, Epoch: lease.Epoch, Prev: lease.Prev},
	})
	return Event{At: pos, Frame: frame}
}

// NextEpoch is the rule for the epoch of a claim: later than every earlier one
// and not before the store's clock. The clock keeps positions from being reused
// by a store that forgot its newest writes.
func NextEpoch(previous uint64, now time.Time) uint64 {
	return max(previous+1, uint64(max(now.UnixMilli(), 0)))
}
