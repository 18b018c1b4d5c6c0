package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/wire"
)

// Times of a runner.
const (
	// outputEvery is the shortest time between two commits of outputs. Large notebooks wait longer, because a commit
	// writes the whole content of the window.
	outputEvery = 150 * time.Millisecond
	// kernelStartTimeout bounds the start of a kernel, and reconnectTimeout how long a server may be unavailable
	// while a cell runs.
	kernelStartTimeout = 60 * time.Second
	reconnectTimeout   = 30 * time.Second
	reconnectEvery     = 500 * time.Millisecond
	// completeTimeout bounds a completion, which waits while a cell runs.
	completeTimeout = 10 * time.Second
	// checkEvery is how often a run that began at a previous owner is compared with what the kernel does.
	checkEvery = 2 * time.Second
)

// notebookRunner executes the runs of a notebook, one after the other. It runs beside the session and uses what belongs to
// the session only within steps.
type notebookRunner struct {
	nb *notebooks
	at windowKey
	n  *openNotebook

	conn *kernels.Conn
	run  *kernels.Run
	// died gets the state of a kernel that died.
	died chan wire.KernelState

	mu      sync.Mutex
	current *kernels.Run // the run that gets the messages of the connection
}

// setRun lets a run get the messages of the connection.
func (a *notebookRunner) setRun(r *kernels.Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run, a.current = r, r
}

// errRunEnded means that the run was ended by a command meanwhile.
var errRunEnded = errors.New("the run has ended")

// work executes runs until there are none.
func (a *notebookRunner) work(ctx context.Context) {
	defer a.disconnect()
	for {
		next, ok := a.next(ctx)
		if !ok {
			return
		}
		if err := a.execute(ctx, next); err != nil && ctx.Err() == nil {
			a.fail(ctx, next, err)
		}
		if ctx.Err() != nil {
			a.leave()
			return
		}
	}
}

// leave records the end of a runner that was stopped, unless the owner has ended.
func (a *notebookRunner) leave() {
	a.nb.port.cleanUp(func() { a.nb.runnerEnded(a) })
}

// next returns the run to execute. Without one the runner ends.
func (a *notebookRunner) next(ctx context.Context) (cellRun, bool) {
	var run cellRun
	ok := false
	err := a.nb.port.runInStep(ctx, func() {
		if len(a.n.Runs) == 0 {
			a.nb.setKernel(a.at, wire.KernelStatus{State: wire.KernelIdle})
			a.nb.runnerEnded(a)
			return
		}
		run, ok = a.n.Runs[0], true
	})
	if err != nil {
		if ctx.Err() != nil {
			a.leave()
		}
		return cellRun{}, false
	}
	return run, ok
}

func (a *notebookRunner) disconnect() {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
}

// execute executes a run, or continues one that has begun.
func (a *notebookRunner) execute(ctx context.Context, run cellRun) error {
	a.setRun(kernels.NewRun(run.ID, 0))
	if run.Begun {
		return a.resume(ctx, run)
	}
	if a.conn == nil || a.conn.Err() != nil {
		if err := a.start(ctx); err != nil {
			return err
		}
	}
	var source string
	if err := a.step(ctx, run.ID, func(r *cellRun) {
		cell, ok := a.cell(r.Cell)
		switch {
		case !ok:
			a.nb.endRun(a.at, a.n, *r, wire.CellExecuted{State: wire.CellAborted, Reason: "The cell was deleted."})
			return
		case r.Code != "" && hashText(cell.Source) != r.Code:
			a.nb.endRun(a.at, a.n, *r, wire.CellExecuted{State: wire.CellAborted, Reason: "The cell was edited while it waited."})
			return
		}
		source, r.Begun = cell.Source, true
		a.nb.store(a.n)
		a.nb.setKernel(a.at, wire.KernelStatus{State: wire.KernelBusy})
		a.nb.w.Emit(wire.CellExecuted{WindowID: a.at.window, MonitorID: a.at.monitor, CellID: r.Cell, State: wire.CellRunning})
	}); err != nil {
		return ignoreEnded(err)
	}
	if source == "" { // also of a cell that was not begun
		return ignoreEnded(a.step(ctx, run.ID, func(r *cellRun) { a.nb.endRun(a.at, a.n, *r, wire.CellExecuted{State: wire.CellOK}) }))
	}
	// From here on only the kernel knows whether the code has run.
	if err := a.conn.Execute(ctx, run.ID, source); err != nil {
		a.disconnect()
		return a.resume(ctx, run)
	}
	return a.collect(ctx, run, notResumed)
}

