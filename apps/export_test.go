package apps

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// SetPause makes the store call f between the steps of changes.
func (s *Store) SetPause(f func(step string)) { s.pause = f }

// Age makes a file or folder of the only user in dir two days old.
func Age(tb testing.TB, dir, name string) {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", filepath.FromSlash(name)))
	if err != nil || len(found) != 1 {
		tb.Fatalf("%s: got %v, %v, want one", name, found, err)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(found[0], old, old); err != nil {
		tb.Fatal(err)
	}
}
