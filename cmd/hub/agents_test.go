package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/wire"
)

// The tests below are what somebody does by hand: a hub and terminals, each a
// process of its own, and what is typed at them. They wait for lines and for
// nothing else.

// mind is who answers, and how it is told what to do.
type mind struct {
	name string
	args []string
	env  []string
	// start is what the hub says of it.
	start string
	// fake says that it is a model on the other side of a real wire, which has
	// no directives for tools but calls.
	fake bool
}

// minds are the demo and every way to reach a model.
func minds(t *testing.T) []mind {
	t.Helper()
	model := fakemodel.New()
	model.Models = []string{"llama"}
	t.Cleanup(model.Close)
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return []mind{
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

// everyMind runs a test with each of them.
func everyMind(t *testing.T, test func(t *testing.T, m mind)) {
	t.Helper()
	for _, m := range minds(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			test(t, m)
		})
	}
}

// say is the directive for whole lines of text.
func (m mind) say(text string) string {
	if m.fake {
		return `/say "` + text + `\n"`
	}
	return `/say ` + text + `\n`
}

func (m mind) window(id, title, text string) string {
	if m.fake {
		return fmt.Sprintf(`/call window_create {"windowId":%q,"title":%q,"content":{"renderer":"markdown","content":%q}}`, id, title, text)
	}
	return fmt.Sprintf("/window %s %s | %s", id, title, text)
}

func (m mind) ask(text, a, b string) string {
	if m.fake {
		return fmt.Sprintf(`/call user_ask {"title":"A question","message":%q,"options":[%q,%q]}`, text, a, b)
	}
	return fmt.Sprintf("/ask %s | %s | %s", text, a, b)
}

func (m mind) task(directive string) string {
	if m.fake {
		return fmt.Sprintf(`/call task_run {"profile":"default","objective":%q}`, directive)
	}
	return "/task default " + directive
}

// server is a hub in a process of its own.
type server struct {
	url     string
	answers string // what it says of who answers
	dir     string
	cmd     *exec.Cmd
	args    []string
	env     []string
}

// serveProcess starts a hub.
func serveProcess(t *testing.T, m mind, args ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), args: append(m.args, args...), env: m.env}
	s.start(t, "127.0.0.1:0")
	return s
}

func (s *server) start(t *testing.T, addr string) {
	t.Helper()
	args := append([]string{"serve", "--addr", addr, "--auth", "none", "--store", "file:" + s.dir, "--log-level", "warn", "--rate-limits", "off"}, s.args...)
	s.cmd = exec.CommandContext(t.Context(), "hub", args...)
	s.cmd.Env = append([]string{"GORACE=" + noRaceNap, "PATH=" + os.Getenv("PATH")}, s.env...)
	s.cmd.Stderr = t.Output()
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

// kill is kill -9.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may be dead
	_ = s.cmd.Wait()
}

// again starts it where it was, on what it left.
func (s *server) again(t *testing.T) {
	t.Helper()
	s.start(t, strings.TrimPrefix(s.url, "http://"))
}

// terminal is `hub attach` in a process of its own.
type terminal struct {
	stdin io.Writer
	lines chan string
	seen  []string
}

// attachProcess opens a terminal that shows lines for people, or with --json
// those for programs.
func attachProcess(t *testing.T, s *server, session wire.SessionID, args ...string) *terminal {
	t.Helper()
	if len(args) == 0 {
		args = []string{"--plain"}
	}
	cmd := exec.CommandContext(t.Context(), "hub", append([]string{"attach", string(session), "--server", s.url}, args...)...)
	cmd.Env = []string{"GORACE=" + noRaceNap, "TZ=UTC"}
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{stdin: stdin, lines: make(chan string, 10_000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(x.lines)
		in := bufio.NewScanner(out)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			x.lines <- in.Text()
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		wg.Wait()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("terminal saw:\n%s", strings.Join(x.seen, "\n"))
		}
	})
	return x
}

// say types a message of so many lines.
func (x *terminal) say(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(x.stdin, strings.Join(lines, "\\\n")+"\n"); err != nil {
		t.Fatal(err)
	}
}

// patienceOfTests is how long a line may take. It is for what would never come, and
// has nothing to do with how fast anything is.
const patienceOfTests = 15 * time.Second

// nextLine is the next line that the terminal shows.
func (x *terminal) nextLine(t *testing.T, want any) string {
	t.Helper()
	select {
	case line, ok := <-x.lines:
		if !ok {
			t.Fatalf("terminal ended before %q", want)
		}
		x.seen = append(x.seen, line)
		return line
	case <-time.After(patienceOfTests):
		t.Fatalf("terminal never showed %q", want)
	}
	return ""
}

// until reads lines until each of the patterns had its own, in this order, and
// returns what the last one's groups are.
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

// untilAll reads lines until each of the patterns was seen, in any order.
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

