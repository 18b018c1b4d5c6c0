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

// How it is found out that the store is away when nobody asks it for anything:
// whoever watches a session learns of it within the sum of both.
const (
	probeEvery    = time.Second
	probePatience = 1500 * time.Millisecond
)

// trouble is a reason for which the store counts as away for a session. There may
// be several at once; it is back when none is left.
type storeIssue uint32

const (
	issueCommit storeIssue = 1 << iota // the owner's step is not committed
	issueRenew                         // nor its lease renewed
	issueSend                          // a follower's commands do not get to the owner
	issueClaim                         // it can be neither owned nor followed
	issueProbe                         // the store does not answer for any session beside it
)

// isStoreUnavailable reports whether an error means that the store takes nothing now, and may
// later.
func isStoreUnavailable(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNoSpace) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errStale)
}

// reach is whether the store answers for a session, and what its tabs know of it.
type storeHealth struct {
	issues atomic.Uint32 // changed with mu

	mu   sync.Mutex // guards the following; held while tabs are told, which waits for nothing
	told bool       // that it is away
}

// suffer says that there is a trouble, or none of those any more. When that makes
// a difference, all tabs here are told. ctx is that of whoever has the trouble:
// once it has ended, nobody would say that it is over.
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

// markReady says that the session is ready for doors, and its tabs for news.
func (k *liveSession) markReady(ctx context.Context) {
	k.betweenSince.Store(0)
	if k.isReady() {
		return
	}
	close(k.ready)
	k.storeHealth.mu.Lock()
	defer k.storeHealth.mu.Unlock()
	k.notifyStoreHealth(ctx)
}

// tellReach tells the tabs if they do not know. The caller has k.reach.mu.
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

// probeAll asks the store now and then about one session of each partition that is
// watched here, until ctx ends: sessions in which nothing happens ask it nothing
// themselves.
func (h *Hub) probeAll(ctx context.Context) {
	var keepers []*liveSession
	for sleep(ctx, probeEvery) {
		clear(keepers)
		keepers = h.appendSessions(keepers[:0])
		parts := map[int]*partitionSessions{}
		for _, k := range keepers {
			if !k.isReady() || k.center == nil {
				continue
			}
			n := h.store.Partition(k.id)
			if parts[n] == nil {
				parts[n] = &partitionSessions{}
			}
			parts[n].sessions = append(parts[n].sessions, k)
			parts[n].watched = parts[n].watched || k.center.Tabs() > 0
		}
		var wg sync.WaitGroup
		for _, p := range parts {
			wg.Go(func() { h.probe(ctx, p) })
		}
		wg.Wait()
	}
}

// partitionSessions is the sessions of a partition that are loaded here.
type partitionSessions struct {
	sessions []*liveSession
	watched  bool
}

// probe asks for one session and takes the answer for all. Without anybody to be
// told nothing is asked.
func (h *Hub) probe(ctx context.Context, p *partitionSessions) {
	var err error
	if p.watched {
		limited, cancel := context.WithTimeout(ctx, probePatience)
		defer cancel()
		one := p.sessions[rand.N(len(p.sessions))] //nolint:gosec // any will do
		began := time.Now()
		if _, err = h.store.Session(limited, one.id); err == nil {
			h.cfg.Observer.Probed(time.Since(began))
		}
	}
	if ctx.Err() != nil {
		return
	}
	for _, k := range p.sessions {
		k.setStoreIssue(ctx, issueProbe, isStoreUnavailable(err))
	}
}

// serveSnapshotsDuring does something that may have to wait for the store, and goes on
// answering requests for snapshots from a state. Without one they wait.
func (k *liveSession) serveSnapshotsDuring(state *desktop.State, do func()) {
	if state == nil {
		do()
		return
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil { // who looks has to wait then
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
	k.mailbox.signal() // we may have taken the token of something else
}

// committedState is the state that an owner leaves, if it is what the log says.
func (l *owner) committedState() *desktop.State {
	if l == nil || l.state == nil || l.commitUncertain || l.stateBroken || l.rewriting || !l.step.empty() {
		return nil
	}
	if fields, _ := l.state.Pending(); fields > 0 {
		return nil
	}
	return l.state
}

// takeSnapshotRequests returns the requests for snapshots and leaves everything else.
func (b *mailbox) takeSnapshotRequests() []snapshotRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	peeks := slices.Clone(b.snapshotRequests)
	clear(b.snapshotRequests)
	b.snapshotRequests = b.snapshotRequests[:0]
	return peeks
}
