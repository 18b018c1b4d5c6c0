package mcpclient

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/internal/truncation"
)

// Bounds of a result.
const (
	maxResultText = 1 << 20 // bytes
	maxImage      = 5 << 20 // bytes
	maxImages     = 8
	maxRaw        = 4 << 20 // bytes
)

// Image is a picture in a result.
type Image struct {
	MediaType string
	Data      []byte
}

// Result is the result of a call.
type Result struct {
	Text    string
	Images  []Image
	IsError bool
	// Raw is the result as MCP defines it, for views; nil if it is larger than maxRaw.
	Raw json.RawMessage
}

// resultOf converts the result of a server. What models cannot read is described in one line.
func resultOf(r *mcp.CallToolResult) Result {
	out := Result{IsError: r.IsError}
	if raw, err := json.Marshal(r); err == nil && len(raw) <= maxRaw {
		out.Raw = raw
	}
	var parts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, out.addImage(c.MIMEType, c.Data)...)
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio, %s, %d bytes]", shorten(c.MIMEType), len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, fmt.Sprintf("[resource %s: %s %s %s]", shorten(c.URI), shorten(c.Name), shorten(c.MIMEType), shorten(c.Description)))
		case *mcp.EmbeddedResource:
			parts = append(parts, out.addResource(c.Resource)...)
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil { // else the text has it, too
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(data))
		}
	}
	out.Text = truncation.BytesMarked(strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD"), maxResultText, "…")
	return out
}

// addImage adds a picture, or returns a line about one that cannot be shown.
func (r *Result) addImage(kind string, data []byte) []string {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) || len(data) > maxImage || len(r.Images) >= maxImages {
		return []string{fmt.Sprintf("[picture, %s, %d bytes, not shown]", shorten(kind), len(data))}
	}
	r.Images = append(r.Images, Image{kind, data})
	return nil
}

// addResource adds an embedded resource, or returns its text.
func (r *Result) addResource(c *mcp.ResourceContents) []string {
	switch {
	case c == nil:
		return nil
	case strings.HasPrefix(c.MIMEType, "image/"):
		return r.addImage(c.MIMEType, c.Blob)
	case len(c.Blob) > 0:
		return []string{fmt.Sprintf("[resource %s: %s, %d bytes]", shorten(c.URI), shorten(c.MIMEType), len(c.Blob))}
	}
	return []string{fmt.Sprintf("[resource %s]\n%s", shorten(c.URI), c.Text)}
}
