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

// owner is a session that this replica owns. Its state belongs to the goroutine
// of the live session; others may renew and cancel. What every step needs comes first and
// close together: a hub has many sessions, and none of them finds its memory in a cache.
type owner struct {
	live   *liveSession
	ctx    context.Context
	state  *desktop.State
	agents *agents // nil when nobody runs them here
	step   *step   // nil between turns, when there is none
	// For those who look after sessions.
	activity activityTracker
	ended    atomic.Bool // ctx has ended

	now       time.Time     // of the step, by the store's clock
	clockSkew time.Duration // how far that is ahead of ours
	// commitTimer is how long a commit may take.
	commitTimer commitTimer
	top         wire.Position // where the log ends
	batchNumber uint64        // of the last batch

	// items are those taken from the mailbox. Those before committed are done,
	// those before handled are in the step.
	items            []item
	committed        int
	handled          int
	snapshotRequests []snapshotRequest

	// handlingItem says that items[handled] is being done, and said that the command at
	// hand has been answered.
	handlingItem bool
	answered     bool
	working      bool
	// commitUncertain says that the store has not said what became of the step.
	commitUncertain bool
	// stateBroken says that the state is not what the log says.
	stateBroken bool
	// storeLostData says that the store lacks something that it said it had, and
	// rewriting that it is not told all of that again yet; debt is for then.
	storeLostData bool
	rewriting     bool
	// leaseReleased says that the lease was given up.
	leaseReleased bool
	deleteErr     error          // what became of an order to delete the session
	heir          wire.ReplicaID // the replica that the session is to be left to, if one is
	openQuestions questionTimes
	geometry      geometry
	archives      archives

	presence       presence
	ledger         ledger
	dueTimer       dueTimer  // rings when something is due
	lastEventAt    time.Time // when the newest event was made
	lastProgressAt time.Time // when agents got on last, or the session was taken
	// For whoever looks.
	gauge gauges
	// For those who look after sessions.
	statusRequests statusRequests
	lease          store.Lease

	cancel context.CancelCauseFunc // errLost, errStale
	// For the renewer.
	renewed    atomic.Int64 // when the last successful renewal began, in ns of the hub's life
	renewing   atomic.Bool
	renewEvery time.Duration

	user        string // whose session it is
	card        card
	questions   closedQuestions
	limiter     *rate.Limiter
	lastRow     wire.RowID  // the highest that any row had
	lastTS      wire.Millis // the same of their times
	interrupted interruptedStep
	// unconfirmed is what a failover may lose, and gone says that a part of the log was
	// lost before this owner claimed the session.
	unconfirmed unconfirmed
	logLost     bool
	// lastBatchDurable says that a second node has the newest batch.
	lastBatchDurable bool
	// oversized is the item, of this owner or the one before it here, that made a
	// step too large.
	oversized *item
	// storeLosses are what the store may have lost, as [store.LossTable] has it, until
	// people are shown.
	storeLosses map[string][]byte
	// inheritedDeliveries are the deliveries that were in the mailbox from the start.
	inheritedDeliveries map[string]bool
	retryMarks          map[string]item // see live session
	// barrier is the delivery that comes after all that was sent from here before
	// we were the owner.
	barrier string
}

// loop does what is in the mailbox and what is due, step by step.
func (l *owner) loop() error {
	l.activity.end()
	// Whatever there is to do gives the same signal: waiting for one of several costs
	// more than the rest of a turn.
	wake := l.live.mailbox.signal
	defer context.AfterFunc(l.ctx, func() {
		l.ended.Store(true)
		wake()
	})()
	defer l.dueTimer.stop()
	wake()
	for {
		l.dueTimer.set(l.nextDue(), wake)
		<-l.live.mailbox.wake
		if l.ended.Load() {
			return context.Cause(l.ctx)
		}
		if err := l.processMailbox(); err != nil {
			return err
		}
		l.serveStatusRequests()
	}
}

// processMailbox does everything there is to do now.
func (l *owner) processMailbox() error {
	l.statusRequests.markStale()
	defer l.activity.end()
	l.step = l.live.hub.stepPool.get() // the last one is committed
	if err := l.runSteps(); err != nil {
		return err // the step may be needed still
	}
	l.live.hub.stepPool.put(l.step)
	l.step = nil
	return nil
}

// runSteps is turn with the memory that it needs.
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
		l.handlingItem = true
		l.activity.begin(l.activity.ofItem(it), since)
		l.handleItem(it)
		l.handlingItem = false
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

