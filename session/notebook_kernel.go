package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// awaitTimeout bounds the wait for a kernel on one connection.
	awaitTimeout = 5 * time.Second
	// variablesTimeout bounds the question for variables.
	variablesTimeout = 5 * time.Second
	// endKernelsTimeout bounds the end of the kernels of a session that is deleted.
	endKernelsTimeout = 10 * time.Second
)

// start finds or starts the kernel of the notebook and connects to it.
func (r *notebookRunner) start(ctx context.Context) error {
	r.disconnect()
	ctx, cancel := context.WithTimeout(ctx, kernelStartTimeout)
	defer cancel()
	var name, client, before string
	journal := false
	if err := r.nb.port.runInStep(ctx, func() {
		content, _ := r.nb.w.state.Notebook(r.at.monitor, r.at.window)
		name, client, before, journal = content.Kernel.Name, r.n.Client, r.n.Kernel, r.n.Journal
		if before == "" || content.Kernel.State == wire.KernelStopped {
			r.nb.setKernel(r.at, wire.KernelStatus{State: wire.KernelStarting})
		}
	}); err != nil {
		return err
	}
	k, err := r.open(ctx, name)
	if err != nil {
		return err
	}
	if k.ID != before {
		if err := r.nb.port.runInStep(ctx, func() {
			r.n.Kernel, r.n.Journal, r.n.JournalFailed, r.n.NoFiles = k.ID, false, false, k.NoFiles
			r.nb.store(r.n)
			r.nb.setKernel(r.at, wire.KernelStatus{State: wire.KernelStarting, Name: k.Name, Language: k.Language})
			if before != "" {
				r.note = "The kernel had ended and a new one was started: the variables of earlier cells are gone."
				r.nb.addErrorRow(r.at, r.note)
			}
		}); err != nil {
			return err
		}
	}
	if err := r.connectAlive(ctx, k.ID, client); err != nil {
		return err
	}
	if k.Language != "python" {
		return nil
	}
	return r.installJournal(ctx, k.ID == before && journal)
}

// open returns the kernel of the notebook. The server keeps kernels that died too often, and never starts them again.
func (r *notebookRunner) open(ctx context.Context, name string) (kernels.Kernel, error) {
	place := r.nb.place(r.at, name)
	r.nb.port.owner.live.env.kernelEnds.drop(place) // a window with the same id was opened again
	k, err := r.nb.kernels.Open(ctx, place)
	if err != nil || k.State != "dead" {
		return k, err
	}
	if err := r.nb.kernels.Remove(ctx, place); err != nil {
		return k, err
	}
	return r.nb.kernels.Open(ctx, place)
}

// connectAlive connects to a kernel and waits until it answers. A kernel that has just died gets other ports when the
// server starts it again, which only a new connection knows.
func (r *notebookRunner) connectAlive(ctx context.Context, kernel, client string) error {
	for {
		if err := r.connect(ctx, kernel, client); err != nil {
			return err
		}
		err := r.awaitConn(ctx)
		if err == nil {
			r.conn.Resume()
			r.hasDied() // it lives again
			return nil
		}
		r.disconnect()
		if ctx.Err() != nil {
			return err
		}
	}
}

// awaitConn waits a while until the kernel answers on the connection.
func (r *notebookRunner) awaitConn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	return r.conn.Await(ctx)
}

// hasDied reports whether the kernel has died since the last call, or since the connection was made.
func (r *notebookRunner) hasDied() bool {
	select {
	case <-r.died:
		return true
	default:
		return false
	}
}

// installJournal makes the kernel remember what it publishes. It does so each time, because a kernel that died while it
// was idle was started again by the server, under the same id. had says that the kernel had a journal.
func (r *notebookRunner) installJournal(ctx context.Context, had bool) error {
	installed, err := r.conn.InstallJournal(ctx)
	if err != nil && !errors.Is(err, kernels.ErrNoJournal) {
		return fmt.Errorf("the kernel does not answer: %w", err)
	}
	if err != nil {
		r.nb.log.WarnContext(ctx, "installing the journal of a kernel failed", "window", r.at.window, "err", err)
	}
	if had && err == nil && !installed {
		return nil
	}
	return r.nb.port.runInStep(ctx, func() {
		switch {
		case err != nil && !r.n.JournalFailed:
			r.nb.addErrorRow(r.at, "The kernel cannot remember its output. If the hub is restarted while a cell runs, some output may be missing.")
		case had && installed:
			r.nb.addErrorRow(r.at, "The kernel had died and was started again. Its variables are gone.")
		}
		r.n.Journal, r.n.JournalFailed = err == nil, err != nil
		r.nb.store(r.n)
	})
}

