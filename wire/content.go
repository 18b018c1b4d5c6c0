package wire

import (
	"encoding/json"
	"fmt"
)

// Content is the content of a window; its `renderer` says which kind. An unknown renderer
// is an OtherContent.
type Content interface{ content() }

func contentUnion() union {
	return unionOf[Content]("renderer",
		variant[MarkdownContent]("markdown"),
		variant[HTMLContent]("html"),
		variant[TextContent]("text"),
		variant[TableContent]("table"),
		variant[IframeContent]("iframe"),
		variant[ComponentContent]("component"),
		variant[MCPAppContent]("mcp-app"),
		variant[NotebookContent]("notebook"),
		variant[ChartContent]("chart"),
		variant[OtherContent](""),
	)
}

// RendererOf returns the name of a content's renderer. A nil content counts as text.
func RendererOf(c Content) string {
	switch c := c.(type) {
	case MarkdownContent:
		return "markdown"
	case HTMLContent:
		return "html"
	case TableContent:
		return "table"
	case IframeContent:
		return "iframe"
	case ComponentContent:
		return "component"
	case MCPAppContent:
		return "mcp-app"
	case NotebookContent:
		return "notebook"
	case ChartContent:
		return "chart"
	case OtherContent:
		return c.Renderer
	}
	return "text"
}

// MarkdownContent is GitHub-flavoured Markdown.
type MarkdownContent struct {
	Data string `json:"data"`
}

// HTMLContent is HTML.
type HTMLContent struct {
	Data string `json:"data"`
}

// TextContent is plain text.
type TextContent struct {
	Data string `json:"data"`
}

// TableContent is a table.
type TableContent struct {
	Data Table `json:"data"`
}

// Table is headers and rows of text.
type Table struct {
	Headers []string   `json:"headers"`
	Rows    [][]string `json:"rows"`
	// Formats say how the numbers of each column are written; absent or shorter means as they are.
	Formats []ColumnFormat `json:"formats,omitempty" wire:"max=200"`
}

// CheckRows checks that each row has one cell per header. Decoding does not, because older logs have other
// tables. The error begins with the name of the row.
func (t Table) CheckRows() error {
	for i, row := range t.Rows {
		if len(row) != len(t.Headers) {
			return fmt.Errorf("rows[%d]: the row has %d cells, want %d, one for each header", i, len(row), len(t.Headers))
		}
	}
	return nil
}

// ColumnFormat says how desktops write the numbers of a column. Cells that are no plain numbers stay as they are.
type ColumnFormat struct {
	// Kind defaults to auto.
	Kind NumberKind `json:"kind,omitempty"`
	// Currency is the code of the currency of a kind of that name, as in EUR.
	Currency string `json:"currency,omitempty" wire:"max=3"`
	// Decimals is the number of digits after the point; absent means as many as the cell has.
	Decimals *int `json:"decimals,omitempty" wire:"min=0,max=10"`
}

// NumberKind is the meaning of the numbers of a column.
type NumberKind string

// The kinds of numbers.
const (
	NumberAuto     NumberKind = "auto"     // right-aligned, separators from 10,000 on
	NumberText     NumberKind = "text"     // no numbers, as in ids and years
	NumberPlain    NumberKind = "number"   // with separators of thousands
	NumberPercent  NumberKind = "percent"  // 0.25 is 25 %
	NumberCurrency NumberKind = "currency" // an amount of money
)

func (NumberKind) values() []string {
	return list(NumberAuto, NumberText, NumberPlain, NumberPercent, NumberCurrency)
}

// IframeContent is another page.
type IframeContent struct {
	Data IframeSource `json:"data"`
}

// IframeSource is a URL, or a URL with its sandbox.
type IframeSource struct {
	URL   string
	Frame *Iframe
}

func (IframeSource) choice() {}

// Iframe is a URL and the permissions of the page there.
type Iframe struct {
	URL     string `json:"url"`
	Sandbox string `json:"sandbox,omitempty"`
}

// ComponentContent is a layout of components.
type ComponentContent struct {
	Data Layout `json:"data"`
}

// MCPAppContent is the view of a tool of an MCP server.
type MCPAppContent struct {
	Data MCPApp `json:"data"`
}

// MCPApp is a call of a tool of an MCP server, and the view that shows it. Every tab makes its own view from
// it.
type MCPApp struct {
	// Server is the name of the server, Tool the name of the tool there, and URI the address of the
	// view, as in ui://map.
	Server string `json:"server"`
	Tool   string `json:"tool"`
	URI    string `json:"uri"`
	// Input is the input of the call, an object, and Result its result, as MCP defines it.
	Input  json.RawMessage `json:"input,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// OtherContent has an unknown renderer. Desktops show it as text.
type OtherContent struct {
	Renderer string          `json:"renderer"`
	Data     json.RawMessage `json:"data"`
}

func (MarkdownContent) content()  {}
func (HTMLContent) content()      {}
func (TextContent) content()      {}
func (TableContent) content()     {}
func (IframeContent) content()    {}
func (ComponentContent) content() {}
func (MCPAppContent) content()    {}
func (OtherContent) content()     {}

// Scalar is a string, a number or a boolean.
type Scalar struct {
	Text    *string
	Number  *float64
	Boolean *bool
}

func (Scalar) choice() {}

// Millis is a time in milliseconds since 1970, as JavaScript counts it.
type Millis int64
