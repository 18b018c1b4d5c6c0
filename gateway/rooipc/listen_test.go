//go:build linux || darwin

package rooipc_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/gateway/rooipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shortFolder returns a folder whose path is short enough for sockets.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "ipc") //nolint:usetesting // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func mustListen(t *testing.T, path string) {
	t.Helper()
	ln, err := rooipc.Listen(t.Context(), path)
	if err != nil {
		t.Fatalf("error %v, want a socket", err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v, want 0600", info.Mode(), err)
	}
}

func TestListenCreatesAClosedFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(shortFolder(t), "run")
	mustListen(t, filepath.Join(folder, "roo.sock"))
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, error %v, want 0700", info.Mode(), err)
	}
}

// leaveSocket leaves a socket as a killed process does.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenReplacesASocketThatAKilledProcessLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), "roo.sock")
	leaveSocket(t, path)
	mustListen(t, path)
}

func TestOnlyOneOfManyThatStartTogetherListens(t *testing.T) {
	t.Parallel()
	folder := shortFolder(t)
	for round := range 200 {
		path := filepath.Join(folder, strconv.Itoa(round))
		leaveSocket(t, path)
		var all sync.WaitGroup
		var opened atomic.Int32
		begin := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-begin
				if ln, err := rooipc.Listen(t.Context(), path); err == nil {
					opened.Add(1)
					t.Cleanup(func() { _ = ln.Close() })
				}
			})
		}
		close(begin)
		all.Wait()
		if n := opened.Load(); n != 1 {
			t.Fatalf("round %d: %d listen, want 1", round, n)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, folder string) string
		want    string
	}{
		"a socket in use": {func(t *testing.T, folder string) string {
			t.Helper()
			path := filepath.Join(folder, "s")
			mustListen(t, path)
			return path
		}, "another process"},
		"a file": {func(t *testing.T, folder string) string {
			t.Helper()
			path := filepath.Join(folder, "notes.txt")
			if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, "not a socket"},
		"a link to a socket": {func(t *testing.T, folder string) string {
			t.Helper()
			mustListen(t, filepath.Join(folder, "s"))
			path := filepath.Join(folder, "link")
			if err := os.Symlink(filepath.Join(folder, "s"), path); err != nil {
				t.Fatal(err)
			}
			return path
		}, "not a socket"},
		"an open folder": {func(t *testing.T, folder string) string {
			t.Helper()
			if err := os.Chmod(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(folder, "s")
		}, "chmod 700"},
		"a long path": {func(t *testing.T, folder string) string {
			t.Helper()
			return filepath.Join(folder, strings.Repeat("x", 120))
		}, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.prepare(t, shortFolder(t))
			before, _ := os.Lstat(path)
			ln, err := rooipc.Listen(t.Context(), path)
			if err == nil {
				_ = ln.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if after, _ := os.Lstat(path); before != nil && !os.SameFile(before, after) {
				t.Error("the file was replaced")
			}
		})
	}
}
