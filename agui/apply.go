package agui

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// Apply takes the next event of the log.
func (r *Run) Apply(e wire.Event) {
	if r.phase == phaseEnded {
		return
	}
	r.state.Apply(e)
	if row, ok := e.Data.(wire.MessageUpdated); ok && r.follows && row.Action == wire.RowCreated {
		r.updateKnown() // a turn may have more rows than the hub holds
	}
	if r.phase == phaseBetween {
		if changesDocument(e.Data) {
			r.goOn()
		}
		return
	}
	if r.follows && changesDocument(e.Data) && r.leavesPlan() {
		return
	}
	switch data := e.Data.(type) {
	case wire.MessageQueued:
		if data.MessageID == r.own && r.phase == phaseWaiting {
			r.emit(event{Type: typeCustom, Name: "everdesk.queued", Value: map[string]int{"position": data.Position}})
		}
	case wire.MessageAccepted:
		r.accepted(data)
	case wire.MessageRejected:
		r.rejected(data)
	case wire.AgentThinking:
		if r.shows(data.AgentID) {
			r.addReasoning(data)
		}
	case wire.MessageUpdated:
		if data.Message.MessageID == r.turn && data.Message.Say == wire.SayReasoning {
			r.reasoning.addRow(data.Message, data.Action)
		}
	case wire.AgentResponse:
		r.response(data)
	case wire.ToolProgress:
		if r.shows(data.AgentID) && !r.frontendTools.include(data.ToolName) {
			r.toolProgress(data)
		}
	case wire.TodoStarted:
		r.stepStarted(data.TodoID, data.Task)
	case wire.TodoCompleted:
		r.stepFinished(data.TodoID)
	case wire.TodoFailed:
		r.stepFinished(data.TodoID)
	case wire.TaskSpawned:
		if r.shows(data.AgentID) {
			r.emit(taskActivity(r.turn, data.ChildTaskID, taskRunning))
		}
	case wire.TaskCompleted:
		r.taskEnded(data.Task, taskCompleted)
	case wire.TaskAborted:
		r.taskEnded(data.Task, taskAborted)
	case wire.Actions:
		r.windowActivities(data)
	}
	if !r.hasEnded() && changesDocument(e.Data) {
		r.sendChanges()
		r.checkQuestions()
	}
}

// changesDocument reports whether an event can change the document or the open questions.
func changesDocument(data wire.ServerPayload) bool {
	switch data.(type) {
	case wire.AgentResponse, wire.AgentThinking, wire.ToolProgress, wire.MessageUpdated, wire.Presence:
		return false
	}
	return true
}

// shows reports whether the run shows what an agent does.
func (r *Run) shows(agent wire.AgentID) bool { return r.phase == phaseRunning && agent == r.agent }

// accepted begins to show the turn that took the message of the run. If the message joins a running turn, the
// client may have a part of that, so it gets all of it.
func (r *Run) accepted(data wire.MessageAccepted) {
	if data.MessageID != r.own || data.Duplicate || r.phase != phaseWaiting {
		return
	}
	r.phase, r.agent = phaseRunning, data.AgentID
	if data.How != wire.TakenSteered {
		return
	}
	for _, a := range r.state.Agents() {
		if a.Role == data.AgentID {
			r.turn = cmp.Or(a.MessageID, r.turn)
			r.text.Reset(r.state.AgentText(a.Role))
			r.joinReasoning()
			r.sendTurn(r.turn, r.text.String())
		}
	}
}

// response takes a piece of the answer, or the end of a message.
func (r *Run) response(data wire.AgentResponse) {
	if r.shows(data.AgentID) && data.Delta != "" {
		r.addText(data.Offset, data.Delta)
	}
	if data.IsComplete && data.MessageID == r.own {
		r.end(data)
	}
}

// end ends the run as its message ended.
func (r *Run) end(data wire.AgentResponse) {
	switch data.Outcome {
	case wire.OutcomeFailed:
		r.Fail("failed", data.Reason)
	case wire.OutcomeInterrupted:
		if r.modern {
			r.finish(&outcome{Type: "cancelled"}, usageOf(data.Usage))
			return
		}
		r.finish(nil, nil)
	default:
		r.finish(nil, usageOf(data.Usage))
	}
}

// addText sends a piece of the answer. If it changes what was sent, because a store lost the newest
// events and the turn was continued elsewhere, all messages of the turn are sent again.
func (r *Run) addText(offset int, delta string) {
	r.closeReasoning()
	more, ok := r.text.More(offset, delta)
	if !ok {
		r.closeText()
		r.text.Reset(r.state.AgentText(r.agent))
		r.sendTurn(r.turn, r.text.String())
		return
	}
	if more == "" {
		return
	}
	if !r.textOpen {
		r.textOpen = true
		r.emit(event{Type: typeTextStart, MessageID: textID(r.turn), Role: roleAssistant})
	}
	r.text.Add(more)
	r.emit(event{Type: typeTextContent, MessageID: textID(r.turn), Delta: more})
}

func (r *Run) closeText() {
	if r.textOpen {
		r.textOpen = false
		r.emit(event{Type: typeTextEnd, MessageID: textID(r.turn)})
	}
}

// calls are the tool calls of a turn that have begun, in their order.
type calls struct {
	running []string
	begun   map[string]bool
}

// last returns the newest call that runs, or "".
func (c *calls) last() string {
	if len(c.running) == 0 {
		return ""
	}
	return c.running[len(c.running)-1]
}

// toolProgress sends the beginning or the end of a tool call.
func (r *Run) toolProgress(data wire.ToolProgress) {
	r.closeReasoning()
	r.closeText()
	id := callID(r.turn, cmp.Or(data.ToolUseID, data.ToolName))
	if r.calls.begin(id) {
		r.emit(event{Type: typeCallStart, ToolCallID: id, ToolCallName: data.ToolName})
		r.emit(event{Type: typeCallArgs, ToolCallID: id, Delta: arguments(data.ToolInput)})
		r.emit(event{Type: typeCallEnd, ToolCallID: id})
	}
	if data.Status != wire.ToolRunning && r.calls.end(id) {
		r.emit(event{Type: typeCallResult, MessageID: resultID(id), ToolCallID: id, Role: roleTool, Content: data.Message})
	}
}

// begin reports whether a call is new.
func (c *calls) begin(id string) bool {
	if c.begun[id] {
		return false
	}
	if c.begun == nil {
		c.begun = map[string]bool{}
	}
	c.begun[id] = true
	c.running = append(c.running, id)
	return true
}

// end reports whether a call was running.
func (c *calls) end(id string) bool {
	for i, other := range c.running {
		if other == id {
			c.running = append(c.running[:i], c.running[i+1:]...)
			return true
		}
	}
	return false
}

// stepStarted sends the start of a todo of the plan that the message of the run asked for.
func (r *Run) stepStarted(id wire.TodoID, task string) {
	if r.phase != phaseRunning || r.steps[id] != "" || !r.ownsPlan() {
		return
	}
	r.steps[id] = string(id) + ": " + task
	r.emit(event{Type: typeStepStarted, StepName: r.steps[id]})
}

func (r *Run) stepFinished(id wire.TodoID) {
	if name := r.steps[id]; name != "" {
		delete(r.steps, id)
		r.emit(event{Type: typeStepFinished, StepName: name})
	}
}

// ownsPlan reports whether the plan of the session is that of the run.
func (r *Run) ownsPlan() bool {
	return r.turn != "" && r.turns.ofPlan() == r.turn
}
