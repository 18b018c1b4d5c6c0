package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// startJupyter starts a real Jupyter server and returns it with a client.
func startJupyter(t *testing.T) (*kernels.Server, *kernels.Client) {
	t.Helper()
	s, err := kernels.UseServer(t.Context(), kernels.ServerConfig{AloneFor: time.Minute, Dir: t.TempDir(), Root: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}})
	requireNoError(t, err)
	t.Cleanup(s.Stop)
	c, err := kernels.New(kernels.Config{URL: s.URL, Token: s.Token})
	requireNoError(t, err)
	t.Cleanup(c.Close)
	return s, c
}

func withKernels(k session.Kernels) hubConfig {
	return hubConfig{session: session.Config{Kernels: k, KernelsOff: "not configured"}, notebooks: true}
}

// openNotebook opens a notebook with code cells c1, c2, ….
func (d *testDesktop) openNotebook(id wire.WindowID, sources ...string) {
	d.t.Helper()
	n := wire.Notebook{Cells: []wire.Cell{}}
	for i, s := range sources {
		n.Cells = append(n.Cells, wire.Cell{ID: wire.CellID(fmt.Sprintf("c%d", i+1)), Kind: wire.CellCode, Source: s})
	}
	d.send(wire.MessageID("open-"+string(id)), wire.Emit{Actions: []wire.Action{wire.WindowCreate{
		WindowID: id, Title: "Notebook", Bounds: wire.Bounds{W: 100, H: 100}, Content: wire.NotebookContent{Data: n},
	}}})
}

// newSignal returns a function that sends a signal, and Python that waits for it.
func newSignal(t *testing.T) (send func(), waits string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "signal")
	send = func() { requireNoError(t, os.WriteFile(file, nil, 0o600)) }
	return send, fmt.Sprintf("while not __import__('os').path.exists(%q): __import__('time').sleep(0.01)", file)
}

// waitCell waits until a cell has one of the states.
func (d *testDesktop) waitCell(window wire.WindowID, cell wire.CellID, states ...wire.CellState) wire.CellExecuted {
	d.t.Helper()
	return waitEvent(d.t, d.eventLog, func(e wire.CellExecuted) bool {
		return e.WindowID == window && e.CellID == cell && strings.Contains(fmt.Sprint(states), string(e.State))
	})
}

// notebook returns the notebook of a window as a tab sees it.
func (d *testDesktop) notebook(id wire.WindowID) wire.Notebook {
	d.t.Helper()
	for _, w := range d.snapshot().Windows {
		if n, ok := w.Content.(wire.NotebookContent); ok && w.WindowID == id {
			return n.Data
		}
	}
	d.t.Fatalf("there is no notebook %s", id)
	return wire.Notebook{}
}

// shownCell returns the state and the outputs of a cell.
func (d *testDesktop) shownCell(window wire.WindowID, cell wire.CellID) string {
	d.t.Helper()
	for _, c := range d.notebook(window).Cells {
		if c.ID != cell {
			continue
		}
		var b strings.Builder
		b.WriteString(string(c.State) + ":")
		for _, o := range c.Outputs {
			var forms map[string]string
			_ = json.Unmarshal(o.Data, &forms)
			b.WriteString(o.Text[:min(len(o.Text), 10_000)*map[bool]int{true: 0, false: 1}[o.Type == wire.OutputError]] + forms["text/plain"] + o.Value)
		}
		return b.String()
	}
	return "no cell"
}

// done are the states of cells that have ended.
func done() []wire.CellState {
	return []wire.CellState{wire.CellOK, wire.CellFailed, wire.CellAborted, wire.CellUnknown}
}

