package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/tools"
)

// Every tool has a title of its own and hints that do not contradict each other.
func TestEveryToolIsAnnotated(t *testing.T) {
	t.Parallel()
	e := tools.New(tools.Config{Web: fetch.New(nil, outbound.Hosts{}), Scripts: &scripts{}, Env: tools.Env{Names: []string{"TZ"}}, Apps: &tools.Apps{}, Notebooks: true})
	titles := map[string]string{}
	for _, profile := range append(tools.Profiles(), tools.ProfileMain, tools.ProfileAll) {
		for _, tool := range e.Tools(tools.Caller{Profile: profile, Todo: "todo-1"}) {
			if other, known := titles[tool.Title]; tool.Title == "" || known && other != tool.Name {
				t.Errorf("the title of %s is %q, want one that no other tool has", tool.Name, tool.Title)
			}
			titles[tool.Title] = tool.Name
			if tool.Hints.ReadOnly && tool.Hints.Destructive {
				t.Errorf("%s has the hints %+v, want read-only or destructive", tool.Name, tool.Hints)
			}
			checkOutput(t, tool)
		}
	}
}

func checkOutput(t *testing.T, tool providers.Tool) {
	t.Helper()
	if tool.Output == nil {
		return
	}
	var schema struct {
		Type       string
		Properties map[string]any
	}
	if err := json.Unmarshal(tool.Output.Schema, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 {
		t.Errorf("the output schema of %s is %s (%v), want an object with properties", tool.Name, tool.Output.Schema, err)
	}
	if _, ok := schema.Properties[tool.Output.Key]; tool.Output.Key != "" && !ok {
		t.Errorf("the output schema of %s lacks the field %q, want it", tool.Name, tool.Output.Key)
	}
}
