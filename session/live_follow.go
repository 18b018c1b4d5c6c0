package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// claimJitter spreads the claims of replicas that wait for the same lease to expire.
const claimJitter = 150 * time.Millisecond

// ownerCheckEvery is the least time after which a follower checks by a claim which lease keeps the
// session.
const ownerCheckEvery = 30 * time.Minute

// followLinger is how long a followed session without handles stays loaded.
const followLinger = 5 * time.Second

// readPage is the number of events per read when tabs catch up.
const readPage = 1000

// load loads the session and remembers its user and its directory entry.
func (ls *liveSession) load(ctx context.Context) (loadedSession, error) {
	got, err := ls.env.reader.load(ctx, ls.id, ls.user)
	if got.info.User != "" {
		ls.user = got.info.User
		ls.cachedInfo.Store(staleInfo(got.info))
	}
	return got, err
}

// openCenter makes the Center at position to, or publishes to an existing one what it lacks up to
// there.
func (ls *liveSession) openCenter(ctx context.Context, to wire.Position) error {
	if ls.center == nil {
		cfg := ls.env.cfg.Broadcast
		cfg.Writers = cmp.Or(cfg.Writers, ls.env.writers.Load())
		ls.center = broadcast.NewCenter(cfg, ls.id, to, &ls.tabSource)
		return nil
	}
	for head := ls.center.Head(); head != to; head = ls.center.Head() {
		var events []store.Event
		err := store.ErrAhead
		if head.Compare(to) < 0 {
			events, err = ls.readUpTo(ctx, head, to)
		}
		switch {
		case errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
			ls.regression.recordShown(ls.center)
			ls.center.Restart(to)
			return nil
		case err != nil:
			return fmt.Errorf("read the events that tabs have missed: %w", err)
		case len(events) == 0:
			return fmt.Errorf("read the events that tabs have missed: %w: nothing between %v and %v", errReload, head, to)
		}
		ls.publishCommitted(decodeEvents(events))
	}
	return nil
}

// readUpTo reads a page of the log after a position that ends at position to at the latest.
func (ls *liveSession) readUpTo(ctx context.Context, after, to wire.Position) ([]store.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	events, err := ls.env.store.Read(ctx, ls.id, after, readPage)
	for i, e := range events {
		if e.At.Compare(to) > 0 {
			return events[:i], err
		}
	}
	return events, err
}

// publishCommitted publishes committed events to the tabs and to the callers that wait for replies.
// Commands of this replica that they answer need not be sent again.
func (ls *liveSession) publishCommitted(events []broadcast.Event) {
	ls.publish(events)
	ls.pointers.applyPresence(events, ls.center)
	ls.replyWaiters.matchEvents(events)
	ls.deliveries.forwarded.removeAnswered(events)
}

// decodeEvents decodes stored frames. A frame that this hub does not understand is published
// without its payload.
func decodeEvents(events []store.Event) []broadcast.Event {
	out := make([]broadcast.Event, len(events))
	for i, e := range events {
		out[i] = broadcast.Event{At: e.At, Frame: e.Frame}
		if decoded, err := (wire.Native{}).DecodeEvent(e.Frame); err == nil {
			out[i].Data, out[i].Time = decoded.Data, decoded.Time
		}
	}
	return out
}

// follower is the state of a session that another replica owns.
type follower struct {
	live              *liveSession
	state             *desktop.State
	snapshotRequests  []snapshotRequest
	unsent            []item        // for the owner, not in the store's inbox yet
	sendRetryAt       time.Time     // when unsent is sent again
	sending           bool          // a send is in progress; sendResult gets what was not sent
	sendPause         time.Duration // before the last time; 0 if it was successful
	sendResult        chan sendResult
	sendingPresence   atomic.Bool // a presence report is being sent
	presenceFailed    atomic.Bool // the last presence report was not sent
	sends             sync.WaitGroup
	relocation        relocation
	sentVersion       uint64    // version of tabChanges that the owner knows
	presenceResendAt  time.Time // when presence is sent again at the latest
	sentTotal         int       // number of tabs last sent to the owner
	presenceNotBefore time.Time // limits the rate of presence reports
	claimAt           time.Time // when the session is to be claimed; zero means never
	// The result of a claim, and when it began.
	lease      store.Lease
	claimBegan time.Time
}

