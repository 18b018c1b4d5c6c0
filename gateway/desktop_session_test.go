package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// A missing session is created, as desktop clients expect, and another user's session is treated
// like a missing one.
func TestDesktopNamesAnUnknownSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.UserSessions = 3 })
	ann, bob := dialOptions{token: h.token("ann", time.Minute)}, dialOptions{token: h.token("bob", time.Minute)}
	old := next[wire.ConnectionStatus](h.dialDesktop("", ann)).SessionID
	made := next[wire.ConnectionStatus](h.dialDesktop("?sessionId=ses-gone", ann)).SessionID
	if made == "" || made == old || made == "ses-gone" {
		t.Errorf("got %q, want a new session beside %q", made, old)
	}
	// Another tab with the same id gets the same session, and so does one with the new id.
	for _, named := range []wire.SessionID{"ses-gone", made} {
		if got := next[wire.ConnectionStatus](h.dialDesktop("?sessionId="+string(named), ann)).SessionID; got != made {
			t.Errorf("%s became %s, want %s", named, got, made)
		}
	}
	his := next[wire.ConnectionStatus](h.dialDesktop("?sessionId="+string(made), bob)).SessionID
	other := next[wire.ConnectionStatus](h.dialDesktop("?sessionId=ses-gone", bob)).SessionID
	if his == made || other == made || his == other || his == "" || other == "" {
		t.Errorf("another user got %q and %q, want two new sessions that are not %q", his, other, made)
	}
	// A user at the session limit gets the most recently updated one.
	third := next[wire.ConnectionStatus](h.dialDesktop("?sessionId=ses-3", ann)).SessionID
	if got := next[wire.ConnectionStatus](h.dialDesktop("?sessionId=ses-4", ann)).SessionID; got != third && got != made && got != old {
		t.Errorf("got %q, want one of %q", got, []wire.SessionID{old, made, third})
	}
	var list struct{ Sessions []json.RawMessage }
	h.get("/api/sessions", ann.token).wantStatus(http.StatusOK).decode(&list)
	if len(list.Sessions) != 3 {
		t.Errorf("there are %d sessions, want 3", len(list.Sessions))
	}
	// The replacement of a session may be deleted too.
	h.rest(http.MethodDelete, sessionPath(made), request{token: ann.token}).wantStatus(http.StatusNoContent)
	if got := next[wire.ConnectionStatus](h.dialDesktop("?sessionId=ses-gone", ann)).SessionID; got == made || got == old || got == third {
		t.Errorf("got %q, want a new one", got)
	}
}

// A desktop client that reconnects with a session id learns what ended meanwhile.
func TestDesktopReconnects(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := dialOptions{token: h.token("ann", time.Minute)}
	x := h.dialDesktop("", v)
	id := next[wire.ConnectionStatus](x).SessionID
	act := func(actions string) {
		h.post(sessionPath(id, "/actions"), v.token, `{"monitorId":"monitor-0","actions":[`+actions+`]}`).wantStatus(http.StatusOK)
	}
	act(`{"type":"window.create","windowId":"w","title":"T","bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"x"}}`)
	next[wire.Actions](x)
	_ = x.ws.CloseNow()
	act(`{"type":"window.close","windowId":"w"}`)
	got := next[wire.Actions](h.dialDesktop("?sessionId="+string(id), v))
	if len(got.Actions) != 1 || got.Actions[0] != wire.Action(wire.WindowClose{WindowID: "w"}) || got.MonitorID != "monitor-0" {
		t.Errorf("got %+v, want that w is closed", got)
	}
}

// Newer desktops name monitors by number. They and older ones in the same session see the same
// windows on the same monitors, each under its own names, and four monitors fit.
func TestDesktopNumbersMonitors(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.gateway.Timeouts.Naming = time.Minute })
	v := dialOptions{token: h.token("ann", time.Minute)}
	open := func(query, monitor string) (*tab, wire.SessionID) {
		x := h.dialDesktop(query, v)
		x.writeText(`{"type":"SUBSCRIBE_MONITOR","monitorId":"` + monitor + `"}`)
		return x, next[wire.ConnectionStatus](x).SessionID
	}
	older, id := open("", "monitor-0")
	newer, same := open("", "0")
	if same != id {
		t.Fatalf("the second is in %s, want %s", same, id)
	}
	act := func(monitor, action string) {
		h.post(sessionPath(id, "/actions"), v.token, `{"monitorId":"`+monitor+`","actions":[`+action+`]}`).wantStatus(http.StatusOK)
	}
	const window = `{"type":"window.create","windowId":"w","title":"T","bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"x"}}`
	want := func(x *tab, monitor wire.MonitorID, window wire.WindowID) {
		t.Helper()
		got := next[wire.Actions](x)
		made, ok := got.Actions[0].(wire.WindowCreate)
		if !ok || got.MonitorID != monitor || made.WindowID != window {
			t.Errorf("got %+v, want window %s on monitor %s", got, window, monitor)
		}
	}
	act("monitor-0", window)
	want(older, "monitor-0", "w")
	want(newer, "0", "0/w")
	newer.writeText(`{"type":"SUBSCRIBE_MONITOR","monitorId":"1"}`)
	status := next[wire.MonitorStatus](older)
	if status.MonitorID != "monitor-1" {
		t.Errorf("the older sees %+v, want monitor-1", status)
	}
	act("monitor-1", window)
	want(older, "monitor-1", "w")
	want(newer, "1", "1/w")
	// One names a window together with its monitor, the other names it on the monitor it subscribes
	// to.
	newer.writeText(`{"type":"USER_INTERACTION","interactions":[{"type":"window.close","windowId":"0/w","timestamp":1}]}`)
	if got := next[wire.Actions](older); got.MonitorID != "monitor-0" || got.Actions[0] != wire.Action(wire.WindowClose{WindowID: "w"}) {
		t.Errorf("got %+v, want that w on monitor-0 is closed", got)
	}
	if got := next[wire.Actions](newer); got.MonitorID != "0" || got.Actions[0] != wire.Action(wire.WindowClose{WindowID: "0/w"}) {
		t.Errorf("got %+v, want that 0/w is closed", got)
	}
	// Both reconnect to the same state.
	back, _ := open("?sessionId="+string(id), "1")
	want(back, "1", "1/w")
	back, _ = open("?sessionId="+string(id), "monitor-0")
	want(back, "monitor-1", "w")
	named := h.dialDesktop("?monitorId=1&sessionId="+string(id), v)
	next[wire.ConnectionStatus](named)
	want(named, "1", "1/w")
	// Four monitors fit, and no fifth.
	for _, n := range []string{"2", "3", "4"} {
		newer.writeText(`{"type":"SUBSCRIBE_MONITOR","monitorId":"` + n + `"}`)
	}
	got := next[wire.Actions](newer) // the error, as a toast
	if toast, ok := got.Actions[0].(wire.ToastShow); !ok || !strings.Contains(toast.Message, "at most 4 monitors") {
		t.Errorf("got %+v, want that a fifth monitor is refused", got)
	}
	var now struct{ Monitors []wire.MonitorStatus }
	h.get(sessionPath(id, "/snapshot"), v.token).wantStatus(http.StatusOK).decode(&now)
	var names []string
	for _, m := range now.Monitors {
		names = append(names, string(m.MonitorID))
	}
	if all := strings.Join(names, " "); all != "monitor-0 monitor-1 monitor-2 monitor-3" {
		t.Errorf("the monitors are %s, want monitor-0 to monitor-3", all)
	}
}
