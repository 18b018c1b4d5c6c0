package workflow

import "github.com/everdesk/everdesk/wire"

// Todos returns the todos of the newest plan.
func (f *Flow) Todos() []wire.Todo { return f.todos.body().Todos }

// Paused reports whether the plan is paused.
func (f *Flow) Paused() bool { return f.Active() && f.plan.Paused != nil }

// Plan returns the id and the status of the newest plan.
func (f *Flow) Plan() (wire.PlanID, wire.PlanStatus) {
	if f.plan == nil {
		return "", ""
	}
	return f.plan.ID, f.plan.Status
}
