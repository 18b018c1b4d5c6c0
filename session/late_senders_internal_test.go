package session

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// However many connections repeat a message before it is answered, few are remembered, and each
// once.
func TestLateSendersAreBounded(t *testing.T) {
	t.Parallel()
	a := &agents{lateSenders: map[wire.MessageID][]wire.ConnectionID{}}
	for i := range 5000 {
		for range 2 {
			a.addLateSender("m", wire.ConnectionID(fmt.Sprintf("c%d", i)))
			a.addLateSender(wire.MessageID(fmt.Sprintf("m%d", i)), "c")
		}
	}
	if n := len(a.lateSenders["m"]); n != maxLateSenders {
		t.Errorf("%d senders of a message are remembered, want %d", n, maxLateSenders)
	}
	if n := len(a.lateSenders); n != maxLateMessages {
		t.Errorf("%d messages are remembered, want %d", n, maxLateMessages)
	}
	if n := len(a.lateSenders["m0"]); n != 1 {
		t.Errorf("a sender is remembered %d times, want once", n)
	}
}