func ignoreEnded(err error) error {
	if errors.Is(err, errRunEnded) {
		return nil
	}
	return err
}

// cell returns a cell of the notebook. It is called within a step.
func (a *notebookRunner) cell(id wire.CellID) (wire.Cell, bool) {
	content, _ := a.nb.w.state.Notebook(a.at.monitor, a.at.window)
	for _, c := range content.Cells {
		if c.ID == id {
			return c, true
		}
	}
	return wire.Cell{}, false
}

// step runs work within a step, if the run has not ended, and waits for the commit.
func (a *notebookRunner) step(ctx context.Context, id string, work func(*cellRun)) error {
	var ended error
	if err := a.nb.port.runInStep(ctx, func() {
		r := a.n.run(id)
		if r == nil {
			ended = errRunEnded
			return
		}
		work(r)
	}); err != nil {
		return err
	}
	return ended
}

// dispatch returns the function that takes the messages of a connection.
func (a *notebookRunner) dispatch(died chan<- wire.KernelState) func(kernels.Message) {
	return func(m kernels.Message) {
		if state := kernels.StateOf(m); state != "" {
			select {
			case died <- state:
			default:
			}
		}
		a.mu.Lock()
		run := a.current
		a.mu.Unlock()
		run.Receive(m)
	}
}

// start finds or starts the kernel of the notebook and connects to it.
func (a *notebookRunner) start(ctx context.Context) error {
	a.disconnect()
	ctx, cancel := context.WithTimeout(ctx, kernelStartTimeout)
	defer cancel()
	var name, client, before string
	journal := false
	if err := a.nb.port.runInStep(ctx, func() {
		content, _ := a.nb.w.state.Notebook(a.at.monitor, a.at.window)
		name, client, before, journal = content.Kernel.Name, a.n.Client, a.n.Kernel, a.n.Journal
		if before == "" {
			a.nb.setKernel(a.at, wire.KernelStatus{State: wire.KernelStarting})
		}
	}); err != nil {
		return err
	}
	k, err := a.nb.kernels.Open(ctx, a.nb.place(a.at, name))
	if err != nil {
		return err
	}
	if k.ID != before {
		journal = false
		if err := a.nb.port.runInStep(ctx, func() {
			a.n.Kernel, a.n.Journal = k.ID, false
			a.nb.store(a.n)
			reason := ""
			if before != "" {
				reason = "A new kernel was started: the previous one has ended, and its variables are gone."
			}
			a.nb.setKernel(a.at, wire.KernelStatus{State: wire.KernelStarting, Reason: reason, Name: k.Name, Language: k.Language})
		}); err != nil {
			return err
		}
	}
	if err := a.connect(ctx, k.ID, client); err != nil {
		return err
	}
	a.conn.Resume()
	if journal || k.Language != "python" {
		return nil
	}
	if err := a.conn.InstallJournal(ctx); err != nil {
		return fmt.Errorf("the kernel does not answer: %w", err)
	}
	return a.nb.port.runInStep(ctx, func() {
		a.n.Journal = true
		a.nb.store(a.n)
	})
}

func (a *notebookRunner) connect(ctx context.Context, kernel, client string) error {
	a.died = make(chan wire.KernelState, 1)
	conn, err := a.nb.kernels.Connect(ctx, kernel, client, a.dispatch(a.died))
	if err == nil {
		a.conn = conn
	}
	return err
}

