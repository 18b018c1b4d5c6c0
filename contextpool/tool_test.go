package contextpool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// delegate runs a task and puts its result, as JSON, into result.
func (r *rig) delegate(run agentpool.Run, objective string, result *string) {
	r.step(func() {
		task := tools.Task{Objective: objective, Profile: "web", Call: callOf("call of "+objective, "task:run")}
		r.pool.Tools.Delegate(callerOf(run), task, func(res providers.ToolResult) { *result += res.Text })
	})
}

// progress summarises the events about tools.
func (r *rig) progress() []string {
	var out []string
	for _, e := range all[wire.ToolProgress](r) {
		out = append(out, fmt.Sprintf("%s %s %s %s", e.ToolName, e.ToolUseID, e.Status, e.Message))
	}
	return out
}

func TestActIsOneCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	seen := false
	r.step(func() {
		res, err := r.pool.Tools.ExecuteToolPlan(callerOf(run), callOf("c1", "window:create"), func(s *desktop.State) tools.Plan {
			seen = s == r.desktop
			return tools.Plan{Actions: []wire.Action{window("w1")}, Result: providers.ToolResult{Text: "made"}}
		})
		if err != nil || res.Text != "made" || !seen {
			t.Errorf(`the tool gives %+v, error %v, and sees the state: %v, want "made" and true`, res, err, seen)
		}
	})
	wantEqual(t, r.progress(), []string{"window:create c1 running ", "window:create c1 complete made"})
	made := last[wire.Actions](r)
	if made.AgentID != run.Role || made.MonitorID != first || made.MessageID != "" {
		t.Fatalf("the actions are %+v, want them of %s on %s without a message", made, run.Role, first)
	}
	// A repeated call has no second effect.
	res, err := r.act(run, "c1", window("w2"))
	if err != nil || res.Text != "made" || r.desktop.WindowCount() != 1 {
		t.Fatalf(`a repeated call gives %+v, error %v, with %d windows, want "made" and 1`, res, err, r.desktop.WindowCount())
	}
}

func TestActIsAllOrNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	res, err := r.act(run, "c1", window("w1"), wire.WindowFocus{WindowID: "nowhere"})
	if err != nil || !res.IsError || r.desktop.WindowCount() != 0 {
		t.Fatalf("a refused list of actions gives %+v, error %v, with %d windows, want an error as result and 0", res, err, r.desktop.WindowCount())
	}
	wantEqual(t, last[wire.ToolProgress](r).Status, wire.ToolError)
}

func TestToolsOfATurnThatIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	if !r.pool.View.TurnActive(callerOf(run)) {
		t.Fatal("got an inactive turn, want an active one")
	}
	r.ended(run)
	c := callerOf(run)
	if r.pool.View.TurnActive(c) {
		t.Fatal("got an active turn after its end, want none")
	}
	before := len(r.events)
	var errs []error
	r.step(func() {
		_, err := r.pool.Tools.ExecuteToolPlan(c, callOf("c", "window:create"), nil)
		_, again := r.pool.Tools.Reload(c, callOf("c", "reload:cached"), "reload-1")
		errs = append(errs, err, again, r.pool.Tools.BeginToolCall(c, callOf("c", "x:y")), r.pool.Tools.EndToolCall(c, callOf("c", "x:y"), providers.ToolResult{}))
		wantEqual(t, len(r.pool.Tools.ReloadOptions(c)), 0)
	})
	for _, err := range errs {
		if !errors.Is(err, contextpool.ErrTurnOver) {
			t.Fatalf("calls of a turn that is over give %v, want %v for each", errs, contextpool.ErrTurnOver)
		}
	}
	wantEqual(t, len(r.events), before)
}

// A tool call says how far it is until it has ended.
func TestProgressOfAToolCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, use := callerOf(r.direct("m1")), callOf("c", "mcp__x__y")
	before := len(r.events)
	r.step(func() {
		wantEqual(t, r.pool.Tools.BeginToolCall(c, use), nil)
		r.pool.Tools.ReportToolProgress(c, use, "1 of 2")
		wantEqual(t, r.pool.Tools.EndToolCall(c, use, providers.ToolResult{Text: "ok"}), nil)
		r.pool.Tools.ReportToolProgress(c, use, "2 of 2")
	})
	var got []string
	for _, e := range r.events[before:] {
		if p, ok := e.(wire.ToolProgress); ok {
			got = append(got, string(p.Status)+" "+p.Message)
		}
	}
	wantEqual(t, strings.Join(got, ", "), "running , running 1 of 2, complete ok")
}

