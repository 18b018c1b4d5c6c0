package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Errors with which a live session changes its role or ends.
var (
	errDormant = errors.New("nobody uses the session")
	errReload  = errors.New("the state must be loaded again")
)

// panicError is a panic of the session's goroutine, as an error.
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// The third panic within panicWindow closes a session for suspendFor.
const (
	panicLimit  = 3
	panicWindow = time.Minute
	suspendFor  = 30 * time.Second
)

// How long a live session waits before it tries something again.
const (
	retryFirst = 20 * time.Millisecond
	retryLast  = time.Second
)

// storeTimeout bounds each call to the store that nobody's context bounds.
const storeTimeout = 10 * time.Second

// liveSession keeps one session at this replica, as its owner or as a follower. It
// has one Center for its whole life. Its goroutine is the only one that touches
// the session's state; what others may touch is said below.
type liveSession struct {
	hub    *Hub
	id     wire.SessionID
	center *broadcast.Center // read after ready

	// For everybody; what every step asks comes first.
	mailbox        *mailbox
	drainOrder     atomic.Pointer[drainOrder] // while the session is to be handed over
	unusedSince    atomic.Int64               // since when nobody holds it, in ns; 0 while somebody does
	tabChanges     tabChanges
	storeFull      atomic.Bool // the store has no room for what is to be written next
	replyWaiters   replyWaiters
	storeHealth    storeHealth
	snapshotCache  snapshotCache
	ready          chan struct{}         // closed when the session is loaded, or failure says why not
	done           chan struct{}         // closed when the live session is gone
	claimRequested atomic.Bool           // the session has work and no owner
	inboxHasOlder  atomic.Bool           // the inbox may have what was said here before what is in the mailbox
	activeOwner    atomic.Pointer[owner] // while this replica owns the session
	ownedEpoch     atomic.Uint64         // the epoch of its last lease here
	cachedInfo     atomic.Pointer[Info]  // as it was when it was loaded, see Info.Stale
	betweenSince   atomic.Int64          // since when it is neither owned here nor followed, in ns; 0 while it is

	log     *slog.Logger
	handles int   // guarded by hub.mu
	failure error // read after ready

	// Of the live session's goroutine alone.
	guardedOwner *owner      // for whoever catches its panic
	lastLease    store.Lease // the newest we were given
	panicTimes   []time.Time
	user         string    // whose session it is, once that was read
	missingSince time.Time // since when the store does not have it; zero while it has
	// regression is about a log that ends before what was shown here.
	regression  logRegression
	vacantSince time.Time // since when a session that was followed has no owner; zero once that is told
	// retryMarks are what is known of deliveries that may come again. The map is
	// replaced and never changed once somebody receives.
	retryMarks map[string]item
}

func newLiveSession(h *Hub, id wire.SessionID) *liveSession {
	return &liveSession{
		hub: h, id: id, log: h.log.With("session", string(id)), mailbox: newMailbox(),
		ready: make(chan struct{}), done: make(chan struct{}),
	}
}

// run keeps the session until nobody uses it, it cannot be kept or ctx ends.
func (k *liveSession) run(ctx context.Context) {
	var err error
	defer func() { k.shutDown(err) }()
	var left *owner // what the last time as owner left
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		began := time.Now()
		left, err = k.runGuarded(ctx, left)
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
			return
		case errors.Is(err, errDormant):
			if k.hub.removeSession(k, false) {
				return
			}
			wait = retryFirst
			continue
		case k.tooManyPanics(err):
			why := refusal(wire.CodeSessionInvalidState, "the session keeps going wrong and is closed for a while")
			why.Err = err
			k.hub.suspend(k.id, suspension{time.Now().Add(suspendFor), why, k.epoch()})
			err = why
			return
		case k.awaitsRecreation(ctx, err): // it may come back
		case !k.isReady() && !errors.Is(err, errReload) || isPermanent(err):
			return
		}
		k.markBetweenOwners()
		if errors.Is(err, errLost) || errors.Is(err, errStale) {
			k.log.InfoContext(ctx, "the lease of a session was lost", "err", err)
		}
		if time.Since(began) > retryLast || errors.Is(err, errLost) || errors.Is(err, errReload) || errors.Is(err, errDraining) {
			wait = retryFirst
		} else {
			k.log.WarnContext(ctx, "session is between owners", "err", err)
		}
		if isStoreUnavailable(err) {
			k.setStoreIssue(ctx, issueClaim, true)
		}
		k.serveSnapshotsDuring(left.committedState(), func() {
			sleep(ctx, wait/2+rand.N(wait/2)) //nolint:gosec // jitter needs no secrecy
		})
	}
}

