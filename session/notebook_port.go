package session

import (
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
		if r := p.l.w.state.CheckNotebook(change); r != nil {
			refused = errors.New(r.Reason)
			return
		}
		p.l.w.Emit(change)
	}}); err != nil {
		return err
	}
	return refused
}

// RunCell implements [tools.Notebooks].
func (p port) RunCell(ctx context.Context, c tools.Caller, window wire.WindowID, cell wire.CellID) (wire.Cell, error) {
	nb := &p.l.agents.notebooks
	done := make(chan runEnd, 1)
	var at windowKey
	var refused error
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), work: func() {
		at, refused = p.enqueueForAgent(c, window, cell, done)
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
	case <-p.l.held.ctx.Done():
		return wire.Cell{}, context.Cause(p.l.held.ctx)
	case <-ctx.Done():
		p.cleanUp(func() { nb.control(at, wire.KernelInterrupt) })
		return wire.Cell{}, ctx.Err()
	}
}

// enqueueForAgent enqueues a cell within a step. done gets its end.
func (p port) enqueueForAgent(c tools.Caller, window wire.WindowID, cell wire.CellID, done chan<- runEnd) (windowKey, error) {
	nb := &p.l.agents.notebooks
	at := windowKey{c.Monitor, window}
	content, ok := p.l.w.state.Notebook(at.monitor, at.window)
	if !ok {
		return at, fmt.Errorf("there is no notebook %q", window)
	}
	if err := nb.mayRun(at, 1); err != nil {
		return at, err
	}
	cells, err := runnable(content, []wire.CellID{cell})
	switch {
	case err != nil:
		return at, err
	case len(cells) == 0:
		return at, fmt.Errorf("the cell %q runs already, or is no code", cell)
	}
	id := nb.enqueue(at, cells, "")[0]
	n := nb.all[at]
	if n.waiters == nil {
		n.waiters = map[string][]chan<- runEnd{}
	}
	n.waiters[id] = append(n.waiters[id], done)
	return at, nil
}

// ControlKernel implements [tools.Notebooks].
func (p port) ControlKernel(ctx context.Context, c tools.Caller, window wire.WindowID, op wire.KernelOp) error {
	return p.runInStep(ctx, func() { p.l.agents.notebooks.control(windowKey{c.Monitor, window}, op) })
}

// CompleteCode implements [tools.Notebooks].
func (p port) CompleteCode(ctx context.Context, c tools.Caller, window wire.WindowID, code string, at int) (kernels.Completion, error) {
	nb := &p.l.agents.notebooks
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
	if err != nil {
		return kernels.Completion{}, errors.New("the kernel does not answer; it may be running a cell")
	}
	return done, nil
}
