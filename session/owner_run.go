package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// own runs the session under the lease of its new owner until that is lost or released. prev is the
// last owner here. own returns the owner whose unfinished items and state the next call needs.
func (ls *liveSession) own(ctx context.Context, ow, prev *owner) (*owner, error) {
	defer ls.ownerEnded(ctx, ow)
	// From here on the hub renews the lease: loading may take longer than the lease lasts.
	ls.ownedEpoch.Store(ow.held.lease.Epoch)
	ls.activeOwner.Store(ow)
	if next, err := ls.takeOver(ow.held.ctx, ow, prev); err != nil {
		return next, err
	}
	return ow, ow.run()
}

// takeOver loads the session for its new owner, or gives it the state of prev, and announces it. If it
// fails it returns the owner whose unfinished items and state the next one needs. The variables of
// takeOver would double the stack of an idle session if they were in own.
func (ls *liveSession) takeOver(ctx context.Context, ow, prev *owner) (*owner, error) {
	lease := ow.held.lease
	got, err := ls.load(ctx)
	if err != nil {
		return prev, err
	}
	if got.state.At() != lease.Top() {
		return prev, fmt.Errorf("%w: the log ends at %v and not with the claim of this replica", errLost, got.state.At())
	}
	before, err := ls.logBefore(ctx, prev, lease)
	if err != nil {
		return prev, err
	}
	ow.w.working, ow.w.user = got.info.Working, got.info.User
	ls.tabSource.cache.clear()
	if prev.needsRewrite(before) {
		// The store lost data that it had acknowledged. The previous owner here still has it.
		if err := ow.inheritState(prev); err != nil {
			return prev, err
		}
	} else {
		if prev != nil {
			ow.committer.oversized = prev.committer.oversized
		}
		if err := ls.abandonOwner(ctx, prev, before); err != nil {
			return prev, err
		}
		ls.regression.recordShown(ls.center)
		ow.logLost = before.Compare(ls.regression.newestShown) < 0
		if err := ow.restore(got); err != nil {
			return nil, err
		}
		if err := ls.openCenter(ctx, ow.w.top); err != nil {
			return nil, err
		}
	}
	ow.storeLosses = got.tables[store.LossTable]
	ls.guardedOwner = ow
	if ow.committer.storeCopy == copyRewriting {
		if err := ow.rewrite(got); err != nil {
			return ow, err
		}
		if ow.agents != nil {
			ow.agents.poolForUpdate().PrepareHandOver() // the store ended the runs, not their own end
		}
	}
	if err := ow.commitTakeover(); err != nil {
		return ow, err
	}
	ls.missingSince = time.Time{}
	ls.storeHealth.set(ctx, issueClaim, nil)
	ls.changeRole(eventTookOver)
	ls.markReady(ctx)
	ls.observeTakeover(got, ow.claimedAt)
	ls.log.DebugContext(ctx, "session owned", "epoch", lease.Epoch)
	return ow, nil
}

// logBefore returns the end of the log before a lease of this replica, without the claims of this
// replica before it under which nothing was committed. prev is the last owner here, if there was one.
func (ls *liveSession) logBefore(ctx context.Context, prev *owner, lease store.Lease) (wire.Position, error) {
	var known []wire.Position
	if prev != nil {
		known = []wire.Position{prev.w.top, prev.held.lease.Prev}
	} else if ls.regression.recordShown(ls.center); !ls.regression.newestShown.IsZero() {
		known = []wire.Position{ls.regression.newestShown}
	}
	return ls.env.reader.logBefore(ctx, lease, known...)
}

// observeTakeover reports a takeover to the observer if the session was owned by another replica
// and was followed here or has unfinished work of that replica.
func (ls *liveSession) observeTakeover(got loadedSession, claimed time.Time) {
	since := ls.vacantSince
	ls.vacantSince = time.Time{}
	if since.IsZero() && got.info.Working && got.prevOwner != "" && got.prevOwner != ls.env.cfg.Replica {
		since = claimed
	}
	if !since.IsZero() {
		ls.env.cfg.Observer.TookOver(time.Since(since))
	}
}

