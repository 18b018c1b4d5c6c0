package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// TestPlain is row 52 of the attack table: text of others does nothing to a
// terminal.
func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ✓ 👩‍💻":                             "plain ✓ 👩‍💻",
		"a\tb\nc\r\n":                             "a\tb\nc\n",
		"\x1b[31mred\x1b[0m":                      "red",
		"\x1b[2J\x1b[1;1Hgone":                    "gone",
		"\x1b]0;title\x07after":                   "after",
		"\x1b]8;;http://evil\x1b\\link\x1b]8;;":   "link8;;",
		"\x1bP1$r0m\x1b\\after":                   "after",
		"\u009b31mC1\u009d0;t\u009cx":             "C1x",
		"\x1bcreset":                              "reset",
		"torn \x1b[":                              "torn ",
		"\x1b\x1b[31m[31m":                        "[31m",
		"nul\x00 bell\x07 del\x7f back\b":         "nul bell del back",
		"\u202eevil\u2066\u2069\u200f":            "evil",
		"one\u2028two":                            "one\ntwo",
		"bad \xff utf-8":                          "bad \ufffd utf-8",
		"\x1b]52;c;ZXZpbA==\x07clipboard":         "clipboard",
		"\x1b[" + strings.Repeat("1;", 500) + "m": "",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := oneLine(" a\n\n b\tc "); got != "a b c" {
		t.Errorf("one line: %q", got)
	}
}

// show draws events and returns what is on the terminal then.
func show(v *view, payloads ...any) string {
	var out strings.Builder
	v.out = &out
	v.zone = time.UTC
	for i, p := range payloads {
		switch d := p.(type) {
		case client.Link:
			v.link(d)
		case client.Event:
			v.event(d)
		case wire.ServerPayload:
			e := wire.Event{
				Session: "ses-1", At: wire.Position{Epoch: 4, Seq: uint64(i)}, Data: d,
				Time: time.Date(2026, 11, 15, 5, 49, i, 0, time.UTC),
			}
			v.event(client.Event{Event: e, Type: "TYPE", Raw: []byte(`{"raw":true}`)})
		default:
			panic(fmt.Sprintf("%T", p))
		}
	}
	return out.String()
}

func act(actions ...wire.Action) wire.Actions {
	return wire.Actions{MonitorID: "monitor-0", Actions: actions}
}

