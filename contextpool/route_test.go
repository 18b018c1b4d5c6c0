package contextpool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

func TestIdleIsDirect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("m1")
	run := r.run("main-monitor-0-m1")
	wantEqual(t, run.Prompt, "text of m1")
	if run.Agent != "main-monitor-0" || !run.Lasting || run.Slot != nil || run.Turn != "m1" || run.Profile != "main" {
		t.Fatalf("run %+v, want a lasting one of main-monitor-0 for m1 with the profile main, without a slot", run)
	}
	r.began(run)
	r.said(run, "Hello")
	r.said(run, " 😀 there")
	r.said(run, "!")
	r.handleReport(agentpool.ModelUsage{RunRef: agentpool.RunRef{Run: run.ID}, Usage: providers.Usage{Input: 3, Output: 4, USD: 0.5}})
	r.ended(run)
	r.wantStory("m1", "direct by main-monitor-0-m1; completed")
	var offsets []int
	for _, e := range all[wire.AgentResponse](r) {
		offsets = append(offsets, e.Offset)
		if e.AgentID != "main-monitor-0-m1" || e.MonitorID != first || e.MessageID != "m1" {
			t.Fatalf("a response is %+v, want it of main-monitor-0-m1 for m1 on %s", e, first)
		}
	}
	wantEqual(t, offsets, []int{0, 5, 14, 15})
	end := last[wire.AgentResponse](r)
	if end.Usage == nil || end.Usage.OutputTokens != 4 || end.Usage.CostUSD != 0.5 || end.DurationMS <= 0 {
		t.Fatalf("the end has %+v, want 4 output tokens for 0.5 USD and a duration", end)
	}
	wantEqual(t, r.rows(), []string{
		"user_feedback: text of m1", "text: Hello 😀 there!",
		`api_req_finished: {"outcome":"completed","durationMs":6,"inputTokens":3,"outputTokens":4,"costUsd":0.5,"taskId":"t1","provider":"demo"}`,
	})
	wantEqual(t, r.cancelled, []wire.AgentID{"main-monitor-0-m1"})
	var states []string
	for _, s := range all[wire.MonitorStatus](r) {
		states = append(states, string(s.State))
	}
	wantEqual(t, states, []string{"running", "idle"})
	if r.pool.View.Busy() || len(r.kept.tables["turns"])+len(r.kept.tables["turns.prompt"]) > 0 {
		t.Fatalf("got busy %t, %d turns and %d prompts after the turn, want none", r.pool.View.Busy(), len(r.kept.tables["turns"]), len(r.kept.tables["turns.prompt"]))
	}
}

func TestBusyIsSteered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.user("m2")
	r.user("m3")
	r.wantStory("m2", "") // no reply before the turn's decision
	wantEqual(t, len(r.runner.steered), 2)
	wantEqual(t, r.runner.steered[0].Message, "m2")
	r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m2"})
	r.wantStory("m2", "steered by main-monitor-0-m1")
	r.handleReport(agentpool.SteerRefused{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m3"})
	r.wantStory("m3", "queued at 1")
	r.ended(run)
	r.wantStory("m3", "queued at 1; direct by main-monitor-0-m3")
	wantEqual(t, len(r.kept.tables["queue"]), 0)
}

// The text after a message that was added to a turn begins a paragraph, in the log and in the row, once.
func TestTextAfterASteeredMessageIsAParagraph(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after, want string }{
		"in a line":       {"One, two", " three", "One, two\n\nthree and four"},
		"after a break":   {"One, two\n\n", "three", "One, two\n\nthree and four"},
		"with a break":    {"One, two", "\n\nthree", "One, two\n\nthree and four"},
		"before any text": {"", "three", "three and four"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			run := r.direct("m1")
			if test.before != "" {
				r.said(run, test.before)
			}
			r.user("m2")
			r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m2"})
			r.said(run, test.after)
			r.said(run, " and four")
			r.ended(run)
			wantEqual(t, r.lastRow(wire.SayText).Text, test.want)
		})
	}
}

