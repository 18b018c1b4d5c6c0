package terminal

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
)

// escapes matches the control sequences of terminals: CSI, OSC and similar, and those of
// two characters. Of incomplete ones [Plain] removes the control characters.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// Plain returns text that is safe to print on a terminal: without control sequences, without
// control characters other than line breaks and tabs, and without characters that change the
// direction of writing.
func Plain(s string) string {
	s = escapes.ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}

// OneLine returns the text of [Plain] with every run of white space replaced by one space.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Plain(s)), " ")
}

// Shorten truncates a text to n characters, the last of which is then an ellipsis.
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return truncation.Runes(s, n-1) + "…"
}
