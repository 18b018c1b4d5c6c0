package contextpool

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// turnEnder stops and ends turns. The end of a task continues its parent.
type turnEnder struct {
	*services
	budget     *monitorBudget
	turns      *turnSet
	threads    *threadSet
	turnRows   *turnRows
	transcript *transcript
	reloads    *reloads
	groups     *windowGroups
	outside    *outsideData
	questions  *Questions
	tasks      *taskList
	queues     *queues
	calls      *toolCalls
	starter    *turnStarter
}

// stop ends a turn, with its tasks, as soon as its run can be interrupted.
func (e *turnEnder) stop(t *turn, reason string) {
	change, ok := t.apply(stopRequested)
	if !ok {
		return
	}
	t.StopReason = cmp.Or(reason, turnInterrupted)
	e.turns.store(t)
	if run := t.runID(); change.interruptRun {
		e.step.AfterCommit(func() { e.runner.Interrupt(run, reason) })
	}
	for _, task := range e.turns.tasksOf(t) {
		e.stop(task, "the turn it works for was interrupted")
	}
}

// endNow ends a turn without waiting for its run. The caller disposes of the agent.
func (e *turnEnder) endNow(t *turn, reason string) {
	t.abort(reason)
	for _, task := range e.turns.tasksOf(t) {
		e.endNow(task, reason)
	}
	if e.turns.byKey[t.key()] == t {
		e.end(t, providers.Interrupted, reason)
	}
}

// endUncertain ends a turn whose progress is unknown, and asks the user whether to continue it.
// It does not ask about a task: the reason becomes the result for its parent or plan.
func (e *turnEnder) endUncertain(t *turn, reason string) {
	e.endTasks(t)
	e.end(t, providers.Interrupted, reason)
	if t.Kind == wire.AgentTask {
		return
	}
	e.step.Emit(wire.TurnInterrupted{
		MessageID: t.ID, AgentID: t.Role, Reason: reason, Resumable: true, MonitorID: t.Monitor,
	})
	e.questions.askResume(t, reason)
}

// stopOverBudget stops a turn whose monitor has used up its budget, and reports that to the
// user and to the main agent.
func (e *turnEnder) stopOverBudget(t *turn, v policies.Verdict) {
	if t.stopping() {
		return
	}
	reason := fmt.Sprintf("%s is over its budget of %s", t.Monitor, budgetName(v.Kind))
	e.stop(t, reason)
	e.step.Emit(wire.AgentError{
		Error: reason, Code: wire.CodeBudgetExceeded, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
	})
	e.step.AddOps(e.transcript.timeline(t.Monitor).PushBudget(fmt.Sprintf("The turn %s was interrupted: %s.", t.Role, reason))...)
}

// runEnded handles the end of a run: it retries a turn whose input was too long, or ends the turn.
func (e *turnEnder) runEnded(t *turn, r agentpool.Ended) {
	if e.starter.retryTruncated(t, r) {
		return
	}
	reason := r.Reason
	switch {
	case r.Outcome == providers.Failed && r.Failure != nil:
		reason = truncate(r.Failure.Error(), reasonBytes)
	case r.Outcome == providers.Interrupted && t.stopping():
		reason = t.StopReason
	case r.Outcome == providers.Interrupted && reason == "":
		reason = turnInterrupted
	}
	if r.Failure != nil {
		t.failureClass = r.Failure.Class
	}
	t.result = r.Result
	e.end(t, r.Outcome, reason)
	if r.Outcome == providers.Failed && r.Failure != nil && r.Failure.Passing() && !t.isTitling() {
		e.tasks.totals.LastFailure = wire.CodeProviderUnavailable
	}
}

// reasonBytes bounds the reason of a failed turn. shortTextBytes bounds the text and thinking
// shown of a turn when many turns end in one step and the step is full.
const (
	reasonBytes    = 1000
	shortTextBytes = 4 << 10
)

// turnInterrupted is the reason of an interrupted turn for which there is no other.
const turnInterrupted = "the turn was interrupted"

