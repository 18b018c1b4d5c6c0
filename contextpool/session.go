package contextpool

import (
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// Session is the session that a [Pool] works for, by role. One type may fill several roles.
type Session struct {
	Step  StepWriter
	Rows  RowLog
	State StateReader
	Ends  EndListener
}

// StepWriter is the session's step that a [Pool] writes into.
type StepWriter interface {
	// Now returns the time of the step. It does not change within a step.
	Now() time.Time
	// Emit adds an event to the step and folds it into the desktop state.
	Emit(p wire.ServerPayload)
	// EmitReply does what Emit does with MESSAGE_ACCEPTED, MESSAGE_QUEUED or MESSAGE_REJECTED,
	// and stores it as the reply to a repeated sending of the message.
	EmitReply(p wire.ServerPayload)
	// AddOps adds operations on the session's tables and lists to the step. The step commits
	// them together with its events, or neither.
	AddOps(ops ...store.Op)
	// AfterCommit registers an effect that executes after the step is committed, in the order
	// of registration. It does not execute if the commit fails.
	AfterCommit(effect func())
	// Full reports whether the step should be committed before further work that can equally
	// begin in the next step.
	Full() bool
}

// RowLog is the conversation of the session as people see it.
type RowLog interface {
	// AddRow appends a row. It sets the row's id, which is NextRowID, and its timestamp, which
	// identifies the row, and returns the timestamp.
	AddRow(r wire.UIRow) wire.Millis
	// NextRowID returns the id that AddRow gives to the next row.
	NextRowID() wire.RowID
	// RowsSince returns the rows of a monitor's conversation from the row ts on, the oldest
	// first, or none if that row does not exist. It includes rows that the desktop state has
	// dropped and rows added in this step. With said the result begins with the user's newest
	// message at or before ts. It may read from the store.
	RowsSince(monitor wire.MonitorID, ts wire.Millis, said bool) ([]wire.UIRow, error)
	// RemoveRows emits r and removes the rows in since, except those in stay.
	RemoveRows(r wire.HistoryRewound, since, stay []wire.UIRow)
}

// StateReader reads the state of the session.
type StateReader interface {
	// Desktop returns the desktop state, including everything emitted so far. The caller does
	// not change it.
	Desktop() *desktop.State
	// ReadColdList reads a whole cold list from the store: one that is not loaded when a session
	// is opened.
	ReadColdList(list string) ([][]byte, error)
}

// EndListener is notified of what ends, in the same step. Its methods do not call back into the pool.
type EndListener interface {
	// CancelQuestions closes the open questions of an agent whose turn has ended.
	CancelQuestions(agent wire.AgentID)
	// JobEnded gives the result of a plan's job to the plan.
	JobEnded(w workflow.JobResult)
	// ClientCallEnded gives the result of a program's tool call to the program, after the commit.
	ClientCallEnded(c ClientCall, r providers.ToolResult)
	// TitleEnded sets the title that a model found for the session. An empty title means that it found
	// none, for the reason.
	TitleEnded(title, reason string)
}

// Runner executes the runs of the session's agents. Its methods do not block, except
// TryReserve, which accesses the store.
type Runner interface {
	// TryReserve reserves a slot, or returns nil if none is free now.
	TryReserve() *agentpool.Slot
	// Start starts a run. Its reports follow, the last one is Ended.
	Start(r agentpool.Run)
	// Steer offers a message to a run. SteerAccepted or SteerRefused follows, after Ended if the
	// run is over.
	Steer(s agentpool.Steering)
	// Interrupt stops a run; an Ended report follows.
	Interrupt(run, reason string)
	// Dispose closes an agent's provider session and ends its run, if there is one, without
	// further reports.
	Dispose(agent string)
	// Launch runs the launch hooks of the user's configuration.
	Launch()
}

// Providers describes the providers of models.
type Providers interface {
	// HasProvider reports whether the provider exists.
	HasProvider(provider string) bool
	// FindProvider returns the name under which to store what the user means by a name, and whether
	// there is such a provider.
	FindProvider(name string) (provider string, exists bool)
	// DefaultProvider returns the user's own default of a role, or "".
	DefaultProvider(r profiles.Role) string
	// Caps returns the capabilities of the provider, none if it does not exist.
	Caps(provider string) providers.Caps
}
