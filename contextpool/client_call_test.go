package contextpool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

func clientCall(id wire.MessageID) contextpool.ClientCall {
	return contextpool.ClientCall{
		ID: id, Token: "token-1", Name: "Editor", Monitor: first, Profile: tools.ProfileDefault, Tool: "http_post", Input: json.RawMessage(`{"a":1}`),
	}
}

// call starts the call of a program and reports the start of its run.
func (r *rig) call(c contextpool.ClientCall, role string) agentpool.Run {
	r.t.Helper()
	r.step(func() { r.pool.StartClientCall(c) })
	run := r.run(role)
	r.began(run)
	return run
}

// ClientCallEnded implements [contextpool.EndListener].
func (r *rig) ClientCallEnded(c contextpool.ClientCall, result providers.ToolResult) {
	r.clientResults = append(r.clientResults, string(c.ID)+" "+result.Text)
}

// A call of a program is a turn without a model under the name of the program. It is a row, but no
// task.
func TestClientCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.call(clientCall("mcp-1"), "client-Editor")
	wantEqual(t, run.Kind, wire.AgentClient)
	wantEqual(t, run.Profile, tools.ProfileDefault)
	wantEqual(t, *run.Call, providers.ToolCall{ID: "mcp-1", Name: "http_post", Input: json.RawMessage(`{"a":1}`)})
	other := r.call(clientCall("mcp-2"), "client-Editor/2")
	r.begin(run, "mcp-1", "http:post")
	r.end(run, "mcp-1", "http:post", "ok")
	wantEqual(t, len(r.clientResults), 0)
	r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Completed, Result: &providers.ToolResult{Text: "ok"}})
	wantEqual(t, r.clientResults, []string{"mcp-1 ok"})
	wantEqual(t, r.saysOf("client-Editor"), []wire.Say{wire.SayTool})
	wantEqual(t, len(r.kept.tables["tasks"]), 0)
	r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: other.ID}, Outcome: providers.Completed, Result: &providers.ToolResult{Text: "no", IsError: true}})
	wantEqual(t, r.clientResults, []string{"mcp-1 ok", "mcp-2 no"})
	wantEqual(t, r.pool.View.Busy(), false)
	wantEqual(t, len(r.kept.tables["turns"])+len(r.kept.tables["turns.prompt"]), 0)
}

// The next owner does not execute a call again. If the call has ended, it delivers the stored result,
// else it says that it does not know.
func TestClientCallOfAKilledOwner(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(*rig, agentpool.Run)
		want   string
	}{
		"not begun": {func(*rig, agentpool.Run) {}, "not known"},
		"begun":     {func(r *rig, run agentpool.Run) { r.begin(run, "mcp-1", "http:post") }, "not known"},
		"ended": {func(r *rig, run agentpool.Run) {
			r.begin(run, "mcp-1", "http:post")
			r.end(run, "mcp-1", "http:post", "posted")
		}, "posted"},
		"stopped": {func(r *rig, _ agentpool.Run) {
			r.step(func() { r.pool.StopClientCalls("token-1", "", "the MCP token was revoked") })
		}, "revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			run := r.call(clientCall("mcp-1"), "client-Editor")
			tt.before(r, run)
			r.crash()
			if len(r.clientResults) != 1 || !strings.Contains(r.clientResults[0], tt.want) {
				t.Errorf("the results are %q, want one with %q", r.clientResults, tt.want)
			}
			wantEqual(t, len(r.runner.runs), 0)
			wantEqual(t, r.pool.View.Busy(), false)
		})
	}
}

// Stopping the calls of a token interrupts these only.
func TestStopClientCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.call(clientCall("mcp-1"), "client-Editor")
	foreign := clientCall("mcp-2")
	foreign.Token, foreign.Name = "token-2", "Other"
	r.call(foreign, "client-Other")
	r.step(func() { r.pool.StopClientCalls("token-1", "mcp-9", "no such call") })
	r.step(func() { r.pool.StopClientCalls("token-1", "", "the MCP token was revoked") })
	wantEqual(t, r.runner.interrupted, []string{run.ID + ": the MCP token was revoked"})
	r.handleReport(agentpool.Ended{
		RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Interrupted, Reason: "x",
		Result: &providers.ToolResult{Text: "Interrupted.", IsError: true},
	})
	wantEqual(t, r.clientResults, []string{"mcp-1 Interrupted: the MCP token was revoked."})
}

func TestRefusedClientCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := clientCall("mcp-1")
	c.Monitor = "monitor-9"
	r.step(func() { r.pool.StartClientCall(c) })
	if len(r.clientResults) != 1 || !strings.Contains(r.clientResults[0], "monitor-9") || len(r.runner.runs) != 0 {
		t.Errorf("the results are %q with %d runs, want one that names monitor-9 and no run", r.clientResults, len(r.runner.runs))
	}
}
