package contextpool

import (
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// StepWriter is the session's step that a [Pool] writes into.
type StepWriter interface {
	// Now returns the time of the step.
	Now() time.Time
	// Desk returns the desktop state, including everything emitted so far.
	Desk() *desktop.State
	// Emit adds an event to the step and folds it into the desktop.
	Emit(p wire.ServerPayload)
	// Answer adds MESSAGE_ACCEPTED, MESSAGE_QUEUED or MESSAGE_REJECTED, and stores it as the
	// reply to a repeated sending of the message.
	Answer(p wire.ServerPayload)
	// Row appends a row to the conversation that people see. It sets the row's id, which is
	// NextRow, and its timestamp, which identifies the row, and returns the timestamp.
	Row(r wire.UIRow) wire.Millis
	// NextRow returns the id of the next row.
	NextRow() wire.RowID
	// Rows returns the rows of a monitor's conversation from the row ts on, the oldest first,
	// or none if that row does not exist. It includes rows that the desktop state has dropped
	// and rows added in this step. With said the result begins with the user's newest message
	// at or before ts. It may read from the store.
	Rows(monitor wire.MonitorID, ts wire.Millis, said bool) ([]wire.UIRow, error)
	// Cold reads a cold list from the store: one that is not loaded when a session is opened.
	Cold(list string) ([][]byte, error)
	// Rewound removes rows: those in since, except those in stay.
	Rewound(r wire.HistoryRewound, since, stay []wire.UIRow)
	// Keep adds operations on the session's tables and lists to the step.
	Keep(ops ...store.Op)
	// Cancel closes the open questions of an agent whose turn has ended.
	Cancel(agent wire.AgentID)
	// JobEnded gives the result of a plan's job to the plan. It does not call back into the
	// pool.
	JobEnded(w workflow.JobResult)
	// Full reports whether the step should be committed before further work that can equally
	// begin in the next step.
	Full() bool
	// Then registers an effect that executes after the step is committed.
	Then(effect func())
}

// Runner executes the runs of the session's agents. Its methods do not block, except
// TryReserve, which accesses the store.
type Runner interface {
	// TryReserve reserves a slot, or returns nil if none is free now.
	TryReserve() *agentpool.Slot
	Start(r agentpool.Run)
	Steer(s agentpool.Steering)
	// Interrupt stops a run; an Ended report follows.
	Interrupt(run, reason string)
	// Dispose closes an agent's provider session and ends its run, if there is one, without
	// further reports.
	Dispose(agent string)
	// Cancel returns a reserved slot that is not used.
	Cancel(s *agentpool.Slot)
	// CanSteer reports whether the provider accepts messages while a turn runs. HasProvider
	// reports whether the provider exists. ContextWindow returns the size of its model's context
	// window in tokens, 0 if unknown.
	CanSteer(provider string) bool
	HasProvider(provider string) bool
	ContextWindow(provider string) int
	// Launch runs the launch hooks of the user's configuration.
	Launch()
}