// awaitOwner returns when the session of an owner is to be claimed: when its own lease expires, plus
// jitter. If it is kept by the lease of an incarnation, the leaseRenewer watches that one, and the
// session is claimed only after ownerCheckEvery, in case a message about another owner was lost.
func (ls *liveSession) awaitOwner(owned *store.OwnedError) time.Time {
	ls.claimableAt.Store(0)
	ls.ownerIncarnation.Store(owned.Incarnation)
	if owned.Incarnation != 0 {
		ls.lease.watch(owned)
		return time.Now().Add(ownerCheckEvery + rand.N(ownerCheckEvery)) //nolint:gosec // jitter needs no secrecy
	}
	return time.Now().Add(max(owned.For, 0) + rand.N(claimJitter)) //nolint:gosec // jitter needs no secrecy
}

// follow publishes the log that another replica writes, until it has claimed the session or an
// error ends it. It claims when the lease of the owner has ended, or never if owned is nil, because
// this replica drains.
func (ls *liveSession) follow(ctx context.Context, owned *store.OwnedError) (store.Lease, time.Time, error) {
	ls.claimRequested.Store(false)
	var claimAt time.Time
	if owned != nil {
		claimAt = ls.awaitOwner(owned)
	}
	ls.inboxHasOlder.Store(true)
	got, err := ls.load(ctx)
	if err != nil {
		return store.Lease{}, time.Time{}, err
	}
	ls.tabSource.cache.clear()
	ls.regression.recordOwnClaim(got.state, ls.env.cfg.Replica)
	if err := ls.openCenter(ctx, got.state.At()); err != nil {
		return store.Lease{}, time.Time{}, err
	}
	f := &follower{live: ls, state: got.state, presenceNotBefore: time.Now(), claimAt: claimAt, sendResult: make(chan sendResult, 1)}
	ls.missingSince = time.Time{}
	ls.storeHealth.set(ctx, issueClaim, nil)
	ls.changeRole(eventFollowed)
	if owned == nil {
		ls.changeRole(eventDrained)
	}
	ls.markReady(ctx)
	working, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	news := make(chan tailBatch)
	wg.Go(func() { f.tail(working, got.state.At(), news) })
	defer func() {
		cancel()
		wg.Wait()
		f.sends.Wait()
		if f.sending {
			f.unsent = (<-f.sendResult).rest
		}
		f.sendLast(ctx)
		ls.mailbox.requeue(f.unsent)
		ls.storeFull.Store(false)
		ls.storeHealth.set(ctx, issueSend, nil)
		f.clearPresence(ctx)
	}()
	err = f.loop(working, news)
	return f.lease, f.claimBegan, err
}

// tailBatch is one result of tailing the log.
type tailBatch struct {
	events []broadcast.Event
	vacant bool
	err    error
}

