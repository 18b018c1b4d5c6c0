package tools_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// schemaNames returns the fields of a schema.
func schemaNames(t *testing.T, schema json.RawMessage) (names, required []string) {
	t.Helper()
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	for name := range s.Properties {
		names = append(names, name)
	}
	return names, s.Required
}

// A small context window has room for a conversation besides the tools and the system prompt.
func TestSmallContextWindows(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	c := b.caller()
	c.ContextWindow = 8192
	briefing, err := b.exec.Brief(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(b.exec.AllTools(c))
	if err != nil {
		t.Fatal(err)
	}
	const most = 1300
	if got := (len(briefing.System) + len(list)) / 4; got > most {
		t.Errorf("the tools and the system prompt have about %d tokens, want at most %d of 8192", got, most)
	}
	full := b.exec.AllTools(b.caller())
	for _, tool := range b.exec.AllTools(c) {
		i := slices.IndexFunc(full, func(f providers.Tool) bool { return f.Name == tool.Name })
		if i < 0 {
			t.Errorf("there is no tool %s, want only existing ones", tool.Name)
			continue
		}
		names, _ := schemaNames(t, tool.Schema)
		known, required := schemaNames(t, full[i].Schema)
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s has a field %s, want only those of the tool: %v", tool.Name, name, known)
			}
		}
		for _, name := range required {
			if !slices.Contains(names, name) {
				t.Errorf("%s lacks the required field %s", tool.Name, name)
			}
		}
	}
	if got := len(b.exec.Tools(c)); got != len(b.exec.AllTools(c)) {
		t.Errorf("a main agent may use %d tools, want all %d", got, len(b.exec.AllTools(c)))
	}
	task := b.worker()
	task.ContextWindow = 8192
	if r := b.callAs(task, "system_memorize", `{"content":"x"}`); !r.IsError {
		t.Error("a task agent remembered something, want an error: its profile has no such tool")
	}
	b.mustAs(c, "storage_write", `{"path":"a.txt","content":"x"}`)
	if r := b.callAs(c, "task_run", `{"objective":"x"}`); !r.IsError {
		t.Error("a task was delegated, want an error: the agent has no such tool")
	}
}
