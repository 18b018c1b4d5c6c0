package hubtest

import (
	"os"
	"slices"
	"testing"
)

// newFailures returns a panic that the hub survived only once.
func TestNewFailures(t *testing.T) {
	t.Parallel()
	h := &Hub{Name: "a", folder: t.TempDir(), exited: make(chan struct{})}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := h.newFailures(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	log := func(line string) {
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
	expect("without a log")
	log(`level=INFO msg="hub is running"`)
	expect("running")
	log(`level=ERROR msg="panic in session"`)
	expect("after a panic", `panicked: 1 new occurrences of "panic" in the log`)
	expect("called again")
	log(`level=ERROR msg="a tool broke" panic=oops`)
	expect("after another", `panicked: 1 new occurrences of "panic" in the log`)
	h.signaled = true
	close(h.exited)
	expect("killed by the test")
}
