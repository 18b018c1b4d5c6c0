package truncation_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/internal/truncation"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text         string
		limit        int
		bytes, runes string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abc", 2, "ab", "ab"},
		{"abc", 0, "", ""},
		{"abc", -1, "", ""},
		{"안녕", 2, "", "안녕"},
		{"안녕", 5, "안", "안녕"},
		{"a안녕", 1, "a", "a"},
	} {
		if got := truncation.Bytes(c.text, c.limit); got != c.bytes {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.text, c.limit, got, c.bytes)
		}
		if got := truncation.Runes(c.text, c.limit); got != c.runes {
			t.Errorf("Runes(%q, %d) = %q, want %q", c.text, c.limit, got, c.runes)
		}
	}
}

// TestTruncateProperties checks for every text that the result is the longest beginning
// that fits and that only a truncated text is marked.
func TestTruncateProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(-2, len(text)+2).Draw(t, "limit")
		for _, f := range []struct {
			name   string
			plain  func(string, int) string
			marked func(string, int, string) string
			size   func(string) int
		}{
			{"bytes", truncation.Bytes, truncation.BytesMarked, func(s string) int { return len(s) }},
			{"runes", truncation.Runes, truncation.RunesMarked, utf8.RuneCountInString},
		} {
			got := f.plain(text, limit)
			rest, isPrefix := strings.CutPrefix(text, got)
			if !isPrefix || !utf8.ValidString(got) || f.size(got) > max(limit, 0) {
				t.Fatalf("%s of %q with limit %d: got %q, want a valid beginning within the limit", f.name, text, limit, got)
			}
			if _, next := utf8.DecodeRuneInString(rest); rest != "" && f.size(got+rest[:next]) <= limit {
				t.Fatalf("%s of %q with limit %d: got %q, want one more character, which has room", f.name, text, limit, got)
			}
			want := text
			if rest != "" {
				want = got + "…"
			}
			if m := f.marked(text, limit, "…"); m != want {
				t.Fatalf("%s marked: %q of %q with limit %d, want %q", f.name, m, text, limit, want)
			}
		}
	})
}

// TestTruncateAnyBytes checks that text that is not UTF-8 is truncated, too.
func TestTruncateAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		limit := rapid.IntRange(0, len(text)).Draw(t, "limit")
		for _, got := range []string{truncation.Bytes(text, limit), truncation.Runes(text, limit)} {
			if !strings.HasPrefix(text, got) {
				t.Fatalf("truncating %q: got %q, want a beginning of it", text, got)
			}
		}
	})
}
