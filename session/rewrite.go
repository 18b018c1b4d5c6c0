package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// rewriteItems is how many ops and values of ops are put into a batch, and
	// rewriteBytes how long they are together.
	rewriteItems = 3000
	rewriteBytes = 4 << 20
	// rewriteSnapshotBytes is how much of the windows and the conversation is in the
	// snapshot that a rewrite puts into the log. The rest follows it.
	rewriteSnapshotBytes = 512 << 10
	// rewriteTimeout is how long an owner may take to write a session again that
	// the store lost: as long as the store may take to answer, and a lease more.
	rewriteTimeout = 20 * time.Second
)

// interruptedStep is what a rewrite owes to the commands of the step that met the loss.
type interruptedStep struct {
	ends     []wire.AgentResponse // of turns
	answers  []wire.ServerPayload
	consumed []string
}

// needsRewrite reports whether the store, which has given us another lease, lacks
// something that it told the owner before it had.
func (l *owner) needsRewrite(next store.Lease) bool {
	switch {
	case l == nil || next.Prev.Epoch > l.lease.Epoch: // somebody else has gone on with what there was
		return false
	case l.rewriting:
		return true
	}
	return !l.stateBroken && (l.storeLostData || next.Prev.Compare(l.top) < 0)
}

// hasFullState reports whether an owner knows everything that was kept of a session.
func (l *owner) hasFullState() bool {
	return l != nil && l.state != nil && !l.stateBroken && l.deleteErr == nil
}

// recreate makes a session again that the store does not have, so that it can be
// claimed and written again. It is ErrNotFound if it was deleted.
func (k *liveSession) recreate(ctx context.Context, left *owner) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := k.hub.store.Recreate(ctx, left.lease, store.NewSession{ID: k.id, User: left.user, Card: left.card.encode()})
	switch {
	case errors.Is(err, store.ErrExists): // perhaps an answer was lost
		return nil
	case err != nil:
		return fmt.Errorf("make the session again: %w", err)
	}
	k.log.WarnContext(ctx, "the store has lost a session; making it again", "epoch", left.lease.Epoch)
	return nil
}

// awaitsRecreation reports whether to wait for a session that the store does not have: it
// was there, nobody has deleted it, and who owns it may write it again.
func (k *liveSession) awaitsRecreation(ctx context.Context, err error) bool {
	if !errors.Is(err, store.ErrNotFound) || errors.Is(err, errOtherSession) || !k.isReady() || k.isUnused() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	deleted, err := k.hub.store.Deleted(ctx, k.id, k.center.Head().Epoch)
	if deleted || err != nil && !isStoreUnavailable(err) {
		return false
	}
	now := time.Now()
	if k.missingSince.IsZero() {
		k.missingSince = now
		k.log.WarnContext(ctx, "the store has lost a session; waiting for its owner to write it again")
	}
	k.setStoreIssue(ctx, issueClaim, true)
	return now.Sub(k.missingSince) < rewriteTimeout
}

// inheritState takes everything from an owner of ours whose writes the store forgot.
func (l *owner) inheritState(left *owner) error {
	l.state, l.card, l.ledger, l.questions = left.state, left.card, left.ledger.clone(), left.questions.clone()
	l.geometry, l.archives = left.geometry, left.archives.clone()
	l.items, l.committed, l.handled = left.items, left.committed, left.handled
	left.items = nil
	l.rewriting, l.interrupted, l.unconfirmed = true, left.interrupted, left.unconfirmed
	if !left.rewriting && left.step != nil {
		l.interrupted = interruptedStep{ends: left.step.turnEnds, answers: answerEvents(left.step), consumed: left.step.consumed}
	}
	l.state.Apply(wire.Event{
		Session: l.live.id, At: l.top, Time: time.Now(),
		Data: wire.OwnerChanged{Replica: l.lease.Replica, Epoch: l.lease.Epoch, Prev: l.lease.Prev},
	})
	l.initDerived()
	if left.agents == nil {
		return nil
	}
	return l.startAgents(left.agents.storedForm())
}

// withFullText is the end of a turn for those who may have missed what it said. A text
// that is too long for the log stays where it is: in the conversation.
func withFullText(end wire.AgentResponse, said string) wire.AgentResponse {
	if end.Delta == "" && len(said) <= rewriteSnapshotBytes {
		end.Delta, end.Offset = said, 0
	}
	return end
}

