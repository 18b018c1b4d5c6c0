package checkpoints_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/checkpoints"
)

// TestBehaviours has what users of other tools know of checkpoints.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(rig){
		"a difference between two checkpoints lists what changed": func(r rig) {
			r.write("a", "1\n")
			first := r.save()
			r.write("a", "2\n")
			r.write("b", "new\n")
			second := r.save()
			r.equal(map[string]string{"a": "changed", "b": "added"}, r.kinds(first.Hash, second.Hash))
			r.equal(map[string]string{"a": "changed", "b": "deleted"}, r.kinds(second.Hash, first.Hash))
		},
		"a new file has nothing before, a deleted one nothing after": func(r rig) {
			r.write("old", "gone\n")
			first := r.save()
			r.remove("old")
			r.write("new", "here\n")
			second := r.save()
			for path, want := range map[string]string{"new": "+here", "old": "-gone"} {
				text, whole, err := r.s.Patch(r.Context(), r.w, ses, first.Hash, second.Hash, path, 1<<20)
				if err != nil || !whole || !strings.Contains(text, "\n"+want+"\n") {
					r.Errorf("the patch of %s: got %q (whole %v, error %v), want the line %q", path, text, whole, err, want)
				}
			}
		},
		"compares with now": func(r rig) {
			r.write("a", "1")
			first := r.save()
			r.write("a", "2")
			r.write("b", "3")
			r.equal(map[string]string{"a": "changed", "b": "added"}, r.kinds(first.Hash, checkpoints.Now))
			if n := len(r.list()); n != 1 {
				r.Errorf("checkpoints after comparing with now: got %d, want 1", n)
			}
		},
		"saves only when something changed": func(r rig) {
			r.write("a", "1")
			first := r.save()
			again := r.save()
			if !first.New || again.New || again.Hash != first.Hash {
				r.Errorf("two saves without a change: got new %v and %v, hashes %s and %s", first.New, again.New, first.Hash, again.Hash)
			}
			r.write("a", "2")
			if third := r.save(); !third.New || third.From != first.Hash || third.Number != 2 {
				r.Errorf("a save after a change: got %+v, want number 2 after %s", third, first.Hash)
			}
		},
		"windows that changed are a change": func(r rig) {
			r.write("a", "1")
			for i, windows := range []string{`{"w":1}`, `{"w":1}`, `{"w":2}`} {
				c, err := r.s.Save(r.Context(), r.w, ses, checkpoints.Note{}, []byte(windows))
				if err != nil || c.New != (i != 1) {
					r.Fatalf("save %d: new is %v (error %v)", i, c.New, err)
				}
				got, err := r.s.Windows(r.Context(), r.w, ses, c.Hash)
				if err != nil || string(got) != windows {
					r.Errorf("windows of save %d: got %s (error %v), want %s", i, got, err, windows)
				}
			}
		},
		"the same content twice is restored as one": func(r rig) {
			r.write("a", "1")
			first := r.save()
			r.write("a", "2")
			second := r.save()
			r.write("a", "1")
			third := r.save()
			if first.Files != third.Files || first.Hash == third.Hash || first.Files == second.Files {
				r.Errorf("trees %s %s %s, hashes %s %s: want equal trees and distinct hashes", first.Files, second.Files, third.Files, first.Hash, third.Hash)
			}
			r.equal(map[string]string{}, r.kinds(first.Hash, third.Hash))
		},
		"files that were never added are saved and restored": func(r rig) {
			r.write("dir/untracked", "x")
			c := r.save()
			r.remove("dir")
			r.restore(c.Hash)
			r.want(map[string]string{"dir/untracked": "x"})
		},
		"deletions are saved and restored": func(r rig) {
			r.write("a", "1")
			r.write("b", "2")
			with := r.save()
			r.remove("a")
			without := r.save()
			r.restore(with.Hash)
			r.want(map[string]string{"a": "1", "b": "2"})
			r.restore(without.Hash)
			r.want(map[string]string{"b": "2"})
		},
		"ignored files are neither saved nor touched": func(r rig) {
			r.write(".gitignore", "secret\n")
			r.write("secret", "s")
			r.write("run.log", "l")
			r.write("node_modules/m/index.js", "m")
			c := r.save()
			r.equal(map[string]string{}, r.kinds(c.Hash, checkpoints.Now))
			r.write("a", "later")
			r.write("secret", "changed")
			r.restore(c.Hash)
			r.want(map[string]string{".gitignore": "secret\n", "secret": "changed", "run.log": "l", "node_modules/m/index.js": "m"})
		},
		"ignore rules apply from the moment they change": func(r rig) {
			r.write("data.bin", "1")
			first := r.save()
			r.write(".gitignore", "*.bin\n")
			r.write("other.bin", "2")
			second := r.save()
			r.equal(map[string]string{".gitignore": "added"}, r.kinds(first.Hash, second.Hash))
			// A file that a checkpoint has stays part of the later ones, so nothing of it is lost.
			r.write("data.bin", "3")
			third := r.save()
			r.restore(first.Hash)
			r.want(map[string]string{"data.bin": "1", "other.bin": "2"})
			r.restore(third.Hash)
			r.want(map[string]string{"data.bin": "3", "other.bin": "2", ".gitignore": "*.bin\n"})
		},
		"an empty worktree has checkpoints": func(r rig) {
			empty := r.save()
			r.write("a", "1")
			full := r.save()
			r.restore(empty.Hash)
			r.want(map[string]string{})
			r.restore(full.Hash)
			r.want(map[string]string{"a": "1"})
		},
		"a worktree that was deleted is restored": func(r rig) {
			r.write("a/b", "1")
			c := r.save()
			if err := os.RemoveAll(r.w.Path); err != nil {
				r.Fatal(err)
			}
			gone := r.save()
			if !gone.New {
				r.Error("saving a worktree that is gone: got nothing new")
			}
			r.restore(c.Hash)
			r.want(map[string]string{"a/b": "1"})
		},
		"a file in place of a folder, and back": func(r rig) {
			r.write("x/y/z", "1")
			folder := r.save()
			r.remove("x")
			r.write("x", "file")
			file := r.save()
			r.restore(folder.Hash)
			r.want(map[string]string{"x/y/z": "1"})
			r.restore(file.Hash)
			r.want(map[string]string{"x": "file"})
		},
		"a second store on the same folder continues": func(r rig) {
			r.write("a", "1")
			first := r.save()
			again, err := checkpoints.Open(r.Context(), checkpoints.Config{Dir: r.dir()})
			if err != nil {
				r.Fatal(err)
			}
			c, err := again.Save(r.Context(), r.w, ses, checkpoints.Note{}, nil)
			if err != nil || c.New || c.Hash != first.Hash {
				r.Errorf("the second store saves %+v (error %v), want nothing new after %s", c, err, first.Hash)
			}
		},
		"an unknown checkpoint is refused": func(r rig) {
			r.write("a", "1")
			for _, hash := range []string{"0123456789", "HEAD", "--all", "", "refs/checkpoints/ses-1/0000000001"} {
				if _, err := r.s.Restore(r.Context(), r.w, ses, hash, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrUnknown) {
					r.Errorf("restore %q of nothing: got error %v, want %v", hash, err, checkpoints.ErrUnknown)
				}
			}
			c := r.save()
			if _, err := r.s.Restore(r.Context(), r.w, "ses-2", c.Hash, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrUnknown) {
				r.Errorf("restoring the checkpoint of another session: got error %v, want %v", err, checkpoints.ErrUnknown)
			}
			if got := r.restore(c.Hash[:8]); got.Target.Hash != c.Hash {
				r.Errorf("restoring by a short hash: got %s, want %s", got.Target.Hash, c.Hash)
			}
		},
		"sessions of one workspace have checkpoints of their own and share content": func(r rig) {
			r.write("a", strings.Repeat("x", 1000))
			mine := r.save()
			other, err := r.s.Save(r.Context(), r.w, "ses-2", checkpoints.Note{}, nil)
			if err != nil || !other.New || other.Number != 1 || other.Files != mine.Files {
				r.Fatalf("the other session saves %+v (error %v), want number 1 of the tree %s", other, err, mine.Files)
			}
			if err := r.s.RemoveSession(r.Context(), r.w, "ses-2"); err != nil {
				r.Fatal(err)
			}
			if n := len(r.list()); n != 1 {
				r.Errorf("checkpoints after the other session is removed: got %d, want 1", n)
			}
			r.remove("a")
			r.restore(mine.Hash)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newRig(t, checkpoints.Config{}))
		})
	}
}