// mayHandOver reports whether the session is to be handed over and may be now.
func (l *owner) mayHandOver() bool {
	if !l.drainDeadline().IsZero() {
		return false
	}
	return (l.live.drainOrder.Load() != nil || l.heir != "" || l.agents.isParking()) && l.agents.parkTools(l.now)
}

// drainDeadline is when a session that is to be handed over stops to wait for its
// agents; zero when it does not.
func (l *owner) drainDeadline() time.Time {
	order := l.live.drainOrder.Load()
	if order == nil || !l.localTime(l.now).Before(order.finish) || !l.agents.hasRunningTurns() {
		return time.Time{}
	}
	return order.finish
}

// handleItem does one item.
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
		// Whoever owns the session next lets it begin.
		l.agents.heldItems = append(l.agents.heldItems, *it)
		it.done = nil
	case it.work != nil:
		it.work()
	default:
		l.applyCommand(&it.cmd)
	}
	l.agents.deliverJobResults()
}

// isAnswered reports whether a message was answered. What went wrong then did so
// after it was done.
func (l *owner) isAnswered(id wire.MessageID) bool {
	_, known := l.ledger.find(id)
	return known && id != ""
}

// handleOrder carries out what a hub wants.
func (l *owner) handleOrder(it *item) {
	switch o := it.order; o.Kind {
	case orderPresence:
		if o.Replica != l.live.hub.cfg.Replica { // else we said it to the owner before us
			l.presence.applyReport(o, l.now)
		}
	case orderRename, orderShare:
		next, refused := l.card.apply(o)
		if refused != nil {
			it.finish(refused)
			return
		}
		if next.equal(l.card) && it.deliveryID == "" {
			return // who is elsewhere learns of it from the card
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

// stepFull reports whether the step is to be committed before more is added.
func (l *owner) stepFull() bool {
	fields, size := l.state.Pending() // which are not in the step yet
	return l.step.full() || l.step.bytes+size >= stepBytes || len(l.step.ops)+len(l.step.consumed)+fields >= stepOps
}

// commitIfFull commits the step if it is full.
func (l *owner) commitIfFull() error {
	if l.stepFull() {
		return l.commit()
	}
	return nil
}

// runDue does what is due without anybody's asking.
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

// nextDue is when tick has something to do; zero means never.
func (l *owner) nextDue() time.Time {
	var question time.Time
	if d, ok := l.state.NextDeadline(); ok {
		question = time.UnixMilli(int64(d.At))
	}
	dormant := l.live.dormantAt()
	if l.working || !dormant.IsZero() && !l.live.mailbox.isIdle() {
		dormant = time.Time{}
	}
	first := l.localTime(earliest(question, l.geometry.due(), l.presence.due(l.live), l.agents.nextDue()))
	return earliest(first, dormant, l.drainDeadline(), l.unconfirmed.due())
}

// blamePanic says which items are not tried again as they were, after a panic.
func (l *owner) blamePanic() {
	l.stateBroken = true
	why := refusal(wire.CodeExecutionFailed, "something went wrong with that message")
	if l.handlingItem {
		l.items[l.handled].poison = why
		return
	}
	l.isolateItems(why)
}

// isolateItems says that something in the step is wrong. Each item gets a step of its
// own the next time, without anything that is due besides; in such a step it is
// known which item it is.
func (l *owner) isolateItems(why *Error) {
	step := l.items[l.committed:l.handled]
	for i := range step {
		if step[i].alone {
			step[i].poison = why
		}
		step[i].alone = true
	}
}

// rejectStep says what becomes of a step that the store refuses for good.
func (l *owner) rejectStep(err error) error {
	l.stateBroken = true
	large := errors.Is(err, store.ErrTooLarge)
	if l.rewriting || l.handled == l.committed {
		if large && !l.rewriting && l.agents != nil && l.agents.pool.Newest() != "" {
			l.oversized = &item{queuedMessage: l.agents.pool.Newest()}
			return errReload
		}
		return &panicError{err} // nobody is to blame but us, and it must not go on for ever
	}
	why := &Error{Code: wire.CodeExecutionFailed, Reason: "the session cannot keep what comes of that", Err: err}
	if large {
		why.Code = wire.CodeMessageTooLarge
		// Before the last one the step was not even full.
		l.oversized = new(l.items[l.handled-1])
	}
	l.isolateItems(why)
	return errReload
}
