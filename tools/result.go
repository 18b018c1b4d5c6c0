package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/providers"
)

// maxResult bounds the characters of a result, because models read it again with every step.
const maxResult = 50_000

// maxImage bounds an image in a result, in bytes.
const maxImage = 5 << 20

func text(s string) providers.ToolResult { return providers.ToolResult{Text: s} }

func textf(format string, args ...any) providers.ToolResult {
	return text(fmt.Sprintf(format, args...))
}

func fail(s string) providers.ToolResult { return providers.ToolResult{Text: s, IsError: true} }

func failf(format string, args ...any) providers.ToolResult {
	return fail(fmt.Sprintf(format, args...))
}

// asJSON returns a result with a value as JSON.
func asJSON(v any) providers.ToolResult {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the result is not used as HTML
	if err := enc.Encode(v); err != nil {
		return failf("The result cannot be written: %v.", err)
	}
	return text(strings.TrimSuffix(b.String(), "\n"))
}

// bounded makes a result valid UTF-8, limits its length and replaces an empty one, which model
// APIs refuse.
func bounded(r providers.ToolResult) providers.ToolResult {
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	if r.Text == "" && len(r.Images) == 0 {
		r.Text = "(nothing)"
	}
	if len(r.Text) <= maxResult {
		return r
	}
	if n := utf8.RuneCountInString(r.Text); n > maxResult {
		r.Text = truncate(r.Text, maxResult) + fmt.Sprintf("\n[cut: this is %d of %d characters]", maxResult, n)
	}
	return r
}

// truncate returns the first characters of a text, at most as many as given.
func truncate(s string, runes int) string {
	for i := range s {
		if runes == 0 {
			return s[:i]
		}
		runes--
	}
	return s
}
