package contextpool

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// HandleReport applies a report of the session runner. It ignores reports of runs that are no
// longer under way.
func (p *Pool) HandleReport(r agentpool.Report) {
	var t *turn
	for _, o := range p.turns {
		if o.runID() == r.RunID() {
			t = o
		}
	}
	if t == nil {
		return
	}
	switch r := r.(type) {
	case agentpool.Began:
		p.runBegan(t)
	case agentpool.Output:
		if t.outputHidden() {
			t.appendHiddenText(r.Text)
			return
		}
		p.emitText(t, r.Text, r.Thinking)
	case agentpool.SteerAccepted:
		p.steerAccepted(t, r.Message)
	case agentpool.SteerRefused:
		if !r.Ending { // otherwise the run is about to end and the message begins the next turn
			p.steerRefused(t, r.Message)
		}
	case agentpool.NewEntries:
		p.storeEntries(t, r)
	case agentpool.ModelUsage:
		p.recordUsage(t, r.Usage)
	case agentpool.InputTruncated:
		p.addTruncationRow(t, r.Truncation)
	case agentpool.Retrying:
		why := fmt.Sprintf("%s; trying again in %v", truncate(r.Why, reasonBytes), r.Wait.Round(100*time.Millisecond))
		p.rows.AddRow(t.row(wire.SayAPIReqRetryDelayed, why))
	case agentpool.Ended:
		p.runEnded(t, r)
	}
	p.advance()
}

// FailOversized is called before [Pool.Recover], in the same step, after the previous owner
// closed the session because a batch was too large to be stored. If who is a run or an agent,
// its turn fails, because a restart would produce the same batch. For the other turns the
// interruption does not count as a cut.
func (p *Pool) FailOversized(who string) {
	p.restoreTexts()
	for _, t := range p.sortedTurns() {
		if t.uncountCut(); t.runID() == who || string(t.Role) == who {
			p.endTurn(t, providers.Failed, "what the agent said or did at once is too large to be kept")
		}
	}
}

func (p *Pool) runBegan(t *turn) {
	if _, ok := t.apply(runBegan); !ok {
		return
	}
	p.taskStarted(t)
	p.storeTurn(t)
	if t.Kind == wire.AgentWindow && t.Condensing == nil {
		p.emitWindowAgent(t, wire.AgentActive)
	}
}

// emitText publishes thinking of an agent, and text as far as the monitor's budget allows; it stops
// the turn if the budget is used up. Thinking does not count against the budget.
func (p *Pool) emitText(t *turn, text, thinking string) {
	if thinking = truncation.Bytes(sanitize(thinking), max(desktop.MaxAgentText-t.thinkingUnits, 0)); thinking != "" {
		p.step.Emit(wire.AgentThinking{
			Delta: thinking, Offset: t.thinkingUnits, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
		})
		t.thinkingUnits += utf16Len(thinking)
		t.bufferThinking(thinking)
	}
	text = truncation.Bytes(sanitize(text), max(desktop.MaxAgentText-t.text.Len(), 0))
	if text == "" {
		return
	}
	if !t.thinkingWritten {
		p.updateThinkingRow(t, thinkingBytes)
	}
	v := p.budget.Output(t.Monitor, p.step.Now(), len(text))
	if t.Monitor != policies.PrimaryMonitor {
		p.storeBudget(t.Monitor)
	}
	if text = truncation.Bytes(text, v.Granted); text != "" {
		p.step.Emit(wire.AgentResponse{
			Delta: text, Offset: t.textUnits, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
		})
		t.text.WriteString(text)
		t.textUnits += utf16Len(text)
	}
	if !v.Allowed {
		p.stopOverBudget(t, v)
	}
}

// stopOverBudget stops a turn whose monitor has used up its budget, and reports that to the
// user and to the main agent.
func (p *Pool) stopOverBudget(t *turn, v policies.Verdict) {
	if t.stopping() {
		return
	}
	reason := fmt.Sprintf("%s is over its budget of %s", t.Monitor, budgetName(v.Kind))
	p.stopTurn(t, reason)
	p.step.Emit(wire.AgentError{
		Error: reason, Code: wire.CodeBudgetExceeded, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
	})
	p.step.AddOps(p.timeline(t.Monitor).PushBudget(fmt.Sprintf("The turn %s was interrupted: %s.", t.Role, reason))...)
}

// budgetName returns the limited quantity in words.
func budgetName(kind wire.BudgetKind) string {
	switch kind {
	case wire.BudgetActions:
		return "actions per minute"
	case wire.BudgetOutput:
		return "output per minute"
	default:
		return "turns at the same time"
	}
}

