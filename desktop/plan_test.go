package desktop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// running returns a log in which an approved plan with these todos is being executed.
func running(todos ...wire.Todo) *script {
	s := newScript()
	s.emit(wire.LayerStart{Layer: wire.LayerCognitive})
	s.emit(wire.LayerStart{Layer: wire.LayerPlanning})
	s.emit(planned(todos...))
	s.emit(wire.PlanApproved{PlanID: "plan-1", ApprovedBy: "user"})
	s.emit(wire.LayerStart{Layer: wire.LayerExecution})
	return s
}

// Every event of a plan leads to one status of the plan, one of the session, and one layer.
func TestPlanAndSessionStatus(t *testing.T) {
	t.Parallel()
	plan := planned(step("a"))
	paused := wire.HITLPaused{PausedBy: "user", Reason: "lunch"}
	input := wire.HITLInputRequest{RequestID: "i", InputType: wire.AnswerText, TodoID: "a"}
	steps := []struct {
		event   wire.ServerPayload
		plan    wire.PlanStatus
		session wire.SessionStatus
		layer   wire.Layer
	}{
		{paused, "", wire.SessionIdle, ""},
		{wire.LayerStart{Layer: wire.LayerCognitive}, "", wire.SessionExecuting, wire.LayerCognitive},
		{paused, wire.PlanPaused, wire.SessionPaused, wire.LayerCognitive},
		{wire.HITLResumed{}, "", wire.SessionExecuting, wire.LayerCognitive},
		{paused, wire.PlanPaused, wire.SessionPaused, wire.LayerCognitive},
		{wire.LayerComplete{Layer: wire.LayerCognitive}, wire.PlanPaused, wire.SessionPaused, wire.LayerCognitive},
		{wire.LayerStart{Layer: wire.LayerPlanning}, wire.PlanPaused, wire.SessionPaused, wire.LayerPlanning},
		{plan, wire.PlanPaused, wire.SessionPaused, wire.LayerPlanning},
		{review("r", plan, 1), wire.PlanPaused, wire.SessionPaused, wire.LayerPlanning},
		{wire.HITLResumed{}, wire.PlanPendingApproval, wire.SessionWaiting, wire.LayerPlanning},
		{wire.LayerComplete{Layer: wire.LayerPlanning}, wire.PlanPendingApproval, wire.SessionWaiting, wire.LayerPlanning},
		{wire.HITLClosed{RequestID: "r"}, wire.PlanPendingApproval, wire.SessionExecuting, wire.LayerPlanning},
		{wire.PlanApproved{}, wire.PlanStatusApproved, wire.SessionExecuting, wire.LayerPlanning},
		{wire.LayerStart{Layer: wire.LayerExecution}, wire.PlanExecuting, wire.SessionExecuting, wire.LayerExecution},
		{input, wire.PlanExecuting, wire.SessionWaiting, wire.LayerExecution},
		{paused, wire.PlanPaused, wire.SessionPaused, wire.LayerExecution},
		{wire.HITLResumed{}, wire.PlanExecuting, wire.SessionWaiting, wire.LayerExecution},
		{review("r2", plan, 1), wire.PlanExecuting, wire.SessionWaiting, wire.LayerExecution},
		{paused, wire.PlanPaused, wire.SessionPaused, wire.LayerExecution},
		{wire.HITLResumed{}, wire.PlanPendingApproval, wire.SessionWaiting, wire.LayerExecution},
		{wire.PlanFailure{Status: "failed"}, wire.PlanFailed, wire.SessionIdle, ""},
		{paused, wire.PlanFailed, wire.SessionIdle, ""},
		{wire.HITLResumed{}, wire.PlanFailed, wire.SessionIdle, ""},
		{wire.LayerStart{Layer: wire.LayerExecution}, wire.PlanExecuting, wire.SessionExecuting, wire.LayerExecution},
		{wire.LayerStart{Layer: wire.LayerResponse}, wire.PlanExecuting, wire.SessionExecuting, wire.LayerResponse},
		{wire.LayerComplete{Layer: wire.LayerResponse}, wire.PlanExecuting, wire.SessionIdle, ""},
		{wire.PlanComplete{}, wire.PlanCompleted, wire.SessionIdle, ""},
		{wire.LayerStart{Layer: wire.LayerCognitive}, "", wire.SessionExecuting, wire.LayerCognitive},
		{wire.PlanFailure{Status: "cancelled"}, wire.PlanCancelled, wire.SessionIdle, ""},
		{wire.PlanCleared{}, "", wire.SessionIdle, ""},
	}
	s := newScript()
	for i, st := range steps {
		s.emit(st.event)
		got := s.Snapshot()
		var status wire.PlanStatus
		if got.Plan != nil {
			status = got.Plan.Status
		}
		if status != st.plan || got.Status != st.session || got.CurrentLayer != st.layer {
			t.Fatalf("after step %d, %T: plan %q, session %q, layer %q; want %+v", i, st.event, status, got.Status, got.CurrentLayer, st)
		}
	}
}

