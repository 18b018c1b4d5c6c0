package broadcast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// folded returns a Center whose snapshots are folded from its log.
func folded(t *testing.T) (*testDesktop, *bench) {
	t.Helper()
	d := &testDesktop{memory: &memory{}, state: desktop.New(session)}
	center := broadcast.NewCenter(broadcast.Config{}, session, wire.Position{}, d)
	t.Cleanup(center.Wait)
	t.Cleanup(func() { center.Close(wire.CloseGoingAway, "") })
	return d, &bench{center, d.memory, t}
}

func on(monitor wire.MonitorID, actions ...wire.Action) wire.Actions {
	return wire.Actions{MonitorID: monitor, Actions: actions}
}

func opened(id wire.WindowID) wire.Action {
	return wire.WindowCreate{WindowID: id, Title: "T", Bounds: wire.Bounds{W: 10, H: 10}, Content: wire.TextContent{Data: "x"}}
}

// toldAtFirst reads the first frames of a tab, up to an event that it publishes.
func (c *tab) toldAtFirst(d *testDesktop, b *bench) []string {
	c.t.Helper()
	last := b.Head().Seq + 1 // which no snapshot has
	d.show(b.Center, on("", wire.AppBadge{AppID: "end", Count: last}))
	var got []string
	for {
		e := c.next()
		switch p := e.Data.(type) {
		case wire.Actions:
			for _, a := range p.Actions {
				if badge, ok := a.(wire.AppBadge); ok && badge.Count == last {
					return got
				}
				got = append(got, strings.TrimSpace(string(p.MonitorID)+" "+formatAction(a)))
			}
		case wire.AgentResponse:
			got = append(got, fmt.Sprintf("%s is done: %v %s", p.AgentID, p.IsComplete, p.Outcome))
		case wire.WindowAgentStatus:
			got = append(got, fmt.Sprintf("%s %s", p.AgentID, p.Status))
		case wire.ConnectionStatus:
			got = append(got, "hello")
		}
	}
}

func formatAction(a wire.Action) string {
	switch a := a.(type) {
	case wire.WindowCreate:
		return "opens " + string(a.WindowID)
	case wire.WindowClose:
		return "closes " + string(a.WindowID) + string(a.AgentID)
	case wire.WindowUnlock:
		return "unlocks " + string(a.WindowID) + " of " + string(a.AgentID)
	case wire.PromptDismiss:
		return "dismisses " + string(a.ID)
	case wire.NotificationDismiss:
		return "takes " + string(a.ID) + " away"
	case wire.DialogConfirm:
		return "asks " + string(a.ID) + ": " + a.Message
	case wire.ToastShow:
		return "says " + a.Message
	}
	return fmt.Sprintf("%T", a)
}

