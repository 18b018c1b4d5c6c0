package checkpoints_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

// TestContentIsExact: whatever files are, they come back byte by byte, with their kind and mode.
func TestContentIsExact(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	files := map[string]string{
		".gitattributes":       "* text=auto eol=lf\n*.psd filter=lfs diff=lfs merge=lfs -text\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n",
		"crlf.txt":             "a\r\nb\r\n",
		"mixed.txt":            "a\r\nb\nc\r",
		"picture.psd":          pointer,
		"real.psd":             "real content\x00\x01\r\n",
		"x.id":                 "$Id$ $Id: abc $\n",
		"x.u16":                "\xff\xfea\x00",
		"empty":                "",
		"zero":                 "\x00\x00",
		"한글 이름.txt":            "내용",
		"new\nline\t\"q\" * ?": "odd name",
		"-n":                   "looks like an option",
		":(top)x":              "looks like a pathspec",
	}
	for name, text := range files {
		r.write(name, text)
	}
	r.write("run", "#!/bin/sh\n")
	if err := os.Chmod(r.path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	files = with(files, "run", "#!/bin/sh\n")
	for name, target := range map[string]string{"out": outside, "up": "../../../etc/passwd", "broken": "nothing", "loop": "loop", "folder": "."} {
		r.link(target, name)
		files = with(files, name, "-> "+target)
	}
	before := listing(t, r.w.Path)
	c := r.save()
	if len(c.Left) != 0 {
		t.Errorf("left out: %q, want nothing", c.Left)
	}

	for name := range files {
		r.remove(name)
	}
	r.write("run", "x")
	r.write("out/inside", "the link became a folder")
	r.link("run", "empty")
	second := r.save()
	r.restore(c.Hash)
	r.want(files)
	if got := listing(t, r.w.Path); got != before {
		t.Errorf("restored files:\n%s\nwant\n%s", got, before)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "not ours" {
		t.Errorf("the file outside is %q (error %v), want it untouched", text, err)
	}
	if kind := r.kinds(second.Hash, c.Hash); kind["empty"] != "type" {
		t.Errorf("a link that becomes a file: got %v", kind["empty"])
	}

	// Only the executable bit changes.
	if err := os.Chmod(r.path("run"), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := r.save()
	all, err := r.s.Compare(t.Context(), r.w, ses, c.Hash, plain.Hash)
	if err != nil || len(all) != 1 || !all[0].Mode || all[0].Path != "run" {
		t.Errorf("a changed mode: got %+v (error %v), want run only", all, err)
	}
	r.restore(c.Hash)
	if info, err := os.Stat(r.path("run")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("run has the mode %v (error %v), want it executable", info.Mode(), err)
	}
}

// A session's own files are all saved: rules in uploaded files mean nothing there.
func TestSessionFilesAreAllSaved(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.w = checkpoints.SessionWorktree(ses, t.TempDir())
	want := map[string]string{".gitignore": "*\n", "a.log": "1", "node_modules/x": "2"}
	for name, text := range want {
		r.write(name, text)
	}
	r.write(".partial/upload", "half")
	c := r.save()
	for name := range want {
		r.remove(name)
	}
	r.restore(c.Hash)
	r.want(with(want, ".partial/upload", "half"))
}

// Files that changed within the same tick of the clock, with the same size, are noticed.
func TestQuickChangesAreNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	for i := range 20 {
		text := string(rune('a' + i))
		r.write("a", text)
		c := r.save()
		if got := strings.TrimSpace(git(t, r.repo(), "cat-file", "blob", c.Files+":a")); got != text {
			t.Fatalf("checkpoint %d has %q, want %q", i, got, text)
		}
	}
}

func TestLargeFilesAndTreesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{FileBytes: 100, MaxFiles: 5, MaxBytes: 300})
	r.write("large", strings.Repeat("x", 101))
	r.write("small", strings.Repeat("x", 100))
	c := r.save()
	if !slices.Equal(c.Left, []string{"large"}) {
		t.Errorf("left out: got %q, want the large file", c.Left)
	}
	r.remove("small")
	r.restore(c.Hash)
	if _, err := os.Stat(r.path("large")); err != nil {
		t.Errorf("the large file after a restore: %v, want it untouched", err)
	}
	for i := range 6 {
		r.write("many/"+string(rune('a'+i)), "x")
	}
	before := listing(t, r.w.Path)
	if _, err := r.s.Save(t.Context(), r.w, ses, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrTooLarge) {
		t.Errorf("6 files where 5 are allowed: got error %v, want %v", err, checkpoints.ErrTooLarge)
	}
	r.remove("many")
	for i := range 4 {
		r.write("many/"+string(rune('a'+i)), strings.Repeat("x", 90))
	}
	if _, err := r.s.Restore(t.Context(), r.w, ses, c.Hash, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrTooLarge) {
		t.Errorf("restoring without a safety checkpoint: got error %v, want %v", err, checkpoints.ErrTooLarge)
	}
	r.remove("many")
	for i := range 6 {
		r.write("many/"+string(rune('a'+i)), "x")
	}
	if got := listing(t, r.w.Path); got != before {
		t.Errorf("refusals changed files:\n%s\nwant\n%s", got, before)
	}
}

func TestSlowGitIsRefused(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	slow := filepath.Join(t.TempDir(), "git")
	// Every command except for these never ends.
	text := "case \"$*\" in *--version*|*' init '*) exec " + program + " \"$@\";; esac\nexec sleep 1000"
	writeScript(t, slow, text)
	r := newRig(t, checkpoints.Config{Git: slow, Timeout: 300 * 1e6})
	r.write("a", "1")
	if _, err := r.s.Save(t.Context(), r.w, ses, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrTooSlow) {
		t.Errorf("a git that never ends: got error %v, want %v", err, checkpoints.ErrTooSlow)
	}
}