// answerEvents are those events of a step that answer commands.
func answerEvents(s *step) []wire.ServerPayload {
	var answers []wire.ServerPayload
	for _, e := range s.events {
		switch p := e.Data.(type) {
		case wire.Actions:
			if p.MessageID != "" {
				p.Actions = []wire.Action{} // they are in the state
				answers = append(answers, p)
			}
		case wire.MessageAccepted, wire.MessageQueued, wire.MessageRejected, wire.MessageRepeated, wire.DialogClosed, wire.PromptClosed,
			wire.HITLClosed:
			answers = append(answers, p)
		case wire.HITLPaused, wire.HITLResumed, wire.PlanModified, wire.TodoUpdated, wire.TodoCompleted, wire.PlanFailure:
			// What they tell is in the state, and may be otherwise by now.
			if id := wire.MessageOf(p); id != "" {
				answers = append(answers, wire.MessageAccepted{MessageID: id, AgentID: planRole, How: wire.TakenDirect, Duplicate: true})
			}
		}
	}
	return answers
}

// rewrite tells the store everything again, under a new lease, because it forgot
// a part. Nobody can know how much others have seen of that part. So the log goes
// on with the whole state, which brings everybody who reads on to the same; what
// answered the commands of the step that was under way follows.
//
// A rewrite that is interrupted is begun again by the next owner here. Until it
// is complete nothing is taken away, so whoever else takes the session finds all
// that was there before.
func (l *owner) rewrite(got loadedSession) error {
	l.live.log.Warn("the store has lost something it had acknowledged; writing it again", "log", l.lease.Prev)
	rows, err := l.repairArchives(got.tables)
	if err != nil {
		return err
	}
	away, err := l.agents.repairLists(got.tables)
	if err != nil {
		return err
	}
	ops := l.allOps(append(rows, away...), got.tables, got.lists)
	l.step.card = l.card.encode()
	for _, portion := range splitOps(ops) {
		l.step.ops = append(l.step.ops, portion...)
		if _, err := l.persist(); err != nil {
			return err
		}
	}
	l.live.center.Restart(l.top)
	l.advanceClock(time.Now())
	for _, p := range l.interrupted.ends { // before the state, which has the last word
		e := l.appendEvent(p)
		e.Data = nil // we have it
		l.state.Apply(e)
	}
	for _, p := range l.stateEvents() {
		if l.step.full() {
			events, err := l.persist()
			if err != nil {
				return err
			}
			l.live.publishCommitted(events)
			l.step.reuseEvents(events)
			l.interrupted.ends = nil // whoever has to begin again need not say them again
		}
		e := l.appendEvent(p)
		e.Data = nil // we have it
		l.state.Apply(e)
	}
	for _, p := range l.interrupted.answers {
		l.emit(p)
	}
	l.step.consumed = append(l.step.consumed, l.interrupted.consumed...)
	l.step.durable = true // it has promises of before
	events, err := l.persist()
	if err != nil {
		return err
	}
	ends := l.interrupted.ends
	l.rewriting, l.interrupted = false, interruptedStep{}
	l.unconfirmed.relocate(l.top)
	l.recordUnconfirmed(store.Receipt{Top: l.top, Durable: l.lastBatchDurable}, ends)
	finishItems(l.publishStep(events))
	l.step.reuseEvents(events)
	// The items of that step are done; what was taken and not begun is not.
	l.live.mailbox.requeue(dropAgentWork(l.items[l.handled:]))
	l.items, l.committed, l.handled = nil, 0, 0
	return nil
}

// dropAgentWork drops what agents wanted, who are gone with their owner.
func dropAgentWork(items []item) []item {
	return slices.DeleteFunc(items, func(it item) bool {
		if it.work != nil {
			it.finish(errLost)
		}
		return it.work != nil
	})
}