func (r rig) equal(want, got map[string]string) {
	r.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("compared files (-want +got):\n%s", diff)
	}
}

// dir returns the folder of the repositories.
func (r rig) dir() string {
	r.Helper()
	return r.s.Dir()
}

// repo returns the repository of the worktree.
func (r rig) repo() string { return filepath.Join(r.dir(), r.w.Name+".git") }

// TestOldCheckpointsAreRemoved: the number is bounded, and the disk is not used by what was removed.
func TestOldCheckpointsAreRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{Limit: 10, PackEvery: 5})
	var last checkpoints.Saved
	for i := range 40 {
		r.write("a", strings.Repeat(string(rune('a'+i)), 10))
		last = r.save()
	}
	all := r.list()
	if len(all) > 10 || len(all) < 5 || all[len(all)-1].Hash != last.Hash || last.Number != 40 {
		t.Fatalf("checkpoints: got %d, the last is number %d, want at most 10 with number 40", len(all), last.Number)
	}
	r.restore(all[0].Hash)
	objects := git(t, r.repo(), "count-objects", "-v")
	if n := strings.Count(git(t, r.repo(), "cat-file", "--batch-check", "--batch-all-objects"), "commit"); n > len(all)+6 {
		t.Errorf("%d commits are stored for %d checkpoints, want those that were removed gone: %s", n, len(all), objects)
	}
}

