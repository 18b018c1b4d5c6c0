package attach

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/wire"
)

func TestViewOfAPlan(t *testing.T) {
	t.Parallel()
	todos := []wire.Todo{
		{ID: "collect", Task: "Collect\nreviews", Tool: "web", EstimatedDurationSec: 90},
		{ID: "video", Task: "Make a video", Status: wire.TodoPending, DependsOn: []wire.TodoID{"collect"}, RequiresApproval: true, EstimatedCostUSD: 0.5},
	}
	until := wire.HITLDeadline{TimeoutSec: 300, ExpiresAt: 1_794_735_000_000}
	for name, tt := range map[string]struct {
		shown []any
		want  string
	}{
		"made and approved": {[]any{
			wire.LayerStart{Layer: wire.LayerCognitive, Description: "Understanding the request"},
			wire.HITLClarification{RequestID: "hitl_1", Ambiguity: "No brand.", Question: "Which one?", Suggestions: []string{"A", "B\x1b[2J"}, HITLDeadline: until},
			wire.HITLClosed{RequestID: "hitl_1", Reason: wire.ClosedAnswered, Value: json.RawMessage(`"A"`)},
			wire.LayerComplete{Layer: wire.LayerCognitive, DurationMS: 1200},
			wire.PlanGenerated{PlanID: "plan-1", Version: 1, PlanBody: wire.PlanBody{Todos: todos, EstimatedDurationSec: 90, EstimatedCostUSD: 0.5}},
			wire.HITLPlanReview{RequestID: "hitl_2", PlanID: "plan-1", Plan: wire.PlanBody{Todos: todos}, Message: "Please look at the plan.", HITLDeadline: until},
			wire.PlanModified{PlanID: "plan-1", OldVersion: 1, NewVersion: 2, UpdatedTodos: todos[:1], Changes: []wire.PlanChange{
				{Action: wire.PlanAdd, TodoID: "x", Task: "X"}, {Action: wire.PlanUpdate, TodoID: "collect", Task: "Collect"}, {Action: wire.PlanRemove, TodoID: "video"},
			}},
			wire.HITLClosed{RequestID: "hitl_2", Reason: wire.ClosedAnswered, Action: "approve"},
			wire.PlanApproved{PlanID: "plan-1", ApprovedBy: "user", ExecutionStarting: true},
		}, `
05:49:00 plan: cognitive: Understanding the request
05:49:01 ? No brand. Which one?  [:answer …, until 09:30:00] #hitl_1
05:49:01     A
05:49:01     B
05:49:02 question #hitl_1 answered with "A"
05:49:03 plan: cognitive is done in 1.2s
05:49:04 plan plan-1: 2 todos, about 1m30s, $0.50
05:49:04     ○ collect pending: Collect reviews (with web; about 1m30s)
05:49:04     ○ video pending: Make a video (after collect; asks first; $0.50)
05:49:05 ? Please look at the plan.  [:approve, :modify … or :reject, until 09:30:00] #hitl_2
05:49:06 plan plan-1 changed, version 2: 1 todo
05:49:06     + x: X
05:49:06     ~ collect: Collect
05:49:06     - video
05:49:07 question #hitl_2 answered with approve
05:49:08 plan plan-1 approved by user
`},
		"run": {[]any{
			wire.TodoStarted{TodoID: "collect", Task: "Collect\nreviews", AgentID: "task-plan-1-1"},
			wire.TodoProgress{TodoID: "collect", ProgressPercentage: 65.4, CurrentStep: "page 3", ItemsProcessed: 650, ItemsTotal: 1000},
			wire.TodoFailed{TodoID: "collect", Status: wire.TodoStatusFailed, Error: wire.TodoError{Code: "TOOL_EXECUTION_FAILED", Message: "rate\nlimit"}, RetryCount: 1, MaxRetries: 3, RetryAt: 1_794_735_000_000},
			wire.TodoFailed{TodoID: "collect", Status: wire.TodoStatusFailed, Error: wire.TodoError{Code: "TOOL_EXECUTION_FAILED", Message: "rate limit"}, RetryCount: 3, MaxRetries: 3},
			wire.TodoUpdated{Todo: wire.Todo{ID: "video", Task: "Make a video", Status: wire.TodoBlocked, Error: &wire.TodoError{Message: "collect failed"}}},
			wire.TodoCompleted{TodoID: "collect", Status: wire.TodoStatusCompleted, DurationMS: 30_000, ResultSummary: json.RawMessage(`{"count":987}`)},
			wire.TodoCompleted{TodoID: "text", Status: wire.TodoStatusCompleted, DurationMS: 5, ResultSummary: json.RawMessage(`{"text":"Found\nit."}`)},
			wire.TodoCompleted{TodoID: "video", Status: wire.TodoSkipped},
			wire.ExecutionProgress{TotalTodos: 5, Completed: 1, InProgress: 1, Pending: 1, Skipped: 1, Failed: 1, ProgressPercentage: 40},
			wire.HITLPaused{PausedBy: "user", Reason: "lunch"},
			wire.HITLResumed{ResumedBy: "user"},
		}, `
05:49:00 ▶ collect: Collect reviews, by task-plan-1-1
05:49:01   collect 65%: page 3 (650 of 1000)
05:49:02 ✗ collect: rate limit (TOOL_EXECUTION_FAILED); again at 09:30:00, 1 of 3
05:49:03 ✗ collect: rate limit (TOOL_EXECUTION_FAILED)  [:retry collect or :skip collect]
05:49:04 – video blocked: Make a video (collect failed)
05:49:05 ✓ collect completed in 30s: {"count":987}
05:49:06 ✓ text completed in 5ms: Found it.
05:49:07 – video skipped in 0s
05:49:08 plan: 1 of 5 done (40%), 1 running, 1 to come, 1 skipped, 1 failed
05:49:09 plan paused by user: lunch  [:resume, :modify … or :cancel]
05:49:10 plan goes on
`},
		"questions": {[]any{
			wire.HITLApprovalRequest{RequestID: "hitl_3", TodoID: "video", Todo: todos[1], Reason: "It costs.", HITLDeadline: until},
			wire.HITLInputRequest{RequestID: "hitl_4", TodoID: "collect", Question: "How many?", InputType: wire.AnswerNumber, Min: new(1.0), Max: new(2.5), DefaultValue: json.RawMessage("2")},
			wire.HITLInputRequest{RequestID: "hitl_5", Question: "Since when?", InputType: wire.AnswerChoice, Options: []wire.Option{{Value: "1m", Label: "a month"}, {Value: "all", Label: "all"}}},
			wire.HITLInputRequest{RequestID: "hitl_6", Question: "When?", InputType: wire.AnswerDate, Range: true},
			wire.HITLInputRequest{RequestID: "hitl_7", Question: "Really?", InputType: wire.AnswerConfirm},
			wire.HITLClosed{RequestID: "hitl_4", Reason: wire.ClosedExpired, Value: json.RawMessage("2")},
			wire.HITLClosed{RequestID: "hitl_5", Reason: wire.ClosedCancelled},
		}, `
05:49:00 ? May video run? It costs.  [:approve, :skip video or :reject, which ends the plan, until 09:30:00] #hitl_3
05:49:00     ○ video pending: Make a video (after collect; asks first; $0.50)
05:49:01 ? How many?  [:answer NUMBER from 1 to 2.5, else 2, for collect] #hitl_4
05:49:02 ? Since when?  [:answer ONE] #hitl_5
05:49:02     1m  a month
05:49:02     all
05:49:03 ? When?  [:answer 2026-02-06 2026-02-28] #hitl_6
05:49:04 ? Really?  [:answer yes or no] #hitl_7
05:49:05 question #hitl_4 expired; taken is 2
05:49:06 question #hitl_5 cancelled
`},
		"ends": {[]any{
			wire.PlanComplete{
				Status: "success", Response: wire.PlanResponse{
					Summary: "Good.", Attachments: []wire.PlanAttachment{{Type: "report", Title: "All\x07", URL: "/api/sessions/s/files/a.md"}}, NextActions: []string{"Compare", "Repeat"},
				}, Statistics: &wire.PlanStatistics{TotalTodos: 5, Completed: 5, ExecutionTimeMS: 45_000, TokensUsed: 15_000, CostUSD: 0.08},
			},
			wire.PlanFailure{Status: "failed", Error: wire.PlanFailureError{Code: "EXECUTION_FAILED", Message: "todo collect failed", FailedTodo: "collect", Recoverable: true}},
			wire.PlanFailure{Status: "cancelled", Error: wire.PlanFailureError{Code: "CANCELLED", Message: "enough"}, Statistics: &wire.PlanStatistics{TotalTodos: 1}},
			wire.PlanCleared{PlanID: "plan-1"},
		}, `
05:49:00 plan done: success, 5 of 5 in 45s, 15000 tokens, $0.0800
05:49:00     Good.
05:49:00     report "All": /api/sessions/s/files/a.md
05:49:00     next perhaps: Compare; Repeat
05:49:01 plan failed: todo collect failed (EXECUTION_FAILED)  [:retry collect or :skip collect]
05:49:02 plan cancelled: enough (CANCELLED), 0 of 1 in 0s
05:49:03 plan plan-1 is gone
`},
		"found": {[]any{wire.SessionState{
			Mode: wire.StateSnapshot, Status: wire.SessionPaused, LastMessageID: wire.Position{Epoch: 4, Seq: 2},
			Plan: &wire.PlanState{ID: "plan-1", Status: wire.PlanPaused, Request: "Do it", PausedBy: "user", PauseReason: "lunch"}, Todos: todos[:1],
			HITLRequests: []wire.HITLRequest{wire.HITLInputRequest{RequestID: "hitl_7", Question: "Really?", InputType: wire.AnswerConfirm}},
		}}, `
05:49:00 ── session ses-1 · paused · 0 windows · at 4-2
05:49:00 plan plan-1 paused, paused by user: lunch: Do it
05:49:00     ○ collect pending: Collect reviews (with web; about 1m30s)
05:49:00 ? Really?  [:answer yes or no] #hitl_7
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), show(false, tt.shown...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// asksOfAPlan returns questions of a plan, of every kind, or those named by which.
func asksOfAPlan(which ...string) []question {
	var open []question
	for _, r := range []wire.HITLRequest{
		wire.HITLPlanReview{RequestID: "review"},
		wire.HITLApprovalRequest{RequestID: "approval", TodoID: "video"},
		wire.HITLClarification{RequestID: "clarification"},
		wire.HITLInputRequest{RequestID: "text", Field: "f", InputType: wire.AnswerText},
		wire.HITLInputRequest{RequestID: "choice", Field: "f", InputType: wire.AnswerChoice, Options: []wire.Option{{Value: "1m", Label: "A month"}}},
		wire.HITLInputRequest{RequestID: "multi", Field: "f", InputType: wire.AnswerMulti, Options: []wire.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B, too"}}},
		wire.HITLInputRequest{RequestID: "number", Field: "f", InputType: wire.AnswerNumber},
		wire.HITLInputRequest{RequestID: "date", Field: "f", InputType: wire.AnswerDate},
		wire.HITLInputRequest{RequestID: "range", Field: "f", InputType: wire.AnswerDate, Range: true},
		wire.HITLInputRequest{RequestID: "confirm", Field: "f", InputType: wire.AnswerConfirm},
	} {
		for _, name := range which {
			if id := requestID(r); id == name {
				open = append(open, question{id: id, plan: r})
			}
		}
	}
	return open
}

func TestAnswersToAPlan(t *testing.T) {
	t.Parallel()
	input := func(id, value string) wire.ClientPayload {
		return wire.HITLInputResponse{RequestID: wire.RequestID(id), Field: "f", Value: json.RawMessage(value)}
	}
	yes := func(rest string) func([]question) (wire.ClientPayload, error) {
		return func(q []question) (wire.ClientPayload, error) { return decide(q, rest, true) }
	}
	no := func(q []question) (wire.ClientPayload, error) { return decide(q, "", false) }
	approve := func(rest string) func([]question) (wire.ClientPayload, error) {
		return func(q []question) (wire.ClientPayload, error) { return approveOrReject(q, rest, true) }
	}
	reject := func(rest string) func([]question) (wire.ClientPayload, error) {
		return func(q []question) (wire.ClientPayload, error) { return approveOrReject(q, rest, false) }
	}
	say := func(text string) func([]question) (wire.ClientPayload, error) {
		return func(q []question) (wire.ClientPayload, error) { return answer(q, text) }
	}
	change := func(text string) func([]question) (wire.ClientPayload, error) {
		return func(q []question) (wire.ClientPayload, error) { return modify(q, text) }
	}
	for name, tt := range map[string]struct {
		open string
		do   func([]question) (wire.ClientPayload, error)
		want wire.ClientPayload
		err  string
	}{
		"approve":         {"review", approve(""), wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanApprove}, ""},
		"with a comment":  {"review text", approve("go on then"), wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanApprove, Comment: "go on then"}, ""},
		"a todo":          {"approval review", approve("approval fine"), wire.HITLApprovalResponse{RequestID: "approval", TodoID: "video", Action: wire.TodoApprove, Comment: "fine"}, ""},
		"which":           {"approval review", approve("fine"), nil, "which plan or todo that waits for that? There are #review, #approval"},
		"by its end":      {"approval review", reject("#oval too dear"), wire.HITLApprovalResponse{RequestID: "approval", TodoID: "video", Action: wire.TodoReject, Reason: "too dear"}, ""},
		"reject":          {"review", reject(""), wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanReject}, ""},
		"nothing":         {"text", approve(""), nil, "there is no plan or todo that waits for that"},
		"yes":             {"review", yes(""), wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanApprove}, ""},
		"yes to a todo":   {"approval", yes(""), wire.HITLApprovalResponse{RequestID: "approval", TodoID: "video", Action: wire.TodoApprove}, ""},
		"no":              {"review", no, wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanReject}, ""},
		"no to a todo":    {"approval", no, nil, "want :skip video, or :reject, which ends the plan"},
		"yes for always":  {"review", yes("always"), nil, "that cannot be answered for always"},
		"confirmed":       {"confirm", yes(""), input("confirm", "true"), ""},
		"not confirmed":   {"confirm", no, input("confirm", "false"), ""},
		"yes to a text":   {"text", yes(""), nil, "that question wants an answer, as in :answer TEXT"},
		"clarification":   {"clarification", say(`a "b"`), wire.HITLClarificationResponse{RequestID: "clarification", Value: json.RawMessage(`"a \"b\""`)}, ""},
		"text":            {"text choice", say("#text two words"), input("text", `"two words"`), ""},
		"choice by label": {"choice", say("a month"), input("choice", `"1m"`), ""},
		"no such choice":  {"choice", say("2m"), input("choice", `"2m"`), ""}, // the hub validates it
		"several":         {"multi", say("A, b"), input("multi", `["a","b"]`), ""},
		"with a comma":    {"multi", say("b, too"), input("multi", `["b"]`), ""},
		"number":          {"number", say("2.50"), input("number", "2.5"), ""},
		"no number":       {"number", say("many"), nil, `want a number, got "many"`},
		"date":            {"date", say("2026-02-06"), input("date", `"2026-02-06"`), ""},
		"range":           {"range", say("2026-02-06 2026-02-28"), input("range", `{"from":"2026-02-06","to":"2026-02-28"}`), ""},
		"half a range":    {"range", say("2026-02-06"), nil, "want the first day and the last, as in :answer 2026-02-06 2026-02-28"},
		"confirm in word": {"confirm", say("No"), input("confirm", "false"), ""},
		"perhaps":         {"confirm", say("perhaps"), nil, `want yes or no, got "perhaps"`},
		"words to a plan": {"review", say("fine"), nil, "that question takes :approve or :reject"},
		"modify":          {"text review", change("shorter"), wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanModify, Instruction: "shorter"}, ""},
		"while it runs":   {"text", change("shorter"), wire.ControlResume{Modifications: []json.RawMessage{[]byte(`"shorter"`)}}, ""},
		"a change":        {"review", change(`{"action":"remove","todo_id":"a"}`), wire.ControlResume{Modifications: []json.RawMessage{[]byte(`{"action":"remove","todo_id":"a"}`)}}, ""},
		"changes":         {"review", change(`[{"action":"remove","todo_id":"a"},"b"]`), wire.ControlResume{Modifications: []json.RawMessage{[]byte(`{"action":"remove","todo_id":"a"}`), []byte(`"b"`)}}, ""},
		"modify nothing":  {"review", change(""), nil, "want what to change, as in :modify leave out the video"},
	} {
		got, err := tt.do(asksOfAPlan(strings.Fields(tt.open)...))
		if err != nil {
			got = nil
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || errorText(err) != tt.err {
			t.Errorf("%s: got error %v, want %q; answer (-want +got):\n%s", name, err, tt.err, diff)
		}
	}
}

func TestOrdersToAPlan(t *testing.T) {
	t.Parallel()
	c := &console{monitor: "monitor-1"}
	for text, want := range map[string]wire.ClientPayload{
		":plan write a report": wire.UserMessage{Content: "write a report", MonitorID: "monitor-1", Mode: wire.ModePlan},
		":pause for lunch":     wire.ControlPause{Reason: "for lunch"},
		":resume":              wire.ControlResume{},
		":cancel":              wire.ControlCancel{},
		":retry collect":       wire.ControlRetry{TodoID: "collect"},
		":skip video too dear": wire.ControlSkip{TodoID: "video", Reason: "too dear"},
	} {
		got, err := payloadOf(c, text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: got error %v, want none; message (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{":retry", ":skip", ":resume now", ":retry " + strings.Repeat("x", 65)} {
		if _, err := payloadOf(c, text); err == nil {
			t.Errorf("%s: got no error, want one", text)
		}
	}
}

// payloadOf returns the message that typed text sends.
func payloadOf(c *console, text string) (wire.ClientPayload, error) {
	in, err := parseTyped(text)
	if err != nil {
		return nil, err
	}
	for _, v := range verbs() {
		if v.name == in.name {
			return v.do(c, in.rest)
		}
	}
	return nil, nil
}
