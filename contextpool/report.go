package contextpool

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// HandleReport takes a report of the session runner. Those of runs that are no longer under way
// come too late.
func (p *Pool) HandleReport(r agentpool.Report) {
	var t *turn
	for _, o := range p.turns {
		if o.run() == r.RunID() {
			t = o
		}
	}
	if t == nil {
		return
	}
	switch r := r.(type) {
	case agentpool.Began:
		p.began(t)
	case agentpool.Said:
		if t.unseen() {
			t.sum(r.Text)
			return
		}
		p.say(t, r.Text, r.Thinking)
	case agentpool.SteerAccepted:
		p.took(t, r.Message)
	case agentpool.SteerRefused:
		if !r.Ending { // else the agent is free in a moment
			p.spurned(t, r.Message)
		}
	case agentpool.Remember:
		p.remember(t, r)
	case agentpool.Spent:
		p.charge(t, r.Usage)
	case agentpool.Shrunk:
		p.rowShrunk(t, r.Shrunk)
	case agentpool.Retrying:
		why := fmt.Sprintf("%s; trying again in %v", cut(r.Why, reasonBytes), r.Wait.Round(100*time.Millisecond))
		p.step.Row(t.row(wire.SayAPIReqRetryDelayed, why))
	case agentpool.Ended:
		p.ended(t, r)
	}
	p.settle()
}

// Excuse is called before [Pool.Recover], in the same step, when the owner before
// gave up because what somebody wanted was too large to be kept. If that was a run
// or an agent it fails, for it would want the same again; that the others were cut
// off is not held against them.
func (p *Pool) Excuse(who string) {
	p.recall()
	for _, t := range p.sorted() {
		if t.pardon(); t.run() == who || string(t.Role) == who {
			p.end(t, providers.Failed, "what the agent said or did at once is too large to be kept")
		}
	}
}

func (p *Pool) began(t *turn) {
	if t.State == turnRunning {
		return
	}
	t.State = turnRunning
	p.taskStarted(t)
	p.keepTurn(t)
	if t.Kind == wire.AgentWindow && t.Condensing == nil {
		p.showWindowAgent(t, wire.AgentActive)
	}
}

// say shows what an agent said and thought, as far as the budget allows.
func (p *Pool) say(t *turn, text, thinking string) {
	if thinking = wholeRunes(mended(thinking), max(desktop.MaxAgentText-t.thought, 0)); thinking != "" {
		p.step.Emit(wire.AgentThinking{
			Delta: thinking, Offset: t.thought, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message(),
		})
		t.thought += units(thinking)
		t.think(thinking)
	}
	text = wholeRunes(mended(text), max(desktop.MaxAgentText-t.text.Len(), 0))
	if text == "" {
		return
	}
	if !t.mulled {
		p.rowThoughts(t, thinkingBytes)
	}
	v := p.budget.Output(t.Monitor, p.step.Now(), len(text))
	if t.Monitor != policies.PrimaryMonitor {
		p.keepBudget(t.Monitor)
	}
	if text = wholeRunes(text, v.Granted); text != "" {
		p.step.Emit(wire.AgentResponse{
			Delta: text, Offset: t.said, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message(),
		})
		t.text.WriteString(text)
		t.said += units(text)
	}
	if !v.Allowed {
		p.overBudget(t, v)
	}
}

// overBudget stops a turn whose monitor has used up its budget, and says so to
// everybody concerned.
func (p *Pool) overBudget(t *turn, v policies.Verdict) {
	if t.Stopping != "" {
		return
	}
	reason := fmt.Sprintf("%s is over its budget of %s", t.Monitor, budgetName(v.Kind))
	p.stop(t, reason)
	p.step.Emit(wire.AgentError{
		Error: reason, Code: wire.CodeBudgetExceeded, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message(),
	})
	p.step.Keep(p.timeline(t.Monitor).PushBudget(fmt.Sprintf("The turn %s was interrupted: %s.", t.Role, reason))...)
}

// budgetName says what is limited.
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

