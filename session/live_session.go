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

// Why a live session goes from owning to following and back, or ends.
var (
	errDormant = errors.New("nobody uses the session")
	errReload  = errors.New("the state must be loaded again")
)

// panicked is what a live session makes of a panic.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// The third panic within panicSpan closes a session for closedFor.
const (
	panicLimit = 3
	panicSpan  = time.Minute
	closedFor  = 30 * time.Second
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
	box         *mailbox
	draining    atomic.Pointer[handover] // while the session is to be handed over
	quiet       atomic.Int64             // since when nobody holds it, in ns; 0 while somebody does
	watchers    watchers
	full        atomic.Bool // the store has no room for what is to be written next
	answers     answers
	storeHealth storeHealth
	snapshots   snapshots
	ready       chan struct{}         // closed when the session is loaded, or failure says why not
	done        chan struct{}         // closed when the live session is gone
	needed      atomic.Bool           // the session has work and no owner
	mixed       atomic.Bool           // the inbox may have what was said here before what is in the mailbox
	live        atomic.Pointer[owner] // while this replica owns the session
	owned       atomic.Uint64         // the epoch of its last lease here
	info        atomic.Pointer[Info]  // as it was when it was loaded, see Info.Stale
	between     atomic.Int64          // since when it is neither owned here nor followed, in ns; 0 while it is

	log     *slog.Logger
	holds   int   // guarded by hub.mu
	failure error // read after ready

	// Of the live session's goroutine alone.
	owner  *owner      // for whoever catches its panic
	lease  store.Lease // the newest we were given
	panics []time.Time
	user   string    // whose session it is, once that was read
	lost   time.Time // since when the store does not have it; zero while it has
	// rewound is about a log that ends before what was shown here.
	rewound rewound
	vacant  time.Time // since when a session that was followed has no owner; zero once that is told
	// marks are what is known of deliveries that may come again. The map is
	// replaced and never changed once somebody receives.
	marks map[string]item
}

func newLiveSession(h *Hub, id wire.SessionID) *liveSession {
	return &liveSession{
		hub: h, id: id, log: h.log.With("session", string(id)), box: newMailbox(),
		ready: make(chan struct{}), done: make(chan struct{}),
	}
}

// run keeps the session until nobody uses it, it cannot be kept or ctx ends.
func (k *liveSession) run(ctx context.Context) {
	var err error
	defer func() { k.end(err) }()
	var left *owner // what the last time as owner left
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		began := time.Now()
		left, err = k.runGuarded(ctx, left)
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
			return
		case errors.Is(err, errDormant):
			if k.hub.unlist(k, false) {
				return
			}
			wait = retryFirst
			continue
		case k.tooMany(err):
			why := refusal(wire.CodeSessionInvalidState, "the session keeps going wrong and is closed for a while")
			why.Err = err
			k.hub.shut(k.id, closure{time.Now().Add(closedFor), why, k.epoch()})
			err = why
			return
		case k.missing(ctx, err): // it may come back
		case !k.isReady() && !errors.Is(err, errReload) || lasting(err):
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
		if away(err) {
			k.setStoreIssue(ctx, issueClaim, true)
		}
		k.meanwhile(left.steady(), func() {
			sleep(ctx, wait/2+rand.N(wait/2)) //nolint:gosec // jitter needs no secrecy
		})
	}
}

// runGuarded is one turn of run with its panics caught.
func (k *liveSession) runGuarded(ctx context.Context, left *owner) (next *owner, err error) {
	k.owner = nil
	defer func() {
		if v := recover(); v != nil {
			k.log.ErrorContext(ctx, "panic in a session", "panic", v, "stack", string(debug.Stack()))
			if k.owner != nil {
				k.owner.blame()
				next = k.owner
			}
			err = &panicked{v}
		}
	}()
	return k.ownOrFollow(ctx, left)
}

// tooMany counts panics. A session that cannot even be loaded has too many with
// the first.
func (k *liveSession) tooMany(err error) bool {
	if _, ok := errors.AsType[*panicked](err); !ok {
		return false
	}
	if !k.isReady() {
		return true
	}
	now := time.Now()
	k.panics = append(k.panics, now)
	if len(k.panics) > panicLimit {
		k.panics = k.panics[1:]
	}
	return len(k.panics) == panicLimit && now.Sub(k.panics[0]) < panicSpan
}