// Cells run in order in one kernel. An error aborts the rest, code can be interrupted and can ask, and a kernel that
// dies fails what waits.
func TestNotebookRunsCells(t *testing.T) {
	t.Parallel()
	_, client := startJupyter(t)
	k := &watchedKernels{Kernels: client}
	o := startAgentHub(t, newFileDeployment(t), withKernels(k))
	d := o.newDesktop(t, "ses-1")
	d.openNotebook("n", "x = 20", "print(x + 1)\nx * 2", "1/0", "print('never')")
	d.send("r1", wire.RunCells{WindowID: "n"})
	d.waitCell("n", "c4", done()...)
	for cell, want := range map[wire.CellID]string{"c1": "ok:", "c2": "ok:21\n40", "c3": "error:division by zero", "c4": "aborted:"} {
		if got := d.shownCell("n", cell); got != want {
			t.Errorf("%s: got %q, want %q", cell, got, want)
		}
	}

	idle := waitEvent(t, d.eventLog, func(e wire.KernelStatus) bool { return e.WindowID == "n" && e.State == wire.KernelIdle })
	if want := []wire.KernelVariable{{Name: "x", Type: "int", Value: "20"}}; !slices.Equal(idle.Variables, want) || !slices.Equal(d.notebook("n").Kernel.Variables, want) {
		t.Errorf("variables: got %+v, want %+v", idle.Variables, want)
	}

	// Edits of cells.
	d.send("e1", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookEdit, CellID: "c3", Source: "print('begun', flush=True)\nimport time\ntime.sleep(600)"})
	d.send("e2", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookInsert, CellID: "new", Kind: wire.CellMarkdown, Source: "# hello"})
	d.send("e3", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookMove, CellID: "c4", After: "new"})
	d.send("e4", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookDelete, CellID: "c1"})
	waitEvent(t, d.eventLog, func(e wire.NotebookChanged) bool { return e.Op == wire.NotebookDelete })
	var order []string
	for _, c := range d.notebook("n").Cells {
		order = append(order, string(c.ID))
	}
	if got := strings.Join(order, " "); got != "new c4 c2 c3" {
		t.Errorf("cells after the edits: got %q, want new c4 c2 c3", got)
	}
	for id, bad := range map[wire.MessageID]wire.ClientPayload{
		"b1": wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookEdit, CellID: "nope"},
		"b2": wire.NotebookEditMessage{WindowID: "none", Op: wire.NotebookInsert, CellID: "a"},
		"b3": wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"nope"}},
		"b4": wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookEdit, CellID: "c2", Source: strings.Repeat("x", 2<<20)},
	} {
		d.send(id, bad)
		if no := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); no.Reason == "" {
			t.Errorf("%s: got %+v, want a reason", id, no)
		}
	}

	// Interrupt.
	d.send("r2", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c3"}})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool {
		return e.CellID == "c3" && len(e.Outputs) > 0 && strings.HasPrefix(e.Outputs[0].Text, "begun")
	})
	d.send("i1", wire.ControlKernel{WindowID: "n", Op: wire.KernelInterrupt})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool {
		return e.CellID == "c3" && len(e.Outputs) > 0 && e.Outputs[len(e.Outputs)-1].Name == "KeyboardInterrupt"
	})

	// Questions of code.
	d.openNotebook("q", "name = input('who? ')\nprint('hello', name)", "print('as accepted')")
	d.send("r3", wire.RunCells{WindowID: "q"})
	asked := waitEvent(t, d.eventLog, func(e wire.Actions) bool {
		p, is := e.Actions[0].(wire.PromptShow)
		return is && p.Message == "who? "
	})
	prompt, _ := asked.Actions[0].(wire.PromptShow)
	// A guest cannot have code executed: neither by an answer, which a debugger would execute, nor in a cell that waits.
	d.sendAsGuest("a0", wire.UserPromptResponse{PromptID: prompt.ID, Text: "__import__('os')"})
	if no := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("a0")); no.Code != wire.CodeForbidden {
		t.Errorf("a guest's answer to code: got %+v, want code %s", no, wire.CodeForbidden)
	}
	d.sendAsGuest("e0", wire.NotebookEditMessage{WindowID: "q", Op: wire.NotebookEdit, CellID: "c2", Source: "print('of a guest')"})
	waitEvent(t, d.eventLog, func(e wire.NotebookChanged) bool { return e.WindowID == "q" && e.Op == wire.NotebookEdit })
	d.send("a1", wire.UserPromptResponse{PromptID: prompt.ID, Text: "bob"})
	d.waitCell("q", "c1", done()...)
	if e := d.waitCell("q", "c2", done()...); e.State != wire.CellAborted {
		t.Errorf("a cell that was edited while it waited: got %+v, want it aborted", e)
	}
	if got := d.shownCell("q", "c1"); got != "ok:hello bob\n" {
		t.Errorf("after the answer: got %q, want hello bob", got)
	}

	// A kernel that dies.
	d.openNotebook("k", "y = 1", "import os\nos._exit(1)", "print('never')", "try:\n    y\nexcept NameError:\n    print('gone')")
	d.send("r4", wire.RunCells{WindowID: "k", CellIDs: []wire.CellID{"c1", "c2", "c3"}})
	if e := d.waitCell("k", "c2", done()...); e.State != wire.CellFailed || !strings.Contains(e.Reason, "died") {
		t.Errorf("the cell that killed its kernel: got %+v, want that it died", e)
	}
	d.waitCell("k", "c3", wire.CellAborted)
	d.waitRow(wire.SayError)
	d.send("r5", wire.RunCells{WindowID: "k", CellIDs: []wire.CellID{"c4"}})
	d.waitCell("k", "c4", done()...)
	if got := d.shownCell("k", "c4"); got != "ok:gone\n" {
		t.Errorf("a cell after the death of the kernel: got %q, want gone", got)
	}

	// Code without a notebook.
	d.send("r6", wire.RunCells{WindowID: "console", Code: "print('direct')"})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool {
		return e.WindowID == "console" && len(e.Outputs) > 0 && strings.HasPrefix(e.Outputs[0].Text, "direct")
	})

	// The kernel ends with its window.
	kernel := k.last("monitor-0/k")
	if _, err := k.Kernel(t.Context(), kernel); err != nil {
		t.Fatalf("the kernel of an open window: got %v, want that it is there", err)
	}
	d.send("close", wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidCloseWindow, WindowID: "k"}}})
	k.waitGone(t, kernel)
	d.waitIdle()
}

