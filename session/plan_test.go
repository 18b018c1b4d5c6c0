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

// A plan with everything that can happen in one is worked off.
func TestPlanIsWorkedOff(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, open(t), session.Config{}).newDesktop(t, "ses-1")
			d.approve(d.plan(allOfIt))
			q := when(t, d.diary, func(q wire.HITLInputRequest) bool { return q.Field == "period" })
			d.refused("a1", wire.HITLInputResponse{RequestID: q.RequestID, Value: json.RawMessage(`"soon"`)}, wire.CodeHITLInvalidResponse, "value")
			if now := d.snapshot(); now.Status != wire.SessionWaiting || len(now.HITLRequests) == 0 || now.CurrentLayer != wire.LayerExecution {
				t.Errorf("with a question the session is %s, has %d, in %s", now.Status, len(now.HITLRequests), now.CurrentLayer)
			}
			d.drive(isEnd)
			d.wellDone()
			var layers []wire.Layer
			for _, l := range find[wire.LayerStart](d.all()) {
				layers = append(layers, l.Layer)
			}
			if !slices.Equal(layers, []wire.Layer{wire.LayerCognitive, wire.LayerPlanning, wire.LayerExecution, wire.LayerResponse}) {
				t.Errorf("the layers are %v", layers)
			}
			if failed := find[wire.TodoFailed](d.all()); len(failed) != 2 {
				t.Errorf("it failed %d times: %+v", len(failed), failed)
			}
			now := d.snapshot()
			if now.Plan == nil || now.Plan.Status != wire.PlanCompleted || len(now.Todos) != 5 || now.Status != wire.SessionIdle || len(now.HITLRequests) > 0 {
				t.Errorf("the state has %+v, %d todos, %s", now.Plan, len(now.Todos), now.Status)
			}
		})
	}
}

// A second plan has to wait for the end of the first, chat does not.
func TestPlanBesideChat(t *testing.T) {
	t.Parallel()
	d := planHub(t, onFiles(t), session.Config{}).newDesktop(t, "ses-1")
	d.plan(allOfIt)
	a := d.ask("m2", wire.UserMessage{Mode: wire.ModePlan, Content: "another"})
	if no, is := a.(wire.MessageRejected); !is || no.Code != wire.CodeSessionInvalidState || no.To != "" {
		t.Errorf("a second plan is answered with %+v", a)
	}
	a = d.ask("m3", wire.UserMessage{Mode: wire.ModePlan, Content: "  "})
	if no, is := a.(wire.MessageRejected); !is || no.Code != wire.CodeInvalidMessage || no.Field != "content" {
		t.Errorf("an empty plan is answered with %+v", a)
	}
	d.say(first, "m4", "/say hello")
	d.ends("m4")
	d.ask("c1", wire.ControlCancel{Reason: "enough"})
	if r := d.ends("m1"); r.Outcome != wire.OutcomeInterrupted || !strings.Contains(r.Reason, "enough") {
		t.Errorf("the message ends with %+v", r)
	}
	d.rest()
}

// An agent says how far it is, and asks for a value that it found it needs.
func TestPlanAgentAsks(t *testing.T) {
	t.Parallel()
	d := planHub(t, onFiles(t), session.Config{}).newDesktop(t, "ses-1")
	d.approve(d.plan(`{"id":"one","task":"/progress 40 half of it\n/input size number! How many?\n/say done"}`))
	p := when(t, d.diary, any1[wire.TodoProgress])
	if p.TodoID != "one" || p.ProgressPercentage != 40 || p.CurrentStep != "half of it" {
		t.Errorf("it says %+v", p)
	}
	q := when(t, d.diary, any1[wire.HITLInputRequest])
	if q.TodoID != "one" || q.Field != "size" || !q.Required {
		t.Errorf("it asks %+v", q)
	}
	d.send("a1", wire.HITLInputResponse{RequestID: q.RequestID, Value: json.RawMessage(`7`)})
	done := when(t, d.diary, any1[wire.TodoCompleted])
	if !strings.Contains(string(done.ResultSummary), "7") {
		t.Errorf("it makes %s of it", done.ResultSummary)
	}
	d.ends("m1")
}

// An app that does not answer a todo in time is an error for everybody, with the todo and the tool.
func TestPlanToolTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := agentHub(t, inBubble(t), planConfig(hubConfig{})).newDesktop(t, "ses-1")
		d.appWindow(first)
		d.approve(d.plan(fmt.Sprintf(`{"id":"wait","task":%q},{"id":"look","task":%q,"depends_on":["wait"]}`, query, command)))
		when(t, d.diary, func(c wire.TodoCompleted) bool { return c.TodoID == "wait" })
		d.send("", wire.AppProtocolReady{WindowID: "app"})
		d.ends("m1")
		var got []string
		for _, n := range find[wire.ErrorNotice](d.all()) {
			got = append(got, fmt.Sprintf("%d %s", n.Code, n.Context))
		}
		want := []string{`4003 {"todo_id":"wait","tool":"window:app_query"}`, `4003 {"todo_id":"look","tool":"window:app_command"}`}
		if !slices.Equal(got, want) {
			t.Errorf("errors are %q, want %q", got, want)
		}
		d.rest()
	})
}
