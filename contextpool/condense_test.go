package contextpool_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

const condenser = "condense-monitor-0"

// newSmallRig returns a rig with a context window in tokens and the percentage from which on
// threads are summarised.
func newSmallRig(t fataler, window, percent int) *rig {
	r := newRig(t)
	r.cfg.Window, r.cfg.CondenseAt = window, percent
	r.hire()
	r.step(func() { r.pool.Recover() })
	return r
}

// runMainTurn runs a turn of the main agent with an answer, after which its thread has so many
// tokens.
func (r *rig) runMainTurn(id, says string, tokens int, monitor ...wire.MonitorID) {
	r.t.Helper()
	r.answers(r.direct(id, monitor...), says, tokens)
}

// answers makes a run emit text and end.
func (r *rig) answers(run agentpool.Run, says string, tokens int) {
	r.said(run, says)
	r.remember(run, userSays(run.Turn, run.Prompt), assistantSays(run.Turn, says))
	r.spent(run, tokens)
	r.ended(run)
}

func (r *rig) spent(run agentpool.Run, tokens int) {
	r.handleReport(agentpool.ModelUsage{RunRef: agentpool.RunRef{Run: run.ID}, Usage: providers.Usage{Input: tokens - 1, Output: 1, USD: 0.5}})
}

func (r *rig) failed(run agentpool.Run, class providers.Class) {
	r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Failed, Failure: &providers.Failure{
		Class: class, Err: errors.New("it did not work"),
	}})
}

func (r *rig) condense(monitor ...wire.MonitorID) (err error) {
	r.step(func() { err = r.pool.Condense(append(monitor, first)[0]) })
	return err
}

// sums makes a summarising run emit text and end.
func (r *rig) sums(says string) {
	r.t.Helper()
	run := r.run(condenser)
	r.began(run)
	r.said(run, says)
	r.spent(run, 10)
	r.ended(run)
}

func userSays(turn wire.MessageID, text string) providers.Entry {
	return providers.Entry{Role: providers.RoleUser, Turn: string(turn), Blocks: []providers.Block{{Kind: providers.BlockText, Text: text}}}
}

func assistantSays(turn wire.MessageID, text string) providers.Entry {
	return providers.Entry{Role: providers.RoleAssistant, Turn: string(turn), Blocks: []providers.Block{{Kind: providers.BlockText, Text: text}}}
}

