//go:build linux

package rig

import (
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
	// ReplyTimeout bounds the start of a server and each of its replies.
	ReplyTimeout = 2 * time.Minute
	stopTimeout  = 10 * time.Second
	// waitDelay bounds the wait for children of an ended process that keep its output
	// open.
	waitDelay = time.Second
	// logTail is the number of bytes of a process's output that are kept.
	logTail = 4096
)

// Process is a server process that is killed when its caller dies.
type Process struct {
	cmd    *exec.Cmd
	output *tail
	exited chan struct{}
}

// Start starts a program and waits until it prints a line that contains ready; it returns
// the rest of that line.
func Start(ctx context.Context, ready, program string, args ...string) (*Process, string, error) {
	name := filepath.Base(program)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // our own programs
	// An interrupt at the terminal must reach the caller alone, which stops the processes
	// in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = waitDelay
	p := &Process{cmd: cmd, output: &tail{}, exited: make(chan struct{})}
	watcher := &readyWatcher{marker: ready, found: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(p.output, watcher), p.output
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", name, err)
	}
	go func() { // ends with the process, which Stop terminates and waits for
		defer close(p.exited)
		_ = cmd.Wait()
	}()
	var err error
	select {
	case rest := <-watcher.found:
		return p, rest, nil
	case <-p.exited:
		err = errors.New("the process exited before it was ready")
	case <-time.After(ReplyTimeout):
		err = fmt.Errorf("not ready within %v", ReplyTimeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.Stop()
	return nil, "", fmt.Errorf("start %s: %w\n%s", name, err, p.output)
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Output returns the end of the process's output.
func (p *Process) Output() string { return p.output.String() }

// Stop terminates the process with SIGTERM, kills it after 10 s, and returns when it has
// ended.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// readyWatcher finds the line that contains marker in the output of a program.
type readyWatcher struct {
	marker string
	found  chan string // buffered; receives the rest of the line
	line   []byte      // the current, incomplete line
}

func (h *readyWatcher) Write(b []byte) (int, error) {
	for part := range bytes.Lines(b) {
		h.line = append(h.line, part...)
		if !bytes.HasSuffix(part, []byte("\n")) {
			h.line = h.line[max(0, len(h.line)-logTail):]
			break
		}
		if _, rest, ok := strings.Cut(strings.TrimRight(string(h.line), "\r\n"), h.marker); ok && len(h.found) == 0 {
			h.found <- rest
		}
		h.line = h.line[:0]
	}
	return len(b), nil
}

// tail keeps the end of the data written to it.
type tail struct {
	mu   sync.Mutex // guards last
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
