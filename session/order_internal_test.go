package session

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// The sender of a command is the same at another hub.
func TestSenderSurvivesEncoding(t *testing.T) {
	t.Parallel()
	for _, it := range []item{
		{cmd: Command{Message: wire.Message{ID: "m", Data: wire.Interrupt{}}}},
		{cmd: Command{Message: wire.Message{ID: "m"}}, poison: &Error{Code: wire.CodeInvalidMessage, Reason: "no"}},
	} {
		it.cmd.From = Sender{Connection: "c", User: "ada", Monitor: "monitor-1", Invited: true}
		data, err := it.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeItem(data); err != nil || got.cmd.From != it.cmd.From {
			t.Errorf("%s becomes %+v, %v", data, got.cmd.From, err)
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
		t.Errorf("it becomes %+v", it)
	}
}
