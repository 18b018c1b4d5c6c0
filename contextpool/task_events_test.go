package contextpool_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// taskEvents summarises the events about tasks.
func (r *rig) taskEvents() []string {
	var out []string
	for _, e := range r.events {
		data, err := json.Marshal(e)
		if err != nil {
			r.t.Fatalf("%v", err)
		}
		var task struct {
			TaskID, ChildTaskID wire.TaskID
			IsSubtask           bool
		}
		if err := json.Unmarshal(data, &task); err != nil {
			r.t.Fatalf("%v", err)
		}
		if name := strings.TrimPrefix(fmt.Sprintf("%T", e), "wire."); strings.HasPrefix(name, "Task") {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", name, task.TaskID, task.ChildTaskID)))
		}
	}
	return out
}

// item returns a stored task.
func (r *rig) item(id wire.TaskID) history.Item {
	r.t.Helper()
	tasks, err := history.LoadTasks(r.kept.tables[history.TaskTable])
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	i, ok := tasks.Get(id)
	if !ok {
		r.t.Fatalf("there is no task %s, want one", id)
	}
	return i
}

// A turn is a task from its acceptance on, with events about all changes.
func TestTurnsAreTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("m1")
	row, _ := r.desktop.Rows().UserRow("m1")
	wantEqual(t, r.item("t1"), history.Item{
		ID: "t1", RootTaskID: "t1", Number: 1, TS: row.TS, Task: "text of m1", Status: history.TaskActive, APIConfigName: "demo", Mode: "main",
		MonitorID: first, AgentID: mainM1, MessageID: "m1",
	})
	run := r.run(mainM1)
	r.began(run)
	spent := agentpool.ModelUsage{RunRef: agentpool.RunRef{Run: run.ID}, Usage: providers.Usage{Input: 5, Output: 2, USD: 0.5}}
	r.handleReport(spent) // too early for an event
	r.now = r.now.Add(3 * time.Second)
	r.handleReport(spent)
	r.handleReport(spent) // too soon after the last event
	if _, err := r.act(run, "c1", wire.WindowFocus{WindowID: "nowhere"}); err != nil {
		t.Fatal(err)
	}
	r.user("m2")
	r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m2"})
	r.said(run, "all done")
	r.ended(run)
	wantEqual(t, r.taskEvents(), []string{
		"TaskCreated t1", "TaskStarted t1", "TaskTokenUsageUpdated t1", "TaskToolFailed t1", "TaskUserMessage t1", "TaskCompleted t1",
	})
	wantEqual(t, last[wire.TaskUserMessage](r).MessageID, "m2")
	done := last[wire.TaskCompleted](r)
	wantEqual(t, done.TokenUsage, wire.TokenUsage{TotalTokensIn: 15, TotalTokensOut: 6, TotalCost: 1.5, ContextTokens: 7})
	uses, _ := done.ToolUsage.Get("window:create")
	wantEqual(t, uses, wire.ToolUses{Attempts: 1, Failures: 1})
	i := r.item("t1")
	wantEqual(t, []any{i.Status, i.Outcome, i.TokensIn, i.TotalCost, i.CompletionResultSummary},
		[]any{history.TaskCompleted, providers.Completed, 15, 1.5, "all done"})
}

// Delegated tasks are in the list of tasks, also after a takeover.
func TestTasksOfATaskTree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 2
	run := r.leader("c1", "c2")
	var one, two string
	r.hand(run, "c1", &one)
	r.hand(run, "c2", &two)
	i := r.item("t1")
	wantEqual(t, []any{i.Status, i.AwaitingChildID, fmt.Sprint(i.ChildIDs)}, []any{history.TaskDelegated, wire.TaskID("t3"), "[t2 t3]"})
	child := r.item("t2")
	wantEqual(t, []any{child.ParentTaskID, child.RootTaskID, child.Task, child.MessageID},
		[]any{wire.TaskID("t1"), wire.TaskID("t1"), "do c1", wire.MessageID("")})
	r.began(r.run("task-m1-1"))
	r.said(r.run("task-m1-1"), "found")
	r.ended(r.run("task-m1-1"))
	i = r.item("t1")
	wantEqual(t, []any{i.Status, i.AwaitingChildID, i.CompletedByChildID, i.CompletionResultSummary},
		[]any{history.TaskDelegated, wire.TaskID("t3"), wire.TaskID("t2"), "found"})
	r.crash()
	r.began(r.run("task-m1-2"))
	r.interrupted(r.run("task-m1-2"))
	i = r.item("t1")
	wantEqual(t, []any{i.Status, i.AwaitingChildID, i.CompletedByChildID}, []any{history.TaskActive, wire.TaskID(""), wire.TaskID("t3")})
	r.began(r.run(mainM1))
	r.said(r.run(mainM1), "all of it is done")
	r.ended(r.run(mainM1))
	wantEqual(t, r.item("t3").State(), "interrupted")
	wantEqual(t, r.item("t1").State(), "completed")
	wantEqual(t, r.item("t1").CompletionResultSummary, "all of it is done")
	wantEqual(t, r.item("t2").CompletionResultSummary, "found")
	wantEqual(t, r.taskEvents(), []string{
		"TaskCreated t1", "TaskStarted t1", "TaskCreated t2", "TaskSpawned t1 t2", "TaskPaused t1",
		"TaskCreated t3", "TaskSpawned t1 t3", "TaskStarted t2", "TaskCompleted t2",
		"TaskStarted t3", "TaskAborted t3", "TaskUnpaused t1", "TaskToolFailed t1", "TaskCompleted t1",
	})
	// The list derived from the rows is the same.
	var rows []wire.UIRow
	for _, e := range all[wire.MessageUpdated](r) {
		rows = append(rows, e.Message)
	}
	again := history.RebuildTasks(rows)
	for _, id := range []wire.TaskID{"t1", "t2", "t3"} {
		was := r.item(id)
		is, _ := again.Get(id)
		was.Mode, is.TS = "", was.TS
		wantEqual(t, is, was)
	}
}

func TestTasksOfAMonitorGoWithIt(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(1, 6, 100), second)
	r.direct("m1")
	r.direct("m2", second)
	r.step(func() { r.pool.RemoveMonitor(second) })
	wantEqual(t, len(r.kept.tables[history.TaskTable]), 1)
	wantEqual(t, r.item("t1").State(), "active")
}

// Tasks are removed with their rows.
func TestTasksGoWithTheirRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runTurn("m1")
	r.runTurn("m2")
	r.runTurn("m3")
	if refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m2").TS, Include: true}); refused != nil {
		t.Fatalf("the rewind is refused with %+v, want it done", refused)
	}
	wantEqual(t, slices.Sorted(maps.Keys(r.kept.tables[history.TaskTable])), []string{"t1", "t2"})
	r.back("text of m2")
	wantEqual(t, slices.Sorted(maps.Keys(r.kept.tables[history.TaskTable])), []string{"t1"})
}
