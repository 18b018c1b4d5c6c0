package gateway_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// A session that is not there is made, as desktops of the other dialect expect, and
// one of somebody else is like one that is not there.
func TestDesktopNamesAnUnknownSession(t *testing.T) {
	t.Parallel()
	h := newHall(t, func(p *plan) { p.door.UserSessions = 3 })
	ann, bob := visit{token: h.token("ann", time.Minute)}, visit{token: h.token("bob", time.Minute)}
	old := next[wire.ConnectionStatus](h.desktop("", ann)).SessionID
	made := next[wire.ConnectionStatus](h.desktop("?sessionId=ses-gone", ann)).SessionID
	if made == "" || made == old || made == "ses-gone" {
		t.Errorf("got %q, want a new session beside %q", made, old)
	}
	// Another tab that names the same gets the same, and one that names the new one too.
	for _, named := range []wire.SessionID{"ses-gone", made} {
		if got := next[wire.ConnectionStatus](h.desktop("?sessionId="+string(named), ann)).SessionID; got != made {
			t.Errorf("%s became %s, want %s", named, got, made)
		}
	}
	his := next[wire.ConnectionStatus](h.desktop("?sessionId="+string(made), bob)).SessionID
	other := next[wire.ConnectionStatus](h.desktop("?sessionId=ses-gone", bob)).SessionID
	if his == made || other == made || his == other || his == "" || other == "" {
		t.Errorf("somebody else got %q and %q, want two new sessions that are not %q", his, other, made)
	}
	// Who has as many as one may have gets the latest.
	third := next[wire.ConnectionStatus](h.desktop("?sessionId=ses-3", ann)).SessionID
	if got := next[wire.ConnectionStatus](h.desktop("?sessionId=ses-4", ann)).SessionID; got != third && got != made && got != old {
		t.Errorf("got %q, want one of %q", got, []wire.SessionID{old, made, third})
	}
	var list struct{ Sessions []json.RawMessage }
	h.get("/api/sessions", ann.token).want(http.StatusOK).decode(&list)
	if len(list.Sessions) != 3 {
		t.Errorf("there are %d sessions, want 3", len(list.Sessions))
	}
	// What replaced a session may be deleted too.
	h.rest(http.MethodDelete, at(made), request{token: ann.token}).want(http.StatusNoContent)
	if got := next[wire.ConnectionStatus](h.desktop("?sessionId=ses-gone", ann)).SessionID; got == made || got == old || got == third {
		t.Errorf("got %q, want a new one", got)
	}
}

// A desktop that comes back to the session it names is told what ended meanwhile.
func TestDesktopComesBack(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	v := visit{token: h.token("ann", time.Minute)}
	x := h.desktop("", v)
	id := next[wire.ConnectionStatus](x).SessionID
	act := func(actions string) {
		h.post(at(id, "/actions"), v.token, `{"monitorId":"monitor-0","actions":[`+actions+`]}`).want(http.StatusOK)
	}
	act(`{"type":"window.create","windowId":"w","title":"T","bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"x"}}`)
	next[wire.Actions](x)
	_ = x.ws.CloseNow()
	act(`{"type":"window.close","windowId":"w"}`)
	got := next[wire.Actions](h.desktop("?sessionId="+string(id), v))
	if len(got.Actions) != 1 || got.Actions[0] != wire.Action(wire.WindowClose{WindowID: "w"}) || got.MonitorID != "monitor-0" {
		t.Errorf("got %+v, want that w is closed", got)
	}
}
