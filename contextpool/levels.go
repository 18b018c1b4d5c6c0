package contextpool

import "github.com/everdesk/everdesk/wire"

// Levels is how much of something there is.
type Levels struct {
	// Mains and Windows are messages that wait for an agent of a monitor or of a window.
	Mains, Windows int
	// Main, Ephemeral, Window and Task are the turns under way of that kind of agents.
	Main, Ephemeral, Window, Task Turns
}

// Turns are those that run and those that wait for a slot and a provider.
type Turns struct{ Running, Waiting int }

func (t *Turns) add(o Turns) {
	t.Running += o.Running
	t.Waiting += o.Waiting
}

// Add adds others.
func (l *Levels) Add(o *Levels) {
	l.Mains += o.Mains
	l.Windows += o.Windows
	l.Main.add(o.Main)
	l.Ephemeral.add(o.Ephemeral)
	l.Window.add(o.Window)
	l.Task.add(o.Task)
}

// Levels counts into l.
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

// Beginning is the message whose turn begins with a run, if it is one that has not
// begun yet. A turn that was cut off has; a task has no message of its own.
func (p *Pool) Beginning(run string) wire.MessageID {
	for _, t := range p.turns {
		if t.run() == run && t.State != turnRunning && t.Attempt == 1 {
			return t.message()
		}
	}
	return ""
}
