package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// rounds is the number of bursts; in each a terminal is killed and a connection is cut.
const rounds = 25

// Several clients follow the same session. In every burst one terminal is killed and attached again,
// and another client's connection is cut and resumes. At the end of each round all have the state
// that an undisturbed terminal had at the same position.
func TestTogether(t *testing.T) {
	t.Parallel()
	url := processURL(t)
	session := createSession(t, url)
	witness := newWitness(t, url, session)

	cuts := newCutter(t, url)
	resumed := runClient(t, cuts.url, session)
	script := runClient(t, url, session)
	emit(t, script, wire.WindowCreate{
		WindowID: "w", Title: "0", Bounds: wire.Bounds{W: 100, H: 100},
		Content: wire.TextContent{},
	})

	for round := range rounds {
		var burst sync.WaitGroup
		var last wire.Position
		disturbed := make(chan struct{})
		burst.Go(func() { last = burstOf(t, script, round, disturbed) })
		kill(t, url, session)
		cuts.cut()
		close(disturbed)
		burst.Wait()
		at, hash := attachUntil(t, url, session, last)
		witness.check(t, "the killed terminal", at, hash)
		at, hash = waitFor(t, resumed, last)
		witness.check(t, "the resumed client", at, hash)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	stats := resumed.Stats()
	if stats.Connections <= rounds/2 || stats.Snapshots != 1 || stats.Duplicates != 0 {
		t.Errorf("the resumed client had %+v, want many connections, one snapshot and no duplicates", stats)
	}
}

// processURL starts a hub in its own process and returns its URL.
func processURL(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hub", "serve", "--addr", "127.0.0.1:0", "--auth", "none", "--rate-limits", "off")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"GORACE=" + noRaceNap}
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the hub printed no URL: %v", err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(line), ": ")
	return url
}

func createSession(t *testing.T, url string) wire.SessionID {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/sessions", strings.NewReader(`{"title":"together"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || made.SessionID == "" {
		t.Fatalf("created session: got %q, error %v, want an id", made.SessionID, err)
	}
	return made.SessionID
}

// stateLine is a line of `hub attach --state-hash`, or of an event.
type stateLine struct {
	Type string        `json:"type"`
	Hash string        `json:"hash"`
	At   wire.Position `json:"message_id"`
}

// witness is an undisturbed terminal. It records the hash of the state at every position.
type witness struct {
	mu     sync.Mutex
	hashes map[wire.Position]string
	grown  chan struct{}
}

func newWitness(t *testing.T, url string, session wire.SessionID) *witness {
	t.Helper()
	w := &witness{hashes: map[wire.Position]string{}, grown: make(chan struct{})}
	lines := attached(t, t.Context(), url, session, "--state-hash=1")
	first := w.grown
	go func() { // ends with the process
		for lines.Scan() {
			var line stateLine
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Type == "state" {
				w.add(line)
			}
		}
	}()
	<-first
	return w
}

func (w *witness) add(line stateLine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hashes[line.At] = line.Hash
	close(w.grown)
	w.grown = make(chan struct{})
}

func (w *witness) check(t *testing.T, who string, at wire.Position, hash string) {
	t.Helper()
	for {
		w.mu.Lock()
		want, ok := w.hashes[at]
		grown := w.grown
		w.mu.Unlock()
		if ok {
			if want != hash {
				t.Errorf("hash of %s at %v: got %s, want %s as the witness has", who, at, hash, want)
			}
			return
		}
		select {
		case <-grown:
		case <-t.Context().Done():
			t.Fatalf("the witness never saw %v of %s", at, who)
		}
	}
}

// attached starts `hub attach` on a session; it ends with ctx at the latest.
func attached(t *testing.T, ctx context.Context, url string, session wire.SessionID, args ...string) *bufio.Scanner { //nolint:revive // a test's context is not its own
	t.Helper()
	cmd := exec.CommandContext(ctx, "hub", append([]string{"attach", string(session), "--server", url, "--json"}, args...)...)
	cmd.Env = []string{"GORACE=" + noRaceNap}
	cmd.Stderr = t.Output()
	out, in := io.Pipe()
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.CloseWithError(endOf(cmd.Wait()))
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		go func() { _, _ = io.Copy(io.Discard, out) }()
		<-done
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return lines
}