// A hub that continues another one shows every line once, and does not run a cell again.
func TestNotebookIsTakenOver(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	for name, open := range map[string]func(*testing.T) *deployment{"file": newFileDeployment, "redis": newRedisDeployment} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, withKernels(k))
			d := o.newDesktop(t, wire.SessionID("ses-"+name))
			sendStopped, stopped := newSignal(t)
			sendTaken, taken := newSignal(t)
			d.openNotebook("n", "for i in range(100):\n    print(i, flush=True)\n    if i == 30:\n        "+stopped+"\n    if i == 60:\n        "+taken, "print('then')")
			d.send("r1", wire.RunCells{WindowID: "n"})
			waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.CellID == "c1" })
			second := withKernels(k)
			second.replica = "b"
			if name == "redis" { // both run
				next := startAgentHub(t, s, second)
				o.stop()
				sendStopped()
				o = next
			} else {
				o.stop()
				sendStopped()
				o = startAgentHub(t, s, second)
			}
			d = o.openDesktop(t, wire.SessionID("ses-"+name))
			sendTaken()
			d.waitCell("n", "c2", done()...)
			var want strings.Builder
			want.WriteString("ok:")
			for i := range 100 {
				fmt.Fprintf(&want, "%d\n", i)
			}
			if got := d.shownCell("n", "c1"); got != want.String() {
				t.Errorf("the lines of two owners: got %q, want 0 to 99 once", got)
			}
			if got := d.shownCell("n", "c2"); got != "ok:then\n" {
				t.Errorf("the next cell: got %q, want that it ran", got)
			}
			d.waitIdle()
		})
	}
}

