package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// ChangeNotebook implements [tools.Notebooks].
func (p port) ChangeNotebook(ctx context.Context, c tools.Caller, change wire.NotebookChanged) error {
	var refused error
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), work: func() {
		if r := p.owner.w.state.CheckNotebook(change); r != nil {
			refused = errors.New(r.Reason)
			return
		}
		p.owner.w.Emit(change)
	}}); err != nil {
		return err
	}
	return refused
}

// NotebooksOff returns why notebooks cannot run code on this hub; empty if they can.
func (h *Hub) NotebooksOff() string {
	if h.env.cfg.Kernels != nil {
		return ""
	}
	return cmp.Or(h.env.cfg.KernelsOff, "it has no kernels")
}

// CheckRun implements [tools.Notebooks].
func (p port) CheckRun(ctx context.Context, c tools.Caller, window wire.WindowID) (err error) {
	if failed := p.runInStep(ctx, func() { err = p.owner.agents.notebooks.mayRun(windowKey{c.Monitor, window}, 1) }); failed != nil {
		return failed
	}
	return err
}

// RunCell implements [tools.Notebooks].
func (p port) RunCell(ctx context.Context, c tools.Caller, window wire.WindowID, cell wire.CellID, source string) (wire.Cell, error) {
	at, done := windowKey{c.Monitor, window}, make(chan runEnd, 1)
	var run string
	var refused error
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), work: func() {
		if refused = ctx.Err(); refused == nil { // a call that was cancelled runs no code
			run, refused = p.enqueueForAgent(at, cell, source, done)
		}
	}}); err != nil {
		return wire.Cell{}, err
	}
	if refused != nil {
		return wire.Cell{}, refused
	}
	select {
	case end := <-done:
		if end.gone {
			return wire.Cell{}, errors.New("the cell was deleted, or the notebook was closed")
		}
		return end.cell, nil
	case <-p.owner.held.ctx.Done():
		return wire.Cell{}, context.Cause(p.owner.held.ctx)
	case <-ctx.Done():
		p.cleanUp(func() { p.owner.agents.notebooks.cancelRun(at, run) })
		return wire.Cell{}, ctx.Err()
	}
}

// enqueueForAgent enqueues a cell within a step, if it has the source that was approved, and returns the run. done gets
// its end.
func (p port) enqueueForAgent(at windowKey, cell wire.CellID, source string, done chan<- runEnd) (run string, err error) {
	nb := &p.owner.agents.notebooks
	content, ok := p.owner.w.state.Notebook(at.monitor, at.window)
	if !ok {
		return "", fmt.Errorf("there is no notebook %q", at.window)
	}
	if err := nb.mayRun(at, 1); err != nil {
		return "", err
	}
	cells, err := runnable(content, []wire.CellID{cell})
	switch {
	case err != nil:
		return "", err
	case len(cells) == 0:
		return "", fmt.Errorf("the cell %q runs already, or is no code", cell)
	case cells[0].Source != source:
		return "", fmt.Errorf("the cell %q was edited meanwhile; read it and ask again", cell)
	}
	id := nb.enqueue(at, cells, "")[0]
	n := nb.all[at]
	if n.waiters == nil {
		n.waiters = map[string][]chan<- runEnd{}
	}
	n.waiters[id] = append(n.waiters[id], done)
	return id, nil
}

// cancelRun ends one run: it aborts one that waits, and interrupts one that has begun. Other runs go on.
func (nb *notebooks) cancelRun(at windowKey, id string) {
	n := nb.all[at]
	if n == nil {
		return
	}
	r := n.run(id)
	switch {
	case r == nil:
	case !r.Begun:
		nb.endRun(at, n, *r, wire.CellExecuted{State: wire.CellAborted, Reason: "Interrupted."})
	case n.Kernel != "":
		kernel := n.Kernel
		nb.background(at, "interrupt a kernel", func(ctx context.Context) error { return nb.kernels.Interrupt(ctx, kernel) })
	}
}

// ControlKernel implements [tools.Notebooks].
func (p port) ControlKernel(ctx context.Context, c tools.Caller, window wire.WindowID, op wire.KernelOp) error {
	return p.runInStep(ctx, func() { p.owner.agents.notebooks.control(windowKey{c.Monitor, window}, op) })
}

// CompleteCode implements [tools.Notebooks].
func (p port) CompleteCode(ctx context.Context, c tools.Caller, window wire.WindowID, code string, at int) (kernels.Completion, error) {
	nb := &p.owner.agents.notebooks
	var kernel string
	if err := p.runInStep(ctx, func() {
		if n := nb.all[windowKey{c.Monitor, window}]; n != nil {
			kernel = n.Kernel
		}
	}); err != nil {
		return kernels.Completion{}, err
	}
	if kernel == "" || nb.kernels == nil {
		return kernels.Completion{}, errors.New("the notebook has no kernel yet: run a cell first")
	}
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	// A name of its own, so that it does not end the connection of running cells.
	conn, err := nb.kernels.Connect(ctx, kernel, "complete-"+kernel, func(kernels.Message) {})
	if err != nil {
		return kernels.Completion{}, errors.New(publicKernelReason(err)) // without addresses
	}
	defer conn.Close()
	done, err := conn.Complete(ctx, code, at)
	switch {
	case errors.Is(err, kernels.ErrNoJournal):
		return kernels.Completion{}, errors.New("the kernel completes no code without running some: it is no Python, or has run no cell since its start")
	case err != nil:
		return kernels.Completion{}, errors.New("the kernel does not answer")
	}
	return done, nil
}
