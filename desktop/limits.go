package desktop

// Bounds of the state. [State.Check] refuses actions that would exceed them; [State.Apply]
// ignores the excess or drops the oldest.
const (
	MaxMonitors      = 4
	MaxWindows       = 100 // on all monitors
	MaxDialogs       = 50
	MaxPrompts       = 50
	MaxNotifications = 100 // beyond it the oldest is dropped
	MaxToasts        = 50  // beyond it the oldest is dropped
	MaxBadges        = 500
	MaxShortcuts     = 200
	MaxAgents        = 64       // beyond it the oldest is dropped
	MaxQueued        = 200      // per monitor
	MaxRows          = 200      // beyond it the oldest is dropped
	MaxRowBytes      = 1 << 20  // of all rows together; the newest always stays
	MaxContent       = 1 << 20  // bytes of a window's content
	MaxBytes         = 16 << 20 // of all windows, questions, notices and shortcuts
	MaxAgentText     = 1 << 20  // bytes of an agent's text or thinking in a turn
	MaxTodos         = 50
	MaxHITLRequests  = 20  // open questions of the plan
	MaxBound         = 1e6 // of a window's position and size
)

// Default durations in milliseconds.
const (
	dialogMillis = 60_000
	promptMillis = 5 * 60_000
	toastMillis  = 5_000
)

// Bounds of the stored outcome of a plan; the event has all of it.
const (
	maxResponse  = 32 << 10 // bytes of the answer
	maxAvailable = 16 << 10 // bytes of the partial results of a failed plan
)
