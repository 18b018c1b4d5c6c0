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

// cuts is how often a turn is cut off before it is given up, counted from when a
// message joined it last: a message is not given up for what happened before it came.
const cuts = 3

const unknownWork = "what it has done so far is not known well enough to go on"

// asksKept is how many turns that could go on are remembered.
const asksKept = 20

// ask is a turn that was cut off and could go on, if the user wants.
type ask struct {
	Role    wire.AgentID   `json:"role"`
	ID      wire.MessageID `json:"id"`
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window,omitempty"`
	// Content is what the turn was about, Reason why it was cut off.
	Content string `json:"content"`
	Reason  string `json:"reason"`
}

// Recover is called once by a new owner, inside a step: it says what becomes of
// the turns that were under way, and goes on with the queues. On a session that
// has never run it does what is wanted when a desktop begins. If there is more to
// do than the step has room for, [Pool.Tick] goes on with it, before anything else
// happens.
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

// Park prepares the running turns for an orderly hand-over of the session, or for a rewrite
// of its log by the same owner. The turns continue afterwards, and the interruption does
// not count as one of their attempts.
func (p *Pool) Park() {
	for _, t := range p.sorted() {
		t.pardon()
		p.keepTurn(t)
	}
}

// pardon sees to it that the next owner does not hold it against the turn that it
// was cut off.
func (t *turn) pardon() {
	if t.State == turnRunning && !t.delegating() {
		t.Cut--
	}
}

// recall takes from the desktop what the turns have said so far. None goes on
// before it was looked at.
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

// resume says what becomes of a turn that a new owner finds. Those that gave tasks
// to others come before these.
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
		t.State = turnWaiting // that it was cut off is not its fault
		p.keepTurn(t)
	case t.State == turnRunning && t.Cut >= cuts-1:
		p.endTasks(t)
		p.end(t, providers.Failed, fmt.Sprintf("the turn was cut off %d times", cuts))
	case !t.Remembered && t.Called > 0:
		p.cutOff(t, unknownWork)
	default:
		if t.State == turnRunning { // one that only waited has broken nothing
			t.Cut++
		}
		p.rerun(t)
	}
}

// rerun runs a turn once more, from where its conversation is.
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

// rewind takes back what was said and is not in the conversation: it will be said
// again.
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

// cutOff ends a turn of which nobody knows how far it came, and asks whether it
// is to go on. Of a task that is up to the turn it works for.
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

// Decide answers the question whether a turn that was cut off goes on, and
// reports whether the row asks that. If so, a new turn begins on the same
// conversation, which is told what happened and what the user says to it.
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

// told is what an agent is told about the turn that it is to go on with.
func (a *ask) told(text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work on this message was cut off: %s. Look first what was done, then go on with what is missing. The message:\n\n%s",
		a.Reason, policies.Content(a.Content))
	if text != "" {
		b.WriteString("\n\nThe user says now: " + text)
	}
	return b.String()
}
