package workflow

import "github.com/everdesk/everdesk/wire"

// Todos are those of the newest plan.
func (f *Flow) Todos() []wire.Todo { return f.todos.body().Todos }

// Paused reports whether the plan stands still.
func (f *Flow) Paused() bool { return f.Active() && f.plan.Paused != nil }

// Plan names the newest plan, and says how it is.
func (f *Flow) Plan() (wire.PlanID, wire.PlanStatus) {
	if f.plan == nil {
		return "", ""
	}
	return f.plan.ID, f.plan.Status
}
