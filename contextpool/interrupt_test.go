package contextpool_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func (r *rig) interrupt(scope wire.InterruptScope, monitor wire.MonitorID, agent wire.AgentID, queues wire.InterruptQueues) (found bool) {
	r.step(func() {
		found = r.pool.Interrupt(contextpool.Scope{Kind: scope, Monitor: monitor, Agent: agent}, queues == wire.QueuesDrop)
	})
	return found
}

// Partial text is kept, the actions are not added to the reload cache, and the queue continues
// or is dropped as requested.
func TestInterruptKeepsPartialTextAndQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	run := r.direct("m1")
	r.user("m2")
	r.said(run, "half a sen")
	r.act(run, "c1", window("w1"))
	if !r.interrupt(wire.ScopeSession, "", "", wire.QueuesKeep) {
		t.Fatal("got false from an interrupt of the session, want true")
	}
	wantEqual(t, r.runner.interrupted, []string{run.ID + ": the user interrupted it"})
	if _, err := r.act(run, "c2", window("w2")); err == nil {
		t.Fatal("got an action of a turn that is being stopped, want an error")
	}
	wantEqual(t, r.story("m2"), "queued at 1") // until the turn has ended
	r.interrupt(wire.ScopeSession, "", "", wire.QueuesKeep)
	wantEqual(t, len(r.runner.interrupted), 1)
	r.interrupted(run)
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: the user interrupted it")
	r.wantStory("m2", "queued at 1; direct by main-monitor-0-m2")
	wantEqual(t, r.rows()[3], "text: half a sen")
	if tape := r.kept.lists["tape:monitor-0"]; !strings.Contains(string(tape[1]), "half a sen") {
		t.Fatalf(`tape %s, want the output before the interrupt, "half a sen"`, tape)
	}
	wantEqual(t, len(r.kept.tables["reload"]), 0)
}

func TestInterruptDropsQueues(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	one, two := r.direct("m1"), r.direct("m2", second)
	r.open(second, "w")
	r.toWindow("m5", "w", second)
	r.toWindow("m6", "w", second)
	r.user("m3")         // offered, not answered yet
	r.user("m4", second) // likewise
	r.interrupt(wire.ScopeMonitor, second, "", wire.QueuesDrop)
	r.wantStory("m3", "")
	r.wantStory("m4", "rejected with 3003: taken out of the queue")
	r.wantStory("m6", "queued at 1; rejected with 3003: taken out of the queue")
	r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: two.ID}, Message: "m4"}) // after the turn was interrupted
	r.wantStory("m4", "rejected with 3003: taken out of the queue")
	r.interrupted(two)
	r.interrupted(r.run("window-w"))
	wantEqual(t, r.state(second).State, wire.MonitorIdle)
	r.ended(one)
	r.wantStory("m3", "direct by main-monitor-0-m3")
}

// The scope of a sender has the turns and the queued messages of that user only.
func TestInterruptOfASender(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	r.runner.steers = false
	say := func(id, user string, m wire.MonitorID) {
		r.step(func() {
			r.pool.Messages.HandleUserMessage(contextpool.Message{ID: wire.MessageID(id), By: "c1", User: user, Monitor: m, Text: "text"})
		})
	}
	withdraw := func(s contextpool.Scope) (found bool) {
		r.step(func() { found = r.pool.Messages.WithdrawAll(s) })
		return found
	}
	interrupt := func(s contextpool.Scope) {
		r.step(func() { r.pool.Interrupt(s, false) })
	}
	ann, bob := contextpool.Scope{Kind: wire.ScopeSender, Monitor: first, User: "ann"}, contextpool.Scope{Kind: wire.ScopeSender, Monitor: first, User: "bob"}
	say("m1", "ann", first)
	say("m2", "bob", first)
	say("m3", "ann", first)
	say("m4", "ann", second)
	interrupt(bob)
	wantEqual(t, len(r.runner.interrupted), 0)
	r.crash() // the senders are stored
	wantEqual(t, withdraw(bob), true)
	wantEqual(t, withdraw(bob), false)
	r.wantStory("m2", "queued at 1; rejected with 3003: taken out of the queue")
	r.wantStory("m3", "queued at 2")
	wantEqual(t, withdraw(ann), true)
	r.wantStory("m3", "queued at 2; rejected with 3003: taken out of the queue")
	interrupt(ann)
	wantEqual(t, r.runner.interrupted, []string{r.run("main-monitor-0-m1").ID + ": the user interrupted it"})
}

func TestInterruptAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w")
	main := r.direct("m1")
	r.toWindow("a", "w")
	r.toWindow("b", "w")
	if r.interrupt(wire.ScopeAgent, "", "unknown", "") {
		t.Fatal("got true from an interrupt of an unknown agent, want false")
	}
	if !r.interrupt(wire.ScopeAgent, "", "window-w", wire.QueuesDrop) {
		t.Fatal("got false from an interrupt of window-w, want true")
	}
	r.interrupted(r.run("window-w"))
	r.wantStory("a", "direct by window-w; interrupted: the user interrupted it")
	r.wantStory("b", "queued at 1; rejected with 3003: taken out of the queue")
	r.ended(main)
	r.wantStory("m1", "direct by main-monitor-0-m1; completed")
}

func TestReset(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(1, 0, 0), second)
	r.open(first, "w")
	done := r.direct("m0")
	r.act(done, "c1", window("w2"))
	r.remember(done, said("m0", "hi"))
	r.ended(done)
	run := r.direct("m1")
	other := r.direct("m2", second)
	r.runner.slots = 1
	var task string
	r.delegate(run, "do it", &task)
	r.user("m3")
	r.toWindow("a", "w")
	r.toWindow("b", "w")
	r.step(func() { r.pool.RecordInteraction(first, did(wire.DidCloseWindow, "w9")) })
	launched := r.runner.launched
	r.step(func() { r.pool.Reset() })
	for id, want := range map[string]string{
		"m1": "direct by main-monitor-0-m1; interrupted: the desktop was reset",
		"m2": "direct by main-monitor-1-m2; interrupted: the desktop was reset",
		"m3": "rejected with 3003: the desktop was reset",
		"a":  "direct by window-w; interrupted: the desktop was reset",
		"b":  "queued at 1; rejected with 3003: the desktop was reset",
	} {
		r.wantStory(id, want)
	}
	if !strings.Contains(task, "interrupted") {
		t.Fatalf("the result of the task is %s, want it interrupted", task)
	}
	wantEqual(t, len(r.runner.runs), 0)
	slices.Sort(r.runner.disposed)
	wantEqual(t, r.runner.disposed, []string{"main-monitor-0", "main-monitor-1", "once:task-m1-1", "window-monitor-0/w"})
	wantEqual(t, r.runner.launched, launched+1)
	for name, list := range r.kept.lists {
		if len(list) > 0 {
			t.Fatalf("%s has %d items, want none", name, len(list))
		}
	}
	if len(r.kept.tables["reload"]) == 0 {
		t.Fatal("got no reload options, want those of before")
	}
	r.handleReport(agentpool.Output{RunRef: agentpool.RunRef{Run: run.ID}, Text: "late"}, agentpool.Ended{RunRef: agentpool.RunRef{Run: other.ID}})
	r.wantStory("m2", "direct by main-monitor-1-m2; interrupted: the desktop was reset")
	r.crash()
	next := r.direct("m4", second) // the slot is free
	wantEqual(t, next.Prompt, "text of m4")
	wantEqual(t, len(next.From.Entries), 0)
	if r.state(first).State != wire.MonitorIdle {
		t.Fatalf("the first monitor is %+v, want it %s", r.state(first), wire.MonitorIdle)
	}
}

func TestRemoveMonitor(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(1, 0, 0), second, third)
	mine := r.direct("m0")
	run := r.direct("m1", second)
	r.remember(run, said("m1", "hi"))
	r.user("m2", second)
	r.user("m3", third)
	// The first monitor stays.
	r.step(func() { r.pool.RemoveMonitor(first) })
	r.wantStory("m0", "direct by main-monitor-0-m0")
	r.step(func() {
		r.pool.RemoveMonitor(second)
		r.Emit(wire.MonitorStatus{MonitorID: second, State: wire.MonitorRemoved})
	})
	r.wantStory("m1", "direct by main-monitor-1-m1; interrupted: the monitor was removed")
	r.wantStory("m2", "rejected with 3003: the monitor was removed")
	r.wantStory("m3", "queued at 1; direct by main-monitor-2-m3")
	wantEqual(t, r.runner.disposed, []string{"main-monitor-1"})
	wantEqual(t, len(r.kept.tables["threads"]), 0)
	r.ended(mine)
	r.crash()
}

