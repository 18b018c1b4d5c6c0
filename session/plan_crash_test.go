package session_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// planStates are the states of a plan, by the event with which it gets there.
func planStates() map[string]func(wire.ServerPayload) bool {
	layer := func(l wire.Layer) func(wire.ServerPayload) bool {
		return func(p wire.ServerPayload) bool { s, is := p.(wire.LayerStart); return is && s.Layer == l }
	}
	return map[string]func(wire.ServerPayload) bool{
		"cognitive": layer(wire.LayerCognitive),
		"planning":  layer(wire.LayerPlanning),
		"review":    func(p wire.ServerPayload) bool { _, is := p.(wire.HITLPlanReview); return is },
		"approved":  func(p wire.ServerPayload) bool { _, is := p.(wire.PlanApproved); return is },
		"started":   func(p wire.ServerPayload) bool { s, is := p.(wire.TodoStarted); return is && s.TodoID == "two" },
		"completed": func(p wire.ServerPayload) bool { s, is := p.(wire.TodoCompleted); return is && s.TodoID == "one" },
		"failed":    func(p wire.ServerPayload) bool { _, is := p.(wire.TodoFailed); return is },
		"input":     func(p wire.ServerPayload) bool { _, is := p.(wire.HITLInputRequest); return is },
		"approval":  func(p wire.ServerPayload) bool { _, is := p.(wire.HITLApprovalRequest); return is },
		"response":  layer(wire.LayerResponse),
		"complete":  func(p wire.ServerPayload) bool { _, is := p.(wire.PlanComplete); return is },
	}
}

// A hub crashes in every state of a plan. The next one continues, and no completed todo runs again.
func TestPlanSurvivesACrash(t *testing.T) {
	t.Parallel()
	for state, there := range planStates() {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			cfg := planConfig(hubConfig{})
			o := startAgentHub(t, newFileDeployment(t), cfg)
			d := o.newDesktop(t, "ses-1")
			d.beginPlan("m1", fullPlan)
			d.answerPlanUntil(there)
			o = o.restart(t, cfg)
			d = o.openDesktop(t, "ses-1")
			d.answerPlanUntil(isPlanEnd)
			d.wantPlanDone()
		})
	}
}

// The same in every state of one plan, on Redis.
func TestPlanSurvivesManyCrashes(t *testing.T) {
	t.Parallel()
	cfg := planConfig(hubConfig{})
	o := startAgentHub(t, newRedisDeployment(t), cfg)
	d := o.newDesktop(t, "ses-1")
	d.beginPlan("m1", fullPlan)
	for _, state := range []string{"planning", "review", "started", "failed", "approval", "response"} {
		d.answerPlanUntil(planStates()[state])
		o = o.restart(t, cfg)
		d = o.openDesktop(t, "ses-1")
	}
	d.answerPlanUntil(isPlanEnd)
	d.wantPlanDone()
}

// A todo whose tool may have run is not run again without a question.
func TestPlanAsksBeforeItRunsATodoAgain(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		t.Run(strconv.FormatBool(yes), func(t *testing.T) {
			t.Parallel()
			cfg := planConfig(hubConfig{})
			o := startAgentHub(t, newFileDeployment(t), cfg)
			d := o.newDesktop(t, "ses-1")
			d.appWindow(firstMonitor)
			d.send("", wire.AppProtocolReady{WindowID: "app"})
			d.approvePlan(d.submitPlan(`{"id":"one","tool":"app","task":` + strconv.Quote(appCommand+"\n/say done") + `}`))
			q := waitEvent(t, d.eventLog, anyOf[wire.AppProtocolRequest])
			o = o.restart(t, cfg)
			d = o.openDesktop(t, "ses-1")
			again := waitEvent(t, d.eventLog, anyOf[wire.HITLApprovalRequest])
			if again.TodoID != "one" || !strings.Contains(again.Reason, "window:app_command may or may not have run") {
				t.Errorf("after the crash the approval is %+v, want one of todo one because window:app_command may or may not have run", again)
			}
			action := wire.TodoSkip
			if yes {
				action = wire.TodoApprove
			}
			d.send("a1", wire.HITLApprovalResponse{RequestID: again.RequestID, Action: action})
			if yes {
				q = waitEvent(t, d.eventLog, func(r wire.AppProtocolRequest) bool { return r.RequestID != q.RequestID })
				d.answerApp("conn", q, wire.AppCommandResponse{Result: json.RawMessage(`"moved"`)})
			}
			d.waitTurnEnd("m1")
			started := len(payloads[wire.TodoStarted](d.all()))
			end := waitEvent(t, d.eventLog, anyOf[wire.PlanComplete])
			if yes && (started != 2 || end.Status != "success") || !yes && (started != 1 || end.Status != "partial") {
				t.Errorf("with the answer %v todos began %d times and the plan ended as %s, want 2 and success with yes, 1 and partial without", yes, started, end.Status)
			}
		})
	}
}

