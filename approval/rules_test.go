package approval_test

import (
	"testing"

	"github.com/everdesk/everdesk/approval"
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
	tool := func(name, input string) approval.Question { return approval.NewQuestion(name, []byte(input)) }
	for name, test := range map[string]struct {
		rules wire.AutoApproval
		q     approval.Question
		want  approval.Verdict
	}{
		"output of a command":      {wire.AutoApproval{}, approval.Question{Ask: wire.AskCommandOutput}, approval.Approve},
		"off":                      {with(func(r *wire.AutoApproval) { r.AutoApprovalEnabled = false }), tool("Read", `{}`), approval.AskUser},
		"nothing set":              {wire.AutoApproval{AutoApprovalEnabled: true}, tool("Read", `{}`), approval.AskUser},
		"read":                     {all, tool("Read", `{"file_path":"a/b"}`), approval.Approve},
		"read elsewhere":           {all, tool("Read", `{"file_path":"/etc/passwd"}`), approval.AskUser},
		"read above":               {all, tool("read_file", `{"path":"a/../../b"}`), approval.AskUser},
		"read elsewhere, allowed":  {with(func(r *wire.AutoApproval) { r.AlwaysAllowReadOnlyOutsideWorkspace = true }), tool("Read", `{"path":"~/x"}`), approval.Approve},
		"read, not allowed":        {with(func(r *wire.AutoApproval) { r.AlwaysAllowReadOnly = false }), tool("readFile", `{}`), approval.AskUser},
		"write":                    {all, tool("Write", `{"file_path":"a"}`), approval.Approve},
		"write nowhere":            {all, tool("Write", `{}`), approval.AskUser},
		"write elsewhere":          {all, tool("Write", `{"file_path":"/a"}`), approval.AskUser},
		"write elsewhere, allowed": {with(func(r *wire.AutoApproval) { r.AlwaysAllowWriteOutsideWorkspace = true }), tool("Edit", `{"file_path":"/a"}`), approval.Approve},
		"write protected":          {all, tool("Write", `{"file_path":".git/hooks/x"}`), approval.AskUser},
		"write protected, allowed": {with(func(r *wire.AutoApproval) { r.AlwaysAllowWriteProtected = true }), tool("Write", `{"path":"AGENTS.md"}`), approval.Approve},
		"code without *":           {all, tool("notebook:run_cell", `{"code":"1"}`), approval.AskUser},
		"code with *":              {wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowExecute: true, AllowedCommands: []string{"*"}}, tool("notebook:run_cell", `{"code":"1"}`), approval.Approve},
		"code with denied words":   {wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowExecute: true, AllowedCommands: []string{"*"}, DeniedCommands: []string{"rm"}}, tool("notebook:run_cell", `{"code":"1"}`), approval.AskUser},
		"settings":                 {all, tool("system:set_config", `{}`), approval.AskUser},
		"settings, all allowed": {
			with(func(r *wire.AutoApproval) {
				r.AlwaysAllowWriteProtected, r.AlwaysAllowWriteOutsideWorkspace = true, true
			}),
			tool("system:set_config", `{}`), approval.Approve,
		},
		"command":              {all, tool("Bash", `{"command":"git status"}`), approval.Approve},
		"denied command":       {all, tool("Bash", `{"command":"git status; rm x"}`), approval.Deny},
		"unknown command":      {all, tool("Bash", `{"command":"make"}`), approval.AskUser},
		"empty command":        {all, tool("Bash", `{"command":" "}`), approval.AskUser},
		"no command":           {all, tool("Bash", `[]`), approval.AskUser},
		"commands not allowed": {with(func(r *wire.AutoApproval) { r.AlwaysAllowExecute = false }), tool("Bash", `{"command":"rm x"}`), approval.AskUser},
		"tool of a server":     {all, tool("mcp__s__t", `{}`), approval.Approve},
		"another tool of it":   {all, tool("mcp__s__u", `{}`), approval.AskUser},
		"any tool of a server": {all, tool("use_mcp_tool", `{"server_name":"all","tool_name":"x"}`), approval.Approve},
		"resource":             {all, tool("access_mcp_resource", `{"server_name":"all"}`), approval.Approve},
		"resource of a server of which a tool is allowed": {all, tool("access_mcp_resource", `{"server_name":"s","tool_name":"t"}`), approval.AskUser},
		"resource of another":                             {all, tool("access_mcp_resource", `{"server_name":"other"}`), approval.AskUser},
		"two servers":                                     {all, tool("use_mcp_tool", `{"server_name":"all","serverName":"other","tool_name":"x"}`), approval.AskUser},
		"server in a list":                                {all, tool("use_mcp_tool", `{"server_name":["all"],"tool_name":"x"}`), approval.AskUser},
		"bad JSON":                                        {all, tool("use_mcp_tool", `{`), approval.AskUser},
		"servers not allowed":                             {with(func(r *wire.AutoApproval) { r.AlwaysAllowMcp = false }), tool("mcp__s__t", `{}`), approval.AskUser},
		"todo list":                                       {wire.AutoApproval{AutoApprovalEnabled: true}, tool("updateTodoList", `{}`), approval.Approve},
		"mode":                                            {all, tool("switchMode", `{}`), approval.Approve},
		"mode, not allowed":                               {with(func(r *wire.AutoApproval) { r.AlwaysAllowModeSwitch = false }), tool("switch_mode", `{}`), approval.AskUser},
		"subtask":                                         {all, tool("newTask", `{}`), approval.Approve},
		"subtask, not allowed":                            {with(func(r *wire.AutoApproval) { r.AlwaysAllowSubtasks = false }), tool("new_task", `{}`), approval.AskUser},
		"unknown tool":                                    {all, tool("launch_rocket", `{}`), approval.AskUser},
		"followup":                                        {all, approval.Question{Ask: wire.AskFollowup, Suggested: "a"}, approval.AfterTimeout},
		"nothing suggested":                               {all, approval.Question{Ask: wire.AskFollowup}, approval.AskUser},
		"no time":                                         {with(func(r *wire.AutoApproval) { r.FollowupAutoApproveTimeoutMs = 0 }), approval.Question{Ask: wire.AskFollowup, Suggested: "a"}, approval.AskUser},
		"other questions":                                 {all, approval.Question{Ask: wire.AskCompletionResult}, approval.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := approval.Decide(test.rules, test.q); got != test.want {
				t.Errorf("%+v: got %s, want %s", test.q, got, test.want)
			}
		})
	}
}