// runGuarded is one turn of run with its panics caught.
func (k *liveSession) runGuarded(ctx context.Context, left *owner) (next *owner, err error) {
	k.guardedOwner = nil
	defer func() {
		if v := recover(); v != nil {
			k.log.ErrorContext(ctx, "panic in a session", "panic", v, "stack", string(debug.Stack()))
			if k.guardedOwner != nil {
				k.guardedOwner.blamePanic()
				next = k.guardedOwner
			}
			err = &panicError{v}
		}
	}()
	return k.ownOrFollow(ctx, left)
}

// tooManyPanics counts panics. A session that cannot even be loaded has too many with
// the first.
func (k *liveSession) tooManyPanics(err error) bool {
	if _, ok := errors.AsType[*panicError](err); !ok {
		return false
	}
	if !k.isReady() {
		return true
	}
	now := time.Now()
	k.panicTimes = append(k.panicTimes, now)
	if len(k.panicTimes) > panicLimit {
		k.panicTimes = k.panicTimes[1:]
	}
	return len(k.panicTimes) == panicLimit && now.Sub(k.panicTimes[0]) < panicWindow
}

// ownOrFollow owns the session if it can and else follows it, until that changes.
func (k *liveSession) ownOrFollow(ctx context.Context, left *owner) (*owner, error) {
	if k.drainOrder.Load() != nil {
		if err := k.abandonOwner(ctx, left, store.Lease{}); err != nil {
			return left, err
		}
		if k.isUnneeded(nil) {
			return nil, errDormant
		}
		_, _, err := k.follow(ctx, time.Time{})
		return nil, err
	}
	var lease store.Lease
	var claimed time.Time
	var err error
	k.serveSnapshotsDuring(left.committedState(), func() {
		lease, claimed, err = k.claim(ctx, left)
		if errors.Is(err, store.ErrNotFound) && left.hasFullState() {
			if err = k.recreate(ctx, left); err == nil {
				lease, claimed, err = k.claim(ctx, left)
			}
		}
	})
	if err == nil {
		return k.own(ctx, lease, claimed, left)
	}
	if left == nil && errors.Is(err, store.ErrNoSpace) && !k.isUnneeded(nil) {
		// Reading needs no room. A full store refuses claims of owned sessions too, so
		// whether there is an owner is found out when there is room again.
		lease, claimed, err = k.follow(ctx, time.Now().Add(retryLast))
		if err != nil {
			return nil, err
		}
		return k.own(ctx, lease, claimed, nil)
	}
	owned, ok := errors.AsType[*store.OwnedError](err)
	switch {
	case !ok && k.isUnneeded(left) && (left == nil || !isStoreUnavailable(err) || !time.Now().Before(k.dormantAt())):
		return nil, errDormant
	case !ok:
		return left, fmt.Errorf("claim session: %w", err)
	}
	if left != nil && !left.leaseReleased {
		k.hub.cfg.Observer.Fenced()
	}
	if err := k.abandonOwner(ctx, left, store.Lease{}); err != nil {
		return left, err
	}
	if k.isUnneeded(nil) {
		return nil, errDormant // another replica was quicker; nobody here needs it
	}
	lease, claimed, err = k.follow(ctx, claimableAt(owned))
	if err != nil {
		return nil, err
	}
	k.log.InfoContext(ctx, "a session is taken over", "epoch", lease.Epoch, "from", string(owned.By))
	return k.own(ctx, lease, claimed, nil)
}

// isUnneeded reports whether nobody here has use for the session and nothing is left
// to do, in the mailbox or by the last owner here.
func (k *liveSession) isUnneeded(left *owner) bool {
	done := left == nil || left.committed == len(left.items) && !left.rewriting && !left.storeLostData
	return k.isUnused() && done && k.mailbox.isIdle()
}

// requestClaim says that the session has work and nobody owns it.
func (k *liveSession) requestClaim() {
	if k.isUnused() {
		k.claimRequested.Store(true)
		k.mailbox.signal()
	}
}

