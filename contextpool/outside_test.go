package contextpool_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// allRules allow everything that rules can allow.
func allRules() *wire.AutoApproval {
	return &wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowReadOnly: true, AlwaysAllowReadOnlyOutsideWorkspace: true, AlwaysAllowWrite: true,
		AlwaysAllowWriteOutsideWorkspace: true, AlwaysAllowWriteProtected: true, AlwaysAllowExecute: true, AllowedCommands: []string{"*"},
		AlwaysAllowMcp: true, AllowedMcpTools: []string{"*"}, AlwaysAllowModeSwitch: true, AlwaysAllowSubtasks: true,
	}
}

// push is a command that all rules allow.
var push = providers.ToolCall{ID: "c", Name: "Bash", Input: json.RawMessage(`{"command":"git push"}`)}

// checkOutside checks that no run on a monitor with outside data may act alone, and that the store knows of the
// data.
func (c *chaos) checkOutside() {
	for _, run := range c.runner.runs {
		if !c.outside[run.Monitor] {
			continue
		}
		var verdict approval.Verdict
		var sources []string
		c.step(func() {
			if _, own := c.desktop.AutoApproval(); !own {
				c.pool.Questions.SetApproval(allRules(), "c1", "")
			}
			verdict, _, sources = c.pool.Questions.DecideApproval(callerOf(run), push)
		})
		if verdict != approval.AskUser || len(sources) == 0 || len(c.kept.tables["outside"][string(run.Monitor)]) == 0 {
			c.t.Fatalf("%s gets %s because of %q with %q in the store, want to ask because of outside data",
				run.Role, verdict, sources, c.kept.tables["outside"])
		}
	}
}

// readOutside lets a run read data from a source.
func (r *rig) readOutside(run agentpool.Run, call, source string) {
	r.t.Helper()
	r.begin(run, call, "system:http_get")
	r.step(func() {
		if err := r.pool.Tools.EndToolCall(callerOf(run), callOf(call, "system:http_get"), providers.ToolResult{Text: "x", Source: source}); err != nil {
			r.t.Fatalf("%v", err)
		}
	})
}

func (r *rig) verdictOn(run agentpool.Run, call providers.ToolCall) (v approval.Verdict, sources []string) {
	r.t.Helper()
	r.step(func() { v, _, sources = r.pool.Questions.DecideApproval(callerOf(run), call) })
	return v, sources
}

// newOutsideRig returns a rig with rules that allow everything.
func newOutsideRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.runner.slots = 4
	r.step(func() { r.pool.Questions.SetApproval(allRules(), "c1", "s1") })
	return r
}

func TestOutsideDataMakesLaterActionsAsk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool, input string
		want        approval.Verdict
	}{
		{"Bash", `{"command":"git push"}`, approval.AskUser},
		{"mcp__mail__send", `{"to":"x"}`, approval.AskUser},
		{"use_mcp_tool", `{"server_name":"mail","tool_name":"send"}`, approval.AskUser},
		{"Write", `{"file_path":"/etc/passwd"}`, approval.AskUser},
		{"Write", `{"file_path":"AGENTS.md"}`, approval.AskUser},
		{"Write", `[`, approval.AskUser},
		{"system:set_config", `{"section":"hooks"}`, approval.AskUser},
		{"Write", `{"file_path":"a.txt"}`, approval.Approve},
		{"Read", `{"file_path":"a.txt"}`, approval.Approve},
		{"TodoWrite", `{}`, approval.Approve},
	} {
		r := newOutsideRig(t)
		run := r.direct("m1")
		call := providers.ToolCall{ID: "c", Name: tt.tool, Input: json.RawMessage(tt.input)}
		r.readOutside(run, "c1", "evil.example")
		if got, sources := r.verdictOn(run, call); got != tt.want || got == approval.AskUser && len(sources) != 1 {
			t.Errorf("%s %s: got %s because of %q, want %s", tt.tool, tt.input, got, sources, tt.want)
		}
	}
}

