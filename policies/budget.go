package policies

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// PrimaryMonitor is the first monitor, which has no budget.
const PrimaryMonitor wire.MonitorID = "monitor-0"

// budgetWindow is the sliding window of the limits per minute.
const budgetWindow = time.Minute

// BudgetLimits bound the monitors other than the primary one. Values of 0 or less mean the
// default.
type BudgetLimits struct {
	// Concurrent bounds the concurrent turns of all these monitors of a session together.
	Concurrent int
	// ActionsPerMin and OutputPerMin, in bytes, apply to each monitor, in any 60 seconds.
	ActionsPerMin int
	OutputPerMin  int
}

// DefaultBudget returns the default limits.
func DefaultBudget() BudgetLimits {
	return BudgetLimits{Concurrent: 2, ActionsPerMin: 30, OutputPerMin: 50_000}
}

// MonitorBudget counts the usage of monitors and refuses what exceeds the limits.
type MonitorBudget struct {
	limits BudgetLimits
	slots  map[string]wire.MonitorID // the slots in use, by holder
	usage  map[wire.MonitorID]*BudgetState
}

// NewMonitorBudget returns an unused budget.
func NewMonitorBudget(limits BudgetLimits) *MonitorBudget {
	standard := DefaultBudget()
	b := &MonitorBudget{limits: BudgetLimits{
		Concurrent:    positive(limits.Concurrent, standard.Concurrent),
		ActionsPerMin: positive(limits.ActionsPerMin, standard.ActionsPerMin),
		OutputPerMin:  positive(limits.OutputPerMin, standard.OutputPerMin),
	}}
	b.Clear()
	return b
}

func positive(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// TryAcquire acquires a slot for the turn named holder; a holder that has one keeps it. On the
// primary monitor it is always true and acquires none.
func (b *MonitorBudget) TryAcquire(m wire.MonitorID, holder string) bool {
	if m == PrimaryMonitor {
		return true
	}
	if _, ok := b.slots[holder]; ok {
		return true
	}
	if len(b.slots) >= b.limits.Concurrent {
		return false
	}
	b.slots[holder] = m
	return true
}

// Release releases the slot of a holder, if it has one.
func (b *MonitorBudget) Release(holder string) { delete(b.slots, holder) }

// Verdict is the decision of a budget.
type Verdict struct {
	// Allowed says that the whole amount is allowed.
	Allowed bool
	// Granted is the amount that is allowed and counted.
	Granted int
	// Kind is the exhausted limit, if not all is allowed.
	Kind wire.BudgetKind
	// Until is the time at which the rest would be allowed: for actions all of them, for output
	// the next byte. It is zero if the amount exceeds the limit itself.
	Until time.Time
}

// Action counts n actions if the limit allows all of them, otherwise none: actions are applied
// together or not at all.
func (b *MonitorBudget) Action(m wire.MonitorID, now time.Time, n int) Verdict {
	n = max(0, n)
	if m == PrimaryMonitor {
		return Verdict{Allowed: true, Granted: n}
	}
	used := &b.state(m).Actions
	used.expire(now)
	if used.sum()+n <= b.limits.ActionsPerMin {
		used.add(now, n)
		return Verdict{Allowed: true, Granted: n}
	}
	return Verdict{Kind: wire.BudgetActions, Until: used.freeAt(b.limits.ActionsPerMin - n)}
}

// Output counts as many of the bytes as the limit allows.
func (b *MonitorBudget) Output(m wire.MonitorID, now time.Time, bytes int) Verdict {
	bytes = max(0, bytes)
	if m == PrimaryMonitor {
		return Verdict{Allowed: true, Granted: bytes}
	}
	used := &b.state(m).Output
	used.expire(now)
	granted := min(bytes, max(0, b.limits.OutputPerMin-used.sum()))
	used.add(now, granted)
	if granted == bytes {
		return Verdict{Allowed: true, Granted: bytes}
	}
	return Verdict{Granted: granted, Kind: wire.BudgetOutput, Until: used.freeAt(b.limits.OutputPerMin - 1)}
}

// Denied reports whether a limit of the monitor is exhausted, which one and until when. If both
// are exhausted, it returns the one that takes longer.
func (b *MonitorBudget) Denied(m wire.MonitorID, now time.Time) (wire.BudgetKind, time.Time, bool) {
	s := b.stateAt(m, now)
	actions := s.Actions.freeAt(b.limits.ActionsPerMin - 1)
	output := s.Output.freeAt(b.limits.OutputPerMin - 1)
	switch {
	case actions.IsZero() && output.IsZero():
		return "", time.Time{}, false
	case output.After(actions):
		return wire.BudgetOutput, output, true
	}
	return wire.BudgetActions, actions, true
}

// Report returns the usage of a monitor for display. It does not report denied slots: only the
// caller of TryAcquire knows about those.
func (b *MonitorBudget) Report(m wire.MonitorID, now time.Time) wire.Budget {
	if m == PrimaryMonitor {
		return wire.Budget{}
	}
	r := wire.Budget{
		ActionsLimit: b.limits.ActionsPerMin,
		OutputLimit:  b.limits.OutputPerMin,
		Running:      len(b.slots),
		RunningLimit: b.limits.Concurrent,
	}
	if kind, until, denied := b.Denied(m, now); denied {
		r.Denied, r.Until = kind, wire.Millis(until.UnixMilli())
	}
	s := b.stateAt(m, now)
	r.Actions, r.Output = s.Actions.sum(), s.Output.sum()
	return r
}

// RemoveMonitor deletes the usage of a monitor and releases its slots.
func (b *MonitorBudget) RemoveMonitor(m wire.MonitorID) {
	delete(b.usage, m)
	for holder, of := range b.slots {
		if of == m {
			delete(b.slots, holder)
		}
	}
}

// Clear deletes all usage and slots.
func (b *MonitorBudget) Clear() {
	b.slots = make(map[string]wire.MonitorID)
	b.usage = make(map[wire.MonitorID]*BudgetState)
}

// State returns a copy of the monitor's usage for storing. It does not contain slots: the
// running turns acquire theirs again.
func (b *MonitorBudget) State(m wire.MonitorID) BudgetState {
	s := b.usage[m]
	if s == nil {
		return BudgetState{}
	}
	return BudgetState{Actions: slices.Clone(s.Actions), Output: slices.Clone(s.Output)}
}

// Restore sets the usage that State returned.
func (b *MonitorBudget) Restore(m wire.MonitorID, s BudgetState) {
	if m == PrimaryMonitor {
		return
	}
	b.usage[m] = &BudgetState{Actions: s.Actions.sanitized(), Output: s.Output.sanitized()}
}

// stateAt returns the usage that counts at a time. It changes nothing, so that a read with
// another clock does not expire usage early.
func (b *MonitorBudget) stateAt(m wire.MonitorID, now time.Time) BudgetState {
	s := b.State(m)
	s.Actions.expire(now)
	s.Output.expire(now)
	return s
}

func (b *MonitorBudget) state(m wire.MonitorID) *BudgetState {
	s := b.usage[m]
	if s == nil {
		s = &BudgetState{}
		b.usage[m] = s
	}
	return s
}

// BudgetState is the usage of a monitor in the last minute.
type BudgetState struct {
	Actions Usage `json:"actions,omitempty"`
	Output  Usage `json:"output,omitempty"`
}
