package contextpool

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// summaryBytes bounds the final text of a task agent that its parent reads.
const summaryBytes = 32 << 10

// delegate implements [TurnTools.Delegate].
func (s *turnStarter) delegate(c tools.Caller, task tools.Task, done func(providers.ToolResult)) {
	fail := func(outcome providers.Outcome, why string) {
		s.step.AfterCommit(func() { done(tools.TaskResult{Status: outcome, Error: why}.Result()) })
	}
	parent := s.turns.ofCaller(c)
	switch {
	case parent == nil || parent.stopping():
		fail(providers.Interrupted, "the turn is over")
		return
	case parent.Kind == wire.AgentTask:
		fail(providers.Failed, "no recursion: a task agent has no task agents")
		return
	}
	if known := parent.findCall(task.Call.ID); known != nil {
		s.joinTaskCall(known, done)
		return
	}
	var slot *agentpool.Slot
	if len(s.turns.byKey) < maxTurns {
		slot = s.runner.TryReserve()
	}
	if slot == nil {
		fail(providers.Failed, "agent limit reached")
		return
	}
	parent.Tasks++
	t := &turn{
		Kind: wire.AgentTask, ID: parent.ID, Monitor: parent.Monitor, Profile: cmp.Or(task.Profile, tools.ProfileDefault),
		User: parent.User, Guest: parent.Guest, Parent: parent.key(), Row: parent.Row, onResult: done,
	}
	s.register(t, fmt.Sprintf("task-%s-%d", parent.ID, parent.Tasks))
	if s.turns.isProviderChosen() || s.turns.modelOf(t.prompt.Mode) != "" || s.providers.DefaultProvider(profiles.RoleTask) == "" {
		t.Provider = parent.Provider
	}
	s.calls.add(parent, &call{ID: task.Call.ID, Tool: task.Call.Tool, Input: rowInput(task.Call.Input, rowBytes), Child: t.key()})
	s.fillPrompt(t, &queuedMessage{Message: Message{Text: task.Objective, Viewer: parent.Viewer}})
	t.prompt.setText(taskPrompt(task))
	s.launch(t, slot)
}

// joinTaskCall handles a repeated call: there is one task for it, and one result.
func (s *turnStarter) joinTaskCall(c *call, done func(providers.ToolResult)) {
	child := s.turns.byKey[c.Child]
	if c.Ended || child == nil {
		result := c.Result
		s.step.AfterCommit(func() { done(result) })
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
