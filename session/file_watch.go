package session

import (
	"context"
	"errors"

	"github.com/everdesk/everdesk/files"
)

// FileWatch publishes what programs have changed in the files of a session; [files.Watch] implements it.
type FileWatch interface {
	// Publish publishes what is different since the watch began or since the last call. It reads all files of the session for
	// at most a few seconds. The error is [files.ErrFull] if the session has more than it may have.
	Publish(ctx context.Context) error
}

// watchFiles begins to look for files that the code of cells changes.
func (r *notebookRunner) watchFiles(ctx context.Context) {
	begin := r.nb.port.owner.live.env.cfg.WatchFiles
	if r.files != nil || begin == nil {
		return
	}
	w, err := begin(ctx, r.nb.w.id)
	if err != nil {
		r.nb.log.WarnContext(ctx, "looking for the files of a notebook failed", "window", r.at.window, "err", err)
		return
	}
	r.files = w
}

// publishFiles publishes what a cell has changed. It runs beside the session.
func (r *notebookRunner) publishFiles(ctx context.Context) {
	if r.files == nil {
		return
	}
	err := r.files.Publish(ctx)
	switch {
	case errors.Is(err, files.ErrFull) && !r.filesFull:
		r.filesFull = true
		_ = r.nb.port.runInStep(ctx, func() { // an error means that the runner was stopped
			r.nb.addErrorRow(r.at, "Code has written more files than this desktop may have. Nothing can be uploaded until some are deleted: "+err.Error()+".")
		})
	case err == nil:
		r.filesFull = false
	case !errors.Is(err, files.ErrFull) && ctx.Err() == nil:
		r.nb.log.WarnContext(ctx, "looking for the files of a notebook failed", "window", r.at.window, "err", err)
	}
}
