package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// agentKey is a key that must be nowhere but in the environment of the agent.
const agentKey = "sk-canary-91c3e7"

// programAgent returns a provider whose agents are processes: the stand-in for agents that speak the
// Agent Client Protocol. They store their conversations in home.
func programAgent(home string) testProvider {
	return testProvider{
		name: "mine",
		args: []string{
			"--provider", "mine", "--agents", "acp", "--agents-folder", filepath.Join(home, "agents"), "--warm-providers", "0",
			"--acp-commands", "mine=AGENT_KEY=$MY_KEY STAND_IN_HOME=" + home + " GORACE=atexit_sleep_ms=0 acp-agent acp",
		},
		env: []string{"MY_KEY=" + agentKey, "HOME=" + home},
	}
}

// agentProgram is a kind of agent whose agents are processes.
type agentProgram struct {
	// shell is the name of its tool for commands.
	shell string
	// provider returns a provider whose agents store their conversations in stored(home).
	provider func(home string) testProvider
	stored   func(home string) string
	// works returns where its agents work.
	works func(home string, id wire.SessionID) string
	// private says that people do not see where its agents work.
	private bool
}

// agentPrograms returns the stand-ins for agents that are programs.
func agentPrograms() map[string]agentProgram {
	named := func(name, shell string, args ...string) agentProgram {
		return agentProgram{
			shell: shell,
			provider: func(home string) testProvider {
				folder := filepath.Join(home, "agents")
				return testProvider{name: name, args: append([]string{"--provider", name, "--agents", name, "--agents-folder", folder, "--files", "file:" + filepath.Join(home, "files"), "--warm-providers", "0"}, args...)}
			},
			stored: func(home string) string { return filepath.Join(home, "agents", name) },
			works:  func(home string, id wire.SessionID) string { return filepath.Join(home, "files", string(id)) },
		}
	}
	return map[string]agentProgram{
		"acp": {
			private: true, shell: "shell", provider: programAgent, stored: func(home string) string { return home },
			works: func(home string, id wire.SessionID) string { return sessionFolder(filepath.Join(home, "agents"), id) },
		},
		"claude": named("claude", "Bash"),
		"codex":  named("codex", "shell", "--codex-sandbox", "workspace-write"),
	}
}

// everyProgram runs a test with each kind of agent that is a program.
func everyProgram(t *testing.T, test func(t *testing.T, p agentProgram, home string)) {
	t.Helper()
	for name, p := range agentPrograms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p, t.TempDir())
		})
	}
}

// agentPIDs returns the ids of the agents of a home that run.
func agentPIDs(t *testing.T, home string) (all []int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(home, "pid-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, id, _ := strings.Cut(filepath.Base(name), "-")
		if pid, err := strconv.Atoi(id); err == nil && isRunning(pid) {
			all = append(all, pid)
		}
	}
	return all
}

// isRunning reports whether a process runs; one that has ended and was not waited for does not. Of a
// killed process the first thread may have ended while others still keep its pipes open.
func isRunning(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	return err == nil && len(fields) > 0 && (fields[0][0] != 'Z' || len(threads) > 1)
}

// untilNoAgents waits until no agent of a home runs.
func untilNoAgents(t *testing.T, home string) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		left := agentPIDs(t, home)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("processes %v are left, want none", left)
		}
	}
}

// The command of an agent is shown as an approval card at two terminals, and answered at the second
// one. The agent is steered and interrupted, and its process serves all turns.
func TestAgentProcessTwoTabs(t *testing.T) {
	t.Parallel()
	everyProgram(t, testTwoTabs)
}

