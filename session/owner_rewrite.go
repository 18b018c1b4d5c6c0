package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// rewriteItems and rewriteBytes bound the ops and values of one batch of a rewrite.
	rewriteItems = 3000
	rewriteBytes = 4 << 20
	// rewriteSnapshotBytes bounds the windows and rows in the snapshot that a rewrite writes to the
	// log, in bytes. The rest follows as separate events.
	rewriteSnapshotBytes = 512 << 10
	// rewriteTimeout is how long a follower waits for the owner to write a lost session again: the
	// longest answer time of the store plus a lease.
	rewriteTimeout = 20 * time.Second
)

// interruptedStep is what a rewrite must repeat of the step during which the loss was found.
type interruptedStep struct {
	ends     []wire.AgentResponse // of turns
	answers  []wire.ServerPayload
	consumed []string
}

// needsRewrite reports whether the store lacks data that it had acknowledged to this owner, if the log
// ended at position before when this replica claimed the session again.
func (ow *owner) needsRewrite(before wire.Position) bool {
	switch {
	case ow == nil || before.Epoch > ow.held.lease.Epoch: // another replica has continued from what the store has
		return false
	case ow.committer.storeCopy == copyRewriting:
		return true
	}
	return !ow.committer.stepState.isBroken() && (ow.committer.storeCopy == copyLost || before.Compare(ow.w.top) < 0)
}

// hasFullState reports whether an owner has the whole committed state of the session.
func (ow *owner) hasFullState() bool {
	return ow != nil && ow.w.state != nil && !ow.committer.stepState.isBroken() && ow.deleteErr == nil
}

// recreate creates a session again that the store has lost, so that it can be claimed and
// rewritten. It fails with store.ErrNotFound if the session was deleted.
func (ls *liveSession) recreate(ctx context.Context, prev *owner) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := ls.env.store.Recreate(ctx, prev.held.lease, store.NewSession{ID: ls.id, User: prev.w.user, Card: prev.commands.card.encode()})
	switch {
	case errors.Is(err, store.ErrExists): // the answer of an earlier attempt may have been lost
		return nil
	case err != nil:
		return fmt.Errorf("create the lost session again: %w", err)
	}
	ls.log.WarnContext(ctx, "store lost a session, creating it again", "epoch", prev.held.lease.Epoch)
	return nil
}

// awaitsRecreation reports whether to wait for a session that the store does not have: it existed,
// it was not deleted, and its owner may write it again.
func (ls *liveSession) awaitsRecreation(ctx context.Context, err error) bool {
	if !errors.Is(err, store.ErrNotFound) || errors.Is(err, errOtherSession) || !ls.isReady() || ls.isUnused() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	deleted, err := ls.env.store.Deleted(ctx, ls.id, ls.center.Head().Epoch)
	if deleted || err != nil && !isStoreUnavailable(err) {
		return false
	}
	now := time.Now()
	if ls.missingSince.IsZero() {
		ls.missingSince = now
		ls.log.WarnContext(ctx, "store lost a session, waiting for its owner to write it again")
	}
	ls.storeHealth.set(ctx, issueClaim, store.ErrUnavailable)
	return now.Sub(ls.missingSince) < rewriteTimeout
}

// inheritState copies everything from the previous owner of this replica, whose writes the store
// has lost.
func (ow *owner) inheritState(prev *owner) error {
	ow.w.state, ow.commands.card, ow.commands.replies.ledger, ow.commands.questions.closed = prev.w.state, prev.commands.card, prev.commands.replies.ledger.clone(), prev.commands.questions.closed.clone()
	ow.w.user = prev.w.user // as of the card
	ow.commands.desktop.geometry, ow.w.archives = prev.commands.desktop.geometry, prev.w.archives.clone()
	ow.committer.items, ow.committer.committed, ow.committer.handled = prev.committer.items, prev.committer.committed, prev.committer.handled
	prev.committer.items = nil
	ow.committer.storeCopy.apply(copyRewriteStarts)
	ow.interrupted, ow.committer.unconfirmed = prev.interrupted, prev.committer.unconfirmed
	if prev.committer.storeCopy != copyRewriting && prev.w.step != nil {
		ow.interrupted = interruptedStep{ends: prev.w.step.turnEnds, answers: answerEvents(prev.w.step), consumed: prev.w.step.consumed}
	}
	ow.w.state.Apply(wire.Event{
		Session: ow.live.id, At: ow.w.top, Time: time.Now(),
		Data: wire.OwnerChanged{Replica: ow.held.lease.Replica, Epoch: ow.held.lease.Epoch, Prev: ow.held.lease.Prev},
	})
	ow.initDerived()
	ow.keyframes.events, ow.keyframes.bytes = prev.keyframes.events, prev.keyframes.bytes
	if prev.agents == nil {
		return nil
	}
	return ow.startAgents(prev.agents.storedForm())
}

