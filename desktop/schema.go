package desktop

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// windowKey identifies a window in its session.
type windowKey struct {
	monitor wire.MonitorID
	id      wire.WindowID
}

// content is the content of a window, or its beginning if the window has pieces. It is stored
// separately, so that moving a window does not rewrite it.
type content struct {
	MonitorID wire.MonitorID `json:"monitorId"`
	WindowID  wire.WindowID  `json:"windowId"`
	Content   wire.Content   `json:"content"`
}

// only is the key of tables with one value.
type only struct{}

// schema holds the encoding of each table. It is created once and immutable.
type schema struct {
	about         kind[only, about]
	presence      kind[only, wire.Presence]
	approval      kind[only, wire.AutoApproval]
	mode          kind[only, wire.AgentMode]
	instructions  kind[only, instructions]
	monitors      kind[wire.MonitorID, wire.MonitorStatus]
	windows       kind[windowKey, wire.WindowState]
	contents      kind[windowKey, content]
	pieces        kind[windowPieceKey, windowPiece]
	dialogs       kind[wire.DialogID, wire.ApprovalRequest]
	prompts       kind[wire.PromptID, wire.OpenPrompt]
	notifications kind[wire.NoticeID, wire.ShownNotification]
	toasts        kind[wire.NoticeID, wire.ShownToast]
	badges        kind[wire.AppID, badge]
	shortcuts     kind[wire.ShortcutID, wire.Shortcut]
	agents        kind[wire.AgentID, wire.AgentState]
	texts         kind[pieceKey, piece]
	queues        kind[wire.MonitorID, wire.QueueUpdated]
	rows          kind[wire.Millis, wire.UIRow]
	plan          kind[only, wire.PlanState]
	layer         kind[only, layer]
	todos         kind[wire.TodoID, todo]
	requests      kind[wire.RequestID, request]

	free     wire.Format[json.RawMessage]
	content  wire.Format[wire.Content]
	text     wire.Format[string]
	snapshot wire.Format[wire.SessionState]
}

var theSchema = sync.OnceValue(func() *schema {
	return &schema{
		about:        kindOf("meta", func(only) string { return "session" }, func(*about) only { return only{} }),
		presence:     kindOf("presence", func(only) string { return "all" }, func(*wire.Presence) only { return only{} }),
		approval:     kindOf("approval", func(only) string { return "rules" }, func(*wire.AutoApproval) only { return only{} }),
		mode:         kindOf("agentMode", func(only) string { return "mode" }, func(*wire.AgentMode) only { return only{} }),
		instructions: kindOf("instructions", func(only) string { return "session" }, func(*instructions) only { return only{} }),
		monitors:     kindOf("monitors", idField, func(v *wire.MonitorStatus) wire.MonitorID { return v.MonitorID }),
		windows: kindOf("windows", windowKey.field, func(v *wire.WindowState) windowKey {
			return windowKey{v.MonitorID, v.WindowID}
		}),
		contents:      kindOf("contents", windowKey.field, func(v *content) windowKey { return windowKey{v.MonitorID, v.WindowID} }),
		pieces:        kindOf("pieces", windowPieceKey.field, (*windowPiece).key).since(pieceSchema),
		dialogs:       kindOf("dialogs", idField, func(v *wire.ApprovalRequest) wire.DialogID { return v.DialogID }),
		prompts:       kindOf("prompts", idField, func(v *wire.OpenPrompt) wire.PromptID { return v.ID }),
		notifications: kindOf("notifications", idField, func(v *wire.ShownNotification) wire.NoticeID { return v.ID }),
		toasts:        kindOf("toasts", idField, func(v *wire.ShownToast) wire.NoticeID { return v.ID }),
		badges:        kindOf("badges", idField, func(v *badge) wire.AppID { return v.AppID }),
		shortcuts:     kindOf("shortcuts", idField, func(v *wire.Shortcut) wire.ShortcutID { return v.ID }),
		agents:        kindOf("agents", idField, func(v *wire.AgentState) wire.AgentID { return v.Role }),
		texts:         kindOf("texts", pieceKey.field, (*piece).key),
		queues:        kindOf("queues", idField, func(v *wire.QueueUpdated) wire.MonitorID { return v.MonitorID }),
		rows: kindOf("rows", func(ts wire.Millis) string {
			return strconv.FormatInt(int64(ts), 10)
		}, func(v *wire.UIRow) wire.Millis { return v.TS }),
		plan:     kindOf("plan", func(only) string { return "plan" }, func(*wire.PlanState) only { return only{} }),
		layer:    kindOf("layer", func(only) string { return "layer" }, func(*layer) only { return only{} }),
		todos:    kindOf("todos", idField, func(v *todo) wire.TodoID { return v.ID }),
		requests: kindOf("hitl", idField, func(v *request) wire.RequestID { return v.ID }),
		free:     wire.FormatOf[json.RawMessage](),
		content:  wire.FormatOf[wire.Content](),
		text:     wire.FormatOf[string](),
		snapshot: wire.FormatOf[wire.SessionState](),
	}
})

func kindOf[K comparable, V any](name string, field func(K) string, key func(*V) K) kind[K, V] {
	return kind[K, V]{name: name, field: field, key: key, format: wire.FormatOf[V]()}
}

// since returns the kind for programs that know a schema version.
func (k kind[K, V]) since(version uint8) kind[K, V] {
	k.schema = version
	return k
}

func (k windowKey) field() string { return fieldName(string(k.monitor) + "/" + string(k.id)) }

func idField[K ~string](id K) string { return fieldName(string(id)) }

// anyTable is the interface of all tables.
type anyTable interface {
	// changes appends what changed since the last call.
	changes(dst []Change) []Change
	// all appends every entry.
	all(dst []Change) []Change
	// restore decodes the entries that changes wrote. An entry that cannot be decoded is an error.
	restore(tables map[string]map[string][]byte) error
	// empty removes all entries.
	empty()
	// join sets the mark that counts the changes of all tables.
	join(m tableMark)
}
