package contextpool

import "github.com/everdesk/everdesk/wire"

// Gauges counts queued messages and turns, for metrics.
type Gauges struct {
	// Mains and Windows count the messages queued for main agents and for window agents.
	Mains, Windows int
	// Main, Ephemeral, Window and Task count the turns under way by kind of agent.
	Main, Ephemeral, Window, Task TurnGauge
}

// TurnGauge counts the turns that run and those that wait for a slot and a provider.
type TurnGauge struct{ Running, Waiting int }

func (t *TurnGauge) add(o TurnGauge) {
	t.Running += o.Running
	t.Waiting += o.Waiting
}

// Add adds the counts of o.
func (l *Gauges) Add(o *Gauges) {
	l.Mains += o.Mains
	l.Windows += o.Windows
	l.Main.add(o.Main)
	l.Ephemeral.add(o.Ephemeral)
	l.Window.add(o.Window)
	l.Task.add(o.Task)
}

// Gauges overwrites l with the pool's counts.
func (p *Pool) Gauges(l *Gauges) {
	*l = Gauges{}
	l.Mains, l.Windows = p.mainQueue.Total(), p.windowQueue.Total()
	for _, t := range p.turns {
		gauge := &l.Main
		switch t.Kind {
		case wire.AgentEphemeral:
			gauge = &l.Ephemeral
		case wire.AgentWindow:
			gauge = &l.Window
		case wire.AgentTask:
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
func (p *Pool) FirstRunMessage(run string) wire.MessageID {
	for _, t := range p.turns {
		if t.runID() == run && !t.running() && t.Attempt == 1 {
			return t.messageID()
		}
	}
	return ""
}
