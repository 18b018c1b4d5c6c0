package wire

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// slowSpecial is special, one byte at a time.
func slowSpecial(s string, at int) int {
	for ; at < len(s); at++ {
		if c := s[at]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return at
}

func TestSpecialBytesAreFound(t *testing.T) {
	t.Parallel()
	check := func(t rapid.TB, s string, at int) {
		t.Helper()
		want := slowSpecial(s, at)
		if got := special(s, at); got != want {
			t.Fatalf("at %d of %q in a string, want %d", got, s, want)
		}
		ascii := !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
		if got := isPlain(s); got != (ascii && slowSpecial(s, 0) == len(s)) {
			t.Fatalf("isPlain(%q): got %v, want %v", s, got, !got)
		}
		if got := special([]byte(s), at); got != want {
			t.Fatalf("at %d of %q in bytes, want %d", got, s, want)
		}
	}
	// Every pair of bytes next to each other, at the seam of two words too.
	for pair := range 1 << 16 {
		two := string([]byte{byte(pair), byte(pair >> 8)})
		for _, before := range []int{0, 3, 6, 7} {
			check(t, strings.Repeat("x", before)+two+"xxxxxxx", 0)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		check(t, s, rapid.IntRange(0, len(s)).Draw(t, "from"))
	})
}

// slowString is appendString, one character at a time.
func slowString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, "\ufffd"...)
		case c < ' ' || c == '"' || c == '\\':
			dst = appendEscaped(dst, c)
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return append(dst, '"')
}

func TestStringEncodingMatchesReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[ -~]*[\x00-\x{a0}"\\]*[ -~]*`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "text")
		got, want := string(appendString(nil, s)), string(slowString(nil, s))
		if got != want {
			t.Fatalf("%q was written as %s, want %s", s, got, want)
		}
	})
}

func TestTimesAreWrittenAsTheStandardLibraryDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := time.Unix(rapid.OneOf(
			rapid.Int64Range(-1<<37, 1<<39), rapid.Int64Range(1_700_000_000, 1_900_000_000),
		).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		clock = clock.In(time.FixedZone("", rapid.IntRange(-50_000, 50_000).Draw(t, "offset")))
		if got, want := string(appendTime(nil, clock)), clock.UTC().Format(timeLayout); got != want {
			t.Fatalf("%v was written as %s, want %s", clock, got, want)
		}
	})
}
