package jsonline_test

import (
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// withSocket inserts the path of the socket and reports whether the mode starts a child.
func withSocket(mode, socket string) (string, bool) {
	return strings.ReplaceAll(mode, "SOCKET", socket), strings.Contains(mode, "spawn")
}

// killPeer kills the process at the other end of a socket.
func killPeer(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var peer *unix.Ucred
	if err := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || peer == nil {
		t.Fatalf("the process of the socket is unknown: %v", err)
	}
	if err := syscall.Kill(int(peer.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// openFiles returns the number of open descriptors.
func openFiles() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}

// children returns the number of child processes, including those that were not waited for.
func children() (n int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	for _, task := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(mustInt(task.Name())) + "/children")
		if err == nil {
			n += len(strings.Fields(string(list)))
		}
	}
	return n
}

func mustInt(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
