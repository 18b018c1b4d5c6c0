package session

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A command is the same at another hub, whatever its strings contain, and in the form of encoding/json
// too, which older hubs write.
func TestItemSurvivesEncoding(t *testing.T) {
	t.Parallel()
	const odd = `a,"message":{"x":1}}` + "\n\u2028\\"
	for _, it := range []item{
		{cmd: Command{Message: wire.Message{ID: "m", Data: wire.Interrupt{}}}},
		{cmd: Command{Message: wire.Message{ID: "m", Data: wire.UserMessage{MessageID: "m", Content: odd}}}},
		{cmd: Command{Message: wire.Message{ID: "m"}}, poison: &Error{Code: wire.CodeInvalidMessage, Reason: "no"}},
	} {
		for _, from := range []Sender{
			{Connection: "c", User: "ada", Monitor: "monitor-1", Invited: true},
			{Connection: "c", User: odd},
			{User: "ada"},
		} {
			it.cmd.From = from
			data, err := it.encode()
			if err != nil {
				t.Fatal(err)
			}
			var read any
			if err := json.Unmarshal(data, &read); err != nil {
				t.Fatalf("%q is not JSON: %v", data, err)
			}
			sorted, err := json.Marshal(read)
			if err != nil {
				t.Fatal(err)
			}
			for _, form := range [][]byte{data, sorted} {
				got, err := decodeItem(form)
				if err != nil {
					t.Fatalf("%q: %v", form, err)
				}
				again, err := got.encode()
				if err != nil || !bytes.Equal(again, data) || got.cmd.From != from {
					t.Errorf("%q becomes %q of %+v, %v; want %q of %+v", form, again, got.cmd.From, err, data, from)
				}
			}
		}
	}
}

// A message type of a newer hub is refused, because its sender waits for an answer.
func TestUnknownMessagesAreRefused(t *testing.T) {
	t.Parallel()
	it, err := decodeItem([]byte(`{"connection":"c","user":"ada","message":{"type":"WAVE","data":{"messageId":"m"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if it.poison == nil || it.poison.Code != wire.CodeInvalidMessage || it.cmd.Message.ID != "m" || it.cmd.From.Connection != "c" {
		t.Errorf("the order becomes %+v, want message m of c poisoned with code %s", it, wire.CodeInvalidMessage)
	}
}
