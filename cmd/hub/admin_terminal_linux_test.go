package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// Irreversible actions need --yes, or at a terminal the session's id typed as confirmation.
func TestAdminReplicasAskBefore(t *testing.T) {
	t.Parallel()
	f := newAdminReplicas(t)
	made := func() (wire.SessionID, string) {
		id := f.session(t, f.one, f.ann, "full")
		f.say(t, f.one, f.ann, id, "/window notes Notes | some")
		f.show(t, id, func(d adminview.Detail) bool { return len(d.Windows) == 1 && d.Row.Status == adminview.Idle })
		return id, string(id)
	}
	session, id := made()
	for _, verb := range []string{"reset", "delete"} {
		f.fails(t, command.ExitUsage, "confirm with --yes", verb, id, "--reason", "x")
		for _, typed := range []string{"ses-other\n", "\n", "\x04", "\x03"} {
			if code, screen := f.atTerminal(t, typed, verb, id, "--reason", "x"); code != command.ExitFailure || !strings.Contains(screen, "nothing was done") {
				t.Errorf("%s and %q typed: got code %d, screen %q, want code %d and that nothing was done", verb, typed, code, screen, command.ExitFailure)
			}
		}
	}
	f.show(t, session, func(d adminview.Detail) bool { return len(d.Windows) == 1 })
	list := read[auditList](t, f, "audit")
	if n := len(slices.DeleteFunc(list.Records, func(r auditRecord) bool { return r.Action == "session.detail" })); n != keyRecords {
		t.Errorf("audit after actions that were not confirmed: got %+v, want only the %d records of the keys and what was read", list, keyRecords)
	}
	code, screen := f.atTerminal(t, id+"\n", "reset", id, "--reason", "a mess")
	if code != command.ExitOK || !strings.Contains(screen, "Type "+id+" to do it: ") || !strings.Contains(screen, "session.reset of "+id+" is recorded as adm-") {
		t.Errorf("reset at a terminal: got code %d, screen %q, want code %d, the question and the record", code, screen, command.ExitOK)
	}
	f.show(t, session, func(d adminview.Detail) bool { return len(d.Windows) == 0 })
	if code, screen = f.atTerminal(t, " "+id+" \n", "delete", id, "--reason", "not needed"); code != command.ExitOK || !strings.Contains(screen, "session.delete of ") {
		t.Errorf("delete at a terminal: got code %d, screen %q, want code %d and the record", code, screen, command.ExitOK)
	}
	f.fails(t, command.ExitFailure, "hub answered 404: ", "show", id)

	session, id = made()
	f.done(t, "reset", id, "--yes", "--reason", "a mess")
	f.show(t, session, func(d adminview.Detail) bool { return len(d.Windows) == 0 })
	f.done(t, "release", id, "--reason", "it is not set aside, which is no mistake")
	f.done(t, "delete", "--yes", id, "--reason", "not needed")
	f.fails(t, command.ExitFailure, "hub answered 404: ", "show", id)
	f.fails(t, command.ExitFailure, "hub answered 404: ", "delete", id, "--yes", "--reason", "again")
}

// atTerminal runs hub admin at a pseudo-terminal and types typed when it is prompted. It returns
// the exit code and the text on the screen.
func (f *adminReplicas) atTerminal(t *testing.T, typed string, args ...string) (code int, screen string) {
	t.Helper()
	keys, end := openPTY(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout) // then the process is killed
	defer cancel()
	cmd := exec.CommandContext(ctx, "hub", append([]string{"admin"}, append(args, "--server", f.two.url)...)...)
	cmd.Env = []string{"GORACE=" + noRaceNap, "HUB_TOKEN=" + f.admin}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = end, end, end
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, 0, 4096)
	for part := make([]byte, 1024); ; {
		n, err := keys.Read(part)
		had := strings.Contains(string(seen), "to do it: ")
		seen = append(seen, part[:n]...)
		if !had && strings.Contains(string(seen), "to do it: ") {
			if _, err := keys.WriteString(typed); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break // the process has closed the terminal
		}
	}
	_ = cmd.Wait() // the exit code is returned
	return cmd.ProcessState.ExitCode(), string(seen)
}

// openPTY opens a pseudo-terminal: text written to keys is input at end.
func openPTY(t *testing.T) (keys, end *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if end, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return keys, end
}
