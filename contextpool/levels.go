package contextpool

import "github.com/everdesk/everdesk/wire"

// Gauges counts queued messages and turns, for metrics.
type Levels struct {
	// Mains and Windows count the messages queued for main agents and for window agents.
	Mains, Windows int
	// Main, Ephemeral, Window and Task count the turns under way by kind of agent.
	Main, Ephemeral, Window, Task Turns
}

// TurnGauge counts the turns that run and those that wait for a slot and a provider.
type Turns struct{ Running, Waiting int }

func (t *Turns) add(o Turns) {
	t.Running += o.Running
	t.Waiting += o.Waiting
}

// Add adds the counts of o.
func (l *Levels) Add(o *Levels) {
	l.Mains += o.Mains
	l.Windows += o.Windows
	l.Main.add(o.Main)
	l.Ephemeral.add(o.Ephemeral)
	l.Window.add(o.Window)
	l.Task.add(o.Task)
}

// Gauges overwrites g with the pool's counts.
func (p *Pool) Levels(l *Levels) {
	*l = Levels{}
	l.Mains, l.Windows = p.mains.Total(), p.windows.Total()
	for _, t := range p.turns {
		of := &l.Main
		switch t.Kind {
		case wire.AgentEphemeral:
			of = &l.Ephemeral
		case wire.AgentWindow:
			of = &l.Window
		case wire.AgentTask:
			of = &l.Task
		case wire.AgentMain:
		}
		if t.State == turnRunning {
			of.Running++
		} else {
			of.Waiting++
		}
	}
}

// FirstRunMessage returns the message whose turn begins with the run, or "" if the turn has
// already begun. A restarted turn has already begun; a task has no message of its own.
func (p *Pool) Beginning(run string) wire.MessageID {
	for _, t := range p.turns {
		if t.run() == run && t.State != turnRunning && t.Attempt == 1 {
			return t.message()
		}
	}
	return ""
}
