package jsonline_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers/jsonline"
)

// witness accepts the connections of child processes. A connection ends with its process.
type witness struct {
	socket string
	ln     net.Listener
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{socket: filepath.Join(dir, "s")}
	var lc net.ListenConfig
	if w.ln, err = lc.Listen(t.Context(), "unix", w.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.ln.Close()
		os.RemoveAll(dir)
	})
	return w
}

// connection returns the connection of the process that connected next.
func (w *witness) connection(t *testing.T) net.Conn {
	t.Helper()
	c, err := w.ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// gone waits until the process at the other end has ended.
func gone(t *testing.T, what string, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // for hangs
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s: got error %v, want the end of the process", what, err)
	}
}

const short = 20 * time.Millisecond

func TestStopInEveryState(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode        string
		input, term time.Duration
	}{
		"ends with its input":            {"ready", time.Minute, time.Minute},
		"ends on SIGTERM":                {"ready after-input", short, time.Minute},
		"ends on SIGTERM at once":        {"ready deaf", -1, time.Minute},
		"needs SIGKILL":                  {"ignore-term ready deaf", short, short},
		"blocked on its output":          {"ready flood", short, time.Minute},
		"not ready":                      {"deaf", short, short},
		"child in the group":             {"spawn=SOCKET ready", time.Minute, time.Minute},
		"stubborn, child in the group":   {"spawn=SOCKET ignore-term ready deaf", short, short},
		"stubborn, child in its session": {"spawn-session=SOCKET ignore-term ready deaf", short, short},
		"has exited":                     {"ready exit=0", time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWitness(t)
			mode, spawns := withSocket("connect=SOCKET "+tt.mode, w.socket)
			cfg := config(t, mode)
			cfg.InputGrace, cfg.TermGrace = tt.input, tt.term
			p := start(t, cfg)
			conns := []net.Conn{w.connection(t)}
			if spawns {
				conns = append(conns, w.connection(t))
			}
			if name != "not ready" {
				next(t, p)
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(p.Stop)
			}
			wg.Wait()
			for _, c := range conns {
				gone(t, name, c)
			}
			if err := p.Err(); !errors.Is(err, jsonline.ErrStopped) && name != "has exited" {
				t.Errorf("got error %v, want ErrStopped", err)
			}
		})
	}
}

func TestKilledByAnother(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	mode, _ := withSocket("connect=SOCKET spawn=SOCKET ready", w.socket)
	p := start(t, config(t, mode))
	self, below := w.connection(t), w.connection(t)
	next(t, p)
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("next line: got error %v, want EOF", err)
	}
	<-p.Done()
	var exit *jsonline.ExitError
	if !errors.As(p.Err(), &exit) || exit.Status != "signal: killed" {
		t.Errorf("got error %v, want signal: killed", p.Err())
	}
	gone(t, "the process", self)
	gone(t, "its child", below)
}

// A descendant in a session of its own does not survive a process with a mark.
func TestMarkedDescendant(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	mode, _ := withSocket("connect=SOCKET spawn-session=SOCKET ready", w.socket)
	cfg := config(t, mode)
	cfg.Mark = jsonline.NewMark()
	p := start(t, cfg)
	self, below := w.connection(t), w.connection(t)
	next(t, p)
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	gone(t, "the process", self)
	gone(t, "its descendant", below)
}

// A descendant in a session of its own survives the process and holds its output open.
func TestOutputHeldOpen(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	mode, _ := withSocket("spawn-session=SOCKET ready exit=1", w.socket)
	p := start(t, config(t, mode))
	below := w.connection(t)
	next(t, p)
	if _, err := p.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("next line: got error %v, want EOF", err)
	}
	<-p.Done()
	killPeer(t, below)
	gone(t, "the descendant", below)
}

// hub starts a process as the hub does, and waits to be killed.
func hub(socket string) {
	p, err := jsonline.Start(jsonline.Config{
		Path: os.Args[0], Dir: os.TempDir(), Env: []string{childMode + "=connect=" + socket + " ready after-input"},
	})
	if err != nil {
		panic(err)
	}
	if _, err := p.Next(); err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, `"ready"`)
	select {}
}

func TestHubKilled(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = []string{childMode + "=hub=" + w.socket}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	agent := w.connection(t)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(t, "the process of a killed hub", agent)
}

// leaks starts and stops processes and reports what is left, in a process of its own because tests
// beside it would be counted, too.
func leaks() {
	run := func(mode string) {
		p, err := jsonline.Start(jsonline.Config{
			Path: os.Args[0], Dir: os.TempDir(), Env: []string{childMode + "=" + mode}, InputGrace: short, TermGrace: short,
		})
		if err != nil {
			panic(err)
		}
		if _, err := p.Next(); err != nil && !errors.Is(err, io.EOF) {
			panic(err)
		}
		p.Stop()
	}
	modes := []string{"ready", "exit=1", "ready deaf", "ignore-term ready deaf", "ready flood"}
	for _, m := range modes {
		run(m)
	}
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for n := range 30 {
		run(modes[n%len(modes)])
	}
	// A goroutine that has closed its last channel may still be counted, now or before.
	for began := time.Now(); runtime.NumGoroutine() > goroutines && time.Since(began) < time.Minute; {
		runtime.Gosched()
	}
	_, _ = fmt.Fprintf(os.Stdout, `{"goroutines":%d,"files":%d,"children":%d}`+"\n", max(0, runtime.NumGoroutine()-goroutines), openFiles()-files, children())
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	p := start(t, config(t, "leaks"))
	if got, want := next(t, p), `{"goroutines":0,"files":0,"children":0}`; got != want {
		t.Errorf("after 30 processes there are %s more, want %s", got, want)
	}
}
