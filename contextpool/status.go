package contextpool

import (
	"slices"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

// statusReporter publishes the status of monitors.
type statusReporter struct {
	*services
	budget     *monitorBudget
	turns      *turnSet
	queues     *queues
	compaction *compaction
}

// emitChanged publishes the status of every monitor whose state, queue, denied budget or
// context use differs from the published one.
func (sr *statusReporter) emitChanged() {
	for _, shown := range sr.state.Desktop().Monitors() {
		now := sr.statusOf(shown.MonitorID)
		var shownBudget, budget wire.Budget
		if shown.Budget != nil {
			shownBudget = *shown.Budget
		}
		if now.Budget != nil {
			budget = *now.Budget
		}
		if now.State != shown.State || now.Queue != shown.Queue || budget.Denied != shownBudget.Denied || !sameUse(now.Context, shown.Context) {
			sr.step.Emit(now)
		}
	}
}

// statusOf returns the current status of a monitor. Its Queue counts the messages to the main
// agent.
func (sr *statusReporter) statusOf(monitor wire.MonitorID) wire.MonitorStatus {
	s := wire.MonitorStatus{MonitorID: monitor, State: wire.MonitorIdle, Queue: sr.queues.main.Len(string(monitor)), Revision: sr.revision(monitor)}
	s.Context = sr.compaction.contextUse(monitor)
	running := slices.ContainsFunc(sr.turns.sorted(), func(t *turn) bool { return t.Monitor == monitor && !t.isTitling() })
	if monitor != policies.PrimaryMonitor {
		s.Budget = new(sr.budget.report(monitor))
	}
	switch {
	case s.Budget != nil && s.Budget.Denied != "":
		s.State = wire.MonitorOverBudget
	case running:
		s.State = wire.MonitorRunning
	case s.Queue > 0:
		s.State = wire.MonitorWaiting
		if s.Budget != nil {
			s.Budget.Denied = wire.BudgetSlots
		}
	}
	return s
}
