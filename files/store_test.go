package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

const ses = wire.SessionID("ses-1")

func open(t *testing.T, dir string, cfg files.Config) *files.Store {
	t.Helper()
	s, err := files.Open(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func save(t *testing.T, s *files.Store, session wire.SessionID, name, text string) files.Entry {
	t.Helper()
	e, err := s.Save(t.Context(), session, name, strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatalf("save %s: %v", name, err)
	}
	return e
}

func load(t *testing.T, s *files.Store, session wire.SessionID, name string) string {
	t.Helper()
	f, e, err := s.Open(t.Context(), session, name)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if e.Path != name || e.Size != int64(len(text)) || e.Folder {
		t.Errorf("entry: got %+v, want the file %q with %d bytes", e, name, len(text))
	}
	return string(text)
}

// names lists a folder of the session, folders with a slash.
func names(t *testing.T, s *files.Store, folder string) []string {
	t.Helper()
	all, err := s.List(t.Context(), ses, folder)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		if e.Folder {
			e.Path += "/"
		}
		out = append(out, e.Path)
	}
	return out
}

// temporaryFiles returns the unfinished files under a folder.
func temporaryFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", ".partial", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSaveOpenListRemove(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{})
	if got := names(t, s, ""); got != nil {
		t.Errorf("files of a session without files: got %q, want none", got)
	}
	e := save(t, s, ses, "notes/한글 notes.txt", "hello")
	if e.Path != "notes/한글 notes.txt" || e.Size != 5 || e.Modified.IsZero() {
		t.Errorf("saved entry: got %+v, want notes/한글 notes.txt with 5 bytes and a time", e)
	}
	save(t, s, ses, "b.txt", "1")
	save(t, s, ses, "b.txt", "second")
	save(t, s, "ses-2", "b.txt", "of another")
	if got := load(t, s, ses, "notes/한글 notes.txt"); got != "hello" {
		t.Errorf("notes/한글 notes.txt: got %q, want %q", got, "hello")
	}
	if got := load(t, s, ses, "b.txt"); got != "second" {
		t.Errorf("b.txt after a second Save: got %q, want %q", got, "second")
	}
	if diff := cmp.Diff([]string{"b.txt", "notes/"}, names(t, s, "")); diff != "" {
		t.Errorf("files of the session (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"notes/한글 notes.txt"}, names(t, s, "notes")); diff != "" {
		t.Errorf("files of notes (-want +got):\n%s", diff)
	}
	if err := s.Remove(t.Context(), ses, "notes/한글 notes.txt"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b.txt"}, names(t, s, "")); diff != "" {
		t.Errorf("files after the last one of notes was removed (-want +got):\n%s", diff)
	}
	if err := s.RemoveAll(t.Context(), ses); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(t.Context(), ses, "b.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening b.txt after RemoveAll: got error %v, want %v", err, fs.ErrNotExist)
	}
	if got := load(t, s, "ses-2", "b.txt"); got != "of another" {
		t.Errorf("b.txt of another session after RemoveAll: got %q, want %q", got, "of another")
	}
}

func TestMissingFiles(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{})
	save(t, s, ses, "dir/file", "x")
	for what, err := range map[string]error{
		"open":                  second(s.Open(t.Context(), ses, "nope")),
		"open in no session":    second(s.Open(t.Context(), "ses-9", "nope")),
		"remove":                s.Remove(t.Context(), ses, "nope"),
		"remove in no session":  s.Remove(t.Context(), "ses-9", "nope"),
		"list":                  first(s.List(t.Context(), ses, "nope")),
		"list in no session":    first(s.List(t.Context(), "ses-9", "nope")),
		"open behind a file":    second(s.Open(t.Context(), ses, "nope/file")),
		"remove in an old path": s.Remove(t.Context(), ses, "nope/file"),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want fs.ErrNotExist", what, err)
		}
	}
	if err := s.RemoveAll(t.Context(), "ses-9"); err != nil {
		t.Errorf("remove all of nothing: %v", err)
	}
	for what, err := range map[string]error{
		"open a folder":        second(s.Open(t.Context(), ses, "dir")),
		"remove a folder":      s.Remove(t.Context(), ses, "dir"),
		"save over a folder":   first(s.Save(t.Context(), ses, "dir", strings.NewReader("x"), -1)),
		"save behind a file":   first(s.Save(t.Context(), ses, "dir/file/deeper", strings.NewReader("x"), -1)),
		"save deep in a file":  first(s.Save(t.Context(), ses, "dir/file/a/b", strings.NewReader("x"), -1)),
		"save without session": first(s.Save(t.Context(), "", "x", strings.NewReader("x"), -1)),
	} {
		if !errors.Is(err, files.ErrName) && !errors.Is(err, wire.ErrID) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	if got := load(t, s, ses, "dir/file"); got != "x" {
		t.Errorf("dir/file: got %q, want it unchanged, %q", got, "x")
	}
}

func first[T any](_ T, err error) error          { return err }
func second[T, U any](_ T, _ U, err error) error { return err }

