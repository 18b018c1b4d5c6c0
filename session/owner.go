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
	claimedAt time.Time // when its claim began, by the local clock
	w         stepWriter
	committer committer
	agents    *agents // nil without Config.NewRunner
	commands  commands
	keyframes keyframes
	view      introspection

	snapshotRequests []snapshotRequest
	userChanged      bool           // the session was given to another user, which ends the loop
	deleteErr        error          // the result of deleting the session, which ends the loop
	heir             wire.ReplicaID // the replica that the session is to be handed to; empty for none
	heirUntil        time.Time      // when the heir stops waiting, by the store's clock
	lastLocal        time.Time      // when the last item of this replica was executed, by the store's clock
	presence         presence
	dueTimer         dueTimer // signals the mailbox when something is due
	interrupted      interruptedStep
	logLost          bool      // a part of the log was lost before this owner claimed the session
	packAt           time.Time // when the session may be packed, after it became dormant
	kernelWatch      kernelWatch
	// storeLosses are the losses that the store reports in [store.LossTable], until they are shown
	// in the conversation.
	storeLosses map[string][]byte
}

// newOwner makes the owner of a session under a lease whose claim began at a local time. It has no
// state before restore or inheritState. Its context ends with ctx or with the lease.
func newOwner(ctx context.Context, ls *liveSession, lease store.Lease, claimed time.Time) *owner {
	ls.changeRole(eventClaimed)
	ow := &owner{live: ls, claimedAt: claimed, held: newHeldLease(ctx, lease, ls.env.uptime())}
	ow.view.activity.begin(activityLoad, ls.env.uptime())
	since := time.UnixMilli(int64(lease.Epoch)) //nolint:gosec // epochs are milliseconds
	ow.w = stepWriter{
		id: ls.id, log: ls.log, reader: ls.env.reader, observer: ls.env.cfg.MessageObserver, held: &ow.held, step: &step{}, top: lease.Top(),
		clockSkew: skewOf(lease, claimed), lastEventAt: since, lastProgressAt: since,
	}
	ow.view.live, ow.view.held, ow.view.w, ow.view.replies, ow.view.presence = ls, &ow.held, &ow.w, &ow.commands.replies, &ow.presence
	ow.committer = committer{live: ls, held: &ow.held, w: &ow.w, view: &ow.view, keyframes: &ow.keyframes}
	ow.keyframes.w, ow.keyframes.port = &ow.w, port{ow}
	ow.setAgents(nil)
	return ow
}

// setAgents gives the agents of the session, or nil for none, to all parts.
func (ow *owner) setAgents(a *agents) {
	ow.agents, ow.view.agents, ow.committer.agents = a, a, a
	ow.commands.connect(&ow.w, a)
}

// loop processes the mailbox and what is due, until the lease is lost or the session is handed
// over.
func (ow *owner) loop() error {
	ow.view.activity.end()
	// All sources share one signal: a select over several channels would cost more than the rest of
	// an iteration.
	wake := ow.live.mailbox.signal
	defer context.AfterFunc(ow.held.ctx, wake)()
	defer ow.dueTimer.stop()
	wake()
	for {
		ow.dueTimer.set(ow.nextDue(), wake)
		<-ow.live.mailbox.wake
		if ow.held.ctx.Err() != nil {
			return context.Cause(ow.held.ctx)
		}
		if err := ow.processMailbox(); err != nil {
			return err
		}
		ow.view.serveStatusRequests()
	}
}

// processMailbox borrows a step and processes everything there is to do now.
func (ow *owner) processMailbox() error {
	ow.view.requests.markStale()
	defer ow.view.activity.end()
	ow.w.step = ow.live.env.stepPool.get() // the last one is committed
	if err := ow.runSteps(); err != nil {
		return err // the step may still be needed for a rewrite
	}
	ow.live.env.stepPool.put(ow.w.step)
	ow.w.step = nil
	return nil
}

