package checkpoints_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

// spaced is a session with a workspace.
type spaced struct {
	rig
	f checkpoints.Folders
}

func newSpaced(t *testing.T, folder string) spaced {
	t.Helper()
	r := newRig(t, checkpoints.Config{})
	s := spaced{rig: r, f: checkpoints.Folders{Files: r.w}}
	if folder != "" {
		path := filepath.Join(t.TempDir(), folder)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		w, err := r.s.Workspace(path)
		if err != nil {
			t.Fatal(err)
		}
		s.f.Workspace = w
	}
	return s
}

func (s spaced) writeSpace(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.f.Workspace.Path, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s spaced) saveAll() checkpoints.Saved {
	s.Helper()
	saved, err := s.s.SaveFolders(s.Context(), s.f, ses, checkpoints.Note{Reason: "message"}, nil)
	if err != nil {
		s.Fatal(err)
	}
	return saved
}

// exportedSpace returns the checkpoints of the files, and those of the only workspace with its name.
func (s spaced) exportedSpace() (files, space []byte, name string) {
	s.Helper()
	names, err := s.s.Workspaces(s.Context(), s.f.Files, ses)
	if err != nil || len(names) != 1 {
		s.Fatalf("workspaces: %v, error %v, want one", names, err)
	}
	var out bytes.Buffer
	if n, err := s.s.ExportWorkspace(s.Context(), ses, names[0], &out); err != nil || n == 0 {
		s.Fatalf("export of the workspace: %d checkpoints, error %v, want some", n, err)
	}
	return exported(s.rig), out.Bytes(), names[0]
}

func (s spaced) importAll(files, space []byte, name string) {
	s.Helper()
	if _, err := s.s.Import(s.Context(), s.f.Files, ses, bytes.NewReader(files)); err != nil {
		s.Fatal(err)
	}
	if err := s.s.ImportWorkspace(s.Context(), ses, name, bytes.NewReader(space)); err != nil {
		s.Fatal(err)
	}
}

func (s spaced) compare(from, to string) (paths []string) {
	s.Helper()
	changes, err := s.s.CompareFolders(s.Context(), s.f, ses, from, to)
	if err != nil {
		s.Fatal(err)
	}
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return paths
}

