package contextpool

import (
	"fmt"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// reports applies the reports of runs to their turns.
type reports struct {
	*services
	budget   *monitorBudget
	turns    *turnSet
	threads  *threadSet
	turnRows *turnRows
	groups   *windowGroups
	outside  *outsideData
	tasks    *taskList
	queues   *queues
	ender    *turnEnder
	router   *router
}

// apply applies a report to the turn of its run, and reports whether turns or queues may
// have changed.
func (rs *reports) apply(r agentpool.Report) bool {
	var t *turn
	for _, o := range rs.turns.byKey {
		if o.runID() == r.RunID() {
			t = o
		}
	}
	if t == nil {
		return false
	}
	switch r := r.(type) {
	case agentpool.Began:
		rs.runBegan(t)
	case agentpool.Output:
		if t.outputHidden() {
			t.appendHiddenText(r.Text)
			return t.isTitling() && rs.ender.stopLongTitle(t)
		}
		rs.emitText(t, r.Text, r.Thinking)
	case agentpool.SteerAccepted:
		rs.queues.steerAccepted(t, r.Message)
	case agentpool.SteerRefused:
		if !r.Ending { // otherwise the run is about to end and the message begins the next turn
			rs.router.steerRefused(t, r.Message)
		}
	case agentpool.NewEntries:
		rs.storeEntries(t, r)
	case agentpool.ModelUsage:
		rs.tasks.recordUsage(t, r.Usage)
	case agentpool.InputTruncated:
		rs.turnRows.addTruncationRow(t, r.Truncation)
	case agentpool.FilesFull:
		rs.rows.AddRow(rs.threads.turnRow(t, wire.SayError, "Programs of agents have written more files than this desktop may have. "+
			"Nothing can be uploaded until some are deleted: "+truncate(r.Why, reasonBytes)+"."))
	case agentpool.Retrying:
		if t.isTitling() { // users do not see this turn
			rs.ender.titleRetried(t)
			break
		}
		why := truncate(r.Why, reasonBytes)
		if r.Wait > 0 {
			why += fmt.Sprintf("; trying again in %v", r.Wait.Round(100*time.Millisecond))
		}
		rs.rows.AddRow(rs.threads.turnRow(t, wire.SayAPIReqRetryDelayed, why))
	case agentpool.Ended:
		rs.ender.runEnded(t, r)
	}
	return true
}

// runBegan handles the beginning of a run.
func (rs *reports) runBegan(t *turn) {
	if _, ok := t.apply(runBegan); !ok {
		return
	}
	rs.tasks.turnStarted(t)
	rs.turns.store(t)
	if t.isTitling() {
		rs.turns.countTitleRun()
	}
	if t.Kind == wire.AgentWindow && t.Condensing == nil {
		rs.groups.emitAgent(t, wire.AgentActive)
	}
}

// emitText publishes thinking of an agent, and text as far as the monitor's budget allows; it stops
// the turn if the budget is used up. Thinking does not count against the budget.
func (rs *reports) emitText(t *turn, text, thinking string) {
	if thinking = truncation.Bytes(sanitize(thinking), max(desktop.MaxAgentText-t.thinkingUnits, 0)); thinking != "" {
		rs.step.Emit(wire.AgentThinking{
			Delta: thinking, Offset: t.thinkingUnits, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
		})
		t.thinkingUnits += utf16Len(thinking)
		t.bufferThinking(thinking)
	}
	text = truncation.Bytes(t.inParagraph(sanitize(text)), max(desktop.MaxAgentText-t.text.Len(), 0))
	if text == "" {
		return
	}
	if !t.thinkingWritten {
		rs.turnRows.updateThinkingRow(t, thinkingBytes)
	}
	v := rs.budget.spendOutput(t.Monitor, len(text))
	if text = truncation.Bytes(text, v.Granted); text != "" {
		rs.step.Emit(wire.AgentResponse{
			Delta: text, Offset: t.textUnits, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
		})
		t.text.WriteString(text)
		t.textUnits += utf16Len(text)
	}
	if !v.Allowed {
		rs.ender.stopOverBudget(t, v)
	}
}

// storeEntries appends the entries that a run reports to the thread of the turn's agent, unless the agent
// exists for this turn only. The entries contain the text up to now and tool results, so the pool no longer
// stores those results separately.
func (rs *reports) storeEntries(t *turn, r agentpool.NewEntries) {
	for _, id := range r.Messages {
		rs.queues.steerAccepted(t, id) // in this step: otherwise the message would be answered twice after a restart
	}
	rs.outside.addCalls(t.Monitor, r.Entries)
	for _, e := range r.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolResult {
				rs.turns.deleteCall(t, b.Call)
			}
		}
	}
	if !t.Lasting {
		return
	}
	th := rs.threads.threadOf(t)
	if th.Provider == "" || th.Provider != t.Provider || r.Thread != "" && r.Thread != th.ID {
		th.Provider, th.ID = t.Provider, r.Thread
		rs.threads.store(th)
	}
	rs.threads.appendEntries(t, th, r.Entries)
	if len(r.Entries) > 0 {
		rs.turnRows.commitThinking(t)
		t.InThread, t.ThreadUnits = true, t.textUnits
		rs.turnRows.addTextRow(t, th)
		rs.turns.store(t)
	}
}
