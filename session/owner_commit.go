package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// commitTimeout bounds one attempt of a commit. The next attempt writes the same batch.
const commitTimeout = 5 * time.Second

// committer commits the steps of an owner under its lease. Its order is the first rule of a
// session: commit, then publish, then execute the effects.
type committer struct {
	live   *liveSession
	held   *heldLease
	w      *stepWriter
	agents *agents
	view   *introspection
	// keyframes counts the events of steps.
	keyframes *keyframes

	// items were taken from the mailbox: items[:committed] are done, items[committed:handled] are
	// in the step.
	items     []item
	committed int
	handled   int
	// stepState is how far the step is; while it is stepHandling, items[handled] is being executed.
	stepState stepState
	// storeCopy says whether the store still has everything that it acknowledged, lacks a part, or is
	// being written again by this owner.
	storeCopy copyState

	commitTimer commitTimer // bounds the attempts of commits
	batchNumber uint64      // of the last committed batch
	// lastBatchDurable says that the newest batch survives the loss of a store node or of power.
	lastBatchDurable bool
	unconfirmed      unconfirmed // what a failover of the store may lose
	// oversized is the item of this owner, or of the previous one here, that made a step too large.
	// The first step of the next owner fails its turn or rejects its message.
	oversized *item
}

// commit commits the step, publishes its events, runs its effects and then finishes its
// items, in this order: an agent that is to stop is stopped before its pending call returns. It
// blocks until the store has accepted or refused the step, or the lease is lost.
func (cm *committer) commit() error {
	cm.agents.deliverJobResults()
	effects := cm.w.step.effects
	cm.w.step.effects = nil
	events, err := cm.persist()
	if err != nil {
		return err
	}
	defer finishItems(cm.publishStep(events))
	cm.view.reportGauges()
	cm.keyframes.storeIfDue()
	cm.w.step.reuseEvents(events)
	if len(effects) > 0 {
		defer cm.view.activity.restore(cm.view.activity.begin(activityEffects, cm.live.env.uptime()))
	}
	for _, effect := range effects {
		effect()
	}
	return nil
}

// persist commits the step and returns the events to publish.
func (cm *committer) persist() ([]broadcast.Event, error) {
	for _, c := range cm.w.state.Changes() {
		cm.w.step.ops = append(cm.w.step.ops, opOf(c))
	}
	if cm.w.step.archived {
		cm.w.step.ops = cm.w.archives.appendChanges(cm.w.step.ops)
	}
	cm.keyframes.count(cm.w.step)
	b := store.Batch{
		Number: cm.batchNumber + 1, Prev: cm.w.top, Events: cm.w.step.frames, Ops: cm.w.step.ops,
		Consumed: cm.w.step.consumed, Card: cm.w.step.card, User: cm.w.step.user, Durable: cm.w.step.durable,
	}
	_, asked := cm.w.state.Notices().NextDeadline()
	busy := asked || cm.agents.working()
	if busy != cm.w.working {
		b.Working = new(busy)
	}
	if cm.w.step.empty() && b.Working == nil {
		return nil, nil
	}
	receipt, again, err := cm.commitTraced(b)
	if err != nil {
		return nil, err
	}
	cm.batchNumber, cm.w.top, cm.w.working = b.Number, receipt.Top, busy
	cm.lastBatchDurable = receipt.Durable
	cm.recordUnconfirmed(receipt, cm.w.step.turnEnds)
	events := cm.w.step.events
	if again {
		cm.w.step = &step{} // an earlier attempt may still be reading the old one
	} else {
		cm.w.step.reset()
	}
	return events, nil
}

// opOf returns the op that stores a change of the desktop state.
func opOf(c desktop.Change) store.Op {
	if c.Value == nil {
		return store.Unset(c.Table, c.Field)
	}
	op := store.Set(c.Table, c.Field, c.Value)
	op.Schema = c.Schema
	return op
}

// publishStep publishes committed events and returns the items of the step. The items count as done
// even if publishing panics.
func (cm *committer) publishStep(events []broadcast.Event) (done []item) {
	done = cm.items[cm.committed:cm.handled]
	cm.committed = cm.handled
	if len(events) > 0 {
		cm.live.tabSource.cache.clear()
		cm.live.publishCommitted(events)
	}
	return done
}

// finishItems reports success to the callers that wait for the items.
func finishItems(done []item) {
	for i := range done {
		done[i].finish(nil)
	}
}

