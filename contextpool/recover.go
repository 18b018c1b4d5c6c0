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
const cuts = 3

const unknownWork = "what it has done so far is not known well enough to go on"

// asksKept bounds the resumable turns that are remembered.
const asksKept = 20

// resumeAsk is a turn that was cut off and continues if the user wants.
type ask struct {
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
		p.keepAbout()
		p.step.Then(p.runner.Launch)
	}
	if p.relisted {
		p.relisted = false
		p.step.Keep(p.tasks.All()...)
	}
	if len(p.turns) > 0 {
		p.recall()
	}
	p.finishRows()
	p.cut = p.sorted()
	for _, t := range p.cut {
		p.unoffer(t)
	}
	return p.Tick()
}

// PrepareHandOver prepares the running turns for an orderly hand-over of the session, or for a
// rewrite of its log by the same owner. The turns continue afterwards, and the interruption
// does not count in Cut.
func (p *Pool) Park() {
	for _, t := range p.sorted() {
		t.pardon()
		p.keepTurn(t)
	}
}

// uncountCut makes up for the increment of Cut by the next owner.
func (t *turn) pardon() {
	if t.State == turnRunning && !t.delegating() {
		t.Cut--
	}
}

// restoreTexts restores the text and thinking of the turns from the desktop state. Turns that
// waited for tasks become accepted until recoverTurn has processed them.
func (p *Pool) recall() {
	agents := p.step.Desk().Snapshot().Agents
	for _, t := range p.turns {
		if t.State == turnWaiting {
			t.State = turnAccepted
		}
		i := slices.IndexFunc(agents, func(a wire.AgentState) bool { return a.Role == t.Role })
		if i < 0 {
			continue
		}
		t.text.Reset()
		t.text.WriteString(agents[i].Text)
		t.said, t.thought = units(agents[i].Text), units(agents[i].Thinking)
		t.thoughts.Reset()
		t.think(agents[i].Thinking[len(firstUnits(agents[i].Thinking, t.Mused)):])
	}
}

// recoverTurn restarts or ends a turn that a new owner finds. Parents are processed before
// their tasks.
func (p *Pool) resume(t *turn) {
	p.adopt(t)
	open := slices.IndexFunc(t.calls, func(c *call) bool { return !c.Ended && c.Child == "" })
	switch {
	case t.Stopping != "":
		p.endTasks(t)
		p.end(t, providers.Interrupted, t.Stopping)
	case t.Kind == wire.AgentTask && t.Job == nil && p.turns[t.Parent] == nil:
		p.end(t, providers.Interrupted, "the turn it works for has ended")
	case open >= 0:
		p.cutOff(t, mayHaveRun(t.calls[open].Tool))
	case t.Job != nil && t.Called > 0:
		t.unsure = unsureWork
		p.cutOff(t, unknownWork)
	case t.delegating() && t.Remembered:
		t.State = turnWaiting // a turn that only waits for tasks is not counted as cut off
		p.keepTurn(t)
	case t.State == turnRunning && t.Cut >= cuts-1:
		p.endTasks(t)
		p.end(t, providers.Failed, fmt.Sprintf("the turn was cut off %d times", cuts))
	case !t.Remembered && t.Called > 0:
		p.cutOff(t, unknownWork)
	default:
		if t.State == turnRunning { // a turn that waited for a slot did not cause the failure
			t.Cut++
		}
		p.rerun(t)
	}
}

// restartTurn runs a turn once more, from the end of its thread.
func (p *Pool) rerun(t *turn) {
	p.rewind(t)
	t.Attempt++
	if !p.runner.Has(t.Provider) {
		t.Provider = p.Provider()
	}
	t.State = turnAccepted
	p.keepTurn(t)
	p.start(t, nil)
}

// dropUnkeptText removes published text and thinking that is not in the thread: the next run
// produces it again.
func (p *Pool) rewind(t *turn) {
	if t.said > t.Kept {
		kept := firstUnits(t.text.String(), t.Kept)
		t.text.Reset()
		t.text.WriteString(kept)
		t.said = units(kept)
		p.step.Emit(wire.AgentResponse{Offset: t.said, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message()})
	}
	t.thoughts.Reset()
	t.Mused, t.unshown, t.mulled = 0, false, false
	if t.thought > 0 {
		t.thought = 0
		p.step.Emit(wire.AgentThinking{AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message()})
	}
}

// endUncertain ends a turn whose progress is unknown, and asks the user whether to continue it.
// For a task that is up to its parent.
func (p *Pool) cutOff(t *turn, reason string) {
	p.endTasks(t)
	p.end(t, providers.Interrupted, reason)
	if t.Kind == wire.AgentTask {
		return
	}
	p.step.Emit(wire.TurnInterrupted{
		MessageID: t.ID, AgentID: t.Role, Reason: reason, Resumable: true, MonitorID: t.Monitor,
	})
	a := &ask{
		Role: t.Role, ID: t.ID, Monitor: t.Monitor, Window: t.Window, Content: cut(t.prompt.Content, saidBytes), Reason: reason,
	}
	ts := p.step.Row(a.row())
	p.asks[ts] = a
	p.opens(t, ts, &question{OpenAsk: history.OpenAsk{Ask: wire.AskResumeTask}})
	p.step.Keep(store.Set(askTable, askField(ts), encode(a)))
	for _, old := range sortedKeys(p.asks)[:max(len(p.asks)-asksKept, 0)] {
		p.forgetAsk(old)
	}
}

func (a *ask) row() wire.UIRow {
	return wire.UIRow{
		Type: wire.RowAsk, Ask: wire.AskResumeTask, Text: "The turn was cut off: " + a.Reason + ". Go on?",
		MonitorID: a.Monitor, AgentID: a.Role, MessageID: a.ID,
	}
}

func askField(ts wire.Millis) string { return strconv.FormatInt(int64(ts), 10) }

func (p *Pool) forgetAsk(ts wire.Millis) {
	delete(p.asks, ts)
	p.closes(ts)
	p.step.Keep(store.Unset(askTable, askField(ts)))
}

// AnswerResume answers the question whether to continue a turn that was cut off, and reports
// whether the row asks that. With yes a new turn begins on the same thread, with the reason of
// the interruption and the user's text in its prompt.
func (p *Pool) Decide(ts wire.Millis, yes bool, text string) bool {
	a := p.asks[ts]
	if a == nil {
		return false
	}
	p.forgetAsk(ts)
	row, ok := p.step.Desk().Row(ts)
	if !ok {
		row = a.row()
	}
	row.TS, row.IsAnswered = ts, true
	p.step.Emit(wire.MessageUpdated{
		Action: wire.RowUpdated, Message: row, MonitorID: a.Monitor, AgentID: a.Role, MessageID: a.ID,
	})
	if yes {
		w := &waiting{Message: Message{
			ID: wire.MessageID("resume-" + askField(ts)), Monitor: a.Monitor, Window: a.Window, Text: a.told(text),
		}}
		if text != "" {
			p.show(&w.Message, text)
		}
		if a.Window == "" {
			p.route(w)
		} else {
			p.toWindow(w)
		}
	}
	p.settle()
	return true
}

// prompt returns the input of the turn that continues.
func (a *ask) told(text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work on this message was cut off: %s. Look first what was done, then go on with what is missing. The message:\n\n%s",
		a.Reason, policies.Content(a.Content))
	if text != "" {
		b.WriteString("\n\nThe user says now: " + text)
	}
	return b.String()
}
