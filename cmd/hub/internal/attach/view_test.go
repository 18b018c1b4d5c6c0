package attach

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// show displays payloads and returns the output.
func show(colour bool, payloads ...any) string {
	var out strings.Builder
	v := newView(&out, colour, time.UTC)
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
	const id wire.MessageID = "PGVUUF5EIQ2TP6XFMH2LVUKN72"
	for name, tt := range map[string]struct {
		shown []any
		want  string
	}{
		"state": {[]any{wire.SessionState{
			Mode: wire.StateSnapshot, Title: "Mine", Status: wire.SessionWaiting, Provider: "demo", LastMessageID: wire.Position{Epoch: 4, Seq: 2},
			Windows: []wire.WindowState{
				{WindowID: "w1", MonitorID: "monitor-0", Title: "Notes", Minimized: true, Lock: "main"},
				{WindowID: "w2", MonitorID: "monitor-1"},
			},
			Monitors: []wire.MonitorStatus{
				{MonitorID: "monitor-0", State: wire.MonitorRunning},
				{MonitorID: "monitor-1", State: wire.MonitorIdle, Budget: &wire.Budget{ActionsLimit: 30, OutputLimit: 50, RunningLimit: 2}},
			},
			Queues:         wire.Object[wire.MonitorID, []wire.QueuedMessage]{{Key: "monitor-0", Value: []wire.QueuedMessage{{ID: id, Text: "later"}}}},
			RecentMessages: []wire.UIRow{{Type: wire.RowSay, Say: wire.SayUserFeedback, Text: "hi"}, {Type: wire.RowSay, Say: wire.SayTool, Text: "{}"}, {Type: wire.RowSay, Say: wire.SayText, Text: "two\nlines"}},
			Notifications:  []wire.ShownNotification{{Notification: wire.Notification{Title: "News", Body: "none"}}},
			Dialogs:        []wire.ApprovalRequest{{DialogID: "d", Title: "Delete?", Message: "All of it", ConfirmText: "Do", CancelText: "Don't"}},
			Prompts:        []wire.OpenPrompt{{Prompt: wire.Prompt{ID: "p", Title: "Which?", Message: "One", Options: []wire.PromptOption{{Value: "a", Label: "A", Description: "first"}, {Value: "b", Label: "b"}}}}},
			Agents:         []wire.AgentState{{Role: "main", Status: wire.AgentStatusRunning, Text: "So far", MessageID: id, Tool: "window:create"}, {Role: "idle", Status: wire.AgentStatusIdle, Text: "old"}},
		}, wire.AgentResponse{AgentID: "main", Delta: " good", Offset: 6, IsComplete: true, Outcome: wire.OutcomeCompleted}}, `
05:49:00 ── session ses-1 "Mine" · waiting · 2 windows · at 4-2
05:49:00 answers come from the demo, which is no model; say /help to it, and :help to this program
05:49:00 window "Notes" (w1) on monitor-0 (minimized, locked by main)
05:49:00 window w2 on monitor-1
05:49:00 user: hi
05:49:00 text: two
    lines
05:49:00 notification News: none
05:49:00 monitor-1: idle (in a minute 0/30 actions, 0/50 bytes; 0/2 turns)
05:49:00 #KN72 waits, number 1 for monitor-0: later
05:49:00 ? Delete?: All of it  [Do with :yes, Don't with :no] #d
05:49:00 ? Which?: One  [:answer …] #p
05:49:00     a  A  (first)
05:49:00     b
05:49:00 main running on #KN72, uses window:create
main: So far good
05:49:01 main: done in 0s
`},
		"windows": {[]any{
			act(wire.WindowCreate{WindowID: "w", Title: "Notes", Content: wire.MarkdownContent{Data: "# Hi\nthere"}}),
			act(wire.WindowSetTitle{WindowID: "w", Title: "More"}, wire.WindowMove{WindowID: "w", X: 1.5, Y: 2}, wire.WindowMinimize{WindowID: "w"}),
			act(wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateAppend{Data: []byte(`"x"`)}}, wire.WindowSetContent{WindowID: "w", Content: wire.HTMLContent{Data: "<p>"}}),
			wire.WindowAgentStatus{WindowID: "w", AgentID: "window-w", Status: wire.AgentActive, MonitorID: "monitor-0"},
			act(wire.WindowClose{WindowID: "w"}, wire.WindowClose{WindowID: "w"}),
		}, `
05:49:00 + window "Notes" (w) on monitor-0: # Hi there
05:49:01 ~ window "Notes" (w) is now "More"
05:49:01 ~ window "More" (w) moved to 1.5,2
05:49:01 ~ window "More" (w) minimized
05:49:02 ~ window "More" (w): … "x"
05:49:02 ~ window "More" (w): HTML, 3 bytes
05:49:03 window "More" (w): agent window-w active
05:49:04 - window "More" (w)
05:49:04 - window w
`},
		"streams": {[]any{
			wire.AgentThinking{AgentID: "main", Delta: "hm"},
			wire.AgentResponse{AgentID: "main", Delta: "Hello 👋"},
			wire.AgentResponse{AgentID: "main", Delta: "👋 you", Offset: 6}, // overlaps
			wire.SessionRenamed{Title: "x"},
			wire.AgentResponse{AgentID: "main", Delta: "\n\n!\x1b[2J\nand", Offset: 12},
			wire.AgentResponse{AgentID: "main", Delta: " so on\n", Offset: 24},
			wire.AgentResponse{AgentID: "main", Delta: "and on\n", Offset: 31},
			wire.AgentResponse{AgentID: "main", IsComplete: true, Outcome: wire.OutcomeFailed, Reason: "no money", DurationMS: 1234},
			wire.AgentResponse{AgentID: "main", Delta: "Next turn", IsComplete: true, Outcome: wire.OutcomeInterrupted, Reason: "you said so", DurationMS: 20},
		}, `
main thinks: hm
main: Hello 👋 you
05:49:03 session is now "x"
main: !
    and so on
    and on
05:49:07 main: failed after 1.2s: no money
main: Next turn
05:49:08 main: interrupted after 20ms: you said so
`},
		"two at once": {[]any{
			wire.AgentResponse{AgentID: "task-m-1", Delta: "a1 "},
			wire.AgentResponse{AgentID: "task-m-2", Delta: "b1 "},
			wire.AgentResponse{AgentID: "task-m-1", Delta: "a2 ", Offset: 3},
			wire.AgentResponse{AgentID: "task-m-2", Delta: "b2 ", Offset: 3},
			wire.AgentResponse{AgentID: "task-m-3", Delta: strings.Repeat("c", 201)},
			wire.AgentResponse{AgentID: "task-m-1", Delta: "a3", Offset: 6},
			wire.ToolProgress{AgentID: "task-m-1", ToolName: "info:get", Status: wire.ToolComplete},
			wire.AgentResponse{AgentID: "task-m-2", Delta: "b3\n", Offset: 6},
			wire.AgentResponse{AgentID: "task-m-1", IsComplete: true, Outcome: wire.OutcomeCompleted},
			wire.AgentResponse{AgentID: "task-m-2", IsComplete: true, Outcome: wire.OutcomeCompleted},
		}, `
task-m-1: a1 a2 
task-m-3: ` + strings.Repeat("c", 201) + `
task-m-1: a3
05:49:06 task-m-1: info:get is done
task-m-2: b1 b2 b3
05:49:08 task-m-1: done in 0s
05:49:09 task-m-2: done in 0s
`},
		"held until the other ends": {[]any{
			wire.AgentResponse{AgentID: "main", Delta: "a"},
			wire.AgentResponse{AgentID: "window-w", Delta: "b"},
			wire.AgentThinking{AgentID: "window-w", Delta: "hm"},
			wire.AgentResponse{AgentID: "main", IsComplete: true, Outcome: wire.OutcomeCompleted},
		}, `
main: a
05:49:03 main: done in 0s
window-w thinks: hm
window-w: b`},
		"again": {[]any{
			wire.AgentThinking{AgentID: "main", Delta: "hm"},
			wire.AgentResponse{AgentID: "main", Delta: "one two"},
			wire.AgentResponse{AgentID: "main", Offset: 3},
			wire.AgentThinking{AgentID: "main"},
			wire.AgentThinking{AgentID: "main", Delta: "oh"},
			wire.AgentResponse{AgentID: "main", Delta: " three", Offset: 3},
			wire.AgentResponse{AgentID: "main", Offset: 9, IsComplete: true, Outcome: wire.OutcomeCompleted},
		}, `
main thinks: hm
main: one two
05:49:02 main: the hub was gone; the end of that comes again
main thinks: oh
main:  three
05:49:06 main: done in 0s
`},
		"messages": {[]any{
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayUserFeedback, Text: "/say a\n/say b", MessageID: id}},
			wire.MessageAccepted{MessageID: id, AgentID: "main-monitor-1-" + wire.AgentID(id), MonitorID: "monitor-1", How: wire.TakenSteered},
			wire.MessageAccepted{MessageID: id, AgentID: "ephemeral-monitor-0-" + wire.AgentID(id), MonitorID: "monitor-0", How: wire.TakenEphemeral},
			wire.MessageAccepted{MessageID: id, AgentID: "main", Duplicate: true, To: "c"},
			wire.MessageQueued{MessageID: id, Position: 2},
			wire.MessageQueued{MessageID: id, Position: 2, Duplicate: true, To: "c"},
			wire.MessageRejected{MessageID: id, Code: 4005, Reason: "no \x1b[31magent"},
			wire.ErrorNotice{Code: 1003, Message: "what?"},
		}, `
05:49:00 user #KN72: /say a
    /say b
05:49:01 #KN72 → main@monitor-1 (steered)
05:49:02 #KN72 → ephemeral-KN72 (ephemeral)
05:49:04 #KN72 waits, number 2 for monitor-0
05:49:06 #KN72 refused: no agent (4005)
05:49:07 error: what? (1003)
`},
		"turns": {[]any{
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: "par", Partial: &partial}},
			wire.ToolProgress{AgentID: "main", ToolName: "window:create", Status: wire.ToolRunning, ToolInput: []byte(`{"id":"w"}`)},
			wire.ToolProgress{AgentID: "main", ToolName: "window:create", Status: wire.ToolComplete, Message: "made\nit"},
			wire.ToolProgress{AgentID: "main", ToolName: "window:create", Status: wire.ToolError},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayReasoning, Text: "hm", AgentID: "main"}},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayTool, Text: "{}", AgentID: "main"}},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayAPIReqFinished, Text: "{}", AgentID: "main"}},
			wire.AgentResponse{AgentID: "main", Delta: "Hi"},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: "Hi", AgentID: "main"}},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayError, Text: "no", AgentID: "main"}},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayAPIReqRetryDelayed, Text: "busy; trying again in 1s", AgentID: "main"}},
			wire.AgentResponse{AgentID: "main", Offset: 2, IsComplete: true, Outcome: wire.OutcomeCompleted, DurationMS: 70_040, Usage: &wire.Usage{
				InputTokens: 3, OutputTokens: 2, CacheReadTokens: 5, CacheWriteTokens: 6, CostUSD: 0.01,
			}},
			wire.MessageUpdated{Message: wire.UIRow{Type: wire.RowSay, Say: wire.SaySubtaskResult, Text: "unheard", AgentID: "task-m-1"}},
			wire.AgentError{AgentID: "main", Error: "it waits"},
			wire.TaskCreated{},
			wire.TaskCompleted{},
			wire.AgentResponse{AgentID: "main", MessageID: "m2", IsComplete: true, Outcome: wire.OutcomeCompleted, Joined: "m1"},
		}, `
05:49:01 main: uses window:create {"id":"w"}
05:49:02 main: window:create is done: made it
05:49:03 main: window:create did not work
main: Hi
05:49:10 main: busy; trying again in 1s
05:49:11 main: done in 1m10s, 3 tokens in and 11 by the cache, 2 out, $0.0100
05:49:12 task-m-1: unheard
05:49:13 main: it waits
`},
		"questions": {[]any{
			wire.ApprovalRequest{DialogID: "dialog-ABCDEFGH", Title: "Fetch?", Message: "x.org", PermissionOptions: &wire.PermissionOptions{ShowRememberChoice: true}},
			wire.DialogClosed{DialogID: "dialog-ABCDEFGH", Reason: wire.ClosedAnswered, Confirmed: true},
			wire.DialogClosed{DialogID: "d", Reason: wire.ClosedAnswered},
			wire.DialogClosed{DialogID: "e", Reason: wire.ClosedExpired},
			wire.PromptClosed{PromptID: "p", Reason: wire.ClosedDismissed},
			wire.TurnInterrupted{AgentID: "main", Reason: "tool x may or may not have run", Resumable: true},
			wire.MessageUpdated{Message: wire.UIRow{TS: 1794734497245, Type: wire.RowAsk, Ask: wire.AskResumeTask, Text: "Go on?"}},
			wire.MessageUpdated{Message: wire.UIRow{TS: 1794734497245, Type: wire.RowAsk, Ask: wire.AskResumeTask, Text: "Go on?", IsAnswered: true}},
		}, `
05:49:00 ? Fetch?: x.org  [yes with :yes [always], no with :no [always]] #EFGH
05:49:01 question #EFGH answered with yes
05:49:02 question #d answered with no
05:49:03 question #e expired
05:49:04 question #p dismissed
05:49:05 main: cut off: tool x may or may not have run
05:49:06 ? Go on?  [:yes, :no or :answer …] #7245
05:49:07 question #7245 answered
`},
		"monitors": {[]any{
			wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorRunning},
			wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorRunning, Queue: 2},
			wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorIdle},
			wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorRunning},
			wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorWaiting},
			wire.MonitorStatus{MonitorID: "monitor-1", State: wire.MonitorOverBudget, Queue: 1, Budget: &wire.Budget{
				Actions: 30, ActionsLimit: 30, Output: 7, OutputLimit: 50, Running: 1, RunningLimit: 2, Denied: wire.BudgetActions, Until: 1_000_000,
			}},
			wire.MonitorStatus{MonitorID: "monitor-1", State: wire.MonitorRemoved},
			wire.QueueUpdated{MonitorID: "monitor-0", Messages: []wire.QueuedMessage{{ID: "m"}}},
			wire.ProviderChanged{Provider: "openai"},
		}, `
05:49:01 monitor-0: running, 2 waiting
05:49:02 monitor-0: idle
05:49:04 monitor-0: waits for a free agent
05:49:05 monitor-1: over its budget, 1 waiting (in a minute 30/30 actions, 7/50 bytes; 1/2 turns), no more actions until 00:16:40
05:49:06 monitor-1: removed
05:49:07 monitor-0: 1 waiting
05:49:08 answers come from openai now
`},
		"notices": {[]any{
			act(wire.ToastShow{Toast: wire.Toast{Message: "Saved", Action: &wire.ToastButton{Label: "Undo"}}}),
			act(wire.NotificationShow{Notification: wire.Notification{Title: "Mail", Body: "3\nnew"}}, wire.AppBadge{AppID: "mail", Count: 3}),
			act(wire.RefreshApps{}, wire.CreateShortcut{Shortcut: wire.Shortcut{Label: "Mail"}}),
			wire.Presence{Total: 3, Connections: []wire.Connection{{User: "ann"}, {ClientID: "tab-1"}}},
			wire.OwnerChanged{Replica: "r2", Epoch: 5},
			wire.GoElsewhere{AfterMS: 100},
			wire.StoreStatus{},
			wire.StoreStatus{Full: true},
			wire.StoreStatus{Available: true},
		}, `
05:49:00 ! Saved [Undo]
05:49:01 ! Mail: 3 new
05:49:01 app mail has 3 new
05:49:02 + shortcut Mail
05:49:03 3 here: ann, tab-1
05:49:04 replica r2 has taken the session
05:49:05 ── the hub will close the connection: it stops
05:49:06 ── the hub cannot reach its store; what you send waits
05:49:07 ── the store of the hub is full; what you send waits for space
05:49:08 ── the store of the hub is available again
`},
		"link": {[]any{
			client.Link{State: client.LinkConnecting},
			client.Link{State: client.LinkConnected},
			wire.AgentResponse{AgentID: "main", Delta: "Hel"},
			client.Link{State: client.LinkReconnecting, Err: errors.New("lost\x07"), Retry: 512 * time.Millisecond},
			client.Link{State: client.LinkReconnecting, Err: fmt.Errorf("read: %w", fmt.Errorf("frame: %w", io.EOF)), Retry: time.Second},
			client.Link{State: client.LinkReconnecting, Err: &client.Error{Code: 4503, Reason: "bye"}, Retry: time.Second},
			client.Link{State: client.LinkConnected, Resumed: true},
			wire.AgentResponse{AgentID: "main", Delta: "lo", Offset: 3},
			client.Link{State: client.LinkClosed, Err: errors.New("left")},
			client.Event{Type: "HOLO\x1b[2JGRAM", Raw: []byte(`{"x":1}`)},
		}, `
── connecting
── connected
main: Hel
── reconnecting in 510ms: lost
── reconnecting in 1s: the connection broke
── reconnecting in 1s: hub closed the connection with 4503: bye
── connected again
main: lo
HOLOGRAM {"x":1}
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), show(false, tt.shown...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestViewColours(t *testing.T) {
	t.Parallel()
	got := show(true,
		wire.MessageRejected{MessageID: "m", Code: 4005, Reason: "no"},
		wire.AgentThinking{AgentID: "main", Delta: "hm"},
		wire.AgentResponse{AgentID: "main", Delta: "x", IsComplete: true, Outcome: wire.OutcomeFailed, Reason: "y"},
	)
	want := "\x1b[2m05:49:00\x1b[0m \x1b[31m#m refused: no (4005)\x1b[0m\n" +
		"\x1b[32mmain thinks: \x1b[0m\x1b[2mhm\x1b[0m\n" +
		"\x1b[32mmain: \x1b[0mx\n" +
		"\x1b[2m05:49:02\x1b[0m \x1b[31mmain: failed after 0s: y\x1b[0m\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for label, want := range map[string]tint{"main": tintGreen, "main@monitor-1": tintGreen, "task-m-1": tintYellow, "task-m-2": tintPurple} {
		if got := agentTint(label); got != want {
			t.Errorf("colour of %s: got %q, want %q", label, got, want)
		}
	}
}

// The text that is held back while another agent has the open line is measured in characters, so
// that texts in all scripts alternate in portions of the same length.
func TestViewHoldsCharacters(t *testing.T) {
	t.Parallel()
	for name, letter := range map[string]string{"one byte": "c", "three bytes": "글", "four bytes": "👋"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			main := wire.AgentResponse{AgentID: "main", Delta: "x"}
			if got := show(false, main, wire.AgentResponse{AgentID: "window-w", Delta: strings.Repeat(letter, holdRunes)}); got != "main: x" {
				t.Errorf("%d characters of a window: got %q, want them held back, main: x", holdRunes, got)
			}
			want := "main: x\nwindow-w: " + strings.Repeat(letter, holdRunes+1)
			if got := show(false, main, wire.AgentResponse{AgentID: "window-w", Delta: strings.Repeat(letter, holdRunes+1)}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