// commitBatch commits a batch, repeats the same batch while the store is unavailable, and reports
// whether it needed more than one attempt.
func (cm *committer) commitBatch(b store.Batch) (receipt store.Receipt, again bool, err error) {
	if !cm.live.ownership.may(outputCommit) {
		return receipt, false, fmt.Errorf("commit: %w", errRole)
	}
	began := cm.live.env.uptime()
	defer cm.view.activity.restore(cm.view.activity.begin(activityCommit, began))
	var committed *desktop.State // the committed state, for snapshots while the commit waits
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		cm.stepState.apply(stepAttemptBegins)
		receipt, err = cm.live.env.store.Commit(cm.commitTimer.start(cm.held.ctx, cm.live.env), cm.held.lease, b)
		cm.commitTimer.stop()
		switch {
		case err == nil:
			cm.stepState.apply(stepCommitted)
			cm.live.env.cfg.Observer.Appended(len(b.Events), cm.live.env.uptime()-began)
			cm.live.storeHealth.set(cm.held.ctx, issueCommit, nil)
			if cm.live.storeFull.Load() {
				cm.live.storeFull.Store(false)
			}
			return receipt, again, nil
		case errors.Is(err, store.ErrFenced):
			cm.stepState.apply(stepNotCommitted)
			if err := cm.held.status.apply(leaseFenced); err != nil {
				return receipt, again, err
			}
			return receipt, again, errLost // the owner ends the lease itself, but nothing was committed
		case errors.Is(err, store.ErrGap):
			cm.stepState.apply(stepNotCommitted)
			cm.storeCopy.apply(copyGapFound)
			cm.live.log.WarnContext(cm.held.ctx, "store lacks the previous batch", "err", err)
			return receipt, again, errLost
		case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid), errors.Is(err, wire.ErrID):
			cm.live.log.ErrorContext(cm.held.ctx, "store refused a step", "err", err, "events", len(b.Events), "ops", len(b.Ops))
			return receipt, again, cm.rejectStep(err)
		}
		cm.stepState.apply(stepUnanswered)
		switch {
		case isPermanent(err):
			return receipt, again, fmt.Errorf("commit: %w", err)
		case cm.held.ctx.Err() != nil:
			return receipt, again, context.Cause(cm.held.ctx)
		}
		again = true
		if errors.Is(err, store.ErrNoSpace) {
			// The step waits for space. Callers that wait for a reply are refused.
			cm.live.storeFull.Store(true)
			cm.live.replyWaiters.rejectAll(errFull)
			if committed == nil {
				committed = cm.loadCommitted()
			}
			if committed != nil {
				cm.live.changeRole(eventShown)
				cm.live.markReady(cm.held.ctx) // a new owner's first step: tabs can attach to the committed state
			}
		}
		if isStoreUnavailable(err) {
			cm.live.storeHealth.set(cm.held.ctx, issueCommit, err)
		}
		cm.live.log.WarnContext(cm.held.ctx, "commit failed, retrying", "err", err)
		cm.live.tabSource.serveSnapshotsDuring(committed, func() {
			sleep(cm.held.ctx, wait/2+rand.N(wait/2)) //nolint:gosec // jitter needs no secrecy
		})
	}
}

// loadCommitted loads the committed state, or returns nil if that fails or is not the state before
// this step.
func (cm *committer) loadCommitted() *desktop.State {
	got, err := cm.live.load(cm.held.ctx)
	if err != nil || got.state.At() != cm.w.top {
		return nil
	}
	return got.state
}

// commitTraced calls commitBatch and traces it if the batch is durable.
func (cm *committer) commitTraced(b store.Batch) (receipt store.Receipt, again bool, err error) {
	t := cm.live.env.cfg.Tracer
	if t == nil || !b.Durable {
		return cm.commitBatch(b)
	}
	began := time.Now()
	if receipt, again, err = cm.commitBatch(b); err == nil {
		t.Committed(cm.live.id, cm.held.lease.Epoch, cm.w.step.events, began)
	}
	return receipt, again, err
}

func (cm *committer) commitIfFull() error {
	if cm.w.Full() {
		return cm.commit()
	}
	return nil
}

// blamePanic marks, after a panic, the items that must not be executed again in the same way.
func (cm *committer) blamePanic() {
	why := refusal(wire.CodeExecutionFailed, "internal error while executing the message")
	if cm.stepState.apply(stepPanicked) == outputRefuseItem {
		cm.items[cm.handled].poison = why
		return
	}
	cm.isolateItems(why)
}

// isolateItems marks the items of a failed step to be executed alone the next time, without
// anything else that is due. An item that was in a step of its own before has caused the failure
// itself, and is refused with why.
func (cm *committer) isolateItems(why *Error) {
	step := cm.items[cm.committed:cm.handled]
	for i := range step {
		if step[i].alone {
			step[i].poison = why
		}
		step[i].alone = true
	}
}

// rejectStep handles a step that the store refuses permanently, and returns the error with which
// the owner ends.
func (cm *committer) rejectStep(err error) error {
	cm.stepState.apply(stepRefused)
	large := errors.Is(err, store.ErrTooLarge)
	rewriting := cm.storeCopy == copyRewriting
	if rewriting || cm.handled == cm.committed {
		if large && !rewriting && cm.agents != nil && cm.agents.pool.View.LastBegun() != "" {
			cm.oversized = &item{queuedMessage: cm.agents.pool.View.LastBegun()}
			return errReload
		}
		return &panicError{err} // no item caused it; the panic limit keeps it from recurring forever
	}
	why := &Error{Code: wire.CodeExecutionFailed, Reason: "the result of the message cannot be stored", Err: err}
	if large {
		why.Code = wire.CodeMessageTooLarge
		// The step was not full before its last item.
		cm.oversized = new(cm.items[cm.handled-1])
	}
	cm.isolateItems(why)
	return errReload
}
