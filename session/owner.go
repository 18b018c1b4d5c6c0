package session

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// owner is a session that this replica owns. Its state belongs to the goroutine of the live
// session; other goroutines may renew the lease and cancel ctx. The fields that every step uses
// come first and close together: with many sessions per hub, every step starts with cold CPU
// caches.
type owner struct {
	live   *liveSession
	ctx    context.Context
	state  *desktop.State
	agents *agents // nil without Config.NewRunner
	step   *step   // nil while nothing is processed
	// activity is read by the admin view and by the gauges.
	activity activityTracker

	now       time.Time     // of the step, by the store's clock
	clockSkew time.Duration // how far the store's clock is ahead of the local one
	// commitTimer bounds the attempts of commits.
	commitTimer commitTimer
	top         wire.Position // position of the newest committed event
	batchNumber uint64        // of the last committed batch

	// items were taken from the mailbox: items[:committed] are done, items[committed:handled] are
	// in the step.
	items            []item
	committed        int
	handled          int
	snapshotRequests []snapshotRequest

	// stepState is how far the step is; while it is stepHandling, items[handled] is being executed.
	stepState stepState
	// storeCopy is the state of the store's copy; interrupted belongs to copyRewriting.
	storeCopy     copyState
	leaseStatus   leaseStatus
	working       bool           // the store knows that the session has unfinished work
	answered      bool           // the agents have answered the current command
	deleteErr     error          // the result of deleting the session, which ends the loop
	heir          wire.ReplicaID // the replica that the session is to be handed to; empty for none
	openQuestions questionTimes
	geometry      geometry
	archives      archives

	presence       presence
	ledger         ledger
	dueTimer       dueTimer  // signals the mailbox when something is due
	lastEventAt    time.Time // time of the newest event
	lastProgressAt time.Time // when agents last made progress, or the session was claimed
	// gauge is read by Hub.Gauges.
	gauge gauges
	// statusRequests are those of the admin view.
	statusRequests statusRequests
	lease          store.Lease

	cancel context.CancelCauseFunc // called with errLost or errStale
	// Used by Hub.renewAll.
	renewed    atomic.Int64 // when the last successful renewal began, in ns of the hub's uptime
	renewing   atomic.Bool
	renewEvery time.Duration

	user        string // the session's user
	card        card
	questions   closedQuestions
	limiter     *rate.Limiter
	lastRow     wire.RowID  // highest id of any row
	lastTS      wire.Millis // highest time of any row
	interrupted interruptedStep
	// unconfirmed holds what a failover of the store may lose. logLost says that a part of the log
	// was lost before this owner claimed the session.
	unconfirmed unconfirmed
	logLost     bool
	// lastBatchDurable says that a second store node has the newest batch.
	lastBatchDurable bool
	// oversized is the item of this owner, or of the previous one here, that made a step too large.
	oversized *item
	// storeLosses are the losses that the store reports in [store.LossTable], until they are shown
	// in the conversation.
	storeLosses map[string][]byte
	// inheritedDeliveries are the ids of the deliveries that were in the mailbox when this owner
	// started.
	inheritedDeliveries map[string]bool
	retryMarks          map[string]item // see liveSession
	// barrier is the id of a delivery that this owner sends to its own inbox. All older items that
	// this replica sent there come before it.
	barrier string
}

// loop processes the mailbox and what is due, until the lease is lost or the session is handed
// over.
func (l *owner) loop() error {
	l.activity.end()
	// All sources share one signal: a select over several channels would cost more than the rest of
	// an iteration.
	wake := l.live.mailbox.signal
	defer context.AfterFunc(l.ctx, wake)()
	defer l.dueTimer.stop()
	wake()
	for {
		l.dueTimer.set(l.nextDue(), wake)
		<-l.live.mailbox.wake
		if l.ctx.Err() != nil {
			return context.Cause(l.ctx)
		}
		if err := l.processMailbox(); err != nil {
			return err
		}
		l.serveStatusRequests()
	}
}