func TestTodoEvents(t *testing.T) {
	t.Parallel()
	s := running(step("a"), step("b", "a"), step("c"))
	s.now = 5000
	s.emit(wire.TodoStarted{TodoID: "a", AgentID: "task-1"})
	s.emit(wire.TodoProgress{TodoID: "a", ProgressPercentage: 40, CurrentStep: "two", ItemsProcessed: 2, ItemsTotal: 5})
	s.emit(failing("a", 1, 9000))
	retrying := step("a")
	retrying.StartedAt, retrying.AgentID, retrying.ProgressPercentage = 5000, "task-1", 40
	retrying.CurrentStep, retrying.ItemsProcessed, retrying.ItemsTotal = "two", 2, 5
	retrying.RetryAt, retrying.RetryCount, retrying.Error = 9000, 1, &wire.TodoError{Code: "TOOL_EXECUTION_FAILED", Message: "no", Recoverable: true}
	checkTodos(t, s, retrying, step("b", "a"), step("c"))

	s.now = 9000
	s.emit(wire.TodoStarted{TodoID: "a", AgentID: "task-2"})
	again := step("a")
	again.Status, again.StartedAt, again.AgentID, again.RetryCount = wire.TodoInProgress, 9000, "task-2", 1
	checkTodos(t, s, again, step("b", "a"), step("c"))

	s.emit(wire.TodoCompleted{TodoID: "a", Status: wire.TodoStatusCompleted, ResultSummary: []byte(`{"n":1}`), DurationMS: 3})
	again.Status, again.ProgressPercentage, again.ResultSummary, again.DurationMS = wire.TodoStatusCompleted, 100, []byte(`{"n":1}`), 3
	s.emit(failing("b", 3, 0))
	gone := step("b", "a")
	gone.Status, gone.RetryCount, gone.Error = wire.TodoStatusFailed, 3, &wire.TodoError{Code: "TOOL_EXECUTION_FAILED", Message: "no"}
	other := step("c")
	other.Status = wire.TodoBlocked
	s.emit(wire.TodoUpdated{Todo: other})
	checkTodos(t, s, again, gone, other)

	s.emit(wire.TodoCompleted{TodoID: "b", Status: wire.TodoSkipped, ResultSummary: []byte(`{"reason":"no"}`)})
	gone.Status, gone.Error, gone.ResultSummary = wire.TodoSkipped, nil, []byte(`{"reason":"no"}`)
	s.emit(wire.TodoStarted{TodoID: "x"})
	s.emit(wire.TodoUpdated{Todo: step("x")})
	checkTodos(t, s, again, gone, other)
	s.emit(wire.PlanModified{PlanID: "plan-1", OldVersion: 1, NewVersion: 2, UpdatedTodos: []wire.Todo{step("d"), gone}, MermaidDiagram: "m"})
	checkTodos(t, s, step("d"), gone)
	if p := s.Snapshot().Plan; p.Version != 2 || p.TotalTodos != 2 || p.MermaidDiagram != "m" || p.EstimatedCostUSD != 0 || p.Request == "" {
		t.Errorf("plan %+v, want version 2 with 2 todos, diagram m, no cost and the request kept", p)
	}
}

func checkTodos(t *testing.T, s *script, want ...wire.Todo) {
	t.Helper()
	if diff := cmp.Diff(want, s.Snapshot().Todos); diff != "" {
		t.Errorf("todos (-want +got):\n%s", diff)
	}
}

// A question that is asked again keeps its place. The plan waits for the oldest.
func TestPlanQuestions(t *testing.T) {
	t.Parallel()
	s := running(step("a"))
	ask := func(id wire.RequestID, question string) wire.HITLInputRequest {
		return wire.HITLInputRequest{RequestID: id, Question: question, InputType: wire.AnswerText}
	}
	s.emit(ask("q1", "?"))
	s.emit(ask("q2", "?"))
	s.emit(ask("q1", "again?"))
	s.emit(ask("q3", "?"))
	s.emit(wire.HITLClosed{RequestID: "q2"})
	s.emit(wire.HITLClosed{RequestID: "none"})
	s.emit(ask("q2", "anew?"))
	want := []wire.HITLRequest{ask("q1", "again?"), ask("q3", "?"), ask("q2", "anew?")}
	got := s.Snapshot()
	if diff := cmp.Diff(want, got.HITLRequests); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[0], got.HITLPending); diff != "" {
		t.Errorf("the oldest (-want +got):\n%s", diff)
	}
	if d, ok := s.Notices().NextDeadline(); ok {
		t.Errorf("the plan's own deadline is %+v, want none", d)
	}
	s.emit(wire.PlanFailure{Status: "failed"})
	if got := s.Snapshot(); got.HITLRequests != nil || got.HITLPending != nil {
		t.Errorf("a plan that has ended asks %+v, want nothing", got.HITLRequests)
	}
}

