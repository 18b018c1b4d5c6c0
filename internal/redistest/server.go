package redistest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// startTimeout bounds every wait for servers. It is long because tests of many
	// packages share the machine; normal waits are much shorter.
	startTimeout = 2 * time.Minute
	pollEvery    = 5 * time.Millisecond
	// logTail is the number of bytes of a server's log in a failure message.
	logTail = 2048
)

// Server is one redis-server process that can be killed and started again.
type Server struct {
	// Addr is its address, which is constant: a restart keeps port and folder.
	Addr string

	program string
	args    []string
	dir     string

	mu     sync.Mutex // guards the fields below
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
}

// Standalone starts one server without persistence. Further arguments are
// redis-server's own, such as "--appendonly", "yes".
func Standalone(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return start(tb, append([]string{"--save", ""}, args...)...)
}

// URL returns the server's address as a store URL.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Client returns a plain client of this server that does not retry; it is closed when the
// test ends.
func (s *Server) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	client := newClient(s.Addr)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Kill ends the process at once with SIGKILL, as a crash would, and waits for its end.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGKILL)
	s.mu.Lock()
	gone := s.exited
	s.mu.Unlock()
	<-gone
}

// Stop suspends the process with SIGSTOP: connections stay open without replies.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGSTOP)
}

// Continue resumes the process after [Server.Stop].
func (s *Server) Continue(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
}

// Restart starts a killed server again, on its port and in its folder, and waits until it
// replies.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.launch(tb)
	s.awaitReady(tb)
}

func (s *Server) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.exited:
		tb.Fatalf("signal %v: redis-server on %s is not running", sig, s.Addr)
	default:
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		tb.Fatalf("signal %v to redis-server on %s: %v", sig, s.Addr, err)
	}
}

// start runs redis-server on a free port and waits until it replies.
func start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := prepare(tb, args...)
	s.launch(tb)
	s.awaitReady(tb)
	return s
}

func prepare(tb testing.TB, args ...string) *Server {
	tb.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatal("redis-server is missing: apt-get install redis-server (or run make test as root, which does it)")
	}
	return &Server{Addr: freeAddr(tb), program: program, args: args, dir: tb.TempDir()}
}

// freeAddr picks an unused port below the range for outgoing connections: a client that
// dials a killed server must not be assigned the very port it dials. Cluster nodes also use
// the port 10,000 above. The port is reserved for the test until it ends, also while its
// server is down.
func freeAddr(tb testing.TB) string {
	tb.Helper()
	const first, last, busOffset = 10_000, 21_999, 10_000
	for range 1000 {
		port := first + rand.IntN(last-first+1) //nolint:gosec // any port will do
		if reserve(tb, port) && isFree(tb, port) && isFree(tb, port+busOffset) {
			return loopback(port)
		}
	}
	tb.Fatal("no free port")
	return ""
}

// reserve locks a port against other tests, also those of other processes, until the test ends.
// It returns false if another test has it.
func reserve(tb testing.TB, port int) bool {
	tb.Helper()
	// Not in os.TempDir(): tests that run with different TMPDIRs have the same ports.
	const folder = "/tmp/everdesk-ports"
	if err := os.MkdirAll(folder, 0o750); err != nil {
		tb.Fatalf("reserve a port: %v", err)
	}
	file, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatalf("reserve a port: %v", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // another test has it
		return false
	}
	tb.Cleanup(func() { _ = file.Close() })
	return true
}

func isFree(tb testing.TB, port int) bool {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", loopback(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (s *Server) launch(tb testing.TB) {
	tb.Helper()
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		tb.Fatalf("address of redis-server: %v", err)
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatalf("log of redis-server: %v", err)
	}
	defer func() { _ = log.Close() }()
	args := append(s.leading(), "--bind", host, "--port", port, "--dir", s.dir, "--daemonize", "no")
	// The process outlives the test's context on purpose: the test's own cleanup still
	// uses it. The Cleanup below ends it.
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), s.program, append(args, s.trailing()...)...) //nolint:gosec // the arguments come from the test
	cmd.Stdout, cmd.Stderr = log, log
	// The process must not outlive a killed test binary.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	gone := make(chan struct{})
	go func() { // ends with the process, which the Cleanup kills and awaits
		defer close(gone)
		_ = cmd.Wait()
	}()
	s.mu.Lock()
	s.cmd, s.exited = cmd, gone
	s.mu.Unlock()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-gone
	})
}

// leading returns the configuration file, if the arguments begin with one: it
// must come first on the command line.
func (s *Server) leading() []string {
	if len(s.args) > 0 && !strings.HasPrefix(s.args[0], "--") {
		return []string{s.args[0]}
	}
	return nil
}

func (s *Server) trailing() []string { return s.args[len(s.leading()):] }

func (s *Server) logFile() string { return filepath.Join(s.dir, "redis.log") }

// awaitReady waits until the server replies and has loaded its data.
func (s *Server) awaitReady(tb testing.TB) {
	tb.Helper()
	client := newClient(s.Addr)
	defer func() { _ = client.Close() }()
	poll(tb, "redis-server on "+s.Addr, s, func(ctx context.Context) error {
		return client.Ping(ctx).Err()
	})
}

// poll calls ready until it returns nil. It fails the test with the end of the server's log if s
// exits, or after startTimeout.
func poll(tb testing.TB, what string, s *Server, ready func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), startTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-s.ended():
			tb.Fatalf("%s has ended: %v\n%s", what, err, s.tail())
		case <-ctx.Done():
			tb.Fatalf("%s is not ready after %v: %v\n%s", what, startTimeout, err, s.tail())
		}
	}
}

func (s *Server) ended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited
}

func (s *Server) tail() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return fmt.Sprintf("log: %v", err)
	}
	return string(bytes.TrimSpace(log[max(0, len(log)-logTail):]))
}

// newClient returns a client with at most four connections and without retries, so that a test
// sees the server's own errors.
func newClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
		PoolSize: 4, DisableIdentity: true,
	})
}
