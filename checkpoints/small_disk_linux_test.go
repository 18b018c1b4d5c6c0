package checkpoints_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

// smallDisk is a disk of 4 MiB with a folder for checkpoints and one for files.
type smallDisk struct {
	t                    *testing.T
	dir, files, ballast  string
	checkpoints, session string
}

func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("this user may not mount a small disk (%v); TestFullDisk has the same behaviours with a limit of file sizes", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	d := &smallDisk{t: t, dir: dir, files: filepath.Join(dir, "files"), checkpoints: filepath.Join(dir, "checkpoints"), ballast: filepath.Join(dir, "ballast"), session: ses}
	if err := errors.Join(os.Mkdir(d.files, 0o700), os.Mkdir(d.checkpoints, 0o700)); err != nil {
		t.Fatal(err)
	}
	return d
}

// write writes a file that cannot be compressed.
func (d *smallDisk) write(name string, size int) {
	d.t.Helper()
	var random rand.ChaCha8
	b := make([]byte, size)
	if _, err := random.Read(b); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.files, name), b, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// fill uses up the disk.
func (d *smallDisk) fill() {
	d.t.Helper()
	f, err := os.Create(d.ballast)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	zeros := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(zeros)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("filling the disk: got error %v, want %v", err, syscall.ENOSPC)
	}
}

func (d *smallDisk) free() {
	d.t.Helper()
	if err := os.Remove(d.ballast); err != nil {
		d.t.Fatal(err)
	}
}

// On a disk without a free byte nothing is saved or restored, the error says so, and the files stay as they are. When
// there is space again, both work.
func TestSmallDisk(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	s, err := checkpoints.Open(t.Context(), checkpoints.Config{Dir: d.checkpoints})
	if err != nil {
		t.Fatal(err)
	}
	w := checkpoints.SessionWorktree(d.session, d.files)
	count := func() int {
		t.Helper()
		all, err := s.List(t.Context(), w, d.session)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	d.write("a", 300<<10)
	d.fill()
	if _, err := s.Save(t.Context(), w, d.session, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrNoSpace) {
		t.Errorf("saving the first checkpoint on a full disk: got error %v, want %v", err, checkpoints.ErrNoSpace)
	}
	if n := count(); n != 0 {
		t.Errorf("checkpoints on a full disk: got %d, want none", n)
	}
	d.free()
	first, err := s.Save(t.Context(), w, d.session, checkpoints.Note{}, []byte("windows"))
	if err != nil {
		t.Fatalf("saving when there is space again: %v", err)
	}

	d.write("b", 300<<10)
	d.fill()
	if _, err := s.Save(t.Context(), w, d.session, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrNoSpace) {
		t.Errorf("saving another checkpoint on a full disk: got error %v, want %v", err, checkpoints.ErrNoSpace)
	}
	if _, err := s.Restore(t.Context(), w, d.session, first.Hash, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrNoSpace) {
		t.Errorf("restoring on a full disk: got error %v, want %v", err, checkpoints.ErrNoSpace)
	}
	for _, name := range []string{"a", "b"} {
		if info, err := os.Stat(filepath.Join(d.files, name)); err != nil || info.Size() != 300<<10 {
			t.Errorf("%s after the refused restore: got %v (error %v), want it as it was", name, info, err)
		}
	}
	if n := count(); n != 1 {
		t.Errorf("checkpoints after both refusals: got %d, want the first one", n)
	}
	if text, err := s.Windows(t.Context(), w, d.session, first.Hash); err != nil || string(text) != "windows" {
		t.Errorf("windows of the first checkpoint on a full disk: got %q (error %v), want them", text, err)
	}
	d.free()

	done, err := s.Restore(t.Context(), w, d.session, first.Hash, checkpoints.Note{}, nil)
	if err != nil {
		t.Fatalf("restoring when there is space again: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.files, "b")); !os.IsNotExist(err) {
		t.Errorf("b after the restore: got error %v, want that it is gone", err)
	}
	if _, err := s.Restore(t.Context(), w, d.session, done.Safety.Hash, checkpoints.Note{}, nil); err != nil {
		t.Fatalf("undoing the restore: %v", err)
	}
	f, err := os.Open(filepath.Join(d.files, "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.Copy(io.Discard, f); err != nil || n != 300<<10 {
		t.Errorf("b after the undo: got %d bytes (error %v), want %d", n, err, 300<<10)
	}
	// Removing checkpoints needs no space.
	d.fill()
	if err := s.RemoveSession(t.Context(), w, d.session); err != nil {
		t.Errorf("removing the checkpoints of the session on a full disk: got error %v, want none", err)
	}
	if n := count(); n != 0 {
		t.Errorf("checkpoints after those of the session were removed: got %d, want none", n)
	}
	if err := s.RemoveWorktree(t.Context(), w); err != nil {
		t.Errorf("removing all checkpoints on a full disk: got error %v, want none", err)
	}
	if n := count(); n != 0 {
		t.Errorf("checkpoints after their removal: got %d, want none", n)
	}
}
