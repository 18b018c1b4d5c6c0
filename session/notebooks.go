package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Kernels executes the code of notebooks; [kernels.Client] implements it. The methods block.
type Kernels interface {
	// Open returns the kernel of a notebook and starts it if there is none. Two calls for a notebook return
	// the same kernel. Beyond the limit of kernels the error is [kernels.ErrTooMany].
	Open(ctx context.Context, n kernels.Notebook) (kernels.Kernel, error)
	// Kernel returns a kernel, or [kernels.ErrGone].
	Kernel(ctx context.Context, id string) (kernels.Kernel, error)
	// Connect connects to the channels of a kernel under the name client, and ends an older connection of
	// that name. One goroutine at a time calls receive, which must not block.
	Connect(ctx context.Context, kernel, client string, receive func(kernels.Message)) (*kernels.Conn, error)
	// Interrupt interrupts what a kernel executes.
	Interrupt(ctx context.Context, id string) error
	// Restart restarts a kernel, which keeps its id and loses its variables.
	Restart(ctx context.Context, id string) error
	// Remove ends the kernel of a notebook, busy or not; without a name those of all notebooks of the
	// session. A notebook without a kernel is no error.
	Remove(ctx context.Context, n kernels.Notebook) error
}

const (
	notebooksTable = "notebooks"
	// maxRuns bounds the cells of a notebook that wait to be executed.
	maxRuns = 1000
)

// cellRun is an execution of a cell that was accepted and has not ended.
type cellRun struct {
	// ID is the id of the request to the kernel.
	ID   string      `json:"id"`
	Cell wire.CellID `json:"cell"`
	// Code is a digest of the source that was accepted. A cell that changes before it begins does not run: guests may
	// edit cells, but not run them.
	Code string `json:"code,omitempty"`
	// Group is the request that the run belongs to. After an error the others of the group are aborted.
	Group string `json:"group,omitempty"`
	// Begun is committed before the kernel gets the request. Only the kernel knows then whether it has run.
	Begun bool `json:"begun,omitempty"`
	// LastMessage is the newest message of the kernel whose output is committed.
	LastMessage string `json:"last,omitempty"`
	// Input is a question of the code that waits for an answer.
	Input *kernels.InputRequest `json:"input,omitempty"`
}

// notebookState is what is stored of the kernel of a notebook. The cells are in the desktop state.
type notebookState struct {
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window"`
	// Kernel is the id of the kernel; empty before it has started.
	Kernel string `json:"kernel,omitempty"`
	// Client names the connection to the kernel, the same at each owner, so that the server sends what it kept.
	Client string `json:"client"`
	// Journal says that the kernel remembers its messages.
	Journal bool `json:"journal,omitempty"`
	// JournalFailed says that the user knows that the kernel cannot do that.
	JournalFailed bool `json:"journalFailed,omitempty"`
	// NoFiles says that code in the kernel does not see the files of the session.
	NoFiles bool `json:"noFiles,omitempty"`
	// Op is a restart or stop of the kernel that was accepted and is performed before the runs.
	Op   wire.KernelOp `json:"op,omitempty"`
	Runs []cellRun     `json:"runs,omitempty"`
}

// openNotebook is a notebook whose kernel is in use, or may be.
type openNotebook struct {
	notebookState
	// runner executes the runs in a goroutine, which stop ends; nil without one.
	runner *notebookRunner
	stop   context.CancelFunc
	// waiters get the end of runs, by the id of the run.
	waiters map[string][]chan<- runEnd
}

// runEnd is how a run ended.
type runEnd struct {
	cell wire.Cell
	gone bool // the notebook or the cell does not exist any more
}

// notebooks executes cells beside the goroutine of the session. Each run begins and ends with a commit. The kernel of
// a run that began at a previous owner is asked for the rest of its output, and no code is sent twice. It belongs to
// the goroutine of the session.
type notebooks struct {
	w       *stepWriter
	port    port
	kernels Kernels
	off     string // why there are no kernels
	user    string // for whom kernels are counted
	log     *slog.Logger
	// cancel ends the goroutines of this owner, whose context is ctx, and stopped waits for them.
	ctx     context.Context
	cancel  context.CancelFunc
	stopped sync.WaitGroup
	all     map[windowKey]*openNotebook
	watch   *kernelWatch
}

func (nb *notebooks) restore(table map[string][]byte) error {
	nb.all = map[windowKey]*openNotebook{}
	for field, data := range table {
		n := &openNotebook{}
		if err := json.Unmarshal(data, &n.notebookState); err != nil {
			return fmt.Errorf("notebook %q: %w", field, err)
		}
		nb.all[windowKey{n.Monitor, n.Window}] = n
	}
	return nil
}

