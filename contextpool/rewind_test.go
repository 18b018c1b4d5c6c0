package contextpool_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

const mainThread = "main-monitor-0"

func asked(turn string) providers.Entry {
	return providers.Entry{Role: providers.RoleUser, Turn: turn, Blocks: []providers.Block{
		{Kind: providers.BlockText, Text: "text of " + turn},
	}}
}

// runTurn runs a turn of the main agent that answers one message.
func (r *rig) runTurn(id string) {
	r.t.Helper()
	run := r.direct(id)
	r.remember(run, asked(id))
	r.answer(run, "answer to "+id)
}

// answer ends a turn with a text.
func (r *rig) answer(run agentpool.Run, text string) {
	r.said(run, text)
	r.remember(run, said(string(run.Turn), text))
	r.ended(run)
}

func TestRewind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runTurn("m1")
	r.runTurn("m2")
	r.runTurn("m3")
	r.back("text of m2")
	r.wantSeen("> text of m1; answer to m1; completed")
	r.wantKnown(mainThread, "> text of m1; answer to m1")
	e := last[wire.HistoryRewound](r)
	if e.Removed != 6 || e.Revision != 1 || e.Included || len(e.Kept) > 0 || e.MonitorID != first {
		t.Fatalf("got %+v, want 6 removed rows in revision 1 of the first monitor", e)
	}
	wantEqual(t, last[wire.MonitorStatus](r).Revision, 1)
	wantEqual(t, r.runner.disposed, []string{mainThread})
	r.crash()
	r.agree()
	// Ids of messages and rows are not reused.
	r.runTurn("m4")
	all := r.thread(mainThread)
	if n := len(all); n != 4 || all[2].ID <= 12 || all[2].Row <= 9 {
		t.Fatalf("got %+v, want 4 messages with new ids and rows", all)
	}
	r.wantSeen("> text of m1; answer to m1; completed; > text of m4; answer to m4; completed")
	r.back("answer to m1")
	r.wantSeen("> text of m1")
	r.wantKnown(mainThread, "> text of m1")
	r.back("text of m1")
	r.wantSeen("")
	r.wantKnown(mainThread, "")
	wantEqual(t, last[wire.HistoryRewound](r).Revision, 3)
}

func TestRewindKeepsTheRowItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runTurn("m1")
	r.runTurn("m2")
	if refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m2").TS, Include: true, By: "c1", Message: "x"}); refused != nil {
		t.Fatalf("the rewind is refused with %+v, want it done", refused)
	}
	r.agree()
	r.wantSeen("> text of m1; answer to m1; completed; > text of m2")
	r.wantKnown(mainThread, "> text of m1; answer to m1")
	e := last[wire.HistoryRewound](r)
	if e.Removed != 2 || !e.Included || e.By != "c1" || e.MessageID != "x" {
		t.Fatalf("got %+v, want 2 removed rows, the named one included, by c1 for x", e)
	}
	r.runTurn("m3")
	r.wantKnown(mainThread, "> text of m1; answer to m1; > text of m3; answer to m3")
}

func TestRewindIsRefused(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	r.runTurn("m1")
	row := r.rowOf("text of m1")
	code := func(u contextpool.RewindRequest) wire.Code {
		if refused := r.rewind(u); refused != nil {
			return refused.Code
		}
		return 0
	}
	wantEqual(t, code(contextpool.RewindRequest{TS: 5}), wire.CodeHistoryChanged)
	wantEqual(t, code(contextpool.RewindRequest{TS: row.TS, Monitor: second}), wire.CodeHistoryChanged)
	wantEqual(t, code(contextpool.RewindRequest{TS: row.TS, Revision: new(1)}), wire.CodeHistoryChanged)
	r.step(func() {
		r.Emit(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: first, Message: wire.UIRow{
			TS: 1, Type: wire.RowSay, Say: wire.SayUserFeedback, Text: "old", MonitorID: first,
		}})
	})
	slices.SortFunc(r.archive[first], func(a, b wire.UIRow) int { return int(a.TS - b.TS) })
	wantEqual(t, code(contextpool.RewindRequest{TS: 1}), wire.CodeSessionInvalidState)
	wantEqual(t, r.edit("text of m1", "e1", ""), nil)
	wantEqual(t, code(contextpool.RewindRequest{TS: r.rowOf("").TS, Revision: new(0)}), wire.CodeHistoryChanged)
	wantEqual(t, len(all[wire.HistoryRewound](r)), 1)
}

