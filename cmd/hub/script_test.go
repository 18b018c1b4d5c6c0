package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript runs testdata/script/*.txtar. Beside the usual commands there are
//
//	hub-start NAME ARG…    starts a hub, sets NAME to its URL, NAME_INVITATION to
//	                       the one it prints and NAME_ADDR to its host and port
//	hub-stop NAME SIGNAL…  sends signals (TERM, INT, KILL) and waits for its end;
//	                       its stderr becomes stderr. Fails unless it exits with 0
//	get URL                prints status and body; follows redirects and keeps
//	                       cookies meanwhile
//	hold ADDR              opens a connection that never sends anything
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata/script"))
}

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values["hubs"] = map[string]*hubProcess{}
			env.Setenv("GORACE", noRaceNap)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"hub-start": cmdStart,
			"hub-stop":  cmdStop,
			"get":       cmdGet,
			"hold":      cmdHold,
		},
	}
}

// noRaceNap keeps programs built with -race from sleeping a second at exit.
const noRaceNap = "atexit_sleep_ms=0"

// hubProcess is a hub that a script started.
type hubProcess struct {
	cmd    *exec.Cmd
	stderr strings.Builder
}

func hubs(ts *testscript.TestScript) map[string]*hubProcess {
	return ts.Value("hubs").(map[string]*hubProcess)
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hub-start NAME ARG…")
	}
	h := &hubProcess{cmd: exec.Command("hub", args[1:]...)} //nolint:noctx // ended by Defer
	h.cmd.Dir = ts.Getenv("WORK")
	h.cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "GORACE=" + noRaceNap}
	h.cmd.Stderr = &h.stderr
	stdout, err := h.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(h.cmd.Start())
	ts.Defer(func() {
		_ = h.cmd.Process.Kill() // it may have ended as the script wanted
		_ = h.cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = h.cmd.Wait()
		ts.Fatalf("no URL: %v\n%s", err, h.stderr.String())
	}
	_, url, ok := strings.Cut(strings.TrimSpace(line), "Everdesk is running: ")
	if !ok {
		ts.Fatalf("printed %q", line)
	}
	hubs(ts)[args[0]] = h
	ts.Setenv(args[0]+"_INVITATION", url)
	url, _, _ = strings.Cut(url, "/?")
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_ADDR", strings.TrimPrefix(url, "http://"))
}

func cmdStop(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt, "KILL": os.Kill}
	h := hubs(ts)[args[0]]
	for _, name := range args[1:] {
		ts.Check(h.cmd.Process.Signal(signals[name]))
	}
	err := h.cmd.Wait()
	io.WriteString(ts.Stderr(), h.stderr.String())
	if exit, ok := errors.AsType[*exec.ExitError](err); ok == neg {
		return
	} else if ok {
		ts.Fatalf("ended with %v", exit)
	}
	ts.Check(err)
	ts.Fatalf("ended with 0")
}

func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: get URL")
	}
	transport := &http.Transport{DisableKeepAlives: true}
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	res, err := (&http.Client{Transport: transport, Jar: jar}).Get(args[0]) //nolint:noctx // the script's own hub
	ts.Check(err)
	defer res.Body.Close()
	io.WriteString(ts.Stdout(), res.Status+"\n")
	_, err = io.Copy(ts.Stdout(), res.Body)
	ts.Check(err)
}

// cmdHold opens a connection and sends a request on a second one: when that is answered, the hub
// has accepted the first.
func cmdHold(ts *testscript.TestScript, neg bool, args []string) {
	conn, err := net.Dial("tcp", args[0]) //nolint:noctx // the script's own hub
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() })
	cmdGet(ts, neg, []string{"http://" + args[0] + "/healthz"})
}
