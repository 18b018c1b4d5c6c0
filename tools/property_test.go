package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// values generates parts of inputs: field names and values.
func values() *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"w", "monitor-1/x", "../x", "iframe", "table", "component", "append", "insertAt", "hooks", "settings", "launch", "tool_use",
		"interaction", "os_action", "window:create", "web", "manifest", "always", "text", "button", "javascript:x", "\x00", "\u202e", "",
	}))
	leaf := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.Int(), func(i int) any { return i }),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Just[any](nil),
	)
	fields := rapid.SampledFrom([]string{
		"windowId", "title", "content", "renderer", "x", "width", "components", "type", "label", "action", "operation", "position", "id",
		"message", "options", "value", "path", "offset", "section", "event", "filter", "toolName", "payload", "objective", "profile", "cacheId",
		"stateKey", "command", "params", "hookId", "permission", "includeImage", "cols", "gap", "jsonfile", "body", "language",
	})
	return rapid.Custom(func(t *rapid.T) any {
		object := map[string]any{}
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			var v any
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				v = map[string]any{fields.Draw(t, "field"): leaf.Draw(t, "value"), fields.Draw(t, "field"): leaf.Draw(t, "value")}
			case 1:
				v = []any{leaf.Draw(t, "item"), map[string]any{fields.Draw(t, "field"): leaf.Draw(t, "value")}}
			default:
				v = leaf.Draw(t, "value")
			}
			object[fields.Draw(t, "field")] = v
		}
		return object
	})
}

// For any input the result is bounded text, the session gets every call with its end, and
// nothing panics.
func TestAnyInputHasAResult(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	fileStore, err := files.Open(t.TempDir(), files.Config{SessionBytes: 1 << 20, SessionFiles: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fileStore.Close() })
	exec := tools.New(tools.Config{Files: fileStore, Documents: b.docs, Logger: slog.New(slog.DiscardHandler)})
	all := append(names(exec, "main"), append(names(exec, "default"), "nothing", "")...)
	generator := values()
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesktop(t, "ses-1")
		d.confirm = yes(wire.RememberOnce)
		d.ask = func(wire.Prompt) (wire.UserPromptResponse, error) { return wire.UserPromptResponse{}, nil }
		d.show = func(wire.Action) (wire.RenderingFeedback, bool, error) { return wire.RenderingFeedback{}, true, nil }
		d.app = func(wire.AppRequest) (wire.AppResponse, error) { return nil, errors.New("no app") }
		d.task = func(context.Context, tools.Task) (tools.TaskResult, error) { return tools.TaskResult{}, nil }
		d.options = []policies.ReloadOption{{}}
		d.reload = func(string) providers.ToolResult { return providers.ToolResult{Text: "again"} }
		c := b.caller()
		c.Desktop = d.roles()
		for range 5 {
			c.Profile = rapid.SampledFrom([]string{"main", "default"}).Draw(rt, "profile")
			tool := rapid.SampledFrom(all).Draw(rt, "tool")
			input := rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")
			if rapid.IntRange(0, 4).Draw(rt, "form") > 0 {
				text, err := json.Marshal(generator.Draw(rt, "input"))
				if err != nil {
					rt.Fatal(err)
				}
				input = text
			}
			before := len(d.acted) + len(d.ended)
			r := exec.Call(t.Context(), c, providers.ToolCall{ID: "c", Name: tool, Input: input})
			if r.Text == "" || !utf8.ValidString(r.Text) || utf8.RuneCountInString(r.Text) > 50_100 || strings.Contains(r.Text, wire.CodeExecutionFailed.Info().Message) {
				rt.Fatalf("%s %s: %+v, want a text of at most 50100 characters that is no internal failure", tool, input, r)
			}
			if len(d.acted)+len(d.ended) != before+1 || len(d.begun) != len(d.ended) {
				rt.Fatalf("%s %s: the session received %d plans, %d starts, %d ends, want one more, and as many starts as ends", tool, input, len(d.acted), len(d.begun), len(d.ended))
			}
		}
	})
}
