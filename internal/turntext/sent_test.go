package turntext_test

import (
	"testing"

	"github.com/everdesk/everdesk/internal/turntext"
)

func TestMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent   string
		offset int
		piece  string
		want   string
		ok     bool
	}{
		{"", 0, "a", "a", true},
		{"ab", 2, "c", "c", true},
		{"ab", 0, "abc", "c", true},
		{"ab", 1, "b", "", true},
		{"ab", 0, "a", "", true},
		{"ab", 1, "x", "", false},
		{"ab", 3, "x", "", false},
		{"😀", 2, "!", "!", true}, // two units
		{"😀", 0, "😀!", "!", true},
		{"말", 1, "씀", "씀", true},
	} {
		var s turntext.Sent
		s.Add(c.sent)
		if got, ok := s.More(c.offset, c.piece); got != c.want || ok != c.ok {
			t.Errorf("%q at %d after %q: %q %v, want %q %v", c.piece, c.offset, c.sent, got, ok, c.want, c.ok)
		}
	}
}

func TestRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		rows []string
		want string
	}{
		{"", nil, ""},
		{"abc", nil, "abc"},
		{"abc", []string{"a"}, "bc"},
		{"abc", []string{"a", "bc"}, ""},
		{"abc", []string{"from before", "a"}, "bc"},
		{"abc", []string{"from before"}, "abc"},
		{"abcdef", []string{"a", "bc […]"}, ""},
		{"abcdef", []string{"de"}, "f"}, // the first rows are missing
		{"", []string{"a"}, ""},
	} {
		if got := turntext.Rest(c.text, c.rows); got != c.want {
			t.Errorf("the rest of %q after %q: got %q, want %q", c.text, c.rows, got, c.want)
		}
	}
}
