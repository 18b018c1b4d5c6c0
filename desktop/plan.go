package desktop

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// plan is the plan of the session with its todos and open questions. A session has one plan
// at a time: the newest, even after it has ended. It starts with the layer cognitive and is
// active as long as there is a layer.
type plan struct {
	current  table[only, wire.PlanState]
	layer    table[only, layer]
	todos    table[wire.TodoID, todo]
	requests table[wire.RequestID, request]
}

// layer is the current layer of the plan.
type layer struct {
	Layer wire.Layer `json:"layer"`
}

// todo is a todo with its place in the plan.
type todo struct {
	Place int `json:"place"`
	wire.Todo
}

// request is a question of the plan; later questions have higher numbers.
type request struct {
	ID      wire.RequestID   `json:"id"`
	Number  int              `json:"number"`
	Request wire.HITLRequest `json:"request"`
}

// apply applies the events of plans.
func (pl *plan) apply(data wire.ServerPayload, now wire.Millis) {
	switch p := data.(type) {
	case wire.LayerStart:
		pl.startLayer(p.Layer, now)
	case wire.LayerComplete:
		if p.Layer == wire.LayerResponse {
			pl.layer.drop(only{})
		}
	case wire.PlanGenerated:
		pl.applyGenerated(p)
	case wire.PlanApproved:
		pl.setStatus(wire.PlanStatusApproved)
	case wire.PlanModified:
		pl.applyModified(p)
	case wire.HITLPlanReview:
		pl.openRequest(p.RequestID, p)
	case wire.HITLApprovalRequest:
		pl.openRequest(p.RequestID, p)
	case wire.HITLInputRequest:
		pl.openRequest(p.RequestID, p)
	case wire.HITLClarification:
		pl.openRequest(p.RequestID, p)
	case wire.HITLClosed:
		pl.requests.drop(p.RequestID)
	case wire.HITLPaused:
		pl.pause(p, now)
	case wire.HITLResumed:
		pl.resume()
	case wire.PlanComplete:
		p.Response.Text = validUTF8(p.Response.Text)
		p.Response.Text = p.Response.Text[:wholeRunes(p.Response.Text, maxResponse)]
		pl.end(wire.PlanState{ID: p.PlanID, MessageID: p.MessageID, Status: wire.PlanCompleted, Complete: &p})
	case wire.PlanFailure:
		pl.end(wire.PlanState{ID: p.PlanID, MessageID: p.MessageID, Status: failureStatus(p), Failed: withoutLargeResults(p)})
	case wire.PlanCleared:
		pl.clear()
	default:
		pl.applyTodo(data, now)
	}
}

// applyTodo applies the events of todos. Events of unknown todos are ignored.
func (pl *plan) applyTodo(data wire.ServerPayload, now wire.Millis) {
	switch p := data.(type) {
	case wire.TodoStarted:
		if t := pl.editTodo(p.TodoID); t != nil {
			t.Status, t.StartedAt, t.AgentID = wire.TodoInProgress, now, p.AgentID
			t.ProgressPercentage, t.CurrentStep, t.ItemsProcessed, t.ItemsTotal = 0, "", 0, 0
			t.RetryAt, t.DurationMS, t.Error, t.ResultSummary = 0, 0, nil, nil
		}
	case wire.TodoProgress:
		if t := pl.editTodo(p.TodoID); t != nil {
			t.ProgressPercentage, t.CurrentStep = p.ProgressPercentage, p.CurrentStep
			t.ItemsProcessed, t.ItemsTotal = p.ItemsProcessed, p.ItemsTotal
		}
	case wire.TodoUpdated:
		if t := pl.editTodo(p.Todo.ID); t != nil {
			*t = p.Todo
		}
	case wire.TodoCompleted:
		if t := pl.editTodo(p.TodoID); t != nil {
			t.Status, t.ResultSummary, t.DurationMS = p.Status, p.ResultSummary, p.DurationMS
			t.RetryAt, t.Error = 0, nil
			if p.Status == wire.TodoStatusCompleted {
				t.ProgressPercentage = 100
			}
		}
	case wire.TodoFailed:
		if t := pl.editTodo(p.TodoID); t != nil {
			t.Status = wire.TodoStatusFailed
			if p.RetryAt != 0 {
				t.Status = wire.TodoPending
			}
			t.Error, t.RetryAt, t.RetryCount, t.MaxRetries = &p.Error, p.RetryAt, p.RetryCount, p.MaxRetries
		}
	}
}