// splitOps are ops in the same order, in batches. A list that is dropped to be
// written again is so in one batch, unless it is too long for one: nobody is to
// find it empty.
func splitOps(ops []store.Op) [][]store.Op {
	var out [][]store.Op
	var batch []store.Op
	items, size := 0, 0
	next := func() {
		if len(batch) > 0 {
			out = append(out, batch)
		}
		batch, items, size = nil, 0, 0
	}
	for i, op := range ops {
		n, bytes := opSize(op)
		if replacesList(op) && i+1 < len(ops) && ops[i+1].Name == op.Name {
			more, follows := opSize(ops[i+1])
			n, bytes = n+more, bytes+follows
		}
		if items+n > rewriteItems || size+bytes > rewriteBytes {
			if last := len(batch) - 1; last < 0 || !replacesList(batch[last]) || batch[last].Name != op.Name {
				next()
			}
		}
		for op.Kind == store.OpPush && len(op.Values) > 1 {
			fits, handle := 0, rewriteBytes-size
			for fits < len(op.Values) && items+1+fits < rewriteItems && len(op.Values[fits]) <= handle {
				handle -= len(op.Values[fits])
				fits++
			}
			if fits = max(fits, 1); fits == len(op.Values) {
				break
			}
			batch = append(batch, store.Push(op.Name, op.Values[:fits]...))
			op.Values = op.Values[fits:]
			next()
		}
		n, bytes = opSize(op)
		batch, items, size = append(batch, op), items+n, size+bytes
	}
	next()
	return out
}

// replacesList reports whether what a list shall have follows.
func replacesList(op store.Op) bool { return op.Kind == store.OpDrop || op.Kind == store.OpKeepFirst }

// opSize counts an op and its values, and their bytes.
func opSize(op store.Op) (items, size int) {
	for _, v := range op.Values {
		size += len(v)
	}
	return 1 + len(op.Values), size
}

// allOps is what makes the store's tables those that we know. The ops of the
// lists that are not loaded are known.
func (l *owner) allOps(ops []store.Op, tables map[string]map[string][]byte, lists map[string][][]byte) []store.Op {
	for _, c := range l.state.All() {
		ops = append(ops, store.Set(c.Table, c.Field, c.Value))
	}
	ops = append(ops, l.ledger.all()...)
	ops = append(ops, l.questions.all()...)
	ops = append(ops, l.agents.allOps()...)
	l.state.Changes() // they are among all
	type name struct{ table, field string }
	known := make(map[name]bool, len(ops))
	for _, op := range ops {
		known[name{op.Name, op.Field}] = true
	}
	for list := range lists {
		if !known[name{list, ""}] {
			ops = append(ops, store.Drop(list))
		}
	}
	for table, fields := range tables {
		for field := range fields {
			if !known[name{table, field}] {
				ops = append(ops, store.Unset(table, field))
			}
		}
	}
	return ops
}

// stateEvents is the state as events: a snapshot, and what is too long for it.
func (l *owner) stateEvents() []wire.ServerPayload {
	// What the time takes away is gone before the snapshot shows it.
	l.state.Apply(wire.Event{Session: l.live.id, At: l.nextPosition(), Time: l.now.UTC().Truncate(time.Millisecond)})
	now := l.state.Snapshot()
	now.Reason = wire.SnapshotUnknown
	now.HeartbeatMS = int(max(l.live.center.Heartbeat(), time.Millisecond) / time.Millisecond)
	handle := rewriteSnapshotBytes
	var rest []wire.ServerPayload
	fits := func(p wire.ServerPayload) bool {
		n := len(wire.AppendEvent(nil, wire.Event{Session: l.live.id, Time: l.now, Data: p}))
		if n > handle {
			rest = append(rest, p)
			return false
		}
		handle -= n
		return true
	}
	for i := range now.Windows {
		w := &now.Windows[i]
		content := wire.WindowSetContent{WindowID: w.WindowID, Content: w.Content}
		if !fits(wire.Actions{Actions: []wire.Action{content}, MonitorID: w.MonitorID}) {
			w.Content = wire.TextContent{}
		}
	}
	var rows []wire.UIRow
	for _, row := range now.RecentMessages {
		if fits(wire.MessageUpdated{Action: wire.RowCreated, Message: row, MonitorID: row.MonitorID}) {
			rows = append(rows, row)
		}
	}
	if now.RecentMessages = rows; rows == nil {
		now.RecentMessages = []wire.UIRow{}
	}
	return append([]wire.ServerPayload{now}, rest...)
}
