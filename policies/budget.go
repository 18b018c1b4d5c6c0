package policies

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// PrimaryMonitor has no budget: nothing on it is ever refused.
const PrimaryMonitor wire.MonitorID = "monitor-0"

// budgetWindow is the time that the limits per minute are about.
const budgetWindow = time.Minute

// BudgetLimits bound what background monitors do. What is 0 or less is the
// default.
type BudgetLimits struct {
	// Concurrent is how many turns of all background monitors of a session run
	// at the same time.
	Concurrent int
	// ActionsPerMin and OutputPerMin, in bytes, are for one monitor, in any 60
	// seconds.
	ActionsPerMin int
	OutputPerMin  int
}

// DefaultBudget are the limits where nothing else is said.
func DefaultBudget() BudgetLimits {
	return BudgetLimits{Concurrent: 2, ActionsPerMin: 30, OutputPerMin: 50_000}
}

// MonitorBudget counts what background monitors do and refuses what is too much.
type MonitorBudget struct {
	limits BudgetLimits
	slots  map[string]wire.MonitorID // by holder
	used   map[wire.MonitorID]*BudgetState
}

// NewMonitorBudget makes a budget of which nothing is used.
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

// TryAcquire takes a slot for a turn, which holder names. Who has one keeps it.
// On the primary monitor it is always true and takes none.
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

// Release gives back the slot of a holder, if it has one.
func (b *MonitorBudget) Release(holder string) { delete(b.slots, holder) }

// Verdict is what a budget says to something.
type Verdict struct {
	// Allowed says that all of it is allowed.
	Allowed bool
	// Granted is how much of it is allowed and counted.
	Granted int
	// Kind is what is used up, unless it is allowed.
	Kind wire.BudgetKind
	// Until is when the rest would be allowed: for actions all of them, for output
	// the next byte. It is zero when it is more than ever fits.
	Until time.Time
}

// Action asks whether n actions may be done now. They are done together or not at
// all, so either all of them count or none.
func (b *MonitorBudget) Action(m wire.MonitorID, now time.Time, n int) Verdict {
	n = max(0, n)
	if m == PrimaryMonitor {
		return Verdict{Allowed: true, Granted: n}
	}
	used := &b.state(m).Actions
	used.forget(now)
	if used.sum()+n <= b.limits.ActionsPerMin {
		used.add(now, n)
		return Verdict{Allowed: true, Granted: n}
	}
	return Verdict{Kind: wire.BudgetActions, Until: used.room(b.limits.ActionsPerMin - n)}
}

// Output asks whether a piece of text may be shown. As much of it as fits is
// granted and counts.
func (b *MonitorBudget) Output(m wire.MonitorID, now time.Time, bytes int) Verdict {
	bytes = max(0, bytes)
	if m == PrimaryMonitor {
		return Verdict{Allowed: true, Granted: bytes}
	}
	used := &b.state(m).Output
	used.forget(now)
	granted := min(bytes, max(0, b.limits.OutputPerMin-used.sum()))
	used.add(now, granted)
	if granted == bytes {
		return Verdict{Allowed: true, Granted: bytes}
	}
	return Verdict{Granted: granted, Kind: wire.BudgetOutput, Until: used.room(b.limits.OutputPerMin - 1)}
}

// Denied reports whether a monitor may do nothing more of something, and until
// when. If that is true of both, it names what takes longer.
func (b *MonitorBudget) Denied(m wire.MonitorID, now time.Time) (wire.BudgetKind, time.Time, bool) {
	s := b.at(m, now)
	actions := s.Actions.room(b.limits.ActionsPerMin - 1)
	output := s.Output.room(b.limits.OutputPerMin - 1)
	switch {
	case actions.IsZero() && output.IsZero():
		return "", time.Time{}, false
	case output.After(actions):
		return wire.BudgetOutput, output, true
	}
	return wire.BudgetActions, actions, true
}

// Report is what a monitor has used, for people to see. It does not say that
// slots are denied: only who asked for one knows.
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
	s := b.at(m, now)
	r.Actions, r.Output = s.Actions.sum(), s.Output.sum()
	return r
}

// RemoveMonitor forgets a monitor and frees its slots.
func (b *MonitorBudget) RemoveMonitor(m wire.MonitorID) {
	delete(b.used, m)
	for holder, of := range b.slots {
		if of == m {
			delete(b.slots, holder)
		}
	}
}

// Clear forgets everything.
func (b *MonitorBudget) Clear() {
	b.slots = make(map[string]wire.MonitorID)
	b.used = make(map[wire.MonitorID]*BudgetState)
}

// State is a copy of what a monitor has used, to be kept. Slots are not in it:
// whoever runs turns asks for theirs again.
func (b *MonitorBudget) State(m wire.MonitorID) BudgetState {
	s := b.used[m]
	if s == nil {
		return BudgetState{}
	}
	return BudgetState{Actions: slices.Clone(s.Actions), Output: slices.Clone(s.Output)}
}

// Restore puts back what State returned.
func (b *MonitorBudget) Restore(m wire.MonitorID, s BudgetState) {
	if m == PrimaryMonitor {
		return
	}
	b.used[m] = &BudgetState{Actions: s.Actions.mended(), Output: s.Output.mended()}
}

// at is what counts at a time. It changes nothing, so that who only looks, maybe
// with another clock, does not make anything count shorter.
func (b *MonitorBudget) at(m wire.MonitorID, now time.Time) BudgetState {
	s := b.State(m)
	s.Actions.forget(now)
	s.Output.forget(now)
	return s
}

func (b *MonitorBudget) state(m wire.MonitorID) *BudgetState {
	s := b.used[m]
	if s == nil {
		s = &BudgetState{}
		b.used[m] = s
	}
	return s
}

// BudgetState is what a monitor used in the last minute.
type BudgetState struct {
	Actions Usage `json:"actions,omitempty"`
	Output  Usage `json:"output,omitempty"`
}
