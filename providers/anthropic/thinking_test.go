package anthropic_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
)

func TestThinkingIsRequested(t *testing.T) {
	t.Parallel()
	const budget = `{"type":"enabled","budget_tokens":2048}`
	const adaptive = `{"type":"adaptive","display":"summarized"}`
	tests := map[string]struct{ model, effort, thinking, output string }{
		"a model of today":    {"claude-sonnet-4-5", "", budget, ""},
		"with a date":         {"claude-sonnet-4-20250514", "", budget, ""},
		"the first that can":  {"claude-3-7-sonnet-latest", "", budget, ""},
		"one that cannot":     {"claude-3-5-haiku-20241022", "", "", ""},
		"another vendor's":    {"qwen3", "", "", ""},
		"much":                {"claude-opus-4-5", "high", `{"type":"enabled","budget_tokens":12288}`, ""},
		"none":                {"claude-opus-4-5", "minimal", "", ""},
		"adaptive":            {"claude-opus-4-6", "", adaptive, ""},
		"adaptive, with much": {"claude-opus-4-7", "high", adaptive, `{"effort":"high"}`},
		"a later version":     {"claude-sonnet-5", "low", adaptive, `{"effort":"low"}`},
		"adaptive, none":      {"claude-opus-4-7", "minimal", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := open(t, anthropic.Config{Model: tt.model}, providers.Spec{Effort: tt.effort})
				if e := k.turn("/think hm\n/say yes"); e.Outcome != providers.Completed || k.said() != "yes" {
					t.Fatalf("the turn ended %s with %q: %v, want %s with yes", e.Outcome, k.said(), e.Err, providers.Completed)
				}
				var sent struct {
					Thinking json.RawMessage `json:"thinking"`
					Output   json.RawMessage `json:"output_config"`
				}
				if err := json.Unmarshal(k.fake.Requests()[0].Body, &sent); err != nil {
					t.Fatal(err)
				}
				if string(sent.Thinking) != tt.thinking || string(sent.Output) != tt.output {
					t.Errorf("the request has thinking %s and output_config %s, want %s and %s", sent.Thinking, sent.Output, tt.thinking, tt.output)
				}
			})
		})
	}
}

// The API refuses thinking in the middle of a turn whose calls were made without it.
func TestTurnOfAnotherBackendContinuesWithoutThinking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, anthropic.Config{}, providers.Spec{From: providers.Thread{Entries: []providers.Entry{
			{Role: providers.RoleUser, Turn: "m", Blocks: []providers.Block{{Kind: providers.BlockText, Text: "/call win {}\n/say done", Origin: "m"}}},
			{Role: providers.RoleAssistant, Turn: "m", Blocks: []providers.Block{{Kind: providers.BlockToolCall, Call: "c", Tool: "win", Input: json.RawMessage(`{}`)}}},
		}}, Tools: []providers.Tool{{Name: "win"}}})
		if err := k.Send(t.Context(), providers.Message{ID: "m", Mode: providers.Continue, Done: map[string]providers.ToolResult{"c": {Text: "ok"}}}); err != nil {
			t.Fatal(err)
		}
		if e := <-k.ends; e.Outcome != providers.Completed {
			t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
		}
		if got := k.request(0)["thinking"]; got != nil {
			t.Errorf("the request has thinking %v, want none", got)
		}
	})
}