// What a previous owner left out of the outputs of a cell counts on.
func TestTextLeftOutByAPreviousOwner(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	s := newFileDeployment(t)
	o := startAgentHub(t, s, withKernels(k))
	d := o.newDesktop(t, "ses-1")
	send, waits := newSignal(t)
	d.openNotebook("n", "print('x' * 200000, flush=True)\n"+waits+"\nprint('y' * 1000)")
	d.send("r1", wire.RunCells{WindowID: "n"})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.Cut > 0 })
	o.stop()
	d = startAgentHub(t, s, withKernels(k)).openDesktop(t, "ses-1")
	send()
	d.waitCell("n", "c1", done()...)
	cell, shown := d.notebook("n").Cells[0], 0
	for _, o := range cell.Outputs {
		shown += len(o.Text)
	}
	const printed = 200_001 + 1001
	if got := shown + int(cell.Cut); cell.State != wire.CellOK || got != printed {
		t.Errorf("got state %s, %d bytes and %d left out, together %d; want it ok and %d together", cell.State, shown, cell.Cut, got, printed)
	}
	d.waitIdle()
}

// blindKernels answer nothing about an execution that began earlier.
type blindKernels struct {
	session.Kernels

	gone bool
}

func (b *blindKernels) Connect(ctx context.Context, kernel, client string, receive func(kernels.Message)) (*kernels.Conn, error) {
	if b.gone {
		return nil, fmt.Errorf("test: %w", kernels.ErrGone)
	}
	return b.Kernels.Connect(ctx, kernel, client, receive) //nolint:wrapcheck // it is the kernels' own
}

// What cannot be known is said, and nothing runs twice.
func TestNotebookWhoseKernelIsGone(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	s := newFileDeployment(t)
	o := startAgentHub(t, s, withKernels(k))
	d := o.newDesktop(t, "ses-1")
	d.openNotebook("n", "print('begun', flush=True)\nimport time\ntime.sleep(600)", "print('next')")
	d.send("r1", wire.RunCells{WindowID: "n"})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.CellID == "c1" })
	o.stop()
	o = startAgentHub(t, s, withKernels(&blindKernels{Kernels: k, gone: true}))
	d = o.openDesktop(t, "ses-1")
	if e := d.waitCell("n", "c1", done()...); e.State != wire.CellUnknown || !strings.Contains(e.Reason, "may or may not") {
		t.Errorf("a cell whose kernel is gone: got %+v, want that it may or may not have run", e)
	}
	d.waitCell("n", "c2", wire.CellAborted)
	d.waitIdle()
}

// Without a Jupyter server notebooks can be read and edited, and running says why it does not work. Guests do not run
// code.
func TestNotebookWithoutKernels(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), withKernels(nil))
	d := o.newDesktop(t, "ses-1")
	d.openNotebook("n", "1")
	d.send("e1", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookEdit, CellID: "c1", Source: "2"})
	d.send("r1", wire.RunCells{WindowID: "n"})
	no := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("r1"))
	if !strings.Contains(no.Reason, "not configured") {
		t.Errorf("running: got %+v, want the reason why it does not work", no)
	}
	if got := d.notebook("n").Cells[0]; got.Source != "2" || got.State != "" {
		t.Errorf("the cell: got %+v, want the edited source and no state", got)
	}
	d.sendAsGuest("g1", wire.RunCells{WindowID: "n"})
	waitEvent(t, d.eventLog, func(r wire.MessageRejected) bool { return r.MessageID == "g1" })
	// Code that cannot run needs no approval.
	d.sendText(firstMonitor, "m1", `/call notebook:run_cell {"notebook":"n","code":"3"}`)
	d.waitTurnEnd("m1")
	if got := d.conversation(o.deployment, "main-monitor-0"); !strings.Contains(got, "not configured") {
		t.Errorf("the agent got %q, want the reason why code cannot run", got)
	}
	if asked := payloads[wire.ApprovalRequest](d.all()); len(asked) > 0 {
		t.Errorf("the user was asked %+v, want no question", asked)
	}
	d.waitIdle()
}

