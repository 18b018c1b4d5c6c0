package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// emitMany delivers n commands and waits for the last one.
func emitMany(t *testing.T, r *session.Handle, conn wire.ConnectionID, n int) {
	t.Helper()
	for i := range n {
		id := wire.MessageID(fmt.Sprintf("%s-%d", conn, counter.Add(1)))
		c := command(conn, id, emit(wire.RefreshApps{}))
		if i == n-1 {
			deliverAndWait(t, r, c)
			return
		}
		requireNoError(t, r.Deliver(t.Context(), c))
	}
}

// A session moves to the replica from which all its commands come, and each command is done once and
// in order.
func TestRelocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		deliverBarrier(t, openHandle(t, a, "ses-1"))
		here := openHandle(t, b, "ses-1")
		time.Sleep(2 * time.Second)
		for range 30 {
			emitMany(t, here, "conn-b", 10)
			time.Sleep(10 * time.Millisecond)
		}
		if !b.Owns("ses-1") || a.Owns("ses-1") {
			t.Errorf("got ownership %t at a and %t at b, want b", a.Owns("ses-1"), b.Owns("ses-1"))
		}
		if got := fmt.Sprint(logOwners(t, s)); got != "[a b]" {
			t.Errorf("the owners in the log are %s, want [a b]", got)
		}
		last, count := 0, 0
		for _, p := range payloads[wire.Actions](readLog(t, s)) {
			var number int
			if _, err := fmt.Sscanf(string(p.MessageID), "conn-b-%d", &number); err != nil {
				continue
			}
			if count++; number <= last {
				t.Errorf("command %d was done after %d, want each once and in order", number, last)
			}
			last = number
		}
		if count != 300 {
			t.Errorf("%d commands were done, want 300", count)
		}
	})
}

// A session stays where its clients send commands, however many commands are forwarded to it.
func TestNoRelocationFromActiveOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		there := openHandle(t, a, "ses-1")
		deliverBarrier(t, there)
		here := openHandle(t, b, "ses-1")
		for range 30 {
			emitMany(t, here, "conn-b", 10)
			emitMany(t, there, "conn-a", 1)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		if got := fmt.Sprint(logOwners(t, s)); got != "[a]" {
			t.Errorf("the owners in the log are %s, want [a]", got)
		}
	})
}
