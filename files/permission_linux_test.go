package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/everdesk/everdesk/files"
)

// underPermissions executes f so that the modes of files bind it, also if the user is root: without the capabilities to
// pass them. They belong to the thread, which ends with the goroutine.
func underPermissions(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&header, &caps[0]); err != nil {
			t.Errorf("read the capabilities: %v", err)
			return
		}
		caps[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
		if err := unix.Capset(&header, &caps[0]); err != nil {
			t.Errorf("drop capabilities: %v", err)
			return
		}
		f()
	}()
	<-done
}

func chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Errorf("chmod: %v", err)
	}
}

// Programs leave folders that cannot be written or read. They can be deleted, for good too, and so can their session.
func TestFoldersWithoutPermissionCanBeDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{})
	save(t, s, ses, "old.txt", "old")
	save(t, s, ses, "docs/ro/deep/a.txt", "a")
	save(t, s, ses, "docs/b.txt", "b")
	underPermissions(t, func() {
		_ = trash(t, s, "old.txt")
		chmod(t, filepath.Join(dir, string(ses), "docs/ro/deep"), 0)
		chmod(t, filepath.Join(dir, string(ses), "docs/ro"), 0o555)
		d, err := s.Trash(t.Context(), ses, "docs/ro")
		if err != nil {
			t.Errorf("delete: got %v, want no error", err)
		}
		if all, err := s.Trashed(t.Context(), ses); err != nil || len(all) != 2 {
			t.Errorf("deletions: got %+v and the error %v, want two", all, err)
		}
		chmod(t, filepath.Join(dir, ".trash", string(ses), d.ID, "docs/ro/deep"), 0)
		if err := s.EmptyTrash(t.Context(), ses); err != nil {
			t.Errorf("empty the trash: got %v, want no error", err)
		}
		chmod(t, filepath.Join(dir, string(ses), "docs"), 0)
		if err := s.RemoveAll(t.Context(), ses); err != nil {
			t.Errorf("delete the session's files: got %v, want no error", err)
		}
	})
	if _, err := os.Lstat(filepath.Join(dir, string(ses))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the session's folder: got error %v, want %v", err, os.ErrNotExist)
	}
}

// A folder that cannot be read does not prevent the start of the hub.
func TestOpenWithFoldersWithoutPermission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{})
	save(t, s, ses, "a.txt", "a")
	save(t, s, "ses-2", "a.txt", "a")
	chmod(t, filepath.Join(dir, string(ses)), 0)
	t.Cleanup(func() { chmod(t, filepath.Join(dir, string(ses)), 0o700) })
	chmod(t, filepath.Join(dir, "ses-2", ".partial"), 0)
	underPermissions(t, func() {
		again, err := files.Open(dir, files.Config{})
		if err != nil {
			t.Errorf("open: got %v, want no error", err)
			return
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}
