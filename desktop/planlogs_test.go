package desktop_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

func step(id wire.TodoID, after ...wire.TodoID) wire.Todo {
	return wire.Todo{ID: id, Task: "do " + string(id), Status: wire.TodoPending, DependsOn: after, MaxRetries: 3}
}

func planned(todos ...wire.Todo) wire.PlanGenerated {
	graph := wire.Object[wire.TodoID, []wire.TodoID]{}
	for _, t := range todos {
		graph = append(graph, wire.Member[wire.TodoID, []wire.TodoID]{Key: t.ID, Value: t.DependsOn})
	}
	return wire.PlanGenerated{
		PlanID: "plan-1", Version: 1, Status: wire.PlanPendingApproval, Request: "a 보고서", MessageID: "m1",
		PlanBody: wire.PlanBody{
			Todos: todos, DependencyGraph: graph, EstimatedDurationSec: 2.5, EstimatedCostUSD: 1e-7, MermaidDiagram: "graph TD",
		},
	}
}

func review(id wire.RequestID, p wire.PlanGenerated, expires wire.Millis) wire.HITLPlanReview {
	return wire.HITLPlanReview{
		RequestID: id, PlanID: p.PlanID, Plan: p.PlanBody, Message: "ok?", Options: []wire.PlanAnswer{wire.PlanApprove},
		HITLDeadline: wire.HITLDeadline{TimeoutSec: 300, ExpiresAt: expires},
	}
}

func failing(id wire.TodoID, n int, again wire.Millis) wire.TodoFailed {
	return wire.TodoFailed{
		TodoID: id, Task: "x", Status: wire.TodoStatusFailed, RetryCount: n, MaxRetries: 3, RetryAt: again,
		Error: wire.TodoError{Code: "TOOL_EXECUTION_FAILED", Message: "no", Recoverable: again > 0},
	}
}

