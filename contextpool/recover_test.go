package contextpool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func toolCall(turn, text string, ids ...string) providers.Entry {
	e := said(turn, text)
	for _, id := range ids {
		e.Blocks = append(e.Blocks, providers.Block{Kind: providers.BlockToolCall, Call: id, Tool: "x_y"})
	}
	return e
}

func toolResult(turn string, ids ...string) providers.Entry {
	e := providers.Entry{Role: providers.RoleUser, Turn: turn}
	for _, id := range ids {
		e.Blocks = append(e.Blocks, providers.Block{Kind: providers.BlockToolResult, Call: id, Text: "result of " + id})
	}
	return e
}

func (r *rig) begin(run agentpool.Run, id, tool string) {
	r.t.Helper()
	r.step(func() {
		if err := r.pool.Tools.BeginToolCall(callerOf(run), callOf(id, tool)); err != nil {
			r.t.Fatalf("%v", err)
		}
	})
}

func (r *rig) end(run agentpool.Run, id, tool, result string) {
	r.t.Helper()
	r.step(func() {
		if err := r.pool.Tools.EndToolCall(callerOf(run), callOf(id, tool), providers.ToolResult{Text: result}); err != nil {
			r.t.Fatalf("%v", err)
		}
	})
}

// A killed hub loses no accepted message.
func TestQueuedMessagesRunOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	r.direct("m1")
	r.user("m2")
	r.open(first, "w")
	r.toWindow("a", "w")
	r.toWindow("b", "w")
	r.crash()
	r.crash()
	r.wantStory("m1", "direct by main-monitor-0-m1") // and not twice
	r.ended(r.run("main-monitor-0-m1"))
	r.ended(r.run("window-w"))
	r.wantStory("m2", "queued at 1; direct by main-monitor-0-m2")
	r.wantStory("b", "queued at 1; direct by window-w")
}

func TestOfferedMessagesAreQueuedByTheNextOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.user("m2")
	r.user("m3")
	r.crash()
	r.wantStory("m2", "queued at 1")
	r.wantStory("m3", "queued at 2")
	if again := r.run(string(run.Role)); again.ID == run.ID {
		t.Fatalf("got run %s twice, want a new id", again.ID)
	}
	r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m2"})
	r.wantStory("m2", "queued at 1")
}

func TestATurnWithoutToolsBeginsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.direct("m1")
	r.said(first, "I was say")
	r.handleReport(agentpool.Output{RunRef: agentpool.RunRef{Run: first.ID}, Thinking: "hm"})
	for i := range 2 {
		r.crash()
		again := r.run("main-monitor-0-m1")
		if again.Continue || again.Prompt != first.Prompt || again.Slot != nil {
			t.Fatalf("attempt %d is %+v, want the first prompt again without a slot, not continued", i, again)
		}
		cut := last[wire.AgentResponse](r)
		if cut.Offset != 0 || cut.Delta != "" || cut.IsComplete {
			t.Fatalf("got %+v, want an event that resets the text", cut)
		}
		r.began(again)
		r.said(again, "anew")
	}
	wantEqual(t, r.desktop.Snapshot().Agents[0].Text, "anew")
	for range 5 { // orderly hand-overs do not count
		r.step(func() { r.pool.PrepareHandOver() })
		r.crash()
	}
	for range 5 { // nor do crashes while it waits for a slot
		r.crash()
	}
	r.wantStory("m1", "direct by main-monitor-0-m1")
	r.began(r.run("main-monitor-0-m1"))
	r.crash()
	r.wantStory("m1", "direct by main-monitor-0-m1; failed: the turn was cut off 3 times")
	r.crash()
	r.wantStory("m1", "direct by main-monitor-0-m1; failed: the turn was cut off 3 times")
}