// processMailbox borrows a step and processes everything there is to do now.
func (l *owner) processMailbox() error {
	l.statusRequests.markStale()
	defer l.activity.end()
	l.step = l.live.hub.stepPool.get() // the last one is committed
	if err := l.runSteps(); err != nil {
		return err // the step may still be needed for a rewrite
	}
	l.live.hub.stepPool.put(l.step)
	l.step = nil
	return nil
}

// runSteps answers snapshot requests, executes all items and everything due, and commits. It
// releases the session if it is to be handed over or is dormant.
func (l *owner) runSteps() error {
	l.committed, l.handled = 0, 0
	l.items, l.snapshotRequests = l.live.mailbox.takeAll(l.items, l.snapshotRequests)
	if len(l.snapshotRequests) > 0 {
		l.activity.begin(activitySnapshot, l.live.hub.uptime())
		l.live.answerSnapshots(l.snapshotRequests, l.state)
	}
	now := time.Now()
	l.advanceClock(now)
	since := now.Sub(l.live.hub.started)
	for i := range l.items {
		it := &l.items[i]
		alone := it.alone || it.rewinds()
		if alone && l.handled > l.committed {
			if err := l.commit(); err != nil {
				return err
			}
			since = l.live.hub.uptime()
		}
		l.stepState.apply(stepItemBegins)
		l.activity.begin(l.activity.ofItem(it), since)
		l.handleItem(it)
		l.stepState.apply(stepItemEnds)
		l.handled = i + 1
		if l.deleteErr != nil {
			return l.deleteErr
		}
		if alone || l.stepFull() {
			if err := l.commit(); err != nil {
				return err
			}
			since = l.live.hub.uptime()
		}
	}
	l.activity.begin(activityDue, since)
	if err := l.runDue(); err != nil {
		return err
	}
	if err := l.commit(); err != nil {
		return err
	}
	switch at := l.live.dormantAt(); {
	case l.mayHandOver():
		return l.releaseSession(errDraining)
	case !at.IsZero() && !l.working && !l.localTime(l.now).Before(at) && l.live.mailbox.isIdle():
		return l.releaseSession(errDormant)
	}
	return nil
}

// mayHandOver reports whether the session is to be handed over and can be now. It parks the tools.
func (l *owner) mayHandOver() bool {
	if !l.drainDeadline().IsZero() {
		return false
	}
	if l.live.drainOrder.Load() == nil && l.heir == "" && l.live.ownership.current() != roleHandingOver {
		return false
	}
	l.live.changeRole(eventHandOver) // for good: the next owner starts the tools that are held back
	return l.agents.parkTools(l.now)
}

// drainDeadline is when a session that is being drained stops waiting for its running turns; zero
// if it does not wait.
func (l *owner) drainDeadline() time.Time {
	order := l.live.drainOrder.Load()
	if order == nil || !l.localTime(l.now).Before(order.finish) || !l.agents.hasRunningTurns() {
		return time.Time{}
	}
	return order.finish
}

// handleItem executes one item within the step.
func (l *owner) handleItem(it *item) {
	if it.deliveryID != "" {
		l.step.consumed = append(l.step.consumed, it.deliveryID)
	}
	switch {
	case it.poison != nil && (it.order != nil || it.work != nil):
		it.finish(it.poison)
	case it.poison != nil && !l.isAnswered(it.cmd.Message.ID):
		l.refuseCommand(&it.cmd, it.poison)
	case it.order != nil:
		l.handleOrder(it)
	case it.startsTool && !l.agents.parkedSince.IsZero():
		// The next owner lets the tool start.
		l.agents.heldItems = append(l.agents.heldItems, *it)
		it.done = nil
	case it.work != nil:
		it.work()
	default:
		l.applyCommand(&it.cmd)
	}
	l.agents.deliverJobResults()
}

// isAnswered reports whether the ledger has a message. An error that occurred after its execution
// does not change its answer.
func (l *owner) isAnswered(id wire.MessageID) bool {
	_, known := l.ledger.find(id)
	return known && id != ""
}

