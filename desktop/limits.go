package desktop

// How much there may be of everything. [State.Check] refuses what would be more;
// [State.Apply] leaves it out or drops the oldest.
const (
	MaxMonitors      = 4
	MaxWindows       = 100 // of all monitors
	MaxDialogs       = 50
	MaxPrompts       = 50
	MaxNotifications = 100 // then the oldest goes
	MaxToasts        = 50  // then the oldest goes
	MaxBadges        = 500
	MaxShortcuts     = 200
	MaxAgents        = 64       // then the oldest goes
	MaxQueued        = 200      // messages that wait for one monitor
	MaxRows          = 200      // then the oldest goes
	MaxRowBytes      = 1 << 20  // of all rows together, but for the newest
	MaxContent       = 1 << 20  // bytes of a window's content
	MaxBytes         = 16 << 20 // of all windows, questions, notices and shortcuts
	MaxAgentText     = 1 << 20  // bytes of what an agent says or thinks in a turn
	MaxTodos         = 50
	MaxHITLRequests  = 20  // questions of the plan
	MaxBound         = 1e6 // of a window's place and size
)

// How long things last when nothing else is said, in ms.
const (
	dialogMillis = 60_000
	promptMillis = 5 * 60_000
	toastMillis  = 5_000
)

// How much is kept of how a plan ended; the event has it all.
const (
	maxResponse  = 32 << 10 // bytes of the answer
	maxAvailable = 16 << 10 // bytes of what there is of a plan that was given up
)
