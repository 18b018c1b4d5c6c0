package contextpool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// leader begins a turn whose thread has calls that were not executed yet.
func (r *rig) leader(calls ...string) agentpool.Run {
	r.t.Helper()
	const id = "m1"
	run := r.direct(id)
	e := said(id, "I hand this on.")
	for _, c := range calls {
		e.Blocks = append(e.Blocks, providers.Block{Kind: providers.BlockToolCall, Call: c, Tool: "task_run"})
	}
	e.Role = providers.RoleAssistant
	asked := said(id, "text of "+id)
	asked.Role = providers.RoleUser
	r.remember(run, asked, e)
	return run
}

// hand makes a call that delegates a task. The result goes into result, and to the session as
// tools report it.
func (r *rig) hand(run agentpool.Run, call string, result *string) {
	r.t.Helper()
	use := callOf(call, "task:run")
	use.Repeatable = true
	r.step(func() {
		if err := r.pool.Tools.BeginToolCall(callerOf(run), use); err != nil {
			r.t.Fatalf("%v", err)
		}
	})
	r.step(func() {
		r.pool.Tools.Delegate(callerOf(run), tools.Task{Objective: "do " + call, Call: use}, func(res providers.ToolResult) { *result += res.Text })
	})
}

// handed ends a delegating call, as a tool does that has its result.
func (r *rig) handed(run agentpool.Run, call, result string) {
	r.t.Helper()
	r.end(run, call, "task:run", result)
}

func doneText(run agentpool.Run, call string) string { return run.Done[call].Text }

const mainM1 = "main-monitor-0-m1"

// If the owner dies before the task exists, the call is made again.
func TestCrashBeforeTheTaskExists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	run := r.leader("c1")
	use := callOf("c1", "task:run")
	use.Repeatable = true
	r.step(func() { _ = r.pool.Tools.BeginToolCall(callerOf(run), use) })
	r.crash()
	again := r.run(mainM1)
	wantEqual(t, again.Continue, true)
	wantEqual(t, len(again.Done), 0)
	r.began(again)
	var result string
	r.hand(again, "c1", &result)
	r.ended(r.run("task-m1-1"))
	wantEqual(t, result, `{"status":"completed","summary":"","actions":[]}`)
}

func TestCrashBeforeTheTaskRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	r.crash() // the task exists but has not run
	wantEqual(t, len(r.runner.started), 1)
	task := r.run("task-m1-1")
	wantEqual(t, task.Prompt != "" && task.Fork, true)
	r.began(task)
	r.said(task, "found")
	r.ended(task)
	again := r.run(mainM1)
	wantEqual(t, doneText(again, "c1"), `{"status":"completed","summary":"found","actions":[]}`)
	r.began(again)
	r.remember(again, toolResult("m1", "c1"))
	r.ended(again)
	r.wantStory("m1", "direct by main-monitor-0-m1; completed")
	wantEqual(t, result, "") // the waiting call died with the owner
}

// A task that has used no tool is restarted, with a copy of its parent's thread.
func TestCrashWhileTheTaskRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 2
	run := r.leader("c1", "c2")
	var one, two string
	r.hand(run, "c1", &one)
	r.hand(run, "c2", &two)
	before := r.run("task-m1-1").From
	for _, role := range []string{"task-m1-1", "task-m1-2"} {
		r.began(r.run(role))
		r.said(r.run(role), "half of it")
	}
	r.crash()
	wantEqual(t, len(r.runner.started), 2)
	wantEqual(t, r.pool.View.RunningAgents(), 0)
	task := r.run("task-m1-1")
	wantEqual(t, task.From, before)
	r.began(task)
	r.said(task, "all")
	r.ended(task)
	wantEqual(t, len(r.runner.started), 2) // the task is started again
	r.crash()
	wantEqual(t, len(r.runner.started), 1)
	r.began(r.run("task-m1-2"))
	wantEqual(t, r.pool.View.RunningAgents(), 1)
	r.said(r.run("task-m1-2"), "everything")
	r.ended(r.run("task-m1-2"))
	again := r.run(mainM1)
	wantEqual(t, again.Attempt, 2)
	wantEqual(t, doneText(again, "c1"), `{"status":"completed","summary":"all","actions":[]}`)
	wantEqual(t, doneText(again, "c2"), `{"status":"completed","summary":"everything","actions":[]}`)
	r.wantStory("m1", "direct by main-monitor-0-m1")
	wantEqual(t, len(r.kept.tables["asks"]), 0)
}

