package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/store"
)

// heldLease is the lease of an owner. Every write of the owner names it. Any goroutine may use it.
type heldLease struct {
	lease  store.Lease
	ctx    context.Context         //nolint:containedctx // it ends with the lease
	cancel context.CancelCauseFunc // called with errLost or errStale
	status leaseStatus
	// Used by the leaseRenewer.
	renewed    atomic.Int64 // when the last successful renewal began, in ns of the hub's uptime
	renewing   atomic.Bool
	renewEvery time.Duration
}

// end ends the lease, and with it the owner.
func (h *heldLease) end(e leaseEvent) { h.cancel(h.status.end(e)) }
