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

	allIssues = 1<<iota - 1
)

// noSpaceShift moves an issue to the bit that says that it is for lack of space.
const noSpaceShift = 16

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
	issues atomic.Uint32 // a storeIssue, and shifted by noSpaceShift those for lack of space; written with mu held

	mu       sync.Mutex        // guards the following; held while tabs are notified, which does not block
	center   *broadcast.Center // has the tabs; nil until the session is loaded
	notified storeCondition    // the condition that the tabs know
}

// storeCondition is the overall state of the store for a session; the zero value is an available store.
type storeCondition struct{ unavailable, full bool }

// condition returns the overall state. The store counts as full while all its issues are for lack of space.
func (h *storeHealth) condition() storeCondition {
	issues := storeIssue(h.issues.Load())
	present := issues & allIssues
	return storeCondition{unavailable: present != 0, full: present != 0 && issues>>noSpaceShift == present}
}

// has reports whether one of these issues is set.
func (h *storeHealth) has(issues storeIssue) bool { return storeIssue(h.issues.Load())&issues != 0 }

// set sets an issue if err means that the store is unavailable or full, clears it otherwise, and notifies
// all tabs here when the overall state changes. It sets nothing once ctx, that of the failing operation, has
// ended: no code would clear it then.
func (h *storeHealth) set(ctx context.Context, issue storeIssue, err error) {
	mask, now := issue|issue<<noSpaceShift, storeIssue(0)
	switch {
	case errors.Is(err, store.ErrNoSpace):
		now = mask
	case isStoreUnavailable(err):
		now = issue
	}
	if storeIssue(h.issues.Load())&mask == now {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now != 0 && ctx.Err() != nil {
		return
	}
	h.issues.Store(uint32(storeIssue(h.issues.Load())&^mask | now))
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
	now := h.condition()
	if now == h.notified || h.center == nil {
		return
	}
	h.notified = now
	switch {
	case now.full:
		h.log.WarnContext(ctx, "store full, tabs notified")
	case now.unavailable:
		h.log.WarnContext(ctx, "store unavailable, tabs notified")
	default:
		h.log.InfoContext(ctx, "store available again, tabs notified")
	}
	since := wire.Millis(time.Now().UnixMilli())
	h.center.Notify(wire.StoreStatus{Available: !now.unavailable, Full: now.full, Since: since}, now.unavailable)
}