// tail reads the log until ctx ends or the tail ends with an error, which it also
// sends.
func (f *follower) tail(ctx context.Context, after wire.Position, to chan<- tailBatch) {
	for news, err := range f.live.env.store.Tail(ctx, f.live.id, after) {
		select {
		case to <- tailBatch{events: decodeEvents(news.Events), vacant: news.Vacant, err: err}:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) loop(ctx context.Context, news <-chan tailBatch) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case n := <-news:
			if err := f.applyTail(n); err != nil {
				return err
			}
		case result := <-f.sendResult:
			f.finishSend(result)
		case <-f.live.mailbox.wake:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := f.processDue(ctx, time.Now()); err != nil || f.lease.Epoch != 0 {
			return err
		}
		if next := f.nextDue(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// applyTail folds new events into the state and publishes them.
func (f *follower) applyTail(n tailBatch) error {
	switch {
	case errors.Is(n.err, store.ErrTrimmed), errors.Is(n.err, store.ErrUnknownPosition), errors.Is(n.err, store.ErrAhead):
		return fmt.Errorf("%w: %w", errReload, n.err)
	case n.err != nil:
		return fmt.Errorf("follow the log: %w", n.err)
	}
	if len(n.events) > 0 {
		for _, e := range n.events {
			f.state.Apply(wire.Event{Session: f.live.id, At: e.At, Time: e.Time, Data: e.Data})
			if _, ok := e.Data.(wire.OwnerChanged); ok {
				f.presenceResendAt = time.Time{} // the new owner does not know the tabs here
				f.sentVersion, f.sentTotal = 0, 0
				f.claimAt = f.live.awaitOwner(&store.OwnedError{For: f.live.env.cfg.Lease}) // finds out which lease keeps the session
			}
		}
		f.live.regression.recordOwnClaim(f.state, f.live.env.cfg.Replica)
		f.live.tabSource.cache.clear()
		f.live.publishCommitted(n.events)
	}
	if n.vacant {
		f.claimAt = time.Now()
	}
	return nil
}

// processDue answers snapshot requests, forwards items, reports presence, and claims or unloads the
// session when it is time.
func (f *follower) processDue(ctx context.Context, now time.Time) error {
	ls := f.live
	if f.hasUnsent() {
		// The items gather in the mailbox, which is bounded.
		ls.tabSource.answerSnapshots(ls.mailbox.takeSnapshotRequests(), f.state)
	} else {
		f.unsent, f.snapshotRequests = ls.mailbox.takeAll(nil, f.snapshotRequests)
		f.sendRetryAt = now
		ls.tabSource.answerSnapshots(f.snapshotRequests, f.state)
	}
	f.forwardItems(ctx, now)
	if lost := ls.deliveries.forwarded.due(now, ls.mailbox.signal); len(lost) > 0 {
		f.sends.Go(func() {
			if _, err := ls.deliveries.resend(ctx, lost); err != nil && ctx.Err() == nil {
				ls.log.WarnContext(ctx, "sending unanswered commands to the owner again failed, retrying", "err", err)
			}
		})
	}
	if due := f.presenceDue(); !due.IsZero() && !now.Before(due) {
		f.sendPresence(ctx, now)
	}
	if at := ls.claimableAt.Swap(0); at != 0 {
		f.claimAt = time.Unix(0, at)
	}
	order := ls.drainOrder.Load()
	if order == nil && ls.ownership.current() == roleDrained {
		// Draining was cancelled. Claiming finds out whether another replica owns the session
		// meanwhile.
		ls.changeRole(eventUndrained)
		f.claimAt = now
	}
	switch {
	case order != nil:
		ls.changeRole(eventDrained)
		if f.hasUnsent() {
			return nil
		}
		ls.confirmHandover(order)
		if ls.isUnneeded(nil) {
			return errDormant
		}
	case ls.claimRequested.Swap(false), !f.claimAt.IsZero() && !now.Before(f.claimAt) && !ls.isUnused():
		return f.tryClaim(ctx)
	}
	if at := f.unloadAt(); !at.IsZero() && !now.Before(at) && !f.hasUnsent() && !f.sendingPresence.Load() && !ls.tabChanges.after(f.sentVersion) {
		return errDormant
	}
	return nil
}

// hasUnsent reports whether items have not reached the store's inbox yet.
func (f *follower) hasUnsent() bool { return f.sending || len(f.unsent) > 0 }

// unloadAt is when the session may be unloaded; zero while it has handles. The owner is elsewhere,
// so staying loaded only saves loading it again for a page that is reloaded.
func (f *follower) unloadAt() time.Time {
	since := f.live.unusedSince.Load()
	if since == 0 {
		return time.Time{}
	}
	return time.Unix(0, since).Add(min(followLinger, f.live.env.cfg.DormantAfter))
}

// tryClaim claims the session, or learns when the owner's lease expires.
func (f *follower) tryClaim(ctx context.Context) error {
	var lease store.Lease
	var began time.Time
	var err error
	f.live.tabSource.serveSnapshotsDuring(f.state, func() { lease, began, err = f.live.claim(ctx, nil) })
	owned, ok := errors.AsType[*store.OwnedError](err)
	switch {
	case err == nil:
		f.lease, f.claimBegan = lease, began
		f.live.vacantSince = began
		if !f.claimAt.IsZero() && f.claimAt.Before(began) {
			f.live.vacantSince = f.claimAt
		}
	case ok:
		f.live.changeRole(eventOwnerSeen)
		f.claimAt = f.live.awaitOwner(owned)
	case isPermanent(err):
		return fmt.Errorf("claim session: %w", err)
	default:
		f.live.changeRole(eventClaimFailed)
		f.live.log.WarnContext(ctx, "claim failed, retrying", "err", err)
		f.claimAt = time.Now().Add(retryLast)
	}
	return nil
}

// nextDue is when processDue has something to do without a signal.
func (f *follower) nextDue() time.Time {
	claim, retry, dormant := f.claimAt, time.Time{}, f.unloadAt()
	if f.live.isUnused() || f.live.drainOrder.Load() != nil {
		claim = time.Time{}
	}
	if f.hasUnsent() {
		dormant = time.Time{}
	}
	if len(f.unsent) > 0 && !f.sending {
		retry = f.sendRetryAt
	}
	return earliest(claim, retry, f.presenceDue(), dormant)
}

// presenceDue is when the tabs of this replica must be reported to the owner.
func (f *follower) presenceDue() time.Time {
	if f.sendingPresence.Load() {
		return time.Time{} // the end of the send signals the mailbox
	}
	if f.live.tabChanges.after(f.sentVersion) {
		return f.presenceNotBefore
	}
	if f.live.ownerIncarnation.Load() != 0 && !f.presenceFailed.Load() {
		return time.Time{} // the owner has the report, and the lease of this replica says that it is alive
	}
	return f.presenceResendAt
}

// sendPresence reports the tabs of this replica to the owner, in the background. A failed report is
// repeated after presenceResend.
func (f *follower) sendPresence(ctx context.Context, now time.Time) {
	here, version := f.live.localViewers()
	if here.total == 0 && f.presenceResendAt.IsZero() && f.sentVersion == 0 {
		f.sentVersion = version // there were no tabs yet, and the owner knows of none
		return
	}
	f.sendingPresence.Store(true)
	f.sends.Go(func() {
		defer f.live.mailbox.signal()
		defer f.sendingPresence.Store(false)
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err := f.live.env.sendOrder(ctx, f.live.id, &order{
			Kind: orderPresence, Replica: f.live.env.cfg.Replica, Incarnation: f.live.env.incarnation.Number,
			Total: here.total, Connections: here.oldest,
		})
		f.presenceFailed.Store(err != nil)
		if err != nil {
			f.live.log.WarnContext(ctx, "sending presence to the owner failed", "err", err)
		}
	})
	f.sentVersion, f.presenceNotBefore, f.presenceResendAt, f.sentTotal = version, now.Add(presenceEvery), now.Add(presenceResend), here.total
	if here.total == 0 {
		f.presenceResendAt = time.Time{}
	}
}

// clearPresence reports, when the hub stops, that this replica has no tabs any more, if the owner
// may believe otherwise. It tries once: the owner drops a silent replica by itself.
func (f *follower) clearPresence(ctx context.Context) {
	if f.sentTotal == 0 && !f.presenceFailed.Load() || !errors.Is(context.Cause(ctx), errStopping) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := f.live.env.sendOrder(ctx, f.live.id, &order{Kind: orderPresence, Replica: f.live.env.cfg.Replica})
	if err != nil {
		f.live.log.WarnContext(ctx, "clearing presence at the owner failed", "err", err)
	}
}
