//go:build agents

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers/fakemodel"
)

// realProgram is an agent from npm, see `make test-agents`.
type realProgram struct {
	// variable has the path of the program.
	variable string
	// args select it, given the URL of the model.
	args func(url string) []string
	// shell is the directive that runs a command, with %s for the quoted command.
	shell string
}

var realPrograms = map[string]realProgram{
	"claude": {
		variable: "CLAUDE_BIN", shell: `/call Bash {"command":%s,"description":"a test"}`,
		args: func(url string) []string {
			return []string{"--anthropic-key", agentKey, "--anthropic-url", url, "--anthropic-model", "claude-sonnet-4-5"}
		},
	},
	"codex": {
		variable: "CODEX_BIN", shell: `/call exec_command {"cmd":%s}`,
		args: func(url string) []string {
			return []string{"--openai-key", agentKey, "--openai-url", url + "/v1", "--openai-model", "gpt-5.1", "--codex-sandbox", "workspace-write"}
		},
	},
}

// realHub is a hub whose agents are a real program.
type realHub struct {
	*server
	program realProgram
	name    string
	folder  string // of agents
	model   *fakemodel.Server
}

// serveReal starts a hub with a program and its model.
func serveReal(t *testing.T, name string) *realHub {
	t.Helper()
	h := &realHub{name: name, program: realPrograms[name], folder: t.TempDir(), model: fakemodel.New()}
	t.Cleanup(h.model.Close)
	url, err := h.model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(os.Getenv(h.program.variable), filepath.Join(bin, name)); err != nil {
		t.Fatal(err)
	}
	h.server = serveProcess(t, testProvider{
		args: append([]string{"--provider", name, "--agents", name, "--agents-folder", h.folder, "--files", "file:" + filepath.Join(h.folder, "files"), "--warm-providers", "0", "--lease", "2s"}, h.program.args(url)...),
		env:  []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()},
	})
	return h
}

// call returns the directive for a command.
func (h *realHub) call(command string) string {
	return strings.ReplaceAll(h.program.shell, "%s", strconv.Quote(command))
}

// processes returns the ids of the agents and of everything that they have started.
func (h *realHub) processes(t *testing.T) (all []int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range lists {
		env, err := os.ReadFile(at)
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(at))); err == nil && isRunning(pid) &&
			bytes.Contains(env, []byte("HOME="+filepath.Join(h.folder, h.name)+"\x00")) {
			all = append(all, pid)
		}
	}
	return all
}

// agents returns the processes that the hub itself has started.
func (h *realHub) agents(t *testing.T) (all []int) {
	t.Helper()
	for _, pid := range h.processes(t) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		if fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:]); string(fields[1]) == strconv.Itoa(h.cmd.Process.Pid) {
			all = append(all, pid)
		}
	}
	return all
}

// wait waits for a condition.
func wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(waitTimeout); !condition(); {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s: still not so", what)
		}
	}
}

// asked reports whether the model got a request with a text.
func (h *realHub) asked(text string) bool {
	for _, r := range h.model.Requests() {
		if bytes.Contains(r.Body, []byte(text)) {
			return true
		}
	}
	return false
}

// enterState brings a session into a state in which something is killed. The file ran.txt in the folder of the session
// gets a line when the command runs.
func (h *realHub) enterState(t *testing.T, state, ran string, x *terminal) {
	t.Helper()
	switch command := h.call("echo once >> ran.txt; sleep 600"); state {
	case "idle":
		x.say(t, `/say "quiet"`)
		x.until(t, `^main: quiet$`, `main: done in `)
	case "before the first text":
		x.say(t, "# no text yet", "/hang")
		wait(t, "the model is asked", func() bool { return h.asked("# no text yet") })
	case "streaming":
		x.say(t, `/say "so far\n"`, "/hang")
		x.until(t, `so far$`)
	case "asking":
		x.say(t, command)
		x.until(t, `\? May the agent do this\?`)
	case "running a command":
		x.say(t, command)
		x.until(t, `\? May the agent do this\?`)
		x.say(t, ":yes")
		wait(t, "the command runs", func() bool { _, err := os.Stat(ran); return err == nil })
	}
}

// checkRuns checks how often the command of a state ran.
func checkRuns(t *testing.T, state, ran string) {
	t.Helper()
	want := ""
	if state == "running a command" {
		want = "once\n"
	}
	raw, err := os.ReadFile(ran)
	if os.IsNotExist(err) {
		err = nil
	}
	if err != nil || string(raw) != want {
		t.Errorf("the command wrote %q (%v), want %q", raw, err, want)
	}
}

// eachRealState runs a test with each program in each state.
func eachRealState(t *testing.T, test func(t *testing.T, h *realHub, state string)) {
	t.Helper()
	for name := range realPrograms {
		for _, state := range []string{"idle", "before the first text", "streaming", "asking", "running a command"} {
			t.Run(name+"/"+state, func(t *testing.T) {
				t.Parallel()
				test(t, serveReal(t, name), state)
			})
		}
	}
}

// When a real agent is killed, its turn fails with the reason, nothing of it is left, and the next message goes on with
// the conversation.
func TestRealAgentKilled(t *testing.T) {
	t.Parallel()
	eachRealState(t, func(t *testing.T, h *realHub, state string) {
		t.Helper()
		id, x := openSession(t, h.server)
		ran := filepath.Join(h.folder, "files", string(id), "ran.txt")
		x.say(t, `/say "marmalade"`)
		x.until(t, `^main: marmalade$`, `main: done in `)
		h.enterState(t, state, ran, x)
		for _, pid := range h.agents(t) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, "no process is left", func() bool { return len(h.processes(t)) == 0 })
		if state != "idle" {
			x.until(t, `main: failed`)
		}
		x.say(t, "/recall")
		x.until(t, `marmalade`, `main: done in `)
		checkRuns(t, state, ran)
		h.stopReal(t)
	})
}

// When the hub is killed, no process of a real agent is left. The next hub goes on with the conversation and executes
// nothing again.
func TestRealAgentHubKilled(t *testing.T) {
	t.Parallel()
	eachRealState(t, func(t *testing.T, h *realHub, state string) {
		t.Helper()
		id, x := openSession(t, h.server)
		ran := filepath.Join(h.folder, "files", string(id), "ran.txt")
		x.say(t, `/say "marmalade"`)
		x.until(t, `^main: marmalade$`, `main: done in `)
		h.enterState(t, state, ran, x)
		h.kill()
		wait(t, "no process is left", func() bool { return len(h.processes(t)) == 0 })
		h.again(t)
		x.until(t, `replica \S+ has taken the session$`)
		if state != "idle" {
			x.say(t, ":stop")
			x.until(t, `main: (interrupted|failed|done)`)
		}
		x.say(t, "/recall")
		x.until(t, `marmalade`, `main: done in `)
		checkRuns(t, state, ran)
		h.stopReal(t)
	})
}

// stopReal stops the hub, which must leave no process.
func (h *realHub) stopReal(t *testing.T) {
	t.Helper()
	if code := h.stop(t); code != 0 {
		t.Errorf("the hub ended with code %d, want 0", code)
	}
	wait(t, "no process is left", func() bool { return len(h.processes(t)) == 0 })
}