// runSteps answers snapshot requests, executes all items and everything due, and commits. It
// releases the session if it is to be handed over or is dormant.
func (ow *owner) runSteps() error {
	ow.committer.committed, ow.committer.handled = 0, 0
	ow.committer.items, ow.snapshotRequests = ow.live.mailbox.takeAll(ow.committer.items, ow.snapshotRequests)
	if len(ow.snapshotRequests) > 0 {
		ow.view.activity.begin(activitySnapshot, ow.live.env.uptime())
		ow.live.tabSource.answerSnapshots(ow.snapshotRequests, ow.w.state)
	}
	now := time.Now()
	ow.w.advanceClock(now)
	since := now.Sub(ow.live.env.started)
	for i := range ow.committer.items {
		it := &ow.committer.items[i]
		alone := it.alone || it.rewinds() || it.order != nil && it.order.Kind == orderUser
		if alone && ow.committer.handled > ow.committer.committed {
			if err := ow.committer.commit(); err != nil {
				return err
			}
			since = ow.live.env.uptime()
		}
		ow.committer.stepState.apply(stepItemBegins)
		ow.view.activity.begin(ow.view.activity.ofItem(it), since)
		ow.handleItem(it)
		ow.committer.stepState.apply(stepItemEnds)
		ow.committer.handled = i + 1
		if ow.deleteErr != nil {
			return ow.deleteErr
		}
		if alone || ow.w.Full() {
			if err := ow.committer.commit(); err != nil {
				return err
			}
			since = ow.live.env.uptime()
		}
		if ow.userChanged {
			return ow.releaseSession(errUserChanged)
		}
	}
	ow.view.activity.begin(activityDue, since)
	if err := ow.runDue(); err != nil {
		return err
	}
	if err := ow.committer.commit(); err != nil {
		return err
	}
	switch {
	case ow.mayHandOver():
		return ow.releaseSession(errDraining)
	case ow.mayUnload(ow.w.localTime(ow.w.now)):
		return ow.releaseSession(errDormant)
	}
	return nil
}

// mayUnload reports whether the session is dormant and its time to be packed has come.
func (ow *owner) mayUnload(now time.Time) bool {
	at := ow.live.dormantAt()
	if at.IsZero() || now.Before(at) || ow.w.working || !ow.live.mailbox.isIdle() {
		return false
	}
	if ow.packAt.Before(at) { // the time of an earlier dormancy, or none
		ow.packAt = ow.live.env.packing.reserve(now)
	}
	return !now.Before(ow.packAt)
}

// mayHandOver reports whether the session is to be handed over and can be now. It parks the tools.
func (ow *owner) mayHandOver() bool {
	if !ow.drainDeadline().IsZero() {
		return false
	}
	if ow.heir != "" && ow.live.ownership.current() != roleHandingOver {
		ow.w.advanceClock(time.Now()) // the commit may have taken long
		if ow.w.now.After(ow.heirUntil) {
			ow.heir = "" // it does not wait any more
		}
	}
	if ow.live.drainOrder.Load() == nil && ow.heir == "" && ow.live.ownership.current() != roleHandingOver {
		return false
	}
	ow.live.changeRole(eventHandOver) // for good: the next owner starts the tools that are held back
	return ow.agents.parkTools(ow.w.now)
}

// drainDeadline is when a session that is being drained stops waiting for its running turns; zero
// if it does not wait.
func (ow *owner) drainDeadline() time.Time {
	order := ow.live.drainOrder.Load()
	if order == nil || !ow.w.localTime(ow.w.now).Before(order.finish) || !ow.agents.hasRunningTurns() {
		return time.Time{}
	}
	return order.finish
}

// handleItem executes one item within the step.
func (ow *owner) handleItem(it *item) {
	if it.deliveryID != "" {
		ow.w.step.consumed = append(ow.w.step.consumed, it.deliveryID)
	} else {
		ow.lastLocal = ow.w.now
	}
	switch {
	case it.poison != nil && (it.order != nil || it.work != nil):
		it.finish(it.poison)
	case it.poison != nil && !ow.commands.replies.isAnswered(it.cmd.Message.ID):
		ow.commands.replies.refuseCommand(&it.cmd, it.poison)
	case it.poison != nil && it.cmd.Message.Data == nil: // answered before, and its content is not here
	case it.order != nil:
		ow.handleOrder(it)
	case it.startsTool && !ow.agents.parkedSince.IsZero():
		// The next owner lets the tool start.
		ow.agents.heldItems = append(ow.agents.heldItems, *it)
		it.done = nil
	case it.work != nil:
		it.work()
	default:
		ow.commands.applyCommand(&it.cmd)
	}
	ow.agents.deliverJobResults()
}

