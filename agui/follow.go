package agui

import (
	"strconv"

	"github.com/everdesk/everdesk/wire"
)

// Follow makes the run, when it has ended, go on with the next turn of the monitor's main agent, whoever
// began it, as a run of its own on the same stream. Call it before [Run.Attach].
func (r *Run) Follow() { r.follows = true }

// applyBetweenRuns takes an event after the end of a run. The next one begins with the next turn, or when
// the questions that the last one ended with are answered.
func (r *Run) applyBetweenRuns(e wire.Event) {
	if !r.follows {
		return
	}
	r.state.Apply(e)
	turn := r.runningTurn()
	if turn == "" {
		return
	}
	if started, ok := e.Data.(wire.TaskStarted); ok && started.MessageID == turn && turn != r.turn {
		r.runs, r.reasoning, r.calls = 0, reasoning{}, calls{}
		r.beginNext(turn)
		return
	}
	if r.asks && turn == r.turn && changesDocument(e.Data) && !r.hasQuestions() {
		r.beginNext(turn)
	}
}

// beginNext begins the run of a turn. The id of the first run is that of the turn's message, as if the
// client had sent it.
func (r *Run) beginNext(turn wire.MessageID) {
	r.runs++
	if r.run = string(turn); r.runs > 1 {
		r.run += "." + strconv.Itoa(r.runs)
	}
	r.phase, r.asks, r.known = phaseWaiting, false, nil
	clear(r.answered)
	r.emit(event{Type: typeRunStarted, ThreadID: r.thread, RunID: r.run})
	r.sendDocument()
	r.Attach("", false)
}

// hasQuestions reports whether the turn waits for answers.
func (r *Run) hasQuestions() bool {
	view := r.state.Snapshot()
	for _, q := range questionsOf(&view) {
		if q.agent != "" && q.agent == r.agent || q.turn != "" && q.turn == r.turn {
			return true
		}
	}
	return false
}