// Only the tool knows which of its arguments matter: a single path outside the workspace or
// protected one is enough, at any depth and in any spelling.
func TestEveryValueCounts(t *testing.T) {
	t.Parallel()
	rules := wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowReadOnly: true, AlwaysAllowWrite: true, AlwaysAllowExecute: true,
		AllowedCommands: []string{"git"}, DeniedCommands: []string{"rm"},
	}
	for want, calls := range map[approval.Verdict][][2]string{
		approval.Approve: {
			{"Write", `{"file_path":"a/b.txt","content":"/etc/passwd costs 5$, see ../x"}`},
			{"Edit", `{"file_path":"a b (1).go","old_string":"/a","new_string":"~","replace_all":true}`},
			{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"/a","new_string":".git"}]}`},
			{"read_file", `{"files":[{"path":"a","line_ranges":["1-2"]},{"path":"b/c"}]}`},
			{"Glob", `{"pattern":"**/*.{go,ts}","path":"src"}`},
			{"Grep", `{"pattern":"^(/etc|x$)","path":"src"}`},
			{"list_files", `{}`},
			{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a/b.go\n@@\n-x\n+y\n*** End Patch"}`},
			{"apply_diff", `{"path":"a","diff":"--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x"}`},
			{"Bash", `{"command":"git status","description":"it's $5","timeout":5,"cwd":"sub"}`},
		},
		approval.AskUser: {
			{"Write", `{"file_path":"/etc/passwd","filename":"ok.txt"}`},
			{"Write", `{"filename":"ok.txt","file_path":"/etc/passwd"}`},
			{"Write", `{"file_path":"/etc/passwd","file_path":"ok.txt"}`},
			{"Write", `{"File_Path":"/etc/passwd","path":"ok.txt"}`},
			{"Write", `{"file_path":".git/hooks/pre-commit","file":"ok.txt"}`},
			{"Write", `{"path":"ok","options":{"where":["x",{"to":"/etc"}]}}`},
			{"Write", `{"files":{"/etc/passwd":"x"},"path":"ok"}`},
			{"Write", `{"path":" /etc/passwd"}`},
			{"Write", `{"path":"file:///etc/passwd"}`},
			{"Write", `{"path":"a/../../b"}`},
			{"Write", `{"path":"a\\..\\..\\b"}`},
			{"Write", `{"path":"ok","path":"c:\\x"}`},
			{"Write", `{"path":"a.txt,/etc/passwd"}`},
			{"Write", `{"path":"a\n/etc/passwd"}`},
			{"Write", `{"path":5}`},
			{"Write", `{"content":"x"}`},
			{"Edit", `{"file_path":"sub/../../x"}`},
			{"Edit", `{"file_path":".GIT/config"}`},
			{"Edit", `{"file_path":"a/.Git./config"}`},
			{"Edit", `{"file_path":".g\u200cit/config"}`},
			{"Edit", `{"file_path":"claude.MD"}`},
			{"Edit", `{"file_path":".Env.local"}`},
			{"read_file", `{"files":[{"path":"ok"},{"path":"/etc/shadow"}]}`},
			{"read_file", `{"paths":["ok","~/x"]}`},
			{"read_file", `["/etc/shadow"]`},
			{"read_file", `"/etc/shadow"`},
			{"read_file", `{"path":"a"`},
			{"read_file", ``},
			{"Glob", `{"pattern":"/etc/**"}`},
			{"Glob", `{"pattern":"{x,/etc}/**"}`},
			{"Glob", `{"pattern":"a/../../**"}`},
			{"Grep", `{"pattern":"x","path":"/etc"}`},
			{"apply_patch", `{"path":"ok","patch":"*** Update File: /etc/passwd"}`},
			{"apply_patch", `{"path":"ok","content":"*** Update File: /etc/passwd"}`},
			{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a\n*** Move to: .github/x\n"}`},
			{"apply_patch", `{"input":"*** Begin Patch\nx"}`},
			{"apply_patch", `{"patch":"--- a/x\n+++ b/../../x\t2020\n"}`},
			{"apply_patch", `{"patch":"+++ b/x\ndiff --git a/.git/x b/.git/x\nnew file"}`},
			{"apply_patch", `{"patch":"+++ \"b/\\056\\056/x\""}`},
			{"apply_patch", `{"patch":"*** /etc/passwd\t12:00\n--- ok"}`},
			{"exec_command", `{"command":"git status","cmd":"git log"}`},
			{"exec_command", `{"command":"git status","command":"git log"}`},
			{"exec_command", `{"command":["git","status"]}`},
			{"exec_command", `{"command":["git","commit","-m","rm"]}`},
			{"exec_command", `{"command":"git status","env":{"PATH":"."}}`},
			{"exec_command", `{"command":"git status","cwd":"/"}`},
			{"exec_command", `{"options":{"command":"git status"}}`},
			{"Bash", `{"command":"git () { make; }; git status"}`},
			{"runSlashCommand", `{"command":"deploy"}`},
		},
		approval.Deny: {
			{"exec_command", `{"command":"git status","cmd":"rm -rf /"}`},
			{"exec_command", `{"command":["rm","-rf"]}`},
			{"Bash", `{"command":"coproc git { rm -rf /; }"}`},
		},
	} {
		for _, call := range calls {
			if got := approval.Decide(rules, approval.NewQuestion(call[0], []byte(call[1]))); got != want {
				t.Errorf("%s %s: got %s, want %s", call[0], call[1], got, want)
			}
		}
	}
}

