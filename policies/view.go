package policies

import (
	"encoding/json"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// ViewContext is the text for agents of the view of an MCP server in a window.
type ViewContext struct {
	Window wire.WindowID
	Server string
	Text   string
}

// Source names the server as a source of outside data.
func (v ViewContext) Source() string { return "the MCP server " + v.Server }

// viewsBlock returns the contexts of views as outside data.
func viewsBlock(all []ViewContext) string {
	blocks := make([]string, len(all))
	for i, v := range all {
		blocks[i] = "What the window " + Escape(oneLine(string(v.Window))) + " shows now:\n" + OutsideData(v.Source(), v.Text)
	}
	return joinBlocks(blocks...)
}

// MCPAppText describes a window with the view of an MCP server for models: the call, and the text of its result. The rest of
// the result is for the view.
func MCPAppText(app wire.MCPApp) string {
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(app.Result, &result) // a result without text has none
	var texts []string
	for _, c := range result.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return "View of the tool " + app.Tool + " of the MCP server " + app.Server + ", called with " + string(app.Input) + "\n" +
		OutsideData(ViewContext{Server: app.Server}.Source(), strings.Join(texts, "\n"))
}
