package contextpool_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

const (
	windowCondenser = "condense-monitor-0-w1"
	windowW1        = "window-monitor-0/w1"
)

// runWindowTurn runs a turn of the agent of window w1, after which its thread has so many tokens.
func (r *rig) runWindowTurn(id, says string, tokens int) {
	r.t.Helper()
	r.toWindow(id, "w1")
	run := r.run("window-w1")
	r.began(run)
	r.answers(run, says, tokens)
}

// newWindowRig returns a rig with a window whose agent has a thread of that many tokens, with a
// context window of 100,000.
func newWindowRig(t *testing.T, tokens int) *rig {
	t.Helper()
	r := newSmallRig(t, 100_000, 80)
	r.open(first, "w1")
	r.runWindowTurn("a", "hello", tokens)
	return r
}

func (r *rig) windowSums(says string) {
	r.t.Helper()
	run := r.run(windowCondenser)
	r.began(run)
	r.said(run, says)
	r.spent(run, 10)
	r.ended(run)
}

// The thread of a window agent is summarised like that of a main agent: messages to the window
// are queued meanwhile, all others are not.
func TestWindowAgentsAreSummedUp(t *testing.T) {
	t.Parallel()
	r := newWindowRig(t, 79_000)
	wantEqual(t, len(r.runner.runs), 0)
	r.runWindowTurn("b", "again", 81_000)
	run := r.run(windowCondenser)
	if run.System == "" || !run.Fork || run.Lasting || run.Kind != wire.AgentWindow || run.Window != "w1" || run.Agent != windowW1 {
		t.Fatalf("run %+v, want a fork of %s of w1 with a system prompt of its own, not lasting", run, windowW1)
	}
	if got := outline(run.From.Entries); !strings.Contains(got, "a: hello\n") || !strings.HasSuffix(got, "a: again\n") {
		t.Errorf("it sums up %q, want hello, and again at the end", got)
	}
	statuses := len(r.statuses())
	r.began(run)
	r.toWindow("c", "w1")
	r.wantStory("c", "queued at 1")
	r.press("d", "w1", "beside") // a button has a turn of its own
	r.wantStory("d", "direct by window-w1/beside")
	r.direct("m1")
	wantEqual(t, len(r.statuses()), statuses+1) // the status of the button's turn
	r.crash()
	r.windowSums("all of it")
	row := r.lastRow(wire.SayCondenseContext)
	wantEqual(t, row.ContextCondense.Summary, "all of it")
	wantEqual(t, []any{row.ContextCondense.PrevContextTokens, row.Thread, row.WindowID, row.MessageID},
		[]any{81_000, windowW1, wire.WindowID("w1"), wire.MessageID("")})
	r.wantStory("c", "queued at 1; direct by window-w1")
	wantEqual(t, outline(r.run("window-w1").From.Entries), "u: Summary of the conversation so far:\n\nall of it\n")
	r.wantStory("b", "direct by window-w1; completed")
}

func TestWindowAgentsAreSummedUpBeforeATurn(t *testing.T) {
	t.Parallel()
	r := newWindowRig(t, 79_000)
	long := contextpool.Message{ID: "b", Monitor: first, Window: "w1", Text: strings.Repeat("long ", 1000)}
	r.step(func() { r.pool.Messages.HandleWindowMessage(long) })
	r.wantStory("b", "queued at 1")
	r.windowSums("all")
	r.wantStory("b", "queued at 1; direct by window-w1")
}

// A thread that cannot be summarised is truncated, and a summary is tried once before each
// turn.
func TestWindowAgentsThatCannotBeSummedUp(t *testing.T) {
	t.Parallel()
	r := newWindowRig(t, 10)
	r.runWindowTurn("b", strings.Repeat("two ", 100), 20)
	r.runWindowTurn("c", "three", 95_000)
	r.failed(r.run(windowCondenser), providers.Overloaded)
	if row := r.lastRow(wire.SayCondenseContextError); row.WindowID != "w1" || !strings.Contains(row.Text, "it did not work") {
		t.Errorf("the row is %+v, want the error of window w1", row)
	}
	cut := r.lastRow(wire.SaySlidingWindowTruncation)
	if cut.Thread != windowW1 || cut.ContextTruncation.MessagesRemoved != 2 || cut.ContextTruncation.PrevContextTokens != 95_000 {
		t.Errorf("the row is %+v, want 2 messages of %s removed from 95000 tokens", cut, windowW1)
	}
	wantEqual(t, len(r.runner.runs), 0)
	r.runWindowTurn("d", "four", 82_000)
	r.failed(r.run(windowCondenser), providers.Overloaded)
	r.crash()
	r.toWindow("e", "w1")
	r.wantStory("e", "direct by window-w1")
}

// Closing the window deletes its agent, even during a summary.
func TestWindowClosesWhileItIsSummedUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig, agentpool.Run){
		"interrupted": func(r *rig, run agentpool.Run) { r.interrupted(run) },
		"completed":   func(r *rig, _ agentpool.Run) { r.windowSums("too late") },
		"taken over":  func(r *rig, _ agentpool.Run) { r.crash() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWindowRig(t, 81_000)
			run := r.run(windowCondenser)
			r.began(run)
			r.toWindow("b", "w1")
			r.step(func() {
				r.Emit(wire.Actions{Actions: []wire.Action{wire.WindowClose{WindowID: "w1"}}, MonitorID: first})
				r.pool.WindowClosed(first, "w1")
			})
			end(r, run)
			r.wantStory("b", "queued at 1; rejected with 3003: the window was closed")
			wantEqual(t, len(r.kept.tables["threads"]), 0)
			wantEqual(t, len(r.kept.tables["turns"]), 0)
			wantEqual(t, len(r.kept.lists["api:"+windowW1]), 0)
			for _, row := range r.rows() {
				if strings.HasPrefix(row, string(wire.SayCondenseContext)+":") {
					t.Errorf("there is a row %q, want no summary", row)
				}
			}
		})
	}
}