// Concurrent turns of two monitors do not affect each other.
func TestMonitorsAreApart(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second, third)
	runs := []agentpool.Run{r.direct("m1"), r.direct("m2", second), r.direct("m3", third)}
	for _, monitor := range []wire.MonitorID{first, second, third} {
		r.open(monitor, "w")
		r.toWindow("a-"+string(monitor), "w", monitor)
	}
	for _, run := range r.runner.runs {
		if run.Kind == wire.AgentWindow {
			runs = append(runs, run)
		}
	}
	for i := range 3 {
		for _, run := range runs {
			r.act(run, string(rune('a'+i)), window("of-"+string(run.Monitor)))
			r.said(run, "x")
		}
	}
	for _, e := range all[wire.Actions](r) {
		if e.AgentID == "" {
			continue
		}
		made, ok := e.Actions[0].(wire.WindowCreate)
		i := slices.IndexFunc(runs, func(run agentpool.Run) bool { return run.Role == e.AgentID })
		if !ok || i < 0 || runs[i].Monitor != e.MonitorID || made.WindowID != wire.WindowID("of-"+string(e.MonitorID)) || made.AgentID != e.AgentID {
			t.Fatalf("the action is %+v, want a window of its own agent on its own monitor", e)
		}
	}
}

func TestLaunchHappensOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wantEqual(t, r.runner.launched, 1)
	r.crash()
	wantEqual(t, r.runner.launched, 1)
}

// Every way to end a turn releases its slot in the budget.
func TestEveryEndFreesTheSlot(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig, agentpool.Run){
		"completed":   (*rig).ended,
		"interrupted": (*rig).interrupted,
		"failed": func(r *rig, run agentpool.Run) {
			r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Failed, Failure: &providers.Failure{Class: providers.Auth}})
		},
		"reset":   func(r *rig, _ agentpool.Run) { r.step(func() { r.pool.Reset() }) },
		"removed": func(r *rig, _ agentpool.Run) { r.step(func() { r.pool.RemoveMonitor(second) }) },
		"cut off": func(r *rig, run agentpool.Run) {
			r.step(func() { _ = r.pool.Tools.BeginToolCall(callerOf(run), callOf("c", "http:post")) })
			r.crash()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRigWith(t, budgetOf(1, 0, 0), second, third)
			run := r.direct("m1", second)
			r.user("m2", third)
			r.wantStory("m2", "queued at 1")
			end(r, run)
			if name != "reset" {
				r.wantStory("m2", "queued at 1; direct by main-monitor-2-m2")
			}
			if ends := r.story("m1"); strings.Count(ends, ";") != 1 {
				t.Fatalf("m1 has the story %q, want one end", ends)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.said(run, "half")
	r.handleReport(agentpool.Retrying{RunRef: agentpool.RunRef{Run: run.ID}, Why: "overloaded", Wait: 2e9})
	r.handleReport(agentpool.Retrying{RunRef: agentpool.RunRef{Run: run.ID}, Why: "The reply broke off"})
	r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Failed, Failure: &providers.Failure{Class: providers.Auth}})
	wantEqual(t, r.rows()[1], "api_req_retry_delayed: overloaded; trying again in 2s")
	wantEqual(t, r.rows()[2], "api_req_retry_delayed: The reply broke off")
	wantEqual(t, r.rows()[3], "text: half")
	if !strings.HasPrefix(r.rows()[4], "error: ") || !strings.HasPrefix(r.story("m1"), "direct by main-monitor-0-m1; failed: ") {
		t.Fatalf("the rows are %v and m1 is %q, want an error row and a failed turn", r.rows(), r.story("m1"))
	}
}

var _ contextpool.StepWriter = (*rig)(nil)