func TestNames(t *testing.T) {
	t.Parallel()
	bad := []string{
		"", ".", "..", "../x", "a/../../x", "a/./b", "/etc/passwd", "a//b", "a/", "a\x00b", "a\nb", "a\x7fb", "a\u0085b",
		`..\x`, `C:\x`, "C:x", "c:", "\xff", "CON", "con.txt", "aux", "a/NUL", "nul.tar.gz", "COM1", "lpt9.log", "CONIN$",
		".partial", ".partial/x", "a/.partial", strings.Repeat("x", 256), strings.Repeat("ä", 128), strings.Repeat("a/", 16) + "a",
		strings.Repeat(strings.Repeat("x", 200)+"/", 6) + "x",
	}
	for _, name := range bad {
		if err := files.CheckName(name); !errors.Is(err, files.ErrName) {
			t.Errorf("%.40q: %v, want ErrName", name, err)
		}
	}
	good := []string{
		"a", "a.txt", ".env", "...", "a b/c d", "한글.txt", "COM", "COM10", "console", "lpt", "10:30 notes", strings.Repeat("x", 255),
		strings.Repeat("a/", 15) + "a",
	}
	for _, name := range good {
		if err := files.CheckName(name); err != nil {
			t.Errorf("name %.40q: got error %v, want it accepted", name, err)
		}
	}
	for _, name := range []string{".codex/config.toml", ".Claude", ".mcp.json", ".git", "project/.GIT/config", "../x"} {
		if err := files.CheckNewName(name); !errors.Is(err, files.ErrName) {
			t.Errorf("new name %q: got error %v, want ErrName", name, err)
		}
	}
	for _, name := range []string{"project/.codex/config.toml", ".codex2", "mcp.json", ".gitignore"} {
		if err := files.CheckNewName(name); err != nil {
			t.Errorf("new name %q: got error %v, want it accepted", name, err)
		}
	}
	// No call accepts a name that the check refuses.
	s := open(t, t.TempDir(), files.Config{})
	for what, err := range map[string]error{
		"save":   first(s.Save(t.Context(), ses, "../x", strings.NewReader("x"), -1)),
		"open":   second(s.Open(t.Context(), ses, "../x")),
		"list":   first(s.List(t.Context(), ses, "../x")),
		"remove": s.Remove(t.Context(), ses, "../x"),

		"save settings of an agent":   first(s.Save(t.Context(), ses, ".mcp.json", strings.NewReader("x"), -1)),
		"move to them":                first(s.Move(t.Context(), ses, "a", ".claude")),
		"begin an upload of settings": first(s.StartUpload(t.Context(), ses, files.NewUpload{Path: ".codex/config.toml", Size: 1}, files.Condition{})),
	} {
		if !errors.Is(err, files.ErrName) {
			t.Errorf("%s: %v, want ErrName", what, err)
		}
	}
	for what, err := range map[string]error{
		"save":       first(s.Save(t.Context(), "../ses", "x", strings.NewReader("x"), -1)),
		"open":       second(s.Open(t.Context(), "../ses", "x")),
		"remove all": s.RemoveAll(t.Context(), ".."),
	} {
		if !errors.Is(err, wire.ErrID) {
			t.Errorf("%s: %v, want ErrID", what, err)
		}
	}
}

// A user with access to the disk, or a tool, may put a symbolic link into a folder. It is not followed,
// neither out of the folder nor into another session, and is refused as a name.
func TestSymlinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	s := open(t, dir, files.Config{})
	save(t, s, ses, "mine", "mine")
	save(t, s, "ses-2", "secret", "secret")
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "ses-5"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"ses-1/out": outside, "ses-1/file": filepath.Join(outside, "secret"), "ses-1/other": "../ses-2", "ses-1/up": "../ses-2/secret",
		"ses-1/loop": "loop", "ses-1/within": "mine", "ses-3": "ses-2", "ses-4": outside, "ses-5/.partial": outside,
	} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, where := range []struct {
		session wire.SessionID
		name    string
	}{{ses, "out/secret"}, {ses, "file"}, {ses, "other/secret"}, {ses, "up"}, {"ses-3", "secret"}, {"ses-4", "secret"}, {ses, "loop"}, {ses, "loop/x"}, {ses, "within"}} {
		f, _, err := s.Open(t.Context(), where.session, where.name)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, files.ErrName) {
			t.Errorf("%v is opened with %v, want ErrName", where, err)
		}
		if _, err := s.List(t.Context(), where.session, where.name); !errors.Is(err, files.ErrName) {
			t.Errorf("%v is listed with %v, want ErrName", where, err)
		}
		if !strings.Contains(where.name, "/") && where.session == ses {
			continue // saving and removing means the link itself
		}
		if _, err := s.Save(t.Context(), where.session, where.name, strings.NewReader("overwritten"), -1); !errors.Is(err, files.ErrName) {
			t.Errorf("%v is saved with %v, want ErrName", where, err)
		}
		if err := s.Remove(t.Context(), where.session, where.name); !errors.Is(err, files.ErrName) {
			t.Errorf("%v is removed with %v, want ErrName", where, err)
		}
	}
	if _, err := s.Save(t.Context(), "ses-5", "x", strings.NewReader("x"), -1); !errors.Is(err, files.ErrName) {
		t.Errorf("a file is written through a link with %v, want ErrName", err)
	}
	open(t, dir, files.Config{}) // unfinished files are not looked for there
	if diff := cmp.Diff([]string{"mine"}, names(t, s, "")); diff != "" {
		t.Errorf("files of the session (-want +got):\n%s", diff)
	}
	save(t, s, ses, "file", "replaced")
	if err := s.RemoveAll(t.Context(), ses); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(text) != "secret" {
		t.Errorf("the file outside: got %q, error %v, want it unchanged, %q", text, err, "secret")
	}
	if got := load(t, s, "ses-2", "secret"); got != "secret" {
		t.Errorf("secret of another session: got %q, want %q", got, "secret")
	}
}

func TestBoundsOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{FileBytes: 10})
	save(t, s, ses, "a", "0123456789")
	if _, err := s.Save(t.Context(), ses, "a", strings.NewReader("0123456789x"), -1); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("saving 11 bytes, 10 are allowed: got error %v, want %v", err, files.ErrTooLarge)
	}
	// The store stops reading at the limit.
	if _, err := s.Save(t.Context(), ses, "b", endless{}, -1); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("saving an endless file: got error %v, want %v", err, files.ErrTooLarge)
	}
	if got := load(t, s, ses, "a"); got != "0123456789" {
		t.Errorf("the old file: got %q, want it unchanged, %q", got, "0123456789")
	}
	if left := temporaryFiles(t, dir); left != nil {
		t.Errorf("unfinished files: got %q, want none", left)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestBoundsOfASession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{SessionBytes: 10, SessionFiles: 3})
	save(t, s, ses, "a", "12345")
	save(t, s, ses, "dir/b", "12345")
	if _, err := s.Save(t.Context(), ses, "c", strings.NewReader("1"), -1); !errors.Is(err, files.ErrFull) {
		t.Errorf("saving an eleventh byte, 10 are allowed: got error %v, want %v", err, files.ErrFull)
	}
	save(t, s, ses, "a", "1234") // what it replaces does not count
	save(t, s, ses, "c", "1")
	if _, err := s.Save(t.Context(), ses, "d", strings.NewReader(""), -1); !errors.Is(err, files.ErrFull) {
		t.Errorf("saving a fourth file, 3 are allowed: got error %v, want %v", err, files.ErrFull)
	}
	save(t, s, "ses-2", "d", "12345") // others have their own
	if left := temporaryFiles(t, dir); left != nil {
		t.Errorf("unfinished files: got %q, want none", left)
	}
}

// Concurrent uploads do not exceed the limit of their session.
func TestBoundsUnderConcurrency(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{SessionBytes: 100, SessionFiles: 1000, SessionUploads: 40})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			_, err := s.Save(context.Background(), ses, fmt.Sprintf("f%d", i), strings.NewReader("0123456789"), 10)
			if err != nil && !errors.Is(err, files.ErrFull) {
				t.Errorf("saving f%d: got error %v, want none or %v", i, err, files.ErrFull)
			}
		})
	}
	wg.Wait()
	if got := names(t, s, ""); len(got) != 10 {
		t.Errorf("%d files of 10 bytes, want 10", len(got))
	}
}

func TestBrokenUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{})
	save(t, s, ses, "a", "old")
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := s.Save(t.Context(), ses, "a", broken, -1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("saving from a broken reader: got error %v, want %v", err, io.ErrUnexpectedEOF)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Save(ctx, ses, "a", strings.NewReader("new"), -1); !errors.Is(err, context.Canceled) {
		t.Errorf("saving with a cancelled context: got error %v, want %v", err, context.Canceled)
	}
	if got := load(t, s, ses, "a"); got != "old" {
		t.Errorf("the old file: got %q, want it unchanged, %q", got, "old")
	}
	if left := temporaryFiles(t, dir); left != nil {
		t.Errorf("unfinished files: got %q, want none", left)
	}
}

func TestOpenRemovesLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"ses-1/.partial/half", "ses-1/kept", "not a session/.partial/theirs"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age(t, filepath.Join(dir, "ses-1", ".partial", "half"))
	age(t, filepath.Join(dir, "ses-1", "kept"))
	age(t, filepath.Join(dir, "not a session", ".partial", "theirs"))
	s := open(t, dir, files.Config{})
	if got := load(t, s, ses, "kept"); got != "x" {
		t.Errorf("the stored file: got %q, want %q", got, "x")
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "not a session", ".partial", "theirs")}, temporaryFiles(t, dir)); diff != "" {
		t.Errorf("unfinished files (-want +got):\n%s", diff)
	}
	if _, err := files.Open(filepath.Join(dir, "ses-1", "kept"), files.Config{}); err == nil {
		t.Error("a file was opened as a folder")
	}
}
