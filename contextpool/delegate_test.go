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

// leader begins a turn whose conversation has calls that nobody has made yet.
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

// hand makes a call that gives a task away. What comes of it goes into result, and
// to the session as tools do.
func (r *rig) hand(run agentpool.Run, call string, result *string) {
	r.t.Helper()
	use := callOf(call, "task:run")
	use.Repeatable = true
	r.step(func() {
		if err := r.pool.BeginToolCall(callerOf(run), use); err != nil {
			r.t.Fatalf("%v", err)
		}
	})
	r.step(func() {
		r.pool.Delegate(callerOf(run), tools.Task{Objective: "do " + call, Call: use}, func(res providers.ToolResult) { *result += res.Text })
	})
}

// handed ends a call that gave a task away, as a tool does that has its result.
func (r *rig) handed(run agentpool.Run, call, result string) {
	r.t.Helper()
	r.end(run, call, "task:run", result)
}

func doneText(run agentpool.Run, call string) string { return run.Done[call].Text }

const mainM1 = "main-monitor-0-m1"

// Before the task exists nothing has happened: the call is made again.
func TestCrashBeforeTheTaskExists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	run := r.leader("c1")
	use := callOf("c1", "task:run")
	use.Repeatable = true
	r.step(func() { _ = r.pool.BeginToolCall(callerOf(run), use) })
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
	r.crash() // the task has begun to exist, no more
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
	wantEqual(t, result, "") // who waited is gone
}

// A task that has used no tool runs again, with what the turn it works for knew.
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
	wantEqual(t, r.pool.RunningAgents(), 0)
	task := r.run("task-m1-1")
	wantEqual(t, task.From, before)
	r.began(task)
	r.said(task, "all")
	r.ended(task)
	wantEqual(t, len(r.runner.started), 2) // there is another one
	r.crash()
	wantEqual(t, len(r.runner.started), 1)
	r.began(r.run("task-m1-2"))
	wantEqual(t, r.pool.RunningAgents(), 1)
	r.said(r.run("task-m1-2"), "everything")
	r.ended(r.run("task-m1-2"))
	again := r.run(mainM1)
	wantEqual(t, again.Attempt, 2)
	wantEqual(t, doneText(again, "c1"), `{"status":"completed","summary":"all","actions":[]}`)
	wantEqual(t, doneText(again, "c2"), `{"status":"completed","summary":"everything","actions":[]}`)
	r.wantStory("m1", "direct by main-monitor-0-m1")
	wantEqual(t, len(r.kept.tables["asks"]), 0)
}

// A task of which nobody knows how far it came ends, and its parent hears that.
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
	for name, told := range map[string]bool{"nobody was told": false, "the tool was told": true} {
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

// What a tool says after its task has ended changes nothing.
func TestTaskHasOneResult(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 2
	run := r.leader("c1")
	var result, more, late string
	r.hand(run, "c1", &result)
	r.hand(run, "c1", &more) // the same call once more
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

// A tool of which nobody knows whether it ran cuts a turn off, with its tasks.
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
	wantEqual(t, r.pool.Busy(), false)
	r.user("m2")
	from := r.run("main-monitor-0-m2").From.Entries
	wantEqual(t, strings.Contains(from[len(from)-1].Blocks[0].Text, "the turn it works for was interrupted"), true)
}

// Stopping what waits for its tasks is kept like anything else.
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
	wantEqual(t, r.pool.Busy(), false)
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
	wantEqual(t, r.pool.Busy(), false)
	wantEqual(t, len(r.runner.runs), 0)
}

// A task that is cut off again and again fails, and its parent goes on.
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

// What made a step too large fails; who waits for it goes on once.
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

// A store that forgot the task and not who waits for it does not keep that waiting.
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
	wantEqual(t, doneText(r.run(mainM1), "c1"), `{"status":"interrupted","summary":"","actions":[],"error":"nobody knows what became of the task"}`)
}

// The id of a call can be longer than what the conversation keeps of it.
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

// boss is a turn that gives tasks away and the backend behind it, which forgets
// everything that it was not given when it is cut off.
type boss struct {
	*rig
	t       *rapid.T
	want    []string          // calls to make
	made    map[string]bool   // by the run that there is now
	results map[string]string // that it has
}

func (b *boss) forget() { b.made, b.results = map[string]bool{}, map[string]string{} }

// main does the next thing of the turn that gives tasks away.
func (b *boss) main(run agentpool.Run) {
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
		b.step(func() { _ = b.pool.BeginToolCall(callerOf(run), use) })
		if rapid.IntRange(0, 9).Draw(b.t, "crash before") == 0 {
			b.crashes()
			return
		}
		b.runner.slots = 1
		b.step(func() {
			b.pool.Delegate(callerOf(run), tools.Task{Objective: "do " + id, Call: use}, func(r providers.ToolResult) {
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

func (b *boss) crashes() {
	b.forget()
	if rapid.Bool().Draw(b.t, "in good order") {
		b.step(func() { b.pool.PrepareHandOver() })
	}
	b.room = rapid.SampledFrom([]int{1, 10, 1024}).Draw(b.t, "room")
	b.crash()
}

// Whenever the owner is killed: a turn that gave tasks away has one result of each,
// no task has two ends, and the turn comes to its own.
func TestEveryTaskIsHandedBackOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &boss{rig: newRig(t), t: t}
		b.forget()
		for n := range rapid.IntRange(1, 3).Draw(t, "tasks") {
			b.want = append(b.want, fmt.Sprintf("c%d", n))
		}
		b.leader(b.want...)
		for steps := 0; b.pool.Busy(); steps++ {
			if steps > 500 {
				t.Fatalf("it does not end: %v", b.kept.tables["turns"])
			}
			if len(b.runner.runs) == 0 {
				t.Fatalf("there is work and nobody does it: %s", b.kept.tables["turns"])
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
				if b.pool.TurnActive(callerOf(run)) {
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
				t.Fatalf("%s has %d ends", role, n)
			}
		}
		if ends[mainM1] != 1 || len(ends) > len(b.want)+1 {
			t.Fatalf("ends: %v", ends)
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
					t.Fatalf("call %s has %d rows; ends: %v", id, rows[id], ends)
				}
			}
		}
	})
}
