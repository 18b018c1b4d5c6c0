package session_test

import (
	"testing"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

func TestEmitIsCommittedPublishedAndAnswered(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	w := attachTab(t, r, "conn-1")
	hello := nextEvent(t, w, anyOf[wire.SessionState])
	if hello.Mode != wire.StateSnapshot || hello.Title != "Desk" || hello.Owner != "a" {
		t.Errorf("a tab is greeted with %+v, want a snapshot of Desk with the owner a", hello)
	}
	deliver(t, r, command("conn-1", "m1", emit(window("win"))))
	shown := nextEvent(t, w, anyOf[wire.Actions])
	if shown.MessageID != "m1" || shown.By != "conn-1" || shown.MonitorID != "monitor-0" || len(shown.Actions) != 1 {
		t.Errorf("the tab sees %+v, want one action of m1 by conn-1 on monitor-0", shown)
	}
	if e := nextEvent(t, w, anyOf[wire.Emitted]); e.MessageID != "m1" || e.At.IsZero() {
		t.Errorf("the sender gets %+v, want the reply to m1 with a position", e)
	}
	a := deliverAndWait(t, r, command("conn-1", "m2", emit(wire.WindowFocus{WindowID: "nowhere"})))
	if p, is := a.Data.(wire.MessageRejected); !is || p.Code != wire.CodeSessionInvalidState || p.To != "conn-1" {
		t.Errorf("an action that may not be is answered with %+v, want code %s to conn-1", a.Data, wire.CodeSessionInvalidState)
	}
	if e := nextEvent(t, w, anyOf[wire.ErrorNotice]); e.MessageID != "m2" {
		t.Errorf("the sender gets %+v, want the error of m2", e)
	}
}