// A message sent while the agent was answering has its row before the answer. Rewinding to it
// does not remove the answer.
func TestRewindOfAMessageSentWhileTheAgentSpoke(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	one := r.direct("m1")
	r.remember(one, asked("m1"))
	r.said(one, "answer ")
	r.user("m2") // waits
	r.said(one, "to m1")
	r.remember(one, said("m1", "answer to m1"))
	r.ended(one)
	two := r.run("main-monitor-0-m2")
	r.began(two)
	r.remember(two, asked("m2"))
	r.answer(two, "answer to m2")
	r.wantSeen("> text of m1; > text of m2; answer to m1; completed; answer to m2; completed")
	r.back("text of m2")
	r.wantSeen("> text of m1; answer to m1; completed")
	r.wantKnown(mainThread, "> text of m1; answer to m1")
	wantEqual(t, len(last[wire.HistoryRewound](r).Kept), 2)
	r.crash()
	r.agree()
}

func TestRewindToASteeredMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, asked("m1"))
	r.said(run, "first")
	r.remember(run, toolCall("m1", "first", "c1"))
	r.user("m2") // is offered
	r.act(run, "c1", window("w"))
	r.handleReport(agentpool.NewEntries{
		RunRef: agentpool.RunRef{Run: run.ID}, Entries: []providers.Entry{toolResult("m1", "c1"), asked("m2")}, Messages: []wire.MessageID{"m2"},
	})
	r.said(run, "second")
	r.remember(run, said("m1", "second"))
	r.ended(run)
	r.wantSeen("> text of m1; first; > text of m2; c1 complete; second; completed")
	r.back("text of m2")
	r.wantSeen("> text of m1; first; c1 complete")
	r.wantKnown(mainThread, "> text of m1; first, call c1; > c1: result of c1")
}

// Text from before a message joined is kept in a rewind to that message, whether or not a tool
// was used in between.
func TestRewindToAMessageHeardWhileSpeaking(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		r := newRig(t)
		run := r.direct("m1")
		r.remember(run, asked("m1"))
		r.said(run, "first")
		r.user("m2") // is offered
		entries := []providers.Entry{said("m1", "first"), asked("m2")}
		if apart {
			r.remember(run, entries[0])
			entries = entries[1:]
		}
		r.handleReport(agentpool.NewEntries{RunRef: agentpool.RunRef{Run: run.ID}, Entries: entries, Messages: []wire.MessageID{"m2"}})
		r.said(run, "second")
		r.remember(run, said("m1", "second"))
		r.ended(run)
		r.wantSeen("> text of m1; > text of m2; first; second; completed")
		r.back("text of m2")
		r.wantSeen("> text of m1; first")
		r.wantKnown(mainThread, "> text of m1; first")
	}
}

// A running turn ends in the same step and leaves no rows.
func TestRewindOfATurnThatRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runTurn("m1")
	run := r.direct("m2")
	r.remember(run, asked("m2"), toolCall("m2", "wait", "c1"))
	r.act(run, "c1", window("w"))
	r.said(run, "half an ans")
	r.back("text of m2")
	r.wantStory("m2", "direct by main-monitor-0-m2; interrupted: the conversation was rewound")
	r.wantSeen("> text of m1; answer to m1; completed")
	r.wantKnown(mainThread, "> text of m1; answer to m1")
	if r.pool.View.TurnActive(callerOf(run)) || r.pool.View.Busy() || len(r.runner.runs) > 0 {
		t.Fatalf("got busy %t with %d runs after the rewind, want an ended turn", r.pool.View.Busy(), len(r.runner.runs))
	}
	r.ended(run) // after the rewind
	// Its actions stay, and the next prompt reports them, because the thread no longer has
	// them.
	if next := r.direct("m3"); !strings.Contains(next.Prompt, "main-monitor-0-m2") || len(next.From.Entries) != 2 {
		t.Fatalf("got %+v, want a prompt about the interrupted turn and 2 entries", next)
	}
	r.crash()
	r.agree()
}

