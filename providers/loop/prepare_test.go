package loop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// Whatever a conversation is, and wherever it was cut, the model is asked
// something that makes sense.
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

// judge holds a request against what [loop.Request] promises.
func judge(r *rapid.T, q loop.Request) {
	open := map[string]int{}
	for i, e := range q.Entries {
		if (e.Role == providers.RoleUser) != (i%2 == 0) || len(e.Blocks) == 0 {
			r.Fatalf("entries do not alternate, or are empty:\n%s", outline(q.Entries))
		}
		other := false
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockText:
				if strings.TrimSpace(b.Text) == "" {
					r.Fatalf("a text is blank:\n%s", outline(q.Entries))
				}
			case providers.BlockThinking, providers.BlockOpaque:
				if b.From != "here" {
					r.Fatalf("a block of %q is shown", b.From)
				}
			case providers.BlockImage:
				if b.Image == nil {
					r.Fatalf("a picture is none")
				}
			case providers.BlockToolCall:
				var o map[string]any
				if err := json.Unmarshal(b.Input, &o); err != nil || o == nil {
					r.Fatalf("an input is %s", b.Input)
				}
				if open[b.Call]++; open[b.Call] > 1 || e.Role != providers.RoleAssistant {
					r.Fatalf("call %s has no place there:\n%s", b.Call, outline(q.Entries))
				}
			case providers.BlockToolResult:
				if other || open[b.Call] == 0 {
					r.Fatalf("a result of %s has no place there:\n%s", b.Call, outline(q.Entries))
				}
				open[b.Call]--
			}
			other = other || b.Kind != providers.BlockToolResult
		}
		if last := e.Blocks[len(e.Blocks)-1]; e.Role == providers.RoleAssistant && (last.Kind == providers.BlockThinking || last.Kind == providers.BlockOpaque) {
			r.Fatalf("an entry ends with thinking:\n%s", outline(q.Entries))
		}
		for id, n := range open {
			if e.Role == providers.RoleUser && n != 0 {
				r.Fatalf("call %s has %d results too few:\n%s", id, n, outline(q.Entries))
			}
		}
	}
	if q.Entries[len(q.Entries)-1].Role != providers.RoleUser {
		r.Fatalf("the model speaks last:\n%s", outline(q.Entries))
	}
}