// A pause stops the deadlines of the plan's questions: the state then has the remaining seconds and
// no time of expiry. Questions without a deadline are not changed, and neither is any by a second pause.
func TestPauseStopsDeadlines(t *testing.T) {
	t.Parallel()
	s := running(step("a"))
	left := func(sec int, at wire.Millis) wire.HITLDeadline {
		return wire.HITLDeadline{TimeoutSec: sec, ExpiresAt: at}
	}
	ask := func(id wire.RequestID, d wire.HITLDeadline) wire.HITLInputRequest {
		return wire.HITLInputRequest{RequestID: id, InputType: wire.AnswerText, HITLDeadline: d}
	}
	yes := func(d wire.HITLDeadline) wire.HITLApprovalRequest {
		return wire.HITLApprovalRequest{RequestID: "yes", TodoID: "a", HITLDeadline: d}
	}
	what := func(d wire.HITLDeadline) wire.HITLClarification {
		return wire.HITLClarification{RequestID: "what", InputType: wire.AnswerText, HITLDeadline: d}
	}
	look := review("look", planned(step("a")), 9_000)
	s.now = 1000
	for _, q := range []wire.ServerPayload{ask("q", left(300, 301_000)), yes(left(600, 601_000)), what(left(1, 1500)), look, ask("ever", left(7, 0))} {
		s.emit(q)
	}
	s.Changes()
	s.now = 2999
	s.emit(wire.HITLPaused{PausedBy: "user"})
	checkChanges(t, s, "plan plan", "hitl look", "hitl q", "hitl what", "hitl yes")
	look.HITLDeadline = left(7, 0)
	check := func(want ...wire.HITLRequest) {
		t.Helper()
		if diff := cmp.Diff(want, s.Snapshot().HITLRequests); diff != "" {
			t.Errorf("questions (-want +got):\n%s", diff)
		}
	}
	check(ask("q", left(299, 0)), yes(left(599, 0)), what(left(1, 0)), look, ask("ever", left(7, 0)))
	s.now = 9000
	s.emit(wire.HITLPaused{PausedBy: "interrupt"})
	check(ask("q", left(299, 0)), yes(left(599, 0)), what(left(1, 0)), look, ask("ever", left(7, 0)))
	s.emit(wire.HITLResumed{})
	s.emit(ask("q", left(299, 308_000)))
	check(ask("q", left(299, 308_000)), yes(left(599, 0)), what(left(1, 0)), look, ask("ever", left(7, 0)))
}

// A changed todo is stored as one field, and the fields of removed parts are deleted.
func TestPlanChangesAreFields(t *testing.T) {
	t.Parallel()
	s := running(step("a"), step("b"))
	checkChanges(t, s, "plan plan", "layer layer", "todos a", "todos b")
	s.emit(wire.TodoStarted{TodoID: "b"})
	s.emit(wire.TodoProgress{TodoID: "b", ProgressPercentage: 1})
	checkChanges(t, s, "todos b")
	s.emit(wire.HITLInputRequest{RequestID: "q", InputType: wire.AnswerText})
	checkChanges(t, s, "hitl q")
	s.emit(wire.PlanFailure{Status: "cancelled"})
	checkChanges(t, s, "plan plan", "-layer layer", "-hitl q")
	s.emit(wire.PlanCleared{})
	checkChanges(t, s, "-plan plan", "-todos a", "-todos b")
	if diff := cmp.Diff(desktop.New("ses-1").Hash(), s.Hash()); diff != "" {
		t.Error("the hash after PLAN_CLEARED differs from a new state's, want the same: no part of the plan is left")
	}
}

// The state of a plan is bounded: todos, dependencies, the text of the answer, partial results.
func TestPlanBounds(t *testing.T) {
	t.Parallel()
	s := newScript()
	log := bigPlanLog()
	for _, e := range log[:len(log)-2] {
		s.Apply(e)
	}
	got := s.Snapshot()
	if len(got.Todos) != desktop.MaxTodos || got.Plan.TotalTodos != desktop.MaxTodos || len(got.Todos[3].DependsOn) != 1 {
		t.Errorf("%d todos of %d, want %d of both, the fourth with one dependency", len(got.Todos), got.Plan.TotalTodos, desktop.MaxTodos)
	}
	if n := len(got.Plan.Complete.Response.Text); n > 32<<10 || n < 32<<10-4 {
		t.Errorf("%d bytes of the answer are kept, want 32 KiB, less at most 4", n)
	}
	for i, want := range []bool{true, false} {
		s.Apply(log[len(log)-2+i])
		if r := s.Snapshot().Plan.Failed.PartialResults; (r.AvailableData != nil) != want || len(r.CompletedTodos) != 1 {
			t.Errorf("failure %d: %d bytes of results, completed %v, want results: %v and one completed", i, len(r.AvailableData), r.CompletedTodos, want)
		}
	}
}

// Agents that work for a plan are task agents.
func TestPlanAgentsAreTasks(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.emit(wire.MessageAccepted{MessageID: "m", AgentID: "plan-1", How: wire.TakenDirect})
	s.emit(wire.AgentResponse{AgentID: "plan-1/a.1", Delta: "x"})
	for _, a := range s.Snapshot().Agents {
		if a.Kind != wire.AgentTask {
			t.Errorf("%s is %s, want %s", a.Role, a.Kind, wire.AgentTask)
		}
	}
}
