package contextpool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// maxCuts is the number of times a running turn is cut off before it fails, counted from the
// last message that joined it: earlier interruptions do not count for a new message.
const maxCuts = 3

const unknownWork = "what it has done so far is not known well enough to go on"

// asksKept bounds the resumable turns that are remembered.
const asksKept = 20

// resumeAsk is a turn that was cut off and continues if the user wants.
type resumeAsk struct {
	Role    wire.AgentID   `json:"role"`
	ID      wire.MessageID `json:"id"`
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window,omitempty"`
	// Content is the message of the turn, Reason says why the turn was cut off.
	Content string `json:"content"`
	Reason  string `json:"reason"`
}

// Recover is called once by a new owner, inside a step. It restarts or ends the turns that were
// under way and starts queued messages. In a session that has never run it runs the launch
// hooks. If more remains than the step has room for, [Pool.Tick] continues, before anything
// else happens.
func (p *Pool) Recover() (more bool) {
	if !p.about.Launched {
		p.about.Launched = true
		p.storeState()
		p.step.AfterCommit(p.runner.Launch)
	}
	if p.tasksUnsaved {
		p.tasksUnsaved = false
		p.step.AddOps(p.tasks.All()...)
	}
	if len(p.turns) > 0 {
		p.restoreTexts()
	}
	p.finishOrphanRows()
	p.recovering = p.sortedTurns()
	for _, t := range p.recovering {
		p.withdrawOffers(t)
	}
	return p.Tick()
}

// PrepareHandOver prepares the running turns for an orderly hand-over of the session, or for a
// rewrite of its log by the same owner. The turns continue afterwards, and the interruption
// does not count in Cut.
func (p *Pool) PrepareHandOver() {
	for _, t := range p.sortedTurns() {
		t.uncountCut()
		p.storeTurn(t)
	}
}

// uncountCut compensates for the increment of Cut by the next owner.
func (t *turn) uncountCut() {
	if t.running() && !t.waitsForTasks() {
		t.Cut--
	}
}

