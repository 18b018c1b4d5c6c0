package apps_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
)

// unwritable is a backend that stores some objects and then fails.
type unwritable struct {
	files.Backend
	left int
}

var errUnwritable = errors.New("no more writes")

func (u *unwritable) Put(ctx context.Context, key files.Key, from io.Reader, size int64, c files.Condition) (files.Entry, error) {
	if u.left--; u.left < 0 {
		return files.Entry{}, errUnwritable
	}
	return u.Backend.Put(ctx, key, from, size, c)
}

func openFolder(tb testing.TB, dir string) *files.Folder {
	tb.Helper()
	b, err := files.OpenFolder(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.Close() })
	return b
}

// The apps that a hub had in a folder are there when its files are in another backend, once: what users delete or change
// there stays so. A copy that is interrupted after any file leaves no app with a part of its files.
func TestAppsMoveFromAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := open(t, dir)
	for _, user := range []string{ada, "bob"} {
		if err := before.Deploy(t.Context(), user, "counter", page("one")); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.WriteData(t.Context(), ada, "counter", "notes/count.json", []byte("3")); err != nil {
		t.Fatal(err)
	}
	sandbox, err := before.Sandboxes().Create(t.Context(), ada, map[string][]byte{"src/main.ts": []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	target := openFolder(t, t.TempDir())
	const objects = 3 + 1 + 1 + 1 + 3 + 1 // the files of ada's app, its version, its data, a sandbox; bob's app
	for n := range objects {
		if _, err := apps.New(&unwritable{target, n}, nil).MoveFrom(t.Context(), dir); !errors.Is(err, errUnwritable) {
			t.Fatalf("a copy that ends after %d files: got %v, want %v", n, err, errUnwritable)
		}
		for _, user := range []string{ada, "bob"} {
			b, err := apps.New(target, nil).Get(t.Context(), user, "counter")
			if err == nil && len(b.Files) != 3 || err != nil && !errors.Is(err, apps.ErrNotFound) {
				t.Errorf("the app of %s after %d files: got %q, %v, want all of it or none", user, n, b.Files, err)
			}
		}
	}
	after := apps.New(target, nil)
	if users, err := after.MoveFrom(t.Context(), dir); err != nil || users != 2 {
		t.Fatalf("MoveFrom: got %d, %v, want 2 users", users, err)
	}
	if all, err := after.List(t.Context(), ada); err != nil || len(all) != 1 || all[0].Name != "Test" {
		t.Errorf("List: got %+v, %v, want counter", all, err)
	}
	if data, err := after.ReadData(t.Context(), ada, "counter", "notes/count.json"); err != nil || string(data) != "3" {
		t.Errorf("ReadData: got %q, %v, want 3", data, err)
	}
	if data, err := after.Sandboxes().File(t.Context(), ada, sandbox, "src/main.ts"); err != nil || string(data) != "one" {
		t.Errorf("File of the sandbox: got %q, %v, want one", data, err)
	}
	if err := after.Remove(t.Context(), ada, "counter"); err != nil {
		t.Fatal(err)
	}
	if users, err := after.MoveFrom(t.Context(), dir); err != nil || users != 0 {
		t.Errorf("MoveFrom again: got %d, %v, want nothing to do", users, err)
	}
	if all, err := after.List(t.Context(), ada); err != nil || len(all) != 0 {
		t.Errorf("List after the app was removed: got %+v, %v, want none", all, err)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, ".apps.copied-*")); err != nil || len(kept) != 1 {
		t.Errorf("the folder that was copied: got %q, %v, want it kept", kept, err)
	}
}

// An app that a user has in the new place already is not replaced by the one of the folder.
func TestMovingReplacesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := open(t, dir).Deploy(t.Context(), ada, "counter", page("old")); err != nil {
		t.Fatal(err)
	}
	s := apps.New(openFolder(t, t.TempDir()), nil)
	if err := s.Deploy(t.Context(), ada, "counter", page("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MoveFrom(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(t.Context(), ada, "counter"); err != nil || string(b.Page()) != "new" {
		t.Errorf("Get: got %q, %v, want new", b.Files, err)
	}
}

// Earlier versions of the hub wrote the folder of a user with these names.
func TestAFolderOfEarlierVersionsIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Deploy(t.Context(), ada, "other", page("x")); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(filepath.Join(dir, ".apps"))
	if err != nil || len(found) != 1 {
		t.Fatalf("folders of users: got %v, %v, want one", found, err)
	}
	user := filepath.Join(".apps", found[0].Name())
	for name, content := range map[string]string{
		"apps/counter/current": "v-1", "apps/counter/v-1/app.json": `{"name":"Counter"}`, "apps/counter/v-1/index.html": "page", "apps/counter/v-1/SKILL.md": "skill",
		"apps/counter/data/credentials.json": "{}", "apps/counter/v-0/index.html": "unfinished", "sandboxes/1789000000000/src/main.ts": "source", ".lock": "", ".partial/x": "unfinished",
	} {
		write(t, dir, filepath.ToSlash(filepath.Join(user, name)), content)
	}
	all, err := s.List(t.Context(), ada)
	if err != nil || len(all) != 2 || all[0].Name != "Counter" || !all[0].HasSkill || !all[0].HasCredentials {
		t.Errorf("List: got %+v, %v, want Counter with a skill and credentials", all, err)
	}
	if b, err := s.Get(t.Context(), ada, "counter"); err != nil || string(b.Page()) != "page" || len(b.Files) != 3 {
		t.Errorf("Get: got %q, %v, want the three files", b.Files, err)
	}
	if got, err := s.Sandboxes().Files(t.Context(), ada, "1789000000000"); err != nil || string(got["src/main.ts"]) != "source" {
		t.Errorf("Files: got %q, %v, want the source", got, err)
	}
	if err := s.Deploy(t.Context(), ada, "counter", page("next")); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(t.Context(), ada, "counter"); err != nil || !strings.Contains(string(b.Page()), "next") {
		t.Errorf("Get after a deployment: got %q, %v, want next", b.Files, err)
	}
}
