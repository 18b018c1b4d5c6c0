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
	errDormant = errors.New("the session is unused")
	errReload  = errors.New("the state must be loaded again")
	errRole    = errors.New("the role of this replica does not allow that")
)

// panicError is a panic of the session's goroutine, as an error.
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// After panicLimit panics within panicWindow a session is suspended for suspendFor.
const (
	panicLimit  = 3
	panicWindow = time.Minute
	suspendFor  = 30 * time.Second
)

// The delay before a live session tries again grows from retryFirst to retryLast.
const (
	retryFirst = 20 * time.Millisecond
	retryLast  = time.Second
)

// storeTimeout bounds each store call that has no deadline of a caller.
const storeTimeout = 10 * time.Second

// sessionRegistry is where a live session ends.
type sessionRegistry interface {
	// removeSession removes ls and reports whether it did. Unless anyway is set, it refuses while ls
	// has handles or items; once it has removed ls, ls gets neither.
	removeSession(ls *liveSession, anyway bool) bool
	// suspend refuses to open a session until c.until.
	suspend(id wire.SessionID, c suspension)
}

// liveSession is one loaded session of this replica, as its owner or its follower. It has one
// Center for its whole life. Its goroutine is the only one that touches the session's state; the
// fields that other goroutines may use are grouped below.
type liveSession struct {
	env      *environment
	registry sessionRegistry
	id       wire.SessionID
	lease    *partitionLease   // keeps the session while this replica owns it
	center   *broadcast.Center // read after ready

	// Safe for all goroutines. The fields that every step reads come first.
	mailbox        *mailbox
	drainOrder     atomic.Pointer[drainOrder] // set while the session is to be handed over
	unusedSince    atomic.Int64               // when the last handle was closed, in Unix ns; 0 while there are handles
	tabChanges     tabChanges
	storeFull      atomic.Bool // the store has no space for the step that is being committed, or for forwarded commands
	replyWaiters   replyWaiters
	storeHealth    storeHealth
	deliveries     deliverySender // used by followers, and by new owners for what they forwarded before
	tabSource      tabSource
	pointers       pointerRelay
	ready          chan struct{} // closed when the session is loaded or has failed to load, see failure
	done           chan struct{} // closed when the live session has ended
	claimRequested atomic.Bool   // a follower is to claim the session now
	// ownerIncarnation is the incarnation whose lease keeps a followed session, as far as is known,
	// else 0. claimableAt is when a follower is to claim the session because that lease has ended, in
	// Unix ns; 0 if it is not.
	ownerIncarnation atomic.Uint64
	claimableAt      atomic.Int64
	inboxHasOlder    atomic.Bool           // the store's inbox may hold items of this replica that are older than those in the mailbox
	activeOwner      atomic.Pointer[owner] // while this replica owns the session
	ownedEpoch       atomic.Uint64         // the epoch of the last lease of this replica
	cachedInfo       atomic.Pointer[Info]  // the directory entry when the session was loaded, see Info.Stale
	ownership        ownership             // the role of this replica

	log     *slog.Logger
	handles int   // open handles; guarded by registry.mu
	failure error // why loading failed; read after ready

	// Used by the live session's goroutine only.
	guardedOwner *owner      // the running owner, for the recovery of its panic
	lastLease    store.Lease // the newest lease of this replica
	panicTimes   []time.Time
	user         string    // the session's user, once loaded
	missingSince time.Time // since when the store does not have the session; zero while it has
	// regression describes a log that ends before what was published here.
	regression  logRegression
	vacantSince time.Time // since when a followed session has had no owner; zero once a takeover was observed
	// retryMarks holds the items, by delivery id, that may come from the inbox again and are then
	// to be executed alone or refused. The map is replaced, never changed, once an owner reads it.
	retryMarks map[string]item
}

func newLiveSession(env *environment, rg sessionRegistry, id wire.SessionID) *liveSession {
	ls := &liveSession{
		env: env, registry: rg, id: id, lease: env.leases.acquire(env.store.Partition(id)), log: env.log.With("session", string(id)), mailbox: newMailbox(),
		ready: make(chan struct{}), done: make(chan struct{}),
	}
	ls.storeHealth.log = ls.log
	ls.deliveries = deliverySender{env: env, id: id, log: ls.log, mailbox: ls.mailbox, storeHealth: &ls.storeHealth}
	ls.pointers = pointerRelay{signals: env.cfg.Signals, session: id, replica: env.cfg.Replica}
	ls.tabSource = tabSource{env: env, id: id, log: ls.log, mailbox: ls.mailbox, done: ls.done}
	return ls
}

