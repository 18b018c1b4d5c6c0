package apps

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// SetPause makes the store call f between the steps of changes.
func (s *Store) SetPause(f func(step string)) { s.pause = f }

// Age makes the files in a folder of the only user in dir two days old.
func Age(tb testing.TB, dir, name string) {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".apps", "*", filepath.FromSlash(name)))
	if err != nil || len(found) != 1 {
		tb.Fatalf("%s: got %v, %v, want one", name, found, err)
	}
	old := time.Now().Add(-48 * time.Hour)
	err = filepath.WalkDir(found[0], func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		tb.Fatal(err)
	}
}
