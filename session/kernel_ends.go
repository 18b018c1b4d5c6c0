package session

import (
	"context"
	"errors"
	"sync"

	"github.com/everdesk/everdesk/kernels"
)

// maxKernelEnds bounds the notebooks whose kernels are to end later.
const maxKernelEnds = 1000

// kernelEnds has the notebooks whose kernels could not be ended, because the Jupyter server was unavailable. The kernels
// may be busy, so that the server would keep them forever. Its methods may be called concurrently.
type kernelEnds struct {
	mu  sync.Mutex
	all map[kernels.Notebook]bool
}

// add records that a kernel is to end later, if err says that the server was unavailable.
func (ends *kernelEnds) add(n kernels.Notebook, err error) {
	if !errors.Is(err, kernels.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	ends.mu.Lock()
	defer ends.mu.Unlock()
	if ends.all == nil {
		ends.all = map[kernels.Notebook]bool{}
	}
	if n.Kernel = ""; len(ends.all) < maxKernelEnds {
		ends.all[n] = true
	}
}

// drop records that the kernel of a notebook is in use again, or has ended.
func (ends *kernelEnds) drop(n kernels.Notebook) {
	ends.mu.Lock()
	defer ends.mu.Unlock()
	n.Kernel = ""
	delete(ends.all, n)
}

// list returns the notebooks.
func (ends *kernelEnds) list() (all []kernels.Notebook) {
	ends.mu.Lock()
	defer ends.mu.Unlock()
	for n := range ends.all {
		all = append(all, n)
	}
	return all
}

// retry ends the kernels, until the server is unavailable again.
func (ends *kernelEnds) retry(ctx context.Context, server Kernels) {
	for _, n := range ends.list() {
		bounded, cancel := context.WithTimeout(ctx, endKernelsTimeout)
		err := server.Remove(bounded, n)
		cancel()
		if err != nil {
			return
		}
		ends.drop(n)
	}
}
