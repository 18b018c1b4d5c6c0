package agui

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/internal/turntext"
	"github.com/everdesk/everdesk/wire"
)

// phase is what a run does. It only moves forward, except that a run which follows later turns begins
// again.
type phase uint8

// The phases.
const (
	phaseWaiting phase = iota // its message is not accepted yet
	phaseRunning              // its turn runs
	phaseEnded                // it has sent its final event
	phaseBetween              // it has sent the final event of one turn and waits for the next, see [Run.Follow]
)

// maxDeltas is the number of patches after which the whole document is sent again. Clients skip a
// patch that they cannot apply without a word, so a mistake must not last.
const maxDeltas = 100

// Run is one run of an AG-UI client: it translates the events of a session's log. Make it with
// [NewRun]; after each other call send the events of [Run.Take].
type Run struct {
	thread, run   string
	request       string // the run that the request named
	modern        bool
	monitor       wire.MonitorID
	known         []chat // the client's conversation
	answers       answers
	frontendTools frontendTools

	state    *desktop.State
	turns    turnFinder // in state
	document document   // as the client has it
	deltas   int

	phase   phase
	follows bool           // later turns are shown as well
	own     wire.MessageID // the message whose end ends the run
	turn    wire.MessageID // the message that began the turn that the run shows
	agent   wire.AgentID   // of that turn

	text      turntext.Sent
	textOpen  bool // its message was started
	reasoning reasoning
	calls     calls
	steps     map[wire.TodoID]string // names of open steps
	out       [][]byte
}

// NewRun returns a run for a request. It begins with the state of the session, which later
// events continue.
func NewRun(in *Input, id wire.SessionID, state wire.SessionState) *Run {
	r := &Run{
		thread: in.ThreadID, run: in.RunID, request: in.RunID, modern: in.Modern(), monitor: in.Monitor(),
		state: desktop.New(id), answers: answers{}, steps: map[wire.TodoID]string{},
	}
	for _, m := range in.Messages {
		r.known = append(r.known, chat{ID: m.ID, Role: m.Role, ToolCallID: m.ToolCallID, raw: m.raw})
	}
	r.known = bounded(r.known) // the rest of the request is released
	for _, t := range in.Tools {
		r.frontendTools = append(r.frontendTools, t.Name)
	}
	r.turns = turnFinder{state: r.state, monitor: r.monitor}
	r.state.Apply(wire.Event{Session: id, Data: state})
	r.emit(event{Type: typeRunStarted, ThreadID: r.thread, RunID: r.run})
	r.sendDocument()
	return r
}

// Take returns the events since the last call, encoded as JSON.
func (r *Run) Take() [][]byte {
	out := r.out
	r.out = nil
	return out
}

// Ended reports whether the final event has been taken or waits to be.
func (r *Run) Ended() bool { return r.phase == phaseEnded }

// Progress is the progress of the message of a run.
type Progress struct {
	Message wire.MessageID // its end ends the run; "" if there is none
	Waits   bool           // it was sent and waits for its agent
	// Agent is that whose running turn the message began, or the client attached to; "" if there is none, or if the
	// message joined the turn of another one.
	Agent wire.AgentID
}

// Progress returns the progress of the run's message.
func (r *Run) Progress() Progress {
	p := Progress{Message: r.own, Waits: r.phase == phaseWaiting && r.own != ""}
	if r.phase == phaseRunning && r.turn == r.own {
		p.Agent = r.agent
	}
	return p
}

// FindMessage returns the agent that executes the turn which a message began, if one does, and whether the message
// waits for its agent.
func FindMessage(s *wire.SessionState, message wire.MessageID) (agent wire.AgentID, isQueued bool) {
	for _, a := range s.Agents {
		if a.MessageID == message && a.Status != wire.AgentStatusIdle {
			agent = a.Role
		}
	}
	for _, queue := range s.Queues {
		isQueued = isQueued || slices.ContainsFunc(queue.Value, func(q wire.QueuedMessage) bool { return q.ID == message })
	}
	return agent, isQueued
}

// Monitor returns the monitor that the run shows.
func (r *Run) Monitor() wire.MonitorID { return r.monitor }

// Expect makes the run wait for a message that was just sent.
func (r *Run) Expect(own wire.MessageID) { r.own, r.turn = own, own }

// Attach makes the run show the turn of a message from its beginning, which a client may have seen in part: a
// snapshot of the messages replaces that part. A turn that has ended ends the run. An unknown one ends it as
// well, unless wait says that the log will still show it.
//
// With message "" the run sends the conversation of the monitor and shows the turn of its main agent, if
// one runs.
//
// A state has the newest rows only. Add those that [Run.NeedsRows] asks for before.
func (r *Run) Attach(message wire.MessageID, wait bool) {
	defer func() { r.turns.older = nil }()
	if message == "" {
		r.turns.trim(r.known)
		r.updateKnown()
		r.emit(event{Type: typeMessagesSnapshot, Messages: &r.known})
		if r.join(r.turns.running()) {
			r.emit(activities(r.turn, r.turns.rows())...)
			r.checkQuestions()
		} else {
			r.finish(nil, nil)
		}
		return
	}
	turn := cmp.Or(r.turns.joined(message), message)
	running := r.join(turn)
	rows := r.turns.rows()
	text := r.text.String()
	if !running {
		text = textOfRows(rows, turn)
	}
	// A client keeps what it has of a turn whose rows are gone.
	if running || wait || slices.ContainsFunc(rows, func(row wire.UIRow) bool { return row.MessageID == turn }) {
		r.sendTurn(turn, text)
		r.emit(activities(turn, rows)...)
	}
	end, ended := r.turns.end(turn)
	reason, refused := r.turns.refusal(message)
	switch {
	case running:
		r.own = message
		r.checkQuestions()
	case ended:
		r.end(end)
	case refused:
		r.Fail("rejected", reason)
	case wait || r.turns.isQueued(message):
		r.Expect(message)
	default:
		r.finish(nil, nil)
	}
}