// run owns or follows the session until it is unused, cannot be kept, or ctx ends.
//
// The goroutine of an idle session waits at the end of run, runGuarded, ownOrFollow, own, [owner.run] and
// [owner.loop]. The Go runtime halves a stack that is used to less than a quarter, so these functions
// leave everything with larger variables to others that have returned by then.
func (ls *liveSession) run(ctx context.Context) {
	var err error
	defer func() { ls.shutDown(err) }()
	var prev *owner // the last owner here, with its unfinished items and state
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		began := time.Now()
		prev, err = ls.runGuarded(ctx, prev)
		var final bool
		if wait, final, err = ls.pauseAfter(ctx, err, prev, began, wait); final {
			return
		}
	}
}

// pauseAfter waits after an end of owning or following that began at a time and after which the live
// session goes on. It returns the length of the pause for the next call, whether the end is final, after
// which there is no pause, and the reason for the end.
func (ls *liveSession) pauseAfter(ctx context.Context, err error, prev *owner, began time.Time, wait time.Duration) (_ time.Duration, final bool, why error) {
	switch {
	case ctx.Err() != nil:
		return wait, true, context.Cause(ctx)
	case errors.Is(err, errDormant):
		if ls.registry.removeSession(ls, false) {
			return wait, true, err
		}
		ls.changeRole(eventReopened)
		return retryFirst, false, err
	case ls.tooManyPanics(err):
		refused := refusal(wire.CodeSessionInvalidState, "the session is suspended after repeated errors; try again later")
		refused.Err = err
		ls.registry.suspend(ls.id, suspension{time.Now().Add(suspendFor), refused, ls.epoch()})
		ls.changeRole(eventSuspended)
		return wait, true, refused
	case ls.awaitsRecreation(ctx, err): // the session may come back
		ls.changeRole(eventMissing)
	case !ls.isReady() && !errors.Is(err, errReload) || isPermanent(err):
		return wait, true, err
	default:
		ls.changeRole(eventFailed)
	}
	if errors.Is(err, errLost) || errors.Is(err, errStale) {
		ls.log.InfoContext(ctx, "lease lost", "err", err)
	}
	if time.Since(began) > retryLast || errors.Is(err, errLost) || errors.Is(err, errReload) || errors.Is(err, errDraining) {
		wait = retryFirst
	} else {
		ls.log.WarnContext(ctx, "session has no owner here, retrying", "err", err)
	}
	if isStoreUnavailable(err) {
		ls.storeHealth.set(ctx, issueClaim, err)
	}
	ls.tabSource.serveSnapshotsDuring(prev.committedState(), func() {
		sleep(ctx, wait/2+rand.N(wait/2)) //nolint:gosec // jitter needs no secrecy
	})
	ls.changeRole(eventRetry)
	return wait, false, err
}

// runGuarded calls ownOrFollow and turns a panic into a panicError.
func (ls *liveSession) runGuarded(ctx context.Context, prev *owner) (next *owner, err error) {
	ls.guardedOwner = nil
	defer func() {
		if v := recover(); v != nil {
			ls.log.ErrorContext(ctx, "panic in session", "panic", v, "stack", string(debug.Stack()))
			if ls.guardedOwner != nil {
				ls.guardedOwner.committer.blamePanic()
				next = ls.guardedOwner
			}
			err = &panicError{v}
		}
	}()
	return ls.ownOrFollow(ctx, prev)
}

// tooManyPanics records a panic and reports whether the session is to be suspended. A session that
// panics while it is loaded is suspended after the first.
func (ls *liveSession) tooManyPanics(err error) bool {
	if _, ok := errors.AsType[*panicError](err); !ok {
		return false
	}
	if !ls.isReady() {
		return true
	}
	now := time.Now()
	ls.panicTimes = append(ls.panicTimes, now)
	if len(ls.panicTimes) > panicLimit {
		ls.panicTimes = ls.panicTimes[1:]
	}
	return len(ls.panicTimes) == panicLimit && now.Sub(ls.panicTimes[0]) < panicWindow
}

// ownOrFollow owns the session if it can claim it, else follows it, until the role changes.
func (ls *liveSession) ownOrFollow(ctx context.Context, prev *owner) (*owner, error) {
	ow, prev, err := ls.claimOrFollow(ctx, prev)
	if err != nil {
		return prev, err
	}
	return ls.own(ctx, ow, prev)
}

