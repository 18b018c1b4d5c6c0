package wire

import (
	"reflect"
	"testing"
	"time"
)

// What is written without reflection has the form of its shape.
func TestQuickFormIsThatOfTheShape(t *testing.T) {
	t.Parallel()
	odd := "a \"quote\", a line\nbreak, \xff and ∞"
	contents := []Content{
		nil,
		TextContent{odd},
		HTMLContent{"<p>"},
		MarkdownContent{},
		&TextContent{"behind a pointer"},
		TableContent{Table{Headers: []string{"a"}, Rows: [][]string{{odd}}}},
		OtherContent{Renderer: "own", Data: []byte(`{"a":1}`)},
	}
	var all []Action
	for _, c := range contents {
		all = append(all, WindowSetContent{WindowID: "w", Content: c},
			WindowSetContent{WindowID: WindowID(odd), Content: c, ActionMeta: ActionMeta{AgentID: "a", RequestID: RequestID(odd)}})
	}
	all = append(all, nil, &WindowSetContent{WindowID: "behind a pointer"}, WindowClose{WindowID: "w"})
	payloads := []Actions{
		{},
		{Actions: all},
		{Actions: all[:1], MonitorID: "monitor-0", By: "con-1"},
		{Actions: all[:2], AgentID: AgentID(odd), MonitorID: MonitorID(odd), MessageID: MessageID(odd), By: ConnectionID(odd)},
	}
	for _, p := range payloads {
		e := Event{Session: "ses-1", At: Position{Epoch: 1, Seq: 2}, Time: time.UnixMilli(1), Data: p}
		want := `{"type":"ACTIONS","session_id":"ses-1","message_id":"1-2","timestamp":"1970-01-01T00:00:00.001Z","data":` +
			string(entryOf(p).Shape.append(nil, reflect.ValueOf(p))) + "}"
		if got := string(AppendEvent(nil, e)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
