package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/wire"
)

// These tests use the hub like a user: they run a hub and terminals, type input, and wait only for
// lines of output. A hub has a process of its own in the tests that kill it. All else runs in the
// process of the test, because with the race detector each start of a process takes long.

// testProvider is a provider with the settings that select it and the directives that control it.
type testProvider struct {
	name string
	args []string
	env  []string
	// start is the line about the provider that the hub prints.
	start string
	// fake is set for a model behind a real HTTP API, which has the directive /call for tools
	// instead of one directive per tool.
	fake bool
}

// testProviders returns the demo and every model API.
func testProviders(t *testing.T) []testProvider {
	t.Helper()
	model := fakemodel.New()
	model.Models = []string{"llama"}
	t.Cleanup(model.Close)
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return []testProvider{
		{name: "demo", args: []string{"--provider", "demo"}, start: "Answers come from demo: it was asked for."},
		{
			name: "anthropic", fake: true, env: []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_MODEL=m", "OPENAI_API_KEY=k"},
			start: "Answers come from anthropic: its key is set; the model is m.",
		},
		{
			name: "openai", fake: true, env: []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + url + "/v1", "PROVIDER=openai"},
			start: "Answers come from openai: it was asked for.",
		},
		{
			name: "responses", fake: true, args: []string{"--openai-url", url + "/v1", "--openai-model", "m", "--openai-dialect", "responses"},
			start: "Answers come from openai: its URL is set; the model is m.",
		},
		{
			name: "ollama", fake: true, args: []string{"--ollama-url", url + "/v1"},
			start: "Answers come from ollama: it answers at " + url + "/v1; the model is llama.",
		},
	}
}

// eachProvider runs a test with each of testProviders, as a subtest.
func eachProvider(t *testing.T, test func(t *testing.T, m testProvider)) {
	t.Helper()
	for _, m := range testProviders(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			test(t, m)
		})
	}
}

// say returns the directive for a line of text.
func (m testProvider) say(text string) string {
	if m.fake {
		return `/say "` + text + `\n"`
	}
	return `/say ` + text + `\n`
}

func (m testProvider) window(id, title, text string) string {
	if m.fake {
		return fmt.Sprintf(`/call window_create {"windowId":%q,"title":%q,"content":{"renderer":"markdown","content":%q}}`, id, title, text)
	}
	return fmt.Sprintf("/window %s %s | %s", id, title, text)
}

func (m testProvider) ask(text, a, b string) string {
	if m.fake {
		return fmt.Sprintf(`/call user_ask {"title":"A question","message":%q,"options":[%q,%q]}`, text, a, b)
	}
	return fmt.Sprintf("/ask %s | %s | %s", text, a, b)
}

func (m testProvider) task(directive string) string {
	if m.fake {
		return fmt.Sprintf(`/call task_run {"profile":"default","objective":%q}`, directive)
	}
	return "/task default " + directive
}

// server is a hub.
type server struct {
	url     string
	answers string    // the line about the provider that it prints
	cmd     *exec.Cmd // nil for a hub in the process of the test
	command string    // serve unless set
	args    []string
	env     []string
	log     io.Writer // the output of the test if nil
}

// serveHere starts a hub in the process of the test.
func serveHere(t *testing.T, m testProvider, args ...string) *server {
	t.Helper()
	s := newServer(t, m, args)
	h := runHub(t, t.Output(), s.env, s.commandLine("127.0.0.1:0"))
	s.url, s.answers = h.url, h.answers
	return s
}

// serveProcess starts a hub in a process of its own, by default with a new file store.
func serveProcess(t *testing.T, m testProvider, args ...string) *server {
	t.Helper()
	s := newServer(t, m, args)
	s.start(t, "127.0.0.1:0")
	return s
}

func newServer(t *testing.T, m testProvider, args []string) *server {
	t.Helper()
	s := &server{args: append(slices.Clone(m.args), args...), env: m.env}
	if !slices.Contains(s.args, "--store") {
		s.args = append(s.args, "--store", "file:"+t.TempDir())
	}
	return s
}

// commandLine returns the arguments of the hub for an address.
func (s *server) commandLine(addr string) []string {
	args := append([]string{cmp.Or(s.command, "serve"), "--addr", addr, "--rate-limits", "off"}, s.args...)
	if !slices.Contains(s.args, "--log-level") {
		args = append(args, "--log-level", "warn")
	}
	if !slices.Contains(s.args, "--auth") {
		args = append(args, "--auth", "none")
	}
	return args
}

