package session

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/wire"
)

// checkKernelTimeout bounds the question whether a kernel still exists.
const checkKernelTimeout = 10 * time.Second

// endedReason is what a notebook shows whose kernel has ended while no cell ran.
const endedReason = "The kernel has ended, and its variables are gone."

// kernelWatch has the kernels that a session shows as running while it runs no cell. They end without this owner: after
// half an hour, for a kernel that needs the room, or with their server.
type kernelWatch struct{ ids atomic.Pointer[[]string] }

// resting returns the kernels of the watch.
func (w *kernelWatch) resting() []string {
	if ids := w.ids.Load(); ids != nil {
		return *ids
	}
	return nil
}

// watchKernels updates the watch after a notebook got or lost a kernel, or its runner ended.
func (nb *notebooks) watchKernels() {
	var ids []string
	for at, n := range nb.all {
		if nb.kernels != nil && nb.isResting(at, n) {
			ids = append(ids, n.Kernel)
		}
	}
	nb.watch.ids.Store(&ids)
}

// isResting reports whether a notebook shows a kernel that has nothing to do.
func (nb *notebooks) isResting(at windowKey, n *openNotebook) bool {
	content, open := nb.w.state.Notebook(at.monitor, at.window)
	return open && n.Kernel != "" && n.runner == nil && !n.hasWork() && content.Kernel.State != wire.KernelStopped
}

// checkAfterRecovery checks the kernels that a previous owner has left, after the commit.
func (nb *notebooks) checkAfterRecovery() {
	nb.watchKernels()
	if len(nb.watch.resting()) == 0 {
		return
	}
	nb.w.AfterCommit(func() {
		nb.stopped.Go(func() { nb.port.owner.checkKernels(nb.ctx, nb.kernels) })
	})
}

// checkKernels marks the notebooks whose kernels do not exist any more. It may be called from any goroutine.
func (ow *owner) checkKernels(ctx context.Context, server Kernels) {
	var ended []string
	for _, id := range ow.kernelWatch.resting() {
		bounded, cancel := context.WithTimeout(ctx, checkKernelTimeout)
		k, err := server.Kernel(bounded, id)
		cancel()
		if errors.Is(err, kernels.ErrGone) || err == nil && k.State == "dead" {
			ended = append(ended, id)
		}
	}
	if len(ended) > 0 {
		_ = port{ow}.runInStep(ctx, func() { ow.agents.notebooks.markEnded(ended) }) // an error means that the owner ended
	}
}

// markEnded shows that kernels have ended. Their ids stay stored, so that the next run says that it has a new kernel.
func (nb *notebooks) markEnded(ids []string) {
	for at, n := range nb.all {
		if slices.Contains(ids, n.Kernel) && nb.isResting(at, n) {
			nb.setKernel(at, wire.KernelStatus{State: wire.KernelStopped, Reason: endedReason})
		}
	}
	nb.watchKernels()
}

// CheckKernels compares the kernels that the sessions of this replica show with those of the server, and ends those that
// could not be ended before. Call it after idle kernels were ended.
func (h *Hub) CheckKernels(ctx context.Context) {
	if h.env.cfg.Kernels == nil {
		return
	}
	h.env.kernelEnds.retry(ctx, h.env.cfg.Kernels)
	for _, ls := range h.registry.appendSessions(nil) {
		if ow := ls.activeOwner.Load(); ow != nil && ctx.Err() == nil {
			ow.checkKernels(ctx, h.env.cfg.Kernels)
		}
	}
}