// ownerEnded stops what an owner has started.
func (ls *liveSession) ownerEnded(ctx context.Context, ow *owner) {
	defer ls.clearOwnerIssues(ctx)
	defer ow.held.cancel(nil)
	defer ls.activeOwner.Store(nil)
	defer ls.storeFull.Store(false)
	ow.stopWork()
}

// clearOwnerIssues clears the store issues of an owner that ended, and records issueClaim instead while
// the store is unavailable.
func (ls *liveSession) clearOwnerIssues(ctx context.Context) {
	const ofOwners = issueCommit | issueRenew | issueSend
	if ls.storeHealth.has(ofOwners) {
		err := store.ErrUnavailable
		if ls.storeHealth.condition().full {
			err = store.ErrNoSpace
		}
		ls.storeHealth.set(ctx, issueClaim, err)
		ls.storeHealth.set(ctx, ofOwners, nil)
	}
}

// run receives the inbox and runs the loop, until the owner ends.
func (ow *owner) run() error {
	in := &inboxReceiver{live: ow.live, held: &ow.held}
	defer in.stop()
	in.start()
	return ow.loop()
}

// commitTakeover commits the first step of a new owner: archives of old sessions, losses to show,
// the title of the card, and the recovery of agents and plan.
func (ow *owner) commitTakeover() error {
	ow.w.advanceClock(time.Now())
	for _, m := range ow.w.state.Rows().Monitors() {
		ow.w.archiveOf(m) // of sessions from before there were archives
	}
	if ow.logLost {
		ow.live.log.Error("store lost a part of the log that was shown", "log", ow.held.lease.Prev, "shown", ow.live.regression.newestShown)
		ow.w.AddRow(lossRow(lostTail))
	}
	if ow.commands.card.Title != ow.w.state.Title() {
		ow.w.Emit(wire.SessionRenamed{Title: ow.commands.card.Title})
	}
	ow.addLossRows()
	if ow.agents != nil {
		if p := ow.agents.poolForUpdate().View.Provider(); p != ow.w.state.Provider() {
			ow.w.Emit(wire.ProviderChanged{Provider: p})
		}
		if it := ow.committer.oversized; it != nil && (it.work == nil || it.origin != "") {
			ow.agents.poolForUpdate().FailOversized(it.origin)
			ow.agents.poolForUpdate().Messages.RejectOversized(it.queuedMessage)
			// The next step may be too large again; this one must be committed all the same.
			if err := ow.committer.commit(); err != nil {
				return err
			}
		}
		// Jobs that the plan starts now would be taken for turns of the previous owner.
		ow.agents.plan.holdJobs = true
		ow.agents.plan.Recover(ow.agents.pool.View.HasJob)
		for more := ow.agents.poolForUpdate().Recover(); more; more = ow.agents.poolForUpdate().Tick() {
			if err := ow.committer.commit(); err != nil {
				return err
			}
		}
		ow.agents.deliverJobResults()
		ow.agents.releaseHeldPlan()
		ow.agents.checkpoints.recover()
		ow.agents.notebooks.recover()
	}
	if err := ow.committer.commit(); err != nil {
		return err
	}
	ow.committer.oversized, ow.logLost = nil, false
	ow.live.regression = logRegression{}
	return nil
}

// addLossRows adds a row to the conversation for each loss that the store reports for this session.
func (ow *owner) addLossRows() {
	for _, field := range slices.Sorted(maps.Keys(ow.storeLosses)) {
		ow.w.AddRow(lossRow(string(ow.storeLosses[field])))
		ow.w.AddOps(store.Unset(store.LossTable, field))
	}
	ow.storeLosses = nil
}

// restore sets the owner's state from the stored one.
func (ow *owner) restore(got loadedSession) error {
	ow.w.state = got.state
	var err error
	if ow.commands.card, err = readCard(got.info.Card); err != nil {
		return &store.CorruptError{Where: "card of session " + string(ow.live.id), Reason: err.Error()}
	}
	if err := ow.commands.replies.ledger.restore(got.tables[ledgerTable]); err != nil {
		return &store.CorruptError{Where: "ledger of session " + string(ow.live.id), Reason: err.Error()}
	}
	if err := ow.commands.questions.closed.restore(got.tables[closedTable]); err != nil {
		return &store.CorruptError{Where: "closed questions of session " + string(ow.live.id), Reason: err.Error()}
	}
	if ow.w.archives, err = history.RestoreArchives(got.tables[history.ArchiveTable]); err != nil {
		return &store.CorruptError{Where: "rows of session " + string(ow.live.id), Reason: err.Error()}
	}
	ow.initDerived()
	ow.keyframes.restore(got.tables[keyframeTable])
	return ow.startAgents(got.tables, got.lists)
}