// openTerminal starts a hub with a session and a terminal at it.
func openTerminal(t *testing.T, m mind, args ...string) (*server, wire.SessionID, *terminal) {
	t.Helper()
	s := serveProcess(t, m, args...)
	id := createSession(t, s.url)
	x := attachProcess(t, s, id)
	x.until(t, "── session ses-")
	return s, id, x
}

func TestAgentsDirectAndSteered(t *testing.T) {
	t.Parallel()
	everyMind(t, func(t *testing.T, m mind) {
		s, _, x := openTerminal(t, m)
		if s.answers != m.start {
			t.Errorf("the hub says %q, want %q", s.answers, m.start)
		}
		x.say(t, "/think let me see", m.say("hello"))
		x.until(t, `#(\w{4}) → main \(direct\)$`, `^main thinks: let me see$`, `^main: hello$`, `main: done in .* tokens in.*, \d+ out`)
		x.say(t, m.say("begun"), "/hang")
		x.until(t, `→ main \(direct\)$`, `^main: begun$`)
		x.say(t, m.say("changed"))
		x.until(t, `user #\w{4}: /say `, `→ main \(steered\)$`, `^(?:main: |    )changed$`, `main: done in `)
	})
}

func TestAgentsEphemeral(t *testing.T) {
	t.Parallel()
	m := minds(t)[0]
	_, _, x := openTerminal(t, m)
	x.say(t, "/nosteer", m.say("begun"), "/hang")
	x.until(t, `^main: begun$`)
	x.say(t, m.say("beside"))
	id := x.until(t, `#(\w{4}) → ephemeral-\w{4} \(ephemeral\)$`)[0]
	x.until(t, `^ephemeral-`+id+`: beside$`, `ephemeral-`+id+`: done in `)
	x.say(t, ":agents")
	x.until(t, `^main running on #`)
	x.say(t, ":stop main")
	x.until(t, `main: interrupted after `)
}

// With one agent for everybody, what is said to a turn that takes nothing more
// waits, and what there is no room for is refused.
func TestAgentsQueuedAndRejected(t *testing.T) {
	t.Parallel()
	m := minds(t)[0]
	m.env = append(m.env, "MAX_AGENTS=1")
	_, _, x := openTerminal(t, m)
	x.say(t, "/nosteer", m.say("begun"), "/hang")
	x.until(t, `^main: begun$`)
	var ids []string
	for n := 1; n <= 10; n++ {
		x.say(t, m.say(fmt.Sprintf("number %d", n)))
		ids = append(ids, x.until(t, fmt.Sprintf(`#(\w{4}) waits, number %d for monitor-0$`, n))...)
	}
	x.say(t, m.say("too much"))
	x.until(t, `#\w{4} refused: 10 messages wait already \(3004\)$`)
	x.say(t, ":unqueue "+ids[2])
	x.until(t, `#`+ids[2]+` refused: taken out of the queue`)
	x.say(t, ":stop")
	x.until(t, `main: interrupted after `)
	for n := 1; n <= 10; n++ {
		if n != 3 {
			x.until(t, `#`+ids[n-1]+` → main \(direct\)$`, fmt.Sprintf(`^main: number %d$`, n), `main: done in `)
		}
	}
}

// A monitor whose turn waits for a free agent keeps what comes meanwhile.
func TestAgentsWaitForOneAnother(t *testing.T) {
	t.Parallel()
	everyMind(t, func(t *testing.T, m mind) {
		_, _, x := openTerminal(t, m, "--max-agents", "1")
		x.say(t, m.say("begun"), "/hang")
		x.until(t, `^main: begun$`)
		x.say(t, ":monitor monitor-1")
		x.say(t, m.say("first"))
		x.until(t, `#\w{4} → main@monitor-1 \(direct\)$`)
		for n := 1; n <= 10; n++ {
			x.say(t, m.say(fmt.Sprintf("number %d", n)))
			x.until(t, fmt.Sprintf(`#\w{4} waits, number %d for monitor-1$`, n))
		}
		x.say(t, m.say("too much"))
		x.until(t, `#\w{4} refused: 10 messages wait already \(3004\)$`)
		x.say(t, ":stop main")
		x.until(t, `main: interrupted after `, `^main@monitor-1: first$`)
		for n := 1; n <= 10; n++ {
			x.until(t, fmt.Sprintf(`^main@monitor-1: number %d$`, n), `main@monitor-1: done in `)
		}
	})
}