// A turn of the owner accepts no message of a guest, and turns of guests and their tasks are
// marked.
func TestGuestsHaveTurnsOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(first, "w1")
	guest := func(id wire.MessageID) contextpool.Message {
		return contextpool.Message{ID: id, Monitor: first, Text: "x", Guest: true}
	}
	run := r.direct("m1")
	r.step(func() { r.pool.Messages.HandleUserMessage(guest("g1")) })
	wantEqual(t, len(r.runner.steered), 0)
	r.wantStory("g1", "queued at 1")
	r.runner.slots = 1
	r.step(func() { r.pool.Messages.HandleUserMessage(guest("g2")) })
	wantEqual(t, r.run("ephemeral-monitor-0-g2").Guest, true)
	wantEqual(t, run.Guest, false)
	r.crash()
	r.ended(r.run("main-monitor-0-m1"))
	run = r.run("main-monitor-0-g1")
	wantEqual(t, run.Guest, true)
	r.began(run)
	r.user("m2") // the owner's message may join a guest's turn
	wantEqual(t, len(r.runner.steered), 1)
	r.runner.slots = 1
	r.step(func() {
		r.pool.Tools.Delegate(callerOf(run), tools.Task{Objective: "y", Call: callOf("c", "task:run")}, func(providers.ToolResult) {})
	})
	wantEqual(t, r.run("task-g1-1").Guest, true)
	r.step(func() {
		m := guest("g3")
		m.Window = "w1"
		r.pool.Messages.HandleWindowMessage(m)
	})
	wantEqual(t, r.run("window-w1").Guest, true)
}

func TestSpurnedGetsAnAgentOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.user("m2")
	r.runner.slots = 1
	r.handleReport(agentpool.SteerRefused{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m2"})
	r.wantStory("m2", "ephemeral by ephemeral-monitor-0-m2")
	e := r.run("ephemeral-monitor-0-m2")
	if e.Slot == nil || e.Lasting || e.Agent != "once:"+string(e.Role) || len(e.From.Entries) > 0 {
		t.Fatalf("run %+v, want one of an agent of its own with a slot and an empty thread", e)
	}
	r.act(e, "c1", window("w1"))
	r.said(e, "done")
	r.ended(e)
	r.remember(run, said("m1", "fine"))
	r.ended(run)
	next := r.direct("m3")
	want := "<timeline>\n<ai agent=\"ephemeral-monitor-0-m2\">Created window \"w1\" (text).</ai>\n</timeline>\n\n" +
		"<open_windows>w1 (text \"T w1\" 100×100)</open_windows>\n\ntext of m3"
	wantEqual(t, next.Prompt, want)
}

// A message that was offered and not accepted is the next one when the turn ends. A turn that
// executes a tool accepts nothing, perhaps for long, so MESSAGE_QUEUED is sent meanwhile.
func TestOfferedToATurnInAToolWaits(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"tool first": true, "message first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			run := r.direct("m1")
			ask := callOf("c", "user:ask")
			ask.Repeatable = true
			begin := func() {
				r.step(func() {
					if err := r.pool.Tools.BeginToolCall(callerOf(run), ask); err != nil {
						t.Error(err)
					}
				})
			}
			if first {
				begin()
			}
			r.user("m2")
			if !first {
				r.wantStory("m2", "")
				begin()
			}
			r.wantStory("m2", "queued at 1")
			r.step(func() {
				if err := r.pool.Tools.EndToolCall(callerOf(run), ask, providers.ToolResult{}); err != nil {
					t.Error(err)
				}
			})
			r.user("m3")
			r.wantStory("m3", "")
			r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m2"})
			r.wantStory("m2", "queued at 1; steered by main-monitor-0-m1")
		})
	}
}

func TestOfferedAndNotTakenIsNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	for _, id := range []string{"m2", "m3", "m4"} {
		r.user(id)
	}
	r.handleReport(agentpool.SteerAccepted{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m2"})
	r.runner.slots = 5 // no ephemeral agent is created
	r.handleReport(agentpool.SteerRefused{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m3", Ending: true})
	r.ended(run)
	r.wantStory("m2", "steered by main-monitor-0-m1; completed")
	r.wantStory("m3", "direct by main-monitor-0-m3")
	r.wantStory("m4", "queued at 1")
	r.handleReport(agentpool.SteerRefused{RunRef: agentpool.RunRef{Run: run.ID}, Message: "m4"}) // too late
	r.wantStory("m4", "queued at 1")
	said := r.kept.lists["tape:monitor-0"]
	if !strings.Contains(string(said[1]), "text of m2") {
		t.Fatalf("the tape is %s, want the steered text of m2", said)
	}
}

func TestNoSteeringBeforeTheTurnHasBegun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("m1")
	r.user("m2")
	r.wantStory("m2", "queued at 1")
	r.began(r.run("main-monitor-0-m1"))
	r.user("m3") // m2 is queued before it
	r.wantStory("m3", "queued at 2")
	wantEqual(t, len(r.runner.steered), 0)
}

// Messages keep their order of arrival, whichever way they are routed.
func TestTwelveAtOnceKeepTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers, r.runner.slots = false, 0
	r.step(func() {
		for i := range 12 {
			r.pool.Messages.HandleUserMessage(contextpool.Message{ID: wire.MessageID(fmt.Sprintf("m%d", i)), Monitor: first, Text: "x"})
		}
	})
	r.wantStory("m0", "direct by main-monitor-0-m0")
	for i := 1; i <= 10; i++ {
		r.wantStory(fmt.Sprintf("m%d", i), fmt.Sprintf("queued at %d", i))
	}
	r.wantStory("m11", "rejected with 3004: 10 messages wait already")
	for i := range 11 {
		run := r.run(fmt.Sprintf("main-monitor-0-m%d", i))
		wantEqual(t, len(r.runner.runs), 1)
		r.ended(run)
	}
	for i := 1; i <= 10; i++ {
		r.wantStory(fmt.Sprintf("m%d", i), fmt.Sprintf("queued at %d; direct by main-monitor-0-m%d; completed", i, i))
	}
}

// Without a free slot a message to a new monitor begins a turn that waits for a slot.
func TestNewMonitorWithoutAFreeSlot(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, policies.BudgetLimits{}, second)
	r.runner.slots = 0
	r.direct("m1")
	r.user("m2", second)
	r.wantStory("m2", "direct by main-monitor-1-m2")
	r.ended(r.run("main-monitor-1-m2"))
}

func TestNoProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.has = nil
	r.user("m1")
	r.wantStory("m1", `rejected with 4005: there is no provider "demo"`)
	r.open(first, "w")
	r.toWindow("m2", "w")
	r.wantStory("m2", `rejected with 4005: there is no provider "demo"`)
}

func TestTakeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	run := r.direct("m1")
	r.user("m2")
	r.user("m3")
	var took, again bool
	r.step(func() { took = r.pool.Messages.Withdraw("m2") })
	r.step(func() { again = r.pool.Messages.Withdraw("m2") })
	if !took || again {
		t.Fatalf("withdrawn: %v, and again: %v, want true and false", took, again)
	}
	r.wantStory("m2", "queued at 1; rejected with 3003: taken out of the queue")
	r.ended(run)
	r.wantStory("m3", "queued at 2; direct by main-monitor-0-m3")
}

func TestSetProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, said("m1", "hello"))
	var ok, unknown bool
	r.step(func() { ok, unknown = r.pool.SetProvider("other"), r.pool.SetProvider("unknown") })
	if !ok || unknown || r.pool.View.Provider() != "other" {
		t.Fatalf("switching to other and to unknown gives %v and %v, the provider is %s, want true, false and other", ok, unknown, r.pool.View.Provider())
	}
	wantEqual(t, last[wire.ProviderChanged](r).Provider, "other")
	r.ended(run)
	next := r.direct("m2")
	if next.Provider != "other" || len(next.From.Entries) != 2 || next.From.Provider != "demo" {
		t.Fatalf("run %+v, want one of other with the 2 entries of demo", next)
	}
	wantEqual(t, next.Prompt, "text of m2")
	// A provider that no longer exists is not used.
	r.runner.has = []string{"demo"}
	wantEqual(t, r.pool.View.Provider(), "demo")
}

// said returns an entry of the assistant.
func said(turn, text string) providers.Entry {
	return providers.Entry{
		Role: providers.RoleAssistant, Turn: turn, Blocks: []providers.Block{{Kind: providers.BlockText, Text: text}},
	}
}

// A backend that holds its conversations itself does not have those of another one, so the main
// agent's prompt repeats the conversation.
func TestReminderWhenTheConversationIsElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.handleReport(agentpool.NewEntries{RunRef: agentpool.RunRef{Run: run.ID}, Thread: "th-1"})
	r.said(run, "a < b")
	r.ended(run)
	wantEqual(t, r.direct("m2").From.ID, "th-1")
	r.ended(r.run("main-monitor-0-m2"))
	r.step(func() { r.pool.SetProvider("other") })
	want := "<previous_conversation>\n<user>text of m1</user>\n\n<assistant>a &lt; b</assistant>\n\n<user>text of m2</user>\n" +
		"</previous_conversation>\n\ntext of m3"
	wantEqual(t, r.direct("m3").Prompt, want)
}
