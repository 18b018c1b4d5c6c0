package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// own runs the session under a lease until that is lost or nobody uses the
// session. left is what the last time as owner left. It returns what it leaves
// itself.
func (k *keeper) own(ctx context.Context, lease store.Lease, claimed time.Time, left *live) (*live, error) {
	got, err := k.load(ctx)
	if err != nil {
		return left, err
	}
	if got.state.At() != lease.Top() {
		return left, fmt.Errorf("%w: the log ends at %v and not with our claim", errLost, got.state.At())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &live{k: k, lease: lease, ctx: ctx, cancel: cancel, top: lease.Top(), renewEvery: k.hub.renewEvery()}
	l.renewed.Store(int64(claimed.Sub(k.hub.born)))
	forgotten := left != nil && !left.broken && lease.Prev.Compare(left.top) < 0
	if forgotten {
		// The store does not have what it said it had. We do.
		l.inherit(left)
	} else {
		k.giveBack(left, lease)
		if err := l.restore(got); err != nil {
			return nil, err
		}
		if err := k.settle(ctx, l.top); err != nil {
			return nil, err
		}
	}
	k.snapshots.clear()
	k.owner = l
	k.live.Store(l)
	defer k.live.Store(nil)
	if forgotten {
		if err := l.rewrite(got, left); err != nil {
			return l, err
		}
	}
	if err := l.greet(got.info); err != nil {
		return l, err
	}
	if !k.isReady() {
		close(k.ready)
	}
	k.log.DebugContext(ctx, "session is owned", "epoch", lease.Epoch)
	l.inherited, l.marks = k.box.deliveries(), k.marks
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil) // before wg.Wait
	wg.Go(func() { l.receive(ctx) })
	return l, l.loop()
}

// greet writes down that the session has a new owner, and what the directory
// knows better.
func (l *live) greet(info store.Info) error {
	l.begin(time.Now())
	if l.card.Title != l.state.Title() {
		l.emit(wire.SessionRenamed{Title: l.card.Title})
	}
	l.working = info.Working
	return l.commit()
}

// restore makes the state of what the store has.
func (l *live) restore(got loaded) error {
	l.state = got.state
	var err error
	if l.card, err = readCard(got.info.Card); err != nil {
		return &store.CorruptError{Where: "card of session " + string(l.k.id), Reason: err.Error()}
	}
	if err := l.ledger.restore(got.tables[ledgerTable]); err != nil {
		return &store.CorruptError{Where: "ledger of session " + string(l.k.id), Reason: err.Error()}
	}
	if err := l.questions.restore(got.tables[closedTable]); err != nil {
		return &store.CorruptError{Where: "closed questions of session " + string(l.k.id), Reason: err.Error()}
	}
	l.prepare()
	return nil
}

// prepare makes what follows from the state and is not kept.
func (l *live) prepare() {
	now := l.state.Snapshot()
	l.presence.shown, l.presence.total = now.Presence, now.Connections
	// The tabs of other replicas get a moment to be heard of first.
	l.presence.stale, l.presence.quietTo = true, time.Now().Add(presenceEvery)
	if rows := now.RecentMessages; len(rows) > 0 {
		l.lastRow = rows[len(rows)-1].TS
	}
	l.limiter = newAnswerLimiter(l.k.hub.cfg.AnswersPerMinute)
}

// inherit takes the state of an owner of ours whose writes the store forgot.
func (l *live) inherit(left *live) {
	l.state, l.card, l.ledger, l.questions = left.state, left.card, left.ledger, left.questions
	l.geometry = left.geometry
	l.state.Apply(wire.Event{
		Session: l.k.id, At: l.top, Time: time.Now(),
		Data: wire.OwnerChanged{Replica: l.lease.Replica, Epoch: l.lease.Epoch, Prev: l.lease.Prev},
	})
	l.prepare()
}

// rewrite tells the store everything again, under a new lease, because it forgot
// a part. Nobody can know how much others have seen of that part. So the log goes
// on with the whole state, which brings everybody who reads on to the same; what
// answered the commands of the step that was under way follows.
func (l *live) rewrite(got loaded, left *live) error {
	l.k.log.Warn("the store has lost something it had acknowledged; writing it again", "log", l.lease.Prev, "known", left.top)
	var ops []store.Op
	for table := range got.tables {
		ops = append(ops, store.Clear(table))
	}
	for _, c := range l.state.All() {
		ops = append(ops, store.Set(c.Table, c.Field, c.Value))
	}
	ops = append(ops, l.ledger.all()...)
	ops = append(ops, l.questions.all()...)
	l.state.Changes() // they are among all
	for len(ops) > 0 {
		n := 0
		for size := 0; n < len(ops) && n < rewriteOps && size < stepBytes; n++ {
			for _, v := range ops[n].Values {
				size += len(v)
			}
		}
		l.begin(time.Now())
		l.step.ops = append(l.step.ops, ops[:n]...)
		l.step.card = l.card.encode()
		if err := l.commit(); err != nil {
			return err
		}
		ops = ops[n:]
	}
	l.begin(time.Now())
	at := l.next()
	now := l.state.Snapshot()
	now.Reason, now.LastMessageID = wire.SnapshotUnknown, at
	now.HeartbeatMS = int(max(l.k.hub.cfg.Broadcast.Heartbeat, time.Millisecond) / time.Millisecond)
	l.emit(now)
	for _, e := range left.step.events {
		switch p := e.Data.(type) {
		case wire.Actions:
			if p.MessageID != "" {
				p.Actions = []wire.Action{} // they are in the state
				l.emit(p)
			}
		case wire.MessageAccepted, wire.MessageQueued, wire.MessageRejected, wire.DialogClosed, wire.PromptClosed:
			l.emit(p)
		}
	}
	l.k.center.Restart(l.top)
	// The items of that step are done; what was taken and not begun is not.
	l.step.consumed = left.step.consumed
	l.items, l.committed, l.handled = left.items, left.committed, left.handled
	left.items = nil
	if err := l.commit(); err != nil {
		return err
	}
	l.k.box.giveBack(l.items[l.handled:])
	l.items, l.committed, l.handled = nil, 0, 0
	return nil
}

// rewriteOps is how many ops fit into a batch, each with a value.
const rewriteOps = 1500

// leave flushes what is held back and gives the lease up, so that others may
// claim the session at once.
func (l *live) leave(cause error) error {
	l.begin(time.Now())
	if err := l.flushAll(); err != nil {
		return err
	}
	if err := l.commit(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(l.ctx, storeTimeout)
	defer cancel()
	if err := l.k.hub.store.Release(ctx, l.lease); err != nil && !errors.Is(err, store.ErrFenced) {
		return fmt.Errorf("release session: %w", err)
	}
	if l.k.draining.Load() {
		l.k.handOver()
	}
	return cause
}

// remove deletes the session.
func (l *live) remove() error {
	ctx, cancel := context.WithTimeout(l.ctx, storeTimeout)
	defer cancel()
	if err := l.k.hub.store.Delete(ctx, l.lease); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return store.ErrNotFound
}

// shown is an event on its way to the tabs.
func shown(e wire.Event, frame []byte) broadcast.Event {
	return broadcast.Event{At: e.At, Frame: frame, Data: e.Data, Time: e.Time}
}
