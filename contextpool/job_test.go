package contextpool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

func todoJob(name string) workflow.Job {
	return workflow.Job{
		Name: "plan_1/" + name + ".1", Plan: "plan_1", Message: "m1", Monitor: first, Role: wire.AgentID("task-" + name),
		Todo: wire.TodoID(name), Profile: "web", Title: "Do " + name, Prompt: "[everdesk plan: todo]\nDo " + name + ".",
	}
}

func thinkJob(name string) workflow.Job {
	j := todoJob(name)
	j.Name, j.Todo, j.Profile = "plan_1/"+name, "", ""
	return j
}

// work starts a job and reports the start of its run.
func (r *rig) work(j workflow.Job) agentpool.Run {
	r.t.Helper()
	r.step(func() { r.pool.StartJob(j) })
	run := r.run(string(j.Role))
	r.began(run)
	return run
}

// wantWorked checks the result of the only job that has ended.
func (r *rig) wantWorked(want workflow.JobResult) {
	r.t.Helper()
	wantEqual(r.t, r.worked, []workflow.JobResult{want})
	wantEqual(r.t, r.pool.View.HasJob(want.Job), false)
	wantEqual(r.t, len(r.kept.tables["turns"])+len(r.kept.tables["turns.prompt"]), 0)
}

// saysOf returns the kinds of an agent's rows.
func (r *rig) saysOf(role wire.AgentID) []wire.Say {
	var says []wire.Say
	for _, row := range r.archive[first] {
		if row.AgentID == role {
			says = append(says, row.Say)
		}
	}
	return says
}

func TestJobOfATodo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	main := r.direct("m0")
	r.remember(main, said("m0", "what was said"))
	r.ended(main)
	j := todoJob("a")
	run := r.work(j)
	wantEqual(t, run.Prompt, j.Prompt)
	wantEqual(t, run.Slot == nil && run.Fork && run.System == "" && run.Profile == "web", true)
	wantEqual(t, run.Job == j.Name && run.Todo == "a" && run.Kind == wire.AgentTask, true)
	if n := len(run.From.Entries); n == 0 || run.From.Entries[n-1].Blocks[0].Text != "what was said" {
		t.Fatalf(`the job starts from %+v, want the conversation with "what was said" as its last entry`, run.From)
	}
	wantEqual(t, r.pool.View.HasJob(j.Name), true)
	r.said(run, "I did ")
	r.begin(run, "c1", "http:post")
	r.end(run, "c1", "http:post", "ok")
	r.said(run, "it.")
	r.handleReport(agentpool.ModelUsage{RunRef: agentpool.RunRef{Run: run.ID}, Usage: providers.Usage{Input: 3, Output: 4}})
	wantEqual(t, len(r.worked), 0)
	r.ended(run)
	r.wantWorked(workflow.JobResult{
		Job: j.Name, Outcome: providers.Completed, Text: "I did it.", Usage: providers.Usage{Input: 3, Output: 4},
	})
	wantEqual(t, r.saysOf("task-a"), []wire.Say{wire.SayTool, wire.SaySubtaskResult, wire.SayAPIReqFinished})
	wantEqual(t, last[wire.AgentResponse](r).MessageID, "")
	if item := string(r.kept.tables["tasks"]["t2"]); !strings.Contains(item, `"Do a"`) {
		t.Errorf(`the task is %s, want "Do a" in it`, item)
	}
}

// The text of a job that only thinks is not published.
func TestJobThatThinks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	main := r.direct("m0")
	r.remember(main, said("m0", "asked"), toolCall("m0", "I look.", "c0"), toolResult("m0", "c0"))
	r.ended(main)
	j := thinkJob("planning.1")
	run := r.work(j)
	if run.System == "" || run.Todo != "" {
		t.Errorf("the run of the job is %+v, want a system prompt of its own and no todo", run)
	}
	for _, e := range run.From.Entries {
		for _, b := range e.Blocks {
			if b.Kind != providers.BlockText {
				t.Errorf("the run of the job gets the block %+v, want only texts", b)
			}
		}
	}
	before := len(r.events)
	r.handleReport(agentpool.Output{RunRef: agentpool.RunRef{Run: run.ID}, Text: `{"todos":[]}`, Thinking: "hm"})
	wantEqual(t, len(r.events), before)
	r.handleReport(agentpool.ModelUsage{RunRef: agentpool.RunRef{Run: run.ID}, Usage: providers.Usage{Input: 3}})
	r.ended(run)
	r.wantWorked(workflow.JobResult{
		Job: j.Name, Outcome: providers.Completed, Text: `{"todos":[]}`, Usage: providers.Usage{Input: 3},
	})
	wantEqual(t, r.saysOf(run.Role), []wire.Say{wire.SayAPIReqFinished})
	for _, e := range r.events {
		if b := string(wire.AppendEvent(nil, wire.Event{Session: session, Time: r.now, Data: e})); strings.Contains(b, "todos") {
			t.Errorf("the event %s shows the todos, want them hidden", b)
		}
	}
}

func TestJobThatFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.work(thinkJob("cognitive"))
	r.handleReport(agentpool.Ended{
		RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Failed,
		Failure: &providers.Failure{Class: providers.Overloaded},
	})
	wantEqual(t, len(r.worked), 1)
	w := r.worked[0]
	wantEqual(t, w.Outcome == providers.Failed && w.Failure == providers.Overloaded && w.Reason != "" && w.Unsure == "", true)
	wantEqual(t, slices.Contains(r.saysOf(run.Role), wire.SayError), false)
}

func TestJobsAreStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.work(todoJob("a"))
	r.said(run, "half")
	r.step(func() { r.pool.StopJob("plan_1/a.1", "the todo is skipped") })
	wantEqual(t, r.runner.interrupted, []string{run.ID + ": the todo is skipped"})
	wantEqual(t, len(r.worked), 0)
	r.interrupted(run)
	r.wantWorked(workflow.JobResult{
		Job: "plan_1/a.1", Outcome: providers.Interrupted, Text: "half", Reason: "the todo is skipped",
	})
	r.step(func() { r.pool.StopJob("plan_1/a.1", "again") })
	wantEqual(t, len(r.runner.interrupted), 1)
}

func TestJobIsInterruptedByTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.work(todoJob("a"))
	r.begin(run, "c1", "http:post")
	r.interrupt(wire.ScopeAgent, first, "task-a", wire.QueuesKeep)
	r.interrupted(run)
	r.wantWorked(workflow.JobResult{
		Job: "plan_1/a.1", Outcome: providers.Interrupted, Reason: "the user interrupted it", Unsure: "http:post",
	})
}

// A job is never under way twice, and two jobs of the same role get different names.
func TestJobsAreToldApart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := todoJob("a")
	r.work(j)
	r.step(func() { r.pool.StartJob(j) })
	wantEqual(t, len(r.runner.runs), 1)
	j.Name = "plan_1/a.2"
	r.step(func() { r.pool.StartJob(j) })
	r.run("task-a/2")
}

// A job that used no tool is restarted by the next owner.
func TestJobGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	for _, j := range []workflow.Job{todoJob("a"), thinkJob("cognitive")} {
		r := newRig(t)
		run := r.work(j)
		r.said(run, "half of")
		r.crash()
		wantEqual(t, len(r.worked), 0)
		wantEqual(t, r.pool.View.HasJob(j.Name), true)
		again := r.run(string(j.Role))
		wantEqual(t, again.ID != run.ID && again.Prompt == j.Prompt && again.Todo == j.Todo && again.System == run.System, true)
		r.began(again)
		r.said(again, "all of it")
		r.ended(again)
		r.wantWorked(workflow.JobResult{Job: j.Name, Outcome: providers.Completed, Text: "all of it"})
	}
}

// A job that waited for a slot is not counted as cut off, however often its owner dies.
func TestJobThatWaitsOutlivesItsOwners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.step(func() { r.pool.StartJob(todoJob("a")) })
	for range 5 {
		r.crash()
	}
	wantEqual(t, len(r.worked), 0)
	wantEqual(t, r.run("task-a").Slot == nil, true)
}

func TestJobThatIsCutOffAgainAndAgainFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.step(func() { r.pool.StartJob(todoJob("a")) })
	for range 3 {
		r.began(r.run("task-a"))
		r.crash()
	}
	wantEqual(t, len(r.worked), 1)
	wantEqual(t, r.worked[0].Outcome == providers.Failed && r.worked[0].Unsure == "", true)
}

// A job that may have had effects is not restarted.
func TestJobOfUnknownProgress(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		r := newRig(t)
		run := r.work(todoJob("a"))
		r.begin(run, "c1", "http:post")
		unsure, reason := "http:post", "tool http:post may or may not have run"
		if done {
			r.end(run, "c1", "http:post", "ok")
			unsure, reason = "work", "what it has done so far is not known well enough to go on"
		}
		r.crash()
		r.wantWorked(workflow.JobResult{
			Job: "plan_1/a.1", Outcome: providers.Interrupted, Reason: reason, Unsure: unsure,
		})
		wantEqual(t, len(r.runner.started), 0)
		wantEqual(t, len(r.kept.tables["asks"]), 0) // no question of the pool: the plan asks
	}
}

