package mcpclient

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/internal/truncation"
)

// Bounds of the tools of a server.
const (
	maxTools       = 128
	maxDescription = 4 << 10  // bytes
	maxSchema      = 64 << 10 // bytes
)

// Tool is a tool of a server. Its texts are the server's.
type Tool struct {
	// Server is the name of its entry, and Name its name there.
	Server, Name string
	// ModelName is its name for agents, mcp__server__tool.
	ModelName          string
	Title, Description string
	// Schema is the JSON Schema of the input, which is an object.
	Schema json.RawMessage
	Hints  Hints
	// Trusted says that the hints count, and Profiles limits the tool profiles that have the tool.
	Trusted  bool
	Profiles []string
	// UI is the view of the tool; nil if it has none.
	UI *UI
}

// Hints are the claims of a server about a tool.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld bool
}

// UI is the _meta.ui of a tool: a resource that shows its result.
type UI struct {
	ResourceURI string   `json:"resourceUri"`
	Visibility  []string `json:"visibility"`
}

// OnlyReads reports whether a trusted server declares that the tool changes nothing.
func (t *Tool) OnlyReads() bool { return t.Trusted && t.Hints.ReadOnly }

// isForModels reports whether agents may call the tool, not only its view.
func (t *Tool) isForModels() bool {
	return t.UI == nil || len(t.UI.Visibility) == 0 || slices.Contains(t.UI.Visibility, "model")
}

// HasView reports whether a view shows the calls of the tool.
func (t *Tool) HasView() bool { return t.UI != nil && isViewURI(t.UI.ResourceURI) }

// isForViews reports whether views of its server may call the tool.
func (t *Tool) isForViews() bool {
	return t.UI == nil || len(t.UI.Visibility) == 0 || slices.Contains(t.UI.Visibility, "app")
}

// toolOf returns a tool as the server describes it, or false if it cannot be used.
func toolOf(s Server, t *mcp.Tool) (Tool, bool) {
	if !isLine(t.Name, 2*maxName) {
		return Tool{}, false
	}
	schema, err := json.Marshal(objectSchema(t.InputSchema))
	if err != nil || len(schema) > maxSchema {
		return Tool{}, false
	}
	out := Tool{
		Server: s.Name, Name: t.Name, ModelName: modelName(s.Name, t.Name), Title: shorten(t.Title), Description: truncation.BytesMarked(strings.ToValidUTF8(t.Description, ""), maxDescription, "…"),
		Schema: schema, Trusted: s.Trusted, Profiles: s.Profiles, UI: uiOf(t.Meta), Hints: Hints{Destructive: true, OpenWorld: true},
	}
	if a := t.Annotations; a != nil {
		out.Hints.ReadOnly, out.Hints.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		out.Hints.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
		out.Hints.OpenWorld = a.OpenWorldHint == nil || *a.OpenWorldHint
		if out.Title == "" {
			out.Title = shorten(a.Title)
		}
	}
	return out, true
}

// objectSchema returns a schema that model APIs accept: an object.
func objectSchema(schema any) any {
	m, ok := schema.(map[string]any)
	if !ok || m == nil {
		m = map[string]any{}
	}
	m["type"] = "object"
	delete(m, "$schema")
	return m
}

// uiOf returns the view of a tool. Older servers name its address alone.
func uiOf(meta mcp.Meta) *UI {
	var ui UI
	if data, err := json.Marshal(meta["ui"]); err == nil && meta["ui"] != nil {
		_ = json.Unmarshal(data, &ui) // what is no view has no address
	}
	if old, ok := meta["ui/resourceUri"].(string); ok && ui.ResourceURI == "" {
		ui.ResourceURI = old
	}
	if !strings.HasPrefix(ui.ResourceURI, "ui://") && len(ui.Visibility) == 0 {
		return nil
	}
	return &ui
}
