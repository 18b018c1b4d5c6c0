package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/wire"
)

// Tables and components are objects, or strings of their JSON.
func TestStructuredContent(t *testing.T) {
	t.Parallel()
	const table = `{"headers":["a","b"],"rows":[["1","2"]]}`
	const layout = `{"components":[{"type":"text","content":"x"}]}`
	tableWant := wire.TableContent{Data: wire.Table{Headers: []string{"a", "b"}, Rows: [][]string{{"1", "2"}}}}
	for name, c := range map[string]struct {
		renderer, content string
		want              wire.Content
	}{
		"a table":             {"table", table, tableWant},
		"a table as text":     {"table", string(quote(table)), tableWant},
		"components":          {"component", layout, wire.ComponentContent{Data: wire.Layout{Components: []wire.Component{wire.TextComponent{Content: "x"}}}}},
		"components as text":  {"component", string(quote(layout)), wire.ComponentContent{Data: wire.Layout{Components: []wire.Component{wire.TextComponent{Content: "x"}}}}},
		"text that is a JSON": {"text", string(quote(table)), wire.TextContent{Data: table}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.must("window_create", `{"windowId":"w","title":"","content":{"renderer":"`+c.renderer+`","content":`+c.content+`}}`)
			if diff := cmp.Diff(c.want, b.window("w").Content); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if c.renderer != "text" {
				b.must("window_update", `{"windowId":"w","operation":"replace","content":`+c.content+`}`)
				if diff := cmp.Diff(c.want, b.window("w").Content); diff != "" {
					t.Errorf("replaced content (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// An error contains the path of the field.
func TestErrorsOfContentNameTheField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, input, want string }{
		"too few cells":       {"window_create", `"content":{"renderer":"table","content":{"headers":["a","b"],"rows":[["1","2"],["3"]]}}`, "content.content.rows[1]: the row has 1 cells, want 2"},
		"no rows":             {"window_create", `"content":{"renderer":"table","content":{"headers":["a"]}}`, "content.content.rows: is required"},
		"no table":            {"window_create", `"content":{"renderer":"table","content":"a,b"}`, "content.content: a table is an object"},
		"a number":            {"window_create", `"content":{"renderer":"text","content":7}`, "content.content"},
		"no content":          {"window_create", `"content":{"renderer":"text"}`, "content.content: is required"},
		"a wrong component":   {"window_create", `"content":{"renderer":"component","content":{"components":[{"type":"x"}]}}`, "content.content.components[0]"},
		"no component":        {"window_create", `"content":{"renderer":"component","content":{"components":[]}}`, "content.content.components"},
		"an unknown field":    {"window_create", `"content":{"renderer":"text","content":"x"},"colour":"red"`, "colour"},
		"an update too few":   {"window_update", `"operation":"replace","content":{"headers":["a","b"],"rows":[["1"]]}`, "content.rows[0]: the row has 1 cells, want 2"},
		"an update as a list": {"window_update", `"operation":"replace","content":[1]`, "content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.must("window_create", `{"windowId":"t","title":"","content":{"renderer":"table","content":{"headers":["a"],"rows":[]}}}`)
			id := `{"windowId":"t",`
			if c.tool == "window_create" {
				id += `"title":"",`
			}
			r := b.call(c.tool, id+c.input+"}")
			if !r.IsError || !strings.Contains(r.Text, c.want) {
				t.Errorf("got %q, want an error with %q", r.Text, c.want)
			}
			for _, no := range []string{"unnamed", "anonymous", "root"} {
				if strings.Contains(r.Text, no) {
					t.Errorf("%q names %q, want no such name", r.Text, no)
				}
			}
		})
	}
}

// The schema has the JSON types of each field.
func TestSchemasHaveTypes(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for _, def := range b.exec.Tools(b.caller()) {
		if def.Name != "window_create" && def.Name != "window_update" {
			continue
		}
		var schema struct {
			Properties map[string]struct {
				Type       any
				Properties map[string]struct{ Type any }
			}
		}
		if err := json.Unmarshal(def.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		got := schema.Properties["content"].Type
		if def.Name == "window_create" {
			got = schema.Properties["content"].Properties["content"].Type
		}
		types, _ := got.([]any)
		if !slices.Equal(types, []any{"string", "object"}) {
			t.Errorf("the content of %s has the type %v, want string or object", def.Name, got)
		}
	}
}
