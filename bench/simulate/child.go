//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// child is a server process that ends with its caller.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{}
}

// spawn starts a program and waits until it prints a line with the given words;
// it returns what follows them.
func spawn(ctx context.Context, ready, program string, args ...string) (*child, string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // our own programs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer // read only after the process is gone
	cmd.Stderr = &said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", fmt.Errorf("start %s: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", program, err)
	}
	c := &child{cmd: cmd, gone: make(chan struct{})}
	found := make(chan string, 1)
	go func() { // ends with the process, which stop ends and awaits
		defer close(c.gone)
		in := bufio.NewScanner(stdout)
		for in.Scan() {
			if _, rest, ok := strings.Cut(in.Text(), ready); ok && len(found) == 0 {
				found <- rest
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case rest := <-found:
		return c, rest, nil
	case <-c.gone:
		err = errors.New("it ended at once")
	case <-time.After(startTimeout):
		err = errors.New("it is not ready in time")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.stop()
	return nil, "", fmt.Errorf("start %s: %w\n%s", program, err, &said)
}

// stop ends the process, kindly at first, and returns when it is gone.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.gone:
	case <-time.After(stopTimeout):
		_ = c.cmd.Process.Kill()
		<-c.gone
	}
}

// spawnRedis runs a Redis without persistence.
func spawnRedis(ctx context.Context, dir string) (c *child, url string, err error) {
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
	c, _, err = spawn(ctx, "Ready to accept connections", program,
		"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "no")
	return c, "redis://127.0.0.1:" + port, err
}