func TestSpendingLimits(t *testing.T) {
	t.Parallel()
	exceeds := func(w approval.Window, requests int, cost float64) string {
		limit, over := w.Exceeds(wire.AutoApproval{AllowedMaxRequests: requests, AllowedMaxCost: cost})
		if over != (limit.Type != "") {
			t.Errorf("limit %+v: got exceeded %v, want that only with a type", limit, over)
		}
		return limit.Type
	}
	var w approval.Window
	for range 3 {
		w = w.Spend(0.1, false)
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
			t.Errorf("%s: got limit %q, want %q", name, got, test.want)
		}
	}
	limit, _ := w.Exceeds(wire.AutoApproval{AllowedMaxCost: 0.1})
	if limit.Count != "0.10" {
		t.Errorf("shown cost: got %s, want 0.10", limit.Count)
	}
	again := w.Confirm()
	if again.Requests != 0 || again.Cost != 0 || again.Number != 1 || exceeds(again, 1, 0.1) != "" || again.Confirm().Number != 2 {
		t.Errorf("window after the user confirmed: got %+v, want the first without requests and cost", again)
	}
	if exceeds(again.Spend(0, false), 1, 0) != "requests" {
		t.Error("second window with one request: got no request limit, want one")
	}
}

// A limit of cost cannot be checked if a price is unknown, so the user is asked once.
func TestUnknownPricesAsk(t *testing.T) {
	t.Parallel()
	limited := wire.AutoApproval{AllowedMaxCost: 1}
	exceeds := func(w approval.Window, rules wire.AutoApproval) string {
		limit, _ := w.Exceeds(rules)
		return limit.Type
	}
	var w approval.Window
	w = w.Spend(0, true).Spend(0.1, false)
	if got := exceeds(w, limited); got != "unknown_cost" {
		t.Errorf("after a request with an unknown price: got limit %q, want unknown_cost", got)
	}
	if got := exceeds(w, wire.AutoApproval{AllowedMaxRequests: 5}); got != "" {
		t.Errorf("without a limit of cost: got limit %q, want none", got)
	}
	if got := exceeds(w.Spend(2, false), limited); got != "cost" {
		t.Errorf("when the known cost is too high: got limit %q, want cost", got)
	}
	confirmed := w.Confirm().Spend(0, true)
	if got := exceeds(confirmed, limited); got != "" {
		t.Errorf("after the user confirmed: got limit %q, want none", got)
	}
	if got := exceeds(confirmed.Spend(2, false), limited); got != "cost" {
		t.Errorf("known cost after the user confirmed: got limit %q, want cost", got)
	}
	if got := exceeds(confirmed.Reset().Spend(0, true), limited); got != "unknown_cost" {
		t.Errorf("with new rules: got limit %q, want unknown_cost", got)
	}
}
