package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/files"
)

func trash(t *testing.T, s *files.Store, name string) files.Trashed {
	t.Helper()
	d, err := s.Trash(t.Context(), ses, name)
	if err != nil {
		t.Fatalf("trash %s: %v", name, err)
	}
	return d
}

func TestDeletionsCanBeUndone(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{})
	save(t, s, ses, "notes/today.md", "today")
	save(t, s, ses, "notes/old/then.md", "then")
	save(t, s, ses, "b.txt", "first")
	one := trash(t, s, "b.txt")
	folder := trash(t, s, "notes")
	if got := names(t, s, ""); len(got) != 0 {
		t.Errorf("files after the deletions: got %q, want none", got)
	}
	all, err := s.Trashed(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Deleted = one.Deleted // compared by the id
	}
	want := []files.Trashed{
		{ID: folder.ID, Path: "notes", Folder: true, Size: 9, Deleted: one.Deleted},
		{ID: one.ID, Path: "b.txt", Size: 5, Deleted: one.Deleted},
	}
	if one.ID > folder.ID { // both within a millisecond
		want[0], want[1] = want[1], want[0]
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("deletions (-want +got):\n%s", diff)
	}
	save(t, s, ses, "b.txt", "second")
	e, err := s.Restore(t.Context(), ses, one.ID)
	if err != nil || e.Path != "b (2).txt" {
		t.Errorf("restore b.txt beside a new one: got %+v, %v, want b (2).txt", e, err)
	}
	if _, err := s.Restore(t.Context(), ses, folder.ID); err != nil {
		t.Fatal(err)
	}
	if got := load(t, s, ses, "notes/old/then.md"); got != "then" {
		t.Errorf("a restored file: got %q, want then", got)
	}
	if got := load(t, s, ses, "b.txt"); got != "second" {
		t.Errorf("the new file: got %q, want second", got)
	}
	for _, id := range []string{folder.ID, "", "..", "../ses-2", "x-y-1", one.ID + "/b.txt"} {
		if _, err := s.Restore(t.Context(), ses, id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("restore %q: got error %v, want %v", id, err, fs.ErrNotExist)
		}
	}
	trash(t, s, "b.txt")
	if err := s.EmptyTrash(t.Context(), ses); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Trashed(t.Context(), ses); err != nil || len(all) != 0 {
		t.Errorf("deletions after the trash was emptied: got %+v, %v, want none", all, err)
	}
}

func TestTrashIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{FileBytes: 100, SessionBytes: 250})
	for _, name := range []string{"a", "b", "c", "d"} {
		save(t, s, ses, name, strings.Repeat("x", 100))
		trash(t, s, name)
	}
	all, err := s.Trashed(t.Context(), ses)
	if err != nil || len(all) != 2 {
		t.Errorf("deletions: got %+v, %v, want two, which fit into 250 bytes", all, err)
	}
}

func TestChangesAreReported(t *testing.T) {
	t.Parallel()
	var got []string
	s := open(t, t.TempDir(), files.Config{Changed: recordChanges(&got)})
	save(t, s, ses, "a", "x")
	if _, err := s.Move(t.Context(), ses, "a", "b"); err != nil {
		t.Fatal(err)
	}
	d := trash(t, s, "b")
	if _, err := s.Restore(t.Context(), ses, d.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), ses, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Move(t.Context(), ses, "none", "c"); err == nil {
		t.Error("a missing file was moved")
	}
	if diff := cmp.Diff([]string{"+a", "-a +b", "-b", "+b", "-b"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A deletion that was interrupted has no path yet, and one may be larger than the space of a session. Neither may cost
// the older ones.
func TestTrashKeepsWhatCanBeUndone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{FileBytes: 100, SessionBytes: 250})
	save(t, s, ses, "a", "first")
	one := trash(t, s, "a")
	interrupted := filepath.Join(dir, ".trash", string(ses), fmt.Sprintf("%012x-interrupted-2", time.Now().Add(time.Hour).UnixMilli()), "docs")
	if err := os.MkdirAll(interrupted, 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Trashed(t.Context(), ses); err != nil || len(all) != 1 || all[0].ID != one.ID {
		t.Errorf("deletions beside an interrupted one: got %+v and the error %v, want that of a", all, err)
	}
	if _, err := os.Stat(interrupted); err != nil {
		t.Errorf("the interrupted deletion: got %v, want that it can go on", err)
	}
	if err := os.WriteFile(filepath.Join(dir, string(ses), "large"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for !time.Now().Truncate(time.Millisecond).After(one.Deleted) {
		runtime.Gosched() // deletions within a millisecond have no order
	}
	large := trash(t, s, "large")
	if all, err := s.Trashed(t.Context(), ses); err != nil || len(all) != 1 || all[0].ID != large.ID {
		t.Errorf("deletions after a large one: got %+v and the error %v, want that of large", all, err)
	}
	if e, err := s.Restore(t.Context(), ses, large.ID); err != nil || e.Path != "large" {
		t.Errorf("restore a large file: got %+v and the error %v, want large", e, err)
	}
}
