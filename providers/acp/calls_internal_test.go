package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Calls of agents get the names and inputs that the rules know. Rules that allow everything in the
// working directory decide on them.
func TestTranslate(t *testing.T) {
	t.Parallel()
	dir := workDir{path: "/work"}
	rules := wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowReadOnly: true, AlwaysAllowWrite: true, AlwaysAllowExecute: true, AllowedCommands: []string{"git status"},
	}
	for name, tt := range map[string]struct {
		report  string
		tool    string
		input   string
		verdict approval.Verdict
	}{
		"command":            {`{"kind":"execute","rawInput":{"command":"git status","description":"x"}}`, "shell", `{"command":"git status"}`, approval.Approve},
		"command in words":   {`{"kind":"execute","rawInput":{"command":["/bin/bash","-lc","git status"],"cwd":"/work"}}`, "shell", `{"command":"git status","cwd":"."}`, approval.Approve},
		"shell of its own":   {`{"kind":"execute","rawInput":{"command":["./bash","-c","git status"]}}`, "shell", `{"command":"./bash -c 'git status'"}`, approval.AskUser},
		"shell in the dir":   {`{"kind":"execute","rawInput":{"command":["/work/bash","-c","git status"]}}`, "shell", `{"command":"/work/bash -c 'git status'"}`, approval.AskUser},
		"shell it may write": {`{"kind":"execute","rawInput":{"command":["/tmp/bash","-c","git status"]}}`, "shell", `{"command":"/tmp/bash -c 'git status'"}`, approval.AskUser},
		"quoted words":       {`{"kind":"execute","rawInput":{"command":["git","push","a b"]}}`, "shell", `{"command":"git push 'a b'"}`, approval.AskUser},
		"command elsewhere":  {`{"kind":"execute","rawInput":{"command":"git status","cwd":"/etc"}}`, "shell", `{"command":"git status","cwd":"/etc"}`, approval.AskUser},
		"only a title":       {`{"kind":"execute","title":"git status"}`, "shell", `{"input":null,"title":"git status"}`, approval.AskUser},
		"edit":               {`{"kind":"edit","content":[{"type":"diff","path":"/work/a.txt","oldText":"a\nb\n","newText":"a\nc\n"}]}`, "apply_patch", `{"patch":"+++ a.txt\n@@\n a\n-b\n+c\n"}`, approval.Approve},
		"edit outside":       {`{"kind":"edit","content":[{"type":"diff","path":"/etc/passwd","newText":"x"}]}`, "apply_patch", `{"patch":"+++ /etc/passwd\n@@\n+x\n"}`, approval.AskUser},
		"edit above":         {`{"kind":"edit","content":[{"type":"diff","path":"/work/../etc/passwd","newText":"x"}]}`, "apply_patch", `{"patch":"+++ /work/../etc/passwd\n@@\n+x\n"}`, approval.AskUser},
		"edit protected":     {`{"kind":"edit","content":[{"type":"diff","path":"/work/.git/config","newText":"x"}]}`, "apply_patch", `{"patch":"+++ .git/config\n@@\n+x\n"}`, approval.AskUser},
		"read":               {`{"kind":"read","rawInput":{"path":"/work/a.txt"}}`, "read", `{"path":"a.txt"}`, approval.Approve},
		"read outside":       {`{"kind":"read","rawInput":{"path":"/etc/passwd"}}`, "read", `{"path":"/etc/passwd"}`, approval.AskUser},
		"delete":             {`{"kind":"delete","rawInput":{"path":"a.txt"}}`, "delete", `{"path":"a.txt"}`, approval.AskUser},
		"fetch":              {`{"kind":"fetch","rawInput":{"url":"https://example.org"}}`, "fetch", `{"url":"https://example.org"}`, approval.AskUser},
		"chosen by a model":  {`{"kind":"other","title":"read"}`, "agent tool: read", `{"title":"read"}`, approval.AskUser},
		"without everything": {`{}`, "agent tool", `{}`, approval.AskUser},
	} {
		c := toolCall{report: decode[report](json.RawMessage(tt.report))}
		got := c.translate(dir)
		if got.Name != tt.tool || string(got.Input) != tt.input {
			t.Errorf("%s: got %s %s, want %s %s", name, got.Name, got.Input, tt.tool, tt.input)
		}
		if v := approval.Decide(rules, approval.NewQuestion(got.Name, got.Input)); v != tt.verdict {
			t.Errorf("%s: the rules say %s, want %s", name, v, tt.verdict)
		}
	}
}

