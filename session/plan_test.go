package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// A plan with every feature is completed.
func TestPlanRuns(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, open(t), session.Config{}).newDesktop(t, "ses-1")
			d.approvePlan(d.submitPlan(fullPlan))
			q := waitEvent(t, d.eventLog, func(q wire.HITLInputRequest) bool { return q.Field == "period" })
			d.wantRefused("a1", wire.HITLInputResponse{RequestID: q.RequestID, Value: json.RawMessage(`"soon"`)}, wire.CodeHITLInvalidResponse, "value")
			if now := d.snapshot(); now.Status != wire.SessionWaiting || len(now.HITLRequests) == 0 || now.CurrentLayer != wire.LayerExecution {
				t.Errorf("with a question the session is %s, has %d requests, in %s, want %s, at least one, in %s", now.Status, len(now.HITLRequests), now.CurrentLayer, wire.SessionWaiting, wire.LayerExecution)
			}
			d.answerPlanUntil(isPlanEnd)
			d.wantPlanDone()
			var layers []wire.Layer
			for _, l := range payloads[wire.LayerStart](d.all()) {
				layers = append(layers, l.Layer)
			}
			if !slices.Equal(layers, []wire.Layer{wire.LayerCognitive, wire.LayerPlanning, wire.LayerExecution, wire.LayerResponse}) {
				t.Errorf("the layers are %v, want cognitive, planning, execution and response", layers)
			}
			if failed := payloads[wire.TodoFailed](d.all()); len(failed) != 2 {
				t.Errorf("todos failed %d times, want 2: %+v", len(failed), failed)
			}
			now := d.snapshot()
			if now.Plan == nil || now.Plan.Status != wire.PlanCompleted || len(now.Todos) != 5 || now.Status != wire.SessionIdle || len(now.HITLRequests) > 0 {
				t.Errorf("the state has the plan %+v, %d todos, %d requests and status %s, want it completed with 5, none and %s", now.Plan, len(now.Todos), len(now.HITLRequests), now.Status, wire.SessionIdle)
			}
		})
	}
}

// A second plan is refused while the first one runs, chat is not.
func TestPlanBesideChat(t *testing.T) {
	t.Parallel()
	d := planHub(t, newFileDeployment(t), session.Config{}).newDesktop(t, "ses-1")
	d.submitPlan(fullPlan)
	a := d.sendAndWait("m2", wire.UserMessage{Mode: wire.ModePlan, Content: "another"})
	if no, is := a.(wire.MessageRejected); !is || no.Code != wire.CodeSessionInvalidState || no.To != "" {
		t.Errorf("a second plan is answered with %+v, want code %s to all tabs", a, wire.CodeSessionInvalidState)
	}
	a = d.sendAndWait("m3", wire.UserMessage{Mode: wire.ModePlan, Content: "  "})
	if no, is := a.(wire.MessageRejected); !is || no.Code != wire.CodeInvalidMessage || no.Field != "content" {
		t.Errorf("an empty plan is answered with %+v, want code %s for content", a, wire.CodeInvalidMessage)
	}
	d.sendText(firstMonitor, "m4", "/say hello")
	d.waitTurnEnd("m4")
	d.sendAndWait("c1", wire.ControlCancel{Reason: "enough"})
	if r := d.waitTurnEnd("m1"); r.Outcome != wire.OutcomeInterrupted || !strings.Contains(r.Reason, "enough") {
		t.Errorf(`the message ends with %+v, want %s because of "enough"`, r, wire.OutcomeInterrupted)
	}
	d.waitIdle()
}

// An agent reports its progress and asks for a value.
func TestPlanAgentAsks(t *testing.T) {
	t.Parallel()
	d := planHub(t, newFileDeployment(t), session.Config{}).newDesktop(t, "ses-1")
	d.approvePlan(d.submitPlan(`{"id":"one","task":"/progress 40 half of it\n/input size number! How many?\n/say done"}`))
	p := waitEvent(t, d.eventLog, anyOf[wire.TodoProgress])
	if p.TodoID != "one" || p.ProgressPercentage != 40 || p.CurrentStep != "half of it" {
		t.Errorf(`the progress is %+v, want 40%% of todo one at "half of it"`, p)
	}
	q := waitEvent(t, d.eventLog, anyOf[wire.HITLInputRequest])
	if q.TodoID != "one" || q.Field != "size" || !q.Required {
		t.Errorf("the question is %+v, want the required size of todo one", q)
	}
	d.send("a1", wire.HITLInputResponse{RequestID: q.RequestID, Value: json.RawMessage(`7`)})
	done := waitEvent(t, d.eventLog, anyOf[wire.TodoCompleted])
	if !strings.Contains(string(done.ResultSummary), "7") {
		t.Errorf("the result is %s, want the answer 7 in it", done.ResultSummary)
	}
	d.waitTurnEnd("m1")
}

// An app that does not answer a todo in time is an error for all tabs, with the todo and the tool.
func TestPlanToolTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := startAgentHub(t, newSyncDeployment(t), planConfig(hubConfig{})).newDesktop(t, "ses-1")
		d.appWindow(firstMonitor)
		d.approvePlan(d.submitPlan(fmt.Sprintf(`{"id":"wait","task":%q},{"id":"look","task":%q,"depends_on":["wait"]}`, appQuery, appCommand)))
		waitEvent(t, d.eventLog, func(c wire.TodoCompleted) bool { return c.TodoID == "wait" })
		d.send("", wire.AppProtocolReady{WindowID: "app"})
		d.waitTurnEnd("m1")
		var got []string
		for _, n := range payloads[wire.ErrorNotice](d.all()) {
			got = append(got, fmt.Sprintf("%d %s", n.Code, n.Context))
		}
		want := []string{`4003 {"todo_id":"wait","tool":"window:app_query"}`, `4003 {"todo_id":"look","tool":"window:app_command"}`}
		if !slices.Equal(got, want) {
			t.Errorf("errors are %q, want %q", got, want)
		}
		d.waitIdle()
	})
}
