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
	k      *liveSession
	ctx    context.Context
	state  *desktop.State
	agents *agents // nil when nobody runs them here
	step   *step   // nil between turns, when there is none
	// For those who look after sessions.
	doing doing
	over  atomic.Bool // ctx has ended

	now  time.Time     // of the step, by the store's clock
	skew time.Duration // how far that is ahead of ours
	// patience is how long a commit may take.
	patience patience
	top      wire.Position // where the log ends
	number   uint64        // of the last batch

	// items are those taken from the mailbox. Those before committed are done,
	// those before handled are in the step.
	items     []item
	committed int
	handled   int
	peeks     []peek

	// handling says that items[handled] is being done, and said that the command at
	// hand has been answered.
	handling bool
	said     bool
	working  bool
	// uncertain says that the store has not said what became of the step.
	uncertain bool
	// broken says that the state is not what the log says.
	broken bool
	// forgotten says that the store lacks something that it said it had, and
	// rewriting that it is not told all of that again yet; debt is for then.
	forgotten bool
	rewriting bool
	// released says that the lease was given up.
	released bool
	removed  error          // what became of an order to delete the session
	heir     wire.ReplicaID // the replica that the session is to be left to, if one is
	asking   asking
	geometry geometry
	archives archives

	presence presence
	ledger   ledger
	alarm    alarm     // rings when something is due
	spoke    time.Time // when the newest event was made
	progress time.Time // when agents got on last, or the session was taken
	// For whoever looks.
	gauge gauges
	// For those who look after sessions.
	looks looks
	lease store.Lease

	cancel context.CancelCauseFunc // errLost, errStale
	// For the renewer.
	renewed    atomic.Int64 // when the last successful renewal began, in ns of the hub's life
	renewing   atomic.Bool
	renewEvery time.Duration

	user      string // whose session it is
	card      card
	questions questions
	limiter   *rate.Limiter
	lastRow   wire.RowID  // the highest that any row had
	lastTS    wire.Millis // the same of their times
	debt      debt
	// unconfirmed is what a failover may lose, and gone says that a part of the log was
	// lost before this owner claimed the session.
	unconfirmed unconfirmed
	gone        bool
	// durably says that a second node has the newest batch.
	durably bool
	// overflow is the item, of this owner or the one before it here, that made a
	// step too large.
	overflow *item
	// losses are what the store may have lost, as [store.LossTable] has it, until
	// people are shown.
	losses map[string][]byte
	// inherited are the deliveries that were in the mailbox from the start.
	inherited map[string]bool
	marks     map[string]item // see live session
	// mark is the delivery that comes after all that was sent from here before
	// we were the owner.
	mark string
}

// loop does what is in the mailbox and what is due, step by step.
func (l *owner) loop() error {
	l.doing.end()
	// Whatever there is to do gives the same signal: waiting for one of several costs
	// more than the rest of a turn.
	wake := l.k.box.nudge
	defer context.AfterFunc(l.ctx, func() {
		l.over.Store(true)
		wake()
	})()
	defer l.alarm.off()
	wake()
	for {
		l.alarm.set(l.due(), wake)
		<-l.k.box.wake
		if l.over.Load() {
			return context.Cause(l.ctx)
		}
		if err := l.turn(); err != nil {
			return err
		}
		l.serveLooks()
	}
}

// turn does everything there is to do now.
func (l *owner) turn() error {
	l.looks.stale()
	defer l.doing.end()
	l.step = l.k.hub.steps.get() // the last one is committed
	if err := l.work(); err != nil {
		return err // the step may be needed still
	}
	l.k.hub.steps.put(l.step)
	l.step = nil
	return nil
}

// work is turn with the memory that it needs.
func (l *owner) work() error {
	l.committed, l.handled = 0, 0
	l.items, l.peeks = l.k.box.take(l.items, l.peeks)
	if len(l.peeks) > 0 {
		l.doing.begin(doingSnapshot, l.k.hub.age())
		l.k.serve(l.peeks, l.state)
	}
	now := time.Now()
	l.begin(now)
	since := now.Sub(l.k.hub.born)
	for i := range l.items {
		it := &l.items[i]
		alone := it.alone || it.rewinds()
		if alone && l.handled > l.committed {
			if err := l.commit(); err != nil {
				return err
			}
			since = l.k.hub.age()
		}
		l.handling = true
		l.doing.begin(l.doing.item(it), since)
		l.handle(it)
		l.handling = false
		l.handled = i + 1
		if l.removed != nil {
			return l.removed
		}
		if alone || l.full() {
			if err := l.commit(); err != nil {
				return err
			}
			since = l.k.hub.age()
		}
	}
	l.doing.begin(doingDue, since)
	if err := l.tick(); err != nil {
		return err
	}
	if err := l.commit(); err != nil {
		return err
	}
	switch at := l.k.dormantAt(); {
	case l.mayLeave():
		return l.leave(errDraining)
	case !at.IsZero() && !l.working && !l.here(l.now).Before(at) && l.k.box.idle():
		return l.leave(errDormant)
	}
	return nil
}

// mayLeave reports whether the session is to be handed over and may be now.
func (l *owner) mayLeave() bool {
	if !l.finishBy().IsZero() {
		return false
	}
	return (l.k.draining.Load() != nil || l.heir != "" || l.agents.parking()) && l.agents.park(l.now)
}