// A turn whose tools have ended continues with their results. Text that is not in the thread is
// produced again.
func TestATurnGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.said(run, "Let me look. ")
	r.remember(run, said("m1", "prompt"), toolCall("m1", "Let me look. ", "c1", "c2"))
	r.begin(run, "c1", "http:post")
	r.end(run, "c1", "http:post", "posted")
	if res, err := r.act(run, "c2", window("w1")); err != nil || res.IsError {
		t.Fatalf("the action gives %+v, error %v, want it done", res, err)
	}
	r.said(run, "lost 😀")
	r.step(func() { r.pool.PrepareHandOver() })
	r.crash()
	again := r.run("main-monitor-0-m1")
	if !again.Continue || again.Prompt != "" || len(again.From.Entries) != 2 {
		t.Fatalf("got %+v, want a continued run without a prompt, from 2 entries", again)
	}
	wantEqual(t, again.Done, map[string]providers.ToolResult{"c1": {Text: "posted"}, "c2": {Text: "done"}})
	wantEqual(t, last[wire.AgentResponse](r).Offset, 13)
	r.began(again)
	r.remember(again, toolResult("m1", "c1", "c2"))
	wantEqual(t, len(r.kept.tables["turns.calls:t1"]), 0)
	r.said(again, "Found.")
	wantEqual(t, r.desktop.Snapshot().Agents[0].Text, "Let me look. Found.")
	r.remember(again, said("m1", "Found."))
	r.ended(again)
	r.wantStory("m1", "direct by main-monitor-0-m1; completed")
	wantEqual(t, r.rows()[1:5], []string{
		"text: Let me look. ",
		`tool: {"id":"c1","tool":"http:post","status":"complete","result":"posted","durationMs":1}`,
		`tool: {"id":"c2","tool":"window:create","status":"complete","result":"done"}`,
		"text: Found.",
	})
	wantEqual(t, len(r.kept.tables["reload"]), 2) // actions before the crash count
	wantEqual(t, len(r.direct("m2").From.Entries), 4)
}

func TestAToolThatMayHaveRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.said(run, "Posting.")
	r.remember(run, toolCall("m1", "Posting.", "c1", "c2"))
	r.begin(run, "c1", "http:post")
	r.crash()
	const reason = "tool http:post may or may not have run"
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: "+reason)
	wantEqual(t, last[wire.TurnInterrupted](r), wire.TurnInterrupted{
		MessageID: "m1", AgentID: run.Role, Reason: reason, Resumable: true, MonitorID: first,
	})
	ask := last[wire.MessageUpdated](r).Message
	wantEqual(t, ask.Ask, wire.AskResumeTask)
	wantEqual(t, len(r.runner.runs), 0)
	r.crash() // the question survives
	var no, yes, again bool
	r.step(func() { no = r.pool.Messages.AnswerResume(ask.TS+1, true, "") })
	r.step(func() { yes = r.pool.Messages.AnswerResume(ask.TS, true, "careful now") })
	r.step(func() { again = r.pool.Messages.AnswerResume(ask.TS, true, "") })
	if no || !yes || again {
		t.Fatalf("answers for another row, for the question and once more are accepted: %v, %v, %v, want only the second", no, yes, again)
	}
	next := r.run(fmt.Sprintf("main-monitor-0-resume-%d", ask.TS))
	for _, part := range []string{reason, "text of m1", "careful now"} {
		if !strings.Contains(next.Prompt, part) {
			t.Fatalf("prompt %s, want %q in it", next.Prompt, part)
		}
	}
	// The thread has results for the open calls.
	results := next.From.Entries[len(next.From.Entries)-1].Blocks
	if len(results) != 2 || results[0].Text != reason || !strings.Contains(results[1].Text, "before this tool was used") {
		t.Fatalf("got %+v, want the reason and a result of a tool that was not used", results)
	}
	answered := false
	for _, e := range all[wire.MessageUpdated](r) {
		answered = answered || e.Message.TS == ask.TS && e.Action == wire.RowUpdated && e.Message.IsAnswered
	}
	if !answered {
		t.Fatal("got an open question, want an answered one")
	}
	r.ended(next)
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: "+reason)
}

func TestAToolThatMayRunTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.step(func() {
		call := callOf("c1", "http:get")
		call.Repeatable = true
		if err := r.pool.Tools.BeginToolCall(callerOf(run), call); err != nil {
			t.Error(err)
		}
	})
	r.crash()
	wantEqual(t, r.run("main-monitor-0-m1").Continue, false)
}

func TestNotGoingOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w")
	r.toWindow("a", "w")
	run := r.run("window-w")
	r.began(run)
	r.begin(run, "c1", "http:post")
	r.crash()
	ask := last[wire.MessageUpdated](r).Message
	r.step(func() {
		if !r.pool.Messages.AnswerResume(ask.TS, false, "") {
			t.Error("got false from AnswerResume for the asked question, want true")
		}
	})
	wantEqual(t, len(r.runner.runs), 0)
	wantEqual(t, len(r.kept.tables["asks"]), 0)
}

