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

// The store is probed for sessions that do not use it: tabs learn that it is unavailable within the
// sum of both.
const (
	probeEvery    = time.Second
	probePatience = 1500 * time.Millisecond
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

// storeHealth is whether the store is available for a session, and what its tabs were last told.
type storeHealth struct {
	issues atomic.Uint32 // written with mu held

	mu   sync.Mutex // guards the following; held while tabs are notified, which does not block
	told bool       // tabs were told that the store is unavailable
}

// setStoreIssue sets or clears issues and notifies all tabs here when the overall state changes. It
// sets nothing once ctx, that of the failing operation, has ended: no code would clear it then.
func (k *liveSession) setStoreIssue(ctx context.Context, t storeIssue, yes bool) {
	r := &k.storeHealth
	if (r.issues.Load()&uint32(t) != 0) == yes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.issues.Load() &^ uint32(t)
	if yes {
		if ctx.Err() != nil {
			return
		}
		now |= uint32(t)
	}
	r.issues.Store(now)
	k.notifyStoreHealth(ctx)
}

// markReady records that the session is loaded and owned or followed here. Open returns, and tabs
// may be notified.
func (k *liveSession) markReady(ctx context.Context) {
	if k.isReady() {
		return
	}
	close(k.ready)
	k.storeHealth.mu.Lock()
	defer k.storeHealth.mu.Unlock()
	k.notifyStoreHealth(ctx)
}

// notifyStoreHealth notifies the tabs if the state differs from what they were told. The caller
// holds k.storeHealth.mu.
func (k *liveSession) notifyStoreHealth(ctx context.Context) {
	gone := k.storeHealth.issues.Load() != 0
	if gone == k.storeHealth.told || !k.isReady() || k.center == nil {
		return
	}
	k.storeHealth.told = gone
	if gone {
		k.log.WarnContext(ctx, "store unavailable, tabs notified")
	} else {
		k.log.InfoContext(ctx, "store available again, tabs notified")
	}
	k.center.Notify(wire.StoreStatus{Available: !gone, Since: wire.Millis(time.Now().UnixMilli())}, gone)
}

// serveSnapshotsDuring runs do, which may wait for the store, and answers snapshot requests from
// state meanwhile. Without a state they wait.
func (k *liveSession) serveSnapshotsDuring(state *desktop.State, do func()) {
	if state == nil {
		do()
		return
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil { // the requests have to wait then
				k.log.Error("panic while answering snapshots", "panic", v, "stack", string(debug.Stack()))
			}
		}()
		for {
			k.answerSnapshots(k.mailbox.takeSnapshotRequests(), state)
			select {
			case <-k.mailbox.wake:
			case <-stop:
				return
			}
		}
	})
	do()
	close(stop)
	wg.Wait()
	k.mailbox.signal() // the goroutine may have taken the token of an item
}
