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

// loaded is a session as the store has it.
type loaded struct {
	state  *desktop.State
	before wire.ReplicaID // whose it was before the newest claim
	tables map[string]map[string][]byte
	lists  map[string][][]byte
	info   store.Info
}

// load reads the session.
func (k *liveSession) load(ctx context.Context) (loaded, error) {
	got, err := k.hub.load(ctx, k.id, k.user)
	if got.info.User != "" {
		k.user = got.info.User
		k.info.Store(staleInfo(got.info))
	}
	return got, err
}

// load reads what the store has of a session, unless it is another user's by now.
func (h *Hub) load(ctx context.Context, id wire.SessionID, user string) (loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	kept, err := h.store.Load(ctx, id)
	if err != nil {
		return loaded{}, fmt.Errorf("load session: %w", err)
	}
	info, err := h.store.Session(ctx, id)
	if err != nil {
		return loaded{}, fmt.Errorf("look session up: %w", err)
	}
	if user != "" && user != info.User {
		return loaded{}, fmt.Errorf("load session: %w: %w", store.ErrNotFound, errAnother)
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
		return loaded{info: info}, &store.CorruptError{Where: "tables of session " + string(id), Reason: err.Error()}
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
	return loaded{state: state, before: before, tables: kept.Tables, lists: kept.Lists, info: info}, nil
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
			k.noteShown()
			k.center.Restart(to)
			return nil
		case err != nil:
			return fmt.Errorf("read what the tabs have missed: %w", err)
		case len(events) == 0:
			return fmt.Errorf("read what the tabs have missed: %w: nothing between %v and %v", errReload, head, to)
		}
		k.publishCommitted(decodeAll(events))
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
	k.answers.see(events)
}

// decodeAll reads stored frames. One that this program does not understand is
// passed on without its meaning.
func decodeAll(events []store.Event) []broadcast.Event {
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
	k       *liveSession
	state   *desktop.State
	items   []item
	peeks   []peek
	unsent  []item    // commands for the owner that the store does not have yet
	retryAt time.Time // when they are tried again
	sending bool      // some are on their way; sent gets those that did not arrive
	sent    chan []item
	telling atomic.Bool // so is who watches here
	untold  atomic.Bool // which did not arrive the last time
	mail    sync.WaitGroup
	told    uint64    // version of our watchers that the owner knows
	tellAt  time.Time // when it is told again at the latest
	present int       // how many watch here, as the owner was told
	quietTo time.Time // nothing is told before this
	claimAt time.Time // when the owner's lease runs out; zero means never
	drained bool      // it was not to be claimed
	// What a claim gave us, and when it began.
	lease   store.Lease
	claimed time.Time
}

// claimableAt is when the lease of an owner runs out.
func claimableAt(owned *store.OwnedError) time.Time {
	return time.Now().Add(max(owned.For, 0) + rand.N(claimJitter)) //nolint:gosec // jitter needs no secrecy
}

// follow shows what another replica does, until that replica is gone and the
// session is ours. It may be claimed at a time, or never.
func (k *liveSession) follow(ctx context.Context, claimAt time.Time) (store.Lease, time.Time, error) {
	k.needed.Store(false)
	k.mixed.Store(true)
	got, err := k.load(ctx)
	if err != nil {
		return store.Lease{}, time.Time{}, err
	}
	k.snapshots.clear()
	if err := k.openCenter(ctx, got.state.At()); err != nil {
		return store.Lease{}, time.Time{}, err
	}
	f := &follower{k: k, state: got.state, quietTo: time.Now(), claimAt: claimAt, sent: make(chan []item, 1)}
	f.drained = claimAt.IsZero()
	k.lost = time.Time{}
	k.setStoreIssue(ctx, issueClaim, false)
	k.open(ctx)
	working, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	news := make(chan tailed)
	wg.Go(func() { k.tail(working, got.state.At(), news) })
	defer func() {
		k.box.setDirect(false)
		cancel()
		wg.Wait()
		f.mail.Wait()
		if f.sending {
			f.unsent = append(<-f.sent, f.unsent...)
		}
		k.box.giveBack(f.unsent)
		k.setStoreIssue(ctx, issueSend, false)
		f.farewell(ctx)
	}()
	err = f.loop(working, news)
	return f.lease, f.claimed, err
}

