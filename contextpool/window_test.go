package contextpool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// statuses summarises the WINDOW_AGENT_STATUS events.
func (r *rig) statuses() []string {
	var out []string
	for _, s := range all[wire.WindowAgentStatus](r) {
		out = append(out, fmt.Sprintf("%s %s %s %s", s.WindowID, s.AgentID, s.Status, s.MonitorID))
	}
	return out
}

func TestWindowMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 5 { // the last three turns are in the prompt
		run := r.direct(fmt.Sprintf("m%d", i))
		r.said(run, fmt.Sprintf("answer %d", i))
		r.ended(run)
	}
	r.open(first, "w1")
	r.toWindow("a", "w1")
	run := r.run("window-w1")
	want := "<recent_conversation>\n<user>text of m2</user>\n\n<assistant>answer 2</assistant>\n\n<user>text of m3</user>\n\n" +
		"<assistant>answer 3</assistant>\n\n<user>text of m4</user>\n\n<assistant>answer 4</assistant>\n</recent_conversation>\n\n" +
		"<open_windows>w1 (text \"T w1\" 100×100)</open_windows>\n\n<this_window id=\"w1\" kind=\"text\" title=\"T w1\">\nx\n</this_window>\n\ntext of a"
	wantEqual(t, run.Prompt, want)
	if run.Agent != "window-monitor-0/w1" || !run.Lasting || run.Window != "w1" {
		t.Fatalf("run %+v, want a lasting one of window-monitor-0/w1", run)
	}
	r.began(run)
	r.toWindow("b", "w1") // one after the other
	r.wantStory("b", "queued at 1")
	r.remember(run, said("a", "hello"))
	r.act(run, "c1", window("w2"))
	r.ended(run)
	r.wantStory("a", "direct by window-w1; completed")
	r.wantStory("b", "queued at 1; direct by window-w1")
	wantEqual(t, r.statuses(), []string{
		"w1 window-w1 assigned monitor-0", "w1 window-w1 active monitor-0", "w1 window-w1 released monitor-0",
		"w1 window-w1 assigned monitor-0",
	})
	next := r.run("window-w1")
	wantEqual(t, next.Prompt, "<open_windows>w1 (text \"T w1\" 100×100), w2 (text \"T w2\" 100×100)</open_windows>\n\n"+
		"<this_window id=\"w1\" kind=\"text\" title=\"T w1\" your_other_windows=\"w2\">\nx\n</this_window>\n\ntext of b")
	wantEqual(t, len(next.From.Entries), 2)
	r.ended(next)
	r.toWindow("c", "w2") // in the same group
	wantEqual(t, r.run("window-w2").Agent, "window-monitor-0/w1")
}

// The content of a window that the conversation has already is not repeated.
func TestContentOfAWindowIsToldOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	r.toWindow("a", "w1")
	run := r.run("window-w1")
	r.began(run)
	asked := said("a", run.Prompt)
	asked.Role = providers.RoleUser
	r.remember(run, asked, said("a", "done"))
	r.ended(run)
	r.toWindow("b", "w1")
	next := r.run("window-w1")
	if !strings.Contains(next.Prompt, `<this_window id="w1" kind="text" title="T w1" content="unchanged"/>`) {
		t.Errorf("the prompt is %q, want the window as unchanged", next.Prompt)
	}
}

func TestUnknownWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.toWindow("a", "nowhere")
	r.wantStory("a", `rejected with 3003: there is no window "nowhere"`)
	r.press("b", "nowhere", "x")
	r.wantStory("b", `rejected with 3003: there is no window "nowhere"`)
	wantEqual(t, r.rows(), []string{"user_feedback: text of a", "user_feedback: save (nowhere)"})
}

// Parallel buttons have turns of their own.
func TestParallelActions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	r.toWindow("a", "w1")
	main := r.run("window-w1")
	r.remember(main, said("a", "hello"))
	r.press("b", "w1", "action-1")
	r.press("c", "w1", "action-2")
	one, two := r.run("window-w1/action-1"), r.run("window-w1/action-2")
	if one.Agent == two.Agent || !one.Fork || one.Lasting || len(one.From.Entries) != 2 || one.Turn != "b" || two.Turn != "c" {
		t.Fatalf("runs %+v and %+v, want forks of two agents for b and c, with 2 entries", one, two)
	}
	r.act(one, "c1", window("x1"))
	r.act(two, "c1", window("x2"))
	r.said(two, "second")
	r.interrupted(one)
	wantEqual(t, len(r.runner.runs), 2)
	r.ended(two)
	r.ended(main)
	r.wantStory("a", "direct by window-w1; completed")
	r.wantStory("b", "direct by window-w1/action-1; interrupted: the turn was interrupted")
	r.wantStory("c", "direct by window-w1/action-2; completed")
	for _, a := range all[wire.Actions](r)[1:] {
		want := wire.WindowID("x1")
		if a.AgentID == "window-w1/action-2" {
			want = "x2"
		}
		wantEqual(t, a.Actions[0].(wire.WindowCreate).WindowID, want) //nolint:forcetypeassert // or fail
	}
	released := 0
	for _, s := range r.statuses() {
		if strings.Contains(s, "released") {
			released++
		}
	}
	wantEqual(t, released, 3)
}

func TestWindowQueueIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1", "w2")
	for i := range 30 {
		r.toWindow(fmt.Sprintf("a%d", i), "w1")
		r.press(fmt.Sprintf("b%d", i), "w1", fmt.Sprintf("x%d", i))
	}
	rejected := all[wire.MessageRejected](r)
	wantEqual(t, len(rejected), 9) // one runs, and 50 are queued or run in parallel
	wantEqual(t, rejected[0].Code, wire.CodeQueueFull)
	r.toWindow("c", "w2") // w2 has a queue of its own
	r.wantStory("c", "direct by window-w2")
}

// The same window id on two monitors is two windows.
func TestSameWindowOnTwoMonitors(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	r.open(first, "w1")
	r.open(second, "w1")
	r.toWindow("a", "w1")
	r.toWindow("b", "w1", second)
	r.wantStory("a", "direct by window-w1")
	r.wantStory("b", "direct by window-w1/2")
	wantEqual(t, r.run("window-w1/2").Agent, "window-monitor-1/w1")
	r.close(second, "w1")
	wantEqual(t, len(r.runner.interrupted), 1)
	r.interrupted(r.run("window-w1/2"))
	r.wantStory("b", "direct by window-w1/2; interrupted: the window was closed")
	wantEqual(t, r.runner.disposed, []string{"window-monitor-1/w1"})
	r.ended(r.run("window-w1"))
	r.wantStory("a", "direct by window-w1; completed")
}

// When the last window of a group is closed, its agent and its thread are deleted.
func TestClosingWindows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	r.toWindow("a", "w1")
	run := r.run("window-w1")
	r.began(run)
	r.remember(run, said("a", "hello"))
	r.act(run, "c1", window("w2"))
	r.ended(run)
	r.toWindow("b", "w2")
	run = r.run("window-w2")
	r.toWindow("c", "w1")
	r.close(first, "w1") // w2 stays open
	r.wantStory("c", "queued at 1")
	wantEqual(t, len(r.kept.lists["tape:monitor-0/w1"]), 0)
	wantEqual(t, len(r.kept.lists["tape:monitor-0/w2"]), 1)
	wantEqual(t, len(r.runner.interrupted), 0)
	r.close(first, "w2")
	r.wantStory("c", "queued at 1; rejected with 3003: the window was closed")
	wantEqual(t, r.runner.interrupted, []string{run.ID + ": the window was closed"})
	r.interrupted(run)
	r.wantStory("b", "direct by window-w2; interrupted: the window was closed")
	wantEqual(t, r.runner.disposed, []string{"window-monitor-0/w1"})
	wantEqual(t, len(r.kept.tables["threads"]), 0)
	wantEqual(t, len(r.kept.lists["api:window-monitor-0/w1"]), 0)
	r.open(first, "w1")
	r.toWindow("d", "w1")
	wantEqual(t, len(r.run("window-w1").From.Entries), 0)
}

// A turn that closes its own window continues to its end.
func TestClosingOnesOwnWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	r.toWindow("a", "w1")
	run := r.run("window-w1")
	r.began(run)
	if res, err := r.act(run, "c1", wire.WindowClose{WindowID: "w1"}); err != nil || res.IsError {
		t.Fatalf("closing its own window gives %+v, error %v, want it done", res, err)
	}
	wantEqual(t, len(r.runner.interrupted), 0)
	if res, err := r.act(run, "c2", window("w9")); err != nil || res.IsError {
		t.Fatalf("opening another window gives %+v, error %v, want it done", res, err)
	}
	r.remember(run, said("a", "closed"))
	r.ended(run)
	r.wantStory("a", "direct by window-w1; completed")
	wantEqual(t, r.runner.disposed, []string{"window-monitor-0/w1"})
	wantEqual(t, len(r.kept.tables["threads"]), 0)
	r.toWindow("b", "w9") // not opened by an agent
	wantEqual(t, r.run("window-w9").Agent, "window-monitor-0/w9")
}

func TestLocksEndWithTheTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	run := r.direct("m1")
	r.act(run, "c1", wire.WindowLock{WindowID: "w1", AgentID: "another agent"})
	w, _ := r.desktop.Window(first, "w1")
	wantEqual(t, w.Lock, run.Role) // the lock belongs to the agent
	r.toWindow("a", "w1")
	res, err := r.act(r.run("window-w1"), "c1", wire.WindowClose{WindowID: "w1"})
	if err != nil || !res.IsError {
		t.Fatalf("closing a window that another agent locks gives %+v, error %v, want an error as result", res, err)
	}
	r.ended(run)
	w, _ = r.desktop.Window(first, "w1")
	wantEqual(t, w.Lock, "")
}

