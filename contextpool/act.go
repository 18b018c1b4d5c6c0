package contextpool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// How much is kept and shown of tool calls.
const (
	// resultBytes is how much of a result is kept until the conversation has it.
	resultBytes = 64 << 10
	// shownBytes is how much of an input or a result people see.
	shownBytes = 8 << 10
	// callsKept is how many results are kept; more than that are only open when
	// a backend keeps its conversation itself.
	callsKept = 64
	// deedsKept and deedsBytes bound what is kept of what a turn did.
	actionsKept  = 100
	actionsBytes = 256 << 10
)

// Act does what a plan wants, or nothing of it. An error means that the turn is
// over.
func (p *Pool) Act(c tools.Caller, call tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	t := p.of(c)
	if t == nil || t.Stopping != "" {
		return providers.ToolResult{}, ErrOver
	}
	if known := t.call(call.ID); known != nil && known.Ended {
		return known.Result, nil
	}
	t.acted = true
	p.showTool(t, call, wire.ToolRunning, "")
	wanted := plan(p.step.Desk())
	r := wanted.Result
	if refused := p.do(t, wanted.Actions); refused != nil {
		r = providers.ToolResult{Text: refused.Reason, IsError: true}
	}
	p.finish(t, call, r)
	p.settle()
	return r, nil
}

// Do does actions of a turn that are no plan of a tool, such as those that a tab
// has to answer. They count like any others. It says why not, if not.
func (p *Pool) Do(c tools.Caller, actions ...wire.Action) *desktop.Refusal {
	t := p.of(c)
	if t == nil || t.Stopping != "" {
		return &desktop.Refusal{Code: wire.CodeSessionInvalidState, Reason: ErrOver.Error()}
	}
	refused := p.do(t, actions)
	p.settle()
	return refused
}

// do does the actions of a turn together, or says why not.
func (p *Pool) do(t *turn, actions []wire.Action) *desktop.Refusal {
	if len(actions) == 0 {
		return nil
	}
	stamped := make([]wire.Action, len(actions))
	for i, a := range actions {
		stamped[i] = stamp(a, t.Role)
	}
	if refused := p.step.Desk().CheckAll(t.Monitor, stamped); refused != nil {
		return refused
	}
	v := p.budget.Action(t.Monitor, p.step.Now(), len(stamped))
	if t.Monitor != policies.PrimaryMonitor {
		p.keepBudget(t.Monitor)
	}
	if !v.Allowed {
		p.overBudget(t, v)
		return &desktop.Refusal{Code: wire.CodeBudgetExceeded, Reason: fmt.Sprintf(
			"Nothing was done: %s is over its budget of %s. The turn ends now.", t.Monitor, budgetName(v.Kind))}
	}
	closing := p.places(t.Monitor, stamped)
	p.step.Emit(wire.Actions{Actions: stamped, AgentID: t.Role, MonitorID: t.Monitor})
	for i, a := range stamped {
		p.did(t, a)
		switch a := a.(type) {
		case wire.WindowCreate:
			p.opened(t, policies.Key{Monitor: t.Monitor, Window: a.WindowID})
		case wire.WindowClose:
			p.closed(closing[i], t)
		}
	}
	return nil
}

// places says, before actions are done, where the windows are that they close.
func (p *Pool) places(monitor wire.MonitorID, actions []wire.Action) map[int]policies.Key {
	found := map[int]policies.Key{}
	for i, a := range actions {
		if c, ok := a.(wire.WindowClose); ok {
			found[i] = policies.Key{Monitor: monitor, Window: c.WindowID}
			if w, open := p.step.Desk().Window(monitor, c.WindowID); open {
				found[i] = policies.Key{Monitor: w.MonitorID, Window: w.WindowID}
			}
		}
	}
	return found
}

