package session_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// planHub is a hub that plans: a todo that fails is tried again at once.
func planHub(t *testing.T, s *site, replica wire.ReplicaID, cfg session.Config) *office {
	t.Helper()
	cfg.Plan.Tools, cfg.Plan.Dangerous = tools.Profiles(), []string{tools.ProfileCode}
	if cfg.Plan.RetryFirst == 0 {
		cfg.Plan.RetryFirst = time.Millisecond
	}
	if cfg.AnswersPerMinute == 0 {
		cfg.AnswersPerMinute = -1
	}
	return agentHub(t, s, hubConfig{replica: replica, session: cfg})
}

// plan says a message that is worked off as the plan that it contains.
func (d *desktop) plan(id wire.MessageID, todos string) wire.HITLPlanReview {
	d.t.Helper()
	if a := d.ask(id, wire.UserMessage{Mode: wire.ModePlan, Content: `/plan {"todos":[` + todos + `]}`}); !isAccepted(a) {
		d.t.Fatalf("%s is answered with %+v", id, a)
	}
	return when(d.t, d.diary, func(wire.HITLPlanReview) bool { return true })
}

func isAccepted(p wire.ServerPayload) bool { _, ok := p.(wire.MessageAccepted); return ok }

// approve lets a plan run.
func (d *desktop) approve(r wire.HITLPlanReview) {
	d.t.Helper()
	a := d.ask("approve-"+wire.MessageID(r.RequestID), wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanApprove})
	if closed, ok := a.(wire.HITLClosed); !ok || closed.Action != string(wire.PlanApprove) || closed.AnsweredBy != "conn" {
		d.t.Fatalf("the review is answered with %+v", a)
	}
}

// A plan with everything that can happen in one is worked off: two todos at once, one
// that fails first, one that asks for dates, one that needs a yes.
func TestPlanIsWorkedOff(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, open(t), "a", session.Config{}).newDesktop(t, "ses-1")
			r := d.plan("m1", `{"id":"one","task":"collect"},{"id":"two","task":"look"},
				{"id":"three","task":"count","depends_on":["one","two"],"inputs":[{"field":"period","question":"Which days?","input_type":"date","range":true,"required":true}]},
				{"id":"four","task":"/fail 2","depends_on":["one"]},
				{"id":"five","task":"publish","depends_on":["three","four"],"requires_approval":true}`)
			d.approve(r)
			q := when(t, d.diary, func(q wire.HITLInputRequest) bool { return q.Field == "period" })
			wrong := d.ask("a1", wire.HITLInputResponse{RequestID: q.RequestID, Value: json.RawMessage(`"soon"`)})
			if no, ok := wrong.(wire.MessageRejected); !ok || no.Code != wire.CodeHITLInvalidResponse || no.Field != "value" || no.To != "conn" {
				t.Errorf("a wrong value is answered with %+v", wrong)
			}
			d.send("a2", wire.HITLInputResponse{RequestID: q.RequestID, Value: json.RawMessage(`{"from":"2026-01-01","to":"2026-01-31"}`)})
			ask := when(t, d.diary, func(q wire.HITLApprovalRequest) bool { return q.TodoID == "five" })
			d.send("a3", wire.HITLApprovalResponse{RequestID: ask.RequestID, TodoID: "five", Action: wire.TodoApprove})
			end := when(t, d.diary, func(wire.PlanComplete) bool { return true })
			if end.Status != "success" || end.Statistics.Completed != 5 || end.Response.Text == "" {
				t.Errorf("it ends with %+v", end)
			}
			if r := d.ends("m1"); r.Outcome != wire.OutcomeCompleted {
				t.Errorf("the message ends with %+v", r)
			}
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