func TestEphemeralAndWindowAgentsAreOnTheTimeline(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	r.open(first, "w1")
	r.toWindow("a", "w1")
	r.ended(r.run("window-w1"))
	r.step(func() { r.pool.RecordInteraction(first, did(wire.DidMoveWindow, "w1")) })
	r.step(func() { r.pool.RecordInteraction(second, did(wire.DidCloseWindow, "w7")) })
	// Each monitor has its own timeline and its own windows.
	other := r.direct("m1", second)
	wantEqual(t, other.Prompt, "<timeline>\n<ui:close>w7</ui:close>\n</timeline>\n\ntext of m1")
	mine := r.direct("m2")
	wantEqual(t, mine.Prompt, "<timeline>\n<ai agent=\"window-w1\">No actions taken.</ai>\n<ui:move>w1</ui:move>\n</timeline>\n\n"+
		"<open_windows>w1 (text \"T w1\" 100×100)</open_windows>\n\ntext of m2")
	wantEqual(t, len(r.kept.lists["timeline:monitor-0"])+len(r.kept.lists["timeline:monitor-1"]), 0)
	r.ended(mine)
	wantEqual(t, len(r.kept.lists["timeline:monitor-0"]), 0) // the main agent's own actions are not in its timeline
}

// The number of concurrent turns is bounded by what a desktop shows; further presses are
// queued.
func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.direct("m1")
	r.runner.slots, r.runner.steers = 1, false
	for w := range 3 {
		r.open(first, fmt.Sprintf("w%d", w))
		for i := range 30 {
			r.press(fmt.Sprintf("a%d-%d", w, i), fmt.Sprintf("w%d", w), fmt.Sprintf("x%d", i))
		}
	}
	wantEqual(t, len(r.runner.runs), 60)
	r.user("m2")
	r.wantStory("m2", "queued at 1")
	var result string
	r.delegate(r.run("main-monitor-0-m1"), "x", &result)
	if !strings.Contains(result, "agent limit reached") {
		t.Fatalf("the task gives %s, want that the agent limit is reached", result)
	}
	for range 91 {
		for _, run := range r.runner.runs {
			r.ended(run)
			break
		}
	}
	wantEqual(t, len(all[wire.MessageQueued](r)), 32)
	wantEqual(t, len(r.kept.tables["queue"]), 0)
}

func TestQueuesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w")
	long := strings.Repeat("x", 1<<20)
	for i := range 20 {
		r.step(func() {
			r.pool.Messages.HandleWindowMessage(contextpool.Message{ID: wire.MessageID(fmt.Sprintf("a%d", i)), Monitor: first, Window: "w", Text: long})
		})
	}
	r.wantStory("a15", "queued at 15")
	r.wantStory("a17", "rejected with 3004: the messages that wait already are too long")
	r.crash()
	send := func(id string) {
		r.step(func() {
			r.pool.Messages.HandleWindowMessage(contextpool.Message{ID: wire.MessageID(id), Monitor: first, Window: "w", Text: long})
		})
	}
	send("b")
	r.wantStory("b", "rejected with 3004: the messages that wait already are too long")
	r.interrupt(wire.ScopeSession, "", "", wire.QueuesDrop)
	for i := range 15 {
		send(fmt.Sprintf("c%d", i))
	}
	r.wantStory("c14", "queued at 15")
}

// Windows named like monitors, and buttons named like windows, are different agents.
func TestWindowsThatAreCalledLikeMonitors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "monitor-0", "save")
	r.press("m1", "monitor-0", "save")
	button := r.run("window-monitor-0/save")
	r.toWindow("m2", "save")
	r.wantStory("m2", "direct by window-save")
	if w := r.run("window-save"); w.Agent != "window-monitor-0/save" || button.Agent == w.Agent {
		t.Fatalf("the agents are %s and %s, want window-monitor-0/save for the window and another one for the button", w.Agent, button.Agent)
	}
}

// A press is shown with the label of the button, if the page sends one.
func TestPressesAreNamed(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"": "save (Form)", "Button:": "save (Form)", "Button:Save\n it": "Save it (Form)", "Form/Button:Ja": "Ja (Form)"} {
		r := newRig(t)
		a := wire.ComponentAction{WindowID: "w1", WindowTitle: "Form", Action: "save"}
		if path != "" {
			a.ComponentPath = []string{path}
		}
		r.step(func() {
			r.pool.Messages.HandleComponentAction(contextpool.Message{ID: "m1", Monitor: "monitor-0"}, a)
		})
		wantEqual(t, r.shown()[0], "user_feedback: "+want)
	}
}