func TestProtectedFoldersAreRefused(t *testing.T) {
	r := newRig(t, checkpoints.Config{})
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"Documents", "code"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home, filepath.Join(home, "code", "link")); err != nil {
		t.Fatal(err)
	}
	r.write("file", "x")
	for _, path := range []string{"/", home, home + "/", filepath.Dir(home), filepath.Join(home, "Documents"), filepath.Join(home, "code", "link"), r.dir(), r.repo(), filepath.Dir(r.dir()), r.path("file")} {
		if w, err := r.s.Workspace(path); err == nil && path != r.repo() {
			t.Errorf("workspace %s: got %+v, want a refusal", path, w)
		}
	}
	if _, err := r.s.Workspace(filepath.Join(home, "code")); err != nil {
		t.Errorf("a folder in the home: got error %v, want none", err)
	}
}

func TestUnusableGitIsUnavailable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		writeScript(t, path, text)
		return path
	}
	for program, reason := range map[string]string{
		filepath.Join(dir, "missing"):                    "not installed",
		script("old", "echo git version 2.38.5"):         "too old",
		script("strange", "echo hello"):                  "unknown",
		script("fails", "echo no such thing >&2; false"): "no such thing",
	} {
		_, err := checkpoints.Open(t.Context(), checkpoints.Config{Dir: t.TempDir(), Git: program})
		if !errors.Is(err, checkpoints.ErrUnavailable) || !strings.Contains(err.Error(), reason) {
			t.Errorf("git %s: got error %v, want %v with %q", filepath.Base(program), err, checkpoints.ErrUnavailable, reason)
		}
	}
	for _, version := range []string{"2.39.0", "2.53.1.windows.1", "3.0.0"} {
		if _, err := checkpoints.Open(t.Context(), checkpoints.Config{Dir: t.TempDir(), Git: script("v"+version, "echo git version "+version)}); err != nil {
			t.Errorf("git %s: got error %v, want none", version, err)
		}
	}
}