// planLog is a plan's life with everything that may come, and some of the next.
func planLog() []wire.Event {
	plan := planned(step("b"), step("10", "b"), step("9", "b"), step("c", "10", "9"))
	number := 1.5
	done := func(id wire.TodoID, status wire.TodoStatus, result string) wire.TodoCompleted {
		return wire.TodoCompleted{TodoID: id, Task: "x", Status: status, ResultSummary: json.RawMessage(result), DurationMS: 7}
	}
	blocked := step("c", "10")
	blocked.Status, blocked.ResultSummary = wire.TodoBlocked, json.RawMessage(`{"why":1.50}`)
	return logOf(
		wire.HITLPaused{PausedBy: "unknown"}, // there is nothing to stand still
		wire.MessageAccepted{MessageID: "m1", AgentID: "plan-1", MonitorID: "monitor-0", How: wire.TakenDirect},
		wire.LayerStart{Layer: wire.LayerCognitive},
		wire.HITLPaused{PausedBy: "user", Reason: "wait", CanResume: true},
		wire.HITLResumed{ResumedBy: "user"},
		wire.HITLPaused{PausedBy: "user", Reason: "한"},
		wire.HITLClarification{RequestID: "q1", OriginalInput: "?", Question: "which?", InputType: wire.AnswerText},
		wire.LayerComplete{Layer: wire.LayerCognitive, Result: json.RawMessage(`{"b":1e3}`), NextLayer: wire.LayerPlanning},
		wire.HITLClosed{RequestID: "q1", Reason: wire.ClosedAnswered},
		wire.LayerStart{Layer: wire.LayerPlanning},
		plan, // it still stands still
		review("r1", plan, 1),
		wire.HITLResumed{PlanID: "plan-1", ResumedBy: "user"},
		review("r1", plan, 99),
		wire.HITLClosed{RequestID: "r1", Reason: wire.ClosedAnswered, Action: "approve"},
		wire.PlanApproved{PlanID: "plan-1", ApprovedBy: "user", ExecutionStarting: true},
		wire.LayerComplete{Layer: wire.LayerPlanning},
		wire.LayerStart{Layer: wire.LayerExecution},
		wire.TodoStarted{TodoID: "b", Task: "x", AgentID: "plan-1/b.1"},
		wire.AgentResponse{AgentID: "plan-1/b.1", Delta: "x"},
		wire.TodoProgress{TodoID: "b", ProgressPercentage: 33.3, CurrentStep: "one", ItemsProcessed: 1, ItemsTotal: 3},
		failing("b", 1, 1_794_700_030_000),
		wire.TodoStarted{TodoID: "b", Task: "x", AgentID: "task-2"},
		done("b", wire.TodoStatusCompleted, ` { "n" : 1e3 , "s" : "\u00e9" } `),
		wire.TodoUpdated{Todo: blocked},
		wire.TodoUpdated{Todo: step("unknown")},
		failing("unknown", 1, 0),
		done("c", wire.TodoSkipped, `{"reason":"1.0"}`),
		wire.HITLApprovalRequest{
			RequestID: "a1", TodoID: "10", Todo: blocked, Reason: "costly", Options: []wire.TodoAnswer{wire.TodoSkip},
			HITLDeadline: wire.HITLDeadline{TimeoutSec: 600, ExpiresAt: 1_794_700_600_001},
		},
		wire.HITLInputRequest{
			RequestID: "i1", Field: "when", Question: "?", InputType: wire.AnswerDate, Range: true, Min: &number,
			DefaultValue: json.RawMessage(`{"from":"2026-01-01", "1":1.0}`), TodoID: "9", Options: []wire.Option{},
		},
		wire.HITLPaused{PausedBy: "user", CompletedTodos: []wire.TodoID{"b"}, CanResume: true},
		wire.PlanModified{
			PlanID: "plan-1", OldVersion: 1, NewVersion: 2, UpdatedTodos: []wire.Todo{blocked, step("9"), step("9", "c"), step("new")},
			EstimatedCostUSD: 3,
		},
		wire.HITLApprovalRequest{RequestID: "a1", TodoID: "10", Todo: blocked, Reason: "again", Options: []wire.TodoAnswer{}},
		wire.HITLResumed{ResumedBy: "user"},
		wire.HITLClosed{RequestID: "a1", Reason: wire.ClosedExpired},
		wire.TodoStarted{TodoID: "c", Task: "x"},
		failing("c", 3, 0),
		wire.PlanFailure{
			Status: "failed", Error: wire.PlanFailureError{Code: "EXECUTION_FAILED", FailedTodo: "c"}, PlanID: "plan-1",
			PartialResults: &wire.PartialResults{AvailableData: json.RawMessage(`{"b":{"n":1e3}}`)},
		},
		wire.LayerStart{Layer: wire.LayerExecution}, // a user retries the failed todo
		done("c", wire.TodoStatusCompleted, `null`),
		wire.LayerComplete{Layer: wire.LayerExecution},
		wire.LayerStart{Layer: wire.LayerResponse},
		wire.LayerComplete{Layer: wire.LayerResponse},
		wire.PlanComplete{
			Status: "partial", PlanID: "plan-1", MessageID: "m2", Statistics: &wire.PlanStatistics{},
			Response: wire.PlanResponse{Format: "text", Text: "done"}, ReportPaths: []string{"a.md"},
		},
		wire.HITLPaused{PausedBy: "late"},
		wire.PlanCleared{PlanID: "plan-1"},
		wire.LayerStart{Layer: wire.LayerCognitive},
		wire.HITLPaused{PausedBy: "user"},
		wire.PlanFailure{Status: "cancelled", Error: wire.PlanFailureError{Code: "CANCELLED"}, PlanID: "plan-2", MessageID: "m3"},
	)
}

// bigPlanLog has more of everything than is kept.
func bigPlanLog() []wire.Event {
	var todos []wire.Todo
	for i := range desktop.MaxTodos + 2 {
		todos = append(todos, step(wire.TodoID(fmt.Sprintf("t%d", i))))
	}
	todos = append(todos, step("t3", "t1"))
	all := []wire.ServerPayload{wire.LayerStart{Layer: wire.LayerCognitive}, planned(todos...)}
	for i := range desktop.MaxHITLRequests + 2 {
		all = append(all, wire.HITLInputRequest{RequestID: wire.RequestID(fmt.Sprintf("q%d", i)), InputType: wire.AnswerConfirm})
	}
	all = append(
		all,
		wire.HITLClosed{RequestID: "q7"},
		wire.HITLInputRequest{RequestID: "late", InputType: wire.AnswerText},
		wire.PlanComplete{Response: wire.PlanResponse{Text: "x" + strings.Repeat("한𝛀", 10<<10)}},
	)
	for _, n := range []int{16<<10 - 2, 16<<10 - 1} {
		data := json.RawMessage(` "` + strings.Repeat("é", n/2) + strings.Repeat("x", n%2) + `" `)
		all = append(all, wire.PlanFailure{Status: "failed", PartialResults: &wire.PartialResults{
			CompletedTodos: []wire.TodoID{"t1"}, AvailableData: data,
		}})
	}
	return logOf(all...)
}
