//go:build linux

package rig

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// Patience is how long a server may take to start, or to answer.
	Patience    = 30 * time.Second
	stopTimeout = 10 * time.Second
	// logTail is how much of what a process said last is kept.
	logTail = 4096
)

// Process is a server that ends with its caller.
type Process struct {
	cmd  *exec.Cmd
	said *tail
	gone chan struct{}
}

// Start starts a program and waits until it prints a line with the words of
// ready; it returns what follows them.
func Start(ctx context.Context, ready, program string, args ...string) (*Process, string, error) {
	name := filepath.Base(program)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // our own programs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &Process{cmd: cmd, said: &tail{}, gone: make(chan struct{})}
	cmd.Stderr = p.said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", fmt.Errorf("start %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", name, err)
	}
	found := make(chan string, 1)
	go func() { // ends with the process, which Stop ends and awaits
		defer close(p.gone)
		in := bufio.NewScanner(stdout)
		for in.Scan() {
			_, _ = p.said.Write(append(in.Bytes(), '\n'))
			if _, rest, ok := strings.Cut(in.Text(), ready); ok && len(found) == 0 {
				found <- rest
			}
		}
		_, _ = io.Copy(io.Discard, stdout) // after a line too long for the scanner
		_ = cmd.Wait()
	}()
	select {
	case rest := <-found:
		return p, rest, nil
	case <-p.gone:
		err = errors.New("it ended at once")
	case <-time.After(Patience):
		err = errors.New("it is not ready in time")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.Stop()
	return nil, "", fmt.Errorf("start %s: %w\n%s", name, err, p.said)
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop ends the process, kindly at first, and returns when it is gone.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.gone
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards the following
	last []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	t.last = t.last[max(0, len(t.last)-logTail):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.last))
}