// tailed is what a tail shows.
type tailed struct {
	events []broadcast.Event
	vacant bool
	err    error
}

// tail reads the log for a follower and ends with an error.
func (k *liveSession) tail(ctx context.Context, after wire.Position, to chan<- tailed) {
	for news, err := range k.hub.store.Tail(ctx, k.id, after) {
		select {
		case to <- tailed{events: decodeAll(news.Events), vacant: news.Vacant, err: err}:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) loop(ctx context.Context, news <-chan tailed) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case n := <-news:
			if err := f.take(n); err != nil {
				return err
			}
		case rest := <-f.sent:
			f.sending = false
			f.unsent = append(rest, f.unsent...)
			f.retryAt = time.Now().Add(retryLast)
		case <-f.k.box.wake:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := f.turn(ctx, time.Now()); err != nil || f.lease.Epoch != 0 {
			return err
		}
		if next := f.next(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// take folds news in.
func (f *follower) take(n tailed) error {
	switch {
	case errors.Is(n.err, store.ErrTrimmed), errors.Is(n.err, store.ErrUnknownPosition), errors.Is(n.err, store.ErrAhead):
		return fmt.Errorf("%w: %w", errReload, n.err)
	case n.err != nil:
		return fmt.Errorf("follow the log: %w", n.err)
	}
	if len(n.events) > 0 {
		for _, e := range n.events {
			f.state.Apply(wire.Event{Session: f.k.id, At: e.At, Time: e.Time, Data: e.Data})
			if _, ok := e.Data.(wire.OwnerChanged); ok {
				f.tellAt = time.Time{} // the new owner knows nothing of us
				f.told, f.present = 0, 0
			}
		}
		f.k.snapshots.clear()
		f.k.publishCommitted(n.events)
	}
	if n.vacant {
		f.claimAt = time.Now()
	}
	return nil
}

// turn does what is due.
func (f *follower) turn(ctx context.Context, now time.Time) error {
	k := f.k
	f.items, f.peeks = k.box.take(f.items, f.peeks)
	k.serve(f.peeks, f.state)
	f.forward(ctx, now)
	if due := f.tellDue(); !due.IsZero() && !now.Before(due) {
		f.tell(ctx, now)
	}
	order := k.draining.Load()
	if order == nil && f.drained {
		// Whether somebody has taken it meanwhile is found out by asking.
		f.drained, f.claimAt = false, now
	}
	switch {
	case order != nil:
		f.drained = true
		if f.busy() {
			return nil
		}
		k.handOver(order)
		if k.isUnneeded(nil) {
			return errDormant
		}
	case k.needed.Swap(false), !f.claimAt.IsZero() && !now.Before(f.claimAt) && !k.unheld():
		return f.claim(ctx)
	}
	if at := f.leaveAt(); !at.IsZero() && !now.Before(at) && !f.busy() && !f.telling.Load() && !k.watchers.changed(f.told) {
		return errDormant
	}
	return nil
}

// busy reports whether commands are not with the owner yet.
func (f *follower) busy() bool { return f.sending || len(f.unsent) > 0 }

// leaveAt is when it may end because nobody here has use for the session; zero
// while somebody has. Its owner is elsewhere, so all that is saved by staying is
// loading it again for a page that is reloaded.
func (f *follower) leaveAt() time.Time {
	since := f.k.quiet.Load()
	if since == 0 {
		return time.Time{}
	}
	return time.Unix(0, since).Add(min(followLinger, f.k.hub.cfg.Dormant))
}

// forward sends on what was said here before it could be sent at once. The log is
// shown meanwhile.
func (f *follower) forward(ctx context.Context, now time.Time) {
	if len(f.items) > 0 && len(f.unsent) == 0 {
		f.retryAt = now
	}
	f.unsent = append(f.unsent, f.items...)
	switch {
	case f.sending:
	case len(f.unsent) == 0:
		f.k.box.setDirect(true)
	case !now.Before(f.retryAt):
		items := f.unsent
		f.unsent, f.sending = nil, true
		f.mail.Go(func() { f.sent <- f.k.forward(ctx, items) })
	}
}

// claim takes the session if its owner is gone, or finds out how long that one's
// lease lasts now.
func (f *follower) claim(ctx context.Context) error {
	var lease store.Lease
	var began time.Time
	var err error
	f.k.meanwhile(f.state, func() { lease, began, err = f.k.claim(ctx, nil) })
	owned, ok := errors.AsType[*store.OwnedError](err)
	switch {
	case err == nil:
		f.lease, f.claimed = lease, began
		f.k.vacant = began
		if !f.claimAt.IsZero() && f.claimAt.Before(began) {
			f.k.vacant = f.claimAt
		}
	case ok:
		f.k.between.Store(0)
		f.claimAt = claimableAt(owned)
	case lasting(err):
		return fmt.Errorf("claim session: %w", err)
	default:
		f.k.markBetweenOwners()
		f.k.log.WarnContext(ctx, "the session cannot be claimed yet", "err", err)
		f.claimAt = time.Now().Add(retryLast)
	}
	return nil
}

// next is when turn has something to do by itself.
func (f *follower) next() time.Time {
	claim, retry, dormant := f.claimAt, time.Time{}, f.leaveAt()
	if f.k.unheld() || f.k.draining.Load() != nil {
		claim = time.Time{}
	}
	if f.busy() {
		dormant = time.Time{}
	}
	if len(f.unsent) > 0 && !f.sending {
		retry = f.retryAt
	}
	return earliest(claim, retry, f.tellDue(), dormant)
}

// tellDue is when the owner has to be told who watches here.
func (f *follower) tellDue() time.Time {
	if f.telling.Load() {
		return time.Time{} // and we are woken afterwards
	}
	if f.k.watchers.changed(f.told) {
		return f.quietTo
	}
	return f.tellAt
}

// tell says to the owner who watches here. When the store does not take it, the
// next time will do.
func (f *follower) tell(ctx context.Context, now time.Time) {
	here, version := f.k.present()
	if here.total == 0 && f.tellAt.IsZero() && f.told == 0 {
		f.told = version // nobody came yet, so nobody knows of us
		return
	}
	f.telling.Store(true)
	f.mail.Go(func() {
		defer f.k.box.nudge()
		defer f.telling.Store(false)
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err := f.k.hub.sendOrder(ctx, f.k.id, &order{
			Kind: orderPresence, Replica: f.k.hub.cfg.Replica, Total: here.total, Connections: here.oldest,
		})
		f.untold.Store(err != nil)
		if err != nil {
			f.k.log.WarnContext(ctx, "the owner is not told who watches", "err", err)
		}
	})
	f.told, f.quietTo, f.tellAt, f.present = version, now.Add(presenceEvery), now.Add(presenceResend), here.total
	if here.total == 0 {
		f.tellAt = time.Time{}
	}
}

// farewell says that nobody watches here any more, if the hub stops and the owner
// believes that somebody does. It is tried once: who hears nothing of a replica
// forgets it by itself.
func (f *follower) farewell(ctx context.Context) {
	if f.present == 0 && !f.untold.Load() || !errors.Is(context.Cause(ctx), errStopping) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := f.k.hub.sendOrder(ctx, f.k.id, &order{Kind: orderPresence, Replica: f.k.hub.cfg.Replica})
	if err != nil {
		f.k.log.WarnContext(ctx, "the owner is not told that nobody watches", "err", err)
	}
}
