package apps_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
)

const ada = "ada@example.org"

func write(tb testing.TB, dir, name, content string) {
	tb.Helper()
	full := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func open(tb testing.TB, dir string) *apps.Store {
	tb.Helper()
	return apps.New(openFolder(tb, dir), nil)
}

// page returns an app with a page.
func page(text string) apps.Bundle {
	return apps.Bundle{Manifest: apps.Manifest{Name: "Test"}, Files: map[string][]byte{
		"app.json": []byte(`{"name":"Test"}`), "index.html": []byte(text), "src/main.ts": []byte(text),
	}}
}

func TestAnAppIsThereForItsUserInEveryProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here, there := open(t, dir), open(t, dir)
	if err := here.Deploy(t.Context(), ada, "counter", page("one")); err != nil {
		t.Fatal(err)
	}
	if err := here.WriteData(t.Context(), ada, "counter", "count.json", []byte("3")); err != nil {
		t.Fatal(err)
	}
	if err := here.Deploy(t.Context(), ada, "counter", page("two")); err != nil {
		t.Fatal(err)
	}
	all, err := there.List(t.Context(), ada)
	if err != nil || len(all) != 1 || all[0].ID != "counter" || all[0].Name != "Test" {
		t.Errorf("List: got %+v, %v, want counter", all, err)
	}
	if data, err := there.File(t.Context(), ada, "counter", "index.html"); err != nil || string(data) != "two" {
		t.Errorf("File: got %q, %v, want two", data, err)
	}
	if b, err := there.Get(t.Context(), ada, "counter"); err != nil || string(b.Files["src/main.ts"]) != "two" {
		t.Errorf("Get: got %v, %v, want the files of two", b, err)
	}
	if data, err := there.ReadData(t.Context(), ada, "counter", "count.json"); err != nil || string(data) != "3" {
		t.Errorf("ReadData: got %q, %v, want 3", data, err)
	}
	if all, err := there.List(t.Context(), "bob"); err != nil || len(all) != 0 {
		t.Errorf("List of another user: got %v, %v, want none", all, err)
	}
	if _, err := there.File(t.Context(), "bob", "counter", "index.html"); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("File of another user: got %v, want ErrNotFound", err)
	}
	if err := there.Remove(t.Context(), ada, "counter"); err != nil {
		t.Fatal(err)
	}
	if _, err := here.ReadData(t.Context(), ada, "counter", "count.json"); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("ReadData after Remove: got %v, want ErrNotFound", err)
	}
	if err := here.Remove(t.Context(), ada, "counter"); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("Remove twice: got %v, want ErrNotFound", err)
	}
}

func TestNamesCannotLeadOutOfAnApp(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	if err := s.Deploy(t.Context(), ada, "a", page("x")); err != nil {
		t.Fatal(err)
	}
	sandbox, err := s.Sandboxes().Create(t.Context(), ada, map[string][]byte{"a": nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../current", "/etc/passwd", "a/../../current", `..\current`, "a//b", "nul", "c:x", "a\x00", ".partial/x", strings.Repeat("a/", 20) + "b", strings.Repeat("a", 256), strings.Repeat("long/", 250), "COM1.txt", "a/LPT9", "\xff", "a\u0085b"} {
		if _, err := s.File(t.Context(), ada, "a", name); !errors.Is(err, files.ErrName) {
			t.Errorf("File(%q): got %v, want ErrName", name, err)
		}
		if _, err := s.ReadData(t.Context(), ada, "a", name); !errors.Is(err, files.ErrName) {
			t.Errorf("ReadData(%q): got %v, want ErrName", name, err)
		}
		if err := s.WriteData(t.Context(), ada, "a", name, nil); !errors.Is(err, files.ErrName) {
			t.Errorf("WriteData(%q): got %v, want ErrName", name, err)
		}
		if err := s.RemoveData(t.Context(), ada, "a", name); !errors.Is(err, files.ErrName) {
			t.Errorf("RemoveData(%q): got %v, want ErrName", name, err)
		}
		if err := s.Sandboxes().Write(t.Context(), ada, sandbox, name, nil); !errors.Is(err, files.ErrName) {
			t.Errorf("Write(%q): got %v, want ErrName", name, err)
		}
	}
	for _, id := range []string{"", "..", "a/..", "A"} {
		if err := s.Deploy(t.Context(), ada, id, page("x")); !errors.Is(err, apps.ErrID) {
			t.Errorf("Deploy(%q): got %v, want ErrID", id, err)
		}
		if err := s.Remove(t.Context(), ada, id); !errors.Is(err, apps.ErrID) {
			t.Errorf("Remove(%q): got %v, want ErrID", id, err)
		}
	}
	for _, id := range []string{"", "..", "../apps/a", "1/../..", "x", "99"} {
		if _, err := s.Sandboxes().Files(t.Context(), ada, id); !errors.Is(err, apps.ErrNotFound) {
			t.Errorf("Files(%q): got %v, want ErrNotFound", id, err)
		}
	}
	if err := s.Deploy(t.Context(), "", "a", page("x")); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("Deploy without a user: got %v, want ErrNotFound", err)
	}
}

func TestLinksInTheFolderAreNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(secret), "secret", "secret")
	s := open(t, dir)
	if err := s.Deploy(t.Context(), ada, "a", page("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteData(t.Context(), ada, "a", "d/file", []byte("x")); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, ".apps", "*", "apps", "a"))
	if err != nil || len(found) != 1 {
		t.Fatalf("folder of the app: got %v, %v, want one", found, err)
	}
	for link, to := range map[string]string{"data/link": secret, "data/out": filepath.Dir(secret)} {
		if err := os.Symlink(to, filepath.Join(found[0], link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "out/secret"} {
		if data, err := s.ReadData(t.Context(), ada, "a", name); err == nil {
			t.Errorf("ReadData(%q): got %q, want an error", name, data)
		}
		if err := s.WriteData(t.Context(), ada, "a", name, []byte("y")); name == "out/secret" && err == nil {
			t.Errorf("WriteData(%q): got nil, want an error", name)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("the file outside: got %q, %v, want it unchanged", data, err)
	}
}

func TestAppsAndTheirDataAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for i := range apps.MaxApps {
		if err := s.Deploy(t.Context(), ada, "app-"+strconv.Itoa(i), page("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Deploy(t.Context(), ada, "one-more", page("x")); !errors.Is(err, apps.ErrFull) {
		t.Errorf("one app more: got %v, want ErrFull", err)
	}
	if err := s.Deploy(t.Context(), ada, "app-0", page("new")); err != nil {
		t.Errorf("a new version of one: got %v, want nil", err)
	}
	if err := s.Deploy(t.Context(), "bob", "one-more", page("x")); err != nil {
		t.Errorf("an app of another user: got %v, want nil", err)
	}
	large := page("x")
	large.Files["big"] = make([]byte, apps.MaxBytes)
	if err := s.Deploy(t.Context(), ada, "app-0", large); !errors.Is(err, apps.ErrTooLarge) {
		t.Errorf("a large app: got %v, want ErrTooLarge", err)
	}
	if err := s.Deploy(t.Context(), ada, "app-0", apps.Bundle{Files: map[string][]byte{"app.json": []byte(`{"name":"a"}`)}}); !errors.Is(err, apps.ErrManifest) {
		t.Errorf("an app without a page: got %v, want ErrManifest", err)
	}
	if err := s.WriteData(t.Context(), ada, "app-0", "big", make([]byte, apps.MaxDataFile+1)); !errors.Is(err, apps.ErrTooLarge) {
		t.Errorf("a large file: got %v, want ErrTooLarge", err)
	}
	for i := range apps.MaxDataBytes / apps.MaxDataFile {
		if err := s.WriteData(t.Context(), ada, "app-0", strconv.Itoa(i), make([]byte, apps.MaxDataFile)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.WriteData(t.Context(), ada, "app-0", "more", []byte("x")); !errors.Is(err, apps.ErrFull) {
		t.Errorf("too many bytes: got %v, want ErrFull", err)
	}
	if err := s.WriteData(t.Context(), ada, "app-0", "0", make([]byte, apps.MaxDataFile)); err != nil {
		t.Errorf("replacing a file: got %v, want nil", err)
	}
	for i := range apps.MaxDataFiles {
		if err := s.WriteData(t.Context(), ada, "app-1", "f"+strconv.Itoa(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.WriteData(t.Context(), ada, "app-1", "more", nil); !errors.Is(err, apps.ErrFull) {
		t.Errorf("too many files: got %v, want ErrFull", err)
	}
}

func TestDataIsListedWrittenAndRemoved(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	if err := s.WriteData(t.Context(), ada, "none", "a", nil); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("WriteData without an app: got %v, want ErrNotFound", err)
	}
	if err := s.Deploy(t.Context(), ada, "a", page("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.json", "notes/a.md", "credentials.json"} {
		if err := s.WriteData(t.Context(), ada, "a", name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.WriteData(t.Context(), ada, "a", "b.json/c", nil); !errors.Is(err, files.ErrName) {
		t.Errorf("a file as a folder: got %v, want ErrName", err)
	}
	if err := s.WriteData(t.Context(), ada, "a", "notes", nil); !errors.Is(err, files.ErrName) {
		t.Errorf("a folder as a file: got %v, want ErrName", err)
	}
	if all, err := s.List(t.Context(), ada); err != nil || !all[0].HasCredentials {
		t.Errorf("List: got %+v, %v, want an app with credentials", all, err)
	}
	if err := s.RemoveData(t.Context(), ada, "a", "notes/a.md"); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveData(t.Context(), ada, "a", "notes/a.md"); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("removing twice: got %v, want ErrNotFound", err)
	}
	if got, err := s.ListData(t.Context(), ada, "a"); err != nil || !slices.Equal(got, []string{"b.json", "credentials.json"}) {
		t.Errorf("ListData: got %q, %v, want the two that are left", got, err)
	}
}

func TestReadersSeeWholeVersionsWhileOthersDeploy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores := []*apps.Store{open(t, dir), open(t, dir)}
	if err := stores[0].Deploy(t.Context(), ada, "a", page("0")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, s := range stores {
		wg.Go(func() {
			for n := range 20 {
				if err := s.Deploy(t.Context(), ada, "a", page(fmt.Sprint(i, n))); err != nil && !errors.Is(err, apps.ErrNotFound) {
					t.Errorf("Deploy: %v", err)
				}
			}
		})
		wg.Go(func() {
			for range 50 {
				b, err := s.Get(t.Context(), ada, "a")
				if err != nil || string(b.Page()) != string(b.Files["src/main.ts"]) {
					t.Errorf("Get: got page %q and source %q, %v, want those of one version", b.Page(), b.Files["src/main.ts"], err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSandboxesHoldFilesAndMakePlaceOnlyForOldOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	boxes := open(t, dir).Sandboxes()
	first, err := boxes.Create(t.Context(), ada, map[string][]byte{"src/main.ts": []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	if err := boxes.Edit(t.Context(), ada, first, "src/main.ts", func(old []byte, exists bool) ([]byte, error) {
		if !exists || string(old) != "one" {
			t.Errorf("Edit: got %q, %v, want one", old, exists)
		}
		return []byte("two"), nil
	}); err != nil {
		t.Fatal(err)
	}
	all, err := open(t, dir).Sandboxes().Files(t.Context(), ada, first)
	if err != nil || string(all["src/main.ts"]) != "two" || len(all) != 1 {
		t.Errorf("Files: got %q, %v, want two", all, err)
	}
	if _, err := boxes.Files(t.Context(), "bob", first); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("Files of another user: got %v, want ErrNotFound", err)
	}
	for range apps.MaxSandboxes - 1 {
		if _, err := boxes.Create(t.Context(), ada, map[string][]byte{"a": nil}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := boxes.Create(t.Context(), ada, map[string][]byte{"a": nil}); !errors.Is(err, apps.ErrFull) || !strings.Contains(err.Error(), first) {
		t.Errorf("one more: got %v, want ErrFull with the ids", err)
	}
	apps.Age(t, dir, "sandboxes/"+first)
	if _, err := boxes.Create(t.Context(), ada, map[string][]byte{"a": nil}); err != nil {
		t.Errorf("one more beside an old one: got %v, want nil", err)
	}
	if _, err := boxes.Files(t.Context(), ada, first); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("the old one: got %v, want ErrNotFound", err)
	}
}

// Of several writers that have all seen the same version, in this and in another process, one succeeds.
func TestOneOfSeveralWritersReplacesData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores := []*apps.Store{open(t, dir), open(t, dir)} // as two replicas have them
	if err := stores[0].Deploy(t.Context(), ada, "a", page("x")); err != nil {
		t.Fatal(err)
	}
	was := ""
	for round := range 5 {
		var wg sync.WaitGroup
		var won atomic.Int32
		for w := range 8 {
			wg.Go(func() {
				err := stores[w%2].ReplaceData(t.Context(), ada, "a", "f", fmt.Appendf(nil, "%d by %d", round, w), was)
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, files.ErrChanged):
					t.Errorf("round %d: got %v, want nil or ErrChanged", round, err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("round %d: %d writers succeeded, want 1", round, n)
		}
		data, err := stores[0].ReadData(t.Context(), ada, "a", "f")
		if err != nil {
			t.Fatal(err)
		}
		was = apps.DataVersion(data)
	}
}

// Who shows the apps of a user gets to know of every one that was deployed or removed, and of nothing else.
func TestChangesOfAppsAreAnnounced(t *testing.T) {
	t.Parallel()
	var got []string
	s := apps.New(openFolder(t, t.TempDir()), func(_ context.Context, user, id string) { got = append(got, user+" "+id) })
	if err := s.Deploy(t.Context(), ada, "a", page("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteData(t.Context(), ada, "a", "f", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Deploy(t.Context(), ada, "b", apps.Bundle{}); err == nil {
		t.Error("an app without files: got nil, want an error")
	}
	if err := s.Remove(t.Context(), ada, "a"); err != nil {
		t.Fatal(err)
	}
	if want := []string{ada + " a", ada + " a"}; !slices.Equal(got, want) {
		t.Errorf("announced: got %q, want %q", got, want)
	}
}
