package contextpool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// summaryBytes bounds the final text of a task agent that its parent reads.
const summaryBytes = 32 << 10

// Delegate starts a task of a turn with an agent of its own, on a copy of the turn's thread.
// The step that creates the task also stores that the call waits for it, so that the call gets
// a result even after a failure of the owner. done is called after the step is committed in
// which the task has ended or was refused.
func (p *Pool) Delegate(c tools.Caller, task tools.Task, done func(providers.ToolResult)) {
	fail := func(outcome providers.Outcome, why string) {
		p.step.AfterCommit(func() { done(tools.TaskResult{Status: outcome, Error: why}.Result()) })
	}
	parent := p.callerTurn(c)
	switch {
	case parent == nil || parent.stopping():
		fail(providers.Interrupted, "the turn is over")
		return
	case parent.Kind == wire.AgentTask:
		fail(providers.Failed, "no recursion: a task agent has no task agents")
		return
	}
	if known := parent.findCall(task.Call.ID); known != nil {
		p.joinTaskCall(known, done)
		return
	}
	var slot *agentpool.Slot
	if len(p.turns) < maxTurns {
		slot = p.runner.TryReserve()
	}
	if slot == nil {
		fail(providers.Failed, "agent limit reached")
		return
	}
	parent.Tasks++
	t := &turn{
		Kind: wire.AgentTask, ID: parent.ID, Monitor: parent.Monitor, Profile: cmp.Or(task.Profile, tools.ProfileDefault),
		Guest: parent.Guest, Parent: parent.key(), Row: parent.Row, onResult: done,
	}
	p.registerTurn(t, fmt.Sprintf("task-%s-%d", parent.ID, parent.Tasks))
	t.Provider = parent.Provider
	p.addCall(parent, &call{ID: task.Call.ID, Tool: task.Call.Tool, Input: rowInput(task.Call.Input, rowBytes), Child: t.key()})
	p.fillPrompt(t, &queuedMessage{Message: Message{Text: task.Objective}})
	t.prompt.setText(taskPrompt(task))
	p.launchTurn(t, slot)
	p.advance()
}

// joinTaskCall handles a repeated call: there is one task for it, and one result.
func (p *Pool) joinTaskCall(c *call, done func(providers.ToolResult)) {
	child := p.turns[c.Child]
	if c.Ended || child == nil {
		result := c.Result
		p.step.AfterCommit(func() { done(result) })
		return
	}
	before := child.onResult
	child.onResult = func(r providers.ToolResult) {
		if before != nil {
			before(r)
		}
		done(r)
	}
}

// returnTaskResult ends the call that waits for a task, and restarts the parent if it has no
// run and waits for no other task.
func (p *Pool) returnTaskResult(t *turn, result tools.TaskResult) {
	r := result.Result()
	if t.onResult != nil {
		p.step.AfterCommit(func() { t.onResult(r) })
	}
	parent := p.turns[t.Parent]
	if parent == nil {
		return
	}
	p.taskReturned(parent, t, result)
	for _, c := range parent.calls {
		if c.Child == t.key() && !c.Ended {
			p.finishToolCall(parent, c.toolCall(), r)
			break
		}
	}
	if parent.waiting() && !parent.waitsForTasks() {
		if parent.stopping() {
			p.endTurn(parent, providers.Interrupted, parent.StopReason)
			return
		}
		p.restartTurn(parent)
	}
}

// toolCall returns the call as far as it is stored.
func (c *call) toolCall() tools.Call {
	return tools.Call{ToolCall: providers.ToolCall{ID: c.ID, Input: c.Input}, Tool: c.Tool}
}

// waitsForTasks reports whether tasks are all that the turn waits for.
func (t *turn) waitsForTasks() bool {
	tasks := 0
	for _, c := range t.calls {
		if !c.Ended {
			if c.Child == "" {
				return false
			}
			tasks++
		}
	}
	return tasks > 0
}

// endTasks ends the tasks of a turn that was cut off and does not continue.
func (p *Pool) endTasks(t *turn) {
	for _, task := range p.tasksOf(t) {
		p.endTurn(task, providers.Interrupted, cmp.Or(task.StopReason, "the turn it works for was cut off"))
	}
}

// endOrphanCalls ends the calls that wait for a task which does not exist, because the store
// has lost it.
func (p *Pool) endOrphanCalls(t *turn) {
	for _, c := range slices.Clone(t.calls) {
		if c.Child != "" && !c.Ended && p.turns[c.Child] == nil {
			p.finishToolCall(t, c.toolCall(), tools.TaskResult{
				Status: providers.Interrupted, Error: "nobody knows what became of the task",
			}.Result())
		}
	}
}

// taskPrompt returns the input of a task agent.
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

// tasksOf returns the tasks of a turn under way.
func (p *Pool) tasksOf(t *turn) []*turn {
	var tasks []*turn
	for _, o := range p.sortedTurns() {
		if o.Kind == wire.AgentTask && o.Parent == t.key() {
			tasks = append(tasks, o)
		}
	}
	return tasks
}

// taskResult returns the result of a task.
func (t *turn) taskResult(outcome providers.Outcome, text, reason string) tools.TaskResult {
	r := tools.TaskResult{Status: outcome, Summary: truncate(text, summaryBytes), Actions: []tools.TaskAction{}}
	if outcome != providers.Completed {
		r.Error = reason
	}
	for _, a := range t.actions {
		r.Actions = append(r.Actions, taskAction(a))
	}
	return r
}

// taskAction summarises an action for the parent.
func taskAction(action wire.Action) tools.TaskAction {
	data := actionFormat().Append(nil, &action)
	var head struct {
		Type     string        `json:"type"`
		WindowID wire.WindowID `json:"windowId"`
		Title    string        `json:"title"`
	}
	if err := unmarshal(data, &head); err != nil {
		return tools.TaskAction{Type: "unknown"}
	}
	return tools.TaskAction{Type: head.Type, WindowID: head.WindowID, Title: head.Title}
}