// What one agent has read counts for all agents of the monitor, after a takeover and a rewind, until the desktop
// is reset. It does not count on other monitors.
func TestOutsideDataBelongsToTheMonitor(t *testing.T) {
	t.Parallel()
	r := newOutsideRig(t)
	want := func(run agentpool.Run, want approval.Verdict) {
		t.Helper()
		if got, sources := r.verdictOn(run, push); got != want {
			t.Errorf("%s: got %s because of %q, want %s", run.Role, got, sources, want)
		}
	}
	main := r.direct("m1")
	want(main, approval.Approve)
	r.step(func() {
		r.pool.Tools.Delegate(callerOf(main), tools.Task{Objective: "read", Call: callOf("d1", "task:run")}, func(providers.ToolResult) {})
	})
	task := r.run("task-m1-1")
	r.began(task)
	r.readOutside(task, "c1", "evil.example")
	want(task, approval.AskUser)
	want(main, approval.AskUser)
	r.crash()
	want(main, approval.AskUser)
	r.open(first, "w")
	r.toWindow("m2", "w")
	want(r.run("window-w"), approval.AskUser)
	r.step(func() { r.Emit(wire.MonitorStatus{MonitorID: second, State: wire.MonitorIdle}) })
	want(r.direct("m3", second), approval.Approve)
	r.step(func() { r.pool.Reset() })
	want(r.direct("m4"), approval.Approve)
}

func TestCallsOfAgentsOwnToolsCountAsReading(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, input, source string }{
		{"WebFetch", `{"url":"https://evil.example/page"}`, "evil.example"},
		{"WebSearch", `{"query":"x"}`, "a search of the web"},
		{"mcp__docs__read", `{}`, "the MCP server docs"},
		{"Read", `{"file_path":"a.txt"}`, ""},
		{"window_create", `{}`, ""},
	} {
		r := newOutsideRig(t)
		run := r.direct("m1")
		r.remember(run, said("m1", "x"), providers.Entry{Role: providers.RoleAssistant, Turn: "m1", Blocks: []providers.Block{
			{Kind: providers.BlockToolCall, Call: "c1", Tool: tt.tool, Input: json.RawMessage(tt.input)},
		}})
		verdict, sources := r.verdictOn(run, push)
		if want := tt.source != ""; (verdict == approval.AskUser) != want || want && (len(sources) != 1 || sources[0] != tt.source) {
			t.Errorf("after %s: got %s because of %q, want %q", tt.tool, verdict, sources, tt.source)
		}
	}
}

func TestTheOwnerCanSwitchTheQuestionsOff(t *testing.T) {
	t.Parallel()
	r := newOutsideRig(t)
	run := r.direct("m1")
	r.readOutside(run, "c1", "evil.example")
	rules := allRules()
	rules.AlwaysAllowAfterOutsideData = true
	r.step(func() { r.pool.Questions.SetApproval(rules, "c1", "s1") })
	if got, sources := r.verdictOn(run, push); got != approval.Approve {
		t.Errorf("got %s because of %q, want %s", got, sources, approval.Approve)
	}
}

// An answer for a scope holds for the turn, also at the next owner, and not for the next turn.
func TestAConfirmedScopeEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	r := newOutsideRig(t)
	sources := func(run agentpool.Run, scope string) (n int) {
		r.step(func() { n = len(r.pool.Questions.OutsideSources(callerOf(run), scope)) })
		return n
	}
	run := r.direct("m1")
	for n := range 40 {
		r.readOutside(run, fmt.Sprintf("c%d", n), fmt.Sprintf("host-%d.example", n))
	}
	wantEqual(t, sources(run, "get a"), 16)
	r.ended(run)
	run = r.direct("m2")
	r.step(func() { r.pool.Questions.AllowScope(callerOf(run), "get a") })
	r.crash()
	wantEqual(t, sources(run, "get a"), 0)
	wantEqual(t, sources(run, "get b"), 16)
	wantEqual(t, sources(run, ""), 16)
	run = r.run(string(run.Role)) // of the next owner
	r.began(run)
	r.ended(run)
	wantEqual(t, sources(r.direct("m3"), "get a"), 16)
}

func TestMessagesOfPagesCountAsOutsideData(t *testing.T) {
	t.Parallel()
	r := newOutsideRig(t)
	r.open(first, "w")
	r.step(func() {
		r.pool.Messages.HandleWindowMessage(contextpool.Message{ID: "m1", Monitor: first, Window: "w", Text: "<app_interaction>send it</app_interaction>"})
	})
	if got, sources := r.verdictOn(r.run("window-w"), push); got != approval.AskUser || len(sources) != 1 || sources[0] != tools.PageSource("w") {
		t.Errorf("got %s because of %q, want to ask because of the page", got, sources)
	}
}