// withFullText returns the final event of a turn with the turn's whole text, for tabs that may have
// missed a part. A text that is too long for the log is only in the conversation.
func withFullText(end wire.AgentResponse, said string) wire.AgentResponse {
	if end.Delta == "" && len(said) <= rewriteSnapshotBytes {
		end.Delta, end.Offset = said, 0
	}
	return end
}

// answerEvents returns the events of a step that answer commands.
func answerEvents(s *step) []wire.ServerPayload {
	var answers []wire.ServerPayload
	for _, e := range s.events {
		switch p := e.Data.(type) {
		case wire.Actions:
			if p.MessageID != "" {
				p.Actions = []wire.Action{} // the state has their effect
				answers = append(answers, p)
			}
		case wire.MessageAccepted, wire.MessageQueued, wire.MessageRejected, wire.MessageRepeated, wire.DialogClosed, wire.PromptClosed,
			wire.HITLClosed:
			answers = append(answers, p)
		case wire.HITLPaused, wire.HITLResumed, wire.PlanModified, wire.TodoUpdated, wire.TodoCompleted, wire.PlanFailure:
			// Their content is in the state, and may have changed since.
			if id := wire.MessageOf(p); id != "" {
				answers = append(answers, wire.MessageAccepted{MessageID: id, AgentID: planRole, How: wire.TakenDirect, Duplicate: true})
			}
		}
	}
	return answers
}

// rewrite writes the whole session again, under a new lease, because the store lost a part of it.
// Other replicas may have seen any amount of that part, so the log continues with the whole state,
// which brings all readers to the same state; the answers to the commands of the interrupted step
// follow.
//
// The next owner here starts an interrupted rewrite over. A rewrite deletes nothing before it is
// complete, so another replica that claims the session meanwhile finds everything that was there
// before.
func (ow *owner) rewrite(got loadedSession) error {
	ow.live.log.Warn("store lost acknowledged data, writing the session again", "log", ow.held.lease.Prev)
	rows, err := ow.repairArchives(got.tables)
	if err != nil {
		return err
	}
	away, err := ow.agents.repairLists(got.tables)
	if err != nil {
		return err
	}
	ops := ow.allOps(append(rows, away...), got.tables, got.lists)
	ow.w.step.card, ow.w.step.user = ow.commands.card.encode(), ow.w.user
	for _, portion := range splitOps(ops) {
		ow.w.step.ops = append(ow.w.step.ops, portion...)
		if _, err := ow.committer.persist(); err != nil {
			return err
		}
	}
	ow.live.center.Restart(ow.w.top)
	ow.w.advanceClock(time.Now())
	for _, p := range ow.interrupted.ends { // before the state, which overrides them
		e := ow.w.appendEvent(p)
		e.Data = nil // the state has it
		ow.w.state.Apply(e)
	}
	for _, p := range ow.stateEvents() {
		if ow.w.step.full() {
			events, err := ow.committer.persist()
			if err != nil {
				return err
			}
			ow.live.publishCommitted(events)
			ow.w.step.reuseEvents(events)
			ow.interrupted.ends = nil // a restarted rewrite need not repeat them
		}
		e := ow.w.appendEvent(p)
		e.Data = nil // the state has it
		ow.w.state.Apply(e)
	}
	for _, p := range ow.interrupted.answers {
		ow.w.Emit(p)
	}
	ow.w.step.consumed = append(ow.w.step.consumed, ow.interrupted.consumed...)
	ow.w.step.durable = true // it repeats acknowledgements
	events, err := ow.committer.persist()
	if err != nil {
		return err
	}
	ends := ow.interrupted.ends
	ow.committer.storeCopy.apply(copyRewritten)
	ow.interrupted = interruptedStep{}
	ow.committer.unconfirmed.relocate(ow.w.top)
	ow.committer.recordUnconfirmed(store.Receipt{Top: ow.w.top, Durable: ow.committer.lastBatchDurable}, ends)
	finishItems(ow.committer.publishStep(events))
	ow.w.step.reuseEvents(events)
	// The items of that step are done; those that were taken and not started are not.
	ow.live.mailbox.requeue(dropAgentWork(ow.committer.items[ow.committer.handled:]))
	ow.committer.items, ow.committer.committed, ow.committer.handled = nil, 0, 0
	return nil
}

