package contextpool

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Overview is how the agents of a session are doing.
type Overview struct {
	// Running agents are at work, and Waiting messages have none yet.
	Running, Waiting int
	// Budget is how much of the fullest one is used, in per cent.
	Budget int
	Tally
}

// Tally counts the turns that ended since the pool was made.
type Tally struct {
	// Failed turns ended badly, the last one with the code LastFailure.
	Failed      int
	LastFailure wire.Code
	// Tokens were read and written, for that much money, in US dollars.
	Tokens int64
	Cost   float64
}

// ended counts a turn.
func (t *Tally) ended(outcome providers.Outcome, u providers.Usage) {
	if outcome == providers.Failed {
		t.Failed++
		t.LastFailure = wire.CodeExecutionFailed
	}
	t.Tokens += int64(max(u.Input, 0)) + int64(max(u.Output, 0)) + int64(max(u.CacheRead, 0)) + int64(max(u.CacheWrite, 0))
	t.Cost += max(u.USD, 0)
}

// Overview looks at everything from far. It changes nothing, like all that follows.
func (p *Pool) Overview() Overview {
	g := Overview{Running: p.Running(), Waiting: p.mains.Total() + p.windows.Total(), Tally: p.tally}
	for _, m := range p.step.Desk().Monitors() {
		used, _ := p.Used(m.MonitorID)
		g.Budget = max(g.Budget, used)
	}
	return g
}

// Used is how much of the budget of a monitor is used, in per cent, and whether it
// has one.
func (p *Pool) Used(monitor wire.MonitorID) (percent int, bounded bool) {
	if monitor == policies.PrimaryMonitor {
		return 0, false
	}
	b := p.budget.Report(monitor, p.step.Now())
	of := func(used, limit int) int { return min(100*used/max(limit, 1), 100) }
	return max(of(b.Actions, b.ActionsLimit), of(b.Output, b.OutputLimit)), true
}

// Waiting is a message that has no agent yet.
type Waiting struct {
	ID      wire.MessageID
	Monitor wire.MonitorID
	Window  wire.WindowID
	// Place is that in its queue, from 1.
	Place int
	Text  string
}

// Queued are all messages that wait, in the order in which they came.
func (p *Pool) Queued() []Waiting {
	var all []Waiting
	var arrived []uint64
	for _, q := range []*policies.Queue[*waiting]{p.mains, p.windows} {
		for _, key := range q.Keys() {
			for i, w := range q.All(key) {
				at, _ := slices.BinarySearch(arrived, w.Arrived)
				arrived = slices.Insert(arrived, at, w.Arrived)
				all = slices.Insert(all, at, Waiting{ID: w.ID, Monitor: w.Monitor, Window: w.Window, Place: i + 1, Text: w.Text})
			}
		}
	}
	return all
}

// Turn is a turn under way.
type Turn struct {
	Role    wire.AgentID
	Kind    wire.AgentKind
	Parent  wire.AgentID
	Monitor wire.MonitorID
	Window  wire.WindowID
	Message wire.MessageID
	// Taken are the newest messages that it has taken in besides.
	Taken    []wire.MessageID
	Provider string
	Attempt  int
	// Running says that it does not wait for a slot any more.
	Running bool
	// Stopping says that it is told to end.
	Stopping bool
	Started  wire.Millis
	// Tool is one that it uses now.
	Tool string
}

// Turns are all turns under way, the oldest first.
func (p *Pool) Turns() []Turn {
	sorted := p.sorted()
	all := make([]Turn, len(sorted))
	for i, t := range sorted {
		all[i] = Turn{
			Role: t.Role, Kind: t.Kind, Monitor: t.Monitor, Window: t.Window, Message: t.ID, Provider: t.Provider,
			Attempt: t.Attempt, Running: t.State == turnRunning, Stopping: t.Stopping != "", Started: t.Started, Taken: slices.Clone(t.Taken),
		}
		if parent := p.turns[t.Parent]; parent != nil {
			all[i].Parent = parent.Role
		}
		if t.Condensing != nil {
			all[i].Tool = condenseTool
		}
		for _, c := range t.calls {
			if !c.Ended {
				all[i].Tool = cmp.Or(all[i].Tool, c.Tool)
			}
		}
	}
	return all
}

// Lead is the agent whose turn an agent works for: that of the parent of a task, and of its
// parent, or else the agent itself.
func (p *Pool) Lead(agent wire.AgentID) wire.AgentID {
	for _, t := range p.turns {
		if parent := p.turns[t.Parent]; t.Role == agent && parent != nil {
			return p.Lead(parent.Role)
		}
	}
	return agent
}