// outline summarises a conversation.
func outline(entries []providers.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(string(e.Role[:1]) + ":")
		for _, bl := range e.Blocks {
			b.WriteString(" " + bl.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// lastRow returns the newest row of a kind.
func (r *rig) lastRow(say wire.Say) wire.UIRow {
	r.t.Helper()
	updates := all[wire.MessageUpdated](r)
	for _, u := range slices.Backward(updates) {
		if u.Message.Say == say {
			return u.Message
		}
	}
	r.t.Fatalf("there is no row %s: %v, want one", say, r.rows())
	return wire.UIRow{}
}

func (r *rig) context() wire.ContextUse {
	r.t.Helper()
	for _, m := range r.desktop.Monitors() {
		if m.MonitorID == first && m.Context != nil {
			return *m.Context
		}
	}
	r.t.Fatalf("no monitor has the use of its context, want one: %+v", r.desktop.Monitors())
	return wire.ContextUse{}
}

func TestCondense(t *testing.T) {
	t.Parallel()
	r := newSmallRig(t, 1000, 0)
	r.runMainTurn("m1", "hello", 100)
	r.runMainTurn("m2", "again", 200)
	wantEqual(t, r.context(), wire.ContextUse{Tokens: 200, Window: 1000})
	wantEqual(t, r.condense(), nil)
	run := r.run(condenser)
	if run.System == "" || !run.Fork || run.Lasting || run.Continue || run.Kind != wire.AgentMain {
		t.Fatalf("run %+v, want a fork of the main agent with a system prompt of its own, not lasting", run)
	}
	wantEqual(t, outline(run.From.Entries), "u: text of m1\na: hello\nu: text of m2\na: again\n")
	if !strings.Contains(run.Prompt, "summary") {
		t.Errorf("it is asked %q, want a request for a summary", run.Prompt)
	}
	wantEqual(t, r.context(), wire.ContextUse{Tokens: 200, Window: 1000, Condensing: true})
	wantEqual(t, r.desktop.Snapshot().Agents[0].Role, condenser)
	r.user("m3")
	r.sums("all of it")
	r.wantStory("m3", "queued at 1; direct by main-monitor-0-m3")
	row := r.lastRow(wire.SayCondenseContext)
	wantEqual(t, row.ContextCondense.Summary, "all of it")
	wantEqual(t, row.ContextCondense.PrevContextTokens, 200)
	wantEqual(t, row.ContextCondense.Cost, 0.5)
	// The estimate for the summary, independent of earlier counts of the backend.
	wantEqual(t, row.ContextCondense.NewContextTokens, history.Tokens(r.run("main-monitor-0-m3").From.Entries))
	if row.ContextCondense.NewContextTokens >= 200 || row.ContextCondense.CondenseID == "" || row.Thread != "main-monitor-0" {
		t.Errorf("the row is %+v of %+v, want an id, less than 200 tokens and the thread main-monitor-0", row.ContextCondense, row)
	}
	if r.context().Condensing || r.context().Tokens != row.ContextCondense.NewContextTokens {
		t.Errorf("the context is %+v, want %d tokens, not condensing", r.context(), row.ContextCondense.NewContextTokens)
	}
	wantEqual(t, r.runner.disposed, []string{"main-monitor-0"})
	next := r.run("main-monitor-0-m3")
	wantEqual(t, outline(next.From.Entries), "u: Summary of the conversation so far:\n\nall of it\n")
	for _, e := range all[wire.AgentResponse](r) {
		if strings.Contains(e.Delta, "all of it") {
			t.Errorf("the summary is published as %+v, want it in the row only", e)
		}
	}
	for _, a := range r.desktop.Snapshot().Agents {
		if a.Role == condenser {
			t.Error("the condensing agent is still on the desktop, want it gone")
		}
	}
}

func TestCondenseIsRefused(t *testing.T) {
	t.Parallel()
	r := newSmallRig(t, 1000, 0)
	if err := r.condense(); !errors.Is(err, history.ErrTooShort) {
		t.Errorf("condensing an empty conversation: error %v, want %v", err, history.ErrTooShort)
	}
	run := r.direct("m1")
	r.remember(run, userSays("m1", "hi"))
	if err := r.condense(); history.ReasonCode(err) != wire.ReasonAgentBusy {
		t.Errorf("condensing during a turn: error %v, want reason %s", err, wire.ReasonAgentBusy)
	}
	r.remember(run, assistantSays("m1", "hi"))
	r.ended(run)
	wantEqual(t, r.condense(), nil)
	if err := r.condense(); history.ReasonCode(err) != wire.ReasonAgentBusy {
		t.Errorf("condensing twice at once: error %v, want reason %s", err, wire.ReasonAgentBusy)
	}
	r.sums("short")
	if err := r.condense(); !errors.Is(err, history.ErrRecently) {
		t.Errorf("condensing right after it: error %v, want %v", err, history.ErrRecently)
	}
}

func TestCondenseWithoutProvider(t *testing.T) {
	t.Parallel()
	r := newSmallRig(t, 1000, 0)
	r.runMainTurn("m1", "hello", 200)
	r.runner.has = nil
	r.pool = contextpool.New(r.cfg, contextpool.Session{Step: r, Rows: r, State: r, Ends: r}, r.runner, r.runner)
	tables, lists := r.kept.clone()
	wantEqual(t, r.pool.Restore(tables, lists), nil)
	if err := r.condense(); history.ReasonCode(err) != wire.ReasonNoProvider {
		t.Errorf("without a provider: got %v, want the code %s", err, wire.ReasonNoProvider)
	}
}

func TestCondenseFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end    func(r *rig)
		reason string
		code   wire.ReasonCode
	}{
		"no summary":  {func(r *rig) { r.sums("  \n") }, "empty summary", wire.ReasonNoSummary},
		"a failure":   {func(r *rig) { r.failed(r.run(condenser), providers.Overloaded) }, "it did not work", ""},
		"interrupted": {func(r *rig) { r.interrupted(r.run(condenser)) }, "interrupted", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSmallRig(t, 1000, 0)
			r.runMainTurn("m1", "hello", 200)
			wantEqual(t, r.condense(), nil)
			r.spent(r.run(condenser), 10)
			tt.end(r)
			row := r.lastRow(wire.SayCondenseContextError)
			if !strings.Contains(row.Text, tt.reason) || row.ReasonCode != tt.code || row.ContextCondense.Cost < 0.5 {
				t.Errorf("the row is %q with the code %q and %+v, want %q and %q", row.Text, row.ReasonCode, row.ContextCondense, tt.reason, tt.code)
			}
			wantEqual(t, r.context(), wire.ContextUse{Tokens: 200, Window: 1000})
			run := r.direct("m2")
			wantEqual(t, outline(run.From.Entries), "u: text of m1\na: hello\n")
		})
	}
}

