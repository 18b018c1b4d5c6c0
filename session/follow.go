package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// claimJitter spreads those who wait for the same lease to run out.
const claimJitter = 150 * time.Millisecond

// followLinger is how long a session of another replica stays loaded without use.
const followLinger = 5 * time.Second

// readPage is how many events are read at once to catch up.
const readPage = 1000

// loadedSession is a session as the store has it.
type loadedSession struct {
	state     *desktop.State
	prevOwner wire.ReplicaID // whose it was before the newest claim
	tables    map[string]map[string][]byte
	lists     map[string][][]byte
	info      store.Info
}

// load reads the session.
func (k *liveSession) load(ctx context.Context) (loadedSession, error) {
	got, err := k.hub.load(ctx, k.id, k.user)
	if got.info.User != "" {
		k.user = got.info.User
		k.cachedInfo.Store(staleInfo(got.info))
	}
	return got, err
}

// load reads what the store has of a session, unless it is another user's by now.
func (h *Hub) load(ctx context.Context, id wire.SessionID, user string) (loadedSession, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	kept, err := h.store.Load(ctx, id)
	if err != nil {
		return loadedSession{}, fmt.Errorf("load session: %w", err)
	}
	info, err := h.store.Session(ctx, id)
	if err != nil {
		return loadedSession{}, fmt.Errorf("look session up: %w", err)
	}
	if user != "" && user != info.User {
		return loadedSession{}, fmt.Errorf("load session: %w: %w", store.ErrNotFound, errOtherSession)
	}
	at := kept.At
	claimed := at.Epoch > 0 && at.Seq == 0
	if claimed {
		// The newest event is a claim, and nobody has written down what it
		// changed. Any position before it will do.
		at = wire.Position{Epoch: at.Epoch - 1, Seq: math.MaxUint64}
	}
	state, err := desktop.Restore(id, at, kept.Tables)
	if err != nil {
		return loadedSession{info: info}, &store.CorruptError{Where: "tables of session " + string(id), Reason: err.Error()}
	}
	before := state.Owner()
	if claimed {
		owner := wire.OwnerChanged{Epoch: kept.At.Epoch}
		if info.Epoch == kept.At.Epoch {
			owner.Replica = info.Owner
		} // else the next claim is in the log already and says better
		// Epochs are times, and the event has that of its epoch.
		at := time.UnixMilli(int64(kept.At.Epoch)) //nolint:gosec // milliseconds
		state.Apply(wire.Event{Session: id, At: kept.At, Time: at, Data: owner})
	}
	return loadedSession{state: state, prevOwner: before, tables: kept.Tables, lists: kept.Lists, info: info}, nil
}

// openCenter brings the Center to a position of the log, and makes it if this is the
// first time. From here on the session is ready.
func (k *liveSession) openCenter(ctx context.Context, to wire.Position) error {
	if k.center == nil {
		cfg := k.hub.cfg.Broadcast
		cfg.Writers = cmp.Or(cfg.Writers, k.hub.writers.Load())
		k.center = broadcast.NewCenter(cfg, k.id, to, k)
		return nil
	}
	for head := k.center.Head(); head != to; head = k.center.Head() {
		var events []store.Event
		err := store.ErrAhead
		if head.Compare(to) < 0 {
			events, err = k.readUpTo(ctx, head, to)
		}
		switch {
		case errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
			k.recordShown()
			k.center.Restart(to)
			return nil
		case err != nil:
			return fmt.Errorf("read what the tabs have missed: %w", err)
		case len(events) == 0:
			return fmt.Errorf("read what the tabs have missed: %w: nothing between %v and %v", errReload, head, to)
		}
		k.publishCommitted(decodeEvents(events))
	}
	return nil
}

// readUpTo reads a page of the log that ends at a position at the latest.
func (k *liveSession) readUpTo(ctx context.Context, after, to wire.Position) ([]store.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	events, err := k.hub.store.Read(ctx, k.id, after, readPage)
	for i, e := range events {
		if e.At.Compare(to) > 0 {
			return events[:i], err
		}
	}
	return events, err
}

// publishCommitted is what happens to events once they are in the log.
func (k *liveSession) publishCommitted(events []broadcast.Event) {
	k.publish(events)
	k.replyWaiters.matchEvents(events)
}

// decodeEvents reads stored frames. One that this program does not understand is
// passed on without its meaning.
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

