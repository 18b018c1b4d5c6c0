package filestore_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/store/filestore"
)

// TestMain runs the tests, or one of the programs that tests start as processes
// of their own.
func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		os.Exit(runProgram(name))
	}
	goleak.VerifyTestMain(m)
}

// programVariable names the program to run instead of the tests.
const programVariable = "FILESTORE_TEST_PROGRAM"

// runProgram runs a program and returns its exit code.
func runProgram(name string) int {
	program, known := map[string]func(args []string) error{
		"write": writeUntilKilled, "hold": holdFolder, "fill": fillDisk, "sleep": sleepingSessions,
	}[name]
	err := errors.New("no such program")
	if known {
		err = program(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// command returns a command that runs a program.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), programVariable+"="+name)
	cmd.Stderr = t.Output()
	return cmd
}

// quickDir is a folder on a file system in memory if there is one: for tests
// that open stores a thousand times and do not care about the disk.
func quickDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("/dev/shm", "filestore-"+rand.Text())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
	return dir
}

func open(t *testing.T, dir string, cfg filestore.Config) *filestore.Store {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := filestore.Open(dir, cfg)
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// flip changes one bit of a file.
func flip(t *testing.T, path string, off int64, bit int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, off)
	ok(t, err)
	b[0] ^= 1 << (bit % 8)
	_, err = f.WriteAt(b, off)
	ok(t, err)
	ok(t, f.Close())
}
