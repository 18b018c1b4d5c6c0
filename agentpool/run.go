package agentpool

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Run is one turn to run.
type Run struct {
	// ID is unique in the session, also among the attempts of one turn. Reports
	// carry it, so that what comes too late can be told.
	ID string
	// Agent is whose conversation it is: main-{monitor}, window-{key}, or the
	// role for agents that live for one turn.
	Agent string
	Role  wire.AgentID
	Kind  wire.AgentKind
	// Turn is the message that began the turn.
	Turn    wire.MessageID
	Monitor wire.MonitorID
	Window  wire.WindowID
	Profile string
	// Guest says that the turn is not the owner's.
	Guest bool
	// Provider is who is to think.
	Provider string
	// Prompt and Images are what the turn begins with. With Continue the turn
	// is one that was cut off and goes on; Done are the results it had.
	Prompt   string
	Images   []providers.Image
	Continue bool
	Done     map[string]providers.ToolResult
	// From is the conversation to go on with, unless the session runner has it open. With
	// Fork the turn runs on a copy that is thrown away.
	From providers.Thread
	Fork bool
	// Lasting keeps the conversation open for the agent's next turn. Who has it
	// kept also makes it shorter when it becomes too long.
	Lasting bool
	// System, unless it is empty, is all that the model is told about itself. Such
	// a run has no tools.
	System string
	// Job is the work for a plan that the run is, if it is that, and Todo what of
	// the plan it is for.
	Job  string
	Todo wire.TodoID
	// Slot is one that was reserved; without it the run waits for its turn.
	Slot *Slot
	// Attempt counts the runs of the turn from 1, and Waited is for how long the
	// message that began it had waited when the turn did.
	Attempt int
	Waited  time.Duration
}

// Steering is a message for a turn that runs.
type Steering struct {
	Run     string
	Message wire.MessageID
	Text    string
	Images  []providers.Image
}

// Report is what a session runner tells its session. It is one of the types below.
type Report interface{ RunID() string }

// Of is the run that a report is about.
type Of struct{ Run string }

// RunID is the run that the report is about.
func (o Of) RunID() string { return o.Run }

type (
	// Began says that the run has its slot and its provider.
	Began struct{ Of }
	// Said brings what the agent said and thought since the last one.
	Said struct {
		Of
		Text     string
		Thinking string
	}
	// SteerAccepted says that the model has a message that was steered.
	SteerAccepted struct {
		Of
		Message wire.MessageID
	}
	// SteerRefused says that the model will not get a message in this turn. It comes
	// before Ended, unless the message was steered when that was reported
	// already.
	SteerRefused struct {
		Of
		Message wire.MessageID
		// Ending says that the turn is over, and that Ended comes next.
		Ending bool
	}
	// Remember brings what to keep of the conversation. Entries follow those
	// before, and Took are the messages that are part of them; Thread is the
	// backend's name of it.
	Remember struct {
		Of
		Thread  string
		Entries []providers.Entry
		Took    []wire.MessageID
	}
	// Spent says what a call of the model took.
	Spent struct {
		Of
		Usage providers.Usage
	}
	// Shrunk says that the conversation was too long for the model, and what of it
	// that is not given any more.
	Shrunk struct {
		Of
		providers.Shrunk
	}
	// Retrying says that a call of the model failed and is tried again.
	Retrying struct {
		Of
		Why  string
		Wait time.Duration
	}
	// Ended is the last report of a run. Every run that was started has exactly
	// one, unless the session runner is closed.
	Ended struct {
		Of
		Outcome providers.Outcome
		// Failure is why a run failed.
		Failure *providers.Failure
		// Reason is why it was interrupted.
		Reason string
		Took   time.Duration
	}
)

// Sink is where reports go.
type Sink interface {
	// Report hands over a report, waiting while the session has too much to do,
	// and with [Began] until that is kept. It fails when the session is lost.
	Report(ctx context.Context, r Report) error
}
