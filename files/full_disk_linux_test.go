package files_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/everdesk/everdesk/files"
)

// smallDisk returns a folder on a disk of 1 MiB. A user who may not mount one gets a folder in which no file can become
// larger than that, in a process of its own, which the file store meets in the same way.
func smallDisk(t *testing.T) (dir string, ok bool) {
	t.Helper()
	const size = 1 << 20
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Errorf("unmount: %v", err)
			}
		})
		return dir, true
	}
	const variable = "FILES_SMALL_DISK"
	if os.Getenv(variable) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("with a limit of file sizes: %v: %s", err, bytes.TrimSpace(out))
		}
		return "", false
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
		t.Fatal(err)
	}
	return dir, true
}

// A file for which the disk has no space is not stored, and leaves nothing behind: the files that were there stay as
// they are, and a smaller one can be stored.
func TestFullDisk(t *testing.T) { //nolint:paralleltest // it may limit the process
	dir, ok := smallDisk(t)
	if !ok {
		return
	}
	s, err := files.Open(dir, files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	save := func(name string, size int) error {
		_, err := s.Save(t.Context(), ses, name, strings.NewReader(strings.Repeat("x", size)), int64(size))
		return err
	}
	if err := save("kept", 1000); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kept", "new"} {
		if err := save(name, 2<<20); !errors.Is(err, files.ErrNoSpace) {
			t.Errorf("saving %s on a full disk: got error %v, want %v", name, err, files.ErrNoSpace)
		}
	}
	u, err := s.StartUpload(t.Context(), ses, files.NewUpload{Path: "pieces", Size: 2 << 20}, files.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), ses, u.ID, 0, strings.NewReader(strings.Repeat("x", 2<<20)), 2<<20); !errors.Is(err, files.ErrNoSpace) {
		t.Errorf("an upload in pieces to a full disk: got error %v, want %v", err, files.ErrNoSpace)
	}
	if err := s.CancelUpload(t.Context(), ses, u.ID); err != nil {
		t.Errorf("cancelling the upload: got error %v, want none", err)
	}
	if err := save("small", 1000); err != nil {
		t.Errorf("saving a small file afterwards: got error %v, want none", err)
	}
	all, err := s.ListAll(t.Context(), ses, "")
	if err != nil || len(all) != 2 || all[0].Path != "kept" || all[0].Size != 1000 || all[1].Path != "small" {
		t.Errorf("files: got %+v (error %v), want kept and small with 1000 bytes", all, err)
	}
	var bytes int64
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		bytes += info.Size()
		return err
	})
	if err != nil || bytes > 10_000 {
		t.Errorf("bytes on the disk: got %d (error %v), want those of two files", bytes, err)
	}
}
