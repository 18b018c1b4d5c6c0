package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
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
	// completeTimeout bounds a completion.
	completeTimeout = 10 * time.Second
	// checkEvery is how often a run is compared with what the kernel does.
	checkEvery = 2 * time.Second
	// checksReplied, checksIdle and checksSilent are the checks in a row after which a run with a reply has lost its end,
	// a resumed run is unknown to a kernel that is idle, and a request that was sent has not reached it.
	checksReplied = 2
	checksIdle    = 3
	checksSilent  = 15
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
	// rest is the state of the kernel when there is nothing to do.
	rest wire.KernelStatus
	// variablesStale says that code ran since the kernel was asked for its variables.
	variablesStale bool
	// note is shown with the cell that runs.
	note string
	// files finds the files that cells change; nil before the first run. filesFull says that users know that there are too
	// many.
	files     FileWatch
	filesFull bool

	mu      sync.Mutex
	current *kernels.Run // the run that gets the messages of the connection
}

// setRun lets a run get the messages of the connection.
func (r *notebookRunner) setRun(run *kernels.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run, r.current = run, run
}

// errRunEnded means that the run was ended by a command meanwhile.
var errRunEnded = errors.New("the run has ended")

// work executes runs until there are none.
func (r *notebookRunner) work(ctx context.Context) {
	defer r.disconnect()
	for ctx.Err() == nil {
		op, next, ok := r.next(ctx)
		switch {
		case !ok:
			return
		case op == listVariables:
			r.readVariables(ctx)
		case op != "":
			r.perform(ctx, op)
		default:
			r.watchFiles(ctx)
			if err := r.execute(ctx, next); err != nil && ctx.Err() == nil {
				r.fail(ctx, next, err)
			}
			r.publishFiles(ctx)
		}
	}
	r.leave()
}

// leave records the end of a runner that was stopped, unless the owner has ended. The next runner uses the same name for
// its connection, so this one must not be open then.
func (r *notebookRunner) leave() {
	r.disconnect()
	r.nb.cleanUp(func() { r.nb.runnerEnded(r) })
}

// next returns the operation to perform or the run to execute. Without one the runner ends.
func (r *notebookRunner) next(ctx context.Context) (op wire.KernelOp, run cellRun, ok bool) {
	err := r.nb.port.runInStep(ctx, func() {
		switch {
		case r.n.Op != "":
			op, ok = r.n.Op, true
		case len(r.n.Runs) > 0:
			run, ok = r.n.Runs[0], true
		case r.n.Journal && r.variablesStale && r.conn != nil:
			op, ok = listVariables, true
		default:
			r.nb.setKernel(r.at, r.rest)
			r.nb.runnerEnded(r)
		}
	})
	if err != nil {
		if ctx.Err() != nil {
			r.leave()
		}
		return "", cellRun{}, false
	}
	return op, run, ok
}

func (r *notebookRunner) disconnect() {
	if r.conn != nil {
		r.conn.Close()
		r.conn = nil
	}
}

// execute executes a run, or continues one that has begun.
func (r *notebookRunner) execute(ctx context.Context, run cellRun) error {
	r.setRun(kernels.NewRun(run.ID, 0, 0))
	if run.Begun {
		return r.resume(ctx, run)
	}
	if r.conn == nil || r.conn.Err() != nil || r.hasDied() {
		if err := r.start(ctx); err != nil {
			return err
		}
	}
	var source string
	if err := r.step(ctx, run.ID, func(cr *cellRun) {
		cell, ok := r.cell(cr.Cell)
		switch {
		case !ok:
			r.nb.endRun(r.at, r.n, *cr, wire.CellExecuted{State: wire.CellAborted, Reason: "The cell was deleted."})
			return
		case cr.Code != "" && hashText(cell.Source) != cr.Code:
			r.nb.endRun(r.at, r.n, *cr, wire.CellExecuted{State: wire.CellAborted, Reason: "The cell was edited while it waited."})
			return
		}
		source, cr.Begun = cell.Source, true
		r.rest, r.variablesStale = wire.KernelStatus{State: wire.KernelIdle, Reason: r.n.limits()}, true
		r.nb.store(r.n)
		r.nb.setKernel(r.at, wire.KernelStatus{State: wire.KernelBusy, Reason: r.n.limits()})
		r.nb.w.Emit(wire.CellExecuted{WindowID: r.at.window, MonitorID: r.at.monitor, CellID: cr.Cell, State: wire.CellRunning})
	}); err != nil {
		return ignoreEnded(err)
	}
	if source == "" { // also of a cell that was not begun
		return ignoreEnded(r.step(ctx, run.ID, func(cr *cellRun) { r.nb.endRun(r.at, r.n, *cr, wire.CellExecuted{State: wire.CellOK}) }))
	}
	// From here on only the kernel knows whether the code has run.
	if err := r.conn.Execute(ctx, run.ID, source); err != nil {
		r.disconnect()
		return r.resume(ctx, run)
	}
	return r.collect(ctx, run, notResumed)
}

func ignoreEnded(err error) error {
	if errors.Is(err, errRunEnded) {
		return nil
	}
	return err
}

