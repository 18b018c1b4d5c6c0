package main

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
)

// escapes matches the control sequences of terminals: CSI, OSC and similar, and those of
// two characters. Of incomplete ones [plain] removes the control characters.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// plain returns text that is safe to print on a terminal: without control sequences, without
// control characters other than line breaks and tabs, and without characters that change the
// direction of writing.
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

// oneLine returns the text of [plain] with every run of white space replaced by one space.
func oneLine(s string) string {
	return strings.Join(strings.Fields(plain(s)), " ")
}

// shorten truncates a text to n characters, the last of which is then an ellipsis.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return truncation.Runes(s, n-1) + "…"
}

// fromUTF16 returns s without its first n UTF-16 units.
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

// lenUTF16 returns the length in UTF-16 units.
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