// A turn without a thread is restarted only if it has used no tool.
func TestEphemeralAndParallelTurnsAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers, r.runner.slots = false, 2
	r.direct("m1")
	r.user("m2")
	r.user("m3")
	r.open(first, "w")
	r.press("a", "w", "x1")
	r.press("b", "w", "x2")
	for _, role := range []string{"ephemeral-monitor-0-m3", "window-w/x2"} {
		r.act(r.run(role), "c1", window("of-"+role))
	}
	r.crash()
	r.wantStory("m2", "ephemeral by ephemeral-monitor-0-m2")
	r.wantStory("a", "direct by window-w/x1")
	for id, want := range map[string]string{"m3": "ephemeral by ephemeral-monitor-0-m3", "b": "direct by window-w/x2"} {
		r.wantStory(id, want+"; interrupted: what it has done so far is not known well enough to go on")
	}
	wantEqual(t, len(r.runner.runs), 3)
	wantEqual(t, len(all[wire.TurnInterrupted](r)), 2)
}

func TestTasksEndWithTheirOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.begin(run, "c1", "task:run")
	r.runner.slots = 1
	var result string
	r.delegate(run, "x", &result)
	r.crash()
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: tool task:run may or may not have run")
	wantEqual(t, len(r.runner.runs), 0)
	ends := 0
	for _, e := range all[wire.AgentResponse](r) {
		if e.IsComplete {
			ends++
		}
	}
	wantEqual(t, ends, 2)
}

func TestStoppingIsRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.interrupt(wire.ScopeAgent, "", run.Role, "")
	r.crash()
	r.wantStory("m1", "direct by main-monitor-0-m1; interrupted: the user interrupted it")
}

func TestRestoreRefusesWhatWasNotKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ table, field, value string }{
		{"pool", "about", "{"},
		{"pool", "about", `[]`},
		{"turns", "t1", `{"number":2}`},
		{"turns", "t1", `[]`},
		{"turns.calls:t9", "1", `{"number":1,"id":"c","tool":"t"}`},
		{"turns.deeds:t9", "0", `{"type":"window.focus","windowId":"w"}`},
		{"turns.deeds:t9", "0", `{"type":"nothing"}`},
		{"queue", "1", `{"id":"m","monitor":"monitor-0","text":"","arrived":2}`},
		{"queue", "1", `{"id":5}`},
		{"groups", "pairs", `{}`},
		{"budget:monitor-1", "used", `[]`},
		{"reload", "reload-1", `{}`},
		{"reload", "next", `"x"`},
		{"asks", "x", `{}`},
		{"asks", "1", `[]`},
		{"threads", "main-monitor-0", `1`},
	} {
		r := newRig(t)
		tables := map[string]map[string][]byte{c.table: {c.field: []byte(c.value)}}
		if err := contextpool.New(r.cfg, contextpool.Session{Step: r, Rows: r, State: r, Ends: r}, r.runner, r.runner).Restore(tables, nil); err == nil {
			t.Errorf("%s %s: %s was restored, want an error", c.table, c.field, c.value)
		}
	}
	r := newRig(t)
	for _, list := range []string{"tape:monitor-0", "timeline:monitor-0", "api:main-monitor-0"} {
		tables := map[string]map[string][]byte{"threads": {"main-monitor-0": []byte(`{"monitor":"monitor-0"}`)}}
		if err := contextpool.New(r.cfg, contextpool.Session{Step: r, Rows: r, State: r, Ends: r}, r.runner, r.runner).Restore(tables, map[string][][]byte{list: {[]byte("x")}}); err == nil {
			t.Errorf("a damaged %s was restored, want an error", list)
		}
	}
}

// A message is in the thread from the same step on in which it leaves the queue.
func TestTakenMessageIsDoneOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, said("m1", "text of m1"))
	r.user("m2")
	r.handleReport(agentpool.NewEntries{
		RunRef: agentpool.RunRef{Run: run.ID}, Entries: []providers.Entry{said("m1", "text of m2")}, Messages: []wire.MessageID{"m2"},
	})
	r.crash() // before SteerAccepted
	again := r.run("main-monitor-0-m1")
	wantEqual(t, len(again.From.Entries), 2)
	r.began(again)
	r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: again.ID}, Message: "m2"})
	r.ended(again)
	r.wantStory("m2", "steered by main-monitor-0-m1; completed")
	wantEqual(t, len(r.runner.started), 1)
}