// cell returns a cell of the notebook. It is called within a step.
func (r *notebookRunner) cell(id wire.CellID) (wire.Cell, bool) {
	content, _ := r.nb.w.state.Notebook(r.at.monitor, r.at.window)
	for _, c := range content.Cells {
		if c.ID == id {
			return c, true
		}
	}
	return wire.Cell{}, false
}

// step runs work within a step, if the run has not ended, and waits for the commit.
func (r *notebookRunner) step(ctx context.Context, id string, work func(*cellRun)) error {
	var ended error
	if err := r.nb.port.runInStep(ctx, func() {
		cr := r.n.run(id)
		if cr == nil {
			ended = errRunEnded
			return
		}
		work(cr)
	}); err != nil {
		return err
	}
	return ended
}

// dispatch returns the function that takes the messages of a connection.
func (r *notebookRunner) dispatch(died chan<- wire.KernelState) func(kernels.Message) {
	return func(m kernels.Message) {
		if state := kernels.StateOf(m); state != "" {
			select {
			case died <- state:
			default:
			}
		}
		r.mu.Lock()
		run := r.current
		r.mu.Unlock()
		run.Receive(m)
	}
}

// resume continues a run that has begun, at this owner or a previous one.
func (r *notebookRunner) resume(ctx context.Context, run cellRun) error {
	r.disconnect() // else it may deliver messages that the replay brings again
	var kernel, client, last string
	var input *kernels.InputRequest
	used, cut := 0, int64(0)
	if err := r.step(ctx, run.ID, func(cr *cellRun) {
		kernel, client, last, input = r.n.Kernel, r.n.Client, cr.LastMessage, cr.Input
		if c, ok := r.cell(cr.Cell); ok {
			used, cut = outputSize(c.Outputs), c.Cut
		}
	}); err != nil {
		return ignoreEnded(err)
	}
	r.setRun(kernels.NewRun(run.ID, used, cut))
	r.variablesStale = true
	if err := r.reconnect(ctx, kernel, client); err != nil {
		return err
	}
	_ = r.awaitConn(ctx) // else what is published between the replay and the subscription would be lost
	complete, err := r.conn.Replay(ctx, run.ID, last)
	if err != nil {
		return err
	}
	if !complete {
		if err := r.step(ctx, run.ID, func(cr *cellRun) {
			r.nb.w.Emit(wire.CellOutputs{WindowID: r.at.window, MonitorID: r.at.monitor, CellID: cr.Cell, Cut: cut, Outputs: []wire.CellOutput{{
				Type: wire.OutputStream, Name: "stderr", Text: "[The connection to the kernel was interrupted here. Some output may be missing.]\n",
			}}})
		}); err != nil {
			return ignoreEnded(err)
		}
	}
	if input != nil { // the answer may not have been sent
		if err := r.askInput(ctx, run, *input); err != nil {
			return ignoreEnded(err)
		}
	}
	resumed := resumedUnsure
	if complete {
		resumed = resumedComplete
	}
	if last != "" {
		r.run.MarkPublished()
	}
	return r.collect(ctx, run, resumed)
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
	notResumed      resumption = iota
	resumedComplete            // the journal of the kernel has reported everything
	resumedUnsure              // the kernel has no journal, or a part of it is gone
)

// collect commits what a run produces, until it is done. The kernel may have finished the run without a message that
// comes here: one that went to a previous owner, or got lost.
func (r *notebookRunner) collect(ctx context.Context, run cellRun, resumed resumption) error {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	checks := 0
	for {
		wait, done, err := r.flush(ctx, run)
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
		case state := <-r.died:
			return r.kernelDied(ctx, run, state)
		case <-r.conn.Done():
			return r.resume(ctx, run)
		case <-r.run.Changed():
			checks = 0 // the kernel is at work
		case <-check.C:
			result, err := r.check(ctx, run, resumed, &checks)
			switch {
			case err != nil:
				return ignoreEnded(err)
			case result == checkResume:
				return r.resume(ctx, run)
			}
		}
	}
}

// errUnknown means that it is not known whether a cell has run.
var errUnknown = errors.New("it may or may not have run: the kernel has nothing to say about it")

// checkResult is what to do after a check.
type checkResult int

const (
	checkWait   checkResult = iota
	checkResume             // ask the journal of the kernel for the rest
)

// check finds out whether a kernel has finished a run without a report to this owner. A journal that knows the run will report
// its end. The state that the server reports is less certain: each connection makes it idle for a moment. checks counts
// the calls in a row that found the same.
func (r *notebookRunner) check(ctx context.Context, run cellRun, resumed resumption, checks *int) (checkResult, error) {
	switch {
	case r.run.Idle() && (resumed != notResumed || *checks > 0):
		r.run.EndWithoutReply()
		return checkWait, nil
	case r.run.Idle():
		*checks++
		return checkWait, nil
	case r.run.Replied():
		if *checks++; *checks < checksReplied {
			return checkWait, nil
		}
		*checks = 0
		return r.endReplied(ctx, run)
	case resumed != resumedUnsure && r.run.Published():
		*checks = 0
		return checkWait, nil
	}
	var kernel string
	if err := r.step(ctx, run.ID, func(*cellRun) { kernel = r.n.Kernel }); err != nil {
		return checkWait, err
	}
	k, err := r.nb.kernels.Kernel(ctx, kernel)
	switch {
	case errors.Is(err, kernels.ErrGone):
		return checkWait, err
	case err != nil || k.State != "idle":
		*checks = 0
		return checkWait, nil //nolint:nilerr // a server that does not answer now is asked again
	}
	most := checksIdle
	if resumed == notResumed {
		most = checksSilent
	}
	if *checks++; *checks < most {
		return checkWait, nil
	}
	return checkWait, errUnknown
}

