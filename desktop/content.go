package desktop

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// plainContent is content without pointers; there is always some.
func plainContent(c wire.Content) wire.Content {
	if isPlain(c) {
		return c
	}
	if c = plain(c); isPlain(c) {
		return c
	}
	return wire.TextContent{}
}

// isPlain reports whether there is content, without a pointer to it.
func isPlain(c wire.Content) bool {
	switch c.(type) {
	case wire.MarkdownContent, wire.HTMLContent, wire.TextContent, wire.TableContent,
		wire.IframeContent, wire.ComponentContent, wire.OtherContent:
		return true
	}
	return false
}

// textOf is the text of a content that is text.
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

// textContent is text for one of the renderers that take it.
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

// fit is data for a renderer, if it is what that renderer takes.
func fit(renderer string, data json.RawMessage) (wire.Content, bool) {
	c, err := theSchema().content.DecodeOwn(appendContent(nil, wire.OtherContent{Renderer: renderer, Data: data}))
	return c, err == nil
}

// appendContent adds content as it is written.
func appendContent(dst []byte, c wire.Content) []byte { return theSchema().content.Append(dst, &c) }

// blank is what a renderer shows after a clear.
func blank(renderer string) wire.Content {
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
	}
	return wire.OtherContent{Renderer: renderer, Data: json.RawMessage(`""`)}
}

// updated is content after an operation. Adding to something that is not text,
// or something that is not text, replaces it instead if the data fits; else
// nothing changes.
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
		return fit(renderer, op.Data)
	case wire.UpdateClear:
		return blank(renderer), true
	default:
		return nil, false
	}
	if more, err := theSchema().text.DecodeOwn(data); err == nil {
		if sum, ok := textContent(renderer, text[:at]+more+text[at:]); ok {
			return sum, true
		}
	}
	return fit(renderer, data)
}

func (s *State) updateWindow(monitor wire.MonitorID, a wire.WindowUpdateContent) {
	k, r := s.find(monitor, a.WindowID)
	if r == nil {
		return
	}
	if c, ok := updated(s.contentOf(k), a.Operation, a.Renderer); ok {
		s.setContent(k, c)
	}
}

// byteOffset is where a count of UTF-16 units ends in a text. One that lies
// behind the text is its end; one that lies within a character is before it.
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

// utf16Units is the length of a text as JavaScript counts it.
func utf16Units(text string) int {
	n := 0
	for _, c := range text {
		n += utf16Len(c)
	}
	return n
}

// mended is text as it comes out of a frame: what is not UTF-8 is U+FFFD, byte
// by byte.
func mended(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// isPage reports whether an address is one of a page, as browsers read it: they
// overlook what is around it and line breaks within. An address that is code would
// run as the desktop itself.
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
		return true // without a scheme it is a place on the hub
	}
	scheme := strings.ToLower(address[:end])
	return scheme == "http" || scheme == "https"
}

var breaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")
