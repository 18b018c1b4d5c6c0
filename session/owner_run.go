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

// own runs the session under a lease until the lease is lost or released. prev is the last owner
// here. own returns the owner whose unfinished items and state the next call needs.
func (k *liveSession) own(ctx context.Context, lease store.Lease, claimed time.Time, prev *owner) (*owner, error) {
	k.changeRole(eventClaimed)
	defer k.ownerEnded(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := newOwner(ctx, cancel, k, lease, claimed)
	l.view.activity.begin(activityLoad, k.env.uptime())
	// From here on the hub renews the lease: loading may take longer than the lease lasts.
	k.ownedEpoch.Store(lease.Epoch)
	k.activeOwner.Store(l)
	defer k.activeOwner.Store(nil)
	defer k.storeFull.Store(false)
	unused := func(err error) (*owner, error) {
		prev.addUnusedClaim(lease)
		return prev, err
	}
	got, err := k.load(ctx)
	if err != nil {
		return unused(err)
	}
	if got.state.At() != lease.Top() {
		return unused(fmt.Errorf("%w: the log ends at %v and not with the claim of this replica", errLost, got.state.At()))
	}
	l.w.working, l.w.user = got.info.Working, got.info.User
	defer l.stopAgents()
	k.snapshotCache.clear()
	if prev.needsRewrite(lease) {
		// The store lost data that it had acknowledged. The previous owner here still has it.
		if err := l.inheritState(prev); err != nil {
			return unused(err)
		}
	} else {
		if prev != nil {
			l.committer.oversized = prev.committer.oversized
		}
		if err := k.abandonOwner(ctx, prev, lease); err != nil {
			return unused(err)
		}
		k.recordShown()
		l.logLost = lease.Prev.Compare(k.regression.newestShown) < 0
		if err := l.restore(got); err != nil {
			return nil, err
		}
		if err := k.openCenter(ctx, l.w.top); err != nil {
			return nil, err
		}
	}
	l.storeLosses = got.tables[store.LossTable]
	k.guardedOwner = l
	if l.committer.storeCopy == copyRewriting {
		if err := l.rewrite(got); err != nil {
			return l, err
		}
		if l.agents != nil {
			l.agents.poolForUpdate().PrepareHandOver() // the store ended the runs, not their own end
		}
	}
	if err := l.commitTakeover(); err != nil {
		return l, err
	}
	k.missingSince = time.Time{}
	k.setStoreIssue(ctx, issueClaim, false)
	k.changeRole(eventTookOver)
	k.markReady(ctx)
	k.observeTakeover(got, claimed)
	k.log.DebugContext(ctx, "session owned", "epoch", lease.Epoch)
	return l, l.run()
}

// observeTakeover reports a takeover to the observer if the session was owned by another replica
// and was followed here or has unfinished work of that replica.
func (k *liveSession) observeTakeover(got loadedSession, claimed time.Time) {
	since := k.vacantSince
	k.vacantSince = time.Time{}
	if since.IsZero() && got.info.Working && got.prevOwner != "" && got.prevOwner != k.env.cfg.Replica {
		since = claimed
	}
	if !since.IsZero() {
		k.env.cfg.Observer.TookOver(time.Since(since))
	}
}

// ownerEnded clears the store issues of an owner that ended, and records issueClaim instead while
// the store is unavailable.
func (k *liveSession) ownerEnded(ctx context.Context) {
	const ofOwners = issueCommit | issueRenew | issueSend
	if storeIssue(k.storeHealth.issues.Load())&ofOwners != 0 {
		k.setStoreIssue(ctx, issueClaim, true)
		k.setStoreIssue(ctx, ofOwners, false)
	}
}

// run receives the inbox and runs the loop, until the owner ends.
func (l *owner) run() error {
	k := l.live
	in := &inboxReceiver{live: k, held: &l.held, inheritedDeliveries: k.mailbox.deliveryIDs(), retryMarks: k.retryMarks}
	var unsent []item
	var wg sync.WaitGroup
	defer func() {
		l.held.cancel(nil)
		wg.Wait()
		k.mailbox.releaseLocalItems()
		k.mailbox.requeue(unsent)
	}()
	if k.inboxHasOlder.Load() {
		in.barrier, in.barrierReceived = k.env.newDeliveryID(), make(chan struct{})
		sent := k.mailbox.holdLocalItems()
		wg.Go(func() { unsent = in.sendBarrier(sent) })
	}
	wg.Go(in.receiveInbox)
	return l.loop()
}

// commitTakeover commits the first step of a new owner: archives of old sessions, losses to show,
// the title of the card, and the recovery of agents and plan.
func (l *owner) commitTakeover() error {
	l.w.advanceClock(time.Now())
	for _, m := range l.w.state.Rows().Monitors() {
		l.w.archiveOf(m) // of sessions from before there were archives
	}
	if l.logLost {
		l.live.log.Error("store lost a part of the log that was shown", "log", l.held.lease.Prev, "shown", l.live.regression.newestShown)
		l.w.AddRow(lossRow(lostTail))
	}
	if l.commands.card.Title != l.w.state.Title() {
		l.w.Emit(wire.SessionRenamed{Title: l.commands.card.Title})
	}
	l.addLossRows()
	if l.agents != nil {
		if p := l.agents.poolForUpdate().View.Provider(); p != l.w.state.Provider() {
			l.w.Emit(wire.ProviderChanged{Provider: p})
		}
		if it := l.committer.oversized; it != nil && (it.work == nil || it.origin != "") {
			l.agents.poolForUpdate().FailOversized(it.origin)
			l.agents.poolForUpdate().RejectOversized(it.queuedMessage)
			// The next step may be too large again; this one must be committed all the same.
			if err := l.committer.commit(); err != nil {
				return err
			}
		}
		// Jobs that the plan starts now would be taken for turns of the previous owner.
		l.agents.plan.holdJobs = true
		l.agents.plan.Recover(l.agents.pool.View.HasJob)
		for more := l.agents.poolForUpdate().Recover(); more; more = l.agents.poolForUpdate().Tick() {
			if err := l.committer.commit(); err != nil {
				return err
			}
		}
		l.agents.deliverJobResults()
		l.agents.releaseHeldPlan()
	}
	if err := l.committer.commit(); err != nil {
		return err
	}
	l.committer.oversized, l.logLost = nil, false
	l.live.regression = logRegression{}
	return nil
}

// addLossRows adds a row to the conversation for each loss that the store reports for this session.
func (l *owner) addLossRows() {
	for _, field := range slices.Sorted(maps.Keys(l.storeLosses)) {
		l.w.AddRow(lossRow(string(l.storeLosses[field])))
		l.w.AddOps(store.Unset(store.LossTable, field))
	}
	l.storeLosses = nil
}

// restore sets the owner's state from the stored one.
func (l *owner) restore(got loadedSession) error {
	l.w.state = got.state
	var err error
	if l.commands.card, err = readCard(got.info.Card); err != nil {
		return &store.CorruptError{Where: "card of session " + string(l.live.id), Reason: err.Error()}
	}
	if err := l.commands.replies.ledger.restore(got.tables[ledgerTable]); err != nil {
		return &store.CorruptError{Where: "ledger of session " + string(l.live.id), Reason: err.Error()}
	}
	if err := l.commands.questions.closed.restore(got.tables[closedTable]); err != nil {
		return &store.CorruptError{Where: "closed questions of session " + string(l.live.id), Reason: err.Error()}
	}
	if l.w.archives, err = history.RestoreArchives(got.tables[history.ArchiveTable]); err != nil {
		return &store.CorruptError{Where: "rows of session " + string(l.live.id), Reason: err.Error()}
	}
	l.initDerived()
	return l.startAgents(got.tables, got.lists)
}

// initDerived sets what is derived from the state and not stored.
func (l *owner) initDerived() {
	now := l.w.state.Snapshot()
	l.presence.published, l.presence.total = now.Presence, now.Connections
	// Followers get a moment to report their tabs before the first PRESENCE.
	l.presence.stale, l.presence.notBefore = true, time.Now().Add(presenceEvery)
	l.w.lastRow, l.w.lastTS = l.w.state.LastRow()
	for _, d := range now.Dialogs {
		l.w.openQuestions.add(dialogName(d.DialogID), time.Now())
	}
	for _, p := range now.Prompts {
		l.w.openQuestions.add(promptName(p.ID), time.Now())
	}
	l.commands.questions.limiter = newAnswerLimiter(l.live.env.cfg.AnswersPerMinute)
}

// releaseSession flushes delayed events, parks the agents and releases the lease, so that any
// replica, or the heir, can claim the session at once. It returns cause.
func (l *owner) releaseSession(cause error) error {
	l.w.advanceClock(time.Now())
	if err := l.flushMoves(); err != nil {
		return err
	}
	if l.agents != nil {
		l.agents.poolForUpdate().PrepareHandOver()
	}
	if err := l.committer.commit(); err != nil {
		return err
	}
	l.view.activity.begin(activityRelease, l.live.env.uptime())
	ctx, cancel := context.WithTimeout(l.held.ctx, storeTimeout)
	defer cancel()
	lease := l.held.lease
	if errors.Is(cause, errDraining) {
		lease.Heir = l.heir
	}
	err := l.live.env.store.Release(ctx, lease)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		return fmt.Errorf("release session: %w", err)
	}
	if err == nil {
		_ = l.held.status.end(leaseRelease) // without an error: cause ends the owner
		l.live.changeRole(eventReleased)
	}
	if errors.Is(cause, errDraining) {
		l.live.log.InfoContext(ctx, "session handed over", "epoch", l.held.lease.Epoch, "to", string(lease.Heir))
	}
	return cause
}

// deleteSession deletes the session from the store. It returns store.ErrNotFound on success, which
// ends the live session.
func (l *owner) deleteSession() error {
	ctx, cancel := context.WithTimeout(l.held.ctx, storeTimeout)
	defer cancel()
	if err := l.live.env.store.Delete(ctx, l.held.lease); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return store.ErrNotFound
}

func broadcastEvent(e wire.Event, frame []byte) broadcast.Event {
	return broadcast.Event{At: e.At, Frame: frame, Data: e.Data, Time: e.Time}
}

// yield records the replica that the session is to be handed to. It ignores orders for an earlier
// owner and expired ones, else a session would go to a replica that does not want it any more.
func (l *owner) yield(o *order) {
	alive := l.live.env.cfg.Alive
	switch {
	case o.Epoch != l.held.lease.Epoch || o.Replica == l.live.env.cfg.Replica || o.Replica.Validate() != nil:
	case l.w.now.UnixMilli() > int64(o.Until):
	case l.heir != "": // the first replica gets it, and the other one sends its order there
	case alive != nil && !alive(o.Replica):
	default:
		l.heir = o.Replica
	}
}
