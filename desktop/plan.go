package desktop

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// A session has one plan at a time: the newest, even after it has ended. It starts with the
// layer cognitive and is active as long as there is a layer.

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

// applyPlan applies the events of plans.
func (s *State) applyPlan(data wire.ServerPayload, now wire.Millis) {
	switch p := data.(type) {
	case wire.LayerStart:
		s.startLayer(p.Layer, now)
	case wire.LayerComplete:
		if p.Layer == wire.LayerResponse {
			s.layer.drop(only{})
		}
	case wire.PlanGenerated:
		s.generatePlan(p)
	case wire.PlanApproved:
		s.setPlanStatus(wire.PlanStatusApproved)
	case wire.PlanModified:
		s.modifyPlan(p)
	case wire.HITLPlanReview:
		s.openRequest(p.RequestID, p)
	case wire.HITLApprovalRequest:
		s.openRequest(p.RequestID, p)
	case wire.HITLInputRequest:
		s.openRequest(p.RequestID, p)
	case wire.HITLClarification:
		s.openRequest(p.RequestID, p)
	case wire.HITLClosed:
		s.requests.drop(p.RequestID)
	case wire.HITLPaused:
		s.pausePlan(p, now)
	case wire.HITLResumed:
		s.resumePlan()
	case wire.PlanComplete:
		p.Response.Text = mended(p.Response.Text)
		p.Response.Text = p.Response.Text[:wholeRunes(p.Response.Text, maxResponse)]
		s.endPlan(wire.PlanState{ID: p.PlanID, MessageID: p.MessageID, Status: wire.PlanCompleted, Complete: &p})
	case wire.PlanFailure:
		s.endPlan(wire.PlanState{ID: p.PlanID, MessageID: p.MessageID, Status: failureStatus(p), Failed: withoutLargeResults(p)})
	case wire.PlanCleared:
		s.clearPlan()
	default:
		s.applyTodo(data, now)
	}
}

