//go:build linux

package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// buildPatience is how long a build may take. The first one on a machine compiles
// everything there is, while others may be doing the same.
const buildPatience = 5 * time.Minute

// hubPackage is where the hub's program is.
const hubPackage = "github.com/everdesk/everdesk/cmd/hub"

// BuildHub builds the hub of the module in the working folder into dir, out of what
// tests have compiled.
func BuildHub(ctx context.Context, dir string) (program string, err error) {
	return buildHub(ctx, dir)
}

// BuildRelease builds it as releases are built: guided by their profile, which
// compiles everything anew.
func BuildRelease(ctx context.Context, dir string) (program string, err error) {
	where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", hubPackage).Output()
	if err != nil {
		return "", fmt.Errorf("find the hub: %w", err)
	}
	profile := filepath.Join(strings.TrimSpace(string(where)), "release.pgo")
	return buildHub(ctx, dir, "-trimpath", "-pgo", profile)
}

func buildHub(ctx context.Context, dir string, flags ...string) (program string, err error) {
	program = filepath.Join(dir, "hub")
	args := append([]string{"build", "-o", program}, flags...)
	if err := build(ctx, buildPatience, "go", append(args, hubPackage)...); err != nil {
		return "", err
	}
	return program, nil
}

// build runs a compiler, which is not waited for any more when the time is over:
// neither for it nor for what it has started.
func build(ctx context.Context, patience time.Duration, program string, args ...string) error {
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it is not done after %v; name a hub that is built instead", patience))
	defer cancel()
	cmd := exec.CommandContext(limited, program, args...) //nolint:gosec // our own programs
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")       // as releases are built
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = leftovers
	out, err := cmd.CombinedOutput()
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	if err != nil {
		return fmt.Errorf("build the hub: %w\n%s", err, out)
	}
	return nil
}

// StartHub runs a hub with settings and returns the URL it prints, which may have
// a token in it.
func StartHub(ctx context.Context, program string, settings ...string) (p *Process, url string, err error) {
	p, rest, err := Start(ctx, "Everdesk is running: ", program, append([]string{"serve"}, settings...)...)
	return p, rest, err
}

// StartRedis runs a Redis without persistence, with its files in dir.
func StartRedis(ctx context.Context, dir string) (p *Process, url string, err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, "", fmt.Errorf("%w: apt-get install redis-server", err)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("find a free port: %w", err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	if err := ln.Close(); err != nil {
		return nil, "", fmt.Errorf("find a free port: %w", err)
	}
	p, _, err = Start(ctx, "Ready to accept connections", program,
		"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "no")
	return p, "redis://127.0.0.1:" + port, err
}