func (s *server) start(t *testing.T, addr string) {
	t.Helper()
	s.cmd = exec.CommandContext(t.Context(), "hub", s.commandLine(addr)...)
	s.cmd.Env = append([]string{"GORACE=" + noRaceNap, "PATH=" + os.Getenv("PATH")}, s.env...)
	s.cmd.Stderr = t.Output()
	if s.log != nil {
		s.cmd.Stderr = s.log
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	lines := bufio.NewReader(out)
	for _, into := range []*string{&s.url, &s.answers} {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the hub said neither where it is nor who answers: %v", err)
		}
		*into = strings.TrimSpace(line)
	}
	s.url = strings.TrimPrefix(s.url, "Everdesk is running: ")
}

// kill sends SIGKILL and waits for the end of the process.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have exited
	_ = s.cmd.Wait()
}

// stop sends SIGINT, waits for the end of the process and returns its exit code.
func (s *server) stop(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // the exit code is returned
	return s.cmd.ProcessState.ExitCode()
}

// again restarts the hub with the same address and settings.
func (s *server) again(t *testing.T) {
	t.Helper()
	s.start(t, strings.TrimPrefix(s.url, "http://"))
}

// terminal is a running `hub attach`.
type terminal struct {
	stdin io.Writer
	lines chan string
	seen  []string
}

// attachTo runs `hub attach` on a session, with --plain unless there are arguments.
func attachTo(t *testing.T, s *server, session wire.SessionID, args ...string) *terminal {
	t.Helper()
	if len(args) == 0 {
		args = []string{"--plain"}
	}
	in, stdin := io.Pipe()
	out, stdout := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	x := &terminal{stdin: stdin, lines: make(chan string, 10_000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		err := dispatch(ctx, "attach", command.Call{
			Args: append([]string{string(session), "--server", s.url}, args...), Stdin: in, Stdout: stdout, Stderr: t.Output(), Local: localHub,
		})
		stdout.CloseWithError(err) // nil is the end of the output
	})
	wg.Go(func() {
		defer close(x.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			x.lines <- lines.Text()
		}
		if err := lines.Err(); err != nil {
			t.Logf("attach ended: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = stdin.Close() // ends the goroutine that reads it
		_ = out.Close()   // ends a write whose reader is gone
		wg.Wait()
		if t.Failed() {
			t.Logf("terminal saw:\n%s", strings.Join(x.seen, "\n"))
		}
	})
	return x
}

// say types one message, which may have several lines.
func (x *terminal) say(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(x.stdin, strings.Join(lines, "\\\n")+"\n"); err != nil {
		t.Fatal(err)
	}
}

// waitTimeout is the timeout of a wait. It only ends waits for output that never comes, and
// does not measure speed.
const waitTimeout = 2 * time.Minute

// nextLine returns the next line of the terminal.
func (x *terminal) nextLine(t *testing.T, want any) string {
	t.Helper()
	select {
	case line, ok := <-x.lines:
		if !ok {
			t.Fatalf("terminal ended before %q", want)
		}
		x.seen = append(x.seen, line)
		return line
	case <-time.After(waitTimeout):
		t.Fatalf("terminal never showed %q", want)
	}
	return ""
}

// until reads lines until each pattern has matched a line of its own, in this order, and returns
// the groups of the last one.
func (x *terminal) until(t *testing.T, patterns ...string) (groups []string) {
	t.Helper()
	for _, p := range patterns {
		want := regexp.MustCompile(p)
		for groups = nil; groups == nil; {
			groups = want.FindStringSubmatch(x.nextLine(t, p))
		}
	}
	return groups[1:]
}

// untilAll reads lines until each pattern has matched, in any order.
func (x *terminal) untilAll(t *testing.T, patterns ...string) {
	t.Helper()
	left := map[string]*regexp.Regexp{}
	for _, p := range patterns {
		left[p] = regexp.MustCompile(p)
	}
	for len(left) > 0 {
		line := x.nextLine(t, left)
		for p, want := range left {
			if want.MatchString(line) {
				delete(left, p)
				break
			}
		}
	}
}

// openTerminal starts a hub in the process of the test, creates a session and attaches a terminal.
func openTerminal(t *testing.T, m testProvider, args ...string) (*server, wire.SessionID, *terminal) {
	t.Helper()
	s := serveHere(t, m, append(args, "--files-dir", t.TempDir())...)
	id, x := openSession(t, s)
	return s, id, x
}

// openSession creates a session and attaches a terminal.
func openSession(t *testing.T, s *server) (wire.SessionID, *terminal) {
	t.Helper()
	id := createSession(t, s.url)
	x := attachTo(t, s, id)
	// Wait for the presence event, which comes a moment later and must not interrupt an
	// agent's text.
	x.until(t, "── session ses-", "1 here: local$")
	return id, x
}