func TestInterruptingACondense(t *testing.T) {
	t.Parallel()
	r := newSmallRig(t, 1000, 0)
	r.runMainTurn("m1", "hello", 200)
	wantEqual(t, r.condense(), nil)
	run := r.run(condenser)
	r.began(run)
	r.user("m2")
	r.step(func() { r.pool.Interrupt(contextpool.Scope{Kind: wire.ScopeMonitor, Monitor: first}, false) })
	wantEqual(t, r.runner.interrupted, []string{run.ID + ": the user interrupted it"})
	r.interrupted(run)
	r.wantStory("m2", "queued at 1; direct by main-monitor-0-m2")
}

// A new owner restarts a summary that was in progress.
func TestCondenseIsTakenOver(t *testing.T) {
	t.Parallel()
	r := newSmallRig(t, 1000, 0)
	r.runMainTurn("m1", "hello", 200)
	wantEqual(t, r.condense(), nil)
	run := r.run(condenser)
	r.began(run)
	r.said(run, "half of")
	r.user("m2")
	r.crash()
	again := r.run(condenser)
	if again.ID == run.ID || again.Prompt != run.Prompt || again.System == "" {
		t.Fatalf("after the crash the run is %+v, want a new id with the same prompt and a system prompt", again)
	}
	wantEqual(t, outline(again.From.Entries), outline(run.From.Entries))
	r.wantStory("m2", "queued at 1")
	r.sums("all")
	wantEqual(t, r.lastRow(wire.SayCondenseContext).ContextCondense.Summary, "all")
	r.crash()
	wantEqual(t, outline(r.run("main-monitor-0-m2").From.Entries), "u: Summary of the conversation so far:\n\nall\n")
	// After three crashes of the owner the summary fails.
	r = newSmallRig(t, 1000, 0)
	r.runMainTurn("m1", "hello", 200)
	wantEqual(t, r.condense(), nil)
	for range 3 {
		r.began(r.run(condenser))
		r.crash()
	}
	if row := r.lastRow(wire.SayCondenseContextError); !strings.Contains(row.Text, "cut off 3 times") {
		t.Errorf("the row is %q, want that it was cut off 3 times", row.Text)
	}
}

func TestCondenseByItself(t *testing.T) {
	t.Parallel()
	t.Run("after a turn", func(t *testing.T) {
		t.Parallel()
		r := newSmallRig(t, 100_000, 80)
		r.runMainTurn("m1", "hello", 79_000)
		wantEqual(t, len(r.runner.runs), 0)
		run := r.direct("m2")
		r.runner.steers = false
		r.user("m3")
		r.answers(run, "again", 80_000)
		r.wantStory("m3", "queued at 1")
		r.sums("all")
		r.wantStory("m3", "queued at 1; direct by main-monitor-0-m3")
		wantEqual(t, outline(r.run("main-monitor-0-m3").From.Entries), "u: Summary of the conversation so far:\n\nall\n")
	})
	t.Run("before a turn", func(t *testing.T) {
		t.Parallel()
		r := newSmallRig(t, 100_000, 80)
		r.runMainTurn("m1", "hello", 79_000)
		r.step(func() {
			r.pool.Messages.HandleUserMessage(contextpool.Message{ID: "m2", Monitor: first, Text: strings.Repeat("long ", 1000)})
		})
		r.wantStory("m2", "queued at 1")
		r.sums("all")
		r.wantStory("m2", "queued at 1; direct by main-monitor-0-m2")
	})
	t.Run("once before each turn", func(t *testing.T) {
		t.Parallel()
		r := newSmallRig(t, 100_000, 80)
		r.runMainTurn("m1", "hello", 81_000)
		r.failed(r.run(condenser), providers.Overloaded)
		wantEqual(t, len(r.runner.runs), 0) // the window has room for another turn
		r.answers(r.direct("m2"), "again", 82_000)
		r.failed(r.run(condenser), providers.Overloaded)
		r.crash()
		r.direct("m3")
		r.wantStory("m3", "direct by main-monitor-0-m3")
	})
	t.Run("what does not work is cut", func(t *testing.T) {
		t.Parallel()
		r := newSmallRig(t, 100_000, 80)
		r.runMainTurn("m1", strings.Repeat("one ", 100), 10)
		r.runMainTurn("m2", strings.Repeat("two ", 100), 20)
		r.runMainTurn("m3", "three", 95_000)
		r.failed(r.run(condenser), providers.Overloaded)
		cut := r.lastRow(wire.SaySlidingWindowTruncation).ContextTruncation
		if cut.MessagesRemoved != 2 || cut.PrevContextTokens != 95_000 || cut.NewContextTokens >= 95_000 {
			t.Errorf("the row is %+v, want 2 messages removed from 95000 tokens", cut)
		}
		wantEqual(t, r.context().Tokens, cut.NewContextTokens)
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		for _, r := range []*rig{newSmallRig(t, 100_000, 0), newSmallRig(t, 0, 80)} {
			r.runMainTurn("m1", "hello", 81_000)
			wantEqual(t, len(r.runner.runs), 0)
		}
	})
	t.Run("on other monitors within their budget", func(t *testing.T) {
		t.Parallel()
		r := newRigWith(t, policies.BudgetLimits{Concurrent: 1, ActionsPerMin: 10, OutputPerMin: 10_000}, second, third)
		r.runMainTurn("m1", "hello", 200, second)
		r.direct("m2", third)
		if err := r.condense(second); history.ReasonCode(err) != wire.ReasonOverBudget {
			t.Errorf("condensing over the budget: error %v, want reason %s", err, wire.ReasonOverBudget)
		}
	})
}

