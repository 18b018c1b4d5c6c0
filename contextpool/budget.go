package contextpool

import (
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// monitorBudget limits the work of the monitors other than the first one and stores what they have
// used.
type monitorBudget struct {
	*services

	policy *policies.MonitorBudget
}

const (
	budgetPrefix = "budget:"
	budgetField  = "used"
)

// denied returns which budget of a monitor is used up, and until when.
func (b *monitorBudget) denied(monitor wire.MonitorID) (kind wire.BudgetKind, until time.Time, denied bool) {
	return b.policy.Denied(monitor, b.step.Now())
}

// allowsTurn reports whether the budget of the monitor allows another turn.
func (b *monitorBudget) allowsTurn(monitor wire.MonitorID) bool {
	if _, _, denied := b.denied(monitor); denied {
		return false
	}
	const probe = "?" // acquired and released at once, so no turn has this key
	ok := b.policy.TryAcquire(monitor, probe)
	b.policy.Release(probe)
	return ok
}

// acquire counts a turn of a main or ephemeral agent against the budget of its monitor.
func (b *monitorBudget) acquire(t *turn) {
	if t.Kind == wire.AgentMain || t.Kind == wire.AgentEphemeral {
		b.policy.TryAcquire(t.Monitor, t.key())
	}
}

// release undoes acquire.
func (b *monitorBudget) release(t *turn) { b.policy.Release(t.key()) }

// spendOutput counts published bytes of text.
func (b *monitorBudget) spendOutput(monitor wire.MonitorID, bytes int) policies.Verdict {
	v := b.policy.Output(monitor, b.step.Now(), bytes)
	b.store(monitor)
	return v
}

// spendActions counts actions.
func (b *monitorBudget) spendActions(monitor wire.MonitorID, n int) policies.Verdict {
	v := b.policy.Action(monitor, b.step.Now(), n)
	b.store(monitor)
	return v
}

// report returns the use of a monitor's budget for display.
func (b *monitorBudget) report(monitor wire.MonitorID) wire.Budget {
	return b.policy.Report(monitor, b.step.Now())
}

// remove deletes the budget of a monitor.
func (b *monitorBudget) remove(monitor wire.MonitorID) {
	b.policy.RemoveMonitor(monitor)
	b.step.AddOps(store.Unset(budgetPrefix+string(monitor), budgetField))
}

// store stores the use of a monitor's budget. The first monitor has none.
func (b *monitorBudget) store(m wire.MonitorID) {
	if m == policies.PrimaryMonitor {
		return
	}
	s := b.policy.State(m)
	if len(s.Actions)+len(s.Output) == 0 {
		b.step.AddOps(store.Unset(budgetPrefix+string(m), budgetField))
		return
	}
	b.step.AddOps(store.Set(budgetPrefix+string(m), budgetField, encode(&s)))
}

// allOps returns the operations that store all budgets.
func (b *monitorBudget) allOps() (ops []store.Op) {
	for _, m := range b.state.Desktop().Monitors() {
		if s := b.policy.State(m.MonitorID); len(s.Actions)+len(s.Output) > 0 {
			ops = append(ops, store.Set(budgetPrefix+string(m.MonitorID), budgetField, encode(&s)))
		}
	}
	return ops
}

// restore loads the stored budgets.
func (b *monitorBudget) restore(tables map[string]map[string][]byte) error {
	for name, table := range tables {
		monitor, ok := strings.CutPrefix(name, budgetPrefix)
		if !ok || len(table) == 0 {
			continue
		}
		var s policies.BudgetState
		if err := decode(table[budgetField], &s); err != nil {
			return fmt.Errorf("budget of %s: %w", monitor, err)
		}
		b.policy.Restore(wire.MonitorID(monitor), s)
	}
	return nil
}

// budgetName returns the limited quantity in words.
func budgetName(kind wire.BudgetKind) string {
	switch kind {
	case wire.BudgetActions:
		return "actions per minute"
	case wire.BudgetOutput:
		return "output per minute"
	default:
		return "turns at the same time"
	}
}