func TestJobsEndWithTheirMonitor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, reason string
		do           func(*rig)
	}{
		{"reset", "the desktop was reset", func(r *rig) { r.step(r.pool.Reset) }},
		{"remove", "the monitor was removed", func(r *rig) { r.step(func() { r.pool.RemoveMonitor(second) }) }},
		{"rewind", "the conversation was rewound", func(r *rig) {
			u := contextpool.RewindRequest{Monitor: second, TS: r.rowOf("plan this").TS}
			r.step(func() {
				if refused := r.pool.Rewind(u); refused != nil {
					r.t.Fatalf("the rewind is refused with %+v, want it done", refused)
				}
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRigWith(t, budgetOf(2, 100, 100_000), second)
			r.step(func() {
				r.pool.BeginPlan(contextpool.Message{ID: "m1", By: "c1", Monitor: second, Text: "plan this"}, "plan-1")
			})
			j := todoJob("a")
			j.Monitor = second
			r.said(r.work(j), "half")
			tt.do(r)
			r.wantWorked(workflow.JobResult{Job: j.Name, Outcome: providers.Interrupted, Text: "half", Reason: tt.reason})
			wantEqual(t, len(r.runner.runs), 0)
		})
	}
}

func TestAMessageThatBecomesAPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.step(func() {
		r.pool.BeginPlan(contextpool.Message{ID: "m1", By: "c1", Monitor: first, Text: "plan this"}, "plan-1")
	})
	r.crash()
	agents := r.desktop.Snapshot().Agents
	if len(agents) != 1 || agents[0].Role != "plan-1" || agents[0].Status != wire.AgentStatusRunning || agents[0].MessageID != "m1" {
		t.Fatalf("the agents are %+v, want plan-1 running for m1", agents)
	}
	wantEqual(t, r.pool.View.Busy(), false)
	r.step(func() {
		r.pool.EndPlan(workflow.Close{
			Message: "m1", Monitor: first, Role: "plan-1", Outcome: providers.Completed, Text: "All is done. 😀",
			Started: wire.Millis(r.now.UnixMilli()) - 5, Usage: providers.Usage{Input: 1, USD: 0.5},
		})
	})
	r.wantStory("m1", "direct by plan-1; completed")
	end := last[wire.AgentResponse](r)
	wantEqual(t, end.DurationMS == 5 && end.Usage.CostUSD == 0.5 && end.Offset == 15, true)
	wantEqual(t, len(r.desktop.Snapshot().Agents), 0)
	row := r.rowOf("All is done")
	wantEqual(t, row.Say == wire.SayText && row.AgentID == "plan-1" && row.MessageID == "m1", true)
	wantEqual(t, len(r.kept.lists["tape:monitor-0"]), 2)
	r.user("m2")
	if p := r.run("main-monitor-0-m2").Prompt; !strings.Contains(p, "All is done.") || !strings.Contains(p, "plan this") {
		t.Errorf("the main agent's prompt is %s, want the plan's request and its answer in it", p)
	}
}

func TestAPlanThatFails(t *testing.T) {
	t.Parallel()
	for outcome, says := range map[providers.Outcome][]wire.Say{
		providers.Failed: {wire.SayError}, providers.Interrupted: nil,
	} {
		r := newRig(t)
		r.step(func() {
			r.pool.BeginPlan(contextpool.Message{ID: "m1", By: "c1", Monitor: first, Text: "plan this"}, "plan-1")
			r.pool.EndPlan(workflow.Close{Message: "m1", Monitor: first, Role: "plan-1", Outcome: outcome, Reason: "no luck"})
		})
		r.wantStory("m1", "direct by plan-1; "+string(outcome)+": no luck")
		wantEqual(t, r.saysOf("plan-1"), says)
	}
}

// job starts or stops a job of a plan.
func (c *chaos) job() {
	if len(c.jobs) > 0 && rapid.IntRange(0, 3).Draw(c.t, "stop") == 0 {
		c.step(func() { c.pool.StopJob(rapid.SampledFrom(c.jobs).Draw(c.t, "job"), "stopped") })
		return
	}
	j := workflow.Job{
		Name: fmt.Sprintf("plan/%d", len(c.jobs)), Message: "plan", Monitor: c.monitor(), Role: "task-plan",
		Todo: rapid.SampledFrom([]wire.TodoID{"", "todo"}).Draw(c.t, "todo"), Title: "x", Prompt: "[everdesk plan: todo]",
	}
	c.need(j.Monitor)
	c.jobs = append(c.jobs, j.Name)
	c.step(func() { c.pool.StartJob(j) })
}

// checkJobs checks that each job is under way or has ended once.
func (c *chaos) checkJobs() {
	ended := map[string]int{}
	for _, w := range c.worked {
		ended[w.Job]++
	}
	for _, name := range c.jobs {
		if under := c.pool.View.HasJob(name); under && ended[name] != 0 || !under && ended[name] != 1 {
			c.t.Fatalf("%s has ended %d times and is under way: %v, want one end, and none while it is under way", name, ended[name], under)
		}
	}
}

// A todo without a profile gets the default profile.
func TestJobWithoutAProfile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	plain := todoJob("a")
	plain.Profile = ""
	wantEqual(t, r.work(plain).Profile, tools.ProfileDefault)
}