// end ends a turn: it emits and stores everything about the end in this step.
func (e *turnEnder) end(t *turn, outcome providers.Outcome, reason string) {
	if t.Condensing != nil {
		e.endCondense(t, outcome, reason)
		return
	}
	if t.isTitling() {
		e.endTitle(t, outcome, reason)
		return
	}
	if _, ok := t.apply(endReached); !ok {
		return
	}
	for _, task := range e.turns.tasksOf(t) {
		e.stop(task, "the turn it works for has ended")
	}
	delete(e.turns.byKey, t.key())
	e.budget.release(t)
	e.releaseLocks(t)
	e.ends.CancelQuestions(t.Role)
	text := t.text.String()
	e.emitTurnEnd(t, t.textWithoutRow(), outcome, reason)
	if !t.rewound {
		e.transcript.record(t, policies.SpeakerAssistant, text, e.rows.NextRowID()-1)
	}
	if t.Kind != wire.AgentMain && !t.thinkingOnly() {
		e.step.AddOps(e.transcript.timeline(t.Monitor).PushAI(t.Role, t.actions)...)
	}
	e.tasks.totals.addTurn(outcome, t.Usage)
	if t.thinkingOnly() {
		text = "" // the text is for the plan only
	}
	e.tasks.turnEnded(t, outcome, text)
	if outcome == providers.Completed {
		e.turns.recordAnswer(t, text)
	}
	if outcome == providers.Completed && t.Client == nil {
		e.reloads.recordTurn(t, e.outside.byMonitor[t.Monitor])
	}
	e.threads.closeOpenCalls(t)
	e.threads.recordSize(t)
	e.turns.delete(t)
	e.queues.withdrawOffers(t)
	if t.Kind == wire.AgentWindow {
		e.groups.emitAgent(t, wire.AgentReleased)
	}
	if t.DisposeAgent && t.Lasting {
		e.threads.delete(t.Agent)
		e.disposeAgent(t.Agent)
	} else {
		e.threads.disposeIfStale(t)
	}
	switch {
	case t.Client != nil:
		e.ends.ClientCallEnded(*t.Client, t.clientResult(outcome, reason))
	case t.Job != nil:
		e.reportJob(t, outcome, reason)
	case t.Kind == wire.AgentTask:
		e.returnTaskResult(t, t.taskResult(outcome, text, reason))
	}
}

// emitTurnEnd adds the last rows of a turn and the events that end its messages.
func (e *turnEnder) emitTurnEnd(t *turn, text string, outcome providers.Outcome, reason string) {
	say, thoughts := wire.SayText, thinkingBytes
	if t.Kind == wire.AgentTask {
		say = wire.SaySubtaskResult
	}
	if e.step.Full() {
		text, thoughts = truncate(text, shortTextBytes), shortTextBytes // many turns end in this step
	}
	if t.rewound {
		t.thinkingUnsaved = false
		if _, left := e.state.Desktop().Rows().Row(t.ThinkingRow); !left {
			t.ThinkingRow = 0 // the rewind removed it
		}
	}
	e.turnRows.finishThinkingRow(t, thoughts)
	if !t.rowRemoved {
		e.turnRows.addOpenCallRows(t)
	}
	if strings.TrimSpace(text) != "" && !t.rewound && !t.thinkingOnly() {
		e.rows.AddRow(e.threads.turnRow(t, say, text))
	}
	if outcome == providers.Failed && !t.thinkingOnly() { // a failed job is reported by its plan
		e.rows.AddRow(e.threads.turnRow(t, wire.SayError, reason))
	}
	end := e.turnEndEvent(t, outcome, reason)
	if !t.rowRemoved && t.Client == nil {
		e.turnRows.addEndRow(t, end)
	}
	e.step.Emit(end)
	joined := wire.AgentResponse{
		IsComplete: true, Outcome: end.Outcome, Reason: reason, AgentID: t.Role, MonitorID: t.Monitor, Joined: t.ID,
	}
	for _, joined.MessageID = range t.joinedMessages() {
		e.step.Emit(joined)
	}
}

// turnEndEvent returns the event that ends a turn.
func (e *turnEnder) turnEndEvent(t *turn, outcome providers.Outcome, reason string) wire.AgentResponse {
	end := wire.AgentResponse{
		IsComplete: true, Outcome: wire.Outcome(outcome), Reason: reason, Offset: t.textUnits,
		AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
		DurationMS: int(max(e.step.Now().UnixMilli()-int64(t.Started), 0)),
	}
	end.Usage = wireUsage(t.Usage)
	return end
}

// releaseLocks unlocks the windows that a turn has locked.
func (e *turnEnder) releaseLocks(t *turn) {
	var actions []wire.Action
	for _, w := range e.state.Desktop().Windows(t.Monitor) {
		if w.Lock == t.Role {
			actions = append(actions, wire.WindowUnlock{WindowID: w.WindowID, AgentID: t.Role})
		}
	}
	if len(actions) > 0 {
		e.step.Emit(wire.Actions{Actions: actions, AgentID: t.Role, MonitorID: t.Monitor})
	}
}

// returnTaskResult ends the call that waits for a task, and restarts the parent if it has no
// run and waits for no other task.
func (e *turnEnder) returnTaskResult(t *turn, result tools.TaskResult) {
	r := result.Result()
	if t.onResult != nil {
		e.step.AfterCommit(func() { t.onResult(r) })
	}
	parent := e.turns.byKey[t.Parent]
	if parent == nil {
		return
	}
	e.tasks.taskReturned(parent, t, result)
	for _, c := range parent.calls {
		if c.Child == t.key() && !c.Ended {
			e.calls.finish(parent, c.toolCall(), r)
			break
		}
	}
	if parent.parked() && !parent.waitsForTasks() {
		if parent.stopping() {
			e.end(parent, providers.Interrupted, parent.StopReason)
			return
		}
		e.starter.restart(parent)
	}
}

// endTasks ends the tasks of a turn that was cut off and does not continue.
func (e *turnEnder) endTasks(t *turn) {
	for _, task := range e.turns.tasksOf(t) {
		e.end(task, providers.Interrupted, cmp.Or(task.StopReason, "the turn it works for was cut off"))
	}
}