// resume continues a run that has begun, at this owner or a previous one.
func (a *notebookRunner) resume(ctx context.Context, run cellRun) error {
	var kernel, client, last string
	var input *kernels.InputRequest
	used := 0
	if err := a.step(ctx, run.ID, func(r *cellRun) {
		kernel, client, last, input = a.n.Kernel, a.n.Client, r.Last, r.Input
		if c, ok := a.cell(r.Cell); ok {
			used = outputSize(c.Outputs)
		}
	}); err != nil {
		return ignoreEnded(err)
	}
	a.setRun(kernels.NewRun(run.ID, used))
	if err := a.reconnect(ctx, kernel, client); err != nil {
		return err
	}
	whole, err := a.conn.Replay(ctx, run.ID, last)
	if err != nil {
		return err
	}
	if !whole {
		if err := a.step(ctx, run.ID, func(r *cellRun) {
			a.nb.w.Emit(wire.CellOutputs{WindowID: a.at.window, MonitorID: a.at.monitor, CellID: r.Cell, Outputs: []wire.CellOutput{{
				Type: wire.OutputStream, Name: "stderr", Text: "[The connection to the kernel was interrupted here. Some output may be missing.]\n",
			}}})
		}); err != nil {
			return ignoreEnded(err)
		}
	}
	if input != nil { // the answer may not have been sent
		if err := a.askInput(ctx, run, *input); err != nil {
			return ignoreEnded(err)
		}
	}
	known := resumedUnsure
	if whole {
		known = resumedWhole
	}
	if last != "" {
		a.run.MarkKnown()
	}
	return a.collect(ctx, run, known)
}

