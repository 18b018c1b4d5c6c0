package checkpoints_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

func exported(r rig) []byte {
	r.Helper()
	var out bytes.Buffer
	if _, err := r.s.Export(r.Context(), r.w, ses, &out); err != nil {
		r.Fatalf("export: %v", err)
	}
	return out.Bytes()
}

func TestExportedCheckpointsAreRestoredInAnotherSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	if got := exported(r); len(got) != 0 {
		t.Errorf("without checkpoints %d bytes are exported, want none", len(got))
	}
	r.write("a.txt", "one")
	r.write("folder/run", "#!run")
	first := r.save()
	r.write("a.txt", "two")
	second := r.save()
	data := exported(r)

	other := newRig(t, checkpoints.Config{})
	all, err := other.s.Import(t.Context(), other.w, "ses-2", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Hash != first.Hash || all[1].Hash != second.Hash || all[1].Files != second.Files {
		t.Fatalf("imported %v, want %s and %s", all, first.Hash, second.Hash)
	}
	for hash, want := range map[string]string{first.Hash: "one", second.Hash: "two"} {
		if _, err := other.s.Restore(t.Context(), other.w, "ses-2", hash, checkpoints.Note{}, nil); err != nil {
			t.Fatal(err)
		}
		if got := readTree(t, other.w.Path)["a.txt"]; got != want {
			t.Errorf("restored a.txt is %q, want %q", got, want)
		}
	}
	if _, err := other.s.Import(t.Context(), other.w, "ses-2", bytes.NewReader(data)); !errors.Is(err, checkpoints.ErrProtected) {
		t.Errorf("a second import: %v, want %v", err, checkpoints.ErrProtected)
	}
}

func TestDamagedOrHostileCheckpointsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.write("a.txt", "one")
	r.save()
	good := exported(r)
	line := bytes.IndexByte(good, '\n') + 1
	flipped := bytes.Clone(good)
	flipped[len(flipped)-30] ^= 1
	bad := map[string][]byte{
		"nothing":              nil,
		"no first line":        []byte("PACK"),
		"no checkpoints":       append([]byte("{}\n"), good[line:]...),
		"a hash of a path":     append([]byte(`{"checkpoints":[{"number":1,"hash":"../../x"}]}`+"\n"), good[line:]...),
		"an unknown hash":      append([]byte(`{"checkpoints":[{"number":1,"hash":"`+strings.Repeat("a", 40)+`"}]}`+"\n"), good[line:]...),
		"numbers that repeat":  bytes.Replace(good, []byte(`"number":1`), []byte(`"number":0`), 1),
		"no pack":              good[:line],
		"a cut pack":           good[:len(good)-25],
		"a changed pack":       flipped,
		"a tree with .git":     hostile(t, ".git", "100644"),
		"a tree with dots":     hostile(t, "..", "40000"),
		"a tree with a slash":  hostile(t, "a/../../b", "100644"),
		"a commit of no files": hostile(t, "", ""),
	}
	for name, data := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := newRig(t, checkpoints.Config{})
			if all, err := other.s.Import(t.Context(), other.w, ses, bytes.NewReader(data)); !errors.Is(err, checkpoints.ErrTransfer) {
				t.Errorf("imported %v, %v; want %v", all, err, checkpoints.ErrTransfer)
			}
		})
	}
	small := newRig(t, checkpoints.Config{FileBytes: 10})
	r.write("large.txt", strings.Repeat("x", 10_000))
	r.save()
	if _, err := small.s.Import(t.Context(), small.w, ses, bytes.NewReader(exported(r))); !errors.Is(err, checkpoints.ErrTooLarge) {
		t.Errorf("a large file: %v, want %v", err, checkpoints.ErrTooLarge)
	}
}

// hostile returns exported checkpoints whose files have an entry with this name; without a name the
// commit has no files.
func hostile(t *testing.T, name, mode string) []byte {
	t.Helper()
	g := newObjects(t)
	blob := g.git("x", "hash-object", "-w", "--stdin")
	files := g.git("", "mktree")
	if name == "" {
		return g.exported(files, g.git("", "mktree"))
	}
	of := blob
	if mode == "40000" {
		of = files
	}
	raw := make([]byte, len(of)/2)
	if _, err := fmt.Sscanf(of, "%x", &raw); err != nil {
		t.Fatal(err)
	}
	files = g.git(mode+" "+name+"\x00"+string(raw), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	return g.exported(files, g.git("040000 tree "+files+"\tfiles\n", "mktree"))
}

// bomb returns exported checkpoints of folders in each other, each with the next one several times.
func bomb(t *testing.T, depth, width int) []byte {
	t.Helper()
	g := newObjects(t)
	blob := g.git("x", "hash-object", "-w", "--stdin")
	tree := g.git("100644 blob "+blob+"\tx\n", "mktree")
	for range depth {
		var entries strings.Builder
		for i := range width {
			fmt.Fprintf(&entries, "040000 tree %s\td%d\n", tree, i)
		}
		tree = g.git(entries.String(), "mktree")
	}
	return g.exported(tree, g.git("040000 tree "+tree+"\tfiles\n", "mktree"))
}

// objects is a repository for objects that no checkpoint would have.
type objects struct {
	*testing.T
	dir string
}

func newObjects(t *testing.T) objects {
	t.Helper()
	g := objects{T: t, dir: filepath.Join(t.TempDir(), "repo.git")}
	g.git("", "init", "--quiet", "--bare", g.dir)
	return g
}

func (g objects) git(stdin string, args ...string) string {
	g.Helper()
	return strings.TrimSuffix(g.raw(stdin, args...), "\n")
}

// raw is git for an output that is no text.
func (g objects) raw(stdin string, args ...string) string {
	g.Helper()
	cmd := exec.CommandContext(g.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_DIR="+g.dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		g.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// exported returns the exported form of a commit with this root, whose note says these files.
func (g objects) exported(files, root string) []byte {
	g.Helper()
	commit := g.git(`{"files":"`+files+`","time":"2026-01-01T00:00:00Z"}`+"\n", "commit-tree", root)
	pack := g.raw(commit+"\n", "pack-objects", "--stdout", "--revs", "-q")
	return []byte(`{"checkpoints":[{"number":1,"hash":"` + commit + `"}]}` + "\n" + pack)
}
