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

// buildTimeout bounds a build. The first one on a machine compiles all dependencies.
const buildTimeout = 5 * time.Minute

// BuildHub builds the hub of the module beside bench into dir, with the flags that
// tests use, so that both share the build cache.
func BuildHub(ctx context.Context, dir string) (program string, err error) {
	return buildHub(ctx, dir)
}

// BuildRelease builds the hub as releases are built: guided by their profile, which
// compiles every package anew.
func BuildRelease(ctx context.Context, dir string) (program string, err error) {
	return buildHub(ctx, dir, "-trimpath", "-pgo", filepath.Join("cmd", "hub", "release.pgo"))
}

func buildHub(ctx context.Context, dir string, flags ...string) (program string, err error) {
	// bench is a module of its own, whose dependencies do not include the hub's.
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/everdesk/everdesk").Output()
	if err != nil {
		return "", fmt.Errorf("find the module of the hub: %w", err)
	}
	program = filepath.Join(dir, "hub")
	args := append([]string{"-C", strings.TrimSpace(string(root)), "build", "-o", program}, flags...)
	if err := build(ctx, buildTimeout, "go", append(args, "./cmd/hub")...); err != nil {
		return "", err
	}
	return program, nil
}

// build runs a compiler. At the timeout it kills the compiler's process group and
// does not wait for processes that keep its output open.
func build(ctx context.Context, timeout time.Duration, program string, args ...string) error {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done after %v; pass the path of a built hub", timeout))
	defer cancel()
	cmd := exec.CommandContext(limited, program, args...) //nolint:gosec // our own programs
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")       // as releases are built
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitDelay
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