// reconnect connects to a kernel again while its server is unavailable for a short time.
func (a *notebookRunner) reconnect(ctx context.Context, kernel, client string) error {
	a.disconnect()
	ctx, cancel := context.WithTimeout(ctx, reconnectTimeout)
	defer cancel()
	for {
		err := a.connect(ctx, kernel, client)
		if err == nil || !errors.Is(err, kernels.ErrUnavailable) {
			return err
		}
		timer := time.NewTimer(reconnectEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func outputSize(outputs []wire.CellOutput) (n int) {
	for i := range outputs {
		n += len(outputs[i].Text) + len(outputs[i].Data) + len(outputs[i].Value)
	}
	return n
}

// resumption is what is known of a run from before the connection was made.
type resumption int

const (
	notResumed    resumption = iota
	resumedWhole             // the journal of the kernel has told everything
	resumedUnsure            // the kernel has no journal, or a part of it is gone
)

// collect commits what a run produces, until it is done. The kernel may have finished a resumed run without a message
// that comes here.
func (a *notebookRunner) collect(ctx context.Context, run cellRun, resumed resumption) error {
	var check <-chan time.Time
	if resumed != notResumed {
		t := time.NewTicker(checkEvery)
		defer t.Stop()
		check = t.C
	}
	idle := 0
	for {
		wait, done, err := a.flush(ctx, run)
		if done || err != nil {
			return ignoreEnded(err)
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case state := <-a.died:
			return a.kernelDied(ctx, run, state)
		case <-a.conn.Done():
			return a.resume(ctx, run)
		case <-a.run.Changed():
		case <-check:
			lost, err := a.checkResumed(ctx, run, resumed, &idle)
			if lost || err != nil {
				return err
			}
		}
	}
}

// errUnknown means that it is not known whether a cell has run.
var errUnknown = errors.New("it may or may not have run: the kernel has nothing to say about it")

// checkResumed finds out whether a kernel has finished a run without telling this owner. A journal that knows the run
// will tell its end. The state that the server reports is less certain: each connection makes it idle for a moment.
func (a *notebookRunner) checkResumed(ctx context.Context, run cellRun, resumed resumption, idle *int) (lost bool, err error) {
	switch {
	case a.run.Idle():
		a.run.AssumeReply()
		return false, nil
	case resumed == resumedWhole && a.run.Known():
		return false, nil
	}
	var kernel string
	if err := a.step(ctx, run.ID, func(*cellRun) { kernel = a.n.Kernel }); err != nil {
		return true, ignoreEnded(err)
	}
	k, err := a.nb.kernels.Kernel(ctx, kernel)
	switch {
	case errors.Is(err, kernels.ErrGone):
		return true, err
	case err != nil || k.State != "idle":
		*idle = 0
		return false, nil //nolint:nilerr // a server that does not answer now is asked again
	}
	if *idle++; *idle < 3 {
		return false, nil
	}
	return true, errUnknown
}

// flush commits what has come. It returns how long to wait before the next call.
func (a *notebookRunner) flush(ctx context.Context, run cellRun) (wait time.Duration, done bool, err error) {
	b := a.run.Take()
	if b.IsEmpty() && b.Input == nil && !b.Done {
		return 0, false, nil
	}
	err = a.step(ctx, run.ID, func(r *cellRun) {
		e := wire.CellOutputs{
			WindowID: a.at.window, MonitorID: a.at.monitor, CellID: r.Cell, Clear: b.Clear, Outputs: b.Outputs, Updates: b.Updates, Cut: b.Cut,
		}
		room := a.nb.w.state.RoomForOutputs(a.at.monitor, a.at.window)
		if size := outputSize(e.Outputs) + outputSize(e.Updates); size+notebookReserve > room {
			e.Cut += int64(size)
			e.Outputs, e.Updates = []wire.CellOutput{fullNotice()}, nil
			if room < notebookReserve/2 {
				e.Outputs = nil
			}
		}
		if cell, _ := a.cell(r.Cell); e.Clear || len(e.Outputs)+len(e.Updates) > 0 || e.Cut != cell.Cut {
			a.nb.w.Emit(e)
		}
		r.Last = b.Last
		wait = outputEvery * time.Duration(1+(desktop.MaxContent-room)/(desktop.MaxContent/4))
		if b.Done {
			a.nb.endRun(a.at, a.n, *r, wire.CellExecuted{State: b.State, Count: b.Count})
			return
		}
		a.nb.store(a.n)
	})
	if err == nil && b.Input != nil && !b.Done {
		err = a.askInput(ctx, run, *b.Input)
	}
	return wait, b.Done, err
}

// notebookReserve is the room in bytes that outputs leave for the sources of cells.
const notebookReserve = 16 << 10

func fullNotice() wire.CellOutput {
	return wire.CellOutput{Type: wire.OutputStream, Name: "stderr", Text: "[The notebook is full: remove outputs of other cells.]\n"}
}

// kernelDied ends the run of a kernel that died.
func (a *notebookRunner) kernelDied(ctx context.Context, run cellRun, state wire.KernelState) error {
	a.disconnect()
	const reason = "The kernel died while the cell ran. Its variables are gone."
	return ignoreEnded(a.step(ctx, run.ID, func(r *cellRun) {
		a.n.Journal = false // the server starts the kernel again
		a.nb.setKernel(a.at, wire.KernelStatus{State: state, Reason: reason})
		r.Group = ""
		a.nb.endRun(a.at, a.n, *r, wire.CellExecuted{State: wire.CellFailed, Reason: reason})
		a.nb.abortRuns(a.at, a.n, wire.CellAborted, "The kernel died.")
		a.nb.addErrorRow(a.at, reason)
	}))
}

// fail ends a run that could not be executed, or whose outcome is not known, and all that wait.
func (a *notebookRunner) fail(ctx context.Context, run cellRun, err error) {
	a.disconnect()
	a.nb.log.WarnContext(ctx, "executing a cell failed", "window", a.at.window, "err", err)
	_ = a.step(ctx, run.ID, func(r *cellRun) {
		reason := publicKernelReason(err)
		if r.Begun {
			reason += " The cell may or may not have run to its end."
		}
		state := wire.KernelStopped
		if errors.Is(err, errUnknown) {
			state = wire.KernelIdle
		}
		a.nb.setKernel(a.at, wire.KernelStatus{State: state, Reason: reason})
		a.nb.abortRuns(a.at, a.n, wire.CellUnknown, reason)
		a.nb.addErrorRow(a.at, reason)
	})
}

// publicKernelReason returns why code could not be executed, as a sentence without addresses.
func publicKernelReason(err error) string {
	switch {
	case errors.Is(err, kernels.ErrGone):
		return "The kernel is gone."
	case errors.Is(err, kernels.ErrRefused):
		return "The Jupyter server refuses the token of the hub."
	case errors.Is(err, kernels.ErrTooMany):
		return "All kernels that this hub allows are busy. Stop one, or wait."
	case errors.Is(err, kernels.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return "The Jupyter server or the kernel does not answer."
	case errors.Is(err, errUnknown):
		return "The connection to the kernel was lost."
	}
	return "The kernel could not be started: " + err.Error() + "."
}
