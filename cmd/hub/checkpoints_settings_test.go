package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

// A restored checkpoint, which may be of an imported session, brings no settings of agents.
func TestRestoreBringsNoSettingsOfAgents(t *testing.T) {
	t.Parallel()
	store, err := checkpoints.Open(t.Context(), checkpoints.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &sessionCheckpoints{store: store, files: t.TempDir()}
	w := c.worktree("ses-1")
	names := []string{".claude/settings.json", ".codex/config.toml", ".mcp.json", "report.md"}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(w.Path, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.Path, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := store.Save(t.Context(), w, "ses-1", checkpoints.Note{}, nil)
	if err == nil {
		err = os.RemoveAll(w.Path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Restore(t.Context(), w, "ses-1", saved.Hash, checkpoints.Note{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, err := os.Stat(filepath.Join(w.Path, name))
		if got, want := err == nil, name == "report.md"; got != want {
			t.Errorf("%s is there: %v (%v), want %v", name, got, err, want)
		}
	}
}
