package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// stepWriter writes the step of an owned session: it appends events, folds them into the state and
// keeps the archives of the conversations in line. It is what the parts of an owner share: the
// state, the step, and the time of the step.
type stepWriter struct {
	id       wire.SessionID
	user     string // the session's user
	log      *slog.Logger
	observer MessageObserver
	reader   *storeReader
	held     *heldLease

	state *desktop.State
	step  *step // nil while nothing is processed

	now       time.Time     // of the step, by the store's clock
	clockSkew time.Duration // how far the store's clock is ahead of the local one
	top       wire.Position // position of the newest committed event
	working   bool          // the store knows that the session has unfinished work

	archives archives
	lastRow  wire.RowID  // highest id of any row
	lastTS   wire.Millis // highest time of any row

	lastEventAt    time.Time // time of the newest event
	lastProgressAt time.Time // when agents last made progress, or the session was claimed
	openQuestions  questionTimes
}

// advanceClock sets the time of the next step, by the store's clock. It never goes back.
func (w *stepWriter) advanceClock(now time.Time) {
	if now = now.Add(w.clockSkew); now.After(w.now) {
		w.now = now
	}
}

// nextPosition is the position of the next event.
func (w *stepWriter) nextPosition() wire.Position {
	return wire.Position{Epoch: w.held.lease.Epoch, Seq: w.top.Seq + uint64(len(w.step.frames)) + 1}
}

// Emit adds an event to the step and folds it into the state. A row goes to the archive, too.
func (w *stepWriter) Emit(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.MessageUpdated:
		w.emitRow(d)
	default:
		w.state.Apply(w.appendEvent(data))
	}
}

// appendEvent adds an event to the step without folding it into the state.
func (w *stepWriter) appendEvent(data wire.ServerPayload) wire.Event {
	e := wire.Event{Session: w.id, At: w.nextPosition(), Time: w.now.UTC().Truncate(time.Millisecond), Data: data}
	from := len(w.step.buf)
	w.step.buf = w.step.heading.AppendEvent(w.step.buf, &e)
	frame := w.step.buf[from:len(w.step.buf):len(w.step.buf)]
	w.step.frames = append(w.step.frames, frame)
	w.step.events = append(w.step.events, broadcastEvent(e, frame))
	w.step.bytes += len(frame)
	w.lastEventAt = e.Time
	w.trackEvent(data)
	return e
}

// trackEvent updates what the owner derives from its events: open questions, progress of agents,
// ends of turns, and whether the step must be durable.
func (w *stepWriter) trackEvent(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.Actions:
		for _, a := range d.Actions {
			w.trackActionQuestion(a)
		}
		if d.AgentID != "" {
			w.lastProgressAt = w.lastEventAt
		}
	case wire.AgentResponse:
		if d.IsComplete {
			w.step.durable = true
			w.step.turnEnds = append(w.step.turnEnds, withFullText(d, w.state.AgentText(d.AgentID)))
		}
		w.lastProgressAt = w.lastEventAt
	default:
		w.trackQuestion(data)
		w.step.durable = w.step.durable || mustBeDurable(data)
		if isProgress(data) {
			w.lastProgressAt = w.lastEventAt
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

// committer commits the steps of an owner under its lease. Its order is the first rule of a
// session: commit, then publish, then execute the effects.
type committer struct {
	live   *liveSession
	held   *heldLease
	w      *stepWriter
	agents *agents
	view   *introspection

	// items were taken from the mailbox: items[:committed] are done, items[committed:handled] are
	// in the step.
	items     []item
	committed int
	handled   int
	// stepState is how far the step is; while it is stepHandling, items[handled] is being executed.
	stepState stepState
	// storeCopy is the state of the store's copy of what it has acknowledged.
	storeCopy copyState

	commitTimer commitTimer // bounds the attempts of commits
	batchNumber uint64      // of the last committed batch
	// lastBatchDurable says that a second store node has the newest batch.
	lastBatchDurable bool
	unconfirmed      unconfirmed // what a failover of the store may lose
	// oversized is the item of this owner, or of the previous one here, that made a step too large.
	oversized *item
}

// commit makes the step durable, publishes its events, runs its effects and then finishes its
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
	cm.w.step.reuseEvents(events)
	if len(effects) > 0 {
		defer cm.view.activity.restore(cm.view.activity.begin(activityEffects, cm.live.env.uptime()))
	}
	for _, effect := range effects {
		effect()
	}
	return nil
}

// persist makes the step durable and returns the events to publish.
func (cm *committer) persist() ([]broadcast.Event, error) {
	for _, c := range cm.w.state.Changes() {
		if c.Value == nil {
			cm.w.step.ops = append(cm.w.step.ops, store.Unset(c.Table, c.Field))
		} else {
			cm.w.step.ops = append(cm.w.step.ops, store.Set(c.Table, c.Field, c.Value))
		}
	}
	if cm.w.step.archived {
		cm.w.step.ops = cm.w.archives.appendChanges(cm.w.step.ops)
	}
	b := store.Batch{
		Number: cm.batchNumber + 1, Prev: cm.w.top, Events: cm.w.step.frames, Ops: cm.w.step.ops,
		Consumed: cm.w.step.consumed, Card: cm.w.step.card, Durable: cm.w.step.durable,
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

// publishStep publishes committed events and returns the items of the step. The items count as done
// even if publishing panics.
func (cm *committer) publishStep(events []broadcast.Event) (done []item) {
	done = cm.items[cm.committed:cm.handled]
	cm.committed = cm.handled
	if len(events) > 0 {
		cm.live.snapshotCache.clear()
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
			cm.live.setStoreIssue(cm.held.ctx, issueCommit, false)
			if cm.live.storeFull.Load() {
				cm.live.storeFull.Store(false)
			}
			return receipt, again, nil
		case errors.Is(err, store.ErrFenced):
			cm.stepState.apply(stepNotCommitted)
			return receipt, again, cm.held.status.end(leaseFenced)
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
			cm.live.setStoreIssue(cm.held.ctx, issueCommit, true)
		}
		cm.live.log.WarnContext(cm.held.ctx, "commit failed, retrying", "err", err)
		cm.live.serveSnapshotsDuring(committed, func() {
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