func TestReload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.act(run, "c1", window("w1"), wire.ToastShow{Toast: wire.Toast{ID: "t1", Message: "hi"}})
	r.act(run, "c2", wire.WindowLock{WindowID: "w1"})
	r.remember(run, said("m1", "fine"))
	r.ended(run)
	r.close(first, "w1")
	r.step(func() {
		r.pool.Messages.HandleUserMessage(contextpool.Message{ID: "m2", Monitor: first, Text: "text of m1"})
	})
	run = r.run("main-monitor-0-m2")
	if !strings.Contains(run.Prompt, `<reload_options>`+"\n"+`[{"cacheId":"reload-1","label":"text of m1","similarity":1,"actions":2,"exact":true}]`) {
		t.Fatalf("prompt %s, want the reload option of text of m1", run.Prompt)
	}
	r.crash()
	run = r.run("main-monitor-0-m2")
	wantEqual(t, len(r.pool.Tools.ReloadOptions(callerOf(run))), 1)
	reload := func(call, id string) (res providers.ToolResult) {
		r.step(func() {
			var err error
			if res, err = r.pool.Tools.Reload(callerOf(run), callOf(call, "reload:cached"), id); err != nil {
				t.Error(err)
			}
		})
		return res
	}
	if res := reload("c1", "reload-1"); res.IsError {
		t.Fatalf("the reload gives %+v, want it done", res)
	}
	w, open := r.desktop.Window(first, "w1")
	if !open || w.Lock != run.Role {
		t.Fatalf("window w1 is %+v, want it open and locked by %s", w, run.Role)
	}
	toast, ok := r.desktop.Notices().Toast("reload-feedback-reload-1")
	if !ok || toast.Action == nil || toast.Action.EventID != "reload-1" {
		t.Fatalf("the toast is %+v, want one with the action reload-1", toast)
	}
	if res := reload("c2", "reload-99"); !res.IsError {
		t.Fatalf("a reload of what is not cached gives %+v, want an error as result", res)
	}
	for range 3 {
		r.step(func() { r.pool.Tools.ReloadFailed("reload-1") })
	}
	wantEqual(t, len(r.pool.Tools.ReloadOptions(callerOf(run))), 0)
	r.crash()
}

// Reload returns its result even if more results are outstanding than are stored.
func TestReloadAmongManyTools(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	for i := range 64 {
		r.begin(run, fmt.Sprintf("c%d", i), "http:post")
	}
	r.step(func() {
		res, err := r.pool.Tools.Reload(callerOf(run), callOf("r", "system:reload_cached"), "nothing")
		if err != nil || !res.IsError || !strings.Contains(res.Text, "nothing") {
			t.Errorf("a reload of nothing gives %+v, error %v, want an error as result that names it", res, err)
		}
	})
}

func TestReloadNeedsItsWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	r.toWindow("a", "w1")
	run := r.run("window-w1")
	r.act(run, "c1", wire.WindowSetTitle{WindowID: "w1", Title: "x"})
	r.ended(run)
	wantEqual(t, len(r.kept.tables["reload"]), 2)
	r.close(first, "w1")
	wantEqual(t, len(r.kept.tables["reload"]), 1)
}

func TestTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	call := providers.Entry{Role: providers.RoleAssistant, Turn: "m1", Blocks: []providers.Block{{Kind: providers.BlockToolCall, Call: "c1", Tool: "task_run"}}}
	r.remember(run, said("m0", "before"), call)
	var none, one, two, deeper string
	r.delegate(run, "no room", &none)
	wantEqual(t, none, `{"status":"failed","summary":"","actions":[],"error":"agent limit reached"}`)
	r.runner.slots = 2
	r.delegate(run, "find it", &one)
	r.delegate(run, "make it", &two)
	first, second := r.run("task-m1-1"), r.run("task-m1-2")
	if !first.Fork || len(first.From.Entries) != 2 || first.Profile != "web" || first.Slot == nil || first.Turn != "m1" {
		t.Fatalf("run %+v, want a fork of m1 with 2 entries, a slot and the profile web", first)
	}
	if !strings.Contains(first.Prompt, "find it") {
		t.Fatalf("prompt %s, want the task in it", first.Prompt)
	}
	r.delegate(first, "recursion", &deeper)
	if !strings.Contains(deeper, "no recursion") {
		t.Fatalf("a task of a task gives %s, want the refusal of recursion", deeper)
	}
	r.act(second, "x1", window("w1"))
	r.said(second, "made it")
	r.ended(second)
	wantEqual(t, two, `{"status":"completed","summary":"made it","actions":[{"type":"window.create","windowId":"w1","title":"T w1"}]}`)
	r.ended(run) // its tasks are stopped
	wantEqual(t, len(r.runner.interrupted), 1)
	r.interrupted(first)
	if !strings.Contains(one, `"status":"interrupted"`) {
		t.Fatalf("the result of the stopped task is %s, want it interrupted", one)
	}
	r.wantStory("m1", "direct by main-monitor-0-m1; completed") // once
	if got := r.direct("m2").Prompt; !strings.Contains(got, `<ai agent="task-m1-2">Created window "w1" (text).</ai>`) {
		t.Fatalf("the next prompt is %s, want the window of task-m1-2 in its timeline", got)
	}
}

func TestInterruptedParent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.runner.slots = 1
	var result, late string
	r.delegate(run, "x", &result)
	r.interrupt(wire.ScopeAgent, "", run.Role, "")
	wantEqual(t, len(r.runner.interrupted), 2)
	r.delegate(run, "y", &late)
	if !strings.Contains(late, "the turn is over") {
		t.Fatalf("a task of an interrupted turn gives %s, want that the turn is over", late)
	}
}

func TestLongResultsAreCut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	for i := range 100 {
		id := fmt.Sprintf("c%d", i)
		r.step(func() {
			if err := r.pool.Tools.BeginToolCall(callerOf(run), callOf(id, "http:get")); err != nil {
				t.Error(err)
			}
		})
		r.step(func() {
			err := r.pool.Tools.EndToolCall(callerOf(run), callOf(id, "http:get"), providers.ToolResult{
				Text: strings.Repeat("x", 100_000), Images: []providers.Image{{MediaType: "image/png", Data: make([]byte, 100_000)}},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	if n := len(r.kept.tables["turns.calls:t1"]); n > 64 {
		t.Fatalf("%d calls are kept, want at most 64", n)
	}
	for _, v := range r.kept.tables["turns.calls:t1"] {
		if len(v) > 70<<10 {
			t.Fatalf("a result of %d bytes is kept, want at most 70 KiB", len(v))
		}
	}
	if n := len(last[wire.ToolProgress](r).Message); n > 8<<10 {
		t.Fatalf("%d bytes are shown, want at most 8 KiB", n)
	}
	r.crash()
	r.ended(run)
}

func TestDo(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 2, 0), second)
	run := r.direct("m1", second)
	do := func(actions ...wire.Action) (refused *desktop.Refusal) {
		r.step(func() { refused = r.pool.Tools.ApplyActions(callerOf(run), actions...) })
		return refused
	}
	if refused := do(window("w1"), wire.WindowCapture{WindowID: "w1"}); refused != nil {
		t.Fatalf("the actions are refused with %+v, want them done", refused)
	}
	if refused := do(wire.WindowFocus{WindowID: "nowhere"}); refused == nil {
		t.Fatal("got no refusal for a window that does not exist, want one")
	}
	if refused := do(window("w2")); refused == nil || refused.Code != wire.CodeBudgetExceeded {
		t.Fatalf("an action over the budget gives %+v, want code %s", refused, wire.CodeBudgetExceeded)
	}
	if refused := do(window("w3")); refused == nil || refused.Code != wire.CodeSessionInvalidState {
		t.Fatalf("an action after the interrupt gives %+v, want code %s", refused, wire.CodeSessionInvalidState)
	}
}

// Used message ids are remembered only for a limited time.
func TestMessagesOfTheSameName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w")
	run := r.direct("m")
	r.user("m")
	r.toWindow("m", "w")
	r.toWindow("m", "w")
	r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m-2"})
	r.wantStory("m", "direct by main-monitor-0-m")
	r.wantStory("m-2", "steered by main-monitor-0-m")
	r.wantStory("m-3", "direct by window-w")
	r.wantStory("m-4", "queued at 1")
}
