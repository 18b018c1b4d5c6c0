package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/wire"
)

// A script runs in a notebook of a session, with the Jupyter server that the hub starts, in the folder of the
// session's files. The server and its kernels end when the hub stops.
func TestScriptsRunInATerminal(t *testing.T) {
	t.Parallel()
	files, dir := t.TempDir(), t.TempDir()
	hub := serveProcess(t, testProvider{args: []string{"--provider", "demo"}}, "--files-dir", files, "--jupyter", "auto")
	attached := startAttach(t, "--server", hub.url, "--json", "--new", "Mine")
	var state struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(attached.until(t, `"type":"session_state"`)), &state); err != nil {
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

	// What a terminal does not get is said.
	much := filepath.Join(dir, "much.py")
	if err := os.WriteFile(much, []byte("print('x' * 1_000_000)\n# %%\nfrom IPython.display import display\n"+
		"display({'image/png': 'iVBORw0ggg=='}, raw=True)\nd = display('before', display_id=True)\nd.update('after')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, notes := call(t, command.ExitOK, "run", "--server", hub.url, state.Session, much)
	if n := strings.Count(printed, "x"); n == 0 || !strings.Contains(notes, fmt.Sprintf("cell cell-1: %d bytes of output were left out", 1_000_001-n)) {
		t.Errorf("a script that prints 1 MB: got %d bytes and %q, want the number of those that are missing", n, notes)
	}
	if !strings.HasSuffix(printed, "'after'") || strings.Count(notes, "left out") != 1 || !strings.Contains(notes, "image/png") {
		t.Errorf("a script that displays a picture: got %.100q and %q, want the updated text, and that there is a picture", printed[max(len(printed)-100, 0):], notes)
	}
	// Code of a terminal, which also interrupts it.
	x := attachTo(t, hub, wire.SessionID(state.Session))
	x.say(t, ":run print('be' + 'gun', flush=True)", "while True: pass")
	x.until(t, "console │ begun")
	x.say(t, ":interrupt")
	x.until(t, "console │ KeyboardInterrupt")

	// A script that asks.
	asking := filepath.Join(dir, "asking.py")
	if err := os.WriteFile(asking, []byte("input('who? ')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		var stdout, stderr strings.Builder
		run(t.Context(), []string{"run", "--server", hub.url, state.Session, asking}, nil, &stdout, &stderr)
		said <- stderr.String()
	}()
	x.until(t, "who?")
	x.say(t, ":interrupt")
	if text := <-said; !strings.Contains(text, "waits for an answer there: who?") || !strings.Contains(text, "KeyboardInterrupt") {
		t.Errorf("a script that asks and is interrupted: got %q, want the question and the interruption", text)
	}

	hub.stop(t)
	waitEnded(t, pids)
}

// The Jupyter server that a hub starts goes on when the hub is killed while a cell prints. The next hub has every line
// once, and the cell ends as if nothing had happened. The server ends with the hub that stops.
func TestCellsGoOnWhenASupervisedHubIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := superviseProcess(t, testProvider{args: []string{"--provider", "demo"}}, "--files-dir", dir, "--jupyter", "auto")
	session := createSession(t, s.url)
	x := attachTo(t, s, session, "--json")
	x.until(t, `"type":"session_state"`)
	goOn := filepath.Join(dir, "go-on")
	runCode(t, x, "r-1", printingCode(goOn))
	x.until(t, `line 10\\n`)
	status, wait := crash(t, s.url)
	for status == http.StatusTooManyRequests {
		<-time.After(wait + 10*time.Millisecond)
		status, wait = crash(t, s.url)
	}
	if status != http.StatusNoContent {
		t.Fatalf("the crash is answered with %d, want %d", status, http.StatusNoContent)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil { // the rest is printed with or without a hub
		t.Fatal(err)
	}
	x.until(t, "OWNER_CHANGED")
	if state := x.until(t, `CELL_EXECUTED.*"state":"(ok|error|aborted|unknown)"`)[0]; state != "ok" {
		t.Fatalf("the cell ended as %s, want ok", state)
	}
	pids, lines, _ := strings.Cut(printedBy(t, s.url, session), "\n")
	if want := linesTo(200); lines != want {
		t.Errorf("the lines of the cell: got %q, want 0 to 199 once", lines)
	}
	for pid := range strings.FieldsSeq(pids) {
		if hasEnded(pid) {
			t.Errorf("process %s of %q has ended, want that the kernel and its server go on", pid, pids)
		}
	}
	s.stop(t)
	waitEnded(t, pids)
}

// A file that code writes appears in all tabs when its cell ends. The server of --jupyter auto ends with a hub that is
// stopped: the next hub shows that the kernel is gone, starts no server for that, and says so again when a cell runs.
func TestNotebookAfterTheHubWasStopped(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, testProvider{args: []string{"--provider", "demo"}}, "--files-dir", t.TempDir(), "--agents-folder", t.TempDir(), "--jupyter", "auto")
	session := createSession(t, s.url)
	x := attachTo(t, s, session, "--json")
	x.until(t, `"type":"session_state"`)
	const plot = "import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot as p; p.plot([1, 2]); p.savefig('plot.png'); x = 1"
	x.say(t, `{"type":"RUN_CELLS","data":{"messageId":"r-1","windowId":"console","code":"`+plot+`"}}`)
	x.until(t, `FILES_CHANGED.*"path":"plot.png"`)
	s.stop(t)
	s.start(t, "127.0.0.1:0")
	x = attachTo(t, s, session, "--json")
	x.until(t, `"state":"stopped"`) // in the state that the tab gets first, or in an event after it
	x.say(t, `{"type":"RUN_CELLS","data":{"messageId":"r-2","windowId":"console","code":"print('x' in globals())"}}`)
	x.until(t, `CELL_EXECUTED.*variables of earlier cells are gone`)
	s.stop(t)
}

// waitEnded waits until processes have ended, which end because of something else that has.
func waitEnded(t *testing.T, pids string) {
	t.Helper()
	for pid := range strings.FieldsSeq(pids) {
		for end := time.Now().Add(5 * time.Minute); !hasEnded(pid); <-time.After(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("process %s of %q runs, want that it has ended", pid, pids)
			}
		}
	}
}

// printingCode returns Python that prints its process and that of its server, and then 200 lines. After half of them it
// waits for a file.
func printingCode(file string) string {
	return "import os, time\nprint(os.getpid(), os.getppid())\nfor i in range(200):\n    print('line', i, flush=True)\n    while i == 100 and not os.path.exists(" + strconv.Quote(file) + "): time.sleep(0.01)\n"
}

// runCode runs code in the console of the session of a terminal, which prints JSON.
func runCode(t *testing.T, x *terminal, id, code string) {
	t.Helper()
	text, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	x.say(t, `{"type":"RUN_CELLS","data":{"messageId":"`+id+`","windowId":"console","code":`+string(text)+`}}`)
}

// printedBy returns what the first cell of the console of a session has printed.
func printedBy(t *testing.T, url string, session wire.SessionID) string {
	t.Helper()
	var file struct {
		Cells []struct {
			Outputs []struct {
				Text string `json:"text"`
			} `json:"outputs"`
		} `json:"cells"`
	}
	if _, text := getPage(t, url+"/api/sessions/"+string(session)+"/notebooks/console"); json.Unmarshal([]byte(text), &file) != nil || len(file.Cells) == 0 {
		t.Fatalf("the notebook: got %.300q, want a file with a cell", text)
	}
	var b strings.Builder
	for _, o := range file.Cells[0].Outputs {
		b.WriteString(o.Text)
	}
	return b.String()
}

// linesTo returns the lines 0 to n-1.
func linesTo(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
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

// A hub runs code on a server elsewhere, with the token of its settings. The server goes on when the hub stops.
func TestScriptsRunOnAServerElsewhere(t *testing.T) {
	t.Parallel()
	jupyter, err := kernels.UseServer(t.Context(), kernels.ServerConfig{AloneFor: time.Minute, Dir: t.TempDir(), Root: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(jupyter.Stop)
	name := filepath.Join(t.TempDir(), "a.py")
	if err := os.WriteFile(name, []byte("print(6 * 7)"), 0o600); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{jupyter.Token: command.ExitOK, "of-another-user": command.ExitFailure} {
		hub := serveProcess(t, testProvider{args: []string{"--provider", "demo"}, env: []string{"HUB_JUPYTER_TOKEN=" + token}}, "--jupyter-url", jupyter.URL)
		out, problems := call(t, want, "run", "--server", hub.url, string(createSession(t, hub.url)), name)
		if want == command.ExitOK && out != "42" || want != command.ExitOK && !strings.Contains(problems, "refuses the token") {
			t.Errorf("the token %.5s…: got %q and %q, want 42, or that the token is refused", token, out, problems)
		}
		hub.stop(t)
	}
	if !jupyter.Alive() {
		t.Error("the server ended with a hub that has not started it")
	}
}

// Without a Jupyter server running says how to get one.
func TestScriptsNeedAJupyterServer(t *testing.T) {
	t.Parallel()
	hub := serveProcess(t, testProvider{args: []string{"--provider", "demo"}})
	attached := startAttach(t, "--server", hub.url, "--json", "--new", "Mine")
	var state struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(attached.until(t, `"type":"session_state"`)), &state); err != nil {
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

// A server that was killed is replaced when the next kernel is needed, also by a hub that finds only its record.
func TestJupyterServerThatWasKilledIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newHub := func() *jupyter {
		j := &jupyter{cfg: jupyterConfig{mode: "auto"}, dir: dir, log: slog.New(slog.DiscardHandler), lock: make(chan struct{}, 1)}
		j.lock <- struct{}{}
		t.Cleanup(j.Close)
		return j
	}
	j, other := newHub(), newHub()
	if err := other.Remove(t.Context(), kernels.Notebook{Session: "ses-1"}); err != nil || other.server != nil {
		t.Fatalf("ending kernels without a server: got %v and %v, want that nothing starts", err, other.server)
	}
	urls := map[string]bool{}
	for _, hub := range []*jupyter{j, j, other} { // the last one has never used it
		if _, err := hub.use(t.Context()); err != nil {
			t.Fatal(err)
		}
		urls[hub.server.URL] = true
		var record struct{ PID int }
		data, err := os.ReadFile(filepath.Join(dir, "server.json"))
		if err == nil {
			err = json.Unmarshal(data, &record)
		}
		if err == nil {
			err = syscall.Kill(record.PID, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); hub.server.Alive(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the killed server is taken for alive")
			}
		}
	}
	if len(urls) != 3 {
		t.Errorf("servers: got %v, want a new one each time", urls)
	}
}

// A hub that shall start a server which is not installed runs without it, and the page says what to install.
func TestHubWithoutAnInstalledJupyterServer(t *testing.T) {
	t.Parallel()
	cfg := config{}
	cfg.agents.jupyter.mode = "auto"
	missing := errors.New("jupyter-server is not installed")
	_, err := newJupyter(cfg, slog.New(slog.DiscardHandler), func() (string, error) { return "", missing })
	if !errors.Is(err, errNoJupyter) || err.Error() != missing.Error() {
		t.Errorf("got %v, want that there is no server, and only what is missing", err)
	}
}
