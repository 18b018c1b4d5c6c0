package main

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// listening returns a listener that is closed at the end of the test.
func listening(t *testing.T, addr string) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func TestWhereAppsListen(t *testing.T) {
	t.Parallel()
	hub := listening(t, "127.0.0.1:0")
	addr, ok := hub.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("address of the hub: got %v, want a TCP address", hub.Addr())
	}
	cfg := config{addr: addr.String(), apps: appsAuto}
	first, err := listenApps(t.Context(), cfg, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	// If the port is in use, another one is chosen.
	second, err := listenApps(t.Context(), cfg, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if first.Addr().String() == second.Addr().String() || second.Addr().(*net.TCPAddr).Port == addr.Port+1 || !second.Addr().(*net.TCPAddr).IP.IsLoopback() {
		t.Errorf("apps: got %v and %v, want two loopback addresses, the second not beside the hub at %v", first.Addr(), second.Addr(), addr)
	}
	for apps, there := range map[string]bool{appsOff: false, "127.0.0.1:0": true} {
		ln, err := listenApps(t.Context(), config{addr: addr.String(), apps: apps}, addr)
		if err != nil || (ln != nil) != there {
			t.Errorf("apps at %s: got listener %v, error %v, want one: %v", apps, ln, err, there)
		}
		if ln != nil {
			_ = ln.Close()
		}
	}
	if ln, err := listenApps(t.Context(), config{addr: addr.String(), apps: addr.String()}, addr); err == nil {
		t.Errorf("apps at the address of the hub: got %v, want an error", ln.Addr())
	}
}

// An address in use is recognised by the number of the system, which is another one on Windows.
func TestListenError(t *testing.T) {
	t.Parallel()
	for in, hint := range map[syscall.Errno]bool{syscall.EADDRINUSE: true, 10048: true, syscall.EACCES: false} {
		err := listenError(&net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", in)}, "127.0.0.1:1", "--addr HOST:PORT")
		if got := strings.HasSuffix(err.Error(), "; another process, perhaps another hub, has it: choose another address with --addr HOST:PORT"); got != hint {
			t.Errorf("hint for %v: got %v, want it: %v, in %v", in, got, hint, err)
		}
	}
}
