package hubtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// namespaceEnv is the variable with the name of the test that a child process of [Plan.RunInNamespace] runs.
const namespaceEnv = "EVERDESK_TEST_APART"

// RunInNamespace runs the calling test again, with the same seed, in a child process with its own
// network and mount namespaces, and returns true there. In the parent it returns false after the
// child has passed, and the test should return; it fails the test if the child fails. It needs
// root.
func (p *Plan) RunInNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceEnv) == t.Name() {
		return true
	}
	if os.Geteuid() != 0 {
		t.Fatal("a network namespace needs root")
	}
	args := append(append([]string(nil), os.Args[1:]...),
		"-test.v", "-test.run=^"+t.Name()+"$", fmt.Sprintf("-chaos.seed=%d", p.Seed))
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this very program
	cmd.Env = append(os.Environ(), namespaceEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	t.Logf("output in its own namespaces:\n%s", out)
	if err != nil {
		t.Fatalf("run in its own namespaces: %v", err)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatal("the child process did not run the test")
	}
	return false
}

// ip runs the ip command of iproute2.
func ip(tb testing.TB, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "ip", args...) //nolint:gosec // the tests' own arguments
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("ip %s: %v (apt-get install iproute2)\n%s", strings.Join(args, " "), err, out)
	}
}