// endReplied ends a run whose reply has come and whose end has not. A journal knows what else got lost.
func (r *notebookRunner) endReplied(ctx context.Context, run cellRun) (checkResult, error) {
	journal := false
	if err := r.step(ctx, run.ID, func(*cellRun) { journal = r.n.Journal }); err != nil {
		return checkWait, err
	}
	if journal {
		return checkResume, nil
	}
	r.run.EndWithoutIdle()
	return checkWait, nil
}

// flush commits what has come. It returns how long to wait before the next call.
func (r *notebookRunner) flush(ctx context.Context, run cellRun) (wait time.Duration, done bool, err error) {
	b := r.run.Take()
	if b.IsEmpty() && b.Input == nil && !b.Done {
		return 0, false, nil
	}
	err = r.step(ctx, run.ID, func(cr *cellRun) {
		e := wire.CellOutputs{
			WindowID: r.at.window, MonitorID: r.at.monitor, CellID: cr.Cell, Clear: b.Clear, Outputs: b.Outputs, Updates: b.Updates, Cut: b.Cut,
		}
		room := r.nb.w.state.RoomForOutputs(r.at.monitor, r.at.window)
		cell, _ := r.cell(cr.Cell)
		if storedSize(e.Outputs)+storedSize(e.Updates)+notebookReserve > room {
			e.Cut = r.run.LeaveOut(outputSize(e.Outputs) + outputSize(e.Updates))
			e.Outputs, e.Updates = nil, nil
			if room >= notebookReserve/2 && (e.Clear || !hasFullNotice(cell.Outputs)) {
				e.Outputs = []wire.CellOutput{{Type: wire.OutputStream, Name: "stderr", Text: fullNotice}}
			}
		}
		if e.Clear || len(e.Outputs)+len(e.Updates) > 0 || e.Cut != cell.Cut {
			r.nb.w.Emit(e)
		}
		cr.LastMessage = b.LastMessage
		if b.Lost {
			r.note = lostOutput
		}
		wait = outputEvery * time.Duration(1+(desktop.MaxContent-room)/(desktop.MaxContent/4))
		if b.Done {
			r.nb.endRun(r.at, r.n, *cr, wire.CellExecuted{State: b.State, Count: b.Count, Reason: r.note})
			r.note = ""
			return
		}
		r.nb.store(r.n)
	})
	if err == nil && b.Input != nil && !b.Done {
		err = r.askInput(ctx, run, *b.Input)
	}
	return wait, b.Done, err
}

// lostOutput is what users see if the Jupyter server leaves out output.
const lostOutput = "The Jupyter server left out output of the cell, because it came too fast. " +
	"It does not if it is started with --ServerApp.iopub_data_rate_limit=0 and --ServerApp.iopub_msg_rate_limit=0."

// notebookReserve is the room in bytes that outputs leave for the sources of cells.
const notebookReserve = 16 << 10

// fullNotice is shown once in the outputs of a cell that the notebook has no room for.
const fullNotice = "[The notebook is full: remove outputs of other cells.]\n"

func hasFullNotice(outputs []wire.CellOutput) bool {
	return slices.ContainsFunc(outputs, func(o wire.CellOutput) bool {
		return o.Type == wire.OutputStream && strings.HasSuffix(o.Text, fullNotice)
	})
}

// storedSize returns the size in bytes of outputs in the content of the window.
func storedSize(outputs []wire.CellOutput) int {
	data, _ := json.Marshal(outputs) // they came as JSON
	return len(data)
}

// fail ends a run that could not be executed, or whose outcome is not known, and all that wait.
func (r *notebookRunner) fail(ctx context.Context, run cellRun, err error) {
	r.disconnect()
	r.nb.log.WarnContext(ctx, "executing a cell failed", "window", r.at.window, "err", err)
	_ = r.step(ctx, run.ID, func(cr *cellRun) {
		reason := publicKernelReason(err)
		if cr.Begun {
			reason += " The cell may or may not have run to its end."
		}
		state := wire.KernelStopped
		if errors.Is(err, errUnknown) {
			state = wire.KernelIdle
		}
		r.rest = wire.KernelStatus{State: state, Reason: reason}
		r.nb.setKernel(r.at, r.rest)
		r.nb.abortRuns(r.at, r.n, wire.CellUnknown, reason)
		r.nb.addErrorRow(r.at, reason)
	})
}
