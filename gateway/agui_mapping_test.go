package gateway_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui/aguitest"
)

// activities returns the contents of the activities of a type, in their order.
func (x *aguiThread) activities(kind string) []string {
	var all []string
	for _, e := range x.Events {
		if e.Type == "ACTIVITY_SNAPSHOT" && e.ActivityType == kind {
			all = append(all, string(e.Content))
		}
	}
	return all
}

func TestAGUIRunShowsThinkingAndTasks(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/think Let me see.\n/task web /say sub\n/say Over.", nil)
	if got := strings.Join(x.Texts("reasoning"), "|"); got != "Let me see." {
		t.Errorf("thinking %q, want the whole; events %v", got, x.Types())
	}
	tasks := x.activities("everdesk.task")
	if len(tasks) != 2 || !strings.Contains(tasks[0], `"running"`) || !strings.Contains(tasks[1], `"completed"`) {
		t.Errorf("task activities %q, want one that runs and completes", tasks)
	}
}

// The question of a task ends the run of the turn that delegated it. The answer continues both.
func TestAGUIQuestionOfATaskIsAnInterrupt(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/task web /call shell {\"command\":\"git push\"}; /say sub\n/say Over.", nil)
	x.run(x.answer("run-2", "resolved", true), nil)
	if got := strings.Join(x.Texts("assistant"), "|"); !strings.HasSuffix(got, "Over.") {
		t.Errorf("texts %q, want the end of the turn after the answer; events %v", got, x.Types())
	}
	tasks := x.activities("everdesk.task")
	if len(tasks) == 0 || !strings.Contains(tasks[len(tasks)-1], `"completed"`) {
		t.Errorf("task activities %q, want the task completed", tasks)
	}
}

// The plan of a message is reviewed with an interrupt, its todos are steps of the run that follows, and the
// state has them. The run ends when the plan does.
func TestAGUIPlanIsReviewedAndItsTodosAreSteps(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.Messages = []aguitest.Message{{
		ID: "user-run-1", Role: "user",
		Content: json.RawMessage(`"/plan {\"todos\":[{\"id\":\"one\",\"task\":\"/say 1\"},{\"id\":\"two\",\"task\":\"/say 2\",\"depends_on\":[\"one\"]}]}"`),
	}}
	x.run(aguiInput{RunID: "run-1", ForwardedProps: map[string]any{"everdesk": map[string]any{"plan": true}}}, nil)
	if len(x.Interrupts) != 1 || x.Interrupts[0].Reason != "everdesk:plan" {
		t.Fatalf("interrupts %+v, want the review of the plan; events %v", x.Interrupts, x.Types())
	}
	if got := x.State["todos"]; len(got) != 2 {
		t.Errorf("todos of the state %v, want two", got)
	}
	x.run(aguiInput{RunID: "run-2", Resume: []map[string]any{{"interruptId": x.Interrupts[0].ID, "status": "resolved", "payload": map[string]any{"action": "approve"}}}}, nil)
	var steps []string
	for _, e := range x.Events {
		if strings.HasPrefix(e.Type, "STEP_") {
			steps = append(steps, e.Type+" "+e.StepName)
		}
	}
	want := []string{"STEP_STARTED one: /say 1", "STEP_FINISHED one: /say 1", "STEP_STARTED two: /say 2", "STEP_FINISHED two: /say 2"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q; events %v", steps, want, x.Types())
	}
	for id, todo := range x.State["todos"] {
		if !strings.Contains(string(todo), `"completed"`) {
			t.Errorf("todo %s is %s, want it completed", id, todo)
		}
	}
	if last := x.Events[len(x.Events)-1]; last.Type != "RUN_FINISHED" || len(x.Interrupts) > 0 {
		t.Errorf("the run ends with %+v, want RUN_FINISHED without a question", last)
	}
}

func TestAGUIClosedConnectionInterruptsTheTurnOnlyIfAsked(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	for _, cancels := range []bool{true, false} {
		text := `"/stream 300 300"`
		if cancels { // the turn lasts until it is cancelled
			text = `"/stream 100000 100"`
		}
		x := h.aguiThread("/agui", h.userToken("ann"), "thread-"+jsonText(cancels))
		x.Messages = []aguitest.Message{{ID: "user-run-1", Role: "user", Content: json.RawMessage(text)}}
		props := map[string]any{"everdesk": map[string]any{"cancelOnClose": cancels}}
		x.run(aguiInput{RunID: "run-1", ForwardedProps: props}, func(e aguitest.Event) bool { return e.Type == "TEXT_MESSAGE_CONTENT" })
		x.run(aguiInput{RunID: "run-1", ProtocolVersion: "1.0"}, nil)
		last := x.Events[len(x.Events)-1]
		if got := last.Outcome != nil && last.Outcome.Type == "cancelled"; last.Type != "RUN_FINISHED" || got != cancels {
			t.Errorf("with cancelOnClose %v the run ends with %+v, want it cancelled: %v", cancels, last, cancels)
		}
	}
}