// Calls of the hub's tools need no approval of the agent. Nothing else passes for one.
func TestHubTool(t *testing.T) {
	t.Parallel()
	tools := []providers.Tool{{Name: "look"}}
	for text, want := range map[string]string{
		`{"title":"everdesk_look","kind":"other"}`:                       "look",
		`{"title":"mcp__everdesk__look"}`:                                "look",
		`{"title":"look (everdesk MCP Server)","kind":"other"}`:          "look",
		`{"toolCallId":"mcp_everdesk_look-12","title":"{}"}`:             "look",
		`{"title":"everdesk_look","kind":"execute"}`:                     "",
		`{"title":"everdesk_look; rm -r x","kind":"other"}`:              "",
		`{"title":"everdesk_nonesuch","kind":"other"}`:                   "",
		`{"title":"look","kind":"other"}`:                                "",
		`{"toolCallId":"bash-mcp_everdesk_look","title":"everdesk"}`:     "",
		`{"title":"everdesk_look","kind":"edit","rawInput":{"a":"b"}}`:   "",
		`{"title":"everdesk_look","kind":"delete","rawInput":{"a":1}}`:   "",
		`{"title":"everdesk_look ","kind":"fetch","rawInput":{"a":"b"}}`: "",
	} {
		if got := hubTool(tools, decode[report](json.RawMessage(text))); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// Codex-acp reports a call of an MCP server as an execution, with the call in its input. A command that looks
// like it does not pass for one.
func TestWrappedCall(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"title":"mcp.everdesk.look","kind":"execute","rawInput":{"server":"everdesk","tool":"look","arguments":{"a":1}}}`:                  `look {"a":1}`,
		`{"title":"mcp.everdesk.look","kind":"execute","rawInput":{"server":"everdesk","tool":"look","arguments":{"a":1},"command":"rm x"}}`: " ",
		`{"title":"mcp.everdesk.look","kind":"execute","rawInput":{"server":"files","tool":"look","arguments":{"a":1}}}`:                     " ",
		`{"title":"everdesk_look","kind":"execute","rawInput":{"server":"everdesk","tool":"look","arguments":{"a":1}}}`:                      " ",
		`{"title":"mcp.everdesk.other","kind":"execute","rawInput":{"server":"everdesk","tool":"other","arguments":{"a":1}}}`:                " ",
		`{"title":"mcp.everdesk.look","kind":"execute","rawInput":{"command":"mcp.everdesk.look"}}`:                                          " ",
	} {
		tool, input := wrappedCall([]providers.Tool{{Name: "look"}}, decode[report](json.RawMessage(text)))
		if got := tool + " " + string(input); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A call is found by its input, or without it if one side does not have it.
func TestClaim(t *testing.T) {
	t.Parallel()
	known := func(id, input string) hubCall { return hubCall{id, "look", plainInput(json.RawMessage(input))} }
	list := []hubCall{known("a", ``), known("b", `{"x":1,"y":2}`), {"c", "other", unknownInput}}
	for _, tt := range []struct{ input, want string }{{`{"y":2,"x":1}`, "b"}, {`{"x":3}`, "a"}, {`{"x":3}`, ""}} {
		if got, ok := claim(&list, "look", json.RawMessage(tt.input)); got.id != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: got call %q, want %q", tt.input, got.id, tt.want)
		}
	}
	list = []hubCall{known("a", `{"x":1}`)}
	if got, ok := claim(&list, "look", nil); !ok || got.id != "a" {
		t.Errorf("without an input: got call %q, want a", got.id)
	}
}

// The output of a command that comes in pieces, beside the content, is its result.
func TestTerminalOutputIsTheResult(t *testing.T) {
	t.Parallel()
	b := &backend{calls: map[string]*toolCall{}}
	var c toolCall
	for _, text := range []string{
		`{"toolCallId":"1","kind":"execute","status":"in_progress","content":[{"type":"terminal","terminalId":"1"}]}`,
		`{"toolCallId":"1","_meta":{"terminal_output_delta":{"data":"a\nb","terminal_id":"1"}}}`,
		`{"toolCallId":"1","status":"completed","_meta":{"terminal_output":{"data":"c\n"},"terminal_exit":{"exit_code":0}}}`,
	} {
		c = b.merge(decode[report](json.RawMessage(text)))
	}
	if got := c.result(workDir{}); got != "a\nbc\n" {
		t.Errorf("the result is %q, want all pieces", got)
	}
	if c = b.merge(report{ID: "1", Meta: reportMeta{Delta: terminalOutput{strings.Repeat("x", 2*maxTerminal)}}}); len(c.terminal) != maxTerminal {
		t.Errorf("the output has %d bytes, want %d at most", len(c.terminal), maxTerminal)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, after, want string }{
		{"", "a\nb\n", "+a\n+b\n"},
		{"a\n", "", "-a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", " 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"a\na\n", "a\na\na\n", " a\n a\n+a\n"},
		{"same", "same", " same\n"},
	} {
		want := "+++ f\n@@\n" + tt.want
		if got := diff("f", tt.before, tt.after); got != want {
			t.Errorf("%q to %q: got %q, want %q", tt.before, tt.after, got, want)
		}
	}
}
