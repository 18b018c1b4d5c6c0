package contextpool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// recovery restarts or ends the turns that a new owner finds, and ends those whose end the store has
// lost.
type recovery struct {
	*services
	turns      *turnSet
	threads    *threadSet
	transcript *transcript
	groups     *windowGroups
	tasks      *taskList
	queues     *queues
	calls      *toolCalls
	starter    *turnStarter
	ender      *turnEnder
	actions    *turnActions

	pending []*turn // turns that are not recovered yet
}

// maxCuts is the number of times a running turn is cut off before it fails, counted from the
// last message that joined it: earlier interruptions do not count for a new message.
const maxCuts = 3

const unknownWork = "what it has done so far is not known well enough to go on"

// uncountCut compensates for the increment of Cut by the next owner.
func (t *turn) uncountCut() {
	if t.running() && !t.waitsForTasks() {
		t.Cut--
	}
}

// restoreTexts restores the text and thinking of the turns from the desktop state. Turns that
// waited for tasks become accepted until recoverTurn has processed them.
func (rc *recovery) restoreTexts() {
	agents := rc.state.Desktop().Snapshot().Agents
	for _, t := range rc.turns.byKey {
		t.apply(ownerChanged)
		i := slices.IndexFunc(agents, func(a wire.AgentState) bool { return a.Role == t.Role })
		if i < 0 {
			continue
		}
		t.text.Reset()
		t.text.WriteString(agents[i].Text)
		t.textUnits, t.thinkingUnits = utf16Len(agents[i].Text), utf16Len(agents[i].Thinking)
		t.thinking.Reset()
		t.bufferThinking(agents[i].Thinking[len(utf16Prefix(agents[i].Thinking, t.ThinkingKept)):])
	}
}

// recoverTurn restarts or ends a turn that a new owner finds. Parents are processed before
// their tasks.
func (rc *recovery) recoverTurn(t *turn) {
	rc.calls.endOrphans(t)
	open := slices.IndexFunc(t.calls, func(c *call) bool { return !c.Ended && c.Child == "" })
	switch {
	case t.Client != nil: // it is never executed again, because its program may have called again
		rc.ender.endTasks(t)
		rc.ender.end(t, providers.Interrupted, cmp.Or(t.StopReason, "the hub that executed it has ended"))
	case t.isTitling() && rc.turns.titleRunsUsed(t):
		rc.ender.end(t, providers.Interrupted, "the hub that executed it has ended")
	case t.stopping():
		rc.ender.endTasks(t)
		rc.ender.end(t, providers.Interrupted, t.StopReason)
	case t.Kind == wire.AgentTask && t.Job == nil && !t.isTitling() && rc.turns.byKey[t.Parent] == nil:
		rc.ender.end(t, providers.Interrupted, "the turn it works for has ended")
	case open >= 0:
		rc.ender.endUncertain(t, mayHaveRun(t.calls[open].Tool))
	case t.Job != nil && t.CallCount > 0:
		t.uncertain = unsureWork
		rc.ender.endUncertain(t, unknownWork)
	case t.waitsForTasks() && t.InThread:
		t.apply(tasksAwaited) // a turn that only waits for tasks is not counted as cut off
		rc.turns.store(t)
	case t.running() && t.Cut >= maxCuts-1:
		rc.ender.endTasks(t)
		rc.ender.end(t, providers.Failed, fmt.Sprintf("the turn was cut off %d times", maxCuts))
	case !t.InThread && t.CallCount > 0:
		rc.ender.endUncertain(t, unknownWork)
	default:
		if t.running() { // a turn that waited for a slot did not cause the failure
			t.Cut++
		}
		rc.starter.restart(t)
	}
}

// begin selects all turns for recoverTurns. Their runs have ended, so offers to them are withdrawn.
func (rc *recovery) begin() {
	rc.pending = rc.turns.sorted()
	for _, t := range rc.pending {
		rc.queues.withdrawOffers(t)
	}
}

// recoverTurns recovers the selected turns and reports whether more remain than the step has room
// for.
func (rc *recovery) recoverTurns() (more bool) {
	for ; len(rc.pending) > 0; rc.pending = rc.pending[1:] {
		if rc.step.Full() {
			return true
		}
		if t := rc.pending[0]; rc.turns.byKey[t.key()] == t { // otherwise the turn ended together with its parent
			rc.recoverTurn(t)
		}
	}
	return false
}
