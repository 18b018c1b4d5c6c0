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

// Limits of the stored and published data of tool calls.
const (
	// resultBytes bounds the result stored until the thread has it.
	resultBytes = 64 << 10
	// shownBytes bounds the published input and the published result.
	shownBytes = 8 << 10
	// callsKept bounds the stored results. More can be outstanding only if the backend holds
	// the conversation itself and reports no entries.
	callsKept = 64
	// actionsKept and actionsBytes bound the stored actions of a turn, in number and encoded
	// size.
	actionsKept  = 100
	actionsBytes = 256 << 10
)

// ExecuteToolPlan applies all actions of a tool's plan or none of them, and returns the tool
// result. The error is ErrTurnOver.
func (p *Pool) ExecuteToolPlan(c tools.Caller, call tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	t := p.callerTurn(c)
	if t == nil || t.stopping() {
		return providers.ToolResult{}, ErrTurnOver
	}
	if known := t.findCall(call.ID); known != nil && known.Ended {
		return known.Result, nil
	}
	t.toolUsed = true
	p.emitToolProgress(t, call, wire.ToolRunning, "")
	wanted := plan(p.state.Desktop())
	r := wanted.Result
	if refused := p.applyTurnActions(t, wanted.Actions); refused != nil {
		r = providers.ToolResult{Text: refused.Reason, IsError: true}
	}
	p.finishToolCall(t, call, r)
	p.advance()
	return r, nil
}

// ApplyActions applies actions outside of a tool plan, such as those that a tab has to answer.
// They count against the budget like any others. It returns the reason if they are refused.
func (p *Pool) ApplyActions(c tools.Caller, actions ...wire.Action) *desktop.Refusal {
	t := p.callerTurn(c)
	if t == nil || t.stopping() {
		return &desktop.Refusal{Code: wire.CodeSessionInvalidState, Reason: ErrTurnOver.Error()}
	}
	refused := p.applyTurnActions(t, actions)
	p.advance()
	return refused
}

// applyTurnActions applies all actions of a turn, or none and returns the reason.
func (p *Pool) applyTurnActions(t *turn, actions []wire.Action) *desktop.Refusal {
	if len(actions) == 0 {
		return nil
	}
	stamped := make([]wire.Action, len(actions))
	for i, a := range actions {
		stamped[i] = withAgentID(a, t.Role)
	}
	if refused := p.state.Desktop().CheckAll(t.Monitor, stamped); refused != nil {
		return refused
	}
	v := p.budget.Action(t.Monitor, p.step.Now(), len(stamped))
	if t.Monitor != policies.PrimaryMonitor {
		p.storeBudget(t.Monitor)
	}
	if !v.Allowed {
		p.stopOverBudget(t, v)
		return &desktop.Refusal{Code: wire.CodeBudgetExceeded, Reason: fmt.Sprintf(
			"Nothing was done: %s is over its budget of %s. The turn ends now.", t.Monitor, budgetName(v.Kind))}
	}
	closing := p.closedWindowKeys(t.Monitor, stamped)
	p.step.Emit(wire.Actions{Actions: stamped, AgentID: t.Role, MonitorID: t.Monitor})
	for i, a := range stamped {
		p.recordAction(t, a)
		switch a := a.(type) {
		case wire.WindowCreate:
			p.connectWindow(t, policies.Key{Monitor: t.Monitor, Window: a.WindowID})
		case wire.WindowClose:
			p.removeWindow(closing[i], t)
		}
	}
	return nil
}