// endOf returns io.EOF or, if err is not nil, an error that wraps both.
func endOf(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", io.EOF, err)
	}
	return io.EOF
}

// kill attaches a terminal and kills it after a few events.
func kill(t *testing.T, url string, session wire.SessionID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout) // the end of ctx kills the terminal with SIGKILL
	defer cancel()
	lines := attached(t, ctx, url, session)
	for seen := 0; seen < 3 && lines.Scan(); {
		if bytes.Contains(lines.Bytes(), []byte(`"message_id"`)) {
			seen++
		}
	}
}

// attachUntil attaches a terminal until a position, and returns its position and the hash of its
// state.
func attachUntil(t *testing.T, url string, session wire.SessionID, until wire.Position) (wire.Position, string) {
	t.Helper()
	lines := attached(t, t.Context(), url, session, "--state-hash", "--until", until.String())
	var last stateLine
	for lines.Scan() {
		var line stateLine
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Type == "state" {
			last = line
		}
	}
	if last.Hash == "" {
		t.Fatalf("the terminal ended without a state: %v", lines.Err())
	}
	return last.At, last.Hash
}

// runClient runs a client of a session in this process.
func runClient(t *testing.T, url string, session wire.SessionID) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{
		URL: url, Session: session,
		Backoff: func(int) time.Duration { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case <-c.Ready():
	case err := <-done:
		t.Fatalf("got the end of the client (%v), want it ready", err)
	}
	return c
}

func emit(t *testing.T, c *client.Client, actions ...wire.Action) wire.Position {
	t.Helper()
	answer, err := c.Send(t.Context(), wire.Emit{Actions: actions})
	if err != nil {
		t.Error(err)
		return wire.Position{}
	}
	emitted, ok := answer.Data.(wire.Emitted)
	if !ok {
		t.Errorf("answer to EMIT: got %+v, want EMITTED", answer.Data)
	}
	return emitted.At
}

// burstOf changes the desktop until disturbed is closed and ten times more, and returns the last
// position.
func burstOf(t *testing.T, c *client.Client, round int, disturbed <-chan struct{}) (last wire.Position) {
	t.Helper()
	n := round * 1000
	for more := 10; more > 0 && !t.Failed(); {
		select {
		case <-disturbed:
			more--
		default:
		}
		n++
		last = emit(t, c,
			wire.WindowSetTitle{WindowID: "w", Title: strconv.Itoa(n)},
			wire.WindowMove{WindowID: "w", X: float64(n % 500), Y: float64(n % 300)},
			wire.AppBadge{AppID: wire.AppID("app-" + strconv.Itoa(n%7)), Count: uint64(n)},
		)
	}
	return last
}

// waitFor waits until a client has reached a position, and returns its position and the hash of its
// state.
func waitFor(t *testing.T, c *client.Client, until wire.Position) (wire.Position, string) {
	t.Helper()
	// The answer to a message arrives after all earlier events.
	for c.Position().Compare(until) < 0 {
		if _, err := c.Send(t.Context(), wire.Emit{Actions: []wire.Action{wire.AppBadge{AppID: "nudge", Count: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	hash, at := c.Hash()
	return at, hash
}

// cutter is a proxy to a hub whose connections can be cut.
type cutter struct {
	url string
	mu  sync.Mutex
	all map[net.Conn]bool
}

func newCutter(t *testing.T, url string) *cutter {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{url: "http://" + ln.Addr().String(), all: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { c.carry(in, strings.TrimPrefix(url, "http://")) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		c.cut()
		wg.Wait()
	})
	return c
}

// carry forwards bytes in both directions until one side closes.
func (c *cutter) carry(in net.Conn, addr string) {
	var d net.Dialer
	out, err := d.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		_ = in.Close()
		return
	}
	c.mu.Lock()
	c.all[in], c.all[out] = true, true
	c.mu.Unlock()
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		wg.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // cut on purpose
			_ = in.Close()
			_ = out.Close()
		})
	}
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, in)
	delete(c.all, out)
}

// cut resets all connections.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.all {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}