// stamp says in an action who does it.
func stamp(a wire.Action, agent wire.AgentID) wire.Action {
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

// did notes what a turn did, as far as there is room. Questions and toasts are
// nothing that could be done again.
func (p *Pool) did(t *turn, a wire.Action) {
	switch a.(type) {
	case wire.DialogConfirm, wire.PromptShow, wire.PromptDismiss, wire.ToastShow, wire.ToastDismiss, wire.WindowCapture:
		return
	}
	t.Done++
	data := actionFormat().Append(nil, &a)
	if len(t.actions) < actionsKept && t.bytes+len(data) <= actionsBytes {
		t.bytes += len(data)
		t.actions = append(t.actions, a)
		p.step.Keep(t.storedAction(len(t.actions)-1, data))
	}
	p.keepTurn(t)
}

// Begin notes that a tool starts. Unless it may run twice, that is written down
// before it runs.
func (p *Pool) Begin(c tools.Caller, use tools.Call) error {
	t := p.of(c)
	if t == nil || t.Stopping != "" {
		return ErrOver
	}
	t.acted = true
	p.showTool(t, use, wire.ToolRunning, "")
	if !use.Repeatable && t.call(use.ID) == nil {
		p.addCall(t, &call{ID: use.ID, Tool: use.Tool, Input: rowInput(use.Input, rowBytes)})
	}
	t.begun(use.ID, p.step.Now())
	t.using++
	p.settle()
	return nil
}

// End notes what came of a tool, unless that is known already.
func (p *Pool) End(c tools.Caller, use tools.Call, r providers.ToolResult) error {
	t := p.of(c)
	if t == nil {
		return ErrOver
	}
	t.using--
	if _, open := t.began[use.ID]; open {
		p.finish(t, use, r)
	}
	p.settle()
	return nil
}

// finish shows and keeps the result of a tool.
func (p *Pool) finish(t *turn, use tools.Call, r providers.ToolResult) {
	status := wire.ToolComplete
	if r.IsError {
		status = wire.ToolError
	}
	p.showTool(t, use, status, r.Text)
	kept := providers.ToolResult{Text: cut(r.Text, resultBytes), IsError: r.IsError, Images: r.Images}
	size := 0
	for _, i := range r.Images {
		size += len(i.Data)
	}
	if size > resultBytes {
		kept.Images, kept.Text = nil, kept.Text+"\n[pictures are left out]"
	}
	p.usedTool(t, use.Tool, r)
	known := t.call(use.ID)
	if known == nil {
		known = &call{ID: use.ID, Tool: use.Tool, Ended: true, Result: kept}
		p.addCall(t, known)
	} else {
		known.Ended, known.Result, known.Input = true, kept, nil
		p.step.Keep(t.keptCall(known))
		p.keepTurn(t)
	}
	p.rowCalled(t, known.Number, use, status, r.Text)
	delete(t.began, use.ID)
}

func (t *turn) call(id string) *call {
	if i := slices.IndexFunc(t.calls, func(c *call) bool { return c.ID == id }); i >= 0 {
		return t.calls[i]
	}
	return nil
}

func (p *Pool) addCall(t *turn, c *call) {
	t.Called++
	c.Number = t.Called
	t.calls = append(t.calls, c)
	if !t.Lasting {
		p.mused(t) // after a call it ends if it is cut off
	}
	p.keepTurn(t)
	p.step.Keep(t.keptCall(c))
	if len(t.calls) > callsKept {
		if i := slices.IndexFunc(t.calls, func(c *call) bool { return c.Ended }); i >= 0 {
			p.forgetCall(t, t.calls[i].ID)
		}
	}
}

// showTool tells people what a tool does.
func (p *Pool) showTool(t *turn, use tools.Call, s wire.ToolStatus, result string) {
	p.rowThoughts(t, thinkingBytes)
	show := wire.ToolProgress{
		ToolName: use.Tool, Status: s, Message: cut(result, shownBytes), ToolUseID: use.ID,
		AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message(),
	}
	if s == wire.ToolRunning && len(use.Input) <= shownBytes && json.Valid(use.Input) {
		show.ToolInput = use.Input
	}
	p.step.Emit(show)
}

// ReloadOptions are what could be done again for a turn.
func (p *Pool) ReloadOptions(c tools.Caller) []policies.ReloadOption {
	t := p.of(c)
	if t == nil {
		return nil
	}
	return p.reload.Options(p.step.Now(), t.trigger())
}

// Reload does again what was done for something similar, and offers the user to
// say that it did not work.
func (p *Pool) Reload(c tools.Caller, call tools.Call, id string) (providers.ToolResult, error) {
	t := p.of(c)
	if t == nil || t.Stopping != "" {
		return providers.ToolResult{}, ErrOver
	}
	if known := t.call(call.ID); known != nil && known.Ended {
		return known.Result, nil
	}
	t.acted = true
	p.showTool(t, call, wire.ToolRunning, "")
	r := p.again(t, id)
	p.finish(t, call, r)
	p.settle()
	return r, nil
}

func (p *Pool) again(t *turn, id string) providers.ToolResult {
	entry, ok := p.reload.Get(p.step.Now(), id)
	if !ok {
		return providers.ToolResult{Text: fmt.Sprintf("There is nothing to do again with the id %q.", id), IsError: true}
	}
	for i, a := range entry.Actions {
		entry.Actions[i] = unasked(a)
	}
	refused := p.do(t, entry.Actions)
	p.reload.Used(p.step.Now(), id, refused == nil)
	p.keepReload(id)
	if refused != nil {
		return providers.ToolResult{Text: refused.Reason, IsError: true}
	}
	p.step.Emit(wire.Actions{AgentID: t.Role, MonitorID: t.Monitor, Actions: []wire.Action{stamp(wire.ToastShow{Toast: wire.Toast{
		ID: wire.NoticeID("reload-feedback-" + id), Message: "Done again: " + entry.Label, Variant: wire.NoticeInfo,
		Action: &wire.ToastButton{Label: "Didn't work?", EventID: id}, Duration: 8000,
	}}, t.Role)}})
	return providers.ToolResult{Text: fmt.Sprintf("Did %d actions again: %s.", len(entry.Actions), entry.Label)}
}

// unasked is an action for whose effect nobody waits.
func unasked(a wire.Action) wire.Action {
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

// FailedReload notes that something that was done again did not work.
func (p *Pool) FailedReload(id string) {
	if _, ok := p.reload.Get(p.step.Now(), id); ok {
		p.reload.Failed(id)
		p.keepReload(id)
	}
}
