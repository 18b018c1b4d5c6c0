package session

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// However many send a message again before it is answered, few are remembered,
// and each of them once.
func TestLateSendersAreFew(t *testing.T) {
	t.Parallel()
	a := &agents{late: map[wire.MessageID][]wire.ConnectionID{}}
	for i := range 5000 {
		for range 2 {
			a.comeLate("m", wire.ConnectionID(fmt.Sprintf("c%d", i)))
			a.comeLate(wire.MessageID(fmt.Sprintf("m%d", i)), "c")
		}
	}
	if n := len(a.late["m"]); n != lateSenders {
		t.Errorf("%d senders of a message are remembered, want %d", n, lateSenders)
	}
	if n := len(a.late); n != lateIDs {
		t.Errorf("%d messages are remembered, want %d", n, lateIDs)
	}
	if n := len(a.late["m0"]); n != 1 {
		t.Errorf("a sender is remembered %d times", n)
	}
}
