package loop_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// Every request is valid, whatever the conversation is and wherever it was truncated.
func TestRequestsMakeSense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		ids := rapid.SampledFrom([]string{"c1", "c2", "c3"})
		block := rapid.Custom(func(r *rapid.T) providers.Block {
			b := providers.Block{Kind: rapid.SampledFrom([]providers.BlockKind{
				providers.BlockText, providers.BlockThinking, providers.BlockImage,
				providers.BlockToolCall, providers.BlockToolResult, providers.BlockOpaque,
			}).Draw(r, "kind")}
			b.Text = rapid.SampledFrom([]string{"", " \n", "words"}).Draw(r, "text")
			b.From = rapid.SampledFrom([]string{"", "here", "elsewhere"}).Draw(r, "from")
			b.Call = ids.Draw(r, "call")
			b.Input = json.RawMessage(rapid.SampledFrom([]string{"", "{}", "[]", "null", `{"a":`, `"text"`}).Draw(r, "input"))
			if rapid.Bool().Draw(r, "picture") {
				b.Image = &providers.Image{MediaType: "image/png"}
			}
			return b
		})
		entry := rapid.Custom(func(r *rapid.T) providers.Entry {
			return providers.Entry{
				Role:   rapid.SampledFrom([]providers.Role{providers.RoleUser, providers.RoleAssistant}).Draw(r, "role"),
				Turn:   rapid.SampledFrom([]string{"t1", "t2"}).Draw(r, "turn"),
				Blocks: rapid.SliceOfN(block, 0, 4).Draw(r, "blocks"),
			}
		})
		k := open(t, providers.Spec{From: providers.Thread{Entries: rapid.SliceOfN(entry, 0, 8).Draw(r, "entries")}})
		k.send("m", providers.Start, "go")
		k.end("m")
		judge(r, k.model.asked(t, 0))
	})
}

// judge checks a request against the contract of [loop.Request].
func judge(r *rapid.T, q loop.Request) {
	if err := providers.Check(q.Entries); err != nil {
		r.Fatalf("%v:\n%s", err, outline(q.Entries))
	}
	for _, e := range q.Entries {
		for _, b := range e.Blocks {
			if (b.Kind == providers.BlockThinking || b.Kind == providers.BlockOpaque) && b.From != "here" {
				r.Fatalf("a block of %q is shown, want only those of here", b.From)
			}
		}
	}
	if q.Entries[len(q.Entries)-1].Role != providers.RoleUser {
		r.Fatalf("the last entry is not the user's, want it to be:\n%s", outline(q.Entries))
	}
}
