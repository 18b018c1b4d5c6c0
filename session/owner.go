package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// owner is a session that this replica owns: it takes the items of the mailbox, has them executed
// and commits the result, until its lease ends or the session is handed over. Its state belongs to
// the goroutine of the live session; other goroutines may use held and view. The parts are values,
// so that the fields that every step uses are close together: with many sessions per hub, every
// step starts with cold CPU caches.
type owner struct {
	live      *liveSession
	held      heldLease
	w         stepWriter
	committer committer
	agents    *agents // nil without Config.NewRunner
	commands  commands
	view      introspection

	snapshotRequests []snapshotRequest
	deleteErr        error          // the result of deleting the session, which ends the loop
	heir             wire.ReplicaID // the replica that the session is to be handed to; empty for none
	lastLocal        time.Time      // when the last item of this replica was executed, by the store's clock
	presence         presence
	dueTimer         dueTimer // signals the mailbox when something is due
	interrupted      interruptedStep
	logLost          bool // a part of the log was lost before this owner claimed the session
	unusedClaims     unusedClaims
	// storeLosses are the losses that the store reports in [store.LossTable], until they are shown
	// in the conversation.
	storeLosses map[string][]byte
}

// newOwner makes the owner of a session under a lease whose claim began at a local time. It has no
// state before restore or inheritState.
func newOwner(ctx context.Context, cancel context.CancelCauseFunc, k *liveSession, lease store.Lease, claimed time.Time) *owner {
	l := &owner{live: k}
	l.held.lease, l.held.since, l.held.ctx, l.held.cancel = lease, k.env.uptime(), ctx, cancel
	since := time.UnixMilli(int64(lease.Epoch)) //nolint:gosec // epochs are milliseconds
	l.w = stepWriter{
		id: k.id, log: k.log, reader: k.env.reader, observer: k.env.cfg.MessageObserver, held: &l.held, step: &step{}, top: lease.Top(),
		clockSkew: skewOf(lease, claimed), lastEventAt: since, lastProgressAt: since,
	}
	l.view.live, l.view.held, l.view.w, l.view.replies, l.view.presence = k, &l.held, &l.w, &l.commands.replies, &l.presence
	l.committer = committer{live: k, held: &l.held, w: &l.w, view: &l.view}
	l.setAgents(nil)
	return l
}

// setAgents gives the agents of the session, or nil for none, to all parts.
func (l *owner) setAgents(a *agents) {
	l.agents, l.view.agents, l.committer.agents = a, a, a
	l.commands.connect(&l.w, a)
}

// loop processes the mailbox and what is due, until the lease is lost or the session is handed
// over.
func (l *owner) loop() error {
	l.view.activity.end()
	// All sources share one signal: a select over several channels would cost more than the rest of
	// an iteration.
	wake := l.live.mailbox.signal
	defer context.AfterFunc(l.held.ctx, wake)()
	defer l.dueTimer.stop()
	wake()
	for {
		l.dueTimer.set(l.nextDue(), wake)
		<-l.live.mailbox.wake
		if l.held.ctx.Err() != nil {
			return context.Cause(l.held.ctx)
		}
		if err := l.processMailbox(); err != nil {
			return err
		}
		l.view.serveStatusRequests()
	}
}

// processMailbox borrows a step and processes everything there is to do now.
func (l *owner) processMailbox() error {
	l.view.requests.markStale()
	defer l.view.activity.end()
	l.w.step = l.live.env.stepPool.get() // the last one is committed
	if err := l.runSteps(); err != nil {
		return err // the step may still be needed for a rewrite
	}
	l.live.env.stepPool.put(l.w.step)
	l.w.step = nil
	return nil
}