// remember keeps what the conversation has become. What was said until now is in
// it, and so are results of tools.
func (p *Pool) remember(t *turn, r agentpool.Remember) {
	for _, id := range r.Took {
		p.took(t, id) // in this very step, lest it is done once more
	}
	for _, e := range r.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolResult {
				p.forgetCall(t, b.Call)
			}
		}
	}
	if !t.Lasting {
		return
	}
	h := p.threadOf(t)
	if h.Provider == "" || h.Provider != t.Provider || r.Thread != "" && r.Thread != h.ID {
		h.Provider, h.ID = t.Provider, r.Thread
		p.keepThread(h)
	}
	before := p.learn(t, h, r.Entries)
	if len(r.Entries) > 0 {
		p.mused(t)
		t.Remembered, t.Kept = true, t.said
		if before > 0 || calls(r.Entries) {
			p.rowText(t, before)
		}
		p.keepTurn(t)
	}
}

// ended ends a turn whose run has.
func (p *Pool) ended(t *turn, r agentpool.Ended) {
	if p.goOnShorter(t, r) {
		return
	}
	reason := r.Reason
	switch {
	case r.Outcome == providers.Failed && r.Failure != nil:
		reason = cut(r.Failure.Error(), reasonBytes)
	case r.Outcome == providers.Interrupted && t.Stopping != "":
		reason = t.Stopping
	case r.Outcome == providers.Interrupted && reason == "":
		reason = "the turn was interrupted"
	}
	if r.Failure != nil {
		t.failure = r.Failure.Class
	}
	p.end(t, r.Outcome, reason)
	if r.Outcome == providers.Failed && r.Failure != nil && r.Failure.Passing() {
		p.tally.LastFailure = wire.CodeProviderUnavailable
	}
}

// reasonBytes is how much is said of why a turn failed, and lastBytes how much
// people see of what it said when so many end together that a step is full.
const (
	reasonBytes = 1000
	lastBytes   = 4 << 10
)

// end ends a turn, once and for all: everything that is to be said and kept of it
// is in this step.
func (p *Pool) end(t *turn, outcome providers.Outcome, reason string) {
	if t.Condensing != nil {
		p.condensed(t, outcome, reason)
		return
	}
	for _, task := range p.tasksOf(t) {
		p.stop(task, "the turn it works for has ended")
	}
	delete(p.turns, t.key())
	p.budget.Release(t.key())
	p.unlock(t)
	p.step.Cancel(t.Role)
	text := t.text.String()
	p.lastWords(t, t.untold(), outcome, reason)
	if !t.rewound {
		p.record(t, policies.SpeakerAssistant, text, p.step.NextRow()-1)
	}
	if t.Kind != wire.AgentMain && !t.thinks() {
		p.step.Keep(p.timeline(t.Monitor).PushAI(t.Role, t.actions)...)
	}
	p.tally.ended(outcome, t.Usage)
	if t.thinks() {
		text = "" // nobody is to read it
	}
	p.taskEnded(t, outcome, text)
	if outcome == providers.Completed {
		p.recordReload(t)
	}
	p.mend(t)
	p.weigh(t)
	p.forgetTurn(t)
	p.unoffer(t)
	if t.Kind == wire.AgentWindow {
		p.showWindowAgent(t, wire.AgentReleased)
	}
	if t.Doomed && t.Lasting {
		p.forgetThread(t.Agent)
		p.step.Then(func() { p.runner.Dispose(t.Agent) })
	} else {
		p.refresh(t)
	}
	switch {
	case t.Job != nil:
		p.worked(t, outcome, reason)
	case t.Kind == wire.AgentTask:
		p.handBack(t, t.result(outcome, text, reason))
	}
}

// refresh has the next turn of an agent begin with what its thread has become.
func (p *Pool) refresh(t *turn) {
	if h := p.threads[t.Agent]; t.Lasting && h != nil && h.stale {
		h.stale = false
		p.step.Then(func() { p.runner.Dispose(t.Agent) })
	}
}

