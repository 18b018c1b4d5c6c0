package session

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// Who said something is the same at another hub.
func TestSendersTravel(t *testing.T) {
	t.Parallel()
	for _, it := range []item{
		{cmd: Command{Message: wire.Message{ID: "m", Data: wire.Interrupt{}}}},
		{cmd: Command{Message: wire.Message{ID: "m"}}, poison: &Error{Code: wire.CodeInvalidMessage, Reason: "no"}},
	} {
		it.cmd.From = Sender{Connection: "c", User: "ada", Monitor: "monitor-1", Invited: true}
		data, err := it.pack()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unpack(data); err != nil || got.cmd.From != it.cmd.From {
			t.Errorf("%s becomes %+v, %v", data, got.cmd.From, err)
		}
	}
}
