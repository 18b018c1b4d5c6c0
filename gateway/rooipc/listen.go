package rooipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxPath is the longest path of a socket that all systems support, in bytes.
const maxPath = 103

// probeTimeout is the timeout for finding out whether a process listens on a socket.
const probeTimeout = 2 * time.Second

// Listen opens the socket. Its folder must be usable by the user of this process only, and is created if
// it does not exist. A socket that a killed process left is replaced; one on which a process listens is
// not.
func Listen(ctx context.Context, path string) (*net.UnixListener, error) {
	ln, err := listen(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("listen on the socket %s: %w", path, err)
	}
	return ln, nil
}

func listen(ctx context.Context, path string) (*net.UnixListener, error) {
	if err := checkPeers(); err != nil {
		return nil, err
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("the path has %d bytes, and sockets have at most %d", len(path), maxPath)
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	// Otherwise a hub that starts at the same time could remove the new socket as a stale one.
	unlock, err := lockFolder(folder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	unix, ok := ln.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("got a %T", ln), ln.Close())
	}
	// Until then the folder protects it.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return unix, nil
}

// checkFolder checks that other users cannot reach the files in a folder.
func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", folder)
	}
	if info.Mode().Perm()&0o077 != 0 || !isOwn(info) {
		return fmt.Errorf("the folder %s must belong to you and be closed for others, because everything that can connect drives agents: "+
			"use a folder of its own, or chmod 700 it", folder)
	}
	return nil
}

// removeStale removes the socket of a process that does not run any more.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("there is a file that is not a socket; choose another path")
	}
	dialer := net.Dialer{Timeout: probeTimeout}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return errors.New("another process, perhaps another hub, listens on it; choose another path")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("find out whether a process listens on it: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