// lastWords shows people what a turn said last and how it ended.
func (p *Pool) lastWords(t *turn, text string, outcome providers.Outcome, reason string) {
	say, thoughts := wire.SayText, thinkingBytes
	if t.Kind == wire.AgentTask {
		say = wire.SaySubtaskResult
	}
	if p.step.Full() {
		text, thoughts = cut(text, lastBytes), lastBytes // many end at once
	}
	if t.rewound {
		t.unshown = false
		if _, left := p.step.Desk().Row(t.Thoughts); !left {
			t.Thoughts = 0 // it was taken back
		}
	}
	p.endThoughts(t, thoughts)
	if !t.undone {
		p.rowOpen(t)
	}
	if strings.TrimSpace(text) != "" && !t.rewound && !t.thinks() {
		p.step.Row(t.row(say, text))
	}
	if outcome == providers.Failed && !t.thinks() { // else the plan says so
		p.step.Row(t.row(wire.SayError, reason))
	}
	end := p.lastWord(t, outcome, reason)
	if !t.undone {
		p.rowEnd(t, end)
	}
	p.step.Emit(end)
	joined := wire.AgentResponse{
		IsComplete: true, Outcome: end.Outcome, Reason: reason, AgentID: t.Role, MonitorID: t.Monitor, Joined: t.ID,
	}
	for _, joined.MessageID = range t.joined() {
		p.step.Emit(joined)
	}
}

// lastWord is the event that says how a turn ended.
func (p *Pool) lastWord(t *turn, outcome providers.Outcome, reason string) wire.AgentResponse {
	end := wire.AgentResponse{
		IsComplete: true, Outcome: wire.Outcome(outcome), Reason: reason, Offset: t.said,
		AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message(),
		DurationMS: int(max(p.step.Now().UnixMilli()-int64(t.Started), 0)),
	}
	end.Usage = wireUsage(t.Usage)
	return end
}

// wireUsage is what people are told of what something took, if it took anything.
func wireUsage(u providers.Usage) *wire.Usage {
	if u == (providers.Usage{}) {
		return nil
	}
	return &wire.Usage{
		InputTokens: max(u.Input, 0), OutputTokens: max(u.Output, 0),
		CacheReadTokens: max(u.CacheRead, 0), CacheWriteTokens: max(u.CacheWrite, 0), CostUSD: max(u.USD, 0),
	}
}

// unlock takes away the locks that a turn leaves.
func (p *Pool) unlock(t *turn) {
	var actions []wire.Action
	for _, w := range p.step.Desk().Windows(t.Monitor) {
		if w.Lock == t.Role {
			actions = append(actions, wire.WindowUnlock{WindowID: w.WindowID, AgentID: t.Role})
		}
	}
	if len(actions) > 0 {
		p.step.Emit(wire.Actions{Actions: actions, AgentID: t.Role, MonitorID: t.Monitor})
	}
}

// recordReload remembers what was done, for when something similar is asked.
func (p *Pool) recordReload(t *turn) {
	if len(t.actions) == 0 || len(t.actions) < t.Done || t.Kind == wire.AgentTask {
		return
	}
	var required []wire.WindowID
	if t.Kind == wire.AgentWindow {
		required = append(required, t.Window)
	}
	entry, evicted := p.reload.Record(p.step.Now(), t.trigger(), t.actions, required)
	for _, id := range evicted {
		p.step.Keep(store.Unset(reloadTable, id))
	}
	if entry.ID != "" {
		p.keepReload(entry.ID)
	}
}

// mend ends what a turn left open in its conversation: calls of tools without a
// result. No backend goes on with such a conversation.
func (p *Pool) mend(t *turn) {
	h := p.threads[t.Agent]
	if !t.Remembered || !h.hasEntries() {
		return
	}
	open := openCalls(h.messages)
	if len(open) == 0 {
		return
	}
	results := providers.Entry{Role: providers.RoleUser, Turn: string(t.ID)}
	for _, b := range open {
		r := providers.ToolResult{Text: "The turn was interrupted before this tool was used.", IsError: true}
		if i := slices.IndexFunc(t.calls, func(c *call) bool { return shortCall(c.ID) == b.Call }); i >= 0 {
			if r = t.calls[i].Result; !t.calls[i].Ended {
				r = providers.ToolResult{Text: mayHaveRun(t.calls[i].Tool), IsError: true}
			}
		}
		results.Blocks = append(results.Blocks, providers.Block{
			Kind: providers.BlockToolResult, Call: b.Call, Tool: b.Tool, Text: r.Text, Images: r.Images, IsError: r.IsError,
		})
	}
	p.extend(h, history.Message{Entry: results, Row: p.step.NextRow()})
}

func mayHaveRun(tool string) string { return fmt.Sprintf("tool %s may or may not have run", tool) }
