package hubtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// apartEnv tells a process that it is the one of which test.
const apartEnv = "EVERDESK_TEST_APART"

// Apart is for tests that need a network of their own: it runs the calling test
// once more, with the same seed, in a process with a network and mounts of its own,
// and is true there. Where it is false that has happened, and the test is over.
func (p *Plan) Apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartEnv) == t.Name() {
		return true
	}
	if os.Geteuid() != 0 {
		t.Fatal("a network namespace needs root")
	}
	args := append(append([]string(nil), os.Args[1:]...),
		"-test.v", "-test.run=^"+t.Name()+"$", fmt.Sprintf("-chaos.seed=%d", p.Seed))
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this very program
	cmd.Env = append(os.Environ(), apartEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	t.Logf("in its own network:\n%s", out)
	if err != nil {
		t.Fatalf("in its own network: %v", err)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatal("the test was not run in its own network")
	}
	return false
}

// ip runs the program of that name.
func ip(tb testing.TB, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "ip", args...) //nolint:gosec // the tests' own arguments
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("ip %s: %v (apt-get install iproute2)\n%s", strings.Join(args, " "), err, out)
	}
}