func testTwoTabs(t *testing.T, p agentProgram, home string) {
	t.Helper()
	s := serveProcess(t, p.provider(home))
	id, x := openSession(t, s)
	other := attachTo(t, s, id)
	other.until(t, "── session ses-")

	x.say(t, "/shell echo made > here.txt; echo it is $((40+2))")
	x.until(t, `\? May the agent do this\?`)
	other.until(t, `\? May the agent do this\?: `+p.shell+` .*"command":"echo made > here.txt; echo it is`)
	other.say(t, ":yes")
	x.until(t, `question #\w{4} answered with yes$`, `it is 42`, `main: done in `)
	if raw, err := os.ReadFile(filepath.Join(p.works(home, id), "here.txt")); err != nil || string(raw) != "made\n" {
		t.Errorf("the command wrote %q (%v), want it in the folder of the session", raw, err)
	}
	x.say(t, "/shell touch denied.txt")
	other.until(t, `\? May the agent do this\?: .*touch denied.txt`)
	other.say(t, ":no")
	x.until(t, `answered with no$`, `main: done in `)
	if _, err := os.Stat(filepath.Join(p.works(home, id), "denied.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a denied command ran: %v", err)
	}

	x.say(t, `/say "begun\n"`, "/hang")
	x.until(t, `^main: begun$`)
	other.say(t, `/say "changed"`)
	x.until(t, `→ main \(steered\)$`, `changed$`, `main: done in `)
	x.say(t, `/say "again\n"`, "/hang")
	x.until(t, `^main: again$`)
	other.say(t, ":stop")
	x.until(t, `main: interrupted after `)
	x.say(t, "/recall")
	x.until(t, `begun`, `main: done in `)
	if names, err := filepath.Glob(filepath.Join(p.stored(home), "pid-*")); err != nil || len(names) != 1 {
		t.Errorf("%d processes were started (%v), want one for all turns", len(names), err)
	}

	folder := p.works(home, id)
	deleteSession(t, s, id)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of a deleted session: %v, want it to be gone", err)
	}
	untilNoAgents(t, p.stored(home))
	if code := s.stop(t); code != 0 {
		t.Errorf("the hub ended with code %d, want 0", code)
	}
}

// agentStates are the states in which hubs and agents are killed: what to type, and what then is on
// the terminal.
var agentStates = map[string]struct{ say, sees string }{
	"streaming": {"/say \"so far\\n\"\n/hang", `so far$`},
	"calling":   {`/call user_ask {"title":"A question","message":"Which?","options":["tea","coffee"]}`, `\? A question: Which\?`},
	"asking":    {"/shell true", `\? May the agent do this\?`},
	"idle":      {`/say "quiet"`, `main: done in `},
}

// A killed hub leaves no process of an agent, and the next hub goes on with the conversation.
func TestAgentProcessHubKilled(t *testing.T) {
	t.Parallel()
	everyProgram(t, func(t *testing.T, p agentProgram, home string) {
		t.Helper()
		for name, state := range agentStates {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				testHubKilled(t, p, filepath.Join(home, name), name, state.say, state.sees)
			})
		}
	})
}

func testHubKilled(t *testing.T, p agentProgram, home, name, say, sees string) {
	t.Helper()
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	s := serveProcess(t, p.provider(home), "--lease", "2s")
	_, x := openSession(t, s)
	x.say(t, `/say "marmalade"`)
	x.until(t, `^main: marmalade$`, `main: done in `)
	x.say(t, strings.Split(say, "\n")...)
	x.until(t, sees)
	s.kill()
	untilNoAgents(t, p.stored(home))
	s.again(t)
	x.until(t, `replica \S+ has taken the session$`)
	if name != "idle" {
		x.say(t, ":stop")
		x.until(t, `main: (interrupted|failed|done)`)
	}
	x.say(t, "/recall")
	x.until(t, `marmalade`, `main: done in `)
	if code := s.stop(t); code != 0 {
		t.Errorf("the hub ended with code %d, want 0", code)
	}
	untilNoAgents(t, p.stored(home))
}

// A session whose hub was killed goes on at another one that has no files of the agent: the agent gets the
// conversation as a transcript.
func TestAgentProcessTakenOver(t *testing.T) {
	t.Parallel()
	everyProgram(t, func(t *testing.T, p agentProgram, home string) {
		t.Helper()
		store := []string{"--store", redistest.Standalone(t).URL(), "--lease", "2s"}
		hub := func(name string) (*server, string) {
			own := filepath.Join(home, name)
			if err := os.Mkdir(own, 0o700); err != nil {
				t.Fatal(err)
			}
			return serveProcess(t, p.provider(own), store...), p.stored(own)
		}
		first, files := hub("first")
		second, others := hub("second")
		id, x := openSession(t, first)
		x.say(t, `/say "marmalade"`)
		x.until(t, `^main: marmalade$`, `main: done in `)
		first.kill()
		untilNoAgents(t, files)
		y := attachTo(t, second, id)
		y.until(t, "── session ses-")
		y.say(t, "/recall")
		y.until(t, `marmalade`, `main: done in `)
		if pids := agentPIDs(t, others); len(pids) != 1 {
			t.Errorf("%d agents run at the second hub, want one", len(pids))
		}
		if code := second.stop(t); code != 0 {
			t.Errorf("the hub ended with code %d, want 0", code)
		}
		untilNoAgents(t, others)
	})
}

