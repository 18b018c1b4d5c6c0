package agui

import "github.com/everdesk/everdesk/wire"

// Follow makes the run show later turns of its monitor as well, each as a run of its own with the id of
// its message, until the client closes the connection. Call it before [Run.Attach].
func (r *Run) Follow() { r.follows = true }

// phaseAfter returns the phase after the final event.
func (r *Run) phaseAfter() phase {
	if r.follows {
		return phaseBetween
	}
	return phaseEnded
}

// hasEnded reports whether the final event of the present run was sent.
func (r *Run) hasEnded() bool { return r.phase == phaseEnded || r.phase == phaseBetween }

// beginNext begins the next run of a client that follows, if a turn runs that does not wait for an
// answer: a run must not end twice with the same question.
func (r *Run) beginNext() {
	turn := r.runningTurn()
	if turn == "" || r.isAsked(turn) {
		return
	}
	r.run, r.phase, r.calls, r.reasoning = string(turn), phaseWaiting, calls{}, reasoning{}
	r.emit(event{Type: typeRunStarted, ThreadID: r.thread, RunID: r.run})
	r.sendDocument()
	r.Attach("", false)
}

// isAsked reports whether a turn waits for the answer to a question.
func (r *Run) isAsked(turn wire.MessageID) bool {
	view := r.state.Snapshot()
	for _, q := range questionsOf(&view) {
		if q.turn == turn || turnOfAgent(&view, q.agent) == turn {
			return true
		}
	}
	return false
}