// storeEntries appends the entries that a run reports to the thread of a lasting agent. The
// entries contain the text up to now and tool results, so the pool no longer stores those results
// separately.
func (p *Pool) storeEntries(t *turn, r agentpool.NewEntries) {
	for _, id := range r.Took {
		p.steerAccepted(t, id) // in this step: otherwise the message would be answered twice after a restart
	}
	for _, e := range r.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolResult {
				p.deleteCall(t, b.Call)
			}
		}
	}
	if !t.Lasting {
		return
	}
	h := p.threadOf(t)
	if h.Provider == "" || h.Provider != t.Provider || r.Thread != "" && r.Thread != h.ID {
		h.Provider, h.ID = t.Provider, r.Thread
		p.storeThread(h)
	}
	before := p.appendEntries(t, h, r.Entries)
	if len(r.Entries) > 0 {
		p.commitThinking(t)
		t.InThread, t.KeptUnits = true, t.textUnits
		if before > 0 || hasToolCalls(r.Entries) {
			p.addTextRow(t, before)
		}
		p.storeTurn(t)
	}
}

// runEnded handles the end of a run: it retries a turn whose input was too long, or ends the turn.
func (p *Pool) runEnded(t *turn, r agentpool.Ended) {
	if p.retryTruncated(t, r) {
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
	p.endTurn(t, r.Outcome, reason)
	if r.Outcome == providers.Failed && r.Failure != nil && r.Failure.Passing() {
		p.totals.LastFailure = wire.CodeProviderUnavailable
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

// endTurn ends a turn: it emits and stores everything about the end in this step.
func (p *Pool) endTurn(t *turn, outcome providers.Outcome, reason string) {
	if t.Condensing != nil {
		p.endCondense(t, outcome, reason)
		return
	}
	if _, ok := t.apply(turnOver); !ok {
		return
	}
	for _, task := range p.tasksOf(t) {
		p.stopTurn(task, "the turn it works for has ended")
	}
	delete(p.turns, t.key())
	p.budget.Release(t.key())
	p.releaseLocks(t)
	p.ends.CancelQuestions(t.Role)
	text := t.text.String()
	p.emitTurnEnd(t, t.textWithoutRow(), outcome, reason)
	if !t.rewound {
		p.recordOnTape(t, policies.SpeakerAssistant, text, p.rows.NextRowID()-1)
	}
	if t.Kind != wire.AgentMain && !t.thinkingOnly() {
		p.step.AddOps(p.timeline(t.Monitor).PushAI(t.Role, t.actions)...)
	}
	p.totals.addTurn(outcome, t.Usage)
	if t.thinkingOnly() {
		text = "" // the text is for the plan only
	}
	p.taskEnded(t, outcome, text)
	if outcome == providers.Completed {
		p.recordReload(t)
	}
	p.closeOpenCalls(t)
	p.recordThreadSize(t)
	p.deleteTurn(t)
	p.withdrawOffers(t)
	if t.Kind == wire.AgentWindow {
		p.emitWindowAgent(t, wire.AgentReleased)
	}
	if t.DisposeAgent && t.Lasting {
		p.deleteThread(t.Agent)
		p.step.AfterCommit(func() { p.runner.Dispose(t.Agent) })
	} else {
		p.disposeIfStale(t)
	}
	switch {
	case t.Job != nil:
		p.reportJob(t, outcome, reason)
	case t.Kind == wire.AgentTask:
		p.returnTaskResult(t, t.taskResult(outcome, text, reason))
	}
}

// disposeIfStale closes the agent's provider session if the thread has changed without it, so
// that the next turn begins with the current thread.
func (p *Pool) disposeIfStale(t *turn) {
	if h := p.threads[t.Agent]; t.Lasting && h != nil && h.stale {
		h.stale = false
		p.step.AfterCommit(func() { p.runner.Dispose(t.Agent) })
	}
}

// emitTurnEnd adds the last rows of a turn and the events that end its messages.
func (p *Pool) emitTurnEnd(t *turn, text string, outcome providers.Outcome, reason string) {
	say, thoughts := wire.SayText, thinkingBytes
	if t.Kind == wire.AgentTask {
		say = wire.SaySubtaskResult
	}
	if p.step.Full() {
		text, thoughts = truncate(text, shortTextBytes), shortTextBytes // many turns end in this step
	}
	if t.rewound {
		t.thinkingUnsaved = false
		if _, left := p.state.Desktop().Rows().Row(t.ThinkingRow); !left {
			t.ThinkingRow = 0 // the rewind removed it
		}
	}
	p.finishThinkingRow(t, thoughts)
	if !t.rowRemoved {
		p.addOpenCallRows(t)
	}
	if strings.TrimSpace(text) != "" && !t.rewound && !t.thinkingOnly() {
		p.rows.AddRow(t.row(say, text))
	}
	if outcome == providers.Failed && !t.thinkingOnly() { // a failed job is reported by its plan
		p.rows.AddRow(t.row(wire.SayError, reason))
	}
	end := p.turnEndEvent(t, outcome, reason)
	if !t.rowRemoved {
		p.addEndRow(t, end)
	}
	p.step.Emit(end)
	joined := wire.AgentResponse{
		IsComplete: true, Outcome: end.Outcome, Reason: reason, AgentID: t.Role, MonitorID: t.Monitor, Joined: t.ID,
	}
	for _, joined.MessageID = range t.joinedMessages() {
		p.step.Emit(joined)
	}
}

// turnEndEvent returns the event that ends a turn.
func (p *Pool) turnEndEvent(t *turn, outcome providers.Outcome, reason string) wire.AgentResponse {
	end := wire.AgentResponse{
		IsComplete: true, Outcome: wire.Outcome(outcome), Reason: reason, Offset: t.textUnits,
		AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
		DurationMS: int(max(p.step.Now().UnixMilli()-int64(t.Started), 0)),
	}
	end.Usage = wireUsage(t.Usage)
	return end
}

// wireUsage converts usage for the wire; zero usage is nil.
func wireUsage(u providers.Usage) *wire.Usage {
	if u == (providers.Usage{}) {
		return nil
	}
	return &wire.Usage{
		InputTokens: max(u.Input, 0), OutputTokens: max(u.Output, 0),
		CacheReadTokens: max(u.CacheRead, 0), CacheWriteTokens: max(u.CacheWrite, 0), CostUSD: max(u.USD, 0),
	}
}

// releaseLocks unlocks the windows that a turn has locked.
func (p *Pool) releaseLocks(t *turn) {
	var actions []wire.Action
	for _, w := range p.state.Desktop().Windows(t.Monitor) {
		if w.Lock == t.Role {
			actions = append(actions, wire.WindowUnlock{WindowID: w.WindowID, AgentID: t.Role})
		}
	}
	if len(actions) > 0 {
		p.step.Emit(wire.Actions{Actions: actions, AgentID: t.Role, MonitorID: t.Monitor})
	}
}

// recordReload adds the actions of a completed turn to the reload cache, if all of them are
// stored. Actions of tasks are not repeated.
func (p *Pool) recordReload(t *turn) {
	if len(t.actions) == 0 || len(t.actions) < t.ActionCount || t.Kind == wire.AgentTask {
		return
	}
	var required []wire.WindowID
	if t.Kind == wire.AgentWindow {
		required = append(required, t.Window)
	}
	entry, evicted := p.reload.Record(p.step.Now(), t.trigger(), t.actions, required)
	for _, id := range evicted {
		p.step.AddOps(store.Unset(reloadTable, id))
	}
	if entry.ID != "" {
		p.storeReload(entry.ID)
	}
}

// closeOpenCalls adds results for the tool calls that a turn leaves without a result in its
// thread. No backend accepts a thread with open calls.
func (p *Pool) closeOpenCalls(t *turn) {
	h := p.threads[t.Agent]
	if !t.InThread || !h.hasMessages() {
		return
	}
	open := openCalls(h.messages)
	if len(open) == 0 {
		return
	}
	results := providers.Entry{Role: providers.RoleUser, Turn: string(t.ID)}
	for _, b := range open {
		r := providers.ToolResult{Text: "The turn was interrupted before this tool was used.", IsError: true}
		if i := slices.IndexFunc(t.calls, func(c *call) bool { return shortCallID(c.ID) == b.Call }); i >= 0 {
			if r = t.calls[i].Result; !t.calls[i].Ended {
				r = providers.ToolResult{Text: mayHaveRun(t.calls[i].Tool), IsError: true}
			}
		}
		results.Blocks = append(results.Blocks, providers.Block{
			Kind: providers.BlockToolResult, Call: b.Call, Tool: b.Tool, Text: r.Text, Images: r.Images, IsError: r.IsError,
		})
	}
	p.appendMessages(h, history.Message{Entry: results, Row: p.rows.NextRowID()})
}

func mayHaveRun(tool string) string { return fmt.Sprintf("tool %s may or may not have run", tool) }
