package checkpoints_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/checkpoints"
)

const ses = "ses-1"

// long reports whether the long versions of proofs run (make test-checkpoints).
func long() bool { return os.Getenv("CHECKPOINTS_LONG") != "" }

// rig is a store with one worktree.
type rig struct {
	*testing.T
	s *checkpoints.Store
	w checkpoints.Worktree
}

func newRig(t *testing.T, cfg checkpoints.Config) rig {
	t.Helper()
	cfg.Dir = t.TempDir()
	s, err := checkpoints.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Workspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return rig{t, s, w}
}

func (r rig) path(name string) string { return filepath.Join(r.w.Path, filepath.FromSlash(name)) }

func (r rig) write(name, text string) {
	r.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r rig) remove(name string) {
	r.Helper()
	if err := os.RemoveAll(r.path(name)); err != nil {
		r.Fatal(err)
	}
}

func (r rig) link(target, name string) {
	r.Helper()
	if err := os.Symlink(target, r.path(name)); err != nil {
		r.Fatal(err)
	}
}

func (r rig) save() checkpoints.Saved {
	r.Helper()
	c, err := r.s.Save(r.Context(), r.w, ses, checkpoints.Note{Reason: "test"}, nil)
	if err != nil {
		r.Fatalf("save: %v", err)
	}
	return c
}

func (r rig) restore(hash string) checkpoints.Restored {
	r.Helper()
	c, err := r.s.Restore(r.Context(), r.w, ses, hash, checkpoints.Note{Reason: "restore"}, nil)
	if err != nil {
		r.Fatalf("restore: %v", err)
	}
	return c
}

func (r rig) list() []checkpoints.Checkpoint {
	r.Helper()
	all, err := r.s.List(r.Context(), r.w, ses)
	if err != nil {
		r.Fatalf("list: %v", err)
	}
	return all
}

// kinds returns the compared files, as path and kind.
func (r rig) kinds(from, to string) map[string]string {
	r.Helper()
	all, err := r.s.Compare(r.Context(), r.w, ses, from, to)
	if err != nil {
		r.Fatalf("compare: %v", err)
	}
	m := map[string]string{}
	for _, c := range all {
		m[c.Path] = c.Kind
	}
	return m
}

// want compares the files of the worktree with those given by name. Links are "-> target",
// executable files begin with "#!". Anything named .git at the root is left out.
func (r rig) want(files map[string]string) {
	r.Helper()
	if diff := cmp.Diff(files, readTree(r.T, r.w.Path)); diff != "" {
		r.Errorf("the worktree differs (-want +got):\n%s", diff)
	}
}

func readTree(tb testing.TB, root string) map[string]string {
	tb.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case rel == ".git" && d.IsDir():
			return fs.SkipDir
		case rel == ".git" || d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			got[filepath.ToSlash(rel)] = "-> " + target
			return err
		}
		text, err := os.ReadFile(path)
		got[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return got
}

// git runs git as a user does, in a folder.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.Command("git", args...) //nolint:noctx // short
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// listing returns the files of a folder as git sees them: modes, hashes, names. It is independent of
// the store.
func listing(tb testing.TB, tree string) string {
	tb.Helper()
	repo := tb.TempDir()
	git(tb, repo, "init", "-q", "--bare", "--template=", ".")
	args := []string{"--git-dir=" + repo, "--work-tree=" + tree, "-c", "core.excludesFile=/dev/null", "-c", "core.autocrlf=false"}
	git(tb, tree, append(args, "add", "-A", "-f", ".")...)
	return git(tb, tree, append(args, "ls-files", "-s")...)
}

func with(m map[string]string, name, text string) map[string]string {
	m = maps.Clone(m)
	m[name] = text
	return m
}

// writeScript writes a program. No process is started meanwhile: it would have the file open for writing until it
// executes its program, and Linux executes no file that is open for writing.
func writeScript(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
