package contextpool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

func budgetOf(concurrent, actions, output int) policies.BudgetLimits {
	return policies.BudgetLimits{Concurrent: concurrent, ActionsPerMin: actions, OutputPerMin: output}
}

// state returns the newest status of a monitor.
func (r *rig) state(m wire.MonitorID) wire.MonitorStatus {
	for _, s := range r.desktop.Monitors() {
		if s.MonitorID == m {
			return s
		}
	}
	return wire.MonitorStatus{}
}

func TestBackgroundSlots(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(1, 0, 0), second, third)
	r.direct("m0") // the first monitor needs no slot
	one := r.direct("m1", second)
	r.runner.slots = 5
	r.user("m2", third)
	r.wantStory("m2", "queued at 1") // and no ephemeral agent
	s := r.state(third)
	if s.State != wire.MonitorWaiting || s.Queue != 1 || s.Budget == nil || s.Budget.Denied != wire.BudgetSlots || s.Budget.Running != 1 {
		t.Fatalf("status %+v, want %s with 1 queued and 1 running, denied %s", s, wire.MonitorWaiting, wire.BudgetSlots)
	}
	r.ended(one)
	r.wantStory("m2", "queued at 1; direct by main-monitor-2-m2")
	s = r.state(third)
	if s.State != wire.MonitorRunning || s.Queue != 0 || s.Budget.Denied != "" {
		t.Fatalf("status %+v, want %s with an empty queue and nothing denied", s, wire.MonitorRunning)
	}
	r.crash() // the slot is still taken
	r.user("m3", second)
	r.wantStory("m3", "queued at 1")
}

// A refusal by the budget is reported to the user and to the model, and messages are queued.
func TestActionBudget(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 3, 0), second)
	run := r.direct("m1", second)
	for i := range 3 {
		if res, err := r.act(run, fmt.Sprintf("c%d", i), window(fmt.Sprintf("w%d", i))); err != nil || res.IsError {
			t.Fatalf("action %d gives %+v, error %v, want it done", i, res, err)
		}
	}
	wantEqual(t, r.state(second).State, wire.MonitorOverBudget)
	res, err := r.act(run, "c3", window("w3"))
	if err != nil || !res.IsError || !strings.Contains(res.Text, "over its budget of actions per minute") {
		t.Fatalf("an action over the budget gives %+v, error %v, want a result that says so", res, err)
	}
	if _, open := r.desktop.Window(second, "w3"); open {
		t.Fatal("got window w3 over the budget, want none")
	}
	wantEqual(t, r.runner.interrupted, []string{run.ID + ": monitor-1 is over its budget of actions per minute"})
	s := r.state(second)
	if s.State != wire.MonitorOverBudget || s.Budget.Denied != wire.BudgetActions || s.Budget.Until == 0 {
		t.Fatalf("status %+v, want %s, denied %s, with a time", s, wire.MonitorOverBudget, wire.BudgetActions)
	}
	wantEqual(t, all[wire.AgentError](r), []wire.AgentError{{
		Error: "monitor-1 is over its budget of actions per minute", Code: wire.CodeBudgetExceeded,
		AgentID: "main-monitor-1-m1", MonitorID: second, MessageID: "m1",
	}})
	r.interrupted(run)
	r.wantStory("m1", "direct by main-monitor-1-m1; interrupted: monitor-1 is over its budget of actions per minute")
	for i := range 11 {
		r.user(fmt.Sprintf("n%d", i), second)
	}
	r.wantStory("n0", "queued at 1")
	r.wantStory("n10", "rejected with 4004: monitor-1 is over its budget of actions per minute, and 10 messages wait for it already")
	due := r.pool.Due()
	if wait := due.Sub(r.now); wait <= 0 || wait > time.Minute {
		t.Fatalf("due in %v, want up to 1m", wait)
	}
	r.step(func() { r.pool.Messages.Withdraw("n9") })
	r.now = due
	r.user("late", second) // before the next Tick
	r.wantStory("n0", "queued at 1; direct by main-monitor-1-n0")
	r.wantStory("late", "queued at 9")
	prompt := r.run("main-monitor-1-n0").Prompt
	if !strings.Contains(prompt, "<budget>The turn main-monitor-1-m1 was interrupted: monitor-1 is over its budget of actions per minute.</budget>") {
		t.Fatalf("prompt %s, want it to say why the last turn was interrupted", prompt)
	}
	wantEqual(t, r.state(second).State, wire.MonitorRunning)
}

func TestOutputBudget(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 10), second)
	run := r.direct("m1", second)
	r.said(run, "12345")
	r.said(run, "6789éabc")
	r.said(run, "more")
	wantEqual(t, len(r.runner.interrupted), 1)
	r.crash()
	r.wantStory("m1", "direct by main-monitor-1-m1; interrupted: monitor-1 is over its budget of output per minute")
	wantEqual(t, r.rows()[1], "text: 123456789")
	r.open(second, "w")
	r.toWindow("a", "w", second)
	r.wantStory("a", "queued at 1")
	wantEqual(t, r.state(second).State, wire.MonitorOverBudget)
	r.now = r.pool.Due()
	r.step(func() { r.pool.Tick() })
	r.wantStory("a", "queued at 1; direct by window-w")
	r.ended(r.run("window-w"))
	wantEqual(t, r.state(second).State, wire.MonitorIdle)
	if !r.pool.Due().IsZero() {
		t.Fatalf("got due time %v, want none", r.pool.Due())
	}
}

func TestThePrimaryMonitorHasNoBudget(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(1, 1, 1), second)
	run := r.direct("m1")
	for i := range 5 {
		if res, err := r.act(run, fmt.Sprintf("c%d", i), window("w")); err != nil || res.IsError {
			t.Fatalf("action %d of the first monitor gives %+v, error %v, want it done", i, res, err)
		}
	}
	r.said(run, "a long text")
	wantEqual(t, len(r.runner.interrupted), 0)
	if s := r.state(first); s.Budget != nil || s.State != wire.MonitorRunning {
		t.Fatalf("status %+v, want %s without a budget", s, wire.MonitorRunning)
	}
}
