package terminal

import (
	"strings"
	"testing"
)

// TestPlain checks that untrusted text cannot control a
func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ✓ 👩‍💻":                             "plain ✓ 👩‍💻",
		"a\tb\nc\r\n":                             "a\tb\nc\n",
		"\x1b[31mred\x1b[0m":                      "red",
		"\x1b[2J\x1b[1;1Hgone":                    "gone",
		"\x1b]0;title\x07after":                   "after",
		"\x1b]8;;http://evil\x1b\\link\x1b]8;;":   "link8;;",
		"\x1bP1$r0m\x1b\\after":                   "after",
		"\u009b31mC1\u009d0;t\u009cx":             "C1x",
		"\x1bcreset":                              "reset",
		"torn \x1b[":                              "torn ",
		"\x1b\x1b[31m[31m":                        "[31m",
		"nul\x00 bell\x07 del\x7f back\b":         "nul bell del back",
		"\u202eevil\u2066\u2069\u200f":            "evil",
		"one\u2028two":                            "one\ntwo",
		"bad \xff utf-8":                          "bad \ufffd utf-8",
		"\x1b]52;c;ZXZpbA==\x07clipboard":         "clipboard",
		"\x1b[" + strings.Repeat("1;", 500) + "m": "",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := OneLine(" a\n\n b\tc "); got != "a b c" {
		t.Errorf("one line: got %q, want %q", got, "a b c")
	}
}