// ownOrFollow owns the session if it can and else follows it, until that changes.
func (k *liveSession) ownOrFollow(ctx context.Context, left *owner) (*owner, error) {
	if k.draining.Load() != nil {
		if err := k.abandon(ctx, left, store.Lease{}); err != nil {
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
	k.meanwhile(left.steady(), func() {
		lease, claimed, err = k.claim(ctx, left)
		if errors.Is(err, store.ErrNotFound) && left.remembers() {
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
	case !ok && k.isUnneeded(left) && (left == nil || !away(err) || !time.Now().Before(k.dormantAt())):
		return nil, errDormant
	case !ok:
		return left, fmt.Errorf("claim session: %w", err)
	}
	if left != nil && !left.released {
		k.hub.cfg.Observer.Fenced()
	}
	if err := k.abandon(ctx, left, store.Lease{}); err != nil {
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
	done := left == nil || left.committed == len(left.items) && !left.rewriting && !left.forgotten
	return k.unheld() && done && k.box.idle()
}

// markUnattended says that the session has work and nobody owns it.
func (k *liveSession) markUnattended() {
	if k.unheld() {
		k.needed.Store(true)
		k.box.nudge()
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
		k.lease = lease
	}
	return lease, began, err
}

// abandon gives up what an owner here leaves, but for what is the next owner's: items that
// are not done, and what it had accepted and the store has lost.
func (k *liveSession) abandon(ctx context.Context, left *owner, lease store.Lease) error {
	lost, err := k.rescue(ctx, left)
	if err != nil {
		return err
	}
	k.release(left, lease)
	k.box.giveBack(lost)
	return nil
}

// release returns what an owner took and did not finish to the mailbox. lease is
// the one that follows the owner's, or none when somebody else has the session.
func (k *liveSession) release(left *owner, lease store.Lease) {
	undisturbed := left != nil && lease.Epoch != 0 && lease.Prev.Epoch == left.lease.Epoch
	if !undisturbed {
		// What came through the inbox is there still, or somebody has done it.
		if k.box.drop(func(it *item) bool { return it.inbox != "" }) {
			k.mixed.Store(true)
		}
	}
	k.marks = nil
	if left == nil {
		return
	}
	items := left.motions()
	unsure := left.uncertain || left.rewriting
	for i, it := range left.items[left.committed:] {
		if it.work != nil {
			it.finish(errLost) // its agent is gone with the owner
			continue
		}
		started := left.committed+i < left.handled
		if it.inbox != "" && (it.alone || it.poison != nil) {
			// It may come again from the store.
			if k.marks == nil {
				k.marks = map[string]item{}
			}
			k.marks[it.inbox] = it
		}
		switch {
		case it.inbox != "" && (!undisturbed || unsure && started):
			k.mixed.Store(true)
		case unsure && started && it.order == nil && it.cmd.Message.ID == "":
			// Whether it was done cannot be told, and it cannot be told apart
			// from its repetition.
			k.log.Warn("a command was given up because the store did not say whether it was done")
		default:
			items = append(items, it)
		}
	}
	left.items, left.geometry = nil, nil
	k.box.giveBack(items)
}

// end takes the live session out of everybody's sight.
func (k *liveSession) end(err error) {
	k.hub.unlist(k, true)
	k.live.Store(nil)
	if errors.Is(err, errDormant) {
		err = errGone // for who comes at the very moment
	}
	k.quarantine(err)
	for _, it := range k.box.close(err) {
		it.finish(asError(err))
	}
	code, reason := wire.CloseInternal, "the session cannot be kept"
	switch {
	case errors.Is(err, store.ErrNotFound):
		code, reason = wire.CloseExpired, "the session was deleted"
	case errors.Is(err, errStopping):
		code, reason = wire.CloseDraining, "this replica is shutting down"
	case errors.Is(err, errGone):
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

// unheld reports whether nobody here has use for the session.
func (k *liveSession) unheld() bool { return k.quiet.Load() != 0 }

// markBetweenOwners says that the session is between owners from now on, if it is not yet. See open.
func (k *liveSession) markBetweenOwners() { k.between.CompareAndSwap(0, time.Now().UnixNano()) }

// epoch is that of the newest owner that is known here.
func (k *liveSession) epoch() uint64 {
	epoch := k.owned.Load()
	if k.center != nil {
		epoch = max(epoch, k.center.Head().Epoch)
	}
	return epoch
}

// dormantAt is when the session may be unloaded; zero while it is held.
func (k *liveSession) dormantAt() time.Time {
	since := k.quiet.Load()
	if since == 0 {
		return time.Time{}
	}
	return time.Unix(0, since).Add(k.hub.cfg.Dormant)
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
