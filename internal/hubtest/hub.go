package hubtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a hub may take to print its address.
const startTimeout = 3 * time.Minute

// Hub is a hub process that can be killed and restarted at the same address.
type Hub struct {
	// Name is the prefix of its replica ids.
	Name string
	// Addr is its listening address, set by the first start and the same for all others; URL is
	// its URL.
	Addr, URL string

	program string
	args    []string
	env     []string
	folder  string

	mu             sync.Mutex // guards the following
	starts         int
	cmd            *exec.Cmd
	exited         chan struct{} // closed when cmd has exited
	signaled       bool          // the test has sent SIGKILL or SIGTERM to cmd
	reportedPanics int           // occurrences of "panic" in the log that newFailures has returned
}

// ID returns the replica id of the current process. Every start has a new one.
func (h *Hub) ID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("%s-%d", h.Name, h.starts)
}

// SetProgram sets the program for the next start.
func (h *Hub) SetProgram(program string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.program = program
}

// ResidentBytes returns the resident memory of the current process in bytes.
func (h *Hub) ResidentBytes(tb testing.TB) int {
	tb.Helper()
	h.mu.Lock()
	pid := h.cmd.Process.Pid
	h.mu.Unlock()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatalf("memory of hub %s: %v", h.Name, err)
	}
	_, rest, _ := strings.Cut(string(text), "\nVmRSS:")
	var kilobytes int
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		tb.Fatalf("memory of hub %s: %v", h.Name, err)
	}
	return kilobytes << 10
}

// Pid returns the id of the current process.
func (h *Hub) Pid() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cmd.Process.Pid
}

// Start starts the process and waits until it prints its URL, at which it then accepts connections.
func (h *Hub) Start(tb testing.TB) {
	tb.Helper()
	if err := h.start(tb); err != nil {
		tb.Fatalf("start hub %s: %v\n%s", h.Name, err, h.Log())
	}
}

func (h *Hub) start(tb testing.TB) error {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starts++
	logs, err := os.OpenFile(h.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = logs.Close() }()
	addr := h.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	args := append([]string{"serve", "--addr", addr, "--apps-addr", "off"}, h.args...)
	// Not bound to the test's context: only signals of the test end a hub.
	cmd := exec.Command(h.program, args...) //nolint:gosec,noctx // the tests' own program
	cmd.Env = append([]string{"GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=" + h.folder}, h.env...)
	// The variable, unlike the flag, has the same name in all releases.
	cmd.Env = append(cmd.Env, fmt.Sprintf("HUB_REPLICA=%s-%d", h.Name, h.starts))
	cmd.Dir, cmd.Stderr = h.folder, logs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited, firstLine := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(exited)
		line, _ := bufio.NewReader(out).ReadString('\n')
		firstLine <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // the exit status is in its state
	}()
	h.cmd, h.exited, h.signaled = cmd, exited, false
	select {
	case line := <-firstLine:
		_, where, ok := strings.Cut(line, ": ")
		u, err := url.Parse(where)
		if !ok || err != nil || u.Host == "" {
			_ = cmd.Process.Kill()
			<-exited
			return fmt.Errorf("the first line is %q, want one that ends with the URL", line)
		}
		if h.Addr == "" { // set once: other goroutines read it during restarts
			h.Addr, h.URL = u.Host, "http://"+u.Host
		}
		return nil
	case <-time.After(startTimeout):
		_ = cmd.Process.Kill()
		<-exited
		return fmt.Errorf("no URL on standard output within %v", startTimeout)
	}
}

// Kill sends SIGKILL and waits until the process has exited.
func (h *Hub) Kill(tb testing.TB) {
	tb.Helper()
	h.signal(tb, syscall.SIGKILL)
	<-h.exitChannel()
}

// Stop freezes the process with SIGSTOP: connections stay open without answers. It returns
// when the process has stopped.
func (h *Hub) Stop(tb testing.TB) {
	tb.Helper()
	h.signal(tb, syscall.SIGSTOP)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !h.isFrozen(tb) {
		select {
		case <-tick.C:
		case <-h.exitChannel():
			tb.Fatalf("hub %s exited\n%s", h.Name, h.Log())
		case <-tb.Context().Done():
			tb.Fatalf("hub %s is not stopped after SIGSTOP", h.Name)
		}
	}
}

// isFrozen reports whether the kernel reports the process as stopped.
func (h *Hub) isFrozen(tb testing.TB) bool {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.cmd.Process.Pid))
	if err != nil {
		tb.Fatalf("read the state of hub %s: %v", h.Name, err)
	}
	// The state follows the program's name, which is in parentheses.
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ")
	return strings.HasPrefix(state, "T")
}

// Continue reverts [Hub.Stop].
func (h *Hub) Continue(tb testing.TB) { tb.Helper(); h.signal(tb, syscall.SIGCONT) }

// Terminate sends SIGTERM, as a deployment does, and does not wait. See [Hub.Wait].
func (h *Hub) Terminate(tb testing.TB) { tb.Helper(); h.signal(tb, syscall.SIGTERM) }

// Wait waits until the process has exited and returns its exit code, -1 if it was killed.
func (h *Hub) Wait(tb testing.TB) int {
	tb.Helper()
	select {
	case <-h.exitChannel():
	case <-tb.Context().Done():
		tb.Fatalf("hub %s has not exited\n%s", h.Name, h.Log())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cmd.ProcessState.ExitCode()
}

// Alive reports whether the process exists, frozen or not.
func (h *Hub) Alive() bool {
	select {
	case <-h.exitChannel():
		return false
	default:
		return true
	}
}

func (h *Hub) exitChannel() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.exited
}

func (h *Hub) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.signaled = h.signaled || sig == syscall.SIGKILL || sig == syscall.SIGTERM
	if err := h.cmd.Process.Signal(sig); err != nil {
		tb.Fatalf("signal %v to hub %s: %v\n%s", sig, h.Name, err, h.log())
	}
}

func (h *Hub) logFile() string { return filepath.Join(h.folder, h.Name+".log") }

// logTail is the number of bytes that [Hub.Log] returns at most.
const logTail = 8 << 10

// Log returns the end of the hub's log, over all its processes.
func (h *Hub) Log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log()
}

func (h *Hub) log() string {
	b, err := os.ReadFile(h.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-logTail):])
}

// CountInLog returns how often the hub has logged a text, over all its processes.
func (h *Hub) CountInLog(text string) int {
	b, err := os.ReadFile(h.logFile())
	if err != nil {
		return 0
	}
	return strings.Count(string(b), text)
}

// newFailures returns failures of the hub that the test did not cause: an exit without a signal of the
// test, and panics in the log that it has not returned before.
func (h *Hub) newFailures() []string {
	var all []string
	alive := h.Alive()
	panics := h.CountInLog("panic") // one panic may contain the word several times
	h.mu.Lock()
	defer h.mu.Unlock()
	if !alive && !h.signaled {
		all = append(all, fmt.Sprintf("exited without a signal of the test: %v", h.cmd.ProcessState))
	}
	if panics > h.reportedPanics {
		all = append(all, fmt.Sprintf("panicked: %d new occurrences of \"panic\" in the log", panics-h.reportedPanics))
		h.reportedPanics = panics
	}
	return all
}
