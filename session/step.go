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

// A step that reaches one of these sizes is committed before more is added.
const (
	stepEvents = 512
	stepBytes  = 1 << 20
	stepOps    = 1024
)

// commitTimeout bounds one attempt of a commit. The next attempt writes the same batch.
const commitTimeout = 5 * time.Second

// step is one batch in the making: events, table changes, and the effects that follow the commit.
type step struct {
	heading  wire.Heading
	events   []broadcast.Event
	frames   [][]byte
	buf      []byte // backing memory of frames, unless a frame outgrew it
	ops      []store.Op
	consumed []string
	card     []byte
	bytes    int
	// turnEnds are the final events of turns in this step, each with the whole text of the turn.
	// The desktop state does not keep them, and a rewrite needs them.
	turnEnds []wire.AgentResponse
	// durable asks the store for a durable commit, because the step acknowledges something to a
	// client. archived says that rows were added to archives or changed there.
	durable, archived bool
	// effects run after the commit.
	effects []func()
}

func (s *step) full() bool {
	return len(s.frames) >= stepEvents || s.bytes >= stepBytes || len(s.ops)+len(s.consumed) >= stepOps
}

func (s *step) empty() bool {
	return s == nil || len(s.frames) == 0 && len(s.ops) == 0 && len(s.consumed) == 0 && s.card == nil
}

// advanceClock sets the time of the next step, by the store's clock. It never goes back.
func (l *owner) advanceClock(now time.Time) {
	if now = now.Add(l.clockSkew); now.After(l.now) {
		l.now = now
	}
}

// nextPosition is the position of the next event.
func (l *owner) nextPosition() wire.Position {
	return wire.Position{Epoch: l.lease.Epoch, Seq: l.top.Seq + uint64(len(l.step.frames)) + 1}
}

// emit adds an event to the step and folds it into the state. A row goes to the archive, too.
func (l *owner) emit(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.MessageUpdated:
		l.emitRow(d)
	default:
		l.state.Apply(l.appendEvent(data))
	}
}

// appendEvent adds an event to the step without folding it into the state.
func (l *owner) appendEvent(data wire.ServerPayload) wire.Event {
	e := wire.Event{Session: l.live.id, At: l.nextPosition(), Time: l.now.UTC().Truncate(time.Millisecond), Data: data}
	from := len(l.step.buf)
	l.step.buf = l.step.heading.AppendEvent(l.step.buf, &e)
	frame := l.step.buf[from:len(l.step.buf):len(l.step.buf)]
	l.step.frames = append(l.step.frames, frame)
	l.step.events = append(l.step.events, broadcastEvent(e, frame))
	l.step.bytes += len(frame)
	l.lastEventAt = e.Time
	l.trackEvent(data)
	return e
}

// trackEvent updates what the owner derives from its events: open questions, progress of agents,
// ends of turns, and whether the step must be durable.
func (l *owner) trackEvent(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.Actions:
		for _, a := range d.Actions {
			l.trackActionQuestion(a)
		}
		if d.AgentID != "" {
			l.lastProgressAt = l.lastEventAt
		}
	case wire.AgentResponse:
		if d.IsComplete {
			l.step.durable = true
			l.step.turnEnds = append(l.step.turnEnds, withFullText(d, l.state.AgentText(d.AgentID)))
		}
		l.lastProgressAt = l.lastEventAt
	default:
		l.trackQuestion(data)
		l.step.durable = l.step.durable || mustBeDurable(data)
		if isProgress(data) {
			l.lastProgressAt = l.lastEventAt
		}
	}
}

// isProgress reports whether an event shows that agents make progress: an agent caused it, or it
// starts one. Events caused by people and tabs do not count, because they say nothing of an agent
// that hangs.
func isProgress(data wire.ServerPayload) bool {
	switch data.(type) {
	case wire.AgentThinking, wire.ToolProgress, wire.ApprovalRequest, wire.MessageAccepted, wire.TurnInterrupted,
		wire.LayerStart, wire.LayerComplete, wire.PlanGenerated, wire.PlanApproved, wire.PlanModified, wire.TodoStarted, wire.TodoProgress,
		wire.TodoUpdated, wire.TodoCompleted, wire.TodoFailed, wire.HITLPlanReview, wire.HITLApprovalRequest, wire.HITLInputRequest,
		wire.HITLClarification, wire.HITLClosed, wire.HITLResumed, wire.PlanComplete, wire.PlanFailure:
		return true
	}
	return false
}

// mustBeDurable reports whether an event acknowledges a message or an answer, or ends a turn. A
// client does not repeat what was acknowledged, so such an event must not be lost with the only
// store node that has it. Other events can be produced again, by the agent or by an owner that
// still has them.
func mustBeDurable(data wire.ServerPayload) bool {
	switch d := data.(type) {
	case wire.MessageAccepted, wire.MessageQueued, wire.MessageRejected, wire.TurnInterrupted, wire.DialogClosed, wire.PromptClosed,
		wire.HistoryRewound, wire.HITLClosed, wire.HITLPaused, wire.HITLResumed, wire.PlanApproved, wire.PlanModified,
		wire.PlanComplete, wire.PlanFailure:
		return true
	case wire.TodoUpdated, wire.TodoCompleted:
		return wire.MessageOf(d) != ""
	}
	return false
}

