package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/everdesk/everdesk/internal/redistest"
)

// endOfCell matches how a cell ended.
const endOfCell = `CELL_EXECUTED.*"state":"(ok|error|aborted|unknown)"`

// A replica that is killed while a cell prints is continued by another one, which gets the rest from the kernel: each
// line is there once. The replicas use the same Jupyter server, which ends with the last of them.
func TestSecondReplicaGetsTheRestOfACell(t *testing.T) {
	t.Parallel()
	redis, dir := redistest.Standalone(t), t.TempDir()
	serve := func(name string) *server {
		return serveProcess(t, testProvider{args: []string{"--provider", "demo"}}, "--store", redis.URL(), "--lease", "2s", "--replica-id", name, "--files-dir", dir, "--agents-folder", dir+"-agents", "--jupyter", "auto")
	}
	first, second := serve("one"), serve("two")
	t.Cleanup(func() { _ = os.RemoveAll(dir + "-agents") })
	session := createSession(t, first.url)
	x := attachTo(t, first, session, "--json")
	x.until(t, `"type":"session_state"`)
	goOn := filepath.Join(dir, "go-on")
	runCode(t, x, "r-1", printingCode(goOn))
	x.until(t, `line 10\\n`)
	first.kill()
	x = attachTo(t, second, session, "--json")
	x.until(t, `"type":"session_state"`)
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if state := x.until(t, endOfCell)[0]; state != "ok" {
		t.Fatalf("the cell ended as %q, want ok", state)
	}
	pids, lines, _ := strings.Cut(printedBy(t, second.url, session), "\n")
	if lines != linesTo(200) {
		t.Errorf("the lines of two replicas: got %q, want 0 to 199 once", lines)
	}
	second.stop(t)
	waitEnded(t, pids)
}

// A Jupyter server that is killed while a cell runs takes its kernel with it. The cell says that it may not have run to its
// end, and the next one runs on another server.
func TestCellWhoseJupyterServerIsKilled(t *testing.T) {
	t.Parallel()
	hub := serveProcess(t, testProvider{args: []string{"--provider", "demo"}}, "--files-dir", t.TempDir(), "--agents-folder", t.TempDir(), "--jupyter", "auto")
	session := createSession(t, hub.url)
	x := attachTo(t, hub, session, "--json")
	x.until(t, `"type":"session_state"`)
	runCode(t, x, "r-1", printingCode(filepath.Join(t.TempDir(), "never")))
	x.until(t, `line 100\\n`)
	pids, _, _ := strings.Cut(printedBy(t, hub.url, session), "\n")
	kernel, server, _ := strings.Cut(pids, " ")
	pid, err := strconv.Atoi(server)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatalf("kill the server among %q: %v", pids, err)
	}
	x.until(t, `CELL_EXECUTED.*"state":"unknown".*may or may not have run`)
	waitEnded(t, kernel)
	runCode(t, x, "r-2", "print('next')")
	x.until(t, `CELL_EXECUTED.*"state":"ok".*variables of earlier cells are gone`)
	hub.stop(t)
}

// memoryOf returns the most memory that a process had, in bytes.
func memoryOf(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// sizeOf returns the size of the files in a folder, in bytes.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil { // it may be gone
				size += info.Size()
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return size
}

// However much a cell prints, neither the memory of the hub nor its log grow with it.
func TestMemoryOfAHubWhoseCellsPrint(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	// By default a hub lets garbage take much of the memory of the machine.
	hub := serveProcess(t, testProvider{args: []string{"--provider", "demo"}, env: []string{"GOGC=100"}}, "--store", "file:"+store, "--files-dir", t.TempDir(), "--agents-folder", t.TempDir(), "--jupyter", "auto")
	x := attachTo(t, hub, createSession(t, hub.url), "--json")
	x.until(t, `"type":"session_state"`)
	printMB := func(id string, megabytes int) {
		t.Helper()
		runCode(t, x, id, "for i in range("+strconv.Itoa(megabytes)+"): print('x' * (1 << 20), flush=True)")
		if state := x.until(t, endOfCell)[0]; state != "ok" {
			t.Fatalf("the cell that prints %d MB ended as %s, want ok", megabytes, state)
		}
	}
	printMB("r-1", 20)
	memory, log := memoryOf(t, hub.cmd.Process.Pid), sizeOf(t, store)
	printMB("r-2", 200)
	if grown := memoryOf(t, hub.cmd.Process.Pid) - memory; grown > 100<<20 {
		t.Errorf("the memory of the hub: got %d MB more than after 20 MB, want less than half of what was printed", grown>>20)
	}
	if grown := sizeOf(t, store) - log; grown > 4<<20 {
		t.Errorf("the log: got %d kB more, want little more than what a cell shows", grown>>10)
	}
	hub.stop(t)
}