// allOps returns the ops that store everything.
func (nb *notebooks) allOps() []store.Op {
	var ops []store.Op
	for _, n := range nb.all {
		ops = append(ops, n.storeOp())
	}
	return ops
}

func (n *openNotebook) field() string { return fieldName(string(n.Monitor) + "/" + string(n.Window)) }

func (n *openNotebook) storeOp() store.Op {
	data, _ := json.Marshal(n.notebookState) // it has nothing that JSON cannot have
	return store.Set(notebooksTable, n.field(), data)
}

func (nb *notebooks) store(n *openNotebook) { nb.w.AddOps(n.storeOp()) }

// working reports whether cells run or wait.
func (nb *notebooks) working() bool {
	for _, n := range nb.all {
		if n.hasWork() {
			return true
		}
	}
	return false
}

// hasWork reports whether a runner has something to do.
func (n *openNotebook) hasWork() bool { return n.Op != "" || len(n.Runs) > 0 }

// cleanUp runs work in a step for a runner that was stopped, unless the owner ends.
func (nb *notebooks) cleanUp(work func()) {
	bounded, cancel := context.WithTimeout(nb.ctx, storeTimeout)
	defer cancel()
	_ = nb.port.runInStep(bounded, work) // as with [port.cleanUp]
}

// open returns what is known of the kernel of a notebook.
func (nb *notebooks) open(at windowKey) *openNotebook {
	n := nb.all[at]
	if n == nil {
		n = &openNotebook{notebookState: notebookState{Monitor: at.monitor, Window: at.window, Client: rand.Text()}}
		nb.all[at] = n
		nb.store(n)
	}
	return n
}

// place names the notebook for the server.
func (nb *notebooks) place(at windowKey, kernel string) kernels.Notebook {
	return kernels.Notebook{User: nb.user, Session: string(nb.w.id), Name: string(at.monitor) + "/" + string(at.window), Kernel: kernel}
}

// find returns the window of a notebook, which may be on another monitor than the preferred one.
func (nb *notebooks) find(prefer wire.MonitorID, id wire.WindowID) (windowKey, wire.Notebook, bool) {
	w, ok := nb.w.state.FindWindow(id, prefer)
	if !ok {
		return windowKey{}, wire.Notebook{}, false
	}
	at := windowKey{w.MonitorID, w.WindowID}
	content, ok := nb.w.state.Notebook(at.monitor, at.window)
	return at, content, ok
}

// enqueue adds cells to the runs of a notebook and starts to execute them after the commit. It returns the runs.
func (nb *notebooks) enqueue(at windowKey, cells []wire.Cell, group string) []string {
	n := nb.open(at)
	ids := make([]string, 0, len(cells))
	for _, c := range cells {
		run := cellRun{ID: rand.Text(), Cell: c.ID, Code: hashText(c.Source), Group: group}
		n.Runs = append(n.Runs, run)
		ids = append(ids, run.ID)
		nb.w.Emit(wire.CellExecuted{WindowID: at.window, MonitorID: at.monitor, CellID: c.ID, State: wire.CellQueued})
	}
	nb.store(n)
	nb.startRunner(at, n)
	return ids
}

// startRunner starts the goroutine that executes the runs of a notebook, unless it runs.
func (nb *notebooks) startRunner(at windowKey, n *openNotebook) {
	if n.runner != nil || !n.hasWork() || nb.kernels == nil {
		return
	}
	ctx, stop := context.WithCancel(nb.ctx)
	runner := &notebookRunner{nb: nb, at: at, n: n, rest: wire.KernelStatus{State: wire.KernelIdle}}
	n.runner, n.stop = runner, stop
	nb.w.AfterCommit(func() {
		nb.stopped.Go(func() {
			defer stop()
			runner.work(ctx)
		})
	})
}

// runnerEnded records that a runner ends, and starts another one if there is more to do. It may be called twice for
// one runner.
func (nb *notebooks) runnerEnded(r *notebookRunner) {
	if r.n.runner != r {
		return
	}
	r.n.runner, r.n.stop = nil, nil
	if nb.all[r.at] == r.n {
		nb.startRunner(r.at, r.n)
	}
	nb.watchKernels()
}

// recover continues the runs of a previous owner.
func (nb *notebooks) recover() {
	for at, n := range nb.all {
		if nb.kernels == nil {
			n.Op = ""
			nb.store(n)
			reason := "Notebooks cannot run code on this hub: " + nb.off
			nb.abortRuns(at, n, wire.CellUnknown, reason)
			nb.setKernel(at, wire.KernelStatus{State: wire.KernelStopped, Reason: reason})
			continue
		}
		nb.startRunner(at, n)
	}
	nb.checkAfterRecovery()
}

