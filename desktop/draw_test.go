package desktop_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

// ids are few, so that events meet each other, and some are as bad as the wire
// lets them be. Kinds of ids that are not here are drawn from rest.
var ids = sync.OnceValues(func() (byName map[string][]string, rest []string) {
	long := strings.Repeat("𝛀", 64)
	return map[string][]string{
		"MonitorID": {"monitor-0", "monitor-0", "monitor-1", "monitor-2", "monitor-3", "monitor-4", strings.Repeat("m", 64)},
		"WindowID":  {"w1", "w2", "w3", "w1/a", "monitor-1/w1", long},
		"AgentID": {
			"main-monitor-0-m1", "window-w1", "window-w2/a/b", "window-w1/a", "ephemeral-1", "#x", "plan-1", "plan-1/a.1",
			"window-" + long, "task-" + strings.Repeat("é", 180),
		},
		"CellID":       {"a", "b", "c"},
		"SessionID":    {"ses-1"},
		"ReplicaID":    {"hub-1", "hub-2"},
		"ConnectionID": {"c1", "c2"},
	}, []string{"a", "b", "c", "#a", "é/ü", long}
})

// drawValue draws a JSON value that a shape takes.
func drawValue(t *rapid.T, s *wire.Shape, depth int) any {
	switch s.Kind {
	case wire.KindAny:
		return drawAnything(t)
	case wire.KindBool:
		return rapid.Bool().Draw(t, "bool")
	case wire.KindInteger:
		n := rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, 20_000), rapid.Int64Range(int64(s.Min), int64(s.Max)))
		return min(max(n.Draw(t, "integer"), int64(s.Min)), int64(s.Max))
	case wire.KindNumber:
		return rapid.Float64Range(max(s.Min, -1e300), min(s.Max, 1e300)).Draw(t, "number")
	case wire.KindPosition:
		return rapid.SampledFrom([]string{"0-0", "3-1", "4-7"}).Draw(t, "position")
	case wire.KindString:
		return drawString(t, s)
	case wire.KindArray:
		list := make([]any, rapid.IntRange(s.MinLen, s.MinLen+2).Draw(t, "items"))
		for i := range list {
			list[i] = drawValue(t, s.Elem, depth+1)
		}
		return list
	case wire.KindMap:
		object := map[string]any{}
		for range rapid.IntRange(0, 2).Draw(t, "keys") {
			object[drawString(t, s.Key)] = drawValue(t, s.Elem, depth+1)
		}
		return object
	case wire.KindChoice:
		return drawValue(t, rapid.SampledFrom(s.Fields).Draw(t, "choice").Shape, depth+1)
	case wire.KindUnion:
		v := rapid.SampledFrom(s.Variants).Draw(t, "variant")
		object := drawObject(t, v.Shape, depth+1)
		object[s.Tag] = v.Name
		if v.Name == "" {
			object[s.Tag] = "globe" // no renderer that anybody knows
		}
		return object
	default:
		return drawObject(t, s, depth)
	}
}

func drawObject(t *rapid.T, s *wire.Shape, depth int) map[string]any {
	object := map[string]any{}
	for _, f := range s.Fields {
		if !f.Optional || depth < 5 && rapid.Bool().Draw(t, f.Name) {
			object[f.Name] = drawValue(t, f.Shape, depth+1)
		}
	}
	return object
}

func drawString(t *rapid.T, s *wire.Shape) string {
	if len(s.Values) > 0 {
		return rapid.SampledFrom(s.Values).Draw(t, "value")
	}
	if s.Pattern != "" {
		byName, rest := ids()
		if of := byName[s.Name]; of != nil {
			rest = of
		}
		return rapid.SampledFrom(rest).Draw(t, "id")
	}
	text := rapid.SampledFrom([]string{"", "x", "héllo", "𝛀𝛀", "a\nb", "markdown", "text", "table"})
	if s.MaxLen == 0 && rapid.IntRange(0, 20).Draw(t, "long") == 20 {
		text = rapid.SampledFrom([]string{strings.Repeat("𝛀x", 1000)})
	}
	return text.Draw(t, "text")
}

func drawAnything(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		"more", "𝛀", "", 1, nil, true,
		[]any{},
		map[string]any{"headers": []any{"h"}, "rows": []any{}},
		map[string]any{"components": []any{}},
		map[string]any{"url": "https://example.org"},
		json.RawMessage(`{"twice":1,"twice":1e999}`), json.RawMessage(strings.Repeat("[", 32) + strings.Repeat("]", 32)),
	}).Draw(t, "anything")
}