// A hub is drained during a plan: another one continues it. Owner and follower have the same state
// meanwhile.
func TestPlanIsHandedOver(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := planConfig(hubConfig{})
			a := startAgentHub(t, s, cfg)
			cfg.replica = "b"
			b := startAgentHub(t, s, cfg)
			d := a.newDesktop(t, "ses-1")
			far := b.openDesktop(t, "ses-1")
			seen := newObservedStates()
			stop := seen.watch(t, map[string]*session.Handle{"owner": d.handle, "follower": far.handle})
			d.beginPlan("m1", fullPlan)
			far.answerPlanUntil(planStates()["completed"])
			a.Drain(t.Context())
			far.answerPlanUntil(isPlanEnd)
			stop()
			far.wantPlanDone()
			if now := far.snapshot(); now.Owner != "b" || now.Plan.Status != wire.PlanCompleted {
				t.Errorf("the owner is %s, the plan %+v, want b and %s", now.Owner, now.Plan, wire.PlanCompleted)
			}
			seen.compare(t, readLog(t, s))
		})
	}
}

// observedStates are the states that replicas had, by position and replica.
type observedStates struct {
	mu sync.Mutex
	by map[wire.Position]map[string]string
}

func newObservedStates() *observedStates {
	return &observedStates{by: map[wire.Position]map[string]string{}}
}

// watch records snapshots of a session through handles until stop is called.
func (s *observedStates) watch(t *testing.T, handles map[string]*session.Handle) (stop func()) {
	t.Helper()
	over := make(chan struct{})
	var wg sync.WaitGroup
	for who, r := range handles {
		wg.Go(func() {
			for {
				if now, err := r.Snapshot(t.Context(), nil); err == nil { // else it is being handed over
					s.record(who, now)
				}
				select {
				case <-over:
					return
				case <-time.After(2 * time.Millisecond):
				}
			}
		})
	}
	return func() {
		close(over)
		wg.Wait()
	}
}

func (s *observedStates) record(who string, now wire.SessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[now.LastMessageID] == nil {
		s.by[now.LastMessageID] = map[string]string{}
	}
	s.by[now.LastMessageID][who] = desktop.HashOf(now)
}

// compare checks them against the state folded from the whole log.
func (s *observedStates) compare(t *testing.T, log []wire.Event) {
	t.Helper()
	mirror, compared := desktop.New("ses-1"), 0
	for _, e := range log {
		mirror.Apply(e)
		for who, hash := range s.by[e.At] {
			if compared++; hash != mirror.Hash() {
				t.Errorf("at %v the %s sees the state %v, want %v", e.At, who, hash, mirror.Hash())
			}
		}
	}
	if compared < 5 {
		t.Errorf("only %d states were compared, want at least 5", compared)
	}
}

// Redis loses everything while a plan waits for its review, or runs.
func TestRedisLosesAPlan(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"review", "started"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			server := redistest.Standalone(t)
			s := deploymentOn(t, server)
			cfg := planConfig(hubConfig{logger: discardLogger()})
			o := startAgentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			tab := attachTab(t, d.handle, "conn")
			d.beginPlan("m1", strings.ReplaceAll(fullPlan, "/say 2", `/sleep 200ms\n/say 2`))
			d.answerPlanUntil(planStates()[state])
			before := deliverBarrier(t, d.handle)
			requireNoError(t, server.Client(t).FlushAll(t.Context()).Err())
			state := nextEvent(t, tab, func(s wire.SessionState) bool { return s.LastMessageID.Epoch > before.Epoch })
			for _, q := range state.HITLRequests {
				d.answerPlanQuestion(q.(wire.ServerPayload)) //nolint:forcetypeassert // they are events
			}
			d = o.openDesktop(t, "ses-1")
			d.answerPlanUntil(isPlanEnd)
			end := waitEvent(t, d.eventLog, anyOf[wire.PlanComplete])
			if end.Status != "success" || end.Statistics.Completed != 5 {
				t.Errorf("the plan ends with %+v, want success with 5 completed todos", end)
			}
		})
	}
}
