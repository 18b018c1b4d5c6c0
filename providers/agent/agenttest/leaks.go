package agenttest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/providertest"
)

// leaksMode is the variable that makes a test binary count what is left. Its value is a directive for a call
// for which the program asks. leakRuns has the number of sessions of each kind.
const (
	leaksMode = "AGENT_TEST_LEAKS"
	leakRuns  = "RUNS"
)

// Leaks counts what sessions of each kind leave behind, if the test binary was started for that, and reports
// whether it was. Call it in TestMain.
func Leaks(newProvider NewProvider) bool {
	question := os.Getenv(leaksMode)
	if question == "" {
		return false
	}
	runs, err := strconv.Atoi(cmp.Or(os.Getenv(leakRuns), "4"))
	if err != nil {
		panic(fmt.Errorf("%s: %w", leakRuns, err))
	}
	home, err := os.MkdirTemp("", "leaks-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	sessions := 0
	each := func() {
		for _, k := range leakKinds(question) {
			ran, err := k.use(newProvider, home)
			if err != nil {
				panic(fmt.Errorf("%s, after %d sessions: %w", k.name, sessions, err))
			}
			if ran {
				sessions++
			}
		}
	}
	each()
	sessions = 0
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for range runs {
		each()
	}
	for began := time.Now(); runtime.NumGoroutine() > goroutines && time.Since(began) < hangTimeout; {
		runtime.Gosched() // a goroutine that has closed its last channel may still be counted
	}
	_, _ = fmt.Fprintf(os.Stdout, "goroutines %d files %d children %d descendants %d\n",
		max(0, runtime.NumGoroutine()-goroutines), openFiles()-files, children(), descendants(home))
	_, _ = fmt.Fprintf(os.Stderr, "%d sessions\n", sessions)
	return true
}

// NothingIsLeft runs [Leaks] in a process of its own, because tests beside it would be counted, too. The
// question is a directive for a call for which the program asks. It adds variables to the environment of that
// process. The variable RUNS has the number of sessions of each kind: completed, interrupted, closed, steered,
// resumed, forked, approved and denied.
func NothingIsLeft(t *testing.T, question string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(append(os.Environ(), leaksMode+"="+question), env...)
	var sessions bytes.Buffer
	cmd.Stderr = &sessions
	out, err := cmd.Output()
	if got, want := strings.TrimSpace(string(out)), "goroutines 0 files 0 children 0 descendants 0"; err != nil || got != want {
		t.Errorf("after some sessions there are %q more (%v), want %q: %s", got, err, want, &sessions)
	}
	t.Logf("nothing is left of %s", &sessions)
}

// openFiles returns the number of open descriptors.
func openFiles() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}

// children returns the number of child processes, including those that were not waited for.
func children() (n int) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		panic(err)
	}
	for _, at := range lists {
		if list, err := os.ReadFile(at); err == nil { //nolint:gosec // of this process
			n += len(strings.Fields(string(list)))
		}
	}
	return n
}

// descendants returns the number of processes with that home, whoever their parent is now: children of
// an agent that has ended belong to the system. It waits for those that are about to end.
func descendants(home string) (n int) {
	for began := time.Now(); ; {
		lists, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			panic(err)
		}
		n = 0
		for _, at := range lists {
			if env, err := os.ReadFile(at); err == nil && bytes.Contains(env, []byte("HOME="+home+"\x00")) { //nolint:gosec // a file of /proc
				n++
			}
		}
		if n == 0 || time.Since(began) > endTimeout {
			return n
		}
		runtime.Gosched()
	}
}

// endTimeout is how long a process that was killed may take to end.
const endTimeout = 5 * time.Second

// Key is the API key of providers under test.
const Key = "sk-canary-5d1f08"

// KeyStaysSecret runs a turn and looks for the key in the arguments of all processes and in all files
// below the home of the program and in its working directory.
func KeyStaysSecret(t *testing.T, newProvider NewProvider) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	home, dir := t.TempDir(), t.TempDir()
	p, err := newProvider(home)
	if err != nil {
		t.Fatal(err)
	}
	e := &events{more: make(chan struct{})}
	s, err := p.Open(ctx, providers.Spec{OnEvent: e.add, Dir: dir, System: "You are being tested."})
	if err == nil {
		err = s.Send(ctx, providers.Message{ID: "m-1", Mode: providers.Start, Text: Prompt(providertest.Say("done"), providertest.Hang())})
	}
	if err == nil {
		_, err = e.until(ctx, "it speaks", kind(providers.EventText))
	}
	if err != nil {
		t.Fatal(errors.Join(err, p.Close()))
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Errorf("there are no processes: %v", err)
	}
	for _, at := range lines {
		if raw, err := os.ReadFile(at); err == nil && bytes.Contains(raw, []byte(Key)) { //nolint:gosec // a file of /proc
			t.Errorf("the key is in the arguments %q", raw)
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	for _, root := range []string{home, dir} {
		err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(at) //nolint:gosec // a file of a test
			if bytes.Contains(raw, []byte(Key)) {
				t.Errorf("the key is in the file %s", at)
			}
			return err
		})
		if err != nil {
			t.Errorf("look through %s: %v", root, err)
		}
	}
}