// A task whose progress is unknown ends, and its parent gets that as the result.
func TestCrashWhileTheTaskUsesATool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	task := r.run("task-m1-1")
	r.began(task)
	if _, err := r.act(task, "w", window("w1")); err != nil {
		t.Fatal(err)
	}
	r.said(task, "made one")
	r.begin(task, "x", "http:post")
	r.crash()
	again := r.run(mainM1)
	wantEqual(t, doneText(again, "c1"), `{"status":"interrupted","summary":"made one",`+
		`"actions":[{"type":"window.create","windowId":"w1","title":"T w1"}],"error":"tool http:post may or may not have run"}`)
	wantEqual(t, len(r.kept.tables["asks"]), 0)
	wantEqual(t, len(all[wire.TurnInterrupted](r)), 0)
	wantEqual(t, len(r.runner.started), 1)
}

func TestCrashAfterTheTask(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]bool{"the tool was not told": false, "the tool was told": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.runner.slots = 1
			run := r.leader("c1")
			var result string
			r.hand(run, "c1", &result)
			task := r.run("task-m1-1")
			r.began(task)
			r.said(task, "found")
			r.ended(task)
			if told {
				r.handed(run, "c1", result)
			}
			for range 2 {
				r.crash()
				wantEqual(t, len(r.runner.started), 1)
				wantEqual(t, doneText(r.run(mainM1), "c1"), result)
				r.began(r.run(mainM1))
			}
			rows := slices.DeleteFunc(r.rows(), func(s string) bool { return !strings.HasPrefix(s, "tool: ") })
			wantEqual(t, len(rows), 1)
		})
	}
}

// The result of a tool after the end of its task changes nothing.
func TestTaskHasOneResult(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 2
	run := r.leader("c1")
	var result, more, late string
	r.hand(run, "c1", &result)
	r.hand(run, "c1", &more) // a repeated call
	wantEqual(t, len(r.runner.runs), 2)
	r.ended(r.run("task-m1-1"))
	r.handed(run, "c1", "something else")
	r.handed(run, "c1", "something else")
	r.hand(run, "c1", &late)
	wantEqual(t, result, `{"status":"completed","summary":"","actions":[]}`)
	wantEqual(t, more+late, result+result)
	r.crash()
	wantEqual(t, doneText(r.run(mainM1), "c1"), result)
	wantEqual(t, len(r.runner.runs), 1)
}

// A turn with a tool call that may have run ends as interrupted, with its tasks.
func TestTasksEndWithATurnThatIsCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	run := r.leader("c1", "c2")
	var result string
	r.hand(run, "c1", &result)
	r.began(r.run("task-m1-1"))
	r.begin(run, "c2", "http:post")
	r.crash()
	wantEqual(t, len(r.runner.runs), 0)
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: tool http:post may or may not have run")
	wantEqual(t, len(r.kept.tables["asks"]), 1)
	r.user("m2")
	var results []string
	for _, e := range r.run("main-monitor-0-m2").From.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolResult {
				results = append(results, b.Call+" "+b.Text)
			}
		}
	}
	wantEqual(t, results, []string{
		`c1 {"status":"interrupted","summary":"","actions":[],"error":"the turn it works for was cut off"}`,
		"c2 tool http:post may or may not have run",
	})
}

