//go:build linux || darwin

package rooipc

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestProcessesOfOtherUsersAreRefused(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "ipc") //nolint:usetesting // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	ln, err := Listen(t.Context(), filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(folder, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := ln.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if p, err := checkPeer(conn, os.Geteuid()); err != nil || p.pid != os.Getpid() {
		t.Errorf("peer %+v, error %v, want this process", p, err)
	}
	if p, err := checkPeer(conn, os.Geteuid()+1); !errors.Is(err, errForeignPeer) {
		t.Errorf("for another user: peer %+v, error %v, want %v", p, err, errForeignPeer)
	}
}
