package session_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// watchedKernels record the kernels of notebooks and their restarts.
type watchedKernels struct {
	session.Kernels

	mu       sync.Mutex
	opened   map[string]string
	restarts int
	// hold, unless nil, keeps restarts from reaching the server.
	hold chan struct{}
	// failing is the number of removals that do not reach the server.
	failing int
}

func (w *watchedKernels) Remove(ctx context.Context, n kernels.Notebook) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing > 0 {
		w.failing--
		return fmt.Errorf("test: %w", kernels.ErrUnavailable)
	}
	return w.Kernels.Remove(ctx, n) //nolint:wrapcheck // as below
}

// remainingFailures returns how many removals will not reach the server.
func (w *watchedKernels) remainingFailures() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failing
}

func (w *watchedKernels) Open(ctx context.Context, n kernels.Notebook) (kernels.Kernel, error) {
	k, err := w.Kernels.Open(ctx, n)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened == nil {
		w.opened = map[string]string{}
	}
	w.opened[n.Name] = k.ID
	return k, err //nolint:wrapcheck // it is the kernels' own
}

func (w *watchedKernels) Restart(ctx context.Context, id string) error {
	w.mu.Lock()
	w.restarts++
	w.mu.Unlock()
	if w.hold != nil {
		w.hold <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	return w.Kernels.Restart(ctx, id) //nolint:wrapcheck // as above
}

// last returns the kernel of a notebook.
func (w *watchedKernels) last(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened[name]
}

// waitGone waits until the server has ended a kernel.
func (w *watchedKernels) waitGone(t *testing.T, kernel string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; <-time.After(20 * time.Millisecond) {
		_, err := w.Kernel(t.Context(), kernel)
		if errors.Is(err, kernels.ErrGone) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the kernel: got %v, want that it is gone", err)
		}
	}
}

