package agui

// Follow makes the run show later turns of its monitor as well, each as a run of its own with the id of
// its message, until the client closes the connection. What changes in the document between turns is
// sent in runs with the id of the request. Call it before [Run.Attach].
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

// goOn begins the next run of a client that follows, unless the turn waits for an answer: a run must not
// end twice with the same question. A turn that runs is shown; otherwise only the document may have changed.
func (r *Run) goOn() {
	turn := r.turns.running()
	switch {
	case turn == "":
		r.sendChangesAlone()
	case !r.turns.isAsked(turn):
		r.run, r.phase, r.calls, r.reasoning = string(turn), phaseWaiting, calls{}, reasoning{}
		r.emit(event{Type: typeRunStarted, ThreadID: r.thread, RunID: r.run})
		r.sendDocument()
		r.Attach("", false)
	}
}

// leavesPlan ends the run of a plan for a turn of the main agent, which began meanwhile and may be short.
// It reports whether it did. The plan is shown again after that turn.
func (r *Run) leavesPlan() bool {
	turn := r.turns.running()
	if r.phase != phaseRunning || !r.ownsPlan() || turn == "" || turn == r.turn || r.turns.isAsked(turn) {
		return false
	}
	r.finish(nil, nil)
	r.goOn()
	return true
}

// sendChangesAlone sends a run that only changes the document, if that has changed. A question that was
// withdrawn with its turn is one of these changes.
func (r *Run) sendChangesAlone() {
	view := r.state.Snapshot()
	if len(patch(r.document, documentOf(&view))) == 0 {
		return
	}
	r.run, r.phase = r.request, phaseWaiting
	r.emit(event{Type: typeRunStarted, ThreadID: r.thread, RunID: r.run})
	r.sendChanges()
	r.finish(nil, nil)
}