// A reconnecting client of the desktop dialect gets the ends of windows and dialogs that it may still
// show: it has no cursor, and a snapshot only adds things.
func TestReturningDesktop(t *testing.T) {
	t.Parallel()
	d, b := folded(t)
	ann := wire.Connection{ConnectionID: "conn-1", User: "ann"}
	c := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, Who: ann})
	prompt := wire.PromptShow{Prompt: wire.Prompt{ID: "p", Title: "Which?"}}
	d.show(b.Center,
		wire.MonitorStatus{MonitorID: "monitor-1", State: wire.MonitorIdle},
		on("monitor-0", opened("stays"), opened("gone"), opened("again"), opened("locked"), prompt,
			wire.WindowLock{WindowID: "locked", AgentID: "main-1"},
			wire.NotificationShow{Notification: wire.Notification{ID: "n", Title: "N"}}),
		on("monitor-1", opened("gone"), opened("stays")),
		wire.AgentResponse{AgentID: "old", MonitorID: "monitor-0", IsComplete: true, Outcome: wire.OutcomeFailed, Reason: "long ago"},
		wire.ApprovalRequest{DialogID: "d", Title: "May it?", Message: "m", MonitorID: "monitor-0"},
		wire.WindowAgentStatus{WindowID: "stays", AgentID: "window-stays", Status: wire.AgentAssigned, MonitorID: "monitor-0"},
	)
	c.toldAtFirst(d, b)
	c.Detach()
	d.show(b.Center,
		wire.AgentResponse{AgentID: "main-1", MonitorID: "monitor-0", IsComplete: true, Outcome: wire.OutcomeFailed, Reason: "no model"},
		wire.AgentResponse{AgentID: "main-2", MonitorID: "monitor-0", Delta: "still at it"},
		wire.WindowAgentStatus{WindowID: "stays", AgentID: "window-stays", Status: wire.AgentReleased, MonitorID: "monitor-0"},
		on("monitor-0", wire.WindowUnlock{WindowID: "locked", AgentID: "main-1"}, wire.WindowClose{WindowID: "locked"},
			wire.WindowClose{WindowID: "gone"}, wire.WindowClose{WindowID: "again"}, opened("again"), wire.NotificationDismiss{ID: "n"}),
		wire.PromptClosed{PromptID: "p", Reason: wire.ClosedAnswered, MonitorID: "monitor-0"},
		wire.DialogClosed{DialogID: "d", Reason: wire.ClosedAnswered, AnsweredBy: "conn-2", MonitorID: "monitor-0"},
		wire.ApprovalRequest{DialogID: "e", Title: "And this?", Message: "m", MonitorID: "monitor-0"},
		wire.DialogClosed{DialogID: "e", Reason: wire.ClosedExpired, MonitorID: "monitor-0"},
	)
	open := []string{"hello", "monitor-0 opens stays", "monitor-0 opens again", "monitor-1 opens gone", "monitor-1 opens stays", "main-2 is done: false "}
	over := []string{
		"old is done: true ", "main-1 is done: true failed", "monitor-0 says no model", "window-stays released",
		"monitor-0 unlocks locked of main-1", "monitor-0 closes locked", "monitor-0 closes gone", "monitor-0 takes n away",
		"monitor-0 dismisses p", "monitor-0 asks d: It was answered elsewhere.",
	}
	back := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, Who: wire.Connection{ConnectionID: "conn-3", User: "ann"}, Returning: true})
	if got, want := back.toldAtFirst(d, b), slices.Concat(open, over); !sameLines(got, want) {
		t.Errorf("a reconnecting client gets\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// For a client that this replica does not remember, the missed events are unknown: old failures
	// are not sent again, and dialogs are not reopened.
	stranger := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, Who: wire.Connection{ConnectionID: "conn-4", User: "bob"}, Returning: true})
	want := slices.Concat(open, over[:len(over)-1])
	want[slices.Index(want, "main-1 is done: true failed")] = "main-1 is done: true "
	want = slices.DeleteFunc(want, func(s string) bool { return s == "monitor-0 says no model" })
	if got := stranger.toldAtFirst(d, b); !sameLines(got, want) {
		t.Errorf("a client without a known departure gets\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A new page shows nothing that could have ended, so it gets no ends.
	fresh := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, Who: wire.Connection{ConnectionID: "conn-5", User: "ann"}})
	if got := fresh.toldAtFirst(d, b); !sameLines(got, open) {
		t.Errorf("a new page gets\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(open, "\n"))
	}
}

// sameLines compares the frames and ignores those of app.badge actions, which the test adds.
func sameLines(got, want []string) bool {
	got = slices.DeleteFunc(slices.Clone(got), func(s string) bool { return strings.HasSuffix(s, "wire.AppBadge") })
	return slices.Equal(got, want)
}

// Ends in the trimmed part of the log are unknown; the other ends are sent.
func TestReturningDesktopAfterTrim(t *testing.T) {
	t.Parallel()
	d, b := folded(t)
	d.show(b.Center, on("monitor-0", opened("a"), opened("b")), on("monitor-0", wire.WindowClose{WindowID: "a"}))
	d.show(b.Center, titles(5)...)
	d.show(b.Center, on("monitor-0", wire.WindowClose{WindowID: "monitor-0/b"}))
	d.trim(3)
	c := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, Who: wire.Connection{ConnectionID: "conn-1", User: "ann"}, Returning: true})
	if got, want := c.toldAtFirst(d, b), []string{"hello", "monitor-0 closes b"}; !sameLines(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
