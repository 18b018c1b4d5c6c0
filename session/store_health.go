package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"slices"
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

// faultyStore is a bit set of reasons for which the store counts as unavailable for a session. It is
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

// storeProber finds out whether the store answers, for sessions that do not use it themselves.
type storeProber struct {
	env      *environment
	registry *registry
}

// probeAll probes the store every probeEvery with one session of each partition that has tabs here,
// until ctx ends. Idle sessions do not call the store themselves.
func (sp *storeProber) probeAll(ctx context.Context) {
	var sessions []*liveSession
	for sleep(ctx, probeEvery) {
		clear(sessions)
		sessions = sp.registry.appendSessions(sessions[:0])
		parts := map[int]*partitionSessions{}
		for _, k := range sessions {
			if !k.isReady() || k.center == nil {
				continue
			}
			n := sp.env.store.Partition(k.id)
			if parts[n] == nil {
				parts[n] = &partitionSessions{}
			}
			parts[n].sessions = append(parts[n].sessions, k)
			parts[n].watched = parts[n].watched || k.center.Tabs() > 0
		}
		var wg sync.WaitGroup
		for _, p := range parts {
			wg.Go(func() { sp.probe(ctx, p) })
		}
		wg.Wait()
	}
}

// partitionSessions are the loaded sessions of a store partition.
type partitionSessions struct {
	sessions []*liveSession
	watched  bool
}

// probe looks up one session and applies the result to all sessions of the partition. Without tabs
// it does not call the store.
func (sp *storeProber) probe(ctx context.Context, p *partitionSessions) {
	var err error
	if p.watched {
		limited, cancel := context.WithTimeout(ctx, probePatience)
		defer cancel()
		one := p.sessions[rand.N(len(p.sessions))] //nolint:gosec // any will do
		began := time.Now()
		if _, err = sp.env.store.Session(limited, one.id); err == nil {
			sp.env.cfg.Observer.Probed(time.Since(began))
		}
	}
	if ctx.Err() != nil {
		return
	}
	for _, k := range p.sessions {
		k.setStoreIssue(ctx, issueProbe, isStoreUnavailable(err))
	}
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

// committedState returns the state of an owner if it contains nothing uncommitted, else nil.
func (l *owner) committedState() *desktop.State {
	if l == nil || l.w.state == nil || l.committer.stepState != stepIdle || !l.committer.storeCopy.may(copyServes) || !l.w.step.empty() {
		return nil
	}
	if fields, _ := l.w.state.Pending(); fields > 0 {
		return nil
	}
	return l.w.state
}

// takeSnapshotRequests takes the snapshot requests and leaves the items.
func (b *mailbox) takeSnapshotRequests() []snapshotRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	peeks := slices.Clone(b.snapshotRequests)
	clear(b.snapshotRequests)
	b.snapshotRequests = b.snapshotRequests[:0]
	return peeks
}
