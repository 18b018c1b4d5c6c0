package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// A script runs in a notebook of a session, with the Jupyter server that the hub starts, in the folder of the
// session's files. The server and its kernels end with the hub, however that ends.
func TestScriptsRunInATerminal(t *testing.T) {
	t.Parallel()
	files, dir := t.TempDir(), t.TempDir()
	hub := serveProcess(t, mind{args: []string{"--provider", "demo"}}, "--files-dir", files, "--jupyter", "auto")
	talk := startAttach(t, "--server", hub.url, "--json", "--new", "Mine")
	var state struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(talk.until(t, `"type":"session_state"`)), &state); err != nil {
		t.Fatal(err)
	}
	good, bad := filepath.Join(dir, "good.py"), filepath.Join(dir, "bad.py")
	for name, text := range map[string]string{
		good: "x = 20\n# %%\nprint(x + 1)\nopen('made.txt', 'w').write('by a cell')\n# %%\nx * 2\n",
		bad:  "1/0\n# %%\nprint('never')\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := call(t, command.ExitOK, "run", "--server", hub.url, state.Session, good)
	if out != "21\n9\n40" {
		t.Errorf("outputs of the script: got %q, want 21, 9 and 40", out)
	}
	if text, err := os.ReadFile(filepath.Join(files, state.Session, "made.txt")); err != nil || string(text) != "by a cell" {
		t.Errorf("the file of the cell: got %q and %v, want it among the files of the session", text, err)
	}
	_, problems := call(t, command.ExitFailure, "run", "--server", hub.url, state.Session, bad)
	if !strings.Contains(problems, "division by zero") || !strings.Contains(problems, "cell-2: aborted") {
		t.Errorf("a script that fails: got %q, want the error and what was not run", problems)
	}
	file, again := filepath.Join(dir, "nb.ipynb"), filepath.Join(dir, "pids.py")
	for name, text := range map[string]string{
		file:  `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"code","id":"a1","source":["print(6 * 7)"],"metadata":{},"outputs":[],"execution_count":null}]}`,
		again: "import os\nprint(os.getpid(), os.getppid())\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second run replaces the window of the first
		if out, _ := call(t, command.ExitOK, "run", "--server", hub.url, state.Session, file); out != "42" {
			t.Errorf("output of the notebook: got %q, want 42", out)
		}
	}
	pids, _ := call(t, command.ExitOK, "run", "--server", hub.url, "--window", "pids", state.Session, again)
	if len(strings.Fields(pids)) != 2 {
		t.Fatalf("the processes of the kernel and its server: got %q, want two numbers", pids)
	}
	if err := hub.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(pids) {
		for end := time.Now().Add(time.Minute); !hasEnded(pid); <-time.After(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("process %s of %q runs although the hub was killed", pid, pids)
			}
		}
	}
}

// hasEnded reports whether a process has ended, although its parent may not have waited for it.
func hasEnded(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

// Without a Jupyter server running says how to get one.
func TestScriptsNeedAJupyterServer(t *testing.T) {
	t.Parallel()
	hub := serveProcess(t, mind{args: []string{"--provider", "demo"}})
	talk := startAttach(t, "--server", hub.url, "--json", "--new", "Mine")
	var state struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(talk.until(t, `"type":"session_state"`)), &state); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.py")
	if err := os.WriteFile(name, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, problems := call(t, command.ExitFailure, "run", "--server", hub.url, state.Session, name); !strings.Contains(problems, "--jupyter auto") {
		t.Errorf("got %q, want what the operator has to do", problems)
	}
}
