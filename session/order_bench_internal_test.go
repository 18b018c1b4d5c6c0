package session

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// BenchmarkInboxItem encodes and decodes a command on its way through the inbox.
func BenchmarkInboxItem(b *testing.B) {
	it := item{cmd: Command{
		From: Sender{Connection: "conn-1", User: "ada", Monitor: "monitor-0"},
		Message: wire.Message{ID: "m-1", Data: wire.Emit{Actions: []wire.Action{
			wire.WindowSetContent{WindowID: "w", Content: wire.TextContent{Data: strings.Repeat("x", 256)}},
		}}},
	}}
	data, err := it.encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			if _, err := it.encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := decodeItem(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
