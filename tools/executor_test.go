package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

func toolCall(name, input string) providers.ToolCall {
	return providers.ToolCall{Name: name, Input: json.RawMessage(input)}
}

func names(e *tools.Executor, profile string) []string {
	var out []string
	for _, t := range e.Tools(tools.Caller{Profile: profile}) {
		out = append(out, t.Name)
	}
	return out
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	window := []string{
		"window_create", "window_create_component", "window_update", "window_update_component", "window_move", "window_close", "window_lock",
		"window_unlock", "window_list", "window_view", "window_show_notification", "window_dismiss_notification",
		"window_show_toast", "window_dismiss_toast", "window_app_query", "window_app_command",
	}
	common := []string{"storage_read", "storage_list", "user_ask", "user_request", "system_get_info", "system_skill"}
	only := []string{
		"system_memorize", "system_list_memories", "system_forget", "system_set_config", "system_get_config", "system_remove_config",
		"system_reload_cached", "system_list_reload_options", "task_run",
	}
	web := []string{"system_http_get", "system_http_post", "system_request_allowing_domain"}
	writes := []string{"storage_write", "storage_delete"}
	script := []string{"system_run_js"}
	app := []string{
		"apps_list", "apps_load_skill", "apps_read_config", "apps_write_config", "apps_set_app_badge", "apps_market_list", "apps_market_get", "apps_market_delete",
		"dev_read_ts", "dev_write_ts", "dev_apply_diff_ts", "dev_compile", "dev_compile_component", "dev_typecheck", "dev_deploy", "dev_clone", "dev_write_json",
	}
	env := []string{"system_get_env_var"}
	icons := []string{"system_create_shortcut", "system_update_shortcut", "system_remove_shortcut", "system_list_shortcuts"}
	want := map[string][]string{
		"main": slices.Concat(window, common, only, icons, env), "unknown": nil, "": nil,
		"all":     slices.Concat(window, common, only, writes, web, script, icons, env, app),
		"default": slices.Concat(window, common, writes, web, script, icons, env, app), "web": slices.Concat(window, common, writes, web),
		"app": slices.Concat(window, common, writes, web, icons, app), "code": slices.Concat(window, common, writes, script, env),
	}
	for profile, want := range want {
		got := names(b.exec, profile)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tools of profile %q (-want +got):\n%s", profile, diff)
		}
	}
}

// Every tool has an object schema of known fields, a name that every API accepts, and a
// description.
func TestToolsAreDescribed(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	parallel := map[string]bool{}
	for _, tool := range slices.Concat(b.exec.Tools(b.caller()), b.exec.Tools(b.todo())) {
		var s jsonschema.Schema
		if err := json.Unmarshal(tool.Schema, &s); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		if s.Type != "object" || s.AdditionalProperties == nil || strings.Contains(string(tool.Schema), `"null"`) {
			t.Errorf("%s has the schema %s, want an object that is closed, without null", tool.Name, tool.Schema)
		}
		if len(tool.Name) > 64 || strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyz_") != "" || !strings.HasSuffix(tool.Description, ".") {
			t.Errorf("tool %s has the description %q, want a name of at most 64 lower-case letters and a sentence", tool.Name, tool.Description)
		}
		parallel[tool.Name] = tool.Parallel
	}
	if !parallel["task_run"] || !parallel["storage_read"] || parallel["window_create"] || parallel["storage_write"] || parallel["user_ask"] {
		t.Errorf("parallel are %v, want task_run and storage_read, but not window_create, storage_write and user_ask", parallel)
	}
	for _, tool := range b.exec.Tools(b.caller()) {
		if tool.Name == "window_create" && !strings.Contains(string(tool.Schema), `"enum":["markdown","html","text","table","chart","component","iframe"]`) {
			t.Errorf("window_create takes %s, want seven renderers", tool.Schema)
		}
	}
}