// startLayer starts a layer. The first starts a plan, execution sets its status, and each
// layer makes an ended plan active again.
func (pl *plan) startLayer(l wire.Layer, now wire.Millis) {
	if l == wire.LayerCognitive {
		pl.clear()
	}
	pl.layer.put(only{}, layer{l})
	r := pl.current.get(only{})
	if r == nil {
		return
	}
	p := pl.current.touch(r)
	p.Complete, p.Failed = nil, nil
	if l == wire.LayerExecution {
		p.StartedAt = cmp.Or(p.StartedAt, now)
		pl.setStatus(wire.PlanExecuting)
	}
}

// setStatus sets the status of the plan. A paused plan stays paused.
func (pl *plan) setStatus(status wire.PlanStatus) {
	if r := pl.current.get(only{}); r != nil && r.value.Status != wire.PlanPaused {
		pl.current.touch(r).Status = status
	}
}

func (pl *plan) applyGenerated(p wire.PlanGenerated) {
	pl.putTodos(p.Todos)
	plan := wire.PlanState{
		ID: p.PlanID, Status: p.Status, Version: p.Version, TotalTodos: pl.todos.len(), MermaidDiagram: p.MermaidDiagram,
		EstimatedDurationSec: p.EstimatedDurationSec, EstimatedCostUSD: p.EstimatedCostUSD,
		Request: p.Request, MessageID: p.MessageID,
	}
	if old, ok := pl.current.value(only{}); ok && old.Status == wire.PlanPaused {
		plan.Status, plan.PausedBy, plan.PauseReason = old.Status, old.PausedBy, old.PauseReason
	}
	pl.current.put(only{}, plan)
}

func (pl *plan) applyModified(p wire.PlanModified) {
	r := pl.current.get(only{})
	if r == nil {
		return
	}
	pl.putTodos(p.UpdatedTodos)
	plan := pl.current.touch(r)
	plan.Version, plan.TotalTodos, plan.MermaidDiagram = p.NewVersion, pl.todos.len(), p.MermaidDiagram
	plan.EstimatedDurationSec, plan.EstimatedCostUSD = p.EstimatedDurationSec, p.EstimatedCostUSD
}

// pause pauses the plan, or the request that will become one. The clocks of its
// questions stop; the owner asks them again when the plan continues.
func (pl *plan) pause(p wire.HITLPaused, now wire.Millis) {
	if pl.layer.len() == 0 {
		return
	}
	plan, _ := pl.current.value(only{})
	plan.Status, plan.PausedBy, plan.PauseReason = wire.PlanPaused, p.PausedBy, p.Reason
	pl.current.put(only{}, plan)
	for _, r := range pl.requests.items {
		if d := r.value.Request.Deadline(); d.ExpiresAt != 0 {
			q := pl.requests.touch(r)
			q.Request = withDeadline(q.Request, pausedDeadline(d, now))
		}
	}
}

// pausedDeadline converts a deadline to the remaining time.
func pausedDeadline(d wire.HITLDeadline, now wire.Millis) wire.HITLDeadline {
	return wire.HITLDeadline{TimeoutSec: int(max((d.ExpiresAt-now+999)/1000, 1))}
}

func (pl *plan) resume() {
	plan, ok := pl.current.value(only{})
	if !ok || plan.Status != wire.PlanPaused {
		return
	}
	if plan.ID == "" {
		pl.current.drop(only{})
		return
	}
	plan.Status, plan.PausedBy, plan.PauseReason = wire.PlanPendingApproval, "", ""
	if l, _ := pl.layer.value(only{}); (l.Layer == wire.LayerExecution || l.Layer == wire.LayerResponse) && !pl.underReview() {
		plan.Status = wire.PlanExecuting
	}
	pl.current.put(only{}, plan)
}

// paused reports whether the plan, or the request that will become one, is paused.
func (pl *plan) paused() bool {
	p, _ := pl.current.value(only{})
	return p.Status == wire.PlanPaused
}

// underReview reports whether the plan's review is open.
func (pl *plan) underReview() bool {
	for _, r := range pl.requests.items {
		if _, ok := r.value.Request.(wire.HITLPlanReview); ok {
			return true
		}
	}
	return false
}