// claim tries to become the owner, unless the session is to be left to the one it has.
// left is the owner before, if that was here. It also says when it began to.
func (k *liveSession) claim(ctx context.Context, left *owner) (store.Lease, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	began := time.Now()
	if left == nil {
		if err := k.leaveToOwner(ctx); err != nil {
			return store.Lease{}, began, err
		}
	}
	lease, err := k.hub.store.Claim(ctx, k.id, k.hub.cfg.Replica, k.hub.cfg.Lease)
	if err == nil {
		k.lastLease = lease
	}
	return lease, began, err
}

// abandonOwner gives up what an owner here leaves, but for what is the next owner's: items that
// are not done, and what it had accepted and the store has lost.
func (k *liveSession) abandonOwner(ctx context.Context, left *owner, lease store.Lease) error {
	lost, err := k.findLostItems(ctx, left)
	if err != nil {
		return err
	}
	k.requeueUnfinished(left, lease)
	k.mailbox.requeue(lost)
	return nil
}

// requeueUnfinished returns what an owner took and did not finish to the mailbox. lease is
// the one that follows the owner's, or none when somebody else has the session.
func (k *liveSession) requeueUnfinished(left *owner, lease store.Lease) {
	undisturbed := left != nil && lease.Epoch != 0 && lease.Prev.Epoch == left.lease.Epoch
	if !undisturbed {
		// What came through the inbox is there still, or somebody has done it.
		if k.mailbox.removeItems(func(it *item) bool { return it.deliveryID != "" }) {
			k.inboxHasOlder.Store(true)
		}
	}
	k.retryMarks = nil
	if left == nil {
		return
	}
	items := left.pendingMoves()
	unsure := left.commitUncertain || left.rewriting
	for i, it := range left.items[left.committed:] {
		if it.work != nil {
			it.finish(errLost) // its agent is gone with the owner
			continue
		}
		started := left.committed+i < left.handled
		if it.deliveryID != "" && (it.alone || it.poison != nil) {
			// It may come again from the store.
			if k.retryMarks == nil {
				k.retryMarks = map[string]item{}
			}
			k.retryMarks[it.deliveryID] = it
		}
		switch {
		case it.deliveryID != "" && (!undisturbed || unsure && started):
			k.inboxHasOlder.Store(true)
		case unsure && started && it.order == nil && it.cmd.Message.ID == "":
			// Whether it was done cannot be told, and it cannot be told apart
			// from its repetition.
			k.log.Warn("a command was given up because the store did not say whether it was done")
		default:
			items = append(items, it)
		}
	}
	left.items, left.geometry = nil, nil
	k.mailbox.requeue(items)
}

// shutDown takes the live session out of everybody's sight.
func (k *liveSession) shutDown(err error) {
	k.hub.removeSession(k, true)
	k.activeOwner.Store(nil)
	if errors.Is(err, errDormant) {
		err = errUnloaded // for who comes at the very moment
	}
	k.quarantine(err)
	for _, it := range k.mailbox.close(err) {
		it.finish(asError(err))
	}
	code, reason := wire.CloseInternal, "the session cannot be kept"
	switch {
	case errors.Is(err, store.ErrNotFound):
		code, reason = wire.CloseExpired, "the session was deleted"
	case errors.Is(err, errStopping):
		code, reason = wire.CloseDraining, "this replica is shutting down"
	case errors.Is(err, errUnloaded):
		code, reason = wire.CloseNormal, "nobody uses the session"
	default:
		k.log.Warn("session cannot be kept", "err", err)
	}
	if !k.isReady() {
		k.failure = err
		close(k.ready)
	}
	close(k.done)
	if k.center != nil {
		k.center.Close(code, reason)
		k.center.Wait()
	}
}

func (k *liveSession) isReady() bool {
	select {
	case <-k.ready:
		return true
	default:
		return false
	}
}

// isUnused reports whether nobody here has use for the session.
func (k *liveSession) isUnused() bool { return k.unusedSince.Load() != 0 }

// markBetweenOwners says that the session is between owners from now on, if it is not yet. See open.
func (k *liveSession) markBetweenOwners() { k.betweenSince.CompareAndSwap(0, time.Now().UnixNano()) }

// epoch is that of the newest owner that is known here.
func (k *liveSession) epoch() uint64 {
	epoch := k.ownedEpoch.Load()
	if k.center != nil {
		epoch = max(epoch, k.center.Head().Epoch)
	}
	return epoch
}

// dormantAt is when the session may be unloaded; zero while it is held.
func (k *liveSession) dormantAt() time.Time {
	since := k.unusedSince.Load()
	if since == 0 {
		return time.Time{}
	}
	return time.Unix(0, since).Add(k.hub.cfg.DormantAfter)
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