// When the agent is killed, the turn ends with the reason, and the next one goes on with the
// conversation.
func TestAgentProcessKilled(t *testing.T) {
	t.Parallel()
	everyProgram(t, testAgentKilled)
}

func testAgentKilled(t *testing.T, p agentProgram, home string) {
	t.Helper()
	s := serveProcess(t, p.provider(home))
	for name, state := range agentStates {
		_, x := openSession(t, s)
		x.say(t, `/say "marmalade"`)
		x.until(t, `^main: marmalade$`, `main: done in `)
		x.say(t, strings.Split(state.say, "\n")...)
		x.until(t, state.sees)
		for _, pid := range agentPIDs(t, p.stored(home)) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		untilNoAgents(t, p.stored(home))
		if name != "idle" {
			x.until(t, `main: failed`)
		}
		x.say(t, "/recall")
		x.until(t, `marmalade`, `main: done in `)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("the hub ended with code %d, want 0", code)
	}
	untilNoAgents(t, p.stored(home))
}

// After many sessions with a process each, the hub has as many descriptors as before, and no process
// is left. The key is in no arguments, in no file, and in the environment of agents and the hub only.
func TestAgentProcessLeavesNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	store := t.TempDir()
	s := serveProcess(t, programAgent(home), "--store", "file:"+store)
	once := func() {
		id, x := openSession(t, s)
		x.say(t, `/say "hello"`)
		x.until(t, `^main: hello$`, `main: done in `)
		lookForKey(t, s.cmd.Process.Pid, agentPIDs(t, home))
		deleteSession(t, s, id)
		untilNoAgents(t, home)
	}
	once()
	before := descriptors(t, s.cmd.Process.Pid)
	for range 30 {
		once()
	}
	timeout := time.After(30 * time.Second)
	for after := descriptors(t, s.cmd.Process.Pid); after > before; after = descriptors(t, s.cmd.Process.Pid) {
		select {
		case <-time.After(10 * time.Millisecond): // connections of terminals are closed a little later
		case <-timeout:
			t.Fatalf("the hub has %d descriptors after 30 sessions, want at most %d", after, before)
		}
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("the hub ended with code %d, want 0", code)
	}
	for _, root := range []string{home, store} {
		err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(at)
			if bytes.Contains(raw, []byte(agentKey)) {
				t.Errorf("the key is in the file %s", at)
			}
			return err
		})
		if err != nil {
			t.Errorf("look through %s: %v", root, err)
		}
	}
}

// lookForKey looks for the key in the arguments of all processes, and in the environments of all but
// the hub and the agents.
func lookForKey(t *testing.T, hub int, agents []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		t.Fatalf("there are no processes: %v", err)
	}
	for _, at := range all {
		pid, _ := strconv.Atoi(filepath.Base(at))
		for file, allowed := range map[string]bool{"cmdline": false, "environ": pid == hub || slices.Contains(agents, pid)} {
			raw, err := os.ReadFile(filepath.Join(at, file))
			if err == nil && !allowed && bytes.Contains(raw, []byte(agentKey)) && !otherTest(pid) {
				t.Errorf("the key is in %s of process %d", file, pid)
			}
		}
	}
}

// otherTest reports whether a process belongs to a test that runs at the same time: those have the
// same key.
func otherTest(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	name := strings.TrimSpace(string(raw))
	return err != nil || name == "hub" || name == "acp-agent" || name == "claude" || name == "codex"
}

// descriptors returns the number of open descriptors of a process.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// deleteSession deletes a session.
func deleteSession(t *testing.T, s *server, id wire.SessionID) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url+"/api/sessions/"+string(id), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("delete a session: got %d, want %d", res.StatusCode, http.StatusNoContent)
	}
}