func TestTurnThatWaitsForItsTasksCanBeStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	r.began(r.run("task-m1-1"))
	r.crash()
	r.interrupt(wire.ScopeSession, "", "", wire.QueuesKeep)
	wantEqual(t, r.runner.interrupted, []string{"t2.2: the turn it works for was interrupted"})
	r.interrupted(r.run("task-m1-1"))
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: the user interrupted it")
	wantEqual(t, r.pool.View.Busy(), false)
	r.user("m2")
	from := r.run("main-monitor-0-m2").From.Entries
	wantEqual(t, strings.Contains(from[len(from)-1].Blocks[0].Text, "the turn it works for was interrupted"), true)
}

// The stop of a turn that waits for its tasks is stored.
func TestTurnThatWaitsForItsTasksIsStoppedByTheNextOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	r.crash()
	r.interrupt(wire.ScopeSession, "", "", wire.QueuesKeep)
	r.crash()
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: the user interrupted it")
	wantEqual(t, r.pool.View.Busy(), false)
	wantEqual(t, len(r.runner.runs), 0)
}

func TestResetEndsATurnThatWaitsForItsTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	r.crash()
	r.step(func() { r.pool.Reset() })
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: the desktop was reset")
	wantEqual(t, r.pool.View.Busy(), false)
	wantEqual(t, len(r.runner.runs), 0)
}

// A task that is cut off too often fails, and its parent continues.
func TestTaskThatIsCutOffTooOften(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	for range 3 {
		r.began(r.run("task-m1-1"))
		r.crash()
	}
	again := r.run(mainM1)
	wantEqual(t, doneText(again, "c1"), `{"status":"failed","summary":"","actions":[],"error":"the turn was cut off 3 times"}`)
	wantEqual(t, again.Attempt, 2)
}

// The task that made a step too large fails; its parent continues once.
func TestTaskThatWantedTooMuch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	r.began(r.run("task-m1-1"))
	r.crash()
	r.began(r.run("task-m1-1"))
	r.crash(func() { r.pool.FailOversized("task-m1-1") })
	wantEqual(t, len(r.runner.started), 1)
	wantEqual(t, strings.Contains(doneText(r.run(mainM1), "c1"), "too large"), true)
}

// If the store lost a task but not the waiting call, the call ends.
func TestTaskThatIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	delete(r.kept.tables["turns"], "t2")
	delete(r.kept.tables["turns.prompt"], "t2")
	tables, lists := r.kept.clone()
	r.hire()
	if err := r.pool.Restore(tables, lists); err != nil {
		t.Fatal(err)
	}
	r.step(func() { r.pool.Recover() })
	wantEqual(t, doneText(r.run(mainM1), "c1"), `{"status":"interrupted","summary":"","actions":[],"error":"it is not known how the task ended"}`)
}

// The id of a call can be longer than the id in the thread.
func TestResultOfACallWithALongID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("c", 300)
	run := r.leader(long)
	if _, err := r.act(run, long, window("w1")); err != nil {
		t.Fatal(err)
	}
	r.crash()
	again := r.run(mainM1)
	entries := again.From.Entries
	blocks := entries[len(entries)-1].Blocks
	wantEqual(t, doneText(again, blocks[len(blocks)-1].Call), "done")
}

// delegator is a turn that delegates tasks, with its backend, which loses everything that is not in
// the thread when it is cut off.
type delegator struct {
	*rig
	t       *rapid.T
	want    []string          // calls to make
	made    map[string]bool   // calls made by the current run
	results map[string]string // results received
}

func (b *delegator) forget() { b.made, b.results = map[string]bool{}, map[string]string{} }