// runSteps answers snapshot requests, executes all items and everything due, and commits. It
// releases the session if it is to be handed over or is dormant.
func (l *owner) runSteps() error {
	l.committer.committed, l.committer.handled = 0, 0
	l.committer.items, l.snapshotRequests = l.live.mailbox.takeAll(l.committer.items, l.snapshotRequests)
	if len(l.snapshotRequests) > 0 {
		l.view.activity.begin(activitySnapshot, l.live.env.uptime())
		l.live.answerSnapshots(l.snapshotRequests, l.w.state)
	}
	now := time.Now()
	l.w.advanceClock(now)
	since := now.Sub(l.live.env.started)
	for i := range l.committer.items {
		it := &l.committer.items[i]
		alone := it.alone || it.rewinds()
		if alone && l.committer.handled > l.committer.committed {
			if err := l.committer.commit(); err != nil {
				return err
			}
			since = l.live.env.uptime()
		}
		l.committer.stepState.apply(stepItemBegins)
		l.view.activity.begin(l.view.activity.ofItem(it), since)
		l.handleItem(it)
		l.committer.stepState.apply(stepItemEnds)
		l.committer.handled = i + 1
		if l.deleteErr != nil {
			return l.deleteErr
		}
		if alone || l.w.Full() {
			if err := l.committer.commit(); err != nil {
				return err
			}
			since = l.live.env.uptime()
		}
	}
	l.view.activity.begin(activityDue, since)
	if err := l.runDue(); err != nil {
		return err
	}
	if err := l.committer.commit(); err != nil {
		return err
	}
	switch at := l.live.dormantAt(); {
	case l.mayHandOver():
		return l.releaseSession(errDraining)
	case !at.IsZero() && !l.w.working && !l.w.localTime(l.w.now).Before(at) && l.live.mailbox.isIdle():
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
	return l.agents.parkTools(l.w.now)
}

// drainDeadline is when a session that is being drained stops waiting for its running turns; zero
// if it does not wait.
func (l *owner) drainDeadline() time.Time {
	order := l.live.drainOrder.Load()
	if order == nil || !l.w.localTime(l.w.now).Before(order.finish) || !l.agents.hasRunningTurns() {
		return time.Time{}
	}
	return order.finish
}

// handleItem executes one item within the step.
func (l *owner) handleItem(it *item) {
	if it.deliveryID != "" {
		l.w.step.consumed = append(l.w.step.consumed, it.deliveryID)
	} else {
		l.lastLocal = l.w.now
	}
	switch {
	case it.poison != nil && (it.order != nil || it.work != nil):
		it.finish(it.poison)
	case it.poison != nil && !l.commands.replies.isAnswered(it.cmd.Message.ID):
		l.commands.replies.refuseCommand(&it.cmd, it.poison)
	case it.poison != nil && it.cmd.Message.Data == nil: // answered before, and its content is not here
	case it.order != nil:
		l.handleOrder(it)
	case it.startsTool && !l.agents.parkedSince.IsZero():
		// The next owner lets the tool start.
		l.agents.heldItems = append(l.agents.heldItems, *it)
		it.done = nil
	case it.work != nil:
		it.work()
	default:
		l.commands.applyCommand(&it.cmd)
	}
	l.agents.deliverJobResults()
}

// handleOrder executes an order of a hub.
func (l *owner) handleOrder(it *item) {
	switch o := it.order; o.Kind {
	case orderPresence:
		if o.Replica != l.live.env.cfg.Replica { // else this replica sent it to the previous owner
			l.presence.applyReport(o, l.w.now)
		}
	case orderRename, orderShare:
		next, refused := l.commands.card.apply(o)
		if refused != nil {
			it.finish(refused)
			return
		}
		if next.equal(l.commands.card) && it.deliveryID == "" {
			return // no change; only for a remote caller the card must record the order
		}
		if next.Title != l.commands.card.Title {
			l.w.Emit(wire.SessionRenamed{Title: next.Title})
		}
		l.commands.card = next
		l.w.step.card = next.encode()
	case orderAct:
		l.commands.handleAdminAction(it)
	case orderYield:
		l.yield(o)
	case orderRelocate:
		l.relocate(o)
	case orderRestore:
		(&restorer{w: &l.w, agents: l.agents, commands: &l.commands, log: l.live.log}).restoreLost(o)
	case orderDelete:
		l.deleteErr = l.deleteSession()
	}
}

// Full reports whether the step must be committed before more is added.
func (w *stepWriter) Full() bool {
	fields, size := w.state.Pending() // state changes that are not in the step yet
	return w.step.full() || w.step.bytes+size >= stepBytes || len(w.step.ops)+len(w.step.consumed)+fields >= stepOps
}

// runDue executes what is due by time: deadlines, delayed window positions, pruning, presence,
// agents and the plan.
func (l *owner) runDue() error {
	for l.commands.questions.expireOne() {
		if err := l.committer.commitIfFull(); err != nil {
			return err
		}
	}
	if l.agents.poolDue(l.w.now) {
		l.commands.questions.answerOverdue()
	}
	if err := l.flushDueMoves(); err != nil {
		return err
	}
	l.commands.replies.ledger.prune(l.w.now, &l.w.step.ops)
	l.committer.unconfirmed.expire(time.Now())
	if p, ok := l.presence.next(l.live, l.w.now); ok {
		l.w.Emit(p)
	}
	for more := true; more; more = l.agents.hasJobResults() {
		l.agents.tickPlan(l.w.now)
		for l.agents.tickPool(l.w.now) {
			if err := l.committer.commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextDue is when runDue has something to do, by the local clock; zero means never.
func (l *owner) nextDue() time.Time {
	var question time.Time
	if d, ok := l.w.state.Notices().NextDeadline(); ok {
		question = time.UnixMilli(int64(d.At))
	}
	dormant := l.live.dormantAt()
	if l.w.working || !dormant.IsZero() && !l.live.mailbox.isIdle() {
		dormant = time.Time{}
	}
	first := l.w.localTime(earliest(question, l.commands.desktop.geometry.due(), l.presence.due(l.live), l.agents.nextDue()))
	return earliest(first, dormant, l.drainDeadline(), l.committer.unconfirmed.due())
}

// committedState returns the state of an owner if it contains nothing uncommitted, else nil.
func (l *owner) committedState() *desktop.State {
	if l == nil || l.w.state == nil || l.committer.stepState != stepIdle || !l.committer.storeCopy.may(copyServes) || !l.w.step.empty() {
		return nil
	}
	if fields, _ := l.w.state.Pending(); fields > 0 {
		return nil
	}
	return l.w.state
}
