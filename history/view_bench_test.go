package history_test

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

// long returns a thread of ten thousand messages, a third of them with calls.
func long() []history.Message {
	var all []history.Message
	add := func(role providers.Role, b ...providers.Block) {
		all = append(all, history.Message{ID: uint64(2 * (len(all) + 1)), Entry: providers.Entry{Role: role, Turn: "t", Blocks: b}})
	}
	for n := range 2500 {
		id := fmt.Sprint("call-", n)
		add(providers.RoleUser, words("question %d", n))
		add(providers.RoleAssistant, words("let me see"), providers.Block{Kind: providers.BlockToolCall, Call: id, Tool: "look", Input: []byte(`{"at":"here"}`)})
		add(providers.RoleUser, providers.Block{Kind: providers.BlockToolResult, Call: id, Tool: "look", Text: "seen"})
		add(providers.RoleAssistant, words("answer %d", n))
	}
	return all
}

func BenchmarkEffective(b *testing.B) {
	all := long()
	b.ReportAllocs()
	for b.Loop() {
		history.Effective(all)
	}
}

func BenchmarkView(b *testing.B) {
	all := long()
	b.ReportAllocs()
	for b.Loop() {
		history.View(all)
	}
}

func BenchmarkCheck(b *testing.B) {
	view := history.View(long())
	b.ReportAllocs()
	for b.Loop() {
		if err := providers.Check(view); err != nil {
			b.Fatal(err)
		}
	}
}
