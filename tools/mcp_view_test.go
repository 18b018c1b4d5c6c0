package tools_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// withView gives the bench an MCP server whose tool read has a view.
func withView(t *testing.T, trusted bool) (*bench, *fakeServers) {
	t.Helper()
	b, f := withServers(t, trusted)
	f.tools[0].UI = &mcpclient.UI{ResourceURI: "ui://files/list"}
	f.tools[0].Title = "Files"
	f.raw = json.RawMessage(`{"content":[{"type":"text","text":"two files"}],"structuredContent":{"n":2}}`)
	return b, f
}

// submittedActions returns the actions that tools have submitted.
func submittedActions(b *bench) (out []wire.Action) {
	for _, m := range b.desktop.submitted {
		if e, ok := m.Data.(wire.Emit); ok {
			out = append(out, e.Actions...)
		}
	}
	return out
}

func TestToolWithAViewOpensAWindow(t *testing.T) {
	t.Parallel()
	b, f := withView(t, true)
	r := b.callAs(b.caller(), "mcp__files__read", `{"path":"a"}`)
	if r.IsError || !strings.Contains(r.Text, "The user sees the result in the window view-") {
		t.Errorf("the result is %q, want that a window shows it", r.Text)
	}
	opened := submittedActions(b)
	if len(opened) != 1 {
		t.Fatalf("%d actions were submitted, want one", len(opened))
	}
	create, ok := opened[0].(wire.WindowCreate)
	if !ok || create.Title != "Files" {
		t.Fatalf("the action is %+v, want a new window with the title of the tool", opened[0])
	}
	got, ok := create.Content.(wire.MCPAppContent)
	if want := (wire.MCPApp{Server: "files", Tool: "read", URI: "ui://files/list"}); !ok || got.Data.Server != want.Server || got.Data.Tool != want.Tool || got.Data.URI != want.URI {
		t.Errorf("the content is %+v, want %+v", create.Content, want)
	}
	if string(got.Data.Input) != `{"path":"a"}` || string(got.Data.Result) != string(f.raw) {
		t.Errorf("the window has the input %s and the result %s, want those of the call", got.Data.Input, got.Data.Result)
	}
	f.raw = json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 300<<10) + `"}]}`)
	b.callAs(b.caller(), "mcp__files__read", `{}`)
	all := submittedActions(b)
	if create, ok = all[len(all)-1].(wire.WindowCreate); !ok || len(create.Content.(wire.MCPAppContent).Data.Result) > 1000 {
		t.Errorf("the window of a large result is %+v, want that it is too large", all[len(all)-1])
	}
}

func TestFailedCallOpensNoWindow(t *testing.T) {
	t.Parallel()
	b, f := withView(t, true)
	f.err = &mcpclient.UncertainError{Server: "files", Err: io.EOF}
	if r := b.callAs(b.caller(), "mcp__files__read", `{}`); !r.IsError || len(submittedActions(b)) != 0 {
		t.Errorf("the result is %q with %d actions, want an error and none", r.Text, len(submittedActions(b)))
	}
}

func TestViewsCallToolsAfterAPermission(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool                  string
		trusted, allowed, ask bool
		fails                 bool
	}{
		"a trusted one that reads":    {tool: "read", trusted: true},
		"an untrusted one that reads": {tool: "read", ask: true},
		"one that writes":             {tool: "write", trusted: true, ask: true},
		"one that the user allowed":   {tool: "write", allowed: true},
		"one that does not exist":     {tool: "none", allowed: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := withView(t, tt.trusted)
			r, ask := b.exec.CallForView(t.Context(), tools.ViewCall{User: "ann", Session: "s", Window: "w", Server: "files", Tool: tt.tool, Input: json.RawMessage(`{}`), Allowed: tt.allowed})
			if ask != tt.ask || r.IsError != tt.fails || (len(f.calls) == 1) != (!tt.ask && !tt.fails) {
				t.Errorf("got %q, error %v, asks %v, %d calls; want %+v", r.Text, r.IsError, ask, len(f.calls), tt)
			}
			if !ask && !r.IsError && r.Text != string(f.raw) {
				t.Errorf("the result is %q, want that of the server", r.Text)
			}
		})
	}
}

func TestQuestionOfAViewRunsNothing(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		b, f := withView(t, true)
		var asked wire.DialogConfirm
		b.desktop.confirm = func(q wire.DialogConfirm) (tools.Verdict, error) {
			asked = q
			return tools.Verdict{Answered: true, Confirmed: yes}, nil
		}
		c := b.caller()
		c.ViewOf = "files"
		r := b.callAs(c, "write", `{"path":"a.txt"}`)
		if r.IsError == yes || len(f.calls) != 0 || !strings.Contains(asked.Title, "write of the MCP server files") || !strings.Contains(asked.Message, "a.txt") {
			t.Errorf("answer %v: got %q after %d calls and the question %q %q, want no call", yes, r.Text, len(f.calls), asked.Title, asked.Message)
		}
		if r := b.callAs(c, "window_list", `{}`); !r.IsError {
			t.Errorf("a view got %q from a tool of the hub, want a refusal", r.Text)
		}
	}
}