func TestView(t *testing.T) {
	t.Parallel()
	partial := true
	for name, tt := range map[string]struct {
		shown []any
		want  string
	}{
		"state": {[]any{wire.SessionState{
			Mode: wire.StateSnapshot, Title: "Mine", Status: wire.SessionWaiting, LastMessageID: wire.Position{Epoch: 4, Seq: 2},
			Windows: []wire.WindowState{
				{WindowID: "w1", MonitorID: "monitor-0", Title: "Notes", Minimized: true, Lock: "main"},
				{WindowID: "w2", MonitorID: "monitor-1"},
			},
			RecentMessages: []wire.UIRow{{Type: wire.RowSay, Say: wire.SayUserFeedback, Text: "hi"}, {Type: wire.RowSay, Say: wire.SayText, Text: "two\nlines"}},
			Notifications:  []wire.ShownNotification{{Notification: wire.Notification{Title: "News", Body: "none"}}},
			Dialogs:        []wire.ApprovalRequest{{DialogID: "d", Title: "Delete?", Message: "All of it", ConfirmText: "Do", CancelText: "Don't"}},
			Prompts:        []wire.OpenPrompt{{Prompt: wire.Prompt{ID: "p", Title: "Which?", Message: "One", Options: []wire.PromptOption{{Value: "a", Label: "A"}, {Value: "b", Label: "b"}}}}},
			Agents:         []wire.AgentState{{Role: "main", Status: wire.AgentStatusRunning, Text: "So far"}, {Role: "idle", Status: wire.AgentStatusIdle, Text: "old"}},
		}, wire.AgentResponse{AgentID: "main", Delta: " good", Offset: 6, IsComplete: true, Outcome: wire.OutcomeCompleted}}, `
05:49:00 ── session ses-1 "Mine" · waiting · 2 windows · at 4-2
05:49:00 window "Notes" (w1) on monitor-0 (minimized, locked by main)
05:49:00 window w2 on monitor-1
05:49:00 user: hi
05:49:00 text: two
    lines
05:49:00 notification News: none
05:49:00 ? Delete?: All of it  [Do: /approve, Don't: /deny] (dialog d)
05:49:00 ? Which?: One  [/answer …] (prompt p)
05:49:00     a  A
05:49:00     b
main: So far good
`},
		"windows": {[]any{
			act(wire.WindowCreate{WindowID: "w", Title: "Notes", Content: wire.MarkdownContent{Data: "# Hi\nthere"}}),
			act(wire.WindowSetTitle{WindowID: "w", Title: "More"}, wire.WindowMove{WindowID: "w", X: 1.5, Y: 2}, wire.WindowMinimize{WindowID: "w"}),
			act(wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateAppend{Data: []byte(`"x"`)}}, wire.WindowSetContent{WindowID: "w", Content: wire.HTMLContent{Data: "<p>"}}),
			act(wire.WindowClose{WindowID: "w"}, wire.WindowClose{WindowID: "w"}),
		}, `
05:49:00 + window "Notes" (w) on monitor-0: # Hi there
05:49:01 ~ window "Notes" (w) is now "More"
05:49:01 ~ window "More" (w) moved to 1.5,2
05:49:01 ~ window "More" (w) minimized
05:49:02 ~ window "More" (w): … "x"
05:49:02 ~ window "More" (w): HTML, 3 bytes
05:49:03 - window "More" (w)
05:49:03 - window w
`},
		"streams": {[]any{
			wire.AgentThinking{AgentID: "main", Delta: "hm"},
			wire.AgentResponse{AgentID: "main", Delta: "Hello 👋"},
			wire.AgentResponse{AgentID: "main", Delta: "👋 you", Offset: 6}, // overlaps
			wire.SessionRenamed{Title: "x"},
			wire.AgentResponse{AgentID: "main", Delta: "!\x1b[2J", Offset: 12},
			wire.AgentResponse{AgentID: "other", Delta: "Me too"},
			wire.AgentResponse{AgentID: "main", IsComplete: true, Outcome: wire.OutcomeFailed, Reason: "no money"},
			wire.AgentResponse{AgentID: "other", IsComplete: true, Outcome: wire.OutcomeCompleted},
			wire.AgentResponse{AgentID: "other", Delta: "Next turn", IsComplete: true, Outcome: wire.OutcomeCompleted},
		}, `
main: hm
main: Hello 👋 you
05:49:03 session is now "x"
main: !
other: Me too
05:49:06 main: turn failed no money
other: Next turn
`},
		"talk": {[]any{
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: "par", Partial: &partial}},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowAsk, Ask: wire.AskFollowup, Text: "well?"}},
			wire.MessageAccepted{AgentID: "main"},
			wire.MessageQueued{Position: 2},
			wire.MessageRejected{Code: 4005, Reason: "no \x1b[31magent"},
			wire.ErrorNotice{Code: 1003, Message: "what?"},
			wire.ToolProgress{AgentID: "main", ToolName: "window:create", Status: wire.ToolRunning},
			wire.DialogClosed{DialogID: "d", Reason: wire.ClosedAnswered},
			wire.DialogClosed{DialogID: "e", Reason: wire.ClosedExpired},
			wire.PromptClosed{PromptID: "p", Reason: wire.ClosedDismissed},
		}, `
05:49:01 followup: well?
05:49:02 message taken by main
05:49:03 message waits, number 2
05:49:04 message refused: no agent (4005)
05:49:05 error: what? (1003)
05:49:06 main: tool window:create running
05:49:07 dialog d denied
05:49:08 dialog e expired
05:49:09 prompt p dismissed
`},
		"notices": {[]any{
			act(wire.ToastShow{Toast: wire.Toast{Message: "Saved", Action: &wire.ToastButton{Label: "Undo"}}}),
			act(wire.NotificationShow{Notification: wire.Notification{Title: "Mail", Body: "3\nnew"}}, wire.AppBadge{AppID: "mail", Count: 3}),
			act(wire.RefreshApps{}, wire.CreateShortcut{Shortcut: wire.Shortcut{Label: "Mail"}}),
			wire.Presence{Total: 3, Connections: []wire.Connection{{User: "ann"}, {ClientID: "tab-1"}}},
			wire.OwnerChanged{Replica: "r2", Epoch: 5},
			wire.GoElsewhere{AfterMS: 100},
			wire.PlanComplete{},
		}, `
05:49:00 ! Saved [Undo]
05:49:01 ! Mail: 3 new
05:49:01 app mail has 3 new
05:49:02 + shortcut Mail
05:49:03 3 here: ann, tab-1
05:49:04 replica r2 has taken the session
05:49:05 ── the hub will close the connection: it stops
05:49:06 TYPE {"raw":true}
`},
		"link": {[]any{
			client.Link{State: client.LinkConnecting},
			client.Link{State: client.LinkConnected},
			wire.AgentResponse{AgentID: "main", Delta: "Hel"},
			client.Link{State: client.LinkReconnecting, Err: errors.New("lost\x07"), Retry: 512 * time.Millisecond},
			client.Link{State: client.LinkConnected, Resumed: true},
			wire.AgentResponse{AgentID: "main", Delta: "lo", Offset: 3},
			client.Link{State: client.LinkClosed, Err: errors.New("left")},
			client.Event{Type: "HOLO\x1b[2JGRAM", Raw: []byte(`{"x":1}`)},
		}, `
── connecting
── connected
main: Hel
── reconnecting in 510ms: lost
── connected again
main: lo
HOLOGRAM {"x":1}
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), show(&view{}, tt.shown...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestViewColours(t *testing.T) {
	t.Parallel()
	got := show(&view{colour: true}, wire.MessageRejected{Code: 4005, Reason: "no"}, wire.AgentResponse{AgentID: "a", Delta: "x", IsComplete: true})
	want := "\x1b[2m05:49:00\x1b[0m \x1b[31mmessage refused: no (4005)\x1b[0m\n\x1b[32ma: \x1b[0mx\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
