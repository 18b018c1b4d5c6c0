package contextpool

// turnState is the state of a turn.
type turnState string

// States of a turn. The states of a turn that is being stopped still say whether it has a run and whether that
// executes.
const (
	// turnAccepted: the turn has a run that waits for a slot and a provider.
	turnAccepted turnState = "accepted"
	// turnRunning: the run executes.
	turnRunning turnState = "running"
	// turnParked: a new owner has found the turn waiting for its tasks. It has no run until they
	// have ended.
	turnParked turnState = "waiting"
	// turnAcceptedStopping, turnRunningStopping and turnParkedStopping: the turn was in the state
	// that the name begins with when it was stopped, and ends soon.
	turnAcceptedStopping turnState = "accepted, stopping"
	turnRunningStopping  turnState = "running, stopping"
	turnParkedStopping   turnState = "waiting, stopping"
	// turnEnded: the turn is not under way any more.
	turnEnded turnState = "ended"
)

// turnEvent is what happens to a turn.
type turnEvent string

// Events of a turn.
const (
	// runBegan: the runner reports that the run has a slot and begins.
	runBegan turnEvent = "run began"
	// runRestarted: the turn gets another run, because a new owner has found it, its thread was
	// truncated, or the tasks that it waited for have ended.
	runRestarted turnEvent = "run restarted"
	// ownerChanged: a new owner has found the turn and decides next what becomes of it. The turn has
	// no run until runRestarted. It stays running, so that recovery can count the cut.
	ownerChanged turnEvent = "owner changed"
	// tasksAwaited: the new owner starts no run, because the turn only waits for tasks.
	tasksAwaited turnEvent = "tasks awaited"
	// stopRequested: the turn is to end as soon as its run can be interrupted.
	stopRequested turnEvent = "turn stopped"
	// abortRequested: the turn is to end in this step, without its run. Its tasks end first.
	abortRequested turnEvent = "turn aborted"
	// endReached: the turn ends now.
	endReached turnEvent = "turn over"
)

// turnChange is the effect of an event: the next state, and whether the run is interrupted.
type turnChange struct {
	next         turnState
	interruptRun bool
}

// turnChanges lists the allowed events of each state. Any other event has no effect.
var turnChanges = map[turnState]map[turnEvent]turnChange{
	turnAccepted: {
		runBegan:       {next: turnRunning},
		runRestarted:   {next: turnAccepted},
		ownerChanged:   {next: turnAccepted},
		tasksAwaited:   {next: turnParked},
		stopRequested:  {next: turnAcceptedStopping, interruptRun: true},
		abortRequested: {next: turnAcceptedStopping},
		endReached:     {next: turnEnded},
	},
	turnRunning: {
		runRestarted:   {next: turnAccepted},
		ownerChanged:   {next: turnRunning},
		tasksAwaited:   {next: turnParked},
		stopRequested:  {next: turnRunningStopping, interruptRun: true},
		abortRequested: {next: turnRunningStopping},
		endReached:     {next: turnEnded},
	},
	turnParked: {
		runRestarted:   {next: turnAccepted},
		ownerChanged:   {next: turnAccepted},
		stopRequested:  {next: turnParkedStopping},
		abortRequested: {next: turnParkedStopping},
		endReached:     {next: turnEnded},
	},
	turnAcceptedStopping: {
		runBegan:       {next: turnRunningStopping},
		ownerChanged:   {next: turnAcceptedStopping},
		abortRequested: {next: turnAcceptedStopping},
		endReached:     {next: turnEnded},
	},
	turnRunningStopping: {
		ownerChanged:   {next: turnRunningStopping},
		abortRequested: {next: turnRunningStopping},
		endReached:     {next: turnEnded},
	},
	turnParkedStopping: {
		ownerChanged:   {next: turnAcceptedStopping},
		abortRequested: {next: turnParkedStopping},
		endReached:     {next: turnEnded},
	},
	turnEnded: {},
}

// turnTrait is what a state means for other parts and for the store.
type turnTrait struct {
	// stored is the stored state. The stored reason says whether the turn is being stopped.
	stored turnState
	// running says that the turn executes, and stopping that it accepts no tool calls, messages
	// and tasks any more.
	running, stopping bool
	// parked says that the turn has no run and ends or continues with the last of its tasks.
	parked bool
}

// turnTraits lists the traits of the states.
var turnTraits = map[turnState]turnTrait{
	turnAccepted:         {stored: turnAccepted},
	turnRunning:          {stored: turnRunning, running: true},
	turnParked:           {stored: turnParked, parked: true},
	turnAcceptedStopping: {stored: turnAccepted, stopping: true},
	turnRunningStopping:  {stored: turnRunning, running: true, stopping: true},
	turnParkedStopping:   {stored: turnParked, parked: true, stopping: true},
	turnEnded:            {stored: turnEnded, stopping: true},
}

// MarshalText returns the stored form of a state.
func (s turnState) MarshalText() ([]byte, error) { return []byte(turnTraits[s].stored), nil }

// restoredState returns the state of a turn under way from its stored state and the stored reason
// for stopping it. An unknown state means accepted: a newer hub may have written it.
func restoredState(stored turnState, stopReason string) turnState {
	stopping := stopReason != ""
	for s, trait := range turnTraits {
		if trait.stored == stored && trait.stopping == stopping && s != turnEnded {
			return s
		}
	}
	if stopping {
		return turnAcceptedStopping
	}
	return turnAccepted
}

// apply changes the state of the turn by an event. ok is false if the state does not allow the
// event; then the turn is unchanged. The caller stores the turn.
func (t *turn) apply(e turnEvent) (c turnChange, ok bool) {
	if c, ok = turnChanges[t.State][e]; ok {
		t.State = c.next
	}
	return c, ok
}

// abort prepares a turn to end in this step, with a reason that replaces an earlier one. Its
// entries in the thread do not count any more.
func (t *turn) abort(reason string) {
	t.apply(abortRequested)
	t.StopReason, t.InThread = reason, false
}

// running reports whether the turn executes.
func (t *turn) running() bool { return turnTraits[t.State].running }

// stopping reports whether the turn is being stopped or has ended.
func (t *turn) stopping() bool { return turnTraits[t.State].stopping }

// parked reports whether the turn has no run and only waits for its tasks.
func (t *turn) parked() bool { return turnTraits[t.State].parked }
