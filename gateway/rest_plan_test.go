package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// planOf is the response with a plan.
type planOf struct {
	Status string
	Plan   *struct {
		ID     string
		Status string
	}
	Todos        []struct{ ID, Status string }
	HITLRequests []struct {
		Type      string
		RequestID string `json:"request_id"`
	} `json:"hitl_requests"`
}

// A message is processed as a plan over REST only.
func TestPlanOverREST(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	described := newChecker(t, describe(t, h))
	look := func() (p planOf) {
		got := h.get(sessionPath(id, "/plan"), ada).wantStatus(http.StatusOK)
		described.answer(t, http.MethodGet, "/api/sessions/{session}/plan", "", got)
		got.decode(&p)
		return p
	}
	control := func(body string) {
		t.Helper()
		got := h.post(sessionPath(id, "/plan/control"), ada, body).wantStatus(http.StatusOK)
		described.answer(t, http.MethodPost, "/api/sessions/{session}/plan/control", body, got)
	}
	answer := func(body string) {
		t.Helper()
		got := h.post(sessionPath(id, "/plan/answers"), ada, body).wantStatus(http.StatusOK)
		described.answer(t, http.MethodPost, "/api/sessions/{session}/plan/answers", body, got)
	}
	until := func(fits func(planOf) bool) planOf {
		t.Helper()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(h.wait); ; <-tick.C {
			p := look()
			if fits(p) {
				return p
			}
			if time.Now().After(deadline) {
				t.Fatalf("plan: got %+v until the deadline, want it to go on", p)
			}
		}
	}
	if p := look(); p.Plan != nil || len(p.Todos)+len(p.HITLRequests) > 0 {
		t.Errorf("session without a plan: got %+v, want no plan, todos and requests", p)
	}
	h.post(sessionPath(id, "/plan/control"), ada, `{"action":"pause"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	if p := h.post(sessionPath(id, "/plan/control"), ada, `{"action":"dance"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "action" {
		t.Errorf("unknown order: got %+v, want the field action", p)
	}
	h.post(sessionPath(id, "/messages"), ada, `{"content":"/plan {\"todos\":[{\"id\":\"one\",\"task\":\"look\"},{\"id\":\"two\",\"task\":\"say\",\"requires_approval\":true,\"depends_on\":[\"one\"]}]}","mode":"plan","messageId":"m1"}`).
		wantStatus(http.StatusAccepted)
	h.post(sessionPath(id, "/messages"), ada, `{"content":"another","mode":"plan"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	review := until(func(p planOf) bool { return len(p.HITLRequests) == 1 }).HITLRequests[0]
	if review.Type != "hitl_plan_review" {
		t.Fatalf("request: got %+v, want hitl_plan_review", review)
	}
	yes := `{"type":"hitl_plan_response","request_id":"` + review.RequestID + `","action":"approve","messageId":"yes-1"}`
	if p := h.post(sessionPath(id, "/plan/answers"), ada, `{"type":"nod","request_id":"x"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "type" {
		t.Errorf("unknown type: got %+v, want the field type", p)
	}
	perhaps := strings.Replace(yes, "approve", "perhaps", 1)
	if p := h.post(sessionPath(id, "/plan/answers"), ada, perhaps).wantProblem(http.StatusUnprocessableEntity, wire.CodeHITLInvalidResponse); p.Field != "action" {
		t.Errorf("unknown action: got %+v, want the field action", p)
	}
	for range 2 { // the second repeats the first
		answer(yes)
	}
	h.post(sessionPath(id, "/plan/answers"), ada, strings.Replace(yes, "yes-1", "yes-2", 1)).wantProblem(http.StatusGone, wire.CodeHITLRequestExpired)
	ask := until(func(p planOf) bool { return len(p.HITLRequests) == 1 }).HITLRequests[0]
	control(`{"action":"pause","reason":"tea"}`)
	if p := look(); p.Status != "paused" {
		t.Errorf("plan after pause: got %+v, want it paused", p)
	}
	control(`{"action":"resume"}`)
	answer(`{"type":"hitl_approval_response","request_id":"` + ask.RequestID + `","action":"skip"}`)
	if p := until(func(p planOf) bool { return p.Plan.Status == "completed" }); p.Todos[0].Status != "completed" || p.Todos[1].Status != "skipped" {
		t.Errorf("end of the plan: got %+v, want one todo completed and one skipped", p)
	}
}

// Viewers see a plan and cannot control it; users without access get 404.
func TestPlanRights(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	bob, eve := h.userToken("bob"), h.userToken("eve")
	id := h.newSession("ada")
	if err := h.hub.Share(t.Context(), id, "bob", session.ShareViewer); err != nil {
		t.Fatal(err)
	}
	h.get(sessionPath(id, "/plan"), bob).wantStatus(http.StatusOK)
	h.get(sessionPath(id, "/plan"), eve).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	for path, body := range map[string]string{
		"/plan/answers": `{"type":"hitl_plan_response","request_id":"r","action":"approve"}`, "/plan/control": `{"action":"cancel"}`,
	} {
		h.post(sessionPath(id, path), bob, body).wantProblem(http.StatusForbidden, wire.CodeForbidden)
		h.post(sessionPath(id, path), eve, body).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
		h.post(sessionPath(id, path), "", body).wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	}
}

// A file attached to a plan's answer can be opened with access to the session, and cannot run as
// script.
func TestPlanAttachments(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	const todo = `{"id":"one","task":"/call storage:write {\"path\":\"out/re port.html\",\"content\":\"x\"}"}`
	body, err := json.Marshal(map[string]string{"content": `/plan {"todos":[` + todo + `]}`, "mode": "plan"})
	if err != nil {
		t.Fatal(err)
	}
	x := h.mustDial("/ws/"+string(id), dialOptions{token: ada})
	h.post(sessionPath(id, "/messages"), ada, string(body)).wantStatus(http.StatusAccepted)
	var end wire.PlanComplete
	for end.Status == "" {
		e, open := x.read()
		if !open {
			t.Fatal("got a closed socket, want the next event of the plan")
		}
		switch p := e.Data.(type) {
		case wire.HITLPlanReview:
			h.post(sessionPath(id, "/plan/answers"), ada, `{"type":"hitl_plan_response","request_id":"`+string(p.RequestID)+`","action":"approve"}`).wantStatus(http.StatusOK)
		case wire.PlanComplete:
			end = p
		case wire.PlanFailure:
			t.Fatalf("end of the plan: got the failure %+v, want it complete", p)
		}
	}
	if len(end.Response.Attachments) != 1 {
		t.Fatalf("end of the plan: got %+v, want one attachment", end)
	}
	url := end.Response.Attachments[0].URL
	const page = "<script>alert(1)</script>"
	if _, err := h.fileStore.Save(t.Context(), id, "out/re port.html", strings.NewReader(page), int64(len(page))); err != nil {
		t.Fatal(err)
	}
	got := h.get(url, ada).wantStatus(http.StatusOK)
	if string(got.body) != page || got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Content-Type") != "application/octet-stream" ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") || !strings.Contains(got.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%s: got %q with %v, want the page as an attachment in a sandbox", url, got.body, got.header)
	}
	h.get(url, "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	h.get(url, h.userToken("eve")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}
