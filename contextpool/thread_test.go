package contextpool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

func TestConversationsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 100 { // six entries each
		id := fmt.Sprintf("m%d", i)
		run := r.direct(id)
		checkThread(t, run.From.Entries)
		for range 3 {
			r.remember(run, toolCall(id, strings.Repeat("x", 2000), "c"), toolResult(id, "c"))
		}
		r.ended(run)
		size := 0
		for _, e := range r.kept.lists["api:main-monitor-0"] {
			size += len(e)
		}
		if n := len(r.kept.lists["api:main-monitor-0"]); n > 400 || size > 1<<20 {
			t.Fatalf("the thread has %d entries of %d bytes, want at most 400 of 1 MiB", n, size)
		}
	}
	r.crash()
}

// checkThread checks that a backend can continue the conversation.
func checkThread(t *testing.T, entries []providers.Entry) {
	t.Helper()
	open := map[string]bool{}
	for i, e := range entries {
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				open[b.Call] = true
			case providers.BlockToolResult:
				if !open[b.Call] {
					t.Fatalf("entry %d has the result of no call, want its call before it", i)
				}
				delete(open, b.Call)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without results: %v, want none", open)
	}
}

// A single long turn is bounded and keeps its first message.
func TestALongTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, providers.Entry{Role: providers.RoleUser, Turn: "m1", Blocks: []providers.Block{{Kind: providers.BlockText, Text: "the prompt"}}})
	for i := range 500 {
		id := fmt.Sprintf("c%d", i)
		result := toolResult("m1", id)
		result.Blocks[0].Text = strings.Repeat("y", 10_000)
		r.remember(run, toolCall("m1", "x", id), result)
	}
	r.ended(run)
	entries := r.direct("m2").From.Entries
	checkThread(t, entries)
	if len(entries) > 400 || entries[0].Blocks[0].Text != "the prompt" {
		t.Fatalf(`%d entries, the first is %+v, want at most 400, the first "the prompt"`, len(entries), entries[0])
	}
}

func TestEntriesAreKeptWhateverIsInThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	big := strings.Repeat("z", 400_000)
	r.remember(run, providers.Entry{Role: providers.RoleAssistant, Turn: "m1", Blocks: []providers.Block{
		{Kind: providers.BlockToolCall, Call: "c1", Tool: "t", Input: json.RawMessage("{not json")},
		{Kind: providers.BlockOpaque, From: "demo", Opaque: json.RawMessage("nor this")},
		{Kind: providers.BlockText, Text: "bad \xff utf8"},
		{Kind: providers.BlockToolCall, Call: "c2", Tool: "t", Input: json.RawMessage(`{"a":"` + big + `"}`)},
		{Kind: providers.BlockThinking, Text: big, Signature: big},
		{Kind: providers.BlockImage, Image: &providers.Image{MediaType: "image/png", Data: []byte(big)}},
		{Kind: providers.BlockToolResult, Call: "c3", Text: big, Images: []providers.Image{{Data: []byte(big)}}},
	}})
	list := r.kept.lists["api:main-monitor-0"]
	if len(list) != 1 || len(list[0]) > 256<<10 {
		t.Fatalf("%d entries, the first of %d bytes, want one of at most 256 KiB", len(list), len(list[0]))
	}
	r.crash()
}

// Tool results are matched to their calls for any call id.
func TestResultsFitTheirCalls(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-", 100)
	for name, c := range map[string]struct {
		calls   []string
		results [][]string
		want    string
	}{
		"an id that is too long":     {[]string{long}, [][]string{{long}}, "result of " + long},
		"a wrong id":                 {[]string{"a", "b"}, [][]string{{"a", "x"}}, "result of a, result of x"},
		"one after the other":        {[]string{"a", "b"}, [][]string{{"b"}, {"a"}}, "result of a, result of b"},
		"the same twice":             {[]string{"a"}, [][]string{{"a", "a"}}, "result of a"},
		"a call that was not made":   {nil, [][]string{{"a"}}, "[Result"},
		"one that has come too late": {[]string{"a"}, [][]string{{"a"}, {"a"}}, "result of a, [Result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			run := r.direct("m1")
			r.remember(run, userSays("m1", "do it"), toolCall("m1", "so", c.calls...))
			for _, ids := range c.results {
				r.remember(run, toolResult("m1", ids...))
			}
			r.remember(run, said("m1", "done"))
			r.ended(run)
			entries := r.direct("m2").From.Entries
			checkThread(t, entries)
			if err := providers.Check(entries); err != nil {
				t.Error(err)
			}
			var got []string
			for _, b := range entries[2].Blocks {
				if strings.HasPrefix(b.Text, "[Result") {
					b.Text = "[Result"
				}
				got = append(got, b.Text)
			}
			wantEqual(t, strings.Join(got, ", "), c.want)
		})
	}
}
