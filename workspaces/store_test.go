package workspaces_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/workspaces"
)

func openStore(t *testing.T, allowed ...string) *workspaces.Store {
	t.Helper()
	docs, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := docs.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := workspaces.New(docs.Documents, allowed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// folder creates a folder and returns its path without links.
func folder(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOnlyFoldersInAllowedOnesAreWorkspaces(t *testing.T) {
	t.Parallel()
	root := folder(t, t.TempDir())
	allowed, outside := folder(t, root, "allowed"), folder(t, root, "allowed-not")
	project := folder(t, allowed, "project")
	for name, target := range map[string]string{"out": outside, "up": root, "in": project, "gone": filepath.Join(root, "none")} {
		if err := os.Symlink(target, filepath.Join(allowed, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(allowed, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, allowed)
	for path, want := range map[string]string{
		allowed:                            allowed,
		project:                            project,
		allowed + "/./project/":            project,
		filepath.Join(allowed, "in"):       project,
		allowed + "/project/../../allowed": allowed,
		outside:                            "",
		root:                               "",
		"/":                                "",
		"project":                          "",
		allowed + "/..":                    "",
		filepath.Join(allowed, "out"):      "",
		filepath.Join(allowed, "up"):       "",
		filepath.Join(allowed, "up", "allowed-not"):   "",
		filepath.Join(allowed, "gone"):                "",
		filepath.Join(allowed, "file"):                "",
		filepath.Join(allowed, "none"):                "",
		allowed + "\x00":                              "",
		"/" + strings.Repeat("a", workspaces.MaxPath): "",
	} {
		got, err := s.Choose(t.Context(), "ses-1", path)
		if got != want || (want == "") != errors.Is(err, workspaces.ErrNotAllowed) {
			t.Errorf("choosing %q: %q, %v; want %q", path, got, err, want)
		}
	}
}

func TestAChoiceIsCheckedWhenItIsUsed(t *testing.T) {
	t.Parallel()
	root := folder(t, t.TempDir())
	allowed, outside := folder(t, root, "allowed"), folder(t, root, "outside")
	project := folder(t, allowed, "project")
	s := openStore(t, allowed)
	want := func(when, folder string, allowed bool) {
		t.Helper()
		got, err := s.Of(t.Context(), "ses-1")
		if got != folder || allowed != (err == nil) || err != nil && !errors.Is(err, workspaces.ErrNotAllowed) {
			t.Errorf("%s: workspace %q, %v; want %q", when, got, err, folder)
		}
	}
	want("before a choice", "", true)
	if _, err := s.Choose(t.Context(), "ses-1", project); err != nil {
		t.Fatal(err)
	}
	want("chosen", project, true)
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	want("removed from the disk", "", false)
	if err := os.Symlink(outside, project); err != nil {
		t.Fatal(err)
	}
	want("replaced by a link out of the allowed folder", "", false)
	if chosen, err := s.Chosen(t.Context(), "ses-1"); chosen != project || err != nil {
		t.Errorf("chosen: %q, %v; want %q", chosen, err, project)
	}
	if _, err := s.Choose(t.Context(), "ses-1", ""); err != nil {
		t.Fatal(err)
	}
	want("removed", "", true)
	if err := s.Remove(t.Context(), "ses-1"); err != nil {
		t.Errorf("removing no choice: %v", err)
	}
}

func TestFoldersAreTheAllowedOnesAndThoseInThem(t *testing.T) {
	t.Parallel()
	root := folder(t, t.TempDir())
	one, two := folder(t, root, "one"), folder(t, root, "two")
	inside := folder(t, one, "inside")
	folder(t, one, ".hidden")
	folder(t, inside, "deeper")
	if got, want := openStore(t, one, two, one).Folders(), []string{one, two, inside}; !slices.Equal(got, want) {
		t.Errorf("folders %q, want %q", got, want)
	}
	if _, err := workspaces.New(nil, []string{filepath.Join(root, "none")}); err == nil {
		t.Error("a folder that does not exist is allowed, want an error at the start")
	}
	var none workspaces.Store
	if got, err := none.Of(t.Context(), "ses-1"); got != "" || err != nil {
		t.Errorf("without workspaces: %q, %v; want none", got, err)
	}
}
