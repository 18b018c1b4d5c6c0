package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// The hub probes the store for sessions that do not use it. Their tabs learn that it is unavailable
// within the sum of both times.
const (
	probeEvery   = time.Second
	probeTimeout = 1500 * time.Millisecond
)

// storeIssue is a bit set of reasons for which the store counts as unavailable for a session. It is
// available again when all are cleared.
type storeIssue uint32

const (
	issueCommit storeIssue = 1 << iota // the owner's commit fails
	issueRenew                         // the renewal of the owner's lease fails
	issueSend                          // a follower's commands do not reach the inbox
	issueClaim                         // the session can be neither owned nor followed
	issueProbe                         // the store does not answer a probe of the session's partition
)

// isStoreUnavailable reports whether an error means that the store is unavailable or full now and
// may recover.
func isStoreUnavailable(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNoSpace) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errStale)
}

// storeHealth records whether the store is available for a session, and notifies the session's tabs when
// that changes.
type storeHealth struct {
	log    *slog.Logger
	issues atomic.Uint32 // written with mu held

	mu       sync.Mutex        // guards the following; held while tabs are notified, which does not block
	center   *broadcast.Center // has the tabs; nil until the session is loaded
	notified bool              // tabs were notified that the store is unavailable
}

// has reports whether one of these issues is set.
func (h *storeHealth) has(issues storeIssue) bool { return storeIssue(h.issues.Load())&issues != 0 }

// set sets or clears an issue and notifies all tabs here when the overall state changes. It sets nothing
// once ctx, that of the failing operation, has ended: no code would clear it then.
func (h *storeHealth) set(ctx context.Context, issue storeIssue, present bool) {
	if h.has(issue) == present {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.issues.Load() &^ uint32(issue)
	if present {
		if ctx.Err() != nil {
			return
		}
		now |= uint32(issue)
	}
	h.issues.Store(now)
	h.notifyTabs(ctx)
}

// start begins to notify the tabs of center.
func (h *storeHealth) start(ctx context.Context, center *broadcast.Center) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.center = center
	h.notifyTabs(ctx)
}

// notifyTabs notifies the tabs if the state differs from the one that they know; mu is held.
func (h *storeHealth) notifyTabs(ctx context.Context) {
	gone := h.issues.Load() != 0
	if gone == h.notified || h.center == nil {
		return
	}
	h.notified = gone
	if gone {
		h.log.WarnContext(ctx, "store unavailable, tabs notified")
	} else {
		h.log.InfoContext(ctx, "store available again, tabs notified")
	}
	h.center.Notify(wire.StoreStatus{Available: !gone, Since: wire.Millis(time.Now().UnixMilli())}, gone)
}
