package agui

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// document is the state of a desktop as clients get it: sections of entries. It is small, because
// clients send it back with each request, so windows are in it without their content.
type document map[string]map[string]json.RawMessage

// The sections of a document.
const (
	sectionSession   = "session"
	sectionMonitors  = "monitors"
	sectionWindows   = "windows"
	sectionAgents    = "agents"
	sectionTodos     = "todos"
	sectionQuestions = "questions"
)

type documentWindow struct {
	Monitor   wire.MonitorID `json:"monitor"`
	Title     string         `json:"title"`
	Renderer  string         `json:"renderer"`
	Bounds    wire.Bounds    `json:"bounds"`
	Minimized bool           `json:"minimized,omitempty"`
	App       wire.AppID     `json:"app,omitempty"`
}

type documentAgent struct {
	Kind    wire.AgentKind   `json:"kind"`
	Monitor wire.MonitorID   `json:"monitor,omitempty"`
	Window  wire.WindowID    `json:"window,omitempty"`
	Status  wire.AgentStatus `json:"status"`
}

type documentTodo struct {
	Task   string          `json:"task"`
	Status wire.TodoStatus `json:"status"`
}

type documentPlan struct {
	ID     wire.PlanID     `json:"id"`
	Status wire.PlanStatus `json:"status"`
}

// documentOf returns the document of a state.
func documentOf(s *wire.SessionState) document {
	d := document{
		sectionSession: {"title": jsonOf(s.Title)}, sectionMonitors: {}, sectionWindows: {}, sectionAgents: {}, sectionTodos: {}, sectionQuestions: {},
	}
	for _, m := range s.Monitors {
		d[sectionMonitors][string(m.MonitorID)] = jsonOf(map[string]any{"state": m.State, "queue": m.Queue})
	}
	for _, w := range s.Windows {
		d[sectionWindows][string(w.MonitorID)+"/"+string(w.WindowID)] = jsonOf(documentWindow{
			Monitor: w.MonitorID, Title: w.Title, Renderer: wire.RendererOf(w.Content), Bounds: w.Bounds, Minimized: w.Minimized, App: w.AppID,
		})
	}
	for _, a := range s.Agents {
		if a.Status != wire.AgentStatusIdle {
			d[sectionAgents][string(a.Role)] = jsonOf(documentAgent{Kind: a.Kind, Monitor: a.MonitorID, Window: a.WindowID, Status: a.Status})
		}
	}
	for _, q := range questionsOf(s) {
		d[sectionQuestions][q.id] = jsonOf(map[string]any{"message": q.message, "agent": q.agent})
	}
	if s.Plan != nil {
		d[sectionSession]["plan"] = jsonOf(documentPlan{ID: s.Plan.ID, Status: s.Plan.Status})
	}
	for _, t := range s.Todos {
		d[sectionTodos][string(t.ID)] = jsonOf(documentTodo{Task: t.Task, Status: t.Status})
	}
	return d
}

// operation is an operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// patch returns the operations that turn one document into another.
func patch(from, to document) []operation {
	var all []operation
	for _, section := range slices.Sorted(maps.Keys(to)) {
		before, after := from[section], to[section]
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if _, there := after[key]; !there {
				all = append(all, operation{Op: "remove", Path: pointer(section, key)})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(after)) {
			old, was := before[key]
			switch {
			case !was:
				all = append(all, operation{Op: "add", Path: pointer(section, key), Value: after[key]})
			case !bytes.Equal(old, after[key]):
				all = append(all, operation{Op: "replace", Path: pointer(section, key), Value: after[key]})
			}
		}
	}
	return all
}

// pointer returns the JSON pointer (RFC 6901) of an entry.
func pointer(section, key string) string {
	return "/" + section + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func jsonOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail: texts and numbers
	}
	return data
}
