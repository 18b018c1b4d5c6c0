package history_test

import (
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

func TestRulesDecide(t *testing.T) {
	t.Parallel()
	all := wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowReadOnly: true, AlwaysAllowWrite: true, AlwaysAllowExecute: true,
		AllowedCommands: []string{"git"}, DeniedCommands: []string{"rm"}, AlwaysAllowMcp: true, AllowedMcpTools: []string{"s/t", "all/*"},
		AlwaysAllowModeSwitch: true, AlwaysAllowSubtasks: true, AlwaysAllowFollowupQuestions: true, FollowupAutoApproveTimeoutMs: 100,
	}
	with := func(change func(*wire.AutoApproval)) wire.AutoApproval {
		rules := all
		change(&rules)
		return rules
	}
	tool := func(name, input string) history.Question { return history.Asked(name, []byte(input)) }
	for name, test := range map[string]struct {
		rules wire.AutoApproval
		q     history.Question
		want  history.Verdict
	}{
		"output of a command":      {wire.AutoApproval{}, history.Question{Ask: wire.AskCommandOutput}, history.Approve},
		"off":                      {with(func(r *wire.AutoApproval) { r.AutoApprovalEnabled = false }), tool("Read", `{}`), history.AskUser},
		"nothing set":              {wire.AutoApproval{AutoApprovalEnabled: true}, tool("Read", `{}`), history.AskUser},
		"read":                     {all, tool("Read", `{"file_path":"a/b"}`), history.Approve},
		"read elsewhere":           {all, tool("Read", `{"file_path":"/etc/passwd"}`), history.AskUser},
		"read above":               {all, tool("read_file", `{"path":"a/../../b"}`), history.AskUser},
		"read elsewhere, allowed":  {with(func(r *wire.AutoApproval) { r.AlwaysAllowReadOnlyOutsideWorkspace = true }), tool("Read", `{"path":"~/x"}`), history.Approve},
		"read, not allowed":        {with(func(r *wire.AutoApproval) { r.AlwaysAllowReadOnly = false }), tool("readFile", `{}`), history.AskUser},
		"write":                    {all, tool("Write", `{"file_path":"a"}`), history.Approve},
		"write nowhere":            {all, tool("Write", `{}`), history.AskUser},
		"write elsewhere":          {all, tool("Write", `{"file_path":"/a"}`), history.AskUser},
		"write elsewhere, allowed": {with(func(r *wire.AutoApproval) { r.AlwaysAllowWriteOutsideWorkspace = true }), tool("Edit", `{"file_path":"/a"}`), history.Approve},
		"write protected":          {all, tool("Write", `{"file_path":".git/hooks/x"}`), history.AskUser},
		"write protected, allowed": {with(func(r *wire.AutoApproval) { r.AlwaysAllowWriteProtected = true }), tool("Write", `{"path":"AGENTS.md"}`), history.Approve},
		"settings":                 {all, tool("system:set_config", `{}`), history.AskUser},
		"settings, all allowed": {
			with(func(r *wire.AutoApproval) {
				r.AlwaysAllowWriteProtected, r.AlwaysAllowWriteOutsideWorkspace = true, true
			}),
			tool("system:set_config", `{}`), history.Approve,
		},
		"command":              {all, tool("Bash", `{"command":"git status"}`), history.Approve},
		"denied command":       {all, tool("Bash", `{"command":"git status; rm x"}`), history.Deny},
		"unknown command":      {all, tool("Bash", `{"command":"make"}`), history.AskUser},
		"empty command":        {all, tool("Bash", `{"command":" "}`), history.AskUser},
		"no command":           {all, tool("Bash", `[]`), history.AskUser},
		"commands not allowed": {with(func(r *wire.AutoApproval) { r.AlwaysAllowExecute = false }), tool("Bash", `{"command":"rm x"}`), history.AskUser},
		"tool of a server":     {all, tool("mcp__s__t", `{}`), history.Approve},
		"another tool of it":   {all, tool("mcp__s__u", `{}`), history.AskUser},
		"any tool of a server": {all, tool("use_mcp_tool", `{"server_name":"all","tool_name":"x"}`), history.Approve},
		"resource":             {all, tool("access_mcp_resource", `{"server_name":"s"}`), history.Approve},
		"bad JSON":             {all, tool("use_mcp_tool", `{`), history.AskUser},
		"servers not allowed":  {with(func(r *wire.AutoApproval) { r.AlwaysAllowMcp = false }), tool("mcp__s__t", `{}`), history.AskUser},
		"todo list":            {wire.AutoApproval{AutoApprovalEnabled: true}, tool("updateTodoList", `{}`), history.Approve},
		"mode":                 {all, tool("switchMode", `{}`), history.Approve},
		"mode, not allowed":    {with(func(r *wire.AutoApproval) { r.AlwaysAllowModeSwitch = false }), tool("switch_mode", `{}`), history.AskUser},
		"subtask":              {all, tool("newTask", `{}`), history.Approve},
		"subtask, not allowed": {with(func(r *wire.AutoApproval) { r.AlwaysAllowSubtasks = false }), tool("new_task", `{}`), history.AskUser},
		"nobody knows it":      {all, tool("launch_rocket", `{}`), history.AskUser},
		"followup":             {all, history.Question{Ask: wire.AskFollowup, Suggested: "a"}, history.AfterWait},
		"nothing suggested":    {all, history.Question{Ask: wire.AskFollowup}, history.AskUser},
		"no time":              {with(func(r *wire.AutoApproval) { r.FollowupAutoApproveTimeoutMs = 0 }), history.Question{Ask: wire.AskFollowup, Suggested: "a"}, history.AskUser},
		"other questions":      {all, history.Question{Ask: wire.AskCompletionResult}, history.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := history.Decide(test.rules, test.q); got != test.want {
				t.Errorf("%+v: got %s, want %s", test.q, got, test.want)
			}
		})
	}
}

func TestSpendingLimits(t *testing.T) {
	t.Parallel()
	exceeds := func(w history.Window, requests int, cost float64) string {
		limit, over := w.Exceeds(wire.AutoApproval{AllowedMaxRequests: requests, AllowedMaxCost: cost})
		if over != (limit.Type != "") {
			t.Errorf("%+v is %v", limit, over)
		}
		return limit.Type
	}
	var w history.Window
	for range 3 {
		w = w.Spend(0.1)
	}
	for name, test := range map[string]struct {
		requests int
		cost     float64
		want     string
	}{
		"no limits":          {0, 0, ""},
		"room for one":       {4, 0, ""},
		"no room":            {3, 0, "requests"},
		"sums are not exact": {0, 0.3, ""},
		"too much":           {0, 0.29, "cost"},
		"requests first":     {3, 0.1, "requests"},
	} {
		if got := exceeds(w, test.requests, test.cost); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	limit, _ := w.Exceeds(wire.AutoApproval{AllowedMaxCost: 0.1})
	if limit.Count != "0.10" {
		t.Errorf("the cost is shown as %s", limit.Count)
	}
	again := w.Reset()
	if again.Requests != 0 || again.Cost != 0 || again.Number != 1 || exceeds(again, 1, 0.1) != "" || again.Reset().Number != 2 {
		t.Errorf("after somebody agreed it is %+v", again)
	}
	if exceeds(again.Spend(0), 1, 0) != "requests" {
		t.Error("a second window has no end")
	}
}
