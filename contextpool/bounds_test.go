package contextpool_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Names and ids come from backends and are bounded in entries.
func TestNamesInEntriesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	long := strings.Repeat("é", 300_000)
	call := providers.Block{Kind: providers.BlockToolCall, Call: long, Tool: long, From: long, Signature: long}
	result := providers.Block{Kind: providers.BlockToolResult, Call: long, Tool: long, Text: "done"}
	plain := call
	plain.Signature = ""
	r.remember(
		run,
		providers.Entry{Role: providers.RoleAssistant, Turn: "m1", Blocks: []providers.Block{call}},
		providers.Entry{Role: providers.RoleAssistant, Turn: "m1", Blocks: []providers.Block{plain}},
		providers.Entry{Role: providers.RoleUser, Turn: "m1", Blocks: []providers.Block{result}},
	)
	for _, data := range r.kept.lists["api:main-monitor-0"] {
		if len(data) > 256<<10 {
			t.Errorf("an entry has %d bytes, want at most 256 KiB", len(data))
		}
	}
	r.ended(run)
	checkThread(t, r.direct("m2").From.Entries[1:])
	r.crash()
}

// If a step is too large to be stored, only the agent that caused it fails.
func TestTooLargeToBeKept(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"run", "role"} {
		r := newRigWith(t, policies.BudgetLimits{}, first, second)
		r.direct("m1")
		r.direct("m2", second)
		for range 5 {
			r.crash(func() { r.pool.FailOversized("") }) // another cause
		}
		guilty := r.run("main-monitor-0-m1")
		who := guilty.ID
		if by == "role" {
			who = string(guilty.Role)
		}
		r.crash(func() { r.pool.FailOversized(who) })
		if end := last[wire.AgentResponse](r); end.AgentID != "main-monitor-0-m1" || end.Outcome != wire.Outcome(providers.Failed) {
			t.Fatalf("the last that was said is %+v, want the end of main-monitor-0-m1 as %s", end, providers.Failed)
		}
		r.ended(r.run("main-monitor-1-m2"))
		if end := last[wire.AgentResponse](r); end.AgentID != "main-monitor-1-m2" || end.Outcome != wire.Outcome(providers.Completed) {
			t.Fatalf("the last that was said is %+v, want the end of main-monitor-1-m2 as %s", end, providers.Completed)
		}
	}
}

func TestThoughtsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	for range 3 {
		r.handleReport(agentpool.Output{RunRef: agentpool.RunRef{Run: run.ID}, Thinking: strings.Repeat("x", 700_000)})
	}
	n := 0
	for _, e := range all[wire.AgentThinking](r) {
		n += len(e.Delta)
	}
	if n != desktop.MaxAgentText {
		t.Errorf("%d bytes of thinking are shown, want %d", n, desktop.MaxAgentText)
	}
}
