package agentpool

import (
	"context"
	"fmt"

	"github.com/everdesk/everdesk/providers"
)

// findWorkDir finds the working directory of a backend that is a process.
func (ar *activeRun) findWorkDir(p providers.Provider) (err error) {
	find := ar.runner.parent.cfg.WorkDir
	if find == nil || !p.Caps().Process {
		return nil
	}
	if ar.dir, err = find(ar.workCtx, ar.runner.ref.Session, ar.Provider); err != nil {
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("find the folder to work in: %w", err)}
	}
	ar.caller.WorksInFiles = ar.dir.Publish != nil
	return nil
}

// publishDir publishes what the process changes in its working directory: beside the turn after each of its steps, and
// when the returned function is called, which waits at most cleanupTimeout for it.
func (ar *activeRun) publishDir() (last func()) {
	if ar.dir.Publish == nil {
		return func() {}
	}
	// Also an interrupted or lost turn has changed files.
	ctx := context.WithoutCancel(ar.ctx)
	end, done := make(chan struct{}), make(chan struct{})
	publish := func() {
		if err := ar.dir.Publish(ctx); err != nil {
			ar.log.WarnContext(ctx, "looking for files that the agent has changed failed", "error", err)
		}
	}
	ar.runner.wg.Go(func() {
		defer close(done)
		for {
			select {
			case <-ar.changed:
				publish()
			case <-end:
				publish()
				return
			}
		}
	})
	return func() {
		close(end)
		ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}
