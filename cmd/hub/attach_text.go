package main

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
)

// escapes are the control sequences of terminals: CSI, OSC and their like, and
// those of two characters. What is incomplete is left to [plain].
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// plain is text that does nothing to a terminal but appear on it: no control
// characters besides line breaks and tabs, and nothing that turns the direction
// of writing.
func plain(s string) string {
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

// oneLine is plain text without line breaks.
func oneLine(s string) string {
	return strings.Join(strings.Fields(plain(s)), " ")
}

// shorten keeps at most n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return truncation.Runes(s, n-1) + "…"
}

// fromUTF16 is s without its first n UTF-16 units.
func fromUTF16(s string, n int) string {
	for i, r := range s {
		if n <= 0 {
			return s[i:]
		}
		n--
		if r > 0xffff {
			n--
		}
	}
	return ""
}

// lenUTF16 counts UTF-16 units.
func lenUTF16(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
