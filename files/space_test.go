package files_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/files"
)

// sender is a running upload that the test controls.
type sender struct {
	to   *io.PipeWriter
	done chan error
}

// begin starts an upload. It returns once the file store reads, or has refused it.
func begin(t *testing.T, s *files.Store, name string, size int64, first string) sender {
	t.Helper()
	from, to := io.Pipe()
	x := sender{to, make(chan error, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := s.Save(t.Context(), ses, name, from, size)
		_ = from.CloseWithError(err) // unblocks writers if the file store stops reading
		x.done <- err
	})
	t.Cleanup(func() {
		_ = to.CloseWithError(io.ErrUnexpectedEOF)
		wg.Wait()
	})
	_, _ = io.WriteString(to, first)
	return x
}

func (x sender) end(t *testing.T) error {
	t.Helper()
	_ = x.to.Close()
	return <-x.done
}

// onDisk returns the number of bytes under a folder.
func onDisk(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// Unfinished uploads cannot fill the disk: their bytes count from the start.
func TestUnfinishedUploadsCount(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"with a length": 100, "without a length": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir, files.Config{FileBytes: 100, SessionBytes: 250, SessionFiles: 10})
			for i := range 20 {
				begin(t, s, string(rune('a'+i)), size, strings.Repeat("x", 100))
			}
			if got := onDisk(t, dir); got > 250 {
				t.Errorf("%d bytes of unfinished files, 250 are allowed", got)
			}
			if _, err := s.Save(t.Context(), ses, "z", strings.NewReader(strings.Repeat("x", 100)), 100); !errors.Is(err, files.ErrFull) {
				t.Errorf("saving a finished file beside the unfinished ones: got error %v, want %v", err, files.ErrFull)
			}
			save(t, s, "ses-2", "z", "others have their own")
		})
	}
}

func TestFewUploadsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{})
	var all []sender
	for i := range 8 {
		all = append(all, begin(t, s, string(rune('a'+i)), 2, "x"))
	}
	if _, err := s.Save(t.Context(), ses, "z", strings.NewReader("x"), 1); !errors.Is(err, files.ErrBusy) {
		t.Errorf("the ninth upload at once: got error %v, want %v", err, files.ErrBusy)
	}
	if err := all[0].end(t); err != nil {
		t.Errorf("the first: %v", err)
	}
	save(t, s, ses, "z", "x")
	for _, x := range all[1:] {
		_ = x.to.CloseWithError(io.ErrUnexpectedEOF)
		if err := <-x.done; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a broken upload: got error %v, want %v", err, io.ErrUnexpectedEOF)
		}
	}
	// Failed uploads use no space.
	for i := range 8 {
		all[i] = begin(t, s, string(rune('A'+i)), -1, "x")
	}
	for _, x := range all {
		if err := x.end(t); err != nil {
			t.Error(err)
		}
	}
}

// A second process on the same folder does not remove the uploads of the first.
func TestOpenKeepsUploadsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, files.Config{})
	x := begin(t, a, "x", -1, "half")
	b := open(t, dir, files.Config{})
	if _, err := io.WriteString(x.to, " and half"); err != nil {
		t.Error(err)
	}
	if err := x.end(t); err != nil {
		t.Fatal(err)
	}
	if got := load(t, b, ses, "x"); got != "half and half" {
		t.Errorf("x after both uploads: got %q, want %q", got, "half and half")
	}
}

// A path that uses a file as a folder does not exist.
func TestFilesAreNotFolders(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{})
	save(t, s, ses, "file", "x")
	_, _, opened := s.Open(t.Context(), ses, "file/below")
	_, listed := s.List(t.Context(), ses, "file")
	_, below := s.List(t.Context(), ses, "file/below")
	for what, err := range map[string]error{"open": opened, "list": listed, "list below": below, "remove": s.Remove(t.Context(), ses, "file/below")} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s below a file: got error %v, want %v", what, err, fs.ErrNotExist)
		}
	}
}

// age sets the time of a file to 90 minutes ago.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-90 * time.Minute)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}