func TestAgentsOfWindows(t *testing.T) {
	t.Parallel()
	everyMind(t, func(t *testing.T, m mind) {
		_, _, x := openTerminal(t, m)
		x.say(t, m.window("notes", "Notes", "# Hi"))
		x.until(t, `main: uses window:create `, `\+ window "Notes" \(notes\) on monitor-0: # Hi$`, `main: window:create is done`, `main: done in `)
		x.say(t, ":window notes "+m.say("I am here"))
		x.until(t, `window "Notes" \(notes\): agent window-notes assigned$`, `→ window-notes \(direct\)$`,
			`window "Notes" \(notes\): agent window-notes active$`, `^window-notes: I am here$`, `window-notes: done in `)
		x.say(t, ":press notes save one")
		x.say(t, ":press notes save two")
		x.untilAll(t, `→ window-notes/one \(direct\)$`, `→ window-notes/two \(direct\)$`, `window-notes/one: done in `, `window-notes/two: done in `)
	})
}

// Two task agents ask something each, and both questions are open at once: they
// run side by side. Somebody at another terminal answers.
func TestAgentsOfTasks(t *testing.T) {
	t.Parallel()
	everyMind(t, func(t *testing.T, m mind) {
		s, id, x := openTerminal(t, m)
		other := attachProcess(t, s, id)
		other.until(t, "── session ses-")
		x.say(t, m.task(m.ask("First?", "tea", "coffee")), m.task(m.ask("Second?", "red", "blue")))
		questions := map[string]string{}
		for range 2 {
			g := other.until(t, `\? A question: (First|Second)\?  \[:answer …\] #(\w{4})$`)
			questions[g[0]] = g[1]
		}
		other.say(t, ":answer #"+questions["Second"]+" blue")
		other.until(t, `question #`+questions["Second"]+` answered$`, `task-\w{4}-\d: user:ask is done: \{"selected":\["blue"\]\}`)
		x.until(t, `question #`+questions["Second"]+` answered$`)
		other.say(t, ":answer tea")
		x.untilAll(t, `question #`+questions["First"]+` answered$`, `task-\w{4}-1: done in `, `task-\w{4}-2: done in `, `main: task:run is done: .*"status":"completed"`)
		x.until(t, `main: done in `)
	})
}

// A question and an approval are answered from a second terminal, and whoever
// asked goes on.
func TestAgentsAreAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	const hook = `/call system_set_config {"section":"hooks","event":"launch","label":"Greet","action":{"type":"os_action","payload":{"type":"toast.show","id":"t","message":"Hi"}}}`
	everyMind(t, func(t *testing.T, m mind) {
		s, id, x := openTerminal(t, m)
		other := attachProcess(t, s, id)
		other.until(t, "── session ses-")
		x.say(t, m.ask("Which?", "tea", "coffee"))
		x.until(t, `\? A question: Which\?  \[:answer …\] #\w{4}$`)
		other.until(t, `\? A question: Which\?`, `    tea$`, `    coffee$`)
		other.say(t, ":answer milk")
		other.until(t, `"milk" is not one of the choices`)
		other.say(t, ":answer coffee")
		x.until(t, `question #\w{4} answered$`, `main: user:ask is done: \{"selected":\["coffee"\]\}`, `main: done in `)

		x.say(t, hook)
		x.until(t, `\? Add a hook\?: .*  \[Add with :yes \[always\], .* with :no \[always\]\] #(\w{4})$`)
		other.until(t, `\? Add a hook\?`)
		other.say(t, ":yes")
		x.until(t, `question #\w{4} answered with yes$`, `main: system:set_config is done: Added hook-1`, `main: done in `)
		x.say(t, hook)
		other.until(t, `\? Add a hook\?`)
		other.say(t, ":no")
		x.until(t, `question #\w{4} answered with no$`, `main: system:set_config did not work`, `main: done in `)
	})
}

// A background monitor says and does only so much in a minute, and everybody sees
// when it is enough.
func TestAgentsOverBudget(t *testing.T) {
	t.Parallel()
	everyMind(t, func(t *testing.T, m mind) {
		_, _, x := openTerminal(t, m, "--monitor-max-output-per-min", "200", "--monitor-max-actions-per-min", "2")
		x.say(t, ":monitor monitor-1")
		x.say(t, m.window("a", "A", "1"), m.window("b", "B", "2"), m.window("c", "C", "3"))
		x.until(t, `\+ window "B" \(b\) on monitor-1`, `monitor-1: over its budget.* 2/2 actions, .* no more actions until \d\d:\d\d:\d\d$`,
			`main@monitor-1: window:create did not work: .*budget`, `main@monitor-1: interrupted after .*: monitor-1 is over its budget of actions per minute$`)
		x.say(t, ":monitor monitor-2")
		x.say(t, "/stream 1000 1000")
		x.until(t, `monitor-2: over its budget.* 200/200 bytes; .*no more output until \d\d:\d\d:\d\d$`,
			`main@monitor-2: interrupted after .*: monitor-2 is over its budget of output per minute$`)
		x.say(t, "one more")
		x.until(t, `#\w{4} waits, number 1 for monitor-2$`)
		x.say(t, ":monitor monitor-0") // has no budget
		x.say(t, "/stream 300 5000")
		x.until(t, `main: done in `)
	})
}