// closedWindowKeys returns, by index, the keys of the windows that the actions close. It must
// be called before the actions are applied.
func (p *Pool) closedWindowKeys(monitor wire.MonitorID, actions []wire.Action) map[int]policies.Key {
	found := map[int]policies.Key{}
	for i, a := range actions {
		if c, ok := a.(wire.WindowClose); ok {
			found[i] = policies.Key{Monitor: monitor, Window: c.WindowID}
			if w, open := p.state.Desktop().Window(monitor, c.WindowID); open {
				found[i] = policies.Key{Monitor: w.MonitorID, Window: w.WindowID}
			}
		}
	}
	return found
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

// recordAction stores an action of a turn, within the limits, for the reload cache and the
// timeline. Questions, toasts and screenshots are not repeatable and are left out.
func (p *Pool) recordAction(t *turn, a wire.Action) {
	switch a.(type) {
	case wire.DialogConfirm, wire.PromptShow, wire.PromptDismiss, wire.ToastShow, wire.ToastDismiss, wire.WindowCapture:
		return
	}
	t.ActionCount++
	data := actionFormat().Append(nil, &a)
	if len(t.actions) < actionsKept && t.bytes+len(data) <= actionsBytes {
		t.bytes += len(data)
		t.actions = append(t.actions, a)
		p.step.AddOps(t.actionOp(len(t.actions)-1, data))
	}
	p.storeTurn(t)
}

// BeginToolCall records the start of a tool call. Unless the tool is repeatable, the open call
// is stored before the tool runs, so that a new owner does not run it again.
func (p *Pool) BeginToolCall(c tools.Caller, use tools.Call) error {
	t := p.callerTurn(c)
	if t == nil || t.stopping() {
		return ErrTurnOver
	}
	t.toolUsed = true
	p.emitToolProgress(t, use, wire.ToolRunning, "")
	if !use.Repeatable && t.findCall(use.ID) == nil {
		p.addCall(t, &call{ID: use.ID, Tool: use.Tool, Input: rowInput(use.Input, rowBytes)})
	}
	t.toolStarted(use.ID, p.step.Now())
	t.openTools++
	p.advance()
	return nil
}

// EndToolCall records the result of a tool call, unless the call has already ended.
func (p *Pool) EndToolCall(c tools.Caller, use tools.Call, r providers.ToolResult) error {
	t := p.callerTurn(c)
	if t == nil {
		return ErrTurnOver
	}
	t.openTools--
	if _, open := t.toolStarts[use.ID]; open {
		p.finishToolCall(t, use, r)
	}
	p.advance()
	return nil
}

// finishToolCall publishes and stores the result of a tool call.
func (p *Pool) finishToolCall(t *turn, use tools.Call, r providers.ToolResult) {
	status := wire.ToolComplete
	if r.IsError {
		status = wire.ToolError
	}
	p.emitToolProgress(t, use, status, r.Text)
	kept := providers.ToolResult{Text: truncate(r.Text, resultBytes), IsError: r.IsError, Images: r.Images}
	size := 0
	for _, i := range r.Images {
		size += len(i.Data)
	}
	if size > resultBytes {
		kept.Images, kept.Text = nil, kept.Text+"\n[pictures are left out]"
	}
	p.countToolUse(t, use.Tool, r)
	known := t.findCall(use.ID)
	if known == nil {
		known = &call{ID: use.ID, Tool: use.Tool, Ended: true, Result: kept}
		p.addCall(t, known)
	} else {
		known.Ended, known.Result, known.Input = true, kept, nil
		p.step.AddOps(t.callOp(known))
		p.storeTurn(t)
	}
	p.addCallRow(t, known.Number, use, status, r.Text)
	delete(t.toolStarts, use.ID)
}

func (t *turn) findCall(id string) *call {
	if i := slices.IndexFunc(t.calls, func(c *call) bool { return c.ID == id }); i >= 0 {
		return t.calls[i]
	}
	return nil
}

func (p *Pool) addCall(t *turn, c *call) {
	t.CallCount++
	c.Number = t.CallCount
	t.calls = append(t.calls, c)
	if !t.Lasting {
		p.commitThinking(t) // a turn that does not last is not restarted after a tool call
	}
	p.storeTurn(t)
	p.step.AddOps(t.callOp(c))
	if len(t.calls) > callsKept {
		if i := slices.IndexFunc(t.calls, func(c *call) bool { return c.Ended }); i >= 0 {
			p.deleteCall(t, t.calls[i].ID)
		}
	}
}

// emitToolProgress publishes the state of a tool call.
func (p *Pool) emitToolProgress(t *turn, use tools.Call, s wire.ToolStatus, result string) {
	p.updateThinkingRow(t, thinkingBytes)
	show := wire.ToolProgress{
		ToolName: use.Tool, Status: s, Message: truncate(result, shownBytes), ToolUseID: use.ID,
		AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
	}
	if s == wire.ToolRunning && len(use.Input) <= shownBytes && json.Valid(use.Input) {
		show.ToolInput = use.Input
	}
	p.step.Emit(show)
}

// ReloadOptions returns the reload cache's entries that match the caller's turn.
func (p *Pool) ReloadOptions(c tools.Caller) []policies.ReloadOption {
	t := p.callerTurn(c)
	if t == nil {
		return nil
	}
	return p.reload.Options(p.step.Now(), t.trigger())
}

// Reload repeats the actions of a reload cache entry, and shows a toast with which the user can
// report that it did not work.
func (p *Pool) Reload(c tools.Caller, call tools.Call, id string) (providers.ToolResult, error) {
	t := p.callerTurn(c)
	if t == nil || t.stopping() {
		return providers.ToolResult{}, ErrTurnOver
	}
	if known := t.findCall(call.ID); known != nil && known.Ended {
		return known.Result, nil
	}
	t.toolUsed = true
	p.emitToolProgress(t, call, wire.ToolRunning, "")
	r := p.reloadActions(t, id)
	p.finishToolCall(t, call, r)
	p.advance()
	return r, nil
}

func (p *Pool) reloadActions(t *turn, id string) providers.ToolResult {
	entry, ok := p.reload.Get(p.step.Now(), id)
	if !ok {
		return providers.ToolResult{Text: fmt.Sprintf("There is nothing to do again with the id %q.", id), IsError: true}
	}
	for i, a := range entry.Actions {
		entry.Actions[i] = withoutRequestID(a)
	}
	refused := p.applyTurnActions(t, entry.Actions)
	p.reload.Used(p.step.Now(), id, refused == nil)
	p.storeReload(id)
	if refused != nil {
		return providers.ToolResult{Text: refused.Reason, IsError: true}
	}
	p.step.Emit(wire.Actions{AgentID: t.Role, MonitorID: t.Monitor, Actions: []wire.Action{withAgentID(wire.ToastShow{Toast: wire.Toast{
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

// ReloadFailed counts a failure of a reload cache entry.
func (p *Pool) ReloadFailed(id string) {
	if _, ok := p.reload.Get(p.step.Now(), id); ok {
		p.reload.Failed(id)
		p.storeReload(id)
	}
}