// follower is what following a session needs.
type follower struct {
	live              *liveSession
	state             *desktop.State
	items             []item
	snapshotRequests  []snapshotRequest
	unsent            []item    // commands for the owner that the store does not have yet
	sendRetryAt       time.Time // when they are tried again
	sending           bool      // some are on their way; sent gets those that did not arrive
	sendResult        chan []item
	sendingPresence   atomic.Bool // so is who watches here
	presenceFailed    atomic.Bool // which did not arrive the last time
	sends             sync.WaitGroup
	sentVersion       uint64    // version of our watchers that the owner knows
	presenceResendAt  time.Time // when it is told again at the latest
	sentTotal         int       // how many watch here, as the owner was told
	presenceNotBefore time.Time // nothing is told before this
	claimAt           time.Time // when the owner's lease runs out; zero means never
	noClaim           bool      // it was not to be claimed
	// What a claim gave us, and when it began.
	lease      store.Lease
	claimBegan time.Time
}

// claimableAt is when the lease of an owner runs out.
func claimableAt(owned *store.OwnedError) time.Time {
	return time.Now().Add(max(owned.For, 0) + rand.N(claimJitter)) //nolint:gosec // jitter needs no secrecy
}

// follow shows what another replica does, until that replica is gone and the
// session is ours. It may be claimed at a time, or never.
func (k *liveSession) follow(ctx context.Context, claimAt time.Time) (store.Lease, time.Time, error) {
	k.claimRequested.Store(false)
	k.inboxHasOlder.Store(true)
	got, err := k.load(ctx)
	if err != nil {
		return store.Lease{}, time.Time{}, err
	}
	k.snapshotCache.clear()
	if err := k.openCenter(ctx, got.state.At()); err != nil {
		return store.Lease{}, time.Time{}, err
	}
	f := &follower{live: k, state: got.state, presenceNotBefore: time.Now(), claimAt: claimAt, sendResult: make(chan []item, 1)}
	f.noClaim = claimAt.IsZero()
	k.missingSince = time.Time{}
	k.setStoreIssue(ctx, issueClaim, false)
	k.markReady(ctx)
	working, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	news := make(chan tailBatch)
	wg.Go(func() { k.tail(working, got.state.At(), news) })
	defer func() {
		k.mailbox.allowDirectSend(false)
		cancel()
		wg.Wait()
		f.sends.Wait()
		if f.sending {
			f.unsent = append(<-f.sendResult, f.unsent...)
		}
		k.mailbox.requeue(f.unsent)
		k.setStoreIssue(ctx, issueSend, false)
		f.clearPresence(ctx)
	}()
	err = f.loop(working, news)
	return f.lease, f.claimBegan, err
}

// tailBatch is what a tail shows.
type tailBatch struct {
	events []broadcast.Event
	vacant bool
	err    error
}

// tail reads the log for a follower and ends with an error.
func (k *liveSession) tail(ctx context.Context, after wire.Position, to chan<- tailBatch) {
	for news, err := range k.hub.store.Tail(ctx, k.id, after) {
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
		case rest := <-f.sendResult:
			f.sending = false
			f.unsent = append(rest, f.unsent...)
			f.sendRetryAt = time.Now().Add(retryLast)
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

// applyTail folds news in.
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
				f.presenceResendAt = time.Time{} // the new owner knows nothing of us
				f.sentVersion, f.sentTotal = 0, 0
			}
		}
		f.live.snapshotCache.clear()
		f.live.publishCommitted(n.events)
	}
	if n.vacant {
		f.claimAt = time.Now()
	}
	return nil
}

// processDue does what is due.
func (f *follower) processDue(ctx context.Context, now time.Time) error {
	k := f.live
	f.items, f.snapshotRequests = k.mailbox.takeAll(f.items, f.snapshotRequests)
	k.answerSnapshots(f.snapshotRequests, f.state)
	f.forwardItems(ctx, now)
	if due := f.presenceDue(); !due.IsZero() && !now.Before(due) {
		f.sendPresence(ctx, now)
	}
	order := k.drainOrder.Load()
	if order == nil && f.noClaim {
		// Whether somebody has taken it meanwhile is found out by asking.
		f.noClaim, f.claimAt = false, now
	}
	switch {
	case order != nil:
		f.noClaim = true
		if f.hasUnsent() {
			return nil
		}
		k.confirmHandover(order)
		if k.isUnneeded(nil) {
			return errDormant
		}
	case k.claimRequested.Swap(false), !f.claimAt.IsZero() && !now.Before(f.claimAt) && !k.isUnused():
		return f.tryClaim(ctx)
	}
	if at := f.unloadAt(); !at.IsZero() && !now.Before(at) && !f.hasUnsent() && !f.sendingPresence.Load() && !k.tabChanges.after(f.sentVersion) {
		return errDormant
	}
	return nil
}

