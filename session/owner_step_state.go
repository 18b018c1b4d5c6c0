package session

// stepState is how far an owner is with its current step.
type stepState uint8

const (
	stepIdle            stepState = iota // no item is being executed and no commit is open
	stepHandling                         // an item is being executed
	stepCommitting                       // the first attempt to commit the step is open
	stepUncertain                        // an attempt got no answer: the step may be committed
	stepBroken                           // final: the state is not what the log says
	stepBrokenUncertain                  // final: both of the above
	stepStateCount
)

// stepEvent is something that happens to the current step.
type stepEvent uint8

const (
	stepItemBegins    stepEvent = iota // the owner begins to execute an item
	stepItemEnds                       // the item is in the step
	stepAttemptBegins                  // the owner asks the store to commit the step
	stepCommitted                      // the store has committed the step
	stepUnanswered                     // the store did not say whether it has
	stepNotCommitted                   // the store refused the lease or found a gap: this attempt wrote nothing
	stepRefused                        // the store can never accept the step
	stepPanicked                       // the session's goroutine panicked
	stepEventCount
)

// stepOutput is what an event of a step causes. Events are published and effects run only after
// outputPublish: commit, then publish, then execute.
type stepOutput uint8

const (
	outputImpossible stepOutput = iota // the event cannot happen in this state
	outputNone
	outputPublish    // publish the events, then run the effects and finish the items
	outputRefuseItem // refuse the item that was being executed
	outputIsolate    // execute each item of the step in a step of its own
)

// stepChange is one cell of stepTable.
type stepChange struct {
	next stepState
	out  stepOutput
}

// stepTable has the next state and the output for each state and event. Cells that it leaves out
// cannot happen.
var stepTable = [stepStateCount][stepEventCount]stepChange{
	stepIdle: {
		stepItemBegins:    {stepHandling, outputNone},
		stepAttemptBegins: {stepCommitting, outputNone},
		stepPanicked:      {stepBroken, outputIsolate},
	},
	stepHandling: {
		stepItemEnds: {stepIdle, outputNone},
		stepPanicked: {stepBroken, outputRefuseItem},
	},
	stepCommitting: {
		stepCommitted:    {stepIdle, outputPublish},
		stepUnanswered:   {stepUncertain, outputNone},
		stepNotCommitted: {stepIdle, outputNone},
		stepRefused:      {stepBroken, outputIsolate},
		stepPanicked:     {stepBrokenUncertain, outputIsolate},
	},
	stepUncertain: {
		stepAttemptBegins: {stepUncertain, outputNone},
		stepCommitted:     {stepIdle, outputPublish},
		stepUnanswered:    {stepUncertain, outputNone},
		stepNotCommitted:  {stepUncertain, outputNone},
		stepRefused:       {stepBrokenUncertain, outputIsolate},
		stepPanicked:      {stepBrokenUncertain, outputIsolate},
	},
	stepBroken:          {stepPanicked: {stepBroken, outputIsolate}},
	stepBrokenUncertain: {stepPanicked: {stepBrokenUncertain, outputIsolate}},
}

// apply changes the state by an event and returns the output. An event that cannot happen changes
// nothing.
func (s *stepState) apply(e stepEvent) stepOutput {
	change := stepTable[*s][e]
	if change.out != outputImpossible {
		*s = change.next
	}
	return change.out
}

// isUncertain reports whether the step may be committed although the owner has no answer.
func (s stepState) isUncertain() bool {
	return s == stepCommitting || s == stepUncertain || s == stepBrokenUncertain
}

// isBroken reports whether the owner's state is not what the log says.
func (s stepState) isBroken() bool { return s == stepBroken || s == stepBrokenUncertain }

// copyState is the state of the store's copy of what it has acknowledged to an owner.
type copyState uint8

const (
	copyIntact    copyState = iota // the store has everything, as far as is known
	copyLost                       // the store lacks a part
	copyRewriting                  // the owner writes the session again and is not done
)

// copyEvent is something that happens to the store's copy.
type copyEvent uint8

const (
	copyGapFound      copyEvent = iota // the store lacks the batch before a step
	copyRewriteStarts                  // a new owner has inherited the state to write it again
	copyRewritten                      // everything is written again
)

// copyTable has the next state of the store's copy for each state and event. An owner that finds a
// gap ends; the next one here rewrites.
var copyTable = map[copyState]map[copyEvent]copyState{
	copyIntact:    {copyGapFound: copyLost, copyRewriteStarts: copyRewriting},
	copyLost:      {copyGapFound: copyLost},
	copyRewriting: {copyGapFound: copyRewriting, copyRewritten: copyIntact},
}

// copyOutput is something that depends on the store's copy.
type copyOutput uint8

const (
	copyServes  copyOutput = 1 << iota // the owner's state may be shown to tabs as committed
	copyRecords                        // accepted items are recorded in case the store loses them
	copyUnloads                        // an unused session may be unloaded
)

// copyOutputs has what each state allows.
var copyOutputs = map[copyState]copyOutput{
	copyIntact:    copyServes | copyRecords | copyUnloads,
	copyLost:      copyServes | copyRecords,
	copyRewriting: 0,
}

// apply changes the state by an event. An event that cannot happen changes nothing.
func (s *copyState) apply(e copyEvent) {
	if next, ok := copyTable[*s][e]; ok {
		*s = next
	}
}

// may reports whether the state allows an output.
func (s copyState) may(out copyOutput) bool { return copyOutputs[s]&out != 0 }
