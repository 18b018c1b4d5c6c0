package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// own runs the session under a lease until that is lost or nobody uses the
// session. left is what the last time as owner left. It returns what it leaves
// itself.
func (k *liveSession) own(ctx context.Context, lease store.Lease, claimed time.Time, left *owner) (*owner, error) {
	defer k.ownerLost(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &owner{
		k: k, lease: lease, ctx: ctx, cancel: cancel, top: lease.Top(), renewEvery: k.hub.renewEvery(),
		skew: skewOf(lease, claimed), step: &step{},
		spoke:    time.UnixMilli(int64(lease.Epoch)), //nolint:gosec // epochs are milliseconds
		progress: time.UnixMilli(int64(lease.Epoch)), //nolint:gosec // epochs are milliseconds
	}
	l.doing.begin(doingLoad, k.hub.age())
	l.renewed.Store(int64(claimed.Sub(k.hub.born)))
	// From here on the lease is renewed: loading may take longer than it lasts.
	k.owned.Store(lease.Epoch)
	k.live.Store(l)
	defer k.live.Store(nil)
	defer k.full.Store(false)
	got, err := k.load(ctx)
	if err != nil {
		return left, err
	}
	if got.state.At() != lease.Top() {
		return left, fmt.Errorf("%w: the log ends at %v and not with our claim", errLost, got.state.At())
	}
	l.working, l.user = got.info.Working, got.info.User
	defer l.dismiss()
	k.snapshots.clear()
	if left.forgot(lease) {
		// The store does not have what it said it had. We do.
		if err := l.inherit(left); err != nil {
			return left, err
		}
	} else {
		if left != nil {
			l.overflow = left.overflow
		}
		if err := k.abandon(ctx, left, lease); err != nil {
			return left, err
		}
		k.noteShown()
		l.gone = lease.Prev.Compare(k.rewound.shown) < 0
		if err := l.restore(got); err != nil {
			return nil, err
		}
		if err := k.openCenter(ctx, l.top); err != nil {
			return nil, err
		}
	}
	l.losses = got.tables[store.LossTable]
	k.owner = l
	if l.rewriting {
		if err := l.rewrite(got); err != nil {
			return l, err
		}
		if l.agents != nil {
			l.agents.ask().Park() // the store cut the runs off, not their own end
		}
	}
	if err := l.greet(); err != nil {
		return l, err
	}
	k.lost = time.Time{}
	k.setStoreIssue(ctx, issueClaim, false)
	k.open(ctx)
	k.cameFrom(got, claimed)
	k.log.DebugContext(ctx, "session is owned", "epoch", lease.Epoch)
	return l, l.run()
}

// cameFrom tells of a session that was another replica's: one that was followed here,
// or that has work which that one did not end.
func (k *liveSession) cameFrom(got loaded, claimed time.Time) {
	since := k.vacant
	k.vacant = time.Time{}
	if since.IsZero() && got.info.Working && got.before != "" && got.before != k.hub.cfg.Replica {
		since = claimed
	}
	if !since.IsZero() {
		k.hub.cfg.Observer.TookOver(time.Since(since))
	}
}

// ownerLost says that the session has no owner here any more. Whatever kept the store
// from answering that one is the trouble of whoever comes next.
func (k *liveSession) ownerLost(ctx context.Context) {
	const ofOwners = issueCommit | issueRenew | issueSend
	if storeIssue(k.storeHealth.issues.Load())&ofOwners != 0 {
		k.setStoreIssue(ctx, issueClaim, true)
		k.setStoreIssue(ctx, ofOwners, false)
	}
}

// run does what there is to do and receives what others send.
func (l *owner) run() error {
	k := l.k
	l.inherited, l.marks = k.box.deliveries(), k.marks
	var unsent []item
	var wg sync.WaitGroup
	defer func() {
		l.cancel(nil)
		wg.Wait()
		k.box.open()
		k.box.giveBack(unsent)
	}()
	if k.mixed.Load() {
		l.mark = k.hub.deliveryName()
		sent := k.box.shut()
		wg.Go(func() { unsent = l.line(sent) })
	}
	wg.Go(l.receive)
	return l.loop()
}

// greet writes down that the session has a new owner, and what the directory
// knows better.
func (l *owner) greet() error {
	l.begin(time.Now())
	for _, m := range l.state.Talks() {
		l.archive(m) // of before there were archives
	}
	if l.gone {
		l.k.log.Error("the store has lost a part of the log that was shown", "log", l.lease.Prev, "shown", l.k.rewound.shown)
		l.showLoss(lostTail)
	}
	if l.card.Title != l.state.Title() {
		l.emit(wire.SessionRenamed{Title: l.card.Title})
	}
	l.showLosses()
	if l.agents != nil {
		if p := l.agents.ask().Provider(); p != l.state.Provider() {
			l.emit(wire.ProviderChanged{Provider: p})
		}
		if it := l.overflow; it != nil && (it.work == nil || it.by != "") {
			l.agents.ask().Excuse(it.by)
			l.agents.ask().Discard(it.waited)
			// What follows may be too large again, and this is done all the same.
			if err := l.commit(); err != nil {
				return err
			}
		}
		// What it begins would be taken for turns of the owner before.
		l.agents.plan.waits = true
		l.agents.plan.Recover(l.agents.pool.HasJob)
		for more := l.agents.ask().Recover(); more; more = l.agents.ask().Tick() {
			if err := l.commit(); err != nil {
				return err
			}
		}
		l.agents.goOn()
		l.release()
	}
	if err := l.commit(); err != nil {
		return err
	}
	l.overflow, l.gone = nil, false
	l.k.rewound = rewound{}
	return nil
}

// showLosses adds a row to the conversation for each time that the store says that it
// may have lost something of this session.
func (l *owner) showLosses() {
	for _, field := range slices.Sorted(maps.Keys(l.losses)) {
		stage{l}.Row(wire.UIRow{Type: wire.RowSay, Say: wire.SayError, Text: string(l.losses[field]), MonitorID: firstMonitor})
		stage{l}.Keep(store.Unset(store.LossTable, field))
	}
	l.losses = nil
}

// restore makes the state of what the store has.
func (l *owner) restore(got loaded) error {
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
	if l.archives, err = history.RestoreArchives(got.tables[history.ArchiveTable]); err != nil {
		return &store.CorruptError{Where: "rows of session " + string(l.k.id), Reason: err.Error()}
	}
	l.prepare()
	return l.hire(got.tables, got.lists)
}

// prepare makes what follows from the state and is not kept.
func (l *owner) prepare() {
	now := l.state.Snapshot()
	l.presence.shown, l.presence.total = now.Presence, now.Connections
	// The tabs of other replicas get a moment to be heard of first.
	l.presence.stale, l.presence.quietTo = true, time.Now().Add(presenceEvery)
	l.lastRow, l.lastTS = l.state.LastRow()
	for _, d := range now.Dialogs {
		l.asking.open(dialogName(d.DialogID), time.Now())
	}
	for _, p := range now.Prompts {
		l.asking.open(promptName(p.ID), time.Now())
	}
	l.limiter = newAnswerLimiter(l.k.hub.cfg.AnswersPerMinute)
}

// leave flushes what is held back and gives the lease up, so that others may
// claim the session at once, or the heir may.
func (l *owner) leave(cause error) error {
	l.begin(time.Now())
	if err := l.flushAll(); err != nil {
		return err
	}
	if l.agents != nil {
		l.agents.ask().Park()
	}
	if err := l.commit(); err != nil {
		return err
	}
	l.doing.begin(doingRelease, l.k.hub.age())
	ctx, cancel := context.WithTimeout(l.ctx, storeTimeout)
	defer cancel()
	lease := l.lease
	if errors.Is(cause, errDraining) {
		lease.Heir = l.heir
	}
	err := l.k.hub.store.Release(ctx, lease)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		return fmt.Errorf("release session: %w", err)
	}
	l.released = err == nil
	if errors.Is(cause, errDraining) {
		l.k.log.InfoContext(ctx, "a session is handed over", "epoch", l.lease.Epoch, "to", string(lease.Heir))
	}
	return cause
}

// remove deletes the session.
func (l *owner) remove() error {
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