func TestWrongCalls(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for _, tt := range []struct{ tool, input, says string }{
		{"window_explode", `{}`, `There is no tool "window_explode". The tools are: window_create, `},
		{"", `{}`, "There is no tool"},
		{strings.Repeat("x", 1000), `{}`, "There is no tool"},
		{"storage_write", `{"path":"a","content":"b"}`, `The profile "main" does not have storage_write. The tools are: `},
		{"storage_delete", `{"path":"a"}`, "does not have storage_delete"},
		{"window_close", `{}`, "windowId"},
		{"window_close", ``, "It takes windowId (required)."},
		{"window_close", `null`, "windowId"},
		{"window_close", `[]`, "is wrong"},
		{"window_close", `"w"`, "is wrong"},
		{"window_close", `{"windowId":7}`, "windowId: "},
		{"window_close", `{"windowId":"` + strings.Repeat("x", 65) + `"}`, "windowId: "},
		{"window_close", `{"windowId":"a\u0000b"}`, "windowId: "},
		{"window_close", `{"windowId":"a","windowId":"b"}`, "windowId"},
		{"window_create", `{"windowId":"a","title":"t\u0000","content":{"renderer":"text","content":"x"}}`, "title: "},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"text","content":"x\u0000"}}`, "content.content: "},
		{"window_close", `{"windowId":"a","force":true}`, "force"},
		{"window_close", `{"windowId":"a"`, "is wrong"},
		{"window_close", "{\"windowId\":\"\xff\"}", "is wrong"},
		{"window_close", `{"windowId":"a"} {}`, "is wrong"},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"pdf","content":"x"}}`, "content.renderer: "},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"text","content":7}}`, "content.content: "},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"text"}}`, "content.content"},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"table","content":{"headers":"x"}}}`, "headers"},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"text","content":"x"},"width":-1}`, "width: "},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"text","content":"x"},"x":1e999}`, "is wrong"},
		{"window_create", `{"windowId":"a","title":"t","content":{"renderer":"text","content":"x"},"x":1e9}`, "no place"},
		{"window_update", `{"windowId":"a","operation":"append"}`, "content: append needs it."},
		{"window_update", `{"windowId":"a","operation":"explode"}`, "operation: "},
		{"window_update", `{"windowId":"a","operation":"insertAt","content":"x","position":-1}`, "position: "},
		{"window_close", `{"windowId":"` + strings.Repeat("x", 5<<20) + `"}`, "at most 4194304 are allowed"},
		{"window_view", strings.Repeat(`{"windowId":`, 100_000), "is wrong"},
	} {
		r := b.call(tt.tool, tt.input)
		if !r.IsError || !strings.Contains(r.Text, tt.says) || len(r.Text) > 3000 {
			t.Errorf("%.40s %.100s: %.500q, want %q", tt.tool, tt.input, r.Text, tt.says)
		}
	}
	if len(b.desktop.acted) != b.calls || len(b.desktop.begun) != 0 {
		t.Errorf("of %d calls the session received %d in one step and %d begun, want all and none", b.calls, len(b.desktop.acted), len(b.desktop.begun))
	}
	for _, told := range b.desktop.acted {
		if len(told.call.Tool) > 100 || !told.result.IsError {
			t.Errorf("the session received %+v, want a name of at most 100 bytes and an error", told)
		}
	}
}

// broken is a faulty store of documents.
type broken struct{ tools.Documents }

func (broken) Open(context.Context, wire.SessionID, string) (files.Content, files.Entry, error) {
	return nil, files.Entry{}, errors.New("open /var/lib/everdesk/ses-1/x: input/output error")
}

func (broken) List(context.Context, wire.SessionID, string) ([]files.Entry, error) { panic("list") }

func (broken) Remove(context.Context, wire.SessionID, string) error { panic("remove") }

// corrupt is a store in which one version of every document is unreadable.
type corrupt struct {
	tools.Documents
	version uint64
}

func (c corrupt) Get(ctx context.Context, collection, name string) (store.Document, error) {
	d, err := c.Documents.Get(ctx, collection, name)
	if err == nil && d.Version == c.version {
		d.Data, err = nil, &store.CorruptError{Where: name, Reason: "checksum does not match"}
	}
	return d, err
}

func TestCorruptDocumentsAreReplaced(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("system_memorize", `{"content":"one"}`)
	b.exec = tools.New(tools.Config{Files: b.fileStore, Documents: corrupt{b.docs, 1}, Logger: newLogger(b.log)})
	b.must("system_memorize", `{"content":"two"}`)
	if !strings.Contains(b.log.String(), "unreadable and taken for empty") {
		t.Errorf("the log is %s, want that the document was unreadable and taken for empty", b.log.String())
	}
}

func TestPanicsAreResults(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.exec = tools.New(tools.Config{Files: broken{}, Documents: b.docs, Logger: newLogger(b.log)})
	r := b.callAs(b.worker(), "storage_write", `{"path":"a","content":"b"}`)
	if want := "The tool storage:write failed: " + wire.CodeExecutionFailed.Info().Message; !r.IsError || r.Text != want {
		t.Errorf("got the result %+v, want the error %q", r, want)
	}
	if len(b.desktop.ended) != 1 || !b.desktop.ended[0].result.IsError || !strings.Contains(b.log.String(), "panic in a tool") {
		t.Errorf("the session received %+v, want one error, and the panic in the log", b.desktop.ended)
	}
	// Paths of the host are only in the log.
	if r := b.call("storage_read", `{"path":"x"}`); !r.IsError || strings.Contains(r.Text, "/var/lib") || !strings.Contains(b.log.String(), "/var/lib") {
		t.Errorf("reading a file that fails gives %+v, want an error without the path of the host, which is in the log", r)
	}
	// An invalid session.
	c := b.caller()
	c.Desktop = tools.Desktop{}
	if r := b.callAs(c, "window_list", `{}`); !r.IsError {
		t.Errorf("a call without a desktop gives %+v, want an error", r)
	}
	c.User = "ann"
	b.put("hooks", `{"hooks":[{"id":"hook-1","event":"launch","action":{"type":"interaction","payload":"x"},"enabled":true}]}`)
	b.exec.Launch(t.Context(), c)
	if !strings.Contains(b.log.String(), "tool=launch") {
		t.Errorf("log %s, want the failed launch", b.log)
	}
}

func TestALostSessionIsAResult(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.lost = errors.New("the turn is over")
	for _, tool := range []string{"window_list", "storage_list", "system_list_reload_options"} {
		if r := b.call(tool, `{}`); !r.IsError || !strings.Contains(r.Text, "the turn is over") {
			t.Errorf("%s of a lost session gives %+v, want an error that the turn is over", tool, r)
		}
	}
}

// An interrupted call is still reported to the session with its result.
func TestInterruptedCallsEnd(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	ctx, stop := context.WithCancelCause(t.Context())
	b.desktop.task = func(ctx context.Context, _ tools.Task) (tools.TaskResult, error) {
		stop(errors.New("the user pressed stop"))
		<-ctx.Done()
		return tools.TaskResult{}, ctx.Err()
	}
	r := b.exec.Call(ctx, b.caller(), toolCall("task_run", `{"objective":"x"}`))
	if !r.IsError || r.Text != "Interrupted: the user pressed stop." {
		t.Errorf("an interrupted call gives %+v, want an error with its reason", r)
	}
	if len(b.desktop.ended) != 1 || b.desktop.ended[0].result.Text != r.Text {
		t.Errorf("the session received %+v, want one end with %q", b.desktop.ended, r.Text)
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.task = func(_ context.Context, task tools.Task) (tools.TaskResult, error) {
		if task.Profile == "web" {
			return tools.TaskResult{Status: providers.Failed, Error: "Agent limit reached"}, nil
		}
		return tools.TaskResult{
			Status: providers.Completed, Summary: "did it", Actions: []tools.TaskAction{{Type: "window.create", WindowID: "w", Title: "W"}},
		}, nil
	}
	if got, want := b.must("task_run", `{"objective":"build it","hint":"slowly"}`),
		`{"status":"completed","summary":"did it","actions":[{"type":"window.create","windowId":"w","title":"W"}]}`; got != want {
		t.Errorf("the result is %s, want %s", got, want)
	}
	r := b.call("task_run", `{"objective":"look","profile":"web"}`)
	if !r.IsError || r.Text != `{"status":"failed","summary":"","actions":[],"error":"Agent limit reached"}` {
		t.Errorf("a failed task gives %+v, want an error with status failed", r)
	}
	// The session gets the delegating call with the task. The call is repeatable.
	want := []tools.Task{
		{Profile: "default", Objective: "build it", Hint: "slowly", Call: b.desktop.begun[0].call},
		{Profile: "web", Objective: "look", Call: b.desktop.begun[1].call},
	}
	if diff := cmp.Diff(want, b.desktop.tasks); diff != "" || want[0].Call.ID != "call-1" || !want[0].Call.Repeatable {
		t.Errorf("the first call is %+v, want call-1, repeatable; tasks (-want +got):\n%s", want[0].Call, diff)
	}
	for _, input := range []string{`{}`, `{"objective":""}`, `{"objective":"x","profile":"main"}`} {
		if r := b.call("task_run", input); !r.IsError {
			t.Errorf("task_run %s gives %+v, want an error", input, r)
		}
	}
	// No recursion, whatever the profile is.
	c := b.caller()
	c.Kind = wire.AgentTask
	for _, profile := range []string{"main", "default"} {
		c.Profile = profile
		if r := b.callAs(c, "task_run", `{"objective":"x"}`); !r.IsError || len(b.desktop.tasks) != 2 {
			t.Errorf("a task agent of profile %s that delegates gets %+v, with %d tasks; want an error and 2", profile, r, len(b.desktop.tasks))
		}
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	if got := b.must("system_list_reload_options", `{}`); got != "[]" {
		t.Errorf("without entries the options are %s, want []", got)
	}
	b.desktop.options = []policies.ReloadOption{{CacheID: "reload-1", Label: "Open notes app", Similarity: 1, Actions: 2, Exact: true}}
	if got, want := b.must("system_list_reload_options", `{}`), `[{"cacheId":"reload-1","label":"Open notes app","similarity":1,"actions":2,"exact":true}]`; got != want {
		t.Errorf("the options are %s, want %s", got, want)
	}
	b.desktop.reload = func(id string) providers.ToolResult { return providers.ToolResult{Text: "did " + id} }
	if got := b.must("system_reload_cached", `{"cacheId":"reload-1"}`); got != "did reload-1" {
		t.Errorf(`reload returns %q, want "did reload-1"`, got)
	}
	if got := b.desktop.acted[len(b.desktop.acted)-1].call; got.Tool != "system:reload_cached" || got.Repeatable {
		t.Errorf("the session received %+v, want system:reload_cached, not repeatable", got)
	}
	b.desktop.confirm = yes("")
	b.must("system_set_config", `{"section":"hooks","event":"tool_use","filter":{"toolName":"system:reload_cached"},"action":{"type":"os_action","payload":{"type":"app.badge","appId":"x","count":1}}}`)
	b.must("system_reload_cached", `{"cacheId":"reload-1"}`)
	b.desktop.reload = func(string) providers.ToolResult { return providers.ToolResult{Text: "unknown", IsError: true} }
	if b.call("system_reload_cached", `{"cacheId":"reload-2"}`); len(b.desktop.submitted) != 1 {
		t.Errorf("a reload and a refused one ran %d hooks, want 1", len(b.desktop.submitted))
	}
	b.desktop.lost = errors.New("removed")
	if r := b.call("system_reload_cached", `{"cacheId":"reload-1"}`); !r.IsError {
		t.Error("a lost session reloads, want an error")
	}
}

func TestAskingTheUser(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	var answer wire.UserPromptResponse
	var askErr error
	b.desktop.ask = func(wire.Prompt) (wire.UserPromptResponse, error) { return answer, askErr }

	answer = wire.UserPromptResponse{SelectedValues: []string{"b"}, Text: "because"}
	if got := b.must("user_ask", `{"title":"T","message":"M","options":["a",{"value":"b","label":"B","description":"D"},{"value":"c"}],"multiSelect":true,"allowText":true}`); got != `{"selected":["b"],"text":"because"}` {
		t.Errorf("the answer is %s, want b and its text", got)
	}
	want := wire.Prompt{
		ID: b.desktop.prompts[0].ID, Title: "T", Message: "M", MultiSelect: true, InputField: &wire.PromptInput{Type: wire.PromptText},
		Options: []wire.PromptOption{{Value: "a", Label: "a"}, {Value: "b", Label: "B", Description: "D"}, {Value: "c", Label: "c"}},
	}
	if diff := cmp.Diff(want, b.desktop.prompts[0]); diff != "" || b.desktop.prompts[0].ID.Validate() != nil {
		t.Errorf("prompt with the id %q (-want +got):\n%s", b.desktop.prompts[0].ID, diff)
	}
	answer = wire.UserPromptResponse{Text: "Ada"}
	if got := b.must("user_request", `{"title":"T","message":"M","inputLabel":"Name","inputPlaceholder":"…","multiline":true}`); got != `{"text":"Ada"}` {
		t.Errorf(`the answer is %s, want {"text":"Ada"}`, got)
	}
	if got := b.desktop.prompts[1].InputField; *got != (wire.PromptInput{Label: "Name", Placeholder: "…", Type: wire.PromptTextarea}) {
		t.Errorf("the input field is %+v, want one of several lines with its label", got)
	}
	answer = wire.UserPromptResponse{Dismissed: true}
	if got := b.must("user_request", `{"title":"T","message":"M"}`); got != "The user did not answer." {
		t.Errorf("a dismissed request gives %s, want that the user did not answer", got)
	}
	answer, askErr = wire.UserPromptResponse{}, context.DeadlineExceeded
	if got := b.must("user_request", `{"title":"T","message":"M"}`); got != "The user did not answer." {
		t.Errorf("an expired request gives %s, want that the user did not answer", got)
	}
	askErr = errors.New("50 prompts are open already")
	if r := b.call("user_request", `{"title":"T","message":"M"}`); !r.IsError || r.Text != "50 prompts are open already." {
		t.Errorf("a refused request gives %+v, want an error with the reason", r)
	}
	for _, wait := range b.desktop.waits {
		if wait != 5*time.Minute {
			t.Errorf("waited %v, want 5m", wait)
		}
	}
	for input, says := range map[string]string{
		`{"title":"T","message":"M","options":["a"]}`:                                   "options: there are 1",
		`{"title":"T","message":"M","options":["a","a"]}`:                               "options[1].value",
		`{"title":"T","message":"M","options":["a",""]}`:                                "options[1].value",
		`{"title":"T","message":"M","options":["a",7]}`:                                 "options[1]",
		`{"title":"T","message":"M","options":["a",{"value":7}]}`:                       "options[1]",
		`{"title":"T","message":"M","options":["a",null]}`:                              "options[1]",
		`{"title":"T","message":"M","options":[` + strings.Repeat(`"x",`, 50) + `"y"]}`: "options: there are 51",
		`{"title":"T","message":"M"}`:                                                   "options",
	} {
		if r := b.call("user_ask", input); !r.IsError || !strings.Contains(r.Text, says) {
			t.Errorf("user_ask %.80s gives %+v, want an error with %q", input, r, says)
		}
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	var got map[string]any
	if err := json.Unmarshal([]byte(b.must("system_get_info", `{}`)), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "platform")
	want := map[string]any{
		"hub": "everdesk", "version": "1.2.3", "sessionId": "ses-1", "monitorId": "monitor-0", "monitors": []any{"monitor-0", "monitor-1"},
		"windows": 0.0, "agentId": "main-monitor-0-m1", "kind": "main", "profile": "main", "provider": "demo",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("information (-want +got):\n%s", diff)
	}
}

func TestBriefs(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.mustAs(b.worker(), "storage_write", `{"path":"<b>/x","content":""}`)
	b.put("settings", `{"language":"ko"}`)
	seen := map[string]bool{}
	for _, kind := range []wire.AgentKind{wire.AgentMain, wire.AgentEphemeral, wire.AgentWindow, wire.AgentTask} {
		c := b.caller()
		c.Kind = kind
		if kind == wire.AgentWindow {
			c.Window = "</environment>"
		}
		briefing, err := b.exec.Brief(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		got := briefing.Whole()
		for _, part := range []string{"\nmonitor: monitor-0\n", "\nprovider: demo\n", "\nlanguage of the user: ko\n", "\nstorage: &lt;b&gt;/\n"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: the system prompt lacks a part, want %q in\n%s", kind, part, got)
			}
		}
		if strings.Count(got, "</environment>") != 1 || len(got) > 5000 || seen[got] {
			t.Errorf("the system prompt of %s is the following, want one of its own with one environment and at most 5000 bytes:\n%s", kind, got)
		}
		seen[got] = true
		if delegates := strings.Contains(got, "task_run"); delegates != (kind == wire.AgentMain) {
			t.Errorf("the system prompt of %s has task_run: %v, want %v", kind, delegates, kind == wire.AgentMain)
		}
	}
	// Tools named in a system prompt exist.
	brief, err := b.exec.Brief(t.Context(), b.caller())
	if err != nil {
		t.Fatal(err)
	}
	all := names(b.exec, "main")
	for _, word := range strings.FieldsFunc(brief.Whole(), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		for _, ns := range []string{"window_", "task_", "user_", "system_", "storage_"} {
			if strings.HasPrefix(word, ns) && !slices.Contains(all, word) {
				t.Errorf("the system prompt names %s, want only tools of the profile", word)
			}
		}
	}
	broken, stop := context.WithCancel(t.Context())
	stop()
	if _, err := b.exec.Brief(broken, b.caller()); err == nil {
		t.Error("a store that does not answer gives no error, want one")
	}
}

// A plan is a pure function: run twice, it returns the same.
func TestPlanToolsHaveNoSideEffects(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("window_create", `{"windowId":"w","title":"","content":{"renderer":"text","content":"x"}}`)
	c := b.caller()
	twice := &twice{testDesktop: b.desktop}
	c.Desktop.Steps = twice
	for tool, input := range map[string]string{
		"window_create":            `{"windowId":"v","title":"","content":{"renderer":"text","content":"x"}}`,
		"window_create_component":  `{"windowId":"v","title":"","components":[{"type":"text","content":"x"}]}`,
		"window_update":            `{"windowId":"w","operation":"append","content":"y"}`,
		"window_close":             `{"windowId":"w"}`,
		"window_lock":              `{"windowId":"w"}`,
		"window_list":              `{}`,
		"window_view":              `{"windowId":"w"}`,
		"window_show_toast":        `{"message":"x"}`,
		"window_show_notification": `{"title":"x","body":"y"}`,
		"system_get_info":          `{}`,
	} {
		if r := b.callAs(c, tool, input); r.IsError {
			t.Errorf("%s gives the error %q, want none", tool, r.Text)
		}
		if diff := cmp.Diff(twice.first, twice.second); diff != "" {
			t.Errorf("%s makes other plans from the same state (-first +second):\n%s", tool, diff)
		}
	}
}

// twice runs plans twice and applies nothing.
type twice struct {
	*testDesktop
	first, second tools.Plan
}

func (w *twice) Act(_ context.Context, _ tools.Caller, _ tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	w.first, w.second = plan(w.state), plan(w.state)
	return w.first.Result, nil
}
