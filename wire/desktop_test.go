package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// shown encodes an event for a desktop.
func shown(e wire.Event) string {
	var all []string
	for _, frame := range (wire.Desktop{}).AppendFrames(nil, e) {
		all = append(all, string(frame))
	}
	return strings.Join(all, "\n")
}

func TestEventsThatDesktopsSeeInAnotherForm(t *testing.T) {
	t.Parallel()
	at := wire.Position{Epoch: 4, Seq: 7}
	tests := map[string]struct {
		event wire.Event
		want  string
	}{
		"an answer has its whole text": {
			wire.Event{At: at, Data: wire.AgentResponse{Content: "hello wörld", Delta: "wörld", Offset: 6, AgentID: "a", MonitorID: "monitor-0"}},
			`{"type":"AGENT_RESPONSE","content":"hello wörld","isComplete":false,"agentId":"a","monitorId":"monitor-0"}`,
		},
		"an empty answer has a text too": {
			wire.Event{At: at, Data: wire.AgentResponse{IsComplete: true, Outcome: wire.OutcomeInterrupted, AgentID: "a"}},
			`{"type":"AGENT_RESPONSE","content":"","isComplete":true,"outcome":"interrupted","agentId":"a"}`,
		},
		"a rejection is a toast": {
			wire.Event{At: at, Data: wire.MessageRejected{MessageID: "m", Code: wire.CodeQueueFull, Reason: "ten are waiting", MonitorID: "monitor-0"}},
			`{"type":"ACTIONS","actions":[{"type":"toast.show","id":"rejected-4-7","message":"ten are waiting","variant":"warning"}],"monitorId":"monitor-0","messageId":"m"}`,
		},
		"a rejection without a reason has the table's": {
			wire.Event{At: at, Data: wire.MessageRejected{MessageID: "m", Code: wire.CodeAgentLimit}},
			`{"type":"ACTIONS","actions":[{"type":"toast.show","id":"rejected-4-7","message":"All agents are busy.","variant":"warning"}],"messageId":"m"}`,
		},
		"an agent's error is a toast": {
			wire.Event{At: at, Data: wire.AgentError{Error: "no", AgentID: "a", MonitorID: "monitor-0"}},
			`{"type":"ACTIONS","actions":[{"type":"toast.show","id":"error-4-7","message":"no","variant":"error"}],"agentId":"a","monitorId":"monitor-0"}`,
		},
		"a connection's error is a toast": {
			wire.Event{Time: time.UnixMilli(99), Data: wire.CodeInvalidMessage.Notice("what?")},
			`{"type":"ACTIONS","actions":[{"type":"toast.show","id":"error-1003-99","message":"what?","variant":"error"}]}`,
		},
		"a prompt that another tab answered goes away": {
			wire.Event{At: at, Data: wire.PromptClosed{PromptID: "p", Reason: wire.ClosedAnswered, MonitorID: "monitor-1"}},
			`{"type":"ACTIONS","actions":[{"type":"user.prompt.dismiss","id":"p"}],"monitorId":"monitor-1"}`,
		},
		"a turn that begins is thinking": {
			wire.Event{At: at, Data: wire.MessageAccepted{MessageID: "m", AgentID: "a", MonitorID: "monitor-0", How: wire.TakenDirect}},
			`{"type":"MESSAGE_ACCEPTED","messageId":"m","agentId":"a","monitorId":"monitor-0","how":"direct"}` + "\n" +
				`{"type":"AGENT_THINKING","content":"","agentId":"a","monitorId":"monitor-0","messageId":"m"}`,
		},
		"a message that joins a turn begins none": {
			wire.Event{At: at, Data: wire.MessageAccepted{MessageID: "m", AgentID: "a", How: wire.TakenSteered}},
			`{"type":"MESSAGE_ACCEPTED","messageId":"m","agentId":"a","how":"steered"}`,
		},
		"a message that was sent again begins none": {
			wire.Event{At: at, Data: wire.MessageAccepted{MessageID: "m", AgentID: "a", How: wire.TakenDirect, Duplicate: true}},
			`{"type":"MESSAGE_ACCEPTED","messageId":"m","agentId":"a","how":"direct","duplicate":true}`,
		},
		"a failed turn is a toast too": {
			wire.Event{At: at, Data: wire.AgentResponse{Content: "so", IsComplete: true, Outcome: wire.OutcomeFailed, Reason: "no model", AgentID: "a", MonitorID: "monitor-0", MessageID: "m"}},
			`{"type":"AGENT_RESPONSE","content":"so","isComplete":true,"outcome":"failed","reason":"no model","agentId":"a","monitorId":"monitor-0","messageId":"m"}` + "\n" +
				`{"type":"ACTIONS","actions":[{"type":"toast.show","id":"failed-4-7","message":"no model","variant":"error"}],"agentId":"a","monitorId":"monitor-0","messageId":"m"}`,
		},
		"a failed turn without a reason has the table's": {
			wire.Event{At: at, Data: wire.AgentResponse{IsComplete: true, Outcome: wire.OutcomeFailed, AgentID: "a"}},
			`{"type":"AGENT_RESPONSE","content":"","isComplete":true,"outcome":"failed","agentId":"a"}` + "\n" +
				`{"type":"ACTIONS","actions":[{"type":"toast.show","id":"failed-4-7","message":"` + wire.CodeExecutionFailed.Info().Message + `","variant":"error"}],"agentId":"a"}`,
		},
		"a turn that was cut off is a toast": {
			wire.Event{At: at, Data: wire.TurnInterrupted{MessageID: "m", AgentID: "a", Reason: "cut off 3 times", Resumable: true, MonitorID: "monitor-0"}},
			`{"type":"ACTIONS","actions":[{"type":"toast.show","id":"interrupted-4-7","message":"cut off 3 times","variant":"warning"}],"agentId":"a","monitorId":"monitor-0","messageId":"m"}`,
		},
		"pings are for others": {wire.Event{Data: wire.Ping{}}, ``},
		"plans are for others": {wire.Event{At: at, Data: wire.LayerStart{Layer: wire.LayerPlanning}}, ``},
		"tasks are for others": {wire.Event{At: at, Data: wire.TaskIdle{Task: wire.Task{TaskID: "t"}}}, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := shown(tt.event); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// No desktop event may make that client believe that its connection is lost.
func TestDesktopsGetNoERROR(t *testing.T) {
	t.Parallel()
	for _, e := range wire.Events().All() {
		if e.Direction != wire.FromServer {
			continue
		}
		for _, event := range sampleEvents(t, e) {
			if got := shown(event); strings.Contains(got, `{"type":"ERROR"`) {
				t.Errorf("%s in the desktop dialect: got %s, want no frame of type ERROR", e.Type, got)
			}
		}
	}
}

func TestSnapshotForADesktop(t *testing.T) {
	t.Parallel()
	text := func(s string) wire.Content { return wire.TextContent{Data: s} }
	state := wire.SessionState{
		Mode: wire.StateSnapshot, Reason: wire.SnapshotFresh, HeartbeatMS: 30_000, Provider: "demo",
		Monitors: []wire.MonitorStatus{
			{MonitorID: "monitor-0", State: wire.MonitorRunning},
			{MonitorID: "monitor-1", State: wire.MonitorIdle},
			{MonitorID: "monitor-2", State: wire.MonitorIdle},
		},
		Windows: []wire.WindowState{
			{WindowID: "b", MonitorID: "monitor-1", Title: "B", Content: text("b"), Maximized: true},
			{WindowID: "a", MonitorID: "monitor-0", Title: "A", Content: text("a"), Minimized: true, Lock: "window-a"},
			{WindowID: "c", MonitorID: "monitor-9", Title: "C", Content: text("c")},
		},
		Agents: []wire.AgentState{
			{Role: "main-monitor-0-m1", Kind: wire.AgentMain, MonitorID: "monitor-0", Status: wire.AgentStatusRunning, MessageID: "m1", Text: "so far"},
			{Role: "window-a", Kind: wire.AgentWindow, MonitorID: "monitor-0", WindowID: "a", Status: wire.AgentStatusWaiting},
			{Role: "main-monitor-1", Kind: wire.AgentMain, MonitorID: "monitor-1", Status: wire.AgentStatusIdle},
		},
		Dialogs:       []wire.ApprovalRequest{{DialogID: "d", Title: "May it?", Message: "fetch", AgentID: "main-monitor-0-m1", MonitorID: "monitor-0"}},
		Prompts:       []wire.OpenPrompt{{Prompt: wire.Prompt{ID: "p", Title: "Which?", Message: ""}, MonitorID: "monitor-1"}},
		Notifications: []wire.ShownNotification{{Notification: wire.Notification{ID: "n", Title: "Done", Body: "all of it"}}},
		Badges:        wire.Object[wire.AppID, uint64]{}.Set("mail", 2).Set("mail", 3),
		Shortcuts:     []wire.Shortcut{{ID: "s", Label: "L", Icon: "i", Type: wire.ShortcutURL, Target: "t", CreatedAt: 1}},
		LastMessageID: wire.Position{Epoch: 4, Seq: 7},
	}
	const want = `{"type":"CONNECTION_STATUS","status":"connected","provider":"demo","sessionId":"ses-1"}
{"type":"ACTIONS","actions":[{"type":"window.create","windowId":"a","title":"A","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"text","data":"a"},"minimized":true},{"type":"window.lock","windowId":"a","agentId":"window-a"},{"type":"dialog.confirm","id":"d","title":"May it?","message":"fetch","agentId":"main-monitor-0-m1"}],"monitorId":"monitor-0"}
{"type":"ACTIONS","actions":[{"type":"window.create","windowId":"b","title":"B","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"text","data":"b"}},{"type":"window.maximize","windowId":"b"},{"type":"user.prompt.show","id":"p","title":"Which?","message":""}],"monitorId":"monitor-1"}
{"type":"ACTIONS","actions":[{"type":"window.create","windowId":"c","title":"C","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"text","data":"c"}}],"monitorId":"monitor-9"}
{"type":"ACTIONS","actions":[{"type":"notification.show","id":"n","title":"Done","body":"all of it"},{"type":"desktop.removeShortcut","shortcutId":"s"},{"type":"desktop.createShortcut","shortcut":{"id":"s","label":"L","icon":"i","type":"url","target":"t","createdAt":1}},{"type":"app.badge","appId":"mail","count":3}]}
{"type":"AGENT_RESPONSE","content":"so far","isComplete":false,"agentId":"main-monitor-0-m1","monitorId":"monitor-0","messageId":"m1"}
{"type":"WINDOW_AGENT_STATUS","windowId":"a","agentId":"window-a","status":"assigned","monitorId":"monitor-0"}
{"type":"WINDOW_AGENT_STATUS","windowId":"a","agentId":"window-a","status":"active","monitorId":"monitor-0"}
{"type":"AGENT_THINKING","content":"","agentId":"window-a","monitorId":"monitor-0"}`
	if got := shown(wire.Event{Session: "ses-1", Data: state}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	state.Mode, state.ReplayUntil, state.Provider = wire.StateResume, wire.Position{Epoch: 4, Seq: 9}, ""
	const greeting = `{"type":"CONNECTION_STATUS","status":"connected","provider":"default","sessionId":"ses-1"}`
	if got := shown(wire.Event{Session: "ses-1", Data: state}); got != greeting {
		t.Errorf("resume shows\n%s\nwant\n%s", got, greeting)
	}
}

func TestAChangedProviderIsAStatusOfTheDesktop(t *testing.T) {
	t.Parallel()
	frames := wire.Desktop{}.AppendFrames(nil, wire.Event{Session: "ses-1", Data: wire.ProviderChanged{Provider: "demo"}})
	want := `{"type":"CONNECTION_STATUS","status":"connected","provider":"demo","sessionId":"ses-1"}`
	if len(frames) != 1 || string(frames[0]) != want {
		t.Errorf("got %s, want %s", frames, want)
	}
}