// A turn that began before the row ends too, and its tool results stay.
func TestRewindInATurnThatRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, asked("m1"), toolCall("m1", "look", "c1", "c2"))
	r.act(run, "c1", window("w"))
	r.begin(run, "c2", "http:post")
	r.runner.steers = false
	r.user("m2")
	r.user("m3")
	r.back("text of m3")
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: the conversation was rewound")
	r.wantStory("m3", "queued at 2; rejected with 3003: the conversation was rewound")
	r.wantSeen("> text of m1; c1 complete; > text of m2; c2 error; interrupted")
	r.wantKnown(mainThread, "> text of m1; look, call c1, call c2; > c1: done, c2: tool http:post may or may not have run")
	// Messages queued before the row begin.
	r.wantStory("m2", "queued at 1; direct by main-monitor-0-m2")
	r.crash()
}

// A turn that waits for its tasks ends once, with them.
func TestRewindOfATurnWithTasks(t *testing.T) {
	t.Parallel()
	for _, crashes := range []bool{false, true} {
		r := newRig(t)
		r.runTurn("m0")
		r.runner.slots = 2
		var one, two string
		run := r.leader("m1", "c1", "c2")
		r.hand(run, "c1", &one)
		r.hand(run, "c2", &two)
		if crashes {
			r.crash()
		}
		r.back("text of m1")
		r.wantSeen("> text of m0; answer to m0; completed")
		r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: the conversation was rewound")
		if r.pool.View.Busy() || len(r.runner.runs) > 0 {
			t.Fatalf("after the rewind the runs are %v, want none and nothing waiting", r.runner.runs)
		}
		r.crash()
		r.agree()
	}
}

func TestRewindOfWhatRanBeside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	r.runner.slots = 1
	one := r.direct("m1")
	r.remember(one, asked("m1"))
	r.user("m2")
	beside := r.run("ephemeral-monitor-0-m2")
	r.began(beside)
	r.said(beside, "beside")
	r.ended(beside)
	r.answer(one, "answer to m1")
	r.wantSeen("> text of m1; > text of m2; beside; completed; answer to m1; completed")
	r.back("beside")
	// The answer came later: its row and its message are removed.
	r.wantSeen("> text of m1; > text of m2")
	r.wantKnown(mainThread, "> text of m1")
}

func TestRewindOfAWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	r.runTurn("m1")
	r.toWindow("a", "w1")
	run := r.run("window-w1")
	r.began(run)
	r.handleReport(agentpool.NewEntries{RunRef: agentpool.RunRef{Run: run.ID}, Entries: []providers.Entry{asked("a")}, Thread: "th-1"})
	r.answer(run, "answer to a")
	r.toWindow("b", "w1")
	again := r.run("window-w1")
	wantEqual(t, again.From.ID, "th-1")
	r.remember(again, asked("b"))
	r.answer(again, "answer to b")
	r.runTurn("m2")
	wantEqual(t, r.rowOf("text of b").WindowID, wire.WindowID("w1"))
	r.back("text of b")
	r.wantKnown(run.Agent, "> text of a; answer to a")
	r.wantKnown(mainThread, "> text of m1; answer to m1")
	wantEqual(t, r.runner.disposed, []string{mainThread, run.Agent})
	// The edited message goes to the same window, and the provider session is closed.
	if refused := r.edit("text of a", "e", "what I meant"); refused != nil {
		t.Fatalf("the edit is refused with %+v, want it done", refused)
	}
	next := r.run("window-w1")
	if next.Turn != "e" || next.From.ID != "" || len(next.From.Entries) > 0 || !strings.HasSuffix(next.Prompt, "what I meant") {
		t.Fatalf("got %+v, want the edited text on an empty thread", next)
	}
	r.wantStory("e", "direct by window-w1")
	r.ended(next)
	r.close(first, "w1")
	wantEqual(t, r.edit("what I meant", "e2", "x").Code, wire.CodeSessionInvalidState)
	r.wantSeen("> text of m1; answer to m1; completed; > what I meant; completed")
}

func TestEdit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runTurn("m1")
	run := r.direct("m2")
	r.remember(run, asked("m2"))
	r.said(run, "half")
	if refused := r.edit("text of m2", "e1", "better"); refused != nil {
		t.Fatalf("the edit of a message is refused with %+v, want it done", refused)
	}
	r.wantSeen("> text of m1; answer to m1; completed; > better")
	r.wantStory("m2", "direct by main-monitor-0-m2; interrupted: the conversation was rewound")
	r.wantStory("e1", "direct by main-monitor-0-e1")
	next := r.run("main-monitor-0-e1")
	wantEqual(t, known(next.From.Entries), "> text of m1; answer to m1")
	r.began(next)
	r.remember(next, asked("better"))
	r.answer(next, "answer to better")
	// Editing an answer edits the message before it.
	if refused := r.edit("answer to m1", "e2", "best"); refused != nil {
		t.Fatalf("the edit of an answer is refused with %+v, want it done", refused)
	}
	r.wantSeen("> best")
	r.wantKnown(mainThread, "")
	wantEqual(t, last[wire.HistoryRewound](r).Revision, 2)
	r.runner.has = nil
	wantEqual(t, r.edit("best", "e3", "x").Code, wire.CodeProviderUnavailable)
	r.wantSeen("> best")
}