// A cell that runs when its session comes to a hub without kernels ends, and the kernel is shown as stopped.
func TestRunningNotebookComesToAHubWithoutKernels(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	s := newFileDeployment(t)
	o := startAgentHub(t, s, withKernels(k))
	d := o.newDesktop(t, "ses-1")
	d.openNotebook("n", "print('begun', flush=True)\nimport time\ntime.sleep(600)")
	d.send("r1", wire.RunCells{WindowID: "n"})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.CellID == "c1" })
	o.stop()
	d = startAgentHub(t, s, withKernels(nil)).openDesktop(t, "ses-1")
	d.waitCell("n", "c1", wire.CellUnknown)
	d.waitIdle()
	if got := d.notebook("n").Kernel; got.State != wire.KernelStopped || !strings.Contains(got.Reason, "not configured") {
		t.Errorf("the kernel: got %+v, want it stopped with the reason", got)
	}
}

// Agents run code with the permission of the user, and get its outputs.
func TestAgentsUseNotebooks(t *testing.T) {
	t.Parallel()
	server, k := startJupyter(t)
	o := startAgentHub(t, newFileDeployment(t), withKernels(k))
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", `/call notebook:open {"notebook":"n","cells":[{"source":"a = 6"}]}`)
	d.waitTurnEnd("m1")
	d.sendText(firstMonitor, "m2", `/call notebook:run_cell {"notebook":"n","code":"print(6 * 7)"}`)
	asked := waitEvent(t, d.eventLog, func(q wire.ApprovalRequest) bool { return strings.Contains(q.Message, "print(6 * 7)") })
	d.send("yes", wire.DialogFeedback{DialogID: asked.DialogID, Confirmed: true})
	d.waitTurnEnd("m2")
	n := d.notebook("n")
	if len(n.Cells) != 2 || n.Cells[1].AgentID == "" || n.Cells[1].State != wire.CellOK || len(n.Cells[1].Outputs) != 1 || n.Cells[1].Outputs[0].Text != "42\n" {
		t.Errorf("the notebook: got %+v, want the cell of the agent with 42", n)
	}
	if got := d.conversation(o.deployment, "main-monitor-0"); !strings.Contains(got, "42") {
		t.Errorf("the agent got %q, want the output", got)
	}

	// The server dies: what runs ends with a reason.
	d.openNotebook("s", "print('begun', flush=True)\nimport time\ntime.sleep(600)")
	d.send("r1", wire.RunCells{WindowID: "s"})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.WindowID == "s" })
	server.Stop()
	if e := d.waitCell("s", "c1", done()...); e.State == wire.CellOK || e.State == wire.CellAborted {
		t.Errorf("a cell whose server died: got %+v, want a failure", e)
	}
	d.waitIdle()
}

// slowKernels never start.
type slowKernels struct{ session.Kernels }

func (slowKernels) Open(ctx context.Context, _ kernels.Notebook) (kernels.Kernel, error) {
	<-ctx.Done()
	return kernels.Kernel{}, errors.Join(kernels.ErrUnavailable, ctx.Err())
}

// A cell whose kernel does not start can be interrupted, and the session is not held up by it.
func TestNotebookWhoseKernelDoesNotStart(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), withKernels(slowKernels{}))
	d := o.newDesktop(t, "ses-1")
	d.openNotebook("n", "1")
	d.send("r1", wire.RunCells{WindowID: "n"})
	waitEvent(t, d.eventLog, func(e wire.KernelStatus) bool { return e.State == wire.KernelStarting })
	d.send("i1", wire.ControlKernel{WindowID: "n", Op: wire.KernelInterrupt})
	d.waitCell("n", "c1", wire.CellAborted)
	stopped := make(chan struct{})
	go func() { o.stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(d.waitLimit):
		t.Fatal("the hub does not stop while a kernel starts")
	}
}
