package contextpool

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Overview summarises the agents of a session.
type Overview struct {
	// Running counts the executing agents, and Waiting the queued messages.
	Running, Waiting int
	// Budget is the used percentage of the budget of the monitor that has used most of its
	// budget.
	Budget int
	Totals
}

// Totals sums up the turns that ended since the pool was created.
type Totals struct {
	// Failed counts failed turns; LastFailure is the code of the last one.
	Failed      int
	LastFailure wire.Code
	// Tokens counts input and output tokens, Cost is in US dollars.
	Tokens int64
	Cost   float64
}

// addTurn counts an ended turn.
func (t *Totals) addTurn(outcome providers.Outcome, u providers.Usage) {
	if outcome == providers.Failed {
		t.Failed++
		t.LastFailure = wire.CodeExecutionFailed
	}
	t.Tokens += int64(max(u.Input, 0)) + int64(max(u.Output, 0)) + int64(max(u.CacheRead, 0)) + int64(max(u.CacheWrite, 0))
	t.Cost += max(u.USD, 0)
}

// Overview returns the current overview. Like all methods below it changes nothing.
func (p *Pool) Overview() Overview {
	g := Overview{Running: p.RunningAgents(), Waiting: p.mainQueue.Total() + p.windowQueue.Total(), Totals: p.totals}
	for _, m := range p.state.Desktop().Monitors() {
		used, _ := p.BudgetUsed(m.MonitorID)
		g.Budget = max(g.Budget, used)
	}
	return g
}

// BudgetUsed returns the used percentage of the monitor's budget, and whether the monitor has
// one.
func (p *Pool) BudgetUsed(monitor wire.MonitorID) (percent int, bounded bool) {
	if monitor == policies.PrimaryMonitor {
		return 0, false
	}
	b := p.budget.Report(monitor, p.step.Now())
	percentOf := func(used, limit int) int { return min(100*used/max(limit, 1), 100) }
	return max(percentOf(b.Actions, b.ActionsLimit), percentOf(b.Output, b.OutputLimit)), true
}

// QueuedMessage is a queued message, for display.
type QueuedMessage struct {
	ID      wire.MessageID
	Monitor wire.MonitorID
	Window  wire.WindowID
	// Place is the position in the queue, from 1.
	Place int
	Text  string
}

// QueuedMessages returns all queued messages in the order of their arrival.
func (p *Pool) QueuedMessages() []QueuedMessage {
	var all []QueuedMessage
	var arrived []uint64
	for _, q := range []*policies.Queue[*queuedMessage]{p.mainQueue, p.windowQueue} {
		for _, key := range q.Keys() {
			for i, w := range q.All(key) {
				at, _ := slices.BinarySearch(arrived, w.Arrived)
				arrived = slices.Insert(arrived, at, w.Arrived)
				all = slices.Insert(all, at, QueuedMessage{ID: w.ID, Monitor: w.Monitor, Window: w.Window, Place: i + 1, Text: w.Text})
			}
		}
	}
	return all
}

// Turn is a turn under way, for display.
type Turn struct {
	Role    wire.AgentID
	Kind    wire.AgentKind
	Parent  wire.AgentID
	Monitor wire.MonitorID
	Window  wire.WindowID
	Message wire.MessageID
	// Taken are the messages that the turn answers.
	Taken    []wire.MessageID
	Provider string
	Attempt  int
	// Running says that the turn has a slot and executes.
	Running bool
	// Stopping says that the turn is being stopped.
	Stopping bool
	Started  wire.Millis
	// Tool is a tool in use, empty if there is none.
	Tool string
}

// Turns returns all turns under way, the oldest first.
func (p *Pool) Turns() []Turn {
	sorted := p.sortedTurns()
	all := make([]Turn, len(sorted))
	for i, t := range sorted {
		all[i] = Turn{
			Role: t.Role, Kind: t.Kind, Monitor: t.Monitor, Window: t.Window, Message: t.ID, Provider: t.Provider,
			Attempt: t.Attempt, Running: t.running(), Stopping: t.stopping(), Started: t.Started, Taken: slices.Clone(t.Taken),
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

// RootAgent returns the agent at the top of the chain of parents of the agent's turn; an agent
// without a parent is its own root.
func (p *Pool) RootAgent(agent wire.AgentID) wire.AgentID {
	for _, t := range p.turns {
		if parent := p.turns[t.Parent]; t.Role == agent && parent != nil {
			return p.RootAgent(parent.Role)
		}
	}
	return agent
}
