package session

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/desktop"
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

// storeHealth records whether the store is available for a session, and whether its tabs know that.
type storeHealth struct {
	issues atomic.Uint32 // written with mu held

	mu       sync.Mutex // guards the following; held while tabs are notified, which does not block
	notified bool       // tabs were notified that the store is unavailable
}

// setStoreIssue sets or clears an issue and notifies all tabs here when the overall state changes. It
// sets nothing once ctx, that of the failing operation, has ended: no code would clear it then.
func (ls *liveSession) setStoreIssue(ctx context.Context, issue storeIssue, present bool) {
	health := &ls.storeHealth
	if (health.issues.Load()&uint32(issue) != 0) == present {
		return
	}
	health.mu.Lock()
	defer health.mu.Unlock()
	now := health.issues.Load() &^ uint32(issue)
	if present {
		if ctx.Err() != nil {
			return
		}
		now |= uint32(issue)
	}
	health.issues.Store(now)
	ls.notifyStoreHealth(ctx)
}

// markReady records that the session is loaded and owned or followed here. Open returns, and tabs
// may be notified.
func (ls *liveSession) markReady(ctx context.Context) {
	if ls.isReady() {
		return
	}
	close(ls.ready)
	ls.storeHealth.mu.Lock()
	defer ls.storeHealth.mu.Unlock()
	ls.notifyStoreHealth(ctx)
}

// notifyStoreHealth notifies the tabs if the state differs from the one that they know. The caller
// holds ls.storeHealth.mu.
func (ls *liveSession) notifyStoreHealth(ctx context.Context) {
	gone := ls.storeHealth.issues.Load() != 0
	if gone == ls.storeHealth.notified || !ls.isReady() || ls.center == nil {
		return
	}
	ls.storeHealth.notified = gone
	if gone {
		ls.log.WarnContext(ctx, "store unavailable, tabs notified")
	} else {
		ls.log.InfoContext(ctx, "store available again, tabs notified")
	}
	ls.center.Notify(wire.StoreStatus{Available: !gone, Since: wire.Millis(time.Now().UnixMilli())}, gone)
}

// serveSnapshotsDuring runs do, which may wait for the store, and answers snapshot requests from
// state meanwhile. Without a state they wait.
func (ls *liveSession) serveSnapshotsDuring(state *desktop.State, do func()) {
	if state == nil {
		do()
		return
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil { // the requests have to wait then
				ls.log.Error("panic while answering snapshots", "panic", v, "stack", string(debug.Stack()))
			}
		}()
		for {
			ls.answerSnapshots(ls.mailbox.takeSnapshotRequests(), state)
			select {
			case <-ls.mailbox.wake:
			case <-stop:
				return
			}
		}
	})
	do()
	close(stop)
	wg.Wait()
	ls.mailbox.signal() // the goroutine may have taken the token of an item
}