// Other monitors are not affected.
func TestRewindLeavesOtherMonitorsAlone(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	r.runTurn("m1")
	other := r.direct("o1", second)
	r.remember(other, asked("o1"))
	r.runTurn("m2")
	r.back("text of m1")
	r.answer(other, "answer to o1")
	wantEqual(t, r.seen(second), "> text of o1; answer to o1; completed")
	r.wantKnown("main-monitor-1", "> text of o1; answer to o1")
	wantEqual(t, r.runner.disposed, []string{mainThread})
	for _, m := range r.desktop.Monitors() {
		wantEqual(t, m.Revision, map[wire.MonitorID]int{first: 1}[m.MonitorID])
	}
}

// A question whether to continue is removed with its row, and the tape loses the removed
// messages.
func TestRewindOfAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runTurn("m1")
	run := r.direct("m2")
	r.begin(run, "c1", "http:post")
	r.crash()
	asks := r.archive[first]
	ts := asks[len(asks)-1].TS
	r.back("text of m2")
	var answered bool
	r.step(func() { answered = r.pool.Messages.AnswerResume(ts, true, "") })
	if answered {
		t.Fatal("got an answer to a question that was removed, want none")
	}
	r.step(func() { r.pool.SetProvider("other") })
	tape := strings.Join(slices.Concat(bytesOf(r.kept.lists["tape:monitor-0"])), "\n")
	if !strings.Contains(tape, "answer to m1") || strings.Contains(tape, "m2") {
		t.Fatalf("the tape is %s, want the answer to m1 and nothing of m2", tape)
	}
}

func bytesOf(items [][]byte) (out []string) {
	for _, b := range items {
		out = append(out, string(b))
	}
	return out
}

// Hidden messages become visible again when the conversation is rewound to before they were
// hidden, also those in the cold list.
func TestRewindBringsBackWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var before string
	for i := range 500 {
		id := fmt.Sprintf("m%d", i)
		if i == 150 {
			before = known(r.direct(id).From.Entries)
			r.remember(r.run("main-monitor-0-"+id), asked(id))
			r.answer(r.run("main-monitor-0-"+id), "answer to "+id)
			continue
		}
		r.runTurn(id)
	}
	if len(r.kept.lists["cold:api:main-monitor-0"]) < 500 || len(r.kept.lists["api:main-monitor-0"]) > 400 {
		t.Fatalf("the lists have %d cold and %d other messages, want at least 500 and at most 400", len(r.kept.lists["cold:api:main-monitor-0"]), len(r.kept.lists["api:main-monitor-0"]))
	}
	r.crash()
	r.away = errors.New("away")
	wantEqual(t, r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m450").TS}).Code, wire.CodeStoreUnavailable)
	r.away = nil
	r.back("text of m490")
	r.wantSeenEnd("answer to m489; completed")
	r.back("text of m150")
	wantEqual(t, known(r.direct("n").From.Entries), before)
	r.checkBounds(mainThread)
	r.crash()
	r.agree()
}

func (r *rig) wantSeenEnd(want string) {
	r.t.Helper()
	if got := r.seen(first); !strings.HasSuffix(got, want) {
		r.t.Fatalf("the visible rows end with %s, want %s", got[max(len(got)-200, 0):], want)
	}
}

func (r *rig) checkBounds(agent string) {
	r.t.Helper()
	for list, bound := range map[string][2]int{"api:" + agent: {400, 1 << 20}, "cold:api:" + agent: {2000, 4 << 20}} {
		size := 0
		for _, v := range r.kept.lists[list] {
			size += len(v)
		}
		if n := len(r.kept.lists[list]); n > bound[0] || size > bound[1] {
			r.t.Fatalf("%s has %d items of %d bytes, want at most %d of %d", list, n, size, bound[0], bound[1])
		}
	}
}
