package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/store"
)

// heldLease is the lease of an owner. Every write of the owner names it. The partitionLease keeps it.
// Any goroutine may use it.
type heldLease struct {
	lease  store.Lease
	since  time.Duration           // the hub's uptime after the claim
	ctx    context.Context         //nolint:containedctx // it ends with the lease
	cancel context.CancelCauseFunc // called with errLost or errStale
	status leaseStatus
}

// newHeldLease returns a lease that was claimed just now, at an uptime of the hub.
func newHeldLease(ctx context.Context, lease store.Lease, now time.Duration) heldLease {
	held, cancel := context.WithCancelCause(ctx)
	return heldLease{lease: lease, since: now, ctx: held, cancel: cancel}
}

// end applies an event that ends the lease, and with it the owner.
func (h *heldLease) end(e leaseEvent) {
	if err := h.status.apply(e); err != nil {
		h.cancel(err)
	}
}