// hasUnsent reports whether commands are not with the owner yet.
func (f *follower) hasUnsent() bool { return f.sending || len(f.unsent) > 0 }

// unloadAt is when it may end because nobody here has use for the session; zero
// while somebody has. Its owner is elsewhere, so all that is saved by staying is
// loading it again for a page that is reloaded.
func (f *follower) unloadAt() time.Time {
	since := f.live.unusedSince.Load()
	if since == 0 {
		return time.Time{}
	}
	return time.Unix(0, since).Add(min(followLinger, f.live.hub.cfg.DormantAfter))
}

// forwardItems sends on what was said here before it could be sent at once. The log is
// shown meanwhile.
func (f *follower) forwardItems(ctx context.Context, now time.Time) {
	if len(f.items) > 0 && len(f.unsent) == 0 {
		f.sendRetryAt = now
	}
	f.unsent = append(f.unsent, f.items...)
	switch {
	case f.sending:
	case len(f.unsent) == 0:
		f.live.mailbox.allowDirectSend(true)
	case !now.Before(f.sendRetryAt):
		items := f.unsent
		f.unsent, f.sending = nil, true
		f.sends.Go(func() { f.sendResult <- f.live.sendItems(ctx, items) })
	}
}

// tryClaim takes the session if its owner is gone, or finds out how long that one's
// lease lasts now.
func (f *follower) tryClaim(ctx context.Context) error {
	var lease store.Lease
	var began time.Time
	var err error
	f.live.serveSnapshotsDuring(f.state, func() { lease, began, err = f.live.claim(ctx, nil) })
	owned, ok := errors.AsType[*store.OwnedError](err)
	switch {
	case err == nil:
		f.lease, f.claimBegan = lease, began
		f.live.vacantSince = began
		if !f.claimAt.IsZero() && f.claimAt.Before(began) {
			f.live.vacantSince = f.claimAt
		}
	case ok:
		f.live.betweenSince.Store(0)
		f.claimAt = claimableAt(owned)
	case isPermanent(err):
		return fmt.Errorf("claim session: %w", err)
	default:
		f.live.markBetweenOwners()
		f.live.log.WarnContext(ctx, "the session cannot be claimed yet", "err", err)
		f.claimAt = time.Now().Add(retryLast)
	}
	return nil
}

// nextDue is when turn has something to do by itself.
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

// presenceDue is when the owner has to be told who watches here.
func (f *follower) presenceDue() time.Time {
	if f.sendingPresence.Load() {
		return time.Time{} // and we are woken afterwards
	}
	if f.live.tabChanges.after(f.sentVersion) {
		return f.presenceNotBefore
	}
	return f.presenceResendAt
}

// sendPresence says to the owner who watches here. When the store does not take it, the
// next time will do.
func (f *follower) sendPresence(ctx context.Context, now time.Time) {
	here, version := f.live.localViewers()
	if here.total == 0 && f.presenceResendAt.IsZero() && f.sentVersion == 0 {
		f.sentVersion = version // nobody came yet, so nobody knows of us
		return
	}
	f.sendingPresence.Store(true)
	f.sends.Go(func() {
		defer f.live.mailbox.signal()
		defer f.sendingPresence.Store(false)
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err := f.live.hub.sendOrder(ctx, f.live.id, &order{
			Kind: orderPresence, Replica: f.live.hub.cfg.Replica, Total: here.total, Connections: here.oldest,
		})
		f.presenceFailed.Store(err != nil)
		if err != nil {
			f.live.log.WarnContext(ctx, "the owner is not told who watches", "err", err)
		}
	})
	f.sentVersion, f.presenceNotBefore, f.presenceResendAt, f.sentTotal = version, now.Add(presenceEvery), now.Add(presenceResend), here.total
	if here.total == 0 {
		f.presenceResendAt = time.Time{}
	}
}

// clearPresence says that nobody watches here any more, if the hub stops and the owner
// believes that somebody does. It is tried once: who hears nothing of a replica
// forgets it by itself.
func (f *follower) clearPresence(ctx context.Context) {
	if f.sentTotal == 0 && !f.presenceFailed.Load() || !errors.Is(context.Cause(ctx), errStopping) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := f.live.hub.sendOrder(ctx, f.live.id, &order{Kind: orderPresence, Replica: f.live.hub.cfg.Replica})
	if err != nil {
		f.live.log.WarnContext(ctx, "the owner is not told that nobody watches", "err", err)
	}
}