// Restore replaces the state of the run with the present one, because the log no longer has what followed the
// last event. It returns the message for which [Run.NeedsRows] is to be asked before [Run.Continue].
func (r *Run) Restore(state wire.SessionState) (message wire.MessageID) {
	r.closeAll()
	clear(r.answers) // the log may have lost them or their refusals: questions that are open now are asked again
	r.state.Apply(wire.Event{Session: r.state.Session(), Data: state})
	if r.phase == phaseBetween {
		return ""
	}
	return r.own
}

// Continue continues the run after [Run.Restore].
func (r *Run) Continue() {
	if r.phase == phaseBetween {
		r.goOn()
		return
	}
	r.sendDocument()
	waits := r.phase == phaseWaiting
	r.Attach(r.own, waits)
}

// join makes the run show a turn if it runs, from what it has said so far.
func (r *Run) join(turn wire.MessageID) bool {
	i := slices.IndexFunc(r.state.Agents(), func(a wire.AgentState) bool {
		return a.MessageID == turn && a.Status != wire.AgentStatusIdle
	})
	if turn == "" || i < 0 {
		return false
	}
	r.own, r.turn, r.agent, r.phase = turn, turn, r.state.Agents()[i].Role, phaseRunning
	r.text.Reset(r.state.AgentText(r.agent))
	r.joinReasoning()
	return true
}

// updateKnown adds the newest messages to the conversation that the client has.
func (r *Run) updateKnown() { r.known = bounded(conversation(r.turns, r.known)) }

// sendTurn replaces what the client has of a turn.
func (r *Run) sendTurn(turn wire.MessageID, text string) {
	all := turnConversation(r.turns.rows(), r.known, turn, r.turns.thinking(turn), text)
	r.emit(event{Type: typeMessagesSnapshot, Messages: &all})
}

// Fail ends the run with an error, unless it has ended.
func (r *Run) Fail(code, message string) {
	if r.hasEnded() {
		return
	}
	r.closeAll()
	r.phase = r.phaseAfter()
	r.out = append(r.out, RunError(code, message))
}

// finish ends the run.
func (r *Run) finish(o *outcome, u []usage) {
	if r.hasEnded() {
		return
	}
	r.closeAll()
	r.phase = r.phaseAfter()
	if !r.modern {
		u = nil
	}
	r.emit(event{Type: typeRunFinished, ThreadID: r.thread, RunID: r.run, Outcome: o, Usage: u})
}

// closeAll closes what is open: clients reject a run that ends with an open part.
func (r *Run) closeAll() {
	r.closeReasoning()
	r.closeText()
	for _, name := range r.steps {
		r.emit(event{Type: typeStepFinished, StepName: name})
	}
	clear(r.steps)
}

func (r *Run) emit(events ...event) {
	for _, e := range events {
		r.out = append(r.out, encode(e))
	}
}

// sendDocument sends the whole document.
func (r *Run) sendDocument() {
	view := r.state.Snapshot()
	r.document, r.deltas = documentOf(&view), 0
	r.emit(event{Type: typeStateSnapshot, Snapshot: r.document})
}

// sendChanges sends what has changed in the document.
func (r *Run) sendChanges() {
	view := r.state.Snapshot()
	now := documentOf(&view)
	changes := patch(r.document, now)
	if len(changes) == 0 {
		return
	}
	if r.deltas++; r.deltas > maxDeltas {
		r.sendDocument()
		return
	}
	r.document = now
	r.emit(event{Type: typeStateDelta, Delta: changes})
}

// checkQuestions ends the run with the questions of its turn and the calls of the frontend's tools, if
// there are any: an AG-UI client answers them with another request.
func (r *Run) checkQuestions() {
	view := r.state.Snapshot()
	var open []interrupt
	var pending []string
	for _, q := range questionsOf(&view) {
		switch isOfTurn := q.agent != "" && q.agent == r.agent || q.turn != "" && q.turn == r.turn; {
		case !isOfTurn || r.answers.include(q.id):
		case r.frontendTools.execute(&q):
			pending = append(pending, r.requestCall(&q))
		default:
			open = append(open, q.interrupt(&r.calls, r.turn))
		}
	}
	switch {
	case len(open) > 0:
		r.finish(&outcome{Type: "interrupt", Interrupts: open}, nil)
	case len(pending) > 0 && r.modern:
		r.finish(&outcome{Type: "success", PendingToolCallIDs: pending}, nil)
	case len(pending) > 0:
		r.finish(nil, nil)
	}
}