// main executes the next step of the delegating turn.
func (b *delegator) main(run agentpool.Run) {
	for id, r := range run.Done {
		b.results[id] = r.Text
	}
	for _, id := range b.want {
		if _, has := b.results[id]; has || b.made[id] {
			continue
		}
		b.made[id] = true
		use := callOf(id, "task:run")
		use.Repeatable = true
		b.step(func() { _ = b.pool.Tools.BeginToolCall(callerOf(run), use) })
		if rapid.IntRange(0, 9).Draw(b.t, "crash before") == 0 {
			b.crashes()
			return
		}
		b.runner.slots = 1
		b.step(func() {
			b.pool.Tools.Delegate(callerOf(run), tools.Task{Objective: "do " + id, Call: use}, func(r providers.ToolResult) {
				b.results[id] = r.Text
				if rapid.Bool().Draw(b.t, "tells") {
					b.handed(run, id, r.Text)
				}
			})
		})
		return
	}
	if len(b.results) == len(b.want) {
		b.remember(run, toolResult("m1", b.want...))
		b.ended(run)
	}
}

func (b *delegator) crashes() {
	b.forget()
	if rapid.Bool().Draw(b.t, "in good order") {
		b.step(func() { b.pool.PrepareHandOver() })
	}
	b.room = rapid.SampledFrom([]int{1, 10, 1024}).Draw(b.t, "room")
	b.crash()
}

// Whenever the owner is killed: a delegating turn gets one result of each task, no task ends
// twice, and the turn ends.
func TestEveryTaskIsHandedBackOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &delegator{rig: newRig(t), t: t}
		b.forget()
		for n := range rapid.IntRange(1, 3).Draw(t, "tasks") {
			b.want = append(b.want, fmt.Sprintf("c%d", n))
		}
		b.leader(b.want...)
		for steps := 0; b.pool.View.Busy(); steps++ {
			if steps > 500 {
				t.Fatalf("after 500 steps there is still work, want an end: %v", b.kept.tables["turns"])
			}
			if len(b.runner.runs) == 0 {
				t.Fatalf("there is work and no run, want one: %s", b.kept.tables["turns"])
			}
			ids := slices.Sorted(func(yield func(string) bool) {
				for id := range b.runner.runs {
					if !yield(id) {
						return
					}
				}
			})
			run := b.runner.runs[rapid.SampledFrom(ids).Draw(t, "run")]
			switch what := rapid.IntRange(0, 19).Draw(t, "what"); {
			case what == 0 && steps < 60:
				b.crashes()
			case what < 4:
				b.began(run)
			case run.Kind != wire.AgentTask:
				if b.pool.View.TurnActive(callerOf(run)) {
					b.main(run)
				}
			case what < 8:
				b.said(run, "x")
			case what < 10:
				_, _ = b.act(run, fmt.Sprintf("a%d", steps), wire.ToastShow{Toast: wire.Toast{ID: "t", Message: "hi"}})
			default:
				b.ended(run)
			}
		}
		ends := map[wire.AgentID]int{}
		for _, e := range all[wire.AgentResponse](b.rig) {
			if e.IsComplete {
				ends[e.AgentID]++
			}
		}
		for role, n := range ends {
			if n != 1 {
				t.Fatalf("%s has %d ends, want 1", role, n)
			}
		}
		if ends[mainM1] != 1 || len(ends) > len(b.want)+1 {
			t.Fatalf("the ends by agent are %v, want one of %s and at most %d others", ends, mainM1, len(b.want))
		}
		rows := map[string]int{}
		for _, row := range b.rows() {
			for _, id := range b.want {
				if strings.HasPrefix(row, "tool: ") && strings.Contains(row, `"id":"`+id+`"`) {
					rows[id]++
				}
			}
		}
		if b.story("m1") == "direct by main-monitor-0-m1; completed" {
			for _, id := range b.want {
				if rows[id] != 1 || len(ends) != len(b.want)+1 {
					t.Fatalf("call %s has %d rows, want 1, and the ends are %v, want %d", id, rows[id], ends, len(b.want)+1)
				}
			}
		}
	})
}