// claimOrFollow claims the session and returns its new owner, after following it if another replica owns
// it. It also returns the last owner here if the next one needs its unfinished items and state.
func (ls *liveSession) claimOrFollow(ctx context.Context, prev *owner) (ow, last *owner, err error) {
	if ls.drainOrder.Load() != nil {
		if err := ls.abandonOwner(ctx, prev, wire.Position{}); err != nil {
			return nil, prev, err
		}
		if ls.isUnneeded(nil) {
			return nil, nil, errDormant
		}
		lease, claimed, err := ls.follow(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		return newOwner(ctx, ls, lease, claimed), nil, nil
	}
	var lease store.Lease
	var claimed time.Time
	ls.tabSource.serveSnapshotsDuring(prev.committedState(), func() {
		lease, claimed, err = ls.claim(ctx, prev)
		if errors.Is(err, store.ErrNotFound) && prev.hasFullState() {
			if err = ls.recreate(ctx, prev); err == nil {
				lease, claimed, err = ls.claim(ctx, prev)
			}
		}
	})
	if err == nil {
		return newOwner(ctx, ls, lease, claimed), prev, nil
	}
	if prev == nil && errors.Is(err, store.ErrNoSpace) && !ls.isUnneeded(nil) {
		// Reading needs no space. A full store refuses the claim of an owned session, too, so the
		// follower finds out whether there is an owner when there is space again.
		lease, claimed, err = ls.follow(ctx, &store.OwnedError{For: retryLast})
		if err != nil {
			return nil, nil, err
		}
		return newOwner(ctx, ls, lease, claimed), nil, nil
	}
	owned, ok := errors.AsType[*store.OwnedError](err)
	switch {
	case !ok && ls.isUnneeded(prev) && (prev == nil || !isStoreUnavailable(err) || !time.Now().Before(ls.dormantAt())):
		return nil, nil, errDormant
	case !ok:
		return nil, prev, fmt.Errorf("claim session: %w", err)
	}
	if prev != nil && !prev.held.status.is(leaseReleased) {
		ls.env.cfg.Observer.Fenced()
	}
	if err := ls.abandonOwner(ctx, prev, wire.Position{}); err != nil {
		return nil, prev, err
	}
	if ls.isUnneeded(nil) {
		return nil, nil, errDormant // another replica was faster and the session is unused here
	}
	lease, claimed, err = ls.follow(ctx, owned)
	if err != nil {
		return nil, nil, err
	}
	ls.log.InfoContext(ctx, "session taken over", "epoch", lease.Epoch, "from", string(owned.By))
	return newOwner(ctx, ls, lease, claimed), nil, nil
}

// isUnneeded reports whether the session has no handles and no items, neither in the mailbox nor
// unfinished by the last owner here.
func (ls *liveSession) isUnneeded(prev *owner) bool {
	done := prev == nil || prev.committer.committed == len(prev.committer.items) && prev.committer.storeCopy.may(copyUnloads)
	return ls.isUnused() && done && ls.mailbox.isIdle()
}

// requestClaim has an unused follower claim the session, because it has work and no owner. A
// follower with handles finds that out by itself.
func (ls *liveSession) requestClaim() {
	if ls.isUnused() {
		ls.claimRequested.Store(true)
		ls.mailbox.signal()
	}
}

// claim tries to become the owner, unless the session must be left to its present owner, see
// leaveToOwner. prev is the last owner here, if there was one. claim also returns the time at which
// it began, from which on the lease counts.
func (ls *liveSession) claim(ctx context.Context, prev *owner) (store.Lease, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	began := time.Now()
	if !ls.ownership.may(outputClaim) {
		return store.Lease{}, began, errRole
	}
	if prev == nil {
		if err := ls.leaveToOwner(ctx); err != nil {
			return store.Lease{}, began, err
		}
	}
	lease, err := ls.env.store.ClaimShared(ctx, ls.id, ls.env.incarnation, ls.env.cfg.Lease)
	if err == nil {
		ls.lease.extend(began.Sub(ls.env.started))
		ls.lastLease = lease
	}
	return lease, began, err
}

// abandonOwner returns the unfinished items of an owner that ended here to the mailbox, together
// with the accepted items that the store has lost, so that the next owner gets them. before is the end
// of the log when this replica claimed the session again, or zero when another replica owns it.
func (ls *liveSession) abandonOwner(ctx context.Context, prev *owner, before wire.Position) error {
	lost, err := ls.findLostItems(ctx, prev)
	if err != nil {
		return err
	}
	ls.requeueUnfinished(prev, before)
	ls.mailbox.requeue(lost)
	return nil
}

// requeueUnfinished returns the items that an owner took and did not finish to the mailbox. before is
// that of abandonOwner.
func (ls *liveSession) requeueUnfinished(prev *owner, before wire.Position) {
	undisturbed := prev != nil && before.Epoch == prev.held.lease.Epoch
	if !undisturbed {
		// Items from the inbox are still there, or another owner has consumed them.
		if ls.mailbox.removeItems(func(it *item) bool { return it.deliveryID != "" }) {
			ls.inboxHasOlder.Store(true)
		}
	}
	ls.retryMarks = nil
	if prev == nil {
		return
	}
	items := prev.commands.desktop.pendingMoves()
	unsure := prev.committer.stepState.isUncertain() || prev.committer.storeCopy == copyRewriting
	for i, it := range prev.committer.items[prev.committer.committed:] {
		if it.work != nil {
			it.finish(errLost) // its agent ended with the owner
			continue
		}
		started := prev.committer.committed+i < prev.committer.handled
		if it.deliveryID != "" && (it.alone || it.poison != nil) {
			// The store may deliver it again.
			if ls.retryMarks == nil {
				ls.retryMarks = map[string]item{}
			}
			ls.retryMarks[it.deliveryID] = it
		}
		switch {
		case it.deliveryID != "" && (!undisturbed || unsure && started):
			ls.inboxHasOlder.Store(true)
		case unsure && started && it.order == nil && it.cmd.Message.ID == "":
			// The item may be committed already, and without an id it cannot be told apart from its
			// repetition.
			ls.log.Warn("command dropped: unknown whether its commit succeeded")
		default:
			items = append(items, it)
		}
	}
	prev.committer.items, prev.commands.desktop.geometry = nil, nil
	ls.mailbox.requeue(items)
}

// shutDown ends the live session: it leaves the registry, refuses its items and closes its tabs.
func (ls *liveSession) shutDown(err error) {
	ls.registry.removeSession(ls, true)
	ls.activeOwner.Store(nil)
	ls.env.leases.release(ls.lease)
	defer ls.changeRole(eventClosed)
	if errors.Is(err, errDormant) {
		err = errUnloaded // for a caller that opened the session at this moment
	}
	ls.cleanUpAfter(err)
	for _, it := range ls.mailbox.close(err) {
		it.finish(asError(err))
	}
	code, reason := wire.CloseInternal, "the session failed"
	switch {
	case errors.Is(err, store.ErrNotFound):
		code, reason = wire.CloseExpired, "the session was deleted"
	case errors.Is(err, errStopping):
		code, reason = wire.CloseDraining, "this replica is shutting down"
	case errors.Is(err, errUnloaded):
		code, reason = wire.CloseNormal, "the session is unused"
	default:
		ls.log.Warn("session closed after an error", "err", err)
	}
	if !ls.isReady() {
		ls.failure = err
		close(ls.ready)
	}
	close(ls.done)
	ls.pointers.close()
	if ls.center != nil {
		ls.center.Close(code, reason)
		ls.center.Wait()
	}
}

// markReady records that the session is loaded and owned or followed here. Open returns, and tabs
// may be notified.
func (ls *liveSession) markReady(ctx context.Context) {
	if ls.isReady() {
		return
	}
	close(ls.ready)
	ls.storeHealth.start(ctx, ls.center)
}

func (ls *liveSession) isReady() bool {
	select {
	case <-ls.ready:
		return true
	default:
		return false
	}
}

// isUnused reports whether the session has no handles.
func (ls *liveSession) isUnused() bool { return ls.unusedSince.Load() != 0 }

// epoch is the newest epoch known here.
func (ls *liveSession) epoch() uint64 {
	epoch := ls.ownedEpoch.Load()
	if ls.center != nil {
		epoch = max(epoch, ls.center.Head().Epoch)
	}
	return epoch
}

// dormantAt is when an owner may unload the session; zero while there are handles.
func (ls *liveSession) dormantAt() time.Time {
	since := ls.unusedSince.Load()
	if since == 0 {
		return time.Time{}
	}
	return time.Unix(0, since).Add(ls.env.cfg.DormantAfter)
}

// sleep waits for d and reports whether ctx is still alive.
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
