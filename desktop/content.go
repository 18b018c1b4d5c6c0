package desktop

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// plainContent returns the content without pointers, and empty text for nil.
func plainContent(c wire.Content) wire.Content {
	if isPlain(c) {
		return c
	}
	if c = plain(c); isPlain(c) {
		return c
	}
	return wire.TextContent{}
}

// isPlain reports whether c is a content and not a pointer to one.
func isPlain(c wire.Content) bool {
	switch c.(type) {
	case wire.MarkdownContent, wire.HTMLContent, wire.TextContent, wire.TableContent,
		wire.IframeContent, wire.ComponentContent, wire.MCPAppContent, wire.NotebookContent,
		wire.ChartContent, wire.OtherContent:
		return true
	}
	return false
}

// textOf returns the text of a textual content.
func textOf(c wire.Content) (string, bool) {
	switch c := c.(type) {
	case wire.MarkdownContent:
		return c.Data, true
	case wire.HTMLContent:
		return c.Data, true
	case wire.TextContent:
		return c.Data, true
	}
	return "", false
}

// textContent returns a textual content for a renderer, if the renderer takes text.
func textContent(renderer, text string) (wire.Content, bool) {
	switch renderer {
	case "markdown":
		return wire.MarkdownContent{Data: text}, true
	case "html":
		return wire.HTMLContent{Data: text}, true
	case "text":
		return wire.TextContent{Data: text}, true
	}
	return nil, false
}

// decodeContent decodes data for a renderer, and reports whether it is valid for it.
func decodeContent(renderer string, data json.RawMessage) (wire.Content, bool) {
	c, err := theSchema().content.DecodeOwn(appendContent(nil, wire.OtherContent{Renderer: renderer, Data: data}))
	return c, err == nil
}

// appendContent appends the encoded content.
func appendContent(dst []byte, c wire.Content) []byte { return theSchema().content.Append(dst, &c) }

// emptyContent returns the content of a renderer after a clear.
func emptyContent(renderer string) wire.Content {
	if c, ok := textContent(renderer, ""); ok {
		return c
	}
	switch renderer {
	case "table":
		return wire.TableContent{}
	case "iframe":
		return wire.IframeContent{}
	case "component":
		return wire.ComponentContent{}
	case "mcp-app":
		return wire.MCPAppContent{}
	case "notebook":
		return wire.NotebookContent{}
	case "chart":
		return wire.ChartContent{Data: wire.Chart{Kind: wire.ChartLine}}
	}
	return wire.OtherContent{Renderer: renderer, Data: json.RawMessage(`""`)}
}

// updated returns the content after an operation. If the old content or the data is not
// text, the data replaces the content if it is valid for the renderer; otherwise nothing
// changes.
func updated(c wire.Content, op wire.UpdateOperation, renderer string) (wire.Content, bool) {
	if renderer == "" {
		renderer = wire.RendererOf(c)
	}
	text, _ := textOf(c)
	var data json.RawMessage
	at := 0
	switch op := plain(op).(type) {
	case wire.UpdateAppend:
		data, at = op.Data, len(text)
	case wire.UpdatePrepend:
		data = op.Data
	case wire.UpdateInsertAt:
		data, at = op.Data, byteOffset(text, op.Position)
	case wire.UpdateReplace:
		return decodeContent(renderer, op.Data)
	case wire.UpdateClear:
		return emptyContent(renderer), true
	default:
		return nil, false
	}
	if more, err := theSchema().text.DecodeOwn(data); err == nil {
		if sum, ok := textContent(renderer, text[:at]+more+text[at:]); ok {
			return sum, true
		}
	}
	return decodeContent(renderer, data)
}

// byteOffset returns the byte offset of a position in UTF-16 units. A position behind the
// text is its end; one within a character is before it.
func byteOffset(text string, units int) int {
	for i, c := range text {
		if units -= utf16Len(c); units < 0 {
			return i
		}
	}
	return len(text)
}

func utf16Len(c rune) int {
	if c >= 0x10000 {
		return 2
	}
	return 1
}

// utf16Units returns the length of a text in UTF-16 units, as JavaScript counts it.
func utf16Units(text string) int {
	n := 0
	for _, c := range text {
		n += utf16Len(c)
	}
	return n
}

// validUTF8 replaces each invalid UTF-8 byte by U+FFFD, as decoding a frame does.
func validUTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// isPage reports whether an address is that of a page, as browsers interpret it: they
// ignore surrounding white space and line breaks within. A javascript: address would run
// with the rights of the desktop page.
func isPage(s wire.IframeSource) bool {
	address := s.URL
	if s.Frame != nil {
		address = s.Frame.URL
	}
	address = strings.TrimFunc(address, func(r rune) bool { return r <= ' ' })
	address = breaks.Replace(address)
	end := strings.IndexFunc(address, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	})
	if end <= 0 || address[end] != ':' {
		return true // relative to the hub
	}
	scheme := strings.ToLower(address[:end])
	return scheme == "http" || scheme == "https"
}

var breaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")