// end stores the outcome of the plan, and creates the plan if it does not exist. Todos
// keep the state of their own events.
func (pl *plan) end(end wire.PlanState) {
	plan, _ := pl.current.value(only{})
	plan.ID, plan.MessageID = cmp.Or(plan.ID, end.ID), cmp.Or(plan.MessageID, end.MessageID)
	plan.Status, plan.PausedBy, plan.PauseReason = end.Status, "", ""
	plan.Complete, plan.Failed = end.Complete, end.Failed
	pl.current.put(only{}, plan)
	pl.layer.drop(only{})
	pl.requests.empty()
}

func failureStatus(p wire.PlanFailure) wire.PlanStatus {
	if p.Status == string(wire.PlanCancelled) {
		return wire.PlanCancelled
	}
	return wire.PlanFailed
}

// withoutLargeResults drops the partial results of a failure if they are too large to
// store.
func withoutLargeResults(p wire.PlanFailure) *wire.PlanFailure {
	if r := p.PartialResults; r != nil && len(theSchema().free.Append([]byte{}, &r.AvailableData)) > maxAvailable {
		p.PartialResults = &wire.PartialResults{CompletedTodos: r.CompletedTodos}
	}
	return &p
}

func (pl *plan) clear() {
	pl.current.drop(only{})
	pl.layer.drop(only{})
	pl.todos.empty()
	pl.requests.empty()
}

// putTodos replaces the todos.
func (pl *plan) putTodos(list []wire.Todo) {
	pl.todos.empty()
	for _, t := range list {
		r := pl.todos.get(t.ID)
		switch {
		case r != nil:
			pl.todos.touch(r).Todo = t
		case t.ID != "" && pl.todos.len() < MaxTodos:
			pl.todos.put(t.ID, todo{pl.todos.len(), t})
		}
	}
}

// editTodo returns a todo for modification, or nil.
func (pl *plan) editTodo(id wire.TodoID) *wire.Todo {
	r := pl.todos.get(id)
	if r == nil {
		return nil
	}
	return &pl.todos.touch(r).Todo
}

// openRequest adds or replaces a question.
func (pl *plan) openRequest(id wire.RequestID, q wire.HITLRequest) {
	if r := pl.requests.get(id); r != nil {
		pl.requests.touch(r).Request = q
		return
	}
	if id == "" || pl.requests.len() >= MaxHITLRequests {
		return
	}
	next := 0
	for _, r := range pl.requests.items {
		next = max(next, r.value.Number+1)
	}
	pl.requests.put(id, request{id, next, q})
}

func byPlace(a, b *todo) int { return cmp.Compare(a.Place, b.Place) }

func byNumber(a, b *request) int { return cmp.Compare(a.Number, b.Number) }

// addTo adds the plan to a snapshot.
func (pl *plan) addTo(state *wire.SessionState) {
	if plan, ok := pl.current.value(only{}); ok {
		state.Plan = &plan
	}
	l, _ := pl.layer.value(only{})
	state.CurrentLayer = l.Layer
	state.Todos = []wire.Todo{}
	for _, t := range pl.todos.sorted(nil, byPlace) {
		state.Todos = append(state.Todos, t.Todo)
	}
	for i, r := range pl.requests.sorted(nil, byNumber) {
		if i == 0 {
			state.HITLPending = r.Request
		}
		state.HITLRequests = append(state.HITLRequests, r.Request)
	}
}

// load loads the plan of a snapshot.
func (pl *plan) load(p *wire.SessionState) {
	if p.Plan != nil {
		pl.current.put(only{}, *p.Plan)
	}
	if p.CurrentLayer != "" {
		pl.layer.put(only{}, layer{p.CurrentLayer})
	}
	pl.putTodos(p.Todos)
	for _, q := range p.HITLRequests {
		pl.openRequest(requestID(q), q)
	}
}

func requestID(q wire.HITLRequest) wire.RequestID {
	switch q := q.(type) {
	case wire.HITLPlanReview:
		return q.RequestID
	case wire.HITLApprovalRequest:
		return q.RequestID
	case wire.HITLInputRequest:
		return q.RequestID
	case wire.HITLClarification:
		return q.RequestID
	}
	return ""
}

func withDeadline(q wire.HITLRequest, d wire.HITLDeadline) wire.HITLRequest {
	switch q := q.(type) {
	case wire.HITLPlanReview:
		q.HITLDeadline = d
		return q
	case wire.HITLApprovalRequest:
		q.HITLDeadline = d
		return q
	case wire.HITLInputRequest:
		q.HITLDeadline = d
		return q
	case wire.HITLClarification:
		q.HITLDeadline = d
		return q
	}
	return q
}