// background sends a request to the server after the commit.
func (nb *notebooks) background(at windowKey, what string, do func(context.Context) error) {
	nb.w.AfterCommit(func() {
		nb.stopped.Go(func() {
			if err := do(nb.ctx); err != nil {
				nb.log.WarnContext(nb.ctx, "request to the Jupyter server failed", "request", what, "window", at.window, "err", err)
			}
		})
	})
}

// limits returns what code in the kernel cannot do, as a sentence; empty if there is nothing.
func (n *notebookState) limits() string {
	if n.NoFiles {
		return "The kernel is elsewhere: its code does not see the files of this desktop, and what it writes does not appear there."
	}
	return ""
}

// run returns the run with an id, or nil if it has ended.
func (n *openNotebook) run(id string) *cellRun {
	i := slices.IndexFunc(n.Runs, func(r cellRun) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &n.Runs[i]
}

// endRun ends a run. After an error the others of its group are aborted.
func (nb *notebooks) endRun(at windowKey, n *openNotebook, run cellRun, e wire.CellExecuted) {
	e.WindowID, e.MonitorID, e.CellID = at.window, at.monitor, run.Cell
	n.Runs = slices.DeleteFunc(n.Runs, func(r cellRun) bool { return r.ID == run.ID })
	nb.withdrawInput(run)
	nb.w.Emit(e)
	nb.notify(at, n, run)
	if e.State != wire.CellOK && run.Group != "" {
		for _, r := range slices.Clone(n.Runs) {
			if r.Group == run.Group {
				r.Group = ""
				nb.endRun(at, n, r, wire.CellExecuted{State: wire.CellAborted, Reason: "An earlier cell failed."})
			}
		}
	}
	nb.store(n)
}

// notify tells the callers that wait for a run that it has ended.
func (nb *notebooks) notify(at windowKey, n *openNotebook, run cellRun) {
	waiters := n.waiters[run.ID]
	delete(n.waiters, run.ID)
	if len(waiters) == 0 {
		return
	}
	end := runEnd{gone: true}
	if content, ok := nb.w.state.Notebook(at.monitor, at.window); ok {
		if i := slices.IndexFunc(content.Cells, func(c wire.Cell) bool { return c.ID == run.Cell }); i >= 0 {
			end = runEnd{cell: content.Cells[i]}
		}
	}
	nb.w.AfterCommit(func() {
		for _, w := range waiters {
			w <- end
		}
	})
}

// abortRuns ends all runs of a notebook. Those that have begun get the state begun.
func (nb *notebooks) abortRuns(at windowKey, n *openNotebook, begun wire.CellState, reason string) {
	for _, r := range slices.Clone(n.Runs) {
		state := wire.CellAborted
		if r.Begun {
			state = begun
		}
		r.Group = ""
		nb.endRun(at, n, r, wire.CellExecuted{State: state, Reason: reason})
	}
}

// setKernel announces the state of a kernel, unless the notebook shows it already.
func (nb *notebooks) setKernel(at windowKey, s wire.KernelStatus) {
	content, ok := nb.w.state.Notebook(at.monitor, at.window)
	if !ok || content.Kernel.State == s.State && content.Kernel.Reason == s.Reason && s.Name == "" && slices.Equal(content.Kernel.Variables, s.Variables) {
		return
	}
	s.WindowID, s.MonitorID = at.window, at.monitor
	nb.w.Emit(s)
}

// addErrorRow shows a failure of a kernel in the conversation.
func (nb *notebooks) addErrorRow(at windowKey, text string) {
	nb.w.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayError, Text: text, MonitorID: at.monitor, WindowID: at.window})
}

// mayRun returns why cells of a notebook cannot be executed, or nil.
func (nb *notebooks) mayRun(at windowKey, cells int) error {
	if nb.kernels == nil {
		return fmt.Errorf("notebooks cannot run code on this hub: %s", nb.off)
	}
	if n := nb.all[at]; n != nil && len(n.Runs)+cells > maxRuns {
		return fmt.Errorf("%d cells of this notebook wait already", len(n.Runs))
	}
	return nil
}

// runnable returns the code cells among those with the given ids, or all code cells. Cells that wait or run already
// are left out.
func runnable(n wire.Notebook, ids []wire.CellID) ([]wire.Cell, error) {
	var cells []wire.Cell
	for _, c := range n.Cells {
		wanted := len(ids) == 0 || slices.Contains(ids, c.ID)
		if wanted && c.Kind == wire.CellCode && c.State != wire.CellQueued && c.State != wire.CellRunning {
			cells = append(cells, c)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(n.Cells, func(c wire.Cell) bool { return c.ID == id }) {
			return nil, fmt.Errorf("the notebook has no cell %q", id)
		}
	}
	return cells, nil
}