// Imported checkpoints of a workspace are compared everywhere, and restored only in a workspace of the session whose
// folder has the same name. A restore can be undone, and what was imported can be exported again.
func TestImportedWorkspaceIsRestoredInAFolderOfThatName(t *testing.T) {
	t.Parallel()
	a := newSpaced(t, "project")
	a.write("own.txt", "own")
	a.writeSpace("code.go", "one")
	first := a.saveAll()
	a.writeSpace("code.go", "two")
	second := a.saveAll()
	other, err := a.s.SaveFolders(t.Context(), a.f, "ses-other", checkpoints.Note{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, space, name := a.exportedSpace()
	if bytes.Contains(space[:bytes.IndexByte(space, '\n')], []byte(other.WorkspaceHash)) || bytes.Contains(space, []byte(a.f.Workspace.Path)) {
		t.Error("the export has a checkpoint of another session, or the path of the workspace")
	}
	for folder, want := range map[string]string{"": "", "project": "one", "elsewhere": "mine"} {
		t.Run("in "+folder, func(t *testing.T) {
			t.Parallel()
			b := newSpaced(t, folder)
			b.importAll(files, space, name)
			path := "/imported/project/code.go"
			if folder == "project" {
				path = filepath.ToSlash(b.f.Workspace.Path) + "/code.go"
			}
			if got := b.compare(first.Hash, second.Hash); len(got) != 1 || got[0] != path {
				t.Errorf("compared: %q, want %q", got, path)
			}
			if text, whole, err := b.s.PatchFolders(t.Context(), b.f, ses, first.Hash, second.Hash, path, 1<<20); err != nil || !whole || !strings.Contains(text, "-one") {
				t.Errorf("patch: %q, %v, error %v, want the line that was removed", text, whole, err)
			}
			if folder != "" {
				b.writeSpace("code.go", "mine")
			}
			done, err := b.s.RestoreFolders(t.Context(), b.f, ses, first.Hash, checkpoints.Note{Reason: "restore"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := readTree(t, b.w.Path)["own.txt"]; got != "own" {
				t.Errorf("restored own.txt is %q, want own", got)
			}
			if folder == "" {
				return
			}
			if got := readTree(t, b.f.Workspace.Path)["code.go"]; got != want {
				t.Errorf("code.go is %q, want %q", got, want)
			}
			if _, err := b.s.RestoreFolders(t.Context(), b.f, ses, done.Safety.Hash, checkpoints.Note{Reason: "restore"}, nil); err != nil {
				t.Fatal(err)
			}
			if got := readTree(t, b.f.Workspace.Path)["code.go"]; got != "mine" {
				t.Errorf("after undo code.go is %q, want mine", got)
			}
		})
	}
	again := newSpaced(t, "")
	again.importAll(files, space, name)
	_, twice, _ := again.exportedSpace()
	third := newSpaced(t, "")
	third.importAll(files, twice, name)
	if got := third.compare(first.Hash, second.Hash); len(got) != 1 {
		t.Errorf("compared after a second export: %q, want one file", got)
	}
	if err := third.s.RemoveFromWorkspaces(t.Context(), ses); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(third.s.Dir(), "i-*")); len(left) != 0 {
		t.Errorf("after the session is deleted %q stay, want nothing", left)
	}
}

func TestHostileWorkspacesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.write("a.txt", "one")
	r.save()
	good := exported(r)
	const name = "w-0123456789abcdef0123"
	for what, c := range map[string]struct {
		name string
		data []byte
		want error
	}{
		"a name that is a path":      {"../../x", good, checkpoints.ErrTransfer},
		"a name of a session":        {"s-ses-2", good, checkpoints.ErrTransfer},
		"a folder that is a path":    {name, bytes.Replace(good, []byte("}\n"), []byte(`,"folder":"../x"}`+"\n"), 1), checkpoints.ErrTransfer},
		"a folder with a line break": {name, bytes.Replace(good, []byte("}\n"), []byte(`,"folder":"a\nb"}`+"\n"), 1), checkpoints.ErrTransfer},
		"a tree with .git":           {name, hostile(t, ".git", "100644"), checkpoints.ErrTransfer},
		"folders without end":        {name, bomb(t, 12, 10), checkpoints.ErrTooLarge},
		"folders that are too deep":  {name, bomb(t, 1020, 1), checkpoints.ErrTooLarge},
		"an object of 4 GB":          {name, append(append([]byte{}, good[:bytes.IndexByte(good, '\n')+1]...), "PACK\x00\x00\x00\x02\x00\x00\x00\x01\xbf\xff\xff\xff\x7f"...), checkpoints.ErrTooLarge},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			other := newRig(t, checkpoints.Config{})
			if err := other.s.ImportWorkspace(t.Context(), ses, c.name, bytes.NewReader(c.data)); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// emptyBlocks are deflate blocks without content, of a total size.
type emptyBlocks struct{ left, at int }

func (e *emptyBlocks) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = "\x00\x00\x00\xff\xff"[e.at]
		e.at = (e.at + 1) % 5
	}
	e.left -= len(b)
	return len(b), nil
}

// What a decompressor reads before it returns something is held in memory, so it is bounded.
func TestPackWithoutContentIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.write("a.txt", "one")
	r.save()
	good := exported(r)
	const most = 64 << 20
	blocks := &emptyBlocks{left: most}
	head := append(append([]byte{}, good[:bytes.IndexByte(good, '\n')+1]...), "PACK\x00\x00\x00\x02\x00\x00\x00\x01\x31\x78\x01"...)
	other := newRig(t, checkpoints.Config{})
	_, err := other.s.Import(t.Context(), other.w, ses, io.MultiReader(bytes.NewReader(head), blocks))
	if !errors.Is(err, checkpoints.ErrTransfer) {
		t.Errorf("error: got %v, want %v", err, checkpoints.ErrTransfer)
	}
	if read := most - blocks.left; read > 1<<20 {
		t.Errorf("the import read %d bytes, want at most 1 MiB", read)
	}
}
