package acp

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A client loads a session while a turn runs. It gets the text in the rows that the state holds, and what the turn
// has said since, once.
func TestLoadingARunningTurnSendsItsTextOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		rows []string
		want string
	}{
		"all rows":               {"one two three", []string{"one ", "two "}, "one two three"},
		"the newest row":         {"one two three", []string{"two "}, "two three"},
		"no row of the turn":     {"one two three", nil, "one two three"},
		"a row that comes again": {"one two one three", []string{"one "}, "one two one three"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			tr := newTranslator("", &url.URL{}, func(wire.MessageID) bool { return false }, func(u update) {
				if b, ok := u.Content.(block); ok && u.Kind == updateAgent {
					got += b.Text
				}
			})
			s := wire.SessionState{Agents: []wire.AgentState{{Role: "main-monitor-0-m1", Kind: wire.AgentMain, Status: wire.AgentStatusRunning, MessageID: "m1", Text: c.text}}}
			for i, text := range c.rows {
				s.RecentMessages = append(s.RecentMessages, wire.UIRow{TS: wire.Millis(i + 1), Type: wire.RowSay, Say: wire.SayText, Text: text, MessageID: "m1"})
			}
			tr.restart(&s, s.RecentMessages, false)
			if got != c.want {
				t.Errorf("text %q, want %q", got, c.want)
			}
		})
	}
}

// A call that is executed again reports that it runs without a message. Text of content is required, so an update
// without text has no content.
func TestUpdatesWithoutTextHaveNoContent(t *testing.T) {
	t.Parallel()
	var got []string
	tr := newTranslator("", &url.URL{}, func(wire.MessageID) bool { return false }, func(u update) {
		raw, err := json.Marshal(u)
		if err != nil {
			t.Error(err)
		}
		got = append(got, string(raw))
	})
	rows := []wire.UIRow{{Type: wire.RowSay, Say: wire.SayText}, {Type: wire.RowSay, Say: wire.SayReasoning}, {Type: wire.RowSay, Say: wire.SayUserFeedback}}
	tr.restart(&wire.SessionState{RecentMessages: rows}, rows, false)
	tr.event(wire.MessageAccepted{MessageID: "m1", AgentID: "main"}, nil)
	for _, message := range []string{"", "half", ""} {
		tr.event(wire.ToolProgress{AgentID: "main", ToolName: "look", ToolUseID: "c1", Status: wire.ToolRunning, Message: message}, nil)
	}
	tr.event(wire.ToolProgress{AgentID: "main", ToolName: "look", ToolUseID: "c1", Status: wire.ToolComplete}, nil)
	want := []string{
		`{"sessionUpdate":"tool_call","toolCallId":"m1.c1","title":"look","kind":"other","status":"in_progress"}`,
		`{"sessionUpdate":"tool_call_update","content":[{"type":"content","content":{"type":"text","text":"half"}}],"toolCallId":"m1.c1","status":"in_progress"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"m1.c1","status":"in_progress"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"m1.c1","status":"completed"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An approval is asked at the tool call that needs it, also if another one began later. Logs of older hubs do not name
// the call.
func TestAnApprovalNamesItsCall(t *testing.T) {
	t.Parallel()
	tr := newTranslator("", &url.URL{}, func(wire.MessageID) bool { return false }, func(update) {})
	tr.event(wire.MessageAccepted{MessageID: "m1", AgentID: "main"}, nil)
	for _, id := range []string{"c1", "c2"} {
		tr.event(wire.ToolProgress{AgentID: "main", ToolName: "shell", ToolUseID: id, Status: wire.ToolRunning}, nil)
	}
	for use, want := range map[string]string{"c1": "m1.c1", "c2": "m1.c2", "": "m1.c2", "unknown": "m1.c2"} {
		s := wire.SessionState{Dialogs: []wire.ApprovalRequest{{DialogID: "d", Title: "May it?", AgentID: "main", ToolUseID: use}}}
		r, ok := questionsOf(&s, "ses", false, tr.askingCall)["d"].request.(permissionRequest)
		if !ok || r.ToolCall.ToolCallID != want {
			t.Errorf("asked by %q: request %+v, want the call %s", use, r, want)
		}
	}
}