// A restart is performed before the cells that are run after it, and the next owner repeats one that was not done.
func TestKernelIsRestartedBeforeTheNextRun(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	s := newFileDeployment(t)
	slow := &watchedKernels{Kernels: k, hold: make(chan struct{})}
	o := startAgentHub(t, s, withKernels(slow))
	d := o.newDesktop(t, "ses-1")
	d.openNotebook("n", "x = 1", "print('x' in globals())", "2")
	d.send("r1", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c1"}})
	d.waitCell("n", "c1", wire.CellOK)
	d.send("restart", wire.ControlKernel{WindowID: "n", Op: wire.KernelRestart})
	<-slow.hold
	d.send("r2", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c2"}})
	d.waitCell("n", "c2", wire.CellQueued)
	o.stop()
	next := &watchedKernels{Kernels: k}
	o = startAgentHub(t, s, withKernels(next))
	d = o.openDesktop(t, "ses-1")
	d.waitCell("n", "c2", done()...)
	if got := d.shownCell("n", "c2"); got != "ok:False\n" {
		t.Errorf("the cell after the restart: got %q, want that x is gone", got)
	}
	if next.restarts != 1 {
		t.Errorf("the next owner restarted the kernel %d times, want once", next.restarts)
	}

	// A kernel that is stopped ends, and the next cell gets another one.
	kernel := next.last("monitor-0/n")
	d.send("stop", wire.ControlKernel{WindowID: "n", Op: wire.KernelStop})
	d.send("r3", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c3"}})
	d.waitCell("n", "c3", wire.CellOK)
	next.waitGone(t, kernel)
	if now := next.last("monitor-0/n"); now == kernel {
		t.Errorf("the kernel after the stop: got %s again, want another one", now)
	}
	d.waitIdle()
}

// A session that is deleted leaves no kernel, even if its code runs.
func TestDeletedSessionsLeaveNoKernel(t *testing.T) {
	t.Parallel()
	_, client := startJupyter(t)
	k := &watchedKernels{Kernels: client}
	s := newFileDeployment(t)
	o := startAgentHub(t, s, withKernels(k))
	begin := func(id wire.SessionID, window wire.WindowID) (kernel string) {
		d := o.newDesktop(t, id)
		d.openNotebook(window, "print('begun', flush=True)\nimport time\ntime.sleep(600)")
		d.send("r1", wire.RunCells{WindowID: window})
		waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.WindowID == window })
		return k.last("monitor-0/" + string(window))
	}
	owned, stays := begin("ses-1", "a"), begin("ses-2", "b")
	requireNoError(t, o.Delete(t.Context(), "ses-1"))
	if _, err := k.Kernel(t.Context(), owned); !errors.Is(err, kernels.ErrGone) {
		t.Errorf("the busy kernel of a deleted session: got %v, want that it is gone", err)
	}
	if _, err := k.Kernel(t.Context(), stays); err != nil {
		t.Errorf("the kernel of another session: got %v, want that it stays", err)
	}
}

// Busy kernels of a notebook that was closed and of a session that was deleted end later, if the server was unavailable.
func TestKernelsEndWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	_, client := startJupyter(t)
	k := &watchedKernels{Kernels: client}
	o := startAgentHub(t, newFileDeployment(t), withKernels(k))
	begin := func(id wire.SessionID, window wire.WindowID) (d *testDesktop, kernel string) {
		d = o.newDesktop(t, id)
		d.openNotebook(window, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\nimport time\ntime.sleep(600)")
		d.send("r1", wire.RunCells{WindowID: window})
		waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.WindowID == window })
		return d, k.last("monitor-0/" + string(window))
	}
	d, closed := begin("ses-1", "a")
	_, deleted := begin("ses-2", "b")
	k.mu.Lock()
	k.failing = 2
	k.mu.Unlock()
	d.send("close", wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidCloseWindow, WindowID: "a"}}})
	d.waitIdle()
	requireNoError(t, o.Delete(t.Context(), "ses-2"))
	if n := k.remainingFailures(); n != 0 {
		t.Fatalf("%d removals have not failed, want that both did", n)
	}
	for _, kernel := range []string{closed, deleted} {
		if _, err := k.Kernel(t.Context(), kernel); err != nil {
			t.Fatalf("a kernel that could not be removed: got %v, want that it is there", err)
		}
	}
	o.CheckKernels(t.Context())
	for what, kernel := range map[string]string{"the closed notebook": closed, "the deleted session": deleted} {
		if _, err := k.Kernel(t.Context(), kernel); !errors.Is(err, kernels.ErrGone) {
			t.Errorf("the kernel of %s: got %v, want that it is gone", what, err)
		}
	}
}

