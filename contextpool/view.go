package contextpool

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// View reads the state of a [Pool]. Its methods change nothing.
type View struct {
	*services
	budget *monitorBudget
	turns  *turnSet
	tasks  *taskList
	queues *queues
	router *router
}

// Gauges overwrites l with the pool's counts.
func (v *View) Gauges(l *Gauges) {
	*l = Gauges{}
	l.Mains, l.Windows = v.queues.main.Total(), v.queues.window.Total()
	for _, t := range v.turns.byKey {
		gauge := &l.Main
		switch t.Kind {
		case wire.AgentEphemeral:
			gauge = &l.Ephemeral
		case wire.AgentWindow:
			gauge = &l.Window
		case wire.AgentTask, wire.AgentClient:
			gauge = &l.Task
		case wire.AgentMain:
		}
		if t.running() {
			gauge.Running++
		} else {
			gauge.Waiting++
		}
	}
}

// FirstRunMessage returns the message whose turn begins with the run, or "" if the turn has
// already begun. A restarted turn has already begun; a task has no message of its own.
func (v *View) FirstRunMessage(run string) wire.MessageID {
	for _, t := range v.turns.byKey {
		if t.runID() == run && !t.running() && t.Attempt == 1 {
			return t.messageID()
		}
	}
	return ""
}

// HasJob reports whether the job is under way.
func (v *View) HasJob(name string) bool { return v.turns.ofJob(name) != nil }

// Overview summarises the agents of a session.
type Overview struct {
	// Running counts the executing agents, and Waiting the queued messages.
	Running, Waiting int
	// Budget is the used percentage of the budget of the monitor that has used most of its
	// budget.
	Budget int
	Totals
}

// Overview returns the current overview. Like all methods below it changes nothing.
func (v *View) Overview() Overview {
	g := Overview{Running: v.RunningAgents(), Waiting: v.queues.main.Total() + v.queues.window.Total(), Totals: v.tasks.totals}
	for _, m := range v.state.Desktop().Monitors() {
		used, _ := v.BudgetUsed(m.MonitorID)
		g.Budget = max(g.Budget, used)
	}
	return g
}

// BudgetUsed returns the used percentage of the monitor's budget, and whether the monitor has
// one.
func (v *View) BudgetUsed(monitor wire.MonitorID) (percent int, bounded bool) {
	if monitor == policies.PrimaryMonitor {
		return 0, false
	}
	b := v.budget.report(monitor)
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
func (v *View) QueuedMessages() []QueuedMessage {
	var all []QueuedMessage
	var arrived []uint64
	for _, q := range []*policies.Queue[*queuedMessage]{v.queues.main, v.queues.window} {
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
func (v *View) Turns() []Turn {
	sorted := v.turns.sorted()
	all := make([]Turn, len(sorted))
	for i, t := range sorted {
		all[i] = Turn{
			Role: t.Role, Kind: t.Kind, Monitor: t.Monitor, Window: t.Window, Message: t.ID, Provider: t.Provider,
			Attempt: t.Attempt, Running: t.running(), Stopping: t.stopping(), Started: t.Started, Taken: slices.Clone(t.Taken),
		}
		if parent := v.turns.byKey[t.Parent]; parent != nil {
			all[i].Parent = parent.Role
		}
		if t.Condensing != nil {
			all[i].Tool = condenseTool
		}
		if t.isTitling() {
			all[i].Tool = titleTool
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
func (v *View) RootAgent(agent wire.AgentID) wire.AgentID {
	for _, t := range v.turns.byKey {
		if parent := v.turns.byKey[t.Parent]; t.Role == agent && parent != nil {
			return v.RootAgent(parent.Role)
		}
	}
	return agent
}

// Provider returns the provider of turns that begin now: the chosen one if it exists, else the
// default.
func (v *View) Provider() string { return v.turns.provider() }

// Busy reports whether there is a turn under way or a queued message.
func (v *View) Busy() bool {
	return len(v.turns.byKey) > 0 || v.queues.main.Total() > 0 || v.queues.window.Total() > 0
}

// RunningAgents counts the agents that are executing. Agents that wait for a slot or for their
// tasks do not count.
func (v *View) RunningAgents() int {
	running, parents := 0, map[string]bool{}
	for _, t := range v.turns.byKey {
		if t.running() {
			running++
			if parent := v.turns.byKey[t.Parent]; parent != nil && parent.running() {
				parents[t.Parent] = true
			}
		}
	}
	return running - len(parents)
}

// TurnActive reports whether the caller's turn is under way and not being stopped.
func (v *View) TurnActive(c tools.Caller) bool {
	t := v.turns.ofCaller(c)
	return t != nil && !t.stopping()
}

// QueuedCount returns the number of queued messages.
func (v *View) QueuedCount() int { return v.queues.main.Total() + v.queues.window.Total() }

// LastBegun returns the queued message that began a turn last in this step, or "". If the step
// is too large to be stored and no command caused it, this message did: the step was not full
// before it.
func (v *View) LastBegun() wire.MessageID { return v.router.lastBegun }
