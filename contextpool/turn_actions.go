package contextpool

import (
	"fmt"
	"reflect"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// turnActions applies the actions of turns to the desktop.
type turnActions struct {
	*services
	budget     *monitorBudget
	turns      *turnSet
	threads    *threadSet
	transcript *transcript
	reloads    *reloads
	groups     *windowGroups
	outside    *outsideData
	queues     *queues
	calls      *toolCalls
	ender      *turnEnder
}

// executePlan applies all actions of a tool's plan or none of them, and returns the tool
// result. The error is ErrTurnOver.
func (ta *turnActions) executePlan(c tools.Caller, call tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	t := ta.turns.ofCaller(c)
	if t == nil || t.stopping() {
		return providers.ToolResult{}, ErrTurnOver
	}
	if known := t.findCall(call.ID); known != nil && known.Ended {
		return known.Result, nil
	}
	t.toolUsed = true
	ta.calls.emitProgress(t, call, wire.ToolRunning, "")
	wanted := plan(ta.state.Desktop())
	r := wanted.Result
	if refused := ta.apply(t, wanted.Actions); refused != nil {
		r = providers.ToolResult{Text: refused.Reason, IsError: true}
	}
	ta.calls.finish(t, call, r)
	return r, nil
}

// apply applies all actions of a turn, or none and returns the reason.
func (ta *turnActions) apply(t *turn, actions []wire.Action) *desktop.Refusal {
	if len(actions) == 0 {
		return nil
	}
	stamped := make([]wire.Action, len(actions))
	for i, a := range actions {
		stamped[i] = withAgentID(a, t.Role)
	}
	if refused := ta.state.Desktop().CheckAll(t.Monitor, stamped); refused != nil {
		return refused
	}
	v := ta.budget.spendActions(t.Monitor, len(stamped))
	if !v.Allowed {
		ta.ender.stopOverBudget(t, v)
		return &desktop.Refusal{Code: wire.CodeBudgetExceeded, Reason: fmt.Sprintf(
			"Nothing was done: %s is over its budget of %s. The turn ends now.", t.Monitor, budgetName(v.Kind))}
	}
	closing := ta.groups.closedKeys(t.Monitor, stamped)
	ta.step.Emit(wire.Actions{Actions: stamped, AgentID: t.Role, MonitorID: t.Monitor})
	for i, a := range stamped {
		ta.calls.recordAction(t, a)
		switch a := a.(type) {
		case wire.WindowCreate:
			ta.groups.connect(t, policies.Key{Monitor: t.Monitor, Window: a.WindowID})
		case wire.WindowClose:
			ta.removeWindow(closing[i], t)
		}
	}
	return nil
}

// withAgentID returns a copy of an action with its AgentID field, if it has one, set.
func withAgentID(a wire.Action, agent wire.AgentID) wire.Action {
	from := reflect.Indirect(reflect.ValueOf(a))
	v := reflect.New(from.Type()).Elem()
	v.Set(from)
	if f := v.FieldByName("AgentID"); f.IsValid() {
		f.SetString(string(agent))
	}
	stamped, ok := reflect.TypeAssert[wire.Action](v)
	if !ok {
		return a
	}
	return stamped
}

// reloadEntry repeats the actions of a reload cache entry, and shows a toast with which the user
// can report that it did not work.
func (ta *turnActions) reloadEntry(c tools.Caller, call tools.Call, id string) (providers.ToolResult, error) {
	t := ta.turns.ofCaller(c)
	if t == nil || t.stopping() {
		return providers.ToolResult{}, ErrTurnOver
	}
	if known := t.findCall(call.ID); known != nil && known.Ended {
		return known.Result, nil
	}
	t.toolUsed = true
	ta.calls.emitProgress(t, call, wire.ToolRunning, "")
	r := ta.reloadActions(t, id)
	ta.calls.finish(t, call, r)
	return r, nil
}

func (ta *turnActions) reloadActions(t *turn, id string) providers.ToolResult {
	entry, ok := ta.reloads.cache.Get(ta.step.Now(), id)
	if !ok {
		return providers.ToolResult{Text: fmt.Sprintf("There is nothing to do again with the id %q.", id), IsError: true}
	}
	for i, a := range entry.Actions {
		entry.Actions[i] = withoutRequestID(a)
	}
	ta.outside.add(t.Monitor, entry.Outside...) // windows show again what the agent had read
	refused := ta.apply(t, entry.Actions)
	ta.reloads.cache.Used(ta.step.Now(), id, refused == nil)
	ta.reloads.store(id)
	if refused != nil {
		return providers.ToolResult{Text: refused.Reason, IsError: true}
	}
	ta.step.Emit(wire.Actions{AgentID: t.Role, MonitorID: t.Monitor, Actions: []wire.Action{withAgentID(wire.ToastShow{Toast: wire.Toast{
		ID: wire.NoticeID("reload-feedback-" + id), Message: "Done again: " + entry.Label, Variant: wire.NoticeInfo,
		Action: &wire.ToastButton{Label: "Didn't work?", EventID: id}, Duration: 8000,
	}}, t.Role)}})
	return providers.ToolResult{Text: fmt.Sprintf("Did %d actions again: %s.", len(entry.Actions), entry.Label)}
}

// withoutRequestID returns a copy of an action without its RequestID, so that no tab answers
// it.
func withoutRequestID(a wire.Action) wire.Action {
	v := reflect.New(reflect.TypeOf(a)).Elem()
	v.Set(reflect.ValueOf(a))
	if f := v.FieldByName("RequestID"); f.IsValid() {
		f.SetString("")
	}
	plain, ok := reflect.TypeAssert[wire.Action](v)
	if !ok {
		return a
	}
	return plain
}

// removeWindow deletes the state of a closed window, and ends its agent if no other window
// shares it. The turn that closed the window, if any, continues.
func (ta *turnActions) removeWindow(k policies.Key, by *turn) {
	_, ops := ta.transcript.tape.PruneWindow(k.Monitor, k.Window)
	ta.step.AddOps(ops...)
	ta.reloads.dropWindow(k.Window)
	end := ta.groups.close(k)
	if !end.Last {
		return
	}
	const reason = "the window was closed"
	agent := windowAgent(k.Monitor, end.Group)
	ta.queues.rejectRemoved(ta.queues.dequeue(func(w *queuedMessage) bool { return w.Window != "" && w.Agent == agent }), reason)
	for _, t := range ta.turns.sorted() {
		if t.Agent != agent && t.Beside != agent {
			continue
		}
		if t.Agent == agent { // the agent's own turn, or one that summarises its thread
			t.DisposeAgent = true
			ta.turns.store(t)
		}
		if t != by {
			ta.ender.stop(t, reason)
		}
	}
	if ta.turns.ofAgent(agent) == nil && ta.threads.byAgent[agent] != nil {
		ta.threads.delete(agent)
		ta.disposeAgent(agent)
	}
}
