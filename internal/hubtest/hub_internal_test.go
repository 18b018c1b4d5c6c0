package hubtest

import (
	"os"
	"slices"
	"testing"
)

// broken returns a panic that the hub survived only once.
func TestBroken(t *testing.T) {
	t.Parallel()
	h := &Hub{Name: "a", folder: t.TempDir(), gone: make(chan struct{})}
	wants := func(when string, want ...string) {
		t.Helper()
		if got := h.broken(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	says := func(line string) {
		t.Helper()
		f, err := os.OpenFile(h.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wants("without a log")
	says(`level=INFO msg="hub is running"`)
	wants("well")
	says(`level=ERROR msg="panic in session"`)
	wants("after a panic", "has panicked and says so 1 times")
	wants("asked again")
	says(`level=ERROR msg="a tool broke" panic=oops`)
	wants("after another", "has panicked and says so 1 times")
	h.asked = true
	close(h.gone)
	wants("killed by the test")
}
