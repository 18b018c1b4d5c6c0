package contextpool

import (
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// StepWriter is the step of the session that a [Pool] writes into.
type StepWriter interface {
	// Now is the time of the step.
	Now() time.Time
	// Desk is the desktop with everything that was emitted so far.
	Desk() *desktop.State
	// Emit adds an event to the step and folds it into the desktop.
	Emit(p wire.ServerPayload)
	// Answer adds MESSAGE_ACCEPTED, MESSAGE_QUEUED or MESSAGE_REJECTED, and
	// remembers it for when the message is sent again.
	Answer(p wire.ServerPayload)
	// Row adds a row to the conversation that people see. It sets the row's id,
	// which is NextRow, and its time, which is its name, and returns the latter.
	Row(r wire.UIRow) wire.Millis
	// NextRow is the id that the next row will have.
	NextRow() wire.RowID
	// Rows are the rows of a monitor's conversation from one on, the oldest first,
	// also those that the desktop has forgotten, or none if that one is not there.
	// With said they begin with what the user said last until then. It may ask the
	// store; what the step has added already is among them.
	Rows(monitor wire.MonitorID, ts wire.Millis, said bool) ([]wire.UIRow, error)
	// Cold is a list that a new owner is not given, as the store has it.
	Cold(list string) ([][]byte, error)
	// Rewound takes rows away: all since one of them, but for those that stay.
	Rewound(r wire.HistoryRewound, since, stay []wire.UIRow)
	// Keep adds a change of the session's tables and lists.
	Keep(ops ...store.Op)
	// Cancel closes the questions of an agent that nobody needs any more.
	Cancel(agent wire.AgentID)
	// Worked hands over what came of a job of a plan. It does not call back.
	Worked(w workflow.Worked)
	// Full reports whether the step is to be committed before more is begun that
	// could as well begin in the next.
	Full() bool
	// Then does something after the step is committed.
	Then(effect func())
}

// Runner is who runs the agents. Its methods do not wait, but for TryReserve, which
// asks the store.
type Runner interface {
	// TryReserve takes a slot if one is free right now, else nil.
	TryReserve() *agentpool.Slot
	Start(r agentpool.Run)
	Steer(s agentpool.Steering)
	// Interrupt ends a run; Ended follows.
	Interrupt(run, reason string)
	// Dispose forgets an agent's conversation and ends its run, if there is
	// one; nothing is reported any more.
	Dispose(agent string)
	// Cancel gives back a slot that was reserved and is not used.
	Cancel(s *agentpool.Slot)
	// Steers reports whether the provider takes messages while a turn runs, Has
	// whether it exists. Reads is how many tokens its model reads, if known.
	Steers(provider string) bool
	Has(provider string) bool
	Reads(provider string) int
	// Launch runs what the user wants to happen when a desktop begins.
	Launch()
}