// dropAgentWork drops the work of agents that ended with their owner.
func dropAgentWork(items []item) []item {
	return slices.DeleteFunc(items, func(it item) bool {
		if it.work != nil {
			it.finish(errLost)
		}
		return it.work != nil
	})
}

// splitOps splits ops into batches, in order. A list that is replaced stays in one batch, unless it
// is too long for one, so that no reader finds it empty.
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
			fits, free := 0, rewriteBytes-size
			for fits < len(op.Values) && items+1+fits < rewriteItems && len(op.Values[fits]) <= free {
				free -= len(op.Values[fits])
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

// replacesList reports whether an op begins the replacement of a list.
func replacesList(op store.Op) bool { return op.Kind == store.OpDrop || op.Kind == store.OpKeepFirst }

// opSize returns the number of values of an op, plus one, and their bytes.
func opSize(op store.Op) (items, size int) {
	for _, v := range op.Values {
		size += len(v)
	}
	return 1 + len(op.Values), size
}

// allOps returns ops plus the ops that make the store's tables and lists equal to the state of this
// owner. ops are those of the lists that are not loaded.
func (ow *owner) allOps(ops []store.Op, tables map[string]map[string][]byte, lists map[string][][]byte) []store.Op {
	for _, c := range ow.w.state.All() {
		ops = append(ops, opOf(c))
	}
	ops = append(ops, ow.commands.replies.ledger.all()...)
	ops = append(ops, ow.commands.questions.closed.all()...)
	ops = append(ops, ow.agents.allOps()...)
	ops = append(ops, ow.keyframes.countOp())
	ow.w.state.Changes() // discards them: All has them
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

// stateEvents returns the state as events: a snapshot, and what does not fit into it.
func (ow *owner) stateEvents() []wire.ServerPayload {
	// Entries that have expired by now must not be in the snapshot.
	ow.w.state.Apply(wire.Event{Session: ow.live.id, At: ow.w.nextPosition(), Time: ow.w.now.UTC().Truncate(time.Millisecond)})
	now := ow.w.state.Snapshot()
	now.Reason = wire.SnapshotUnknown
	now.HeartbeatMS = int(max(ow.live.center.Heartbeat(), time.Millisecond) / time.Millisecond)
	free := rewriteSnapshotBytes
	var rest []wire.ServerPayload
	fits := func(p wire.ServerPayload) bool {
		n := len(wire.AppendEvent(nil, wire.Event{Session: ow.live.id, Time: ow.w.now, Data: p}))
		if n > free {
			rest = append(rest, p)
			return false
		}
		free -= n
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

// repairArchives returns the ops that make the archives match what this owner knows, after the
// store has lost data. Rows that the store lost and that are older than the newest rows stay lost.
func (ow *owner) repairArchives(tables map[string]map[string][]byte) ([]store.Op, error) {
	var ops []store.Op
	for field := range tables[history.ArchiveTable] {
		if _, ok := ow.w.archives[wire.MonitorID(field)]; !ok {
			ops = append(ops, store.Drop(history.ArchiveList(wire.MonitorID(field))))
		}
	}
	for _, m := range slices.Sorted(maps.Keys(ow.w.archives)) {
		healing, err := ow.repairArchive(m)
		if err != nil {
			return nil, err
		}
		ops = append(append(ops, healing...), ow.w.archives[m].SaveOp())
	}
	return ops, nil
}

// repairArchive finds the valid part of an archive's list: it ends before the newest rows, contains
// nothing that was trimmed, and is no longer than the archive was, because what follows then had
// been removed by a rewind.
func (ow *owner) repairArchive(monitor wire.MonitorID) ([]store.Op, error) {
	a, newest := ow.w.archives[monitor], ow.w.state.Rows().On(monitor)
	find := func(ts wire.Millis) (int, error) {
		return ow.live.env.reader.findRow(ow.held.ctx, ow.live.id, a.List(), func(r wire.UIRow) int64 { return int64(r.TS - ts) })
	}
	before, since := a.Expected(newest)
	end := maxTime
	if len(newest) > 0 {
		end = newest[0].TS
	}
	to, err := find(end)
	if err != nil {
		return nil, err
	}
	from := 0
	if to > before {
		if from, err = find(since); err != nil {
			return nil, err
		}
	}
	return a.Repair(from, max(from, min(to, from+before)), newest), nil
}
