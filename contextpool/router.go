package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// router decides which agent answers a message, and starts queued messages when their agents are
// free.
type router struct {
	*services
	budget     *monitorBudget
	turns      *turnSet
	groups     *windowGroups
	outside    *outsideData
	questions  *Questions
	queues     *queues
	starter    *turnStarter
	compaction *compaction

	pendingStarts bool           // a queued message could begin, but the step was full
	lastBegun     wire.MessageID // see [View.LastBegun]
}

// answerResume implements [Messages.AnswerResume].
func (r *router) answerResume(ts wire.Millis, yes bool, text string) bool {
	a := r.questions.resumeAsks[ts]
	if a == nil {
		return false
	}
	r.questions.deleteAsk(ts)
	row, ok := r.state.Desktop().Rows().Row(ts)
	if !ok {
		row = a.row()
	}
	row.TS, row.IsAnswered = ts, true
	r.step.Emit(wire.MessageUpdated{
		Action: wire.RowUpdated, Message: row, MonitorID: a.Monitor, AgentID: a.Role, MessageID: a.ID,
	})
	if yes {
		w := &queuedMessage{Message: Message{
			ID: wire.MessageID("resume-" + askField(ts)), Monitor: a.Monitor, Window: a.Window, Text: a.prompt(text),
		}}
		if text != "" {
			r.queues.addMessageRow(&w.Message, text)
		}
		if a.Window == "" {
			r.route(w)
		} else {
			r.routeToWindow(w)
		}
	}
	return true
}

// route routes a message to a main agent; see the package comment.
func (r *router) route(w *queuedMessage) {
	monitor := string(w.Monitor)
	if policies.IsAppInteraction(w.Text) {
		r.outside.add(w.Monitor, "the page in a window")
	}
	if !r.providers.HasProvider(r.turns.provider()) {
		r.queues.reject(&w.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", r.turns.provider()))
		return
	}
	if r.queues.main.Len(monitor) == 0 && r.mainFree(w.Monitor) && !r.compaction.compactForMessage(w) {
		r.starter.beginMainTurn(w, wire.TakenDirect, nil)
		return
	}
	if r.compaction.isCondensing(w.Monitor) {
		if !r.queues.enqueue(r.queues.main, monitor, w) {
			r.queues.rejectFull(w, policies.MainQueueLimit)
		}
		return
	}
	if t := r.steerableTurn(w); t != nil && r.queues.hasRoom(r.queues.main, monitor, w) {
		w.Offered = t.runID()
		r.queues.enqueue(r.queues.main, monitor, w)
		r.steer(t, &w.Message)
		return
	}
	if r.starter.beginEphemeral(w) || r.queues.enqueue(r.queues.main, monitor, w) {
		return
	}
	r.queues.rejectFull(w, policies.MainQueueLimit)
}

// mainFree reports whether a turn of the monitor's main agent can begin now.
func (r *router) mainFree(monitor wire.MonitorID) bool {
	return r.turns.ofMain(monitor) == nil && r.budget.allowsTurn(monitor)
}

// steerableTurn returns the main agent's running turn if the message can be sent to it, else
// nil. Queued messages come first, so all of them must have been offered to this turn. A turn
// of the owner accepts no message of a guest, because it knows and may do what guests may not. A turn in another mode than the
// session's accepts none either: it keeps its mode.
func (r *router) steerableTurn(m *queuedMessage) *turn {
	t := r.turns.ofMain(m.Monitor)
	if t == nil || t.State != turnRunning || len(t.Taken) >= maxTaken || m.Guest && !t.Guest ||
		t.modeID() != r.turns.wireMode().ID || !r.providers.Caps(t.Provider).Steer {
		return nil
	}
	for _, w := range r.queues.main.All(string(m.Monitor)) {
		if w.Offered != t.runID() {
			return nil
		}
	}
	return t
}

// steer offers a message to the run of a turn.
func (r *router) steer(t *turn, m *Message) {
	s := agentpool.Steering{Run: t.runID(), Message: m.ID, Text: policies.Content(m.Text), Images: m.Images}
	r.step.AfterCommit(func() { r.runner.Steer(s) })
}

// steerRefused records that the model will not receive an offered message, and begins an
// ephemeral agent for it if possible.
func (r *router) steerRefused(t *turn, id wire.MessageID) {
	for _, w := range r.queues.main.All(string(t.Monitor)) {
		if w.ID != id || w.Offered != t.runID() {
			continue
		}
		w.Offered = ""
		if r.starter.beginEphemeral(w) {
			r.queues.dequeue(func(o *queuedMessage) bool { return o == w })
		} else {
			r.queues.store(w)
		}
	}
}

// startQueued begins turns for queued messages, the oldest first, as long as one can begin. If
// the step is full, it stops and sets pendingStarts; see [Pool.Tick].
func (r *router) startQueued() {
	for r.pendingStarts = false; ; {
		var next *queuedMessage
		consider := func(q *policies.Queue[*queuedMessage], ready func(*queuedMessage) bool) {
			for _, key := range q.Keys() {
				w, _ := q.Peek(key)
				if (next == nil || w.Arrived < next.Arrived) && ready(w) {
					next = w
				}
			}
		}
		consider(r.queues.main, func(w *queuedMessage) bool { return r.mainFree(w.Monitor) })
		consider(r.queues.window, r.windowFree)
		if next == nil {
			return
		}
		if r.step.Full() {
			r.pendingStarts = true
			return
		}
		if r.providers.HasProvider(r.turns.provider()) && r.compaction.compactForMessage(next) {
			continue
		}
		r.lastBegun = next.ID
		r.step.AfterCommit(func() { r.lastBegun = "" })
		r.queues.dequeue(func(w *queuedMessage) bool { return w == next })
		switch {
		case !r.providers.HasProvider(r.turns.provider()):
			r.queues.reject(&next.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", r.turns.provider()))
		case next.Window == "":
			r.starter.beginMainTurn(next, wire.TakenDirect, nil)
		default:
			r.starter.beginWindowTurn(next)
		}
	}
}

// routeToWindow routes a message to a window.
func (r *router) routeToWindow(w *queuedMessage) {
	open, ok := r.state.Desktop().Window(w.Monitor, w.Window)
	switch {
	case !ok:
		r.queues.reject(&w.Message, wire.CodeSessionInvalidState, fmt.Sprintf("there is no window %q", w.Window))
		return
	case !r.providers.HasProvider(r.turns.provider()):
		r.queues.reject(&w.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", r.turns.provider()))
		return
	}
	w.Monitor = open.MonitorID
	w.Agent = r.groups.agentOf(w.Monitor, w.Window)
	if policies.IsAppInteraction(w.Text) {
		r.outside.add(w.Monitor, tools.PageSource(w.Window))
	}
	if r.queues.window.Len(w.Agent)+r.turns.parallelTurns(w.Agent) >= policies.WindowQueueLimit {
		r.queues.rejectFull(w, policies.WindowQueueLimit)
		return
	}
	if r.windowFree(w) && (w.Action != "" || r.queues.window.Len(w.Agent) == 0 && !r.compaction.compactForMessage(w)) {
		r.starter.beginWindowTurn(w)
		return
	}
	if !r.queues.enqueue(r.queues.window, w.Agent, w) {
		r.queues.rejectFull(w, policies.WindowQueueLimit)
	}
}

// windowFree reports whether a message to a window can begin a turn now.
func (r *router) windowFree(w *queuedMessage) bool {
	_, _, denied := r.budget.denied(w.Monitor)
	return !denied && len(r.turns.byKey) < maxTurns && (w.Action != "" || r.turns.ofAgent(w.Agent) == nil)
}