// The context window is that of the provider unless it is configured.
func TestWindowOfTheProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.window = 5000
	r.runMainTurn("m1", "hello", 200)
	wantEqual(t, r.context(), wire.ContextUse{Tokens: 200, Window: 5000})
}

func TestTooLongForTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
		r.runMainTurn(id, "answer to "+id, 100)
	}
	run := r.direct("m7")
	r.remember(run, userSays("m7", "text of m7"))
	r.user("m8") // offered to the run
	for i := range 3 {
		r.failed(run, providers.ContextLength)
		if next := r.run("main-monitor-0-m7"); next.ID != run.ID && next.Continue && next.Lasting {
			run = next
			r.began(run)
			continue
		}
		t.Fatalf("after failure %d the story is %v, want a new run that continues the turn", i, r.story("m7"))
	}
	wantEqual(t, outline(run.From.Entries),
		"u: text of m1 (Older parts of the conversation are left out here, because it became too long.)\na: answer to m6\nu: text of m7\n")
	rows := 0
	for _, row := range r.rows() {
		if strings.HasPrefix(row, "sliding_window_truncation") {
			rows++
		}
	}
	wantEqual(t, rows, 3)
	r.remember(run, assistantSays("m7", "done"))
	r.ended(run)
	r.wantStory("m7", "direct by main-monitor-0-m7; completed")
	r.wantStory("m8", "queued at 1; direct by main-monitor-0-m8")
}

func TestTooLongForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, userSays("m1", "text of m1"))
	r.failed(run, providers.ContextLength) // nothing can be hidden
	r.wantStory("m1", "direct by main-monitor-0-m1; failed: context_length: it did not work")
	for range 20 {
		r.runMainTurn("m", "answer", 100)
	}
	run = r.direct("m2")
	r.remember(run, userSays("m2", "text of m2"))
	for range 4 {
		r.failed(r.run("main-monitor-0-m2"), providers.ContextLength)
	}
	r.wantStory("m2", "direct by main-monitor-0-m2; failed: context_length: it did not work")
}

// A backend shortens conversations that the hub does not store, and a row says so.
func TestShrunkElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.handleReport(agentpool.InputTruncated{RunRef: agentpool.RunRef{Run: run.ID}, Truncation: providers.Truncation{Left: 4, Before: 20, After: 10}})
	wantEqual(t, *r.lastRow(wire.SaySlidingWindowTruncation).ContextTruncation,
		wire.ContextTruncation{MessagesRemoved: 4, PrevContextTokens: 20, NewContextTokens: 10})
	r.ended(run)
	r.runMainTurn("m2", "hello", 100)
	wantEqual(t, r.condense(), nil)
	r.handleReport(agentpool.InputTruncated{RunRef: agentpool.RunRef{Run: r.run(condenser).ID}, Truncation: providers.Truncation{Left: 4}})
	r.sums("all")
	if row := r.lastRow(wire.SayCondenseContext); !strings.HasPrefix(row.Text, "The 4 oldest messages were too much") {
		t.Errorf("the row is %q, want that the 4 oldest messages were too much", row.Text)
	}
}
