package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sendMessage builds a message of send.lua with one command per entry id.
func sendMessage(prev string, entries ...string) string {
	var text strings.Builder
	text.WriteString(prev + "\n")
	for _, e := range entries {
		data := store.Schema{}.Seal(nil, []byte("data\nof "+e))
		_, _ = fmt.Fprintf(&text, "%s %d %d\n%s%s", e, len("id "+e), len(data), "id "+e, data)
	}
	return text.String()
}

// Commands of a message count only if they continue what the owner has; otherwise it must read.
func TestDecodeInboxMessage(t *testing.T) {
	t.Parallel()
	whole := sendMessage("7-0", "8-0", "8-1")
	for name, tt := range map[string]struct {
		at      wire.Position
		message string
		ok      bool
		last    wire.Position
	}{
		"continues":              {wire.Position{Epoch: 7}, whole, true, wire.Position{Epoch: 8, Seq: 1}},
		"known":                  {wire.Position{Epoch: 8, Seq: 1}, whole, true, wire.Position{Epoch: 8, Seq: 1}},
		"known in part":          {wire.Position{Epoch: 8}, whole, false, wire.Position{}},
		"gap":                    {wire.Position{Epoch: 6, Seq: 9}, whole, false, wire.Position{}},
		"nothing received yet":   {wire.Position{}, whole, false, wire.Position{}},
		"first command at all":   {wire.Position{}, sendMessage("", "8-0"), false, wire.Position{}},
		"too large for messages": {wire.Position{Epoch: 7}, "", false, wire.Position{}},
		"cut off":                {wire.Position{Epoch: 7}, whole[:len(whole)-1], false, wire.Position{}},
		"not an entry id":        {wire.Position{Epoch: 7}, sendMessage("7-0", "x"), false, wire.Position{}},
		"negative size":          {wire.Position{Epoch: 7}, "7-0\n8-0 -1 1\nab", false, wire.Position{}},
		"not sealed":             {wire.Position{Epoch: 7}, "7-0\n8-0 1 1\nab", false, wire.Position{}},
	} {
		in := &inbox{Sessions: &Sessions{caller: &caller{}}, at: tt.at}
		commands, last, ok := in.decodeMessage(tt.message)
		if ok != tt.ok || ok && last != tt.last {
			t.Errorf("%s: got %t and %v, want %t and %v", name, ok, last, tt.ok, tt.last)
		}
		if ok && (len(commands) != 2 || commands[1].ID != "id 8-1" || string(commands[1].Data) != "data\nof 8-1") {
			t.Errorf("%s: got %q, want two commands", name, commands)
		}
	}
}

// A queue that gets more than its bounds drops everything, and its consumer must read.
func TestMessageQueueBounds(t *testing.T) {
	t.Parallel()
	q := newMessageQueue()
	if messages, mustRead := q.drain(); len(messages) > 0 || !mustRead {
		t.Errorf("at first: got %q and %t, want nothing and true", messages, mustRead)
	}
	for range queuedMessages {
		q.onMessage("m")
	}
	if messages, mustRead := q.drain(); len(messages) != queuedMessages || mustRead {
		t.Errorf("within the bounds: got %d and %t, want %d and false", len(messages), mustRead, queuedMessages)
	}
	for range queuedMessages + 2 {
		q.onMessage("m")
	}
	if messages, mustRead := q.drain(); len(messages) > 0 || !mustRead {
		t.Errorf("beyond the bounds: got %d and %t, want 0 and true", len(messages), mustRead)
	}
	q.onConnect()
	q.onMessage("m")
	if messages, mustRead := q.drain(); len(messages) > 0 || !mustRead {
		t.Errorf("after a connection: got %d and %t, want 0 and true", len(messages), mustRead)
	}
}