// commit makes the step durable, publishes its events, runs its effects and then finishes its
// items, in this order: an agent that is to stop is stopped before its pending call returns. It
// blocks until the store has accepted or refused the step, or the lease is lost.
func (l *owner) commit() error {
	l.agents.deliverJobResults()
	effects := l.step.effects
	l.step.effects = nil
	events, err := l.persist()
	if err != nil {
		return err
	}
	defer finishItems(l.publishStep(events))
	l.reportGauges()
	l.step.reuseEvents(events)
	if len(effects) > 0 {
		defer l.activity.restore(l.activity.begin(activityEffects, l.live.hub.uptime()))
	}
	for _, effect := range effects {
		effect()
	}
	return nil
}

// persist makes the step durable and returns the events to publish.
func (l *owner) persist() ([]broadcast.Event, error) {
	for _, c := range l.state.Changes() {
		if c.Value == nil {
			l.step.ops = append(l.step.ops, store.Unset(c.Table, c.Field))
		} else {
			l.step.ops = append(l.step.ops, store.Set(c.Table, c.Field, c.Value))
		}
	}
	if l.step.archived {
		l.step.ops = l.archives.appendChanges(l.step.ops)
	}
	b := store.Batch{
		Number: l.batchNumber + 1, Prev: l.top, Events: l.step.frames, Ops: l.step.ops,
		Consumed: l.step.consumed, Card: l.step.card, Durable: l.step.durable,
	}
	_, asked := l.state.Notices().NextDeadline()
	busy := asked || l.agents.working()
	if busy != l.working {
		b.Working = new(busy)
	}
	if l.step.empty() && b.Working == nil {
		return nil, nil
	}
	receipt, again, err := l.commitTraced(b)
	if err != nil {
		return nil, err
	}
	l.batchNumber, l.top, l.working = b.Number, receipt.Top, busy
	l.lastBatchDurable = receipt.Durable
	l.recordUnconfirmed(receipt, l.step.turnEnds)
	events := l.step.events
	if again {
		l.step = &step{} // an earlier attempt may still be reading the old one
	} else {
		l.step.reset()
	}
	return events, nil
}

// publishStep publishes committed events and returns the items of the step. The items count as done
// even if publishing panics.
func (l *owner) publishStep(events []broadcast.Event) (done []item) {
	done = l.items[l.committed:l.handled]
	l.committed = l.handled
	if len(events) > 0 {
		l.live.snapshotCache.clear()
		l.live.publishCommitted(events)
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
func (l *owner) commitBatch(b store.Batch) (receipt store.Receipt, again bool, err error) {
	if !l.live.ownership.may(outputCommit) {
		return receipt, false, fmt.Errorf("commit: %w", errRole)
	}
	began := l.live.hub.uptime()
	defer l.activity.restore(l.activity.begin(activityCommit, began))
	var committed *desktop.State // the committed state, for snapshots while the commit waits
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		l.stepState.apply(stepAttemptBegins)
		receipt, err = l.live.hub.store.Commit(l.commitTimer.start(l.ctx, l.live.hub), l.lease, b)
		l.commitTimer.stop()
		switch {
		case err == nil:
			l.stepState.apply(stepCommitted)
			l.observer().Appended(len(b.Events), l.live.hub.uptime()-began)
			l.live.setStoreIssue(l.ctx, issueCommit, false)
			if l.live.storeFull.Load() {
				l.live.storeFull.Store(false)
			}
			return receipt, again, nil
		case errors.Is(err, store.ErrFenced):
			l.stepState.apply(stepNotCommitted)
			return receipt, again, l.leaseStatus.end(leaseFenced)
		case errors.Is(err, store.ErrGap):
			l.stepState.apply(stepNotCommitted)
			l.storeCopy.apply(copyGapFound)
			l.live.log.WarnContext(l.ctx, "store lacks the previous batch", "err", err)
			return receipt, again, errLost
		case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid), errors.Is(err, wire.ErrID):
			l.live.log.ErrorContext(l.ctx, "store refused a step", "err", err, "events", len(b.Events), "ops", len(b.Ops))
			return receipt, again, l.rejectStep(err)
		}
		l.stepState.apply(stepUnanswered)
		switch {
		case isPermanent(err):
			return receipt, again, fmt.Errorf("commit: %w", err)
		case l.ctx.Err() != nil:
			return receipt, again, context.Cause(l.ctx)
		}
		again = true
		if errors.Is(err, store.ErrNoSpace) {
			// The step waits for space. Callers that wait for a reply are refused.
			l.live.storeFull.Store(true)
			l.live.replyWaiters.rejectAll(errFull)
			if committed == nil {
				committed = l.loadCommitted()
			}
			if committed != nil {
				l.live.changeRole(eventShown)
				l.live.markReady(l.ctx) // a new owner's first step: tabs can attach to the committed state
			}
		}
		if isStoreUnavailable(err) {
			l.live.setStoreIssue(l.ctx, issueCommit, true)
		}
		l.live.log.WarnContext(l.ctx, "commit failed, retrying", "err", err)
		l.live.serveSnapshotsDuring(committed, func() {
			sleep(l.ctx, wait/2+rand.N(wait/2)) //nolint:gosec // jitter needs no secrecy
		})
	}
}

// loadCommitted loads the committed state, or returns nil if that fails or is not the state before
// this step.
func (l *owner) loadCommitted() *desktop.State {
	got, err := l.live.load(l.ctx)
	if err != nil || got.state.At() != l.top {
		return nil
	}
	return got.state
}
