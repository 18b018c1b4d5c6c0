package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestMonitorNumbers(t *testing.T) {
	t.Parallel()
	for id, want := range map[wire.MonitorID]wire.MonitorID{
		"0": "monitor-0", "3": "monitor-3", "12": "monitor-12",
		"": "", "00": "00", "01": "01", "-1": "-1", "1a": "1a", "work": "work", "monitor-1": "monitor-1",
		"1234567890": "1234567890", // its name could be too long for an id
	} {
		if got := wire.NamedMonitor(id); got != want || wire.IsMonitorNumber(id) != (got != id) {
			t.Errorf("%q is named %q and a number: %v, want %q", id, got, wire.IsMonitorNumber(id), want)
		}
	}
}

// Newer desktops read the numbers of monitors, and windows that are scoped by them.
func TestNumberedFrames(t *testing.T) {
	t.Parallel()
	move := func(id wire.WindowID) wire.Action { return wire.WindowMove{WindowID: id, X: 1, Y: 2} }
	shortcut := wire.Shortcut{
		ID: "s", Label: "L", Icon: "i", Type: wire.ShortcutAction, Target: "t", CreatedAt: 1,
		OSActions: []wire.Action{wire.WindowFocus{WindowID: "w"}},
	}
	tests := map[string]struct {
		data wire.ServerPayload
		want string
	}{
		"actions": {
			wire.Actions{MonitorID: "monitor-2", Actions: []wire.Action{move("w"), move("a/b"), move("monitor-2/w"), move("monitor-0/w")}},
			`{"type":"ACTIONS","actions":[{"type":"window.move","windowId":"2/w","x":1,"y":2},{"type":"window.move","windowId":"2/a/b","x":1,"y":2},` +
				`{"type":"window.move","windowId":"2/w","x":1,"y":2},{"type":"window.move","windowId":"0/w","x":1,"y":2}],"monitorId":"2"}`,
		},
		"actions of a monitor without a number": {
			wire.Actions{MonitorID: "work", Actions: []wire.Action{move("w")}},
			`{"type":"ACTIONS","actions":[{"type":"window.move","windowId":"work/w","x":1,"y":2}],"monitorId":"work"}`,
		},
		"what a shortcut does is for the monitor that is in front then": {
			wire.Actions{MonitorID: "monitor-1", Actions: []wire.Action{wire.CreateShortcut{Shortcut: shortcut}}},
			`{"type":"ACTIONS","actions":[{"type":"desktop.createShortcut","shortcut":{"id":"s","label":"L","icon":"i","type":"action","target":"t",` +
				`"osActions":[{"type":"window.focus","windowId":"w"}],"createdAt":1}}],"monitorId":"1"}`,
		},
		"an answer": {
			wire.AgentResponse{Content: "x", AgentID: "main-monitor-0-m", MonitorID: "monitor-0"},
			`{"type":"AGENT_RESPONSE","content":"x","isComplete":false,"agentId":"main-monitor-0-m","monitorId":"0"}`,
		},
		"a question to an app": {
			wire.AppProtocolRequest{RequestID: "r", WindowID: "w", Request: wire.AppManifestRequest{}, MonitorID: "monitor-1"},
			`{"type":"APP_PROTOCOL_REQUEST","requestId":"r","windowId":"1/w","request":{"kind":"manifest"},"monitorId":"1"}`,
		},
		"a snapshot": {
			wire.SessionState{
				Mode: wire.StateSnapshot, Reason: wire.SnapshotFresh, Provider: "demo",
				Windows: []wire.WindowState{{WindowID: "w", MonitorID: "monitor-1", Title: "W", Content: wire.TextContent{Data: "x"}}},
				Agents:  []wire.AgentState{{Role: "window-w", MonitorID: "monitor-1", WindowID: "w", Status: wire.AgentStatusRunning}},
			},
			`{"type":"CONNECTION_STATUS","status":"connected","provider":"demo","sessionId":"ses-1"}` + "\n" +
				`{"type":"ACTIONS","actions":[{"type":"window.create","windowId":"1/w","title":"W","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"text","data":"x"}}],"monitorId":"1"}` + "\n" +
				`{"type":"WINDOW_AGENT_STATUS","windowId":"1/w","agentId":"window-w","status":"assigned","monitorId":"1"}` + "\n" +
				`{"type":"WINDOW_AGENT_STATUS","windowId":"1/w","agentId":"window-w","status":"active","monitorId":"1"}` + "\n" +
				`{"type":"AGENT_THINKING","content":"","agentId":"window-w","monitorId":"1"}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, frame := range (wire.Desktop{Numbered: true}).AppendFrames(nil, wire.Event{Session: "ses-1", Data: tt.data}) {
				got = append(got, string(frame))
			}
			if all := strings.Join(got, "\n"); all != tt.want {
				t.Errorf("got\n%s\nwant\n%s", all, tt.want)
			}
		})
	}
	sent, _ := tests["actions"].data.(wire.Actions)
	if sent.MonitorID != "monitor-2" || sent.Actions[0] != move("w") {
		t.Errorf("event after encoding: got %+v, want it unchanged, for monitor-2", sent)
	}
}

// Messages of newer desktops are decoded as those of all other clients.
func TestNumberedMessages(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]wire.ClientPayload{
		`{"type":"SUBSCRIBE_MONITOR","monitorId":"0","viewport":{"w":1,"h":2}}`:                               wire.SubscribeMonitor{MonitorID: "monitor-0"},
		`{"type":"REMOVE_MONITOR","monitorId":"3"}`:                                                           wire.RemoveMonitor{MonitorID: "monitor-3"},
		`{"type":"USER_MESSAGE","messageId":"m","content":"x","monitorId":"1"}`:                               wire.UserMessage{MessageID: "m", Content: "x", MonitorID: "monitor-1"},
		`{"type":"USER_MESSAGE","messageId":"m","content":"x"}`:                                               wire.UserMessage{MessageID: "m", Content: "x"},
		`{"type":"WINDOW_MESSAGE","messageId":"m","windowId":"1/w","content":"x"}`:                            wire.WindowMessage{MessageID: "m", WindowID: "w", Content: "x", MonitorID: "monitor-1"},
		`{"type":"WINDOW_MESSAGE","messageId":"m","windowId":"w/1","content":"x"}`:                            wire.WindowMessage{MessageID: "m", WindowID: "w/1", Content: "x"},
		`{"type":"APP_PROTOCOL_READY","windowId":"2/a/b"}`:                                                    wire.AppProtocolReady{WindowID: "a/b", MonitorID: "monitor-2"},
		`{"type":"USER_INTERACTION","interactions":[{"type":"window.focus","windowId":"2/w","timestamp":1}]}`: wire.UserInteractions{MonitorID: "monitor-2", Interactions: []wire.UserInteraction{{Type: wire.DidFocusWindow, WindowID: "w", Timestamp: 1}}},
		`{"type":"USER_INTERACTION","interactions":[{"type":"window.focus","windowId":"2/w","timestamp":1},{"type":"window.close","windowId":"1/v","timestamp":1}]}`: wire.UserInteractions{
			Interactions: []wire.UserInteraction{{Type: wire.DidFocusWindow, WindowID: "w", Timestamp: 1}, {Type: wire.DidCloseWindow, WindowID: "v", Timestamp: 1}},
		},
		`{"type":"USER_MESSAGE","messageId":"m","content":"x","interactions":[{"type":"draw","windowId":"2/w","timestamp":1}]}`: wire.UserMessage{
			MessageID: "m", Content: "x", Interactions: []wire.UserInteraction{{Type: wire.DidDraw, WindowID: "w", Timestamp: 1}},
		},
		`{"type":"INTERRUPT"}`: wire.Interrupt{},
	} {
		m, err := wire.Desktop{Numbered: true}.DecodeMessage([]byte(frame))
		if err != nil || !reflect.DeepEqual(m.Data, want) {
			t.Errorf("%s\nis %+v, %v\nwant %+v", frame, m.Data, err, want)
		}
	}
}
