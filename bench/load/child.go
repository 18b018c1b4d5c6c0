//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
	// logTail is how much of what a child said last is kept.
	logTail = 4096
	// ticksPerSecond is the unit of times in /proc, the same everywhere.
	ticksPerSecond = 100
)

// child is a server process that ends with its caller.
type child struct {
	name string
	cmd  *exec.Cmd
	said *tail
	gone chan struct{}
}

// spawn starts a program and waits until it prints a line with the given words;
// it returns what follows them.
func spawn(ctx context.Context, ready, program string, args ...string) (*child, string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // our own programs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c := &child{name: filepath.Base(program), cmd: cmd, said: &tail{}, gone: make(chan struct{})}
	cmd.Stderr = c.said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", fmt.Errorf("start %s: %w", c.name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", c.name, err)
	}
	found := make(chan string, 1)
	go func() { // ends with the process, which stop ends and awaits
		defer close(c.gone)
		in := bufio.NewScanner(stdout)
		for in.Scan() {
			_, _ = c.said.Write(append(in.Bytes(), '\n'))
			if _, rest, ok := strings.Cut(in.Text(), ready); ok && len(found) == 0 {
				found <- rest
			}
		}
		_, _ = io.Copy(io.Discard, stdout) // after a line too long for the scanner
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
	return nil, "", fmt.Errorf("start %s: %w\n%s", c.name, err, c.said)
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

// cpu is how long a process has computed so far, in user and system time.
func cpu(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	// The program's name is in parentheses and may contain anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("read CPU time: %q", stat)
	}
	var ticks int64
	for _, i := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// rss is how much memory of a process is resident, in KiB.
func rss(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	text, _, _ := strings.Cut(rest, "kB")
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	return n, nil
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
