package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/files/filestest"
)

func TestFolderIsABackend(t *testing.T) {
	t.Parallel()
	filestest.Run(t, func(t *testing.T) files.Backend {
		t.Helper()
		b, err := files.OpenFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		return b
	})
}

// Programs leave folders that cannot be read, and names that are no UTF-8. They are left out; the other files can be used.
func TestUnreadableFoldersAreLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{})
	save(t, s, ses, "readable/a.txt", "a")
	for _, folder := range []string{"\xb0\xa1", "closed"} {
		at := filepath.Join(dir, string(ses), folder)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "inside.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(dir, string(ses), "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	if got, want := strings.Join(names(t, s, ""), " "), "closed/ readable/"; got != want {
		t.Errorf("files: got %q, want %q", got, want)
	}
	if got, want := strings.Join(names(t, s, "readable"), " "), "readable/a.txt"; got != want {
		t.Errorf("files of a folder: got %q, want %q", got, want)
	}
	if w, err := s.Watch(t.Context(), ses); err != nil {
		t.Errorf("watch: got error %v, want none", err)
	} else if err := w.Publish(t.Context()); err != nil {
		t.Errorf("publication: got error %v, want none", err)
	}
}