// A kernel that died while it was idle gets a journal again, and a notification says that its variables are gone.
func TestKernelThatDiedWhileIdle(t *testing.T) {
	t.Parallel()
	_, client := startJupyter(t)
	k := &watchedKernels{Kernels: client}
	o := startAgentHub(t, newFileDeployment(t), withKernels(k))
	d := o.newDesktop(t, "ses-1")
	const has = "print(hasattr(get_ipython().kernel, 'everdesk_journal'))"
	d.openNotebook("n", has+"\nimport os, threading, time\npid = os.getpid()\npid", has+"\n'pid' in globals()")
	d.send("r1", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c1"}})
	d.waitCell("n", "c1", done()...)
	pid, err := strconv.Atoi(strings.TrimPrefix(d.shownCell("n", "c1"), "ok:True\n"))
	requireNoError(t, err)
	waitEvent(t, d.eventLog, func(e wire.KernelStatus) bool { return e.State == wire.KernelIdle })
	requireNoError(t, syscall.Kill(pid, syscall.SIGKILL))
	d.send("r2", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c2"}})
	d.waitCell("n", "c2", done()...)
	if got := d.shownCell("n", "c2"); got != "ok:True\nFalse" {
		t.Errorf("the cell after the death: got %q, want a journal and no variables", got)
	}
	if row := d.waitRow(wire.SayError); !strings.Contains(row.Text, "variables are gone") {
		t.Errorf("the row: got %q, want that the variables are gone", row.Text)
	}
	d.waitIdle()
}

// A kernel that never answers is ended by a restart: its cell says so, and the next one runs.
func TestKernelThatNeverAnswersIsRestarted(t *testing.T) {
	t.Parallel()
	_, client := startJupyter(t)
	d := startAgentHub(t, newFileDeployment(t), withKernels(client)).newDesktop(t, "ses-1")
	send, waits := newSignal(t)
	d.openNotebook("n", "print('begun', flush=True)\nimport os, signal\n"+waits+"\nos.kill(os.getpid(), signal.SIGSTOP)", "print('next')")
	d.send("r1", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c1"}})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.CellID == "c1" && len(e.Outputs) > 0 })
	send()
	d.send("restart", wire.ControlKernel{WindowID: "n", Op: wire.KernelRestart})
	if e := d.waitCell("n", "c1", done()...); e.State == wire.CellOK || e.Reason == "" {
		t.Errorf("the cell of a kernel that did not answer: got %+v, want a failure with a reason", e)
	}
	if row := d.waitRow(wire.SayError); !strings.Contains(row.Text, "restarted") {
		t.Errorf("the row: got %q, want that the kernel was restarted", row.Text)
	}
	d.send("r2", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c2"}})
	d.waitCell("n", "c2", done()...)
	if got := d.shownCell("n", "c2"); got != "ok:next\n" {
		t.Errorf("the cell after the restart: got %q, want that it ran", got)
	}
	d.waitIdle()
}

// A kernel that ends while nothing runs is shown as stopped, also when the session is opened after it ended. The next
// run says that its variables are gone, once.
func TestKernelThatEndedWhileIdle(t *testing.T) {
	t.Parallel()
	_, client := startJupyter(t)
	s := newFileDeployment(t)
	o := startAgentHub(t, s, withKernels(client))
	d := o.newDesktop(t, "ses-1")
	d.openNotebook("n", "x = 1", "print('x' in globals())")
	run := func(id wire.MessageID, cell wire.CellID) {
		t.Helper()
		d.send(id, wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{cell}})
		d.waitCell("n", cell, done()...)
		for limit := time.Now().Add(2 * time.Minute); d.notebook("n").Kernel.State != wire.KernelIdle; <-time.After(20 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("the kernel after %s: got %+v, want it idle", cell, d.notebook("n").Kernel)
			}
		}
	}
	end := func() {
		t.Helper()
		for limit := time.Now().Add(2 * time.Minute); ; <-time.After(20 * time.Millisecond) {
			n, err := client.Cull(t.Context(), time.Now().Add(time.Hour))
			if err == nil && n == 1 {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("ending the idle kernel: got %d and %v, want 1", n, err)
			}
		}
	}
	wantStopped := func() {
		t.Helper()
		if e := waitEvent(t, d.eventLog, func(e wire.KernelStatus) bool { return e.State == wire.KernelStopped }); !strings.Contains(e.Reason, "variables are gone") {
			t.Errorf("the kernel that has ended: got reason %q, want that its variables are gone", e.Reason)
		}
	}
	run("r1", "c1")
	o.CheckKernels(t.Context()) // it lives
	if got := d.notebook("n").Kernel.State; got != wire.KernelIdle {
		t.Errorf("a kernel that lives: got state %q, want %q", got, wire.KernelIdle)
	}
	end()
	o.CheckKernels(t.Context())
	wantStopped()
	if got := d.notebook("n").Kernel; got.State != wire.KernelStopped || len(got.Variables) > 0 {
		t.Errorf("the notebook: got %+v, want it stopped and without variables", got)
	}
	run("r2", "c2")
	if got := d.shownCell("n", "c2"); got != "ok:False\n" {
		t.Errorf("the cell after the end: got %q, want that x is gone", got)
	}
	if row := d.waitRow(wire.SayError); !strings.Contains(row.Text, "variables of earlier cells are gone") {
		t.Errorf("the row: got %q, want that the variables are gone", row.Text)
	}

	// The same for a session that is opened later.
	o.stop()
	end()
	o = startAgentHub(t, s, withKernels(client))
	d = o.openDesktop(t, "ses-1")
	wantStopped()
	d.waitIdle()
}