// applyTodo applies the events of todos. Events of unknown todos are ignored.
func (s *State) applyTodo(data wire.ServerPayload, now wire.Millis) {
	switch p := data.(type) {
	case wire.TodoStarted:
		if t := s.editTodo(p.TodoID); t != nil {
			t.Status, t.StartedAt, t.AgentID = wire.TodoInProgress, now, p.AgentID
			t.ProgressPercentage, t.CurrentStep, t.ItemsProcessed, t.ItemsTotal = 0, "", 0, 0
			t.RetryAt, t.DurationMS, t.Error, t.ResultSummary = 0, 0, nil, nil
		}
	case wire.TodoProgress:
		if t := s.editTodo(p.TodoID); t != nil {
			t.ProgressPercentage, t.CurrentStep = p.ProgressPercentage, p.CurrentStep
			t.ItemsProcessed, t.ItemsTotal = p.ItemsProcessed, p.ItemsTotal
		}
	case wire.TodoUpdated:
		if t := s.editTodo(p.Todo.ID); t != nil {
			*t = p.Todo
		}
	case wire.TodoCompleted:
		if t := s.editTodo(p.TodoID); t != nil {
			t.Status, t.ResultSummary, t.DurationMS = p.Status, p.ResultSummary, p.DurationMS
			t.RetryAt, t.Error = 0, nil
			if p.Status == wire.TodoStatusCompleted {
				t.ProgressPercentage = 100
			}
		}
	case wire.TodoFailed:
		if t := s.editTodo(p.TodoID); t != nil {
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
func (s *State) startLayer(l wire.Layer, now wire.Millis) {
	if l == wire.LayerCognitive {
		s.clearPlan()
	}
	s.layer.put(only{}, layer{l})
	r := s.plan.get(only{})
	if r == nil {
		return
	}
	p := s.plan.touch(r)
	p.Complete, p.Failed = nil, nil
	if l == wire.LayerExecution {
		p.StartedAt = cmp.Or(p.StartedAt, now)
		s.setPlanStatus(wire.PlanExecuting)
	}
}

// setPlanStatus sets the status of the plan. A paused plan stays paused.
func (s *State) setPlanStatus(status wire.PlanStatus) {
	if r := s.plan.get(only{}); r != nil && r.value.Status != wire.PlanPaused {
		s.plan.touch(r).Status = status
	}
}

func (s *State) generatePlan(p wire.PlanGenerated) {
	s.putTodos(p.Todos)
	plan := wire.PlanState{
		ID: p.PlanID, Status: p.Status, Version: p.Version, TotalTodos: s.todos.len(), MermaidDiagram: p.MermaidDiagram,
		EstimatedDurationSec: p.EstimatedDurationSec, EstimatedCostUSD: p.EstimatedCostUSD,
		Request: p.Request, MessageID: p.MessageID,
	}
	if old, ok := s.plan.value(only{}); ok && old.Status == wire.PlanPaused {
		plan.Status, plan.PausedBy, plan.PauseReason = old.Status, old.PausedBy, old.PauseReason
	}
	s.plan.put(only{}, plan)
}

func (s *State) modifyPlan(p wire.PlanModified) {
	r := s.plan.get(only{})
	if r == nil {
		return
	}
	s.putTodos(p.UpdatedTodos)
	plan := s.plan.touch(r)
	plan.Version, plan.TotalTodos, plan.MermaidDiagram = p.NewVersion, s.todos.len(), p.MermaidDiagram
	plan.EstimatedDurationSec, plan.EstimatedCostUSD = p.EstimatedDurationSec, p.EstimatedCostUSD
}

// pausePlan pauses the plan, or the request that will become one. The clocks of its
// questions stop; the owner asks them again when the plan continues.
func (s *State) pausePlan(p wire.HITLPaused, now wire.Millis) {
	if s.layer.len() == 0 {
		return
	}
	plan, _ := s.plan.value(only{})
	plan.Status, plan.PausedBy, plan.PauseReason = wire.PlanPaused, p.PausedBy, p.Reason
	s.plan.put(only{}, plan)
	for _, r := range s.requests.items {
		if d := r.value.Request.Deadline(); d.ExpiresAt != 0 {
			q := s.requests.touch(r)
			q.Request = withDeadline(q.Request, stopped(d, now))
		}
	}
}

// stopped converts a deadline to the remaining time.
func stopped(d wire.HITLDeadline, now wire.Millis) wire.HITLDeadline {
	return wire.HITLDeadline{TimeoutSec: int(max((d.ExpiresAt-now+999)/1000, 1))}
}

func (s *State) resumePlan() {
	plan, ok := s.plan.value(only{})
	if !ok || plan.Status != wire.PlanPaused {
		return
	}
	if plan.ID == "" {
		s.plan.drop(only{})
		return
	}
	plan.Status, plan.PausedBy, plan.PauseReason = wire.PlanPendingApproval, "", ""
	if l, _ := s.layer.value(only{}); (l.Layer == wire.LayerExecution || l.Layer == wire.LayerResponse) && !s.underReview() {
		plan.Status = wire.PlanExecuting
	}
	s.plan.put(only{}, plan)
}

// underReview reports whether the plan's review is open.
func (s *State) underReview() bool {
	for _, r := range s.requests.items {
		if _, ok := r.value.Request.(wire.HITLPlanReview); ok {
			return true
		}
	}
	return false
}

// endPlan stores the outcome of the plan, and creates the plan if it does not exist. Todos
// keep the state of their own events.
func (s *State) endPlan(end wire.PlanState) {
	plan, _ := s.plan.value(only{})
	plan.ID, plan.MessageID = cmp.Or(plan.ID, end.ID), cmp.Or(plan.MessageID, end.MessageID)
	plan.Status, plan.PausedBy, plan.PauseReason = end.Status, "", ""
	plan.Complete, plan.Failed = end.Complete, end.Failed
	s.plan.put(only{}, plan)
	s.layer.drop(only{})
	s.requests.empty()
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

func (s *State) clearPlan() {
	s.plan.drop(only{})
	s.layer.drop(only{})
	s.todos.empty()
	s.requests.empty()
}

// putTodos replaces the todos.
func (s *State) putTodos(list []wire.Todo) {
	s.todos.empty()
	for _, t := range list {
		r := s.todos.get(t.ID)
		switch {
		case r != nil:
			s.todos.touch(r).Todo = t
		case t.ID != "" && s.todos.len() < MaxTodos:
			s.todos.put(t.ID, todo{s.todos.len(), t})
		}
	}
}

// editTodo returns a todo for modification, or nil.
func (s *State) editTodo(id wire.TodoID) *wire.Todo {
	r := s.todos.get(id)
	if r == nil {
		return nil
	}
	return &s.todos.touch(r).Todo
}

// openRequest adds or replaces a question.
func (s *State) openRequest(id wire.RequestID, q wire.HITLRequest) {
	if r := s.requests.get(id); r != nil {
		s.requests.touch(r).Request = q
		return
	}
	if id == "" || s.requests.len() >= MaxHITLRequests {
		return
	}
	next := 0
	for _, r := range s.requests.items {
		next = max(next, r.value.Number+1)
	}
	s.requests.put(id, request{id, next, q})
}

func byPlace(a, b *todo) int { return cmp.Compare(a.Place, b.Place) }

func byNumber(a, b *request) int { return cmp.Compare(a.Number, b.Number) }

// addPlanTo adds the plan to a snapshot.
func (s *State) addPlanTo(state *wire.SessionState) {
	if plan, ok := s.plan.value(only{}); ok {
		state.Plan = &plan
	}
	l, _ := s.layer.value(only{})
	state.CurrentLayer = l.Layer
	state.Todos = []wire.Todo{}
	for _, t := range s.todos.sorted(nil, byPlace) {
		state.Todos = append(state.Todos, t.Todo)
	}
	for i, r := range s.requests.sorted(nil, byNumber) {
		if i == 0 {
			state.HITLPending = r.Request
		}
		state.HITLRequests = append(state.HITLRequests, r.Request)
	}
}

// loadPlan loads the plan of a snapshot.
func (s *State) loadPlan(p wire.SessionState) {
	if p.Plan != nil {
		s.plan.put(only{}, *p.Plan)
	}
	if p.CurrentLayer != "" {
		s.layer.put(only{}, layer{p.CurrentLayer})
	}
	s.putTodos(p.Todos)
	for _, q := range p.HITLRequests {
		s.openRequest(requestID(q), q)
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
