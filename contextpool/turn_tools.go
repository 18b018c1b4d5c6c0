package contextpool

import (
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// TurnTools executes what the tools of running turns do.
type TurnTools struct {
	*services

	turns   *turnSet
	reloads *reloads
	calls   *toolCalls
	starter *turnStarter
	actions *turnActions
	// advance starts what can start; see [Pool].
	advance func()
}

// ApplyActions applies actions outside of a tool plan, such as those that a tab has to answer.
// They count against the budget like any others. It returns the reason if they are refused.
func (p *TurnTools) ApplyActions(c tools.Caller, actions ...wire.Action) *desktop.Refusal {
	t := p.turns.ofCaller(c)
	if t == nil || t.stopping() {
		return &desktop.Refusal{Code: wire.CodeSessionInvalidState, Reason: ErrTurnOver.Error()}
	}
	refused := p.actions.apply(t, actions)
	p.advance()
	return refused
}

// ReloadOptions returns the reload cache's entries that match the caller's turn.
func (p *TurnTools) ReloadOptions(c tools.Caller) []policies.ReloadOption {
	t := p.turns.ofCaller(c)
	if t == nil {
		return nil
	}
	return p.reloads.options(t)
}

// ReloadFailed counts a failure of a reload cache entry.
func (p *TurnTools) ReloadFailed(id string) {
	p.reloads.failed(id)
}

// ExecuteToolPlan applies all actions of a tool's plan or none of them, and returns the tool
// result. The error is ErrTurnOver.
func (p *TurnTools) ExecuteToolPlan(c tools.Caller, call tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	defer p.advance()
	return p.actions.executePlan(c, call, plan)
}

// BeginToolCall records the start of a tool call. The error is ErrTurnOver.
func (p *TurnTools) BeginToolCall(c tools.Caller, use tools.Call) error {
	defer p.advance()
	return p.calls.begin(c, use)
}

// ReportToolProgress publishes how far a tool call is, unless the call has ended.
func (p *TurnTools) ReportToolProgress(c tools.Caller, use tools.Call, text string) {
	p.calls.report(c, use, text)
}

// EndToolCall records the result of a tool call, unless the call has already ended. The error is
// ErrTurnOver.
func (p *TurnTools) EndToolCall(c tools.Caller, use tools.Call, r providers.ToolResult) error {
	defer p.advance()
	return p.calls.end(c, use, r)
}

// Reload repeats the actions of a reload cache entry, and shows a toast with which the user can
// report that it did not work. The error is ErrTurnOver.
func (p *TurnTools) Reload(c tools.Caller, call tools.Call, id string) (providers.ToolResult, error) {
	defer p.advance()
	return p.actions.reloadEntry(c, call, id)
}

// Delegate starts a task of a turn with an agent of its own, on a copy of the turn's thread.
// The step that creates the task also stores that the call waits for it, so that the call gets
// a result even after a failure of the owner. done is called after the step is committed in
// which the task has ended or was refused.
func (p *TurnTools) Delegate(c tools.Caller, task tools.Task, done func(providers.ToolResult)) {
	p.starter.delegate(c, task, done)
	p.advance()
}