// handleOrder executes an order of a hub.
func (ow *owner) handleOrder(it *item) {
	switch o := it.order; o.Kind {
	case orderPresence:
		if o.Replica != ow.live.env.cfg.Replica { // else this replica sent it to the previous owner
			ow.presence.applyReport(o, ow.w.now)
		}
	case orderRename, orderShare:
		next, refused := ow.commands.card.apply(o)
		if refused != nil {
			it.finish(refused)
			return
		}
		if next.equal(ow.commands.card) && it.deliveryID == "" {
			return // no change; only for a remote caller the card must record the order
		}
		if next.Title != ow.commands.card.Title {
			ow.w.Emit(wire.SessionRenamed{Title: next.Title})
			if ow.agents != nil {
				ow.agents.poolForUpdate().TitleChanged()
			}
		}
		ow.commands.card = next
		ow.w.step.card = next.encode()
	case orderUser:
		ow.changeUser(it)
	case orderAct:
		ow.commands.handleAdminAction(it)
	case orderYield:
		ow.yield(o)
	case orderRelocate:
		ow.relocate(o)
	case orderRestore:
		(&restorer{w: &ow.w, agents: ow.agents, commands: &ow.commands, log: ow.live.log}).restoreLost(o)
	case orderCall, orderStopCalls:
		ow.handleCallOrder(o)
	case orderFiles:
		if len(o.Files) > 0 {
			ow.w.Emit(wire.FilesChanged{Files: o.Files})
		}
	case orderDelete:
		ow.deleteErr = ow.deleteSession()
	}
}

// Full reports whether the step must be committed before more is added.
func (w *stepWriter) Full() bool {
	fields, size := w.state.Pending() // state changes that are not in the step yet
	return w.step.full() || w.step.bytes+size >= stepBytes || len(w.step.ops)+len(w.step.consumed)+fields >= stepOps
}

// runDue executes what is due by time: deadlines, delayed window positions, pruning, presence,
// agents and the plan.
func (ow *owner) runDue() error {
	for ow.commands.questions.expireOne() {
		if err := ow.committer.commitIfFull(); err != nil {
			return err
		}
	}
	if ow.agents.poolDue(ow.w.now) {
		ow.commands.questions.answerOverdue()
	}
	if err := ow.flushDueMoves(); err != nil {
		return err
	}
	ow.commands.replies.ledger.prune(ow.w.now, &ow.w.step.ops)
	ow.committer.unconfirmed.expire(time.Now())
	if p, ok := ow.presence.next(ow.live, ow.w.now); ok {
		ow.w.Emit(p)
	}
	if ow.agents != nil {
		ow.agents.notebooks.sweep()
	}
	for more := true; more; more = ow.agents.hasJobResults() {
		ow.agents.tickPlan(ow.w.now)
		for ow.agents.tickPool(ow.w.now) {
			if err := ow.committer.commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextDue is when runDue has something to do, by the local clock; zero means never.
func (ow *owner) nextDue() time.Time {
	var question time.Time
	if d, ok := ow.w.state.Notices().NextDeadline(); ok {
		question = time.UnixMilli(int64(d.At))
	}
	dormant := ow.live.dormantAt()
	if ow.w.working || !dormant.IsZero() && !ow.live.mailbox.isIdle() {
		dormant = time.Time{}
	}
	if !dormant.IsZero() && ow.packAt.After(dormant) {
		dormant = ow.packAt
	}
	first := ow.w.localTime(earliest(question, ow.commands.desktop.geometry.due(), ow.presence.due(ow.live), ow.agents.nextDue()))
	return earliest(first, dormant, ow.drainDeadline(), ow.committer.unconfirmed.due())
}

// committedState returns the state of an owner if it contains nothing uncommitted, else nil.
func (ow *owner) committedState() *desktop.State {
	if ow == nil || ow.w.state == nil || ow.committer.stepState != stepIdle || !ow.committer.storeCopy.may(copyServes) || !ow.w.step.empty() {
		return nil
	}
	if fields, _ := ow.w.state.Pending(); fields > 0 {
		return nil
	}
	return ow.w.state
}