func (r *notebookRunner) connect(ctx context.Context, kernel, client string) error {
	r.died = make(chan wire.KernelState, 1)
	conn, err := r.nb.kernels.Connect(ctx, kernel, client, r.dispatch(r.died))
	if err == nil {
		r.conn = conn
	}
	return err
}

// reconnect connects to a kernel again while its server is unavailable for a short time.
func (r *notebookRunner) reconnect(ctx context.Context, kernel, client string) error {
	r.disconnect()
	ctx, cancel := context.WithTimeout(ctx, reconnectTimeout)
	defer cancel()
	for {
		err := r.connect(ctx, kernel, client)
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

// kernelDied ends the run of a kernel that died.
func (r *notebookRunner) kernelDied(ctx context.Context, run cellRun, state wire.KernelState) error {
	r.disconnect()
	const reason = "The kernel died while the cell ran. Its variables are gone."
	return ignoreEnded(r.step(ctx, run.ID, func(cr *cellRun) {
		r.n.Journal = false
		r.rest = wire.KernelStatus{State: wire.KernelIdle, Reason: reason} // the server starts the kernel again
		if state == wire.KernelDead {
			r.rest.State = wire.KernelStopped
		}
		r.nb.setKernel(r.at, wire.KernelStatus{State: state, Reason: reason})
		cr.Group = ""
		r.nb.endRun(r.at, r.n, *cr, wire.CellExecuted{State: wire.CellFailed, Reason: reason})
		r.nb.abortRuns(r.at, r.n, wire.CellAborted, "The kernel died.")
		r.nb.addErrorRow(r.at, reason)
	}))
}

// control interrupts, restarts or stops the kernel of a notebook. Cells that wait are aborted. An interruption is sent at
// once. The others are stored and performed before the next run, by the next owner if this one is lost.
func (nb *notebooks) control(at windowKey, op wire.KernelOp) {
	n := nb.all[at]
	if n == nil {
		return // there is no kernel
	}
	if op == wire.KernelInterrupt {
		for _, r := range slices.Clone(n.Runs) {
			if r.Group = ""; !r.Begun {
				nb.endRun(at, n, r, wire.CellExecuted{State: wire.CellAborted, Reason: "Interrupted."})
			}
		}
		if kernel := n.Kernel; kernel != "" && len(n.Runs) > 0 {
			nb.background(at, "interrupt a kernel", func(ctx context.Context) error { return nb.kernels.Interrupt(ctx, kernel) })
		}
		return
	}
	if len(n.Runs) > 0 {
		nb.addErrorRow(at, kernelOpDone(op)+" The cells that ran or waited were aborted.")
	}
	nb.abortRuns(at, n, wire.CellAborted, kernelOpDone(op))
	if nb.kernels == nil || n.Kernel == "" && n.runner == nil {
		nb.setKernel(at, wire.KernelStatus{State: wire.KernelStopped})
		return
	}
	nb.setKernel(at, wire.KernelStatus{State: wire.KernelRestarting})
	nb.begin(at, n, op)
}

// begin stores an operation, stops what runs, and performs it after the commit. Stopping includes restarting.
func (nb *notebooks) begin(at windowKey, n *openNotebook, op wire.KernelOp) {
	if n.Op != wire.KernelStop {
		n.Op = op
	}
	nb.store(n)
	if n.stop != nil {
		n.stop() // the next runner performs it
	}
	nb.startRunner(at, n)
}

// kernelOpDone says what was done.
func kernelOpDone(op wire.KernelOp) string {
	if op == wire.KernelStop {
		return "The kernel was stopped."
	}
	return "The kernel was restarted."
}

// perform restarts or stops the kernel. If the runner is stopped before it has recorded that, the next one repeats it.
func (r *notebookRunner) perform(ctx context.Context, op wire.KernelOp) {
	r.disconnect()
	bounded, cancel := context.WithTimeout(ctx, kernelStartTimeout)
	defer cancel()
	var kernel string
	if r.nb.port.runInStep(bounded, func() { kernel = r.n.Kernel }) != nil {
		return
	}
	var err error
	switch {
	case op == wire.KernelStop:
		err = r.nb.kernels.Remove(bounded, r.nb.place(r.at, ""))
		r.nb.port.owner.live.env.kernelEnds.add(r.nb.place(r.at, ""), err)
	case kernel != "":
		err = r.nb.kernels.Restart(bounded, kernel)
	}
	if ctx.Err() != nil {
		return
	}
	gone := errors.Is(err, kernels.ErrGone) // and its variables with it
	if err != nil && !gone {
		r.nb.log.WarnContext(ctx, "request to the Jupyter server failed", "request", string(op)+" a kernel", "window", r.at.window, "err", err)
	}
	_ = r.nb.port.runInStep(ctx, func() { // an error means that the runner was stopped
		r.rest = wire.KernelStatus{State: wire.KernelIdle, Reason: kernelOpDone(op) + " Its variables are gone."}
		if op == wire.KernelStop {
			r.rest.State = wire.KernelStopped
		}
		if err != nil && !gone {
			r.rest = wire.KernelStatus{State: wire.KernelStopped, Reason: publicKernelReason(err)}
		}
		r.n.Op, r.n.Journal = "", false
		if op == wire.KernelStop || gone {
			r.n.Kernel = ""
		}
		r.nb.setKernel(r.at, r.rest)
		r.nb.store(r.n)
		r.nb.dropClosed(r.at, r.n)
	})
}

// listVariables is the operation of a runner that has nothing else to do. It is not stored.
const listVariables wire.KernelOp = "variables"

// readVariables asks the kernel for its variables, which the notebook shows while the kernel is idle.
func (r *notebookRunner) readVariables(ctx context.Context) {
	r.variablesStale = false
	ctx, cancel := context.WithTimeout(ctx, variablesTimeout)
	defer cancel()
	all, err := r.conn.Variables(ctx)
	if err != nil {
		r.nb.log.DebugContext(ctx, "the kernel does not say its variables", "window", r.at.window, "err", err)
	}
	r.rest.Variables = all
}

// dropClosed deletes what is stored of a notebook whose window was closed, once its kernel has ended.
func (nb *notebooks) dropClosed(at windowKey, n *openNotebook) {
	if _, open := nb.w.state.Notebook(at.monitor, at.window); !open && n.Op == "" && len(n.Runs) == 0 {
		delete(nb.all, at)
		nb.w.AddOps(store.Unset(notebooksTable, n.field()))
	}
}

// sweep ends the kernels of notebooks whose windows were closed.
func (nb *notebooks) sweep() {
	for at, n := range nb.all {
		if _, open := nb.w.state.Notebook(at.monitor, at.window); open || n.Op == wire.KernelStop && len(n.Runs) == 0 {
			continue
		}
		nb.abortRuns(at, n, wire.CellAborted, "The notebook was closed.")
		if nb.kernels == nil {
			n.Op = ""
			nb.dropClosed(at, n)
			continue
		}
		nb.begin(at, n, wire.KernelStop)
	}
}

// close stops all runners and waits for them.
func (nb *notebooks) close() {
	nb.cancel()
	nb.stopped.Wait()
}

// endKernels ends the kernels of a session, busy or not.
func (e *environment) endKernels(ctx context.Context, id wire.SessionID) error {
	if e.cfg.Kernels == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endKernelsTimeout)
	defer cancel()
	err := e.cfg.Kernels.Remove(ctx, kernels.Notebook{Session: string(id)})
	if err != nil {
		e.log.WarnContext(ctx, "ending the kernels of a session failed", "session", string(id), "err", err)
	}
	return err
}

// endKernelsOfDeleted ends the kernels of a session that is about to be deleted. In the other order a hub that is lost in
// between would leave busy kernels forever. If the Jupyter server does not answer, the session is deleted all the same, and
// the kernels end later.
func (e *environment) endKernelsOfDeleted(ctx context.Context, id wire.SessionID) {
	if err := e.endKernels(ctx, id); err != nil {
		e.kernelEnds.add(kernels.Notebook{Session: string(id)}, err)
	}
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