// drawType draws a type that means something to the desktop; ACTIONS comes most
// often.
func drawType(t *rapid.T) string {
	switch rapid.IntRange(0, 5).Draw(t, "of") {
	case 0, 1, 2:
		return "ACTIONS"
	case 3:
		return rapid.SampledFrom(planTypes()).Draw(t, "type of a plan")
	}
	return rapid.SampledFrom([]string{
		"AGENT_THINKING", "AGENT_RESPONSE", "AGENT_RESPONSE", "TOOL_PROGRESS", "WINDOW_AGENT_STATUS", "MESSAGE_ACCEPTED",
		"MESSAGE_QUEUED", "MESSAGE_REJECTED", "APPROVAL_REQUEST", "MONITOR_STATUS", "DIALOG_CLOSED", "PROMPT_CLOSED",
		"PRESENCE", "OWNER_CHANGED", "SESSION_RENAMED", "FILES_CHANGED", "TURN_INTERRUPTED", "messageUpdated", "HISTORY_REWOUND",
		"QUEUE_UPDATED", "NOTEBOOK_CHANGED", "CELL_EXECUTED", "CELL_OUTPUTS", "KERNEL_STATUS",
	}).Draw(t, "type")
}

// drawNotebookLog draws what happens to one notebook.
func drawNotebookLog(t *rapid.T) []wire.Event {
	log := drawLogOf(t, func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"NOTEBOOK_CHANGED", "NOTEBOOK_CHANGED", "CELL_EXECUTED", "CELL_OUTPUTS", "CELL_OUTPUTS", "KERNEL_STATUS"}).Draw(t, "type")
	})
	for i := range log {
		switch p := log[i].Data.(type) {
		case wire.NotebookChanged:
			p.WindowID, p.MonitorID = "w1", ""
			log[i].Data = p
		case wire.CellExecuted:
			p.WindowID, p.MonitorID = "w1", ""
			log[i].Data = p
		case wire.CellOutputs:
			p.WindowID, p.MonitorID = "w1", ""
			log[i].Data = p
		case wire.KernelStatus:
			p.WindowID, p.MonitorID = "w1", ""
			log[i].Data = p
		}
	}
	if len(log) > 0 {
		log[0].Data = wire.Actions{Actions: []wire.Action{wire.WindowCreate{WindowID: "w1", Content: wire.NotebookContent{Data: wire.Notebook{
			Cells: []wire.Cell{{ID: "a", Kind: wire.CellCode, State: wire.CellRunning}}, Metadata: json.RawMessage(`{"b":1,"a":1e3}`),
		}}}}}
	}
	return log
}

// planTypes are the types of plans; what makes something of them comes most often.
func planTypes() []string {
	return []string{
		"layer_start", "layer_start", "layer_complete", "plan_generated", "plan_generated", "plan_approved", "plan_modified",
		"todo_started", "todo_progress", "todo_updated", "todo_completed", "todo_failed", "execution_progress",
		"hitl_plan_review", "hitl_approval_request", "hitl_input_request", "hitl_clarification", "hitl_closed",
		"hitl_paused", "hitl_paused", "hitl_resumed", "complete", "failed", "plan_cleared",
	}
}

// drawPayload draws what an event of a type may carry.
func drawPayload(t *rapid.T, name string) wire.ServerPayload {
	entry, ok := wire.Events().Lookup(name)
	if !ok {
		t.Fatalf("there is no event type %s, want one", name)
	}
	frame, err := json.Marshal(map[string]any{"type": name, "data": drawObject(t, entry.Shape, 0)})
	if err != nil {
		t.Fatalf("encode %s: %v", name, err)
	}
	e, err := wire.Native{}.DecodeEvent(frame)
	if err != nil {
		t.Fatalf("decode %s: %v", frame, err)
	}
	return e.Data
}

// drawLog draws a log: events in order, at times that mostly go on.
func drawLog(t *rapid.T) []wire.Event { return drawLogOf(t, drawType) }

// drawPlanLog draws a log of plans alone.
func drawPlanLog(t *rapid.T) []wire.Event {
	return drawLogOf(t, func(t *rapid.T) string { return rapid.SampledFrom(planTypes()).Draw(t, "type") })
}

func drawLogOf(t *rapid.T, drawType func(*rapid.T) string) []wire.Event {
	log := make([]wire.Event, rapid.IntRange(0, 40).Draw(t, "events"))
	at := time.UnixMilli(1_794_700_000_000).UTC()
	for i := range log {
		at = at.Add(time.Duration(rapid.IntRange(-500, 3000).Draw(t, "ms")) * time.Millisecond)
		log[i] = wire.Event{
			Session: "ses-1", At: wire.Position{Epoch: 4, Seq: uint64(i + 1)}, Time: at, Data: drawPayload(t, drawType(t)),
		}
	}
	return log
}

// fatal is what rapid and testing have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

var (
	_ fatal = (*rapid.T)(nil)
	_ fatal = (*testing.T)(nil)
)

// overTheWire is an event as a client gets it.
func overTheWire(t fatal, e wire.Event) wire.Event {
	t.Helper()
	frame := wire.AppendEvent(nil, e)
	out, err := wire.Native{}.DecodeEvent(frame)
	if err != nil {
		t.Fatalf("decode %s: %v", frame, err)
	}
	return out
}