// initDerived sets what is derived from the state and not stored.
func (ow *owner) initDerived() {
	now := ow.w.state.Snapshot()
	ow.presence.published, ow.presence.total = now.Presence, now.Connections
	// Followers get a moment to report their tabs before the first PRESENCE.
	ow.presence.stale, ow.presence.notBefore = true, time.Now().Add(presenceEvery)
	ow.w.lastRow, ow.w.lastTS = ow.w.state.LastRow()
	for _, d := range now.Dialogs {
		ow.w.openQuestions.add(dialogName(d.DialogID), time.Now())
	}
	for _, p := range now.Prompts {
		ow.w.openQuestions.add(promptName(p.ID), time.Now())
	}
	ow.commands.questions.limiter = newAnswerLimiter(ow.live.env.cfg.AnswersPerMinute)
}

// releaseSession flushes delayed events, parks the agents and releases the lease, so that any
// replica, or the heir, can claim the session at once. It returns cause.
func (ow *owner) releaseSession(cause error) error {
	ow.w.advanceClock(time.Now())
	if err := ow.flushMoves(); err != nil {
		return err
	}
	if ow.agents != nil {
		ow.agents.poolForUpdate().PrepareHandOver()
	}
	if err := ow.committer.commit(); err != nil {
		return err
	}
	ow.view.activity.begin(activityRelease, ow.live.env.uptime())
	ctx, cancel := context.WithTimeout(ow.held.ctx, storeTimeout)
	defer cancel()
	lease := ow.held.lease
	if errors.Is(cause, errDraining) {
		lease.Heir = ow.heir
	}
	end := ow.live.env.store.Release
	if errors.Is(cause, errDormant) && ow.live.env.cfg.MayPack() {
		end = ow.live.env.store.Pack
	}
	ow.held.end(leaseEnd)
	err := end(ctx, lease)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		return fmt.Errorf("release session: %w", err)
	}
	if err == nil {
		ow.held.end(leaseRelease)
		ow.live.changeRole(eventReleased)
		if errors.Is(cause, errDraining) {
			ow.live.log.InfoContext(ctx, "session handed over", "epoch", ow.held.lease.Epoch, "to", string(lease.Heir))
		}
	}
	return cause
}

// deleteSession deletes the session from the store. It returns store.ErrNotFound on success, which
// ends the live session.
func (ow *owner) deleteSession() error {
	ow.stopNotebooks()
	ow.live.env.endKernelsOfDeleted(ow.held.ctx, ow.live.id)
	ctx, cancel := context.WithTimeout(ow.held.ctx, storeTimeout)
	defer cancel()
	ow.held.end(leaseEnd)
	if err := ow.live.env.store.Delete(ctx, ow.held.lease); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return store.ErrNotFound
}

func broadcastEvent(e wire.Event, frame []byte) broadcast.Event {
	return broadcast.Event{At: e.At, Frame: frame, Data: e.Data, Time: e.Time}
}

// yield records the replica that the session is to be handed to. It ignores orders for an earlier
// owner and expired ones, else a session would go to a replica that does not want it any more.
func (ow *owner) yield(o *order) {
	alive := ow.live.env.cfg.Alive
	switch {
	case o.Epoch != ow.held.lease.Epoch || o.Replica == ow.live.env.cfg.Replica || o.Replica.Validate() != nil:
	case ow.w.now.UnixMilli() > int64(o.Until):
	case ow.heir != "": // the first replica gets it, and the other one sends its order there
	case alive != nil && !alive(o.Replica):
	default:
		ow.heir, ow.heirUntil = o.Replica, time.UnixMilli(int64(o.Until))
	}
}
