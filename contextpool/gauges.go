package contextpool

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
