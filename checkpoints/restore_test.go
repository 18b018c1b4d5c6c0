package checkpoints_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

// Every restore saves the state before it, and restoring that gives the same tree.
func TestRestoreIsUndone(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.write("a", "1")
	r.write("dir/b", "2")
	first := r.save()
	r.write("a", "changed, not saved")
	r.remove("dir")
	r.write("new/deep/c", "not saved")
	before := listing(t, r.w.Path)
	done := r.restore(first.Hash)
	if !done.SafetyNew || done.From != first.Hash || done.Changed != 3 || done.Safety.Reason != "restore" {
		t.Errorf("restore: got %+v, want a new safety checkpoint after %s and 3 changed files", done, first.Hash)
	}
	r.want(map[string]string{"a": "1", "dir/b": "2"})
	undone := r.restore(done.Safety.Hash)
	if got := listing(t, r.w.Path); got != before {
		t.Errorf("after the undo:\n%s\nwant\n%s", got, before)
	}
	if now := r.save(); now.New && now.Files != done.Safety.Files || undone.Target.Files != done.Safety.Files {
		t.Errorf("the tree after the undo is %s, want %s", now.Files, done.Safety.Files)
	}
	redone := r.restore(undone.Safety.Hash)
	if redone.Target.Files != first.Files {
		t.Errorf("undoing the undo: got the tree %s, want %s", redone.Target.Files, first.Files)
	}
	r.want(map[string]string{"a": "1", "dir/b": "2"})
}

// What a restore replaces is in the safety checkpoint, even if it is ignored by now.
func TestRestoreSavesIgnoredFilesInItsWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	for _, name := range []string{"file", "folder", "parent/child"} {
		r.write(name, "old")
	}
	old := r.save()
	for _, name := range []string{"file", "folder", "parent"} {
		r.remove(name)
	}
	r.save()
	r.write(".gitignore", "file\nfolder\nparent\n")
	r.write("file", "precious")
	r.write("folder/inner", "precious")
	r.write("parent", "precious")
	precious := map[string]string{".gitignore": "file\nfolder\nparent\n", "file": "precious", "folder/inner": "precious", "parent": "precious"}
	done := r.restore(old.Hash)
	r.want(map[string]string{"file": "old", "folder": "old", "parent/child": "old"})
	r.restore(done.Safety.Hash)
	r.want(precious)
}

// A repository below the root is neither saved nor restored nor deleted, whatever kind it is.
func TestNestedRepositoriesSurvive(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.write("a", "1")
	before := r.save()
	git(t, r.w.Path, "init", "-q", "repo")
	r.write("repo/file", "committed")
	git(t, r.path("repo"), "add", ".")
	git(t, r.path("repo"), "commit", "-q", "-m", "x")
	git(t, r.w.Path, "init", "-q", "unborn")
	r.write("unborn/file", "x")
	git(t, r.path("repo"), "worktree", "add", "-q", r.path("linked"))
	r.write("broken/.git", "gitdir: /nowhere\n")
	r.write("broken/file", "x")
	r.write("deep/er/x", "y")
	all := readTree(t, r.w.Path)
	c := r.save()
	slices.Sort(c.Left)
	if want := []string{"broken/", "linked/", "repo/", "unborn/"}; !slices.Equal(c.Left, want) {
		t.Errorf("left out: got %q, want %q", c.Left, want)
	}
	if again := r.save(); again.New {
		t.Errorf("saving again: got a new checkpoint, want none")
	}
	r.restore(before.Hash)
	want := readTree(t, r.w.Path)
	for name, text := range all {
		if name != "deep/er/x" && want[name] != text {
			t.Errorf("%s is %q after the restore, want it untouched", name, want[name])
		}
	}
	if got := git(t, r.path("repo"), "status", "--porcelain"); got != "" {
		t.Errorf("status of the nested repository: got %q, want it clean", got)
	}
	// A folder with saved files becomes a repository: from then on it is left alone.
	r.restore(c.Hash)
	git(t, r.w.Path, "init", "-q", "deep")
	later := r.save()
	if !slices.Contains(later.Left, "deep/") {
		t.Errorf("left out: got %q, want deep/ too", later.Left)
	}
	r.restore(before.Hash)
	if _, err := os.Stat(r.path("deep/er/x")); err != nil {
		t.Errorf("the file in the new repository: %v, want it untouched", err)
	}
	// A file where a repository is now cannot be restored.
	r.remove("repo")
	r.write("repo", "file")
	blocked := r.save()
	r.remove("repo")
	git(t, r.w.Path, "init", "-q", "repo")
	if _, err := r.s.Restore(t.Context(), r.w, ses, blocked.Hash, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrBlocked) {
		t.Errorf("restoring a file where a repository is: got error %v, want %v", err, checkpoints.ErrBlocked)
	}
	if _, err := os.Stat(r.path("repo/.git/HEAD")); err != nil {
		t.Errorf("the repository in the way: %v, want it untouched", err)
	}
}

// Locks that killed processes left do not stop anything.
func TestStaleLocksAreRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{PackEvery: 2})
	r.write("a", "0")
	first := r.save()
	for i, name := range []string{"packed-refs.lock", "refs/checkpoints/ses-1/0000000003.lock", "refs/checkpoints/ses-1/0000000004.lock", "config.lock", "index.lock", "HEAD.lock", "index.op-DEAD", "index.op-DEAD.lock", "objects/info/commit-graphs.lock"} {
		path := filepath.Join(r.repo(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r.write("a", string(rune('1'+i)))
		if c := r.save(); !c.New {
			t.Errorf("saving with a stale %s: got nothing new", name)
		}
	}
	r.restore(first.Hash)
	r.want(map[string]string{"a": "0"})
}

// A damaged or missing index costs time, nothing else.
func TestIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(string) error{
		"missing":   os.Remove,
		"truncated": func(path string) error { return os.Truncate(path, 20) },
		"garbage":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 200)), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, checkpoints.Config{})
			r.write("a", "1")
			r.write("b", "2")
			first := r.save()
			if err := damage(filepath.Join(r.repo(), "index.last")); err != nil {
				t.Fatal(err)
			}
			if again := r.save(); again.New || again.Files != first.Files {
				t.Errorf("saving with a %s index: got %+v, want nothing new", name, again)
			}
		})
	}
}

// A restore leaves fixed names in the folder as they are, whatever the checkpoint has there: it may be of an imported
// session.
func TestRestoreLeavesFixedNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.write("a", "1")
	r.write(".Agent/settings.json", "old")
	r.write(".tool.json", "old")
	r.write("deep/.tool.json", "old")
	old := r.save()
	r.remove(".Agent")
	r.write("a", "2")
	r.write(".tool.json", "new")
	r.write("deep/.tool.json", "new")
	r.w.Fixed = []string{".agent", ".tool.json", ".none"}
	done := r.restore(old.Hash)
	r.want(map[string]string{"a": "1", ".tool.json": "new", "deep/.tool.json": "old"})
	if done.Changed != 2 {
		t.Errorf("the restore changed %d files, want 2", done.Changed)
	}
	r.restore(done.Safety.Hash)
	r.want(map[string]string{"a": "2", ".tool.json": "new", "deep/.tool.json": "new"})
}
