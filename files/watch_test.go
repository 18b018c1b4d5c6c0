package files_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

// What programs write into the folder of a session is published once, with the limits of the session.
func TestWatchPublishesWhatProgramsChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var published []string
	s, err := files.Open(dir, files.Config{SessionBytes: 100, Changed: func(_ context.Context, id wire.SessionID, all []files.Change) {
		for _, c := range all {
			published = append(published, string(id)+" "+c.Path+map[bool]string{true: " removed"}[c.Removed])
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Save(t.Context(), "ses-1", "old.csv", strings.NewReader("a"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), "ses-1", "same.csv", strings.NewReader("a"), 1); err != nil {
		t.Fatal(err)
	}
	w, err := s.Watch(t.Context(), "ses-1")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, "ses-1", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, full bool, paths ...string) {
		t.Helper()
		published = nil
		if err := w.Publish(t.Context()); errors.Is(err, files.ErrFull) != full || err != nil && !full {
			t.Errorf("%s: got error %v, want full: %t", what, err, full)
		}
		if !slices.Equal(published, paths) {
			t.Errorf("%s: got %q, want %q", what, published, paths)
		}
	}
	want("nothing", false)
	write("plots/a.png", "png")
	write("old.csv", "changed")
	want("a new folder and a changed file", false, "ses-1 old.csv", "ses-1 plots", "ses-1 plots/a.png")
	want("nothing again", false)
	if err := os.RemoveAll(filepath.Join(dir, "ses-1", "plots")); err != nil {
		t.Fatal(err)
	}
	want("a removed folder", false, "ses-1 plots removed", "ses-1 plots/a.png removed")
	write("large.bin", strings.Repeat("x", 200))
	want("more than the session may have", true, "ses-1 large.bin")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Publish(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: got %v, want %v", err, context.Canceled)
	}
}
