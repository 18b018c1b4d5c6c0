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
	// Patience bounds the start of a server and each of its replies.
	Patience    = 2 * time.Minute
	stopTimeout = 10 * time.Second
	// leftovers bounds the wait for children of an ended process that keep its output
	// open.
	leftovers = time.Second
	// logTail is the number of bytes of a process's output that are kept.
	logTail = 4096
)

// Process is a server process that is killed when its caller dies.
type Process struct {
	cmd  *exec.Cmd
	said *tail
	gone chan struct{}
}

// Start starts a program and waits until it prints a line that contains ready; it returns
// the rest of that line.
func Start(ctx context.Context, ready, program string, args ...string) (*Process, string, error) {
	name := filepath.Base(program)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // our own programs
	// An interrupt at the terminal must reach the caller alone, which stops the processes
	// in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = leftovers
	p := &Process{cmd: cmd, said: &tail{}, gone: make(chan struct{})}
	herald := &herald{words: ready, found: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(p.said, herald), p.said
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", name, err)
	}
	go func() { // ends with the process, which Stop terminates and waits for
		defer close(p.gone)
		_ = cmd.Wait()
	}()
	var err error
	select {
	case rest := <-herald.found:
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

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Said returns the end of the process's output.
func (p *Process) Said() string { return p.said.String() }

// Stop terminates the process with SIGTERM, kills it after 10 s, and returns when it has
// ended.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.gone
	}
}

// herald finds the line that contains words in the output of a program.
type herald struct {
	words string
	found chan string // buffered; receives the rest of the line
	line  []byte      // the current, incomplete line
}

func (h *herald) Write(b []byte) (int, error) {
	for part := range bytes.Lines(b) {
		h.line = append(h.line, part...)
		if !bytes.HasSuffix(part, []byte("\n")) {
			h.line = h.line[max(0, len(h.line)-logTail):]
			break
		}
		if _, rest, ok := strings.Cut(strings.TrimRight(string(h.line), "\r\n"), h.words); ok && len(h.found) == 0 {
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
