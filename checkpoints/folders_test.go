package checkpoints_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/checkpoints"
)

// folderRig is a session with own files beside a workspace.
type folderRig struct {
	rig // the workspace
	own rig
	f   checkpoints.Folders
}

func newFolderRig(t *testing.T) folderRig {
	t.Helper()
	r := newRig(t, checkpoints.Config{})
	own := rig{t, r.s, checkpoints.SessionWorktree(ses, t.TempDir())}
	return folderRig{r, own, checkpoints.Folders{Files: own.w, Workspace: r.w}}
}

func (r folderRig) saveAll(op string) checkpoints.Saved {
	r.Helper()
	c, err := r.s.SaveFolders(r.Context(), r.f, ses, checkpoints.Note{Reason: "test", Op: op}, []byte("windows"))
	if err != nil {
		r.Fatalf("save: %v", err)
	}
	return c
}

func (r folderRig) restoreAll(hash, op string) checkpoints.Restored {
	r.Helper()
	c, err := r.s.RestoreFolders(r.Context(), r.f, ses, hash, checkpoints.Note{Reason: "restore", Op: op}, []byte("windows"))
	if err != nil {
		r.Fatalf("restore: %v", err)
	}
	return c
}

func TestACheckpointHoldsTheFilesAndTheWorkspace(t *testing.T) {
	t.Parallel()
	r := newFolderRig(t)
	r.write("main.go", "one")
	r.own.write("report.md", "one")
	first := r.saveAll("a")
	if again := r.saveAll("b"); again.New || again.Hash != first.Hash {
		t.Errorf("nothing changed: checkpoint %s (new: %v), want %s", again.Hash, again.New, first.Hash)
	}
	r.write("main.go", "two")
	r.write("new.go", "new")
	second := r.saveAll("c")
	if !second.New {
		t.Fatal("only the workspace changed: no new checkpoint, want one")
	}
	r.own.write("report.md", "two")

	got, err := r.s.CompareFolders(t.Context(), r.f, ses, first.Hash, checkpoints.Now)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range got {
		paths = append(paths, c.Path+" "+c.Kind)
	}
	workspace := filepath.ToSlash(r.w.Path)
	want := []string{"report.md changed", workspace + "/main.go changed", workspace + "/new.go added"}
	if !slices.Equal(paths, want) {
		t.Errorf("changes %q, want %q", paths, want)
	}
	for _, path := range []string{"report.md", workspace + "/main.go"} {
		text, _, err := r.s.PatchFolders(t.Context(), r.f, ses, first.Hash, checkpoints.Now, path, 1<<20)
		if err != nil || text == "" {
			t.Errorf("difference of %s: %q, %v; want one", path, text, err)
		}
	}

	done := r.restoreAll(first.Hash, "d")
	r.want(map[string]string{"main.go": "one"})
	r.own.want(map[string]string{"report.md": "one"})
	if done.Changed != 3 || !done.SafetyNew {
		t.Errorf("restored %d files (safety is new: %v), want 3 with a new safety checkpoint", done.Changed, done.SafetyNew)
	}
	r.restoreAll(done.Safety.Hash, "e")
	r.want(map[string]string{"main.go": "two", "new.go": "new"})
	r.own.want(map[string]string{"report.md": "two"})
}

// A session that has no workspace any more, or another one, leaves the old one alone.
func TestAWorkspaceThatWasLeftIsNotRestored(t *testing.T) {
	t.Parallel()
	r := newFolderRig(t)
	r.write("main.go", "one")
	r.own.write("report.md", "one")
	first := r.saveAll("a")
	r.write("main.go", "two")
	r.own.write("report.md", "two")
	left := r
	left.f.Workspace = checkpoints.Worktree{}
	left.restoreAll(first.Hash, "b")
	r.own.want(map[string]string{"report.md": "one"})
	r.want(map[string]string{"main.go": "two"})
	if got, err := left.s.CompareFolders(t.Context(), left.f, ses, first.Hash, checkpoints.Now); err != nil || len(got) != 0 {
		t.Errorf("changes %v, %v; want none", got, err)
	}
}

// An interrupted restore that is done again has the state before both attempts as its safety
// checkpoint, of the workspace too.
func TestARestoreOfFoldersThatIsDoneAgainCanBeUndone(t *testing.T) {
	t.Parallel()
	r := newFolderRig(t)
	r.write("main.go", "one")
	first := r.saveAll("a")
	r.write("main.go", "two")
	r.own.write("report.md", "two")
	r.restoreAll(first.Hash, "b")
	r.write("main.go", "half restored")
	again := r.restoreAll(first.Hash, "b")
	r.want(map[string]string{"main.go": "one"})
	r.restoreAll(again.Safety.Hash, "c")
	r.want(map[string]string{"main.go": "two"})
	r.own.want(map[string]string{"report.md": "two"})
}

func TestRemovingASessionKeepsTheCheckpointsOfOthersInAWorkspace(t *testing.T) {
	t.Parallel()
	r := newFolderRig(t)
	r.write("main.go", "one")
	r.saveAll("a")
	other := r.f
	other.Files = checkpoints.SessionWorktree("ses-2", t.TempDir())
	kept, err := r.s.SaveFolders(t.Context(), other, "ses-2", checkpoints.Note{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.s.RemoveFromWorkspaces(t.Context(), ses); err != nil {
		t.Fatal(err)
	}
	if got := r.list(); len(got) != 0 {
		t.Errorf("the removed session has %d checkpoints, want none", len(got))
	}
	r.write("main.go", "two")
	if _, err := r.s.RestoreFolders(t.Context(), other, "ses-2", kept.Hash, checkpoints.Note{}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"main.go": "one"}, readTree(t, r.w.Path)); diff != "" {
		t.Errorf("the workspace differs (-want +got):\n%s", diff)
	}
	if _, err := r.s.RestoreFolders(t.Context(), r.f, ses, "0000000", checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrUnknown) {
		t.Errorf("restoring an unknown checkpoint: %v, want %v", err, checkpoints.ErrUnknown)
	}
}
