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
	// Patience is how long a server may take to start, or to answer.
	Patience    = 2 * time.Minute
	stopTimeout = 10 * time.Second
	// leftovers is how long what a process has started itself may keep its
	// output open once it has ended.
	leftovers = time.Second
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
	// An interrupt at the terminal is for the caller alone, who knows in which
	// order everything ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = leftovers
	p := &Process{cmd: cmd, said: &tail{}, gone: make(chan struct{})}
	herald := &herald{words: ready, found: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(p.said, herald), p.said
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", name, err)
	}
	go func() { // ends with the process, which Stop ends and awaits
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

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Said is what the process said last.
func (p *Process) Said() string { return p.said.String() }

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

// herald looks for the line that says that a program is ready.
type herald struct {
	words string
	found chan string // has room for it
	line  []byte      // the part of it that is there
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