// finishBy is when a session that is to be handed over stops to wait for its
// agents; zero when it does not.
func (l *owner) finishBy() time.Time {
	order := l.k.draining.Load()
	if order == nil || !l.here(l.now).Before(order.finish) || !l.agents.busy() {
		return time.Time{}
	}
	return order.finish
}

// handle does one item.
func (l *owner) handle(it *item) {
	if it.inbox != "" {
		l.step.consumed = append(l.step.consumed, it.inbox)
	}
	switch {
	case it.poison != nil && (it.order != nil || it.work != nil):
		it.finish(it.poison)
	case it.poison != nil && !l.knows(it.cmd.Message.ID):
		l.refuse(&it.cmd, it.poison)
	case it.order != nil:
		l.obey(it)
	case it.begins && !l.agents.parked.IsZero():
		// Whoever owns the session next lets it begin.
		l.agents.held = append(l.agents.held, *it)
		it.done = nil
	case it.work != nil:
		it.work()
	default:
		l.take(&it.cmd)
	}
	l.agents.goOn()
}

// knows reports whether a message was answered. What went wrong then did so
// after it was done.
func (l *owner) knows(id wire.MessageID) bool {
	_, known := l.ledger.find(id)
	return known && id != ""
}

// obey carries out what a hub wants.
func (l *owner) obey(it *item) {
	switch o := it.order; o.Kind {
	case orderPresence:
		if o.Replica != l.k.hub.cfg.Replica { // else we said it to the owner before us
			l.presence.hear(o, l.now)
		}
	case orderRename, orderShare:
		next, refused := l.card.with(o)
		if refused != nil {
			it.finish(refused)
			return
		}
		if next.equal(l.card) && it.inbox == "" {
			return // who is elsewhere learns of it from the card
		}
		if next.Title != l.card.Title {
			l.emit(wire.SessionRenamed{Title: next.Title})
		}
		l.card = next
		l.step.card = next.encode()
	case orderAct:
		l.govern(it)
	case orderYield:
		l.yield(o)
	case orderRestore:
		l.restoreLost(o)
	case orderDelete:
		l.removed = l.remove()
	}
}

// full reports whether the step is to be committed before more is added.
func (l *owner) full() bool {
	fields, size := l.state.Pending() // which are not in the step yet
	return l.step.full() || l.step.bytes+size >= stepBytes || len(l.step.ops)+len(l.step.consumed)+fields >= stepOps
}

// spill commits the step if it is full.
func (l *owner) spill() error {
	if l.full() {
		return l.commit()
	}
	return nil
}

// tick does what is due without anybody's asking.
func (l *owner) tick() error {
	for l.expireOne() {
		if err := l.spill(); err != nil {
			return err
		}
	}
	if l.agents.stirred(l.now) {
		l.answerOverdue()
	}
	if err := l.flushDue(); err != nil {
		return err
	}
	l.ledger.prune(l.now, &l.step.ops)
	l.unconfirmed.expire(time.Now())
	if p, ok := l.presence.next(l.k, l.now); ok {
		l.emit(p)
	}
	for more := true; more; more = l.agents.unheard() {
		l.agents.tickPlan(l.now)
		for l.agents.tick(l.now) {
			if err := l.commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// due is when tick has something to do; zero means never.
func (l *owner) due() time.Time {
	var question time.Time
	if d, ok := l.state.NextDeadline(); ok {
		question = time.UnixMilli(int64(d.At))
	}
	dormant := l.k.dormantAt()
	if l.working || !dormant.IsZero() && !l.k.box.idle() {
		dormant = time.Time{}
	}
	first := l.here(earliest(question, l.geometry.due(), l.presence.due(l.k), l.agents.due()))
	return earliest(first, dormant, l.finishBy(), l.unconfirmed.due())
}

// blame says which items are not tried again as they were, after a panic.
func (l *owner) blame() {
	l.broken = true
	why := refusal(wire.CodeExecutionFailed, "something went wrong with that message")
	if l.handling {
		l.items[l.handled].poison = why
		return
	}
	l.suspect(why)
}

// suspect says that something in the step is wrong. Each item gets a step of its
// own the next time, without anything that is due besides; in such a step it is
// known which item it is.
func (l *owner) suspect(why *Error) {
	step := l.items[l.committed:l.handled]
	for i := range step {
		if step[i].alone {
			step[i].poison = why
		}
		step[i].alone = true
	}
}

// fail says what becomes of a step that the store refuses for good.
func (l *owner) fail(err error) error {
	l.broken = true
	large := errors.Is(err, store.ErrTooLarge)
	if l.rewriting || l.handled == l.committed {
		if large && !l.rewriting && l.agents != nil && l.agents.pool.Newest() != "" {
			l.overflow = &item{waited: l.agents.pool.Newest()}
			return errReload
		}
		return &panicked{err} // nobody is to blame but us, and it must not go on for ever
	}
	why := &Error{Code: wire.CodeExecutionFailed, Reason: "the session cannot keep what comes of that", Err: err}
	if large {
		why.Code = wire.CodeMessageTooLarge
		// Before the last one the step was not even full.
		l.overflow = new(l.items[l.handled-1])
	}
	l.suspect(why)
	return errReload
}