// handleOrder executes an order of a hub.
func (l *owner) handleOrder(it *item) {
	switch o := it.order; o.Kind {
	case orderPresence:
		if o.Replica != l.live.hub.cfg.Replica { // else this replica sent it to the previous owner
			l.presence.applyReport(o, l.now)
		}
	case orderRename, orderShare:
		next, refused := l.card.apply(o)
		if refused != nil {
			it.finish(refused)
			return
		}
		if next.equal(l.card) && it.deliveryID == "" {
			return // no change; only for a remote caller the card must record the order
		}
		if next.Title != l.card.Title {
			l.emit(wire.SessionRenamed{Title: next.Title})
		}
		l.card = next
		l.step.card = next.encode()
	case orderAct:
		l.handleAdminAction(it)
	case orderYield:
		l.yield(o)
	case orderRestore:
		l.restoreLost(o)
	case orderDelete:
		l.deleteErr = l.deleteSession()
	}
}

// stepFull reports whether the step must be committed before more is added.
func (l *owner) stepFull() bool {
	fields, size := l.state.Pending() // state changes that are not in the step yet
	return l.step.full() || l.step.bytes+size >= stepBytes || len(l.step.ops)+len(l.step.consumed)+fields >= stepOps
}

func (l *owner) commitIfFull() error {
	if l.stepFull() {
		return l.commit()
	}
	return nil
}

// runDue executes what is due by time: deadlines, delayed window positions, pruning, presence,
// agents and the plan.
func (l *owner) runDue() error {
	for l.expireOne() {
		if err := l.commitIfFull(); err != nil {
			return err
		}
	}
	if l.agents.poolDue(l.now) {
		l.answerOverdue()
	}
	if err := l.flushDueMoves(); err != nil {
		return err
	}
	l.ledger.prune(l.now, &l.step.ops)
	l.unconfirmed.expire(time.Now())
	if p, ok := l.presence.next(l.live, l.now); ok {
		l.emit(p)
	}
	for more := true; more; more = l.agents.hasJobResults() {
		l.agents.tickPlan(l.now)
		for l.agents.tickPool(l.now) {
			if err := l.commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextDue is when runDue has something to do, by the local clock; zero means never.
func (l *owner) nextDue() time.Time {
	var question time.Time
	if d, ok := l.state.Notices().NextDeadline(); ok {
		question = time.UnixMilli(int64(d.At))
	}
	dormant := l.live.dormantAt()
	if l.working || !dormant.IsZero() && !l.live.mailbox.isIdle() {
		dormant = time.Time{}
	}
	first := l.localTime(earliest(question, l.geometry.due(), l.presence.due(l.live), l.agents.nextDue()))
	return earliest(first, dormant, l.drainDeadline(), l.unconfirmed.due())
}

// blamePanic marks, after a panic, the items that must not be executed again in the same way.
func (l *owner) blamePanic() {
	why := refusal(wire.CodeExecutionFailed, "internal error while executing the message")
	if l.stepState.apply(stepPanicked) == outputRefuseItem {
		l.items[l.handled].poison = why
		return
	}
	l.isolateItems(why)
}

// isolateItems marks the items of a failed step to be executed alone the next time, without
// anything else that is due. An item that was alone already caused the failure and is refused with
// why.
func (l *owner) isolateItems(why *Error) {
	step := l.items[l.committed:l.handled]
	for i := range step {
		if step[i].alone {
			step[i].poison = why
		}
		step[i].alone = true
	}
}

// rejectStep handles a step that the store refuses permanently, and returns the error with which
// the owner ends.
func (l *owner) rejectStep(err error) error {
	l.stepState.apply(stepRefused)
	large := errors.Is(err, store.ErrTooLarge)
	rewriting := l.storeCopy == copyRewriting
	if rewriting || l.handled == l.committed {
		if large && !rewriting && l.agents != nil && l.agents.pool.LastBegun() != "" {
			l.oversized = &item{queuedMessage: l.agents.pool.LastBegun()}
			return errReload
		}
		return &panicError{err} // no item caused it; the panic limit keeps it from recurring forever
	}
	why := &Error{Code: wire.CodeExecutionFailed, Reason: "the result of the message cannot be stored", Err: err}
	if large {
		why.Code = wire.CodeMessageTooLarge
		// The step was not full before its last item.
		l.oversized = new(l.items[l.handled-1])
	}
	l.isolateItems(why)
	return errReload
}
