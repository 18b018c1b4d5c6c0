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

// summaryBytes is how much of what a task agent says at the end its parent reads.
const summaryBytes = 32 << 10

// Delegate runs a task agent for a turn, on a copy of its conversation. done is
// called, after the step is committed, when the task has ended or cannot begin.
func (p *Pool) Delegate(c tools.Caller, task tools.Task, done func(tools.TaskResult)) {
	fail := func(outcome providers.Outcome, why string) {
		p.stage.Then(func() {
			done(tools.TaskResult{Status: outcome, Actions: []tools.TaskAction{}, Error: why})
		})
	}
	parent := p.of(c)
	switch {
	case parent == nil || parent.Stopping != "":
		fail(providers.Interrupted, "the turn is over")
		return
	case parent.Kind == wire.AgentTask:
		fail(providers.Failed, "no recursion: a task agent has no task agents")
		return
	}
	var slot *agentpool.Slot
	if len(p.turns) < maxTurns {
		slot = p.crew.TryReserve()
	}
	if slot == nil {
		fail(providers.Failed, "agent limit reached")
		return
	}
	parent.Tasks++
	p.keepTurn(parent)
	t := &turn{
		Kind: wire.AgentTask, ID: parent.ID, Monitor: parent.Monitor, Profile: cmp.Or(task.Profile, tools.ProfileDefault),
		Guest: parent.Guest, Parent: parent.key(), Row: parent.Row, done: done,
	}
	p.enter(t, fmt.Sprintf("task-%s-%d", parent.ID, parent.Tasks))
	t.Provider = parent.Provider
	p.see(t, &waiting{Message: Message{Text: task.Objective}})
	t.prompt.set(taskPrompt(task))
	p.launch(t, slot)
	p.settle()
}

// taskPrompt is what a task agent is told.
func taskPrompt(task tools.Task) string {
	var b strings.Builder
	b.WriteString("You are a task agent: a copy of the conversation so far that works on one thing alone.\n")
	b.WriteString("Do this, then say in a few sentences what you did and found:\n\n")
	b.WriteString(policies.Content(task.Objective))
	if task.Hint != "" {
		b.WriteString("\n\nHint: " + policies.Content(task.Hint))
	}
	return b.String()
}

// tasksOf are the tasks of a turn.
func (p *Pool) tasksOf(t *turn) []*turn {
	var tasks []*turn
	for _, o := range p.sorted() {
		if o.Kind == wire.AgentTask && o.Parent == t.key() {
			tasks = append(tasks, o)
		}
	}
	return tasks
}

// result is what came of a task.
func (t *turn) result(outcome providers.Outcome, text, reason string) tools.TaskResult {
	r := tools.TaskResult{Status: outcome, Summary: cut(text, summaryBytes), Actions: []tools.TaskAction{}}
	if outcome != providers.Completed {
		r.Error = reason
	}
	for _, a := range t.deeds {
		r.Actions = append(r.Actions, taskAction(a))
	}
	return r
}

// taskAction is what the parent reads of an action.
func taskAction(action wire.Action) tools.TaskAction {
	data := actionFormat().Append(nil, &action)
	var head struct {
		Type     string        `json:"type"`
		WindowID wire.WindowID `json:"windowId"`
		Title    string        `json:"title"`
	}
	if err := jsonInto(data, &head); err != nil {
		return tools.TaskAction{Type: "unknown"}
	}
	return tools.TaskAction{Type: head.Type, WindowID: head.WindowID, Title: head.Title}
}