// restoreTexts restores the text and thinking of the turns from the desktop state. Turns that
// waited for tasks become accepted until recoverTurn has processed them.
func (p *Pool) restoreTexts() {
	agents := p.state.Desktop().Snapshot().Agents
	for _, t := range p.turns {
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
func (p *Pool) recoverTurn(t *turn) {
	p.endOrphanCalls(t)
	open := slices.IndexFunc(t.calls, func(c *call) bool { return !c.Ended && c.Child == "" })
	switch {
	case t.stopping():
		p.endTasks(t)
		p.endTurn(t, providers.Interrupted, t.StopReason)
	case t.Kind == wire.AgentTask && t.Job == nil && p.turns[t.Parent] == nil:
		p.endTurn(t, providers.Interrupted, "the turn it works for has ended")
	case open >= 0:
		p.endUncertain(t, mayHaveRun(t.calls[open].Tool))
	case t.Job != nil && t.CallCount > 0:
		t.uncertain = unsureWork
		p.endUncertain(t, unknownWork)
	case t.waitsForTasks() && t.InThread:
		t.apply(tasksAwaited) // a turn that only waits for tasks is not counted as cut off
		p.storeTurn(t)
	case t.running() && t.Cut >= maxCuts-1:
		p.endTasks(t)
		p.endTurn(t, providers.Failed, fmt.Sprintf("the turn was cut off %d times", maxCuts))
	case !t.InThread && t.CallCount > 0:
		p.endUncertain(t, unknownWork)
	default:
		if t.running() { // a turn that waited for a slot did not cause the failure
			t.Cut++
		}
		p.restartTurn(t)
	}
}

// restartTurn runs a turn once more, from the end of its thread.
func (p *Pool) restartTurn(t *turn) {
	p.dropUnkeptText(t)
	t.Attempt++
	if !p.providers.HasProvider(t.Provider) {
		t.Provider = p.Provider()
	}
	t.apply(runRestarted)
	p.storeTurn(t)
	p.startRun(t, nil)
}

// dropUnkeptText removes published text that is not in the thread, which the next run produces
// again, and all published thinking.
func (p *Pool) dropUnkeptText(t *turn) {
	if t.textUnits > t.KeptUnits {
		kept := utf16Prefix(t.text.String(), t.KeptUnits)
		t.text.Reset()
		t.text.WriteString(kept)
		t.textUnits = utf16Len(kept)
		p.step.Emit(wire.AgentResponse{Offset: t.textUnits, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID()})
	}
	t.thinking.Reset()
	t.ThinkingKept, t.thinkingUnsaved, t.thinkingWritten = 0, false, false
	if t.thinkingUnits > 0 {
		t.thinkingUnits = 0
		p.step.Emit(wire.AgentThinking{AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID()})
	}
}

// endUncertain ends a turn whose progress is unknown, and asks the user whether to continue it.
// It does not ask about a task: the reason becomes the result for its parent or plan.
func (p *Pool) endUncertain(t *turn, reason string) {
	p.endTasks(t)
	p.endTurn(t, providers.Interrupted, reason)
	if t.Kind == wire.AgentTask {
		return
	}
	p.step.Emit(wire.TurnInterrupted{
		MessageID: t.ID, AgentID: t.Role, Reason: reason, Resumable: true, MonitorID: t.Monitor,
	})
	a := &resumeAsk{
		Role: t.Role, ID: t.ID, Monitor: t.Monitor, Window: t.Window, Content: truncate(t.prompt.Content, saidBytes), Reason: reason,
	}
	ts := p.rows.AddRow(a.row())
	p.resumeAsks[ts] = a
	p.openQuestion(t, ts, &question{OpenAsk: history.OpenAsk{Ask: wire.AskResumeTask}})
	p.step.AddOps(store.Set(askTable, askField(ts), encode(a)))
	for _, old := range sortedKeys(p.resumeAsks)[:max(len(p.resumeAsks)-asksKept, 0)] {
		p.deleteAsk(old)
	}
}

func (a *resumeAsk) row() wire.UIRow {
	return wire.UIRow{
		Type: wire.RowAsk, Ask: wire.AskResumeTask, Text: "The turn was cut off: " + a.Reason + ". Go on?",
		MonitorID: a.Monitor, AgentID: a.Role, MessageID: a.ID,
	}
}

func askField(ts wire.Millis) string { return strconv.FormatInt(int64(ts), 10) }

func (p *Pool) deleteAsk(ts wire.Millis) {
	delete(p.resumeAsks, ts)
	p.removeQuestion(ts)
	p.step.AddOps(store.Unset(askTable, askField(ts)))
}

// AnswerResume answers the question whether to continue a turn that was cut off, and reports
// whether the row asks that. With yes a new turn begins on the same thread, with the reason of
// the interruption and the user's text in its prompt.
func (p *Pool) AnswerResume(ts wire.Millis, yes bool, text string) bool {
	a := p.resumeAsks[ts]
	if a == nil {
		return false
	}
	p.deleteAsk(ts)
	row, ok := p.state.Desktop().Rows().Row(ts)
	if !ok {
		row = a.row()
	}
	row.TS, row.IsAnswered = ts, true
	p.step.Emit(wire.MessageUpdated{
		Action: wire.RowUpdated, Message: row, MonitorID: a.Monitor, AgentID: a.Role, MessageID: a.ID,
	})
	if yes {
		w := &queuedMessage{Message: Message{
			ID: wire.MessageID("resume-" + askField(ts)), Monitor: a.Monitor, Window: a.Window, Text: a.prompt(text),
		}}
		if text != "" {
			p.addMessageRow(&w.Message, text)
		}
		if a.Window == "" {
			p.route(w)
		} else {
			p.routeWindowMessage(w)
		}
	}
	p.advance()
	return true
}

// prompt returns the input of the turn that continues.
func (a *resumeAsk) prompt(text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work on this message was cut off: %s. Look first what was done, then go on with what is missing. The message:\n\n%s",
		a.Reason, policies.Content(a.Content))
	if text != "" {
		b.WriteString("\n\nThe user says now: " + text)
	}
	return b.String()
}
