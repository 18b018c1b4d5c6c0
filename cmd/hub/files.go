package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// publishTimeout bounds the announcement of a changed file. The file is stored already.
const publishTimeout = 5 * time.Second

// publishFiles announces changed files to the tabs of the session. A failure is logged only: tabs read
// the files again when they connect again.
func (h *App) publishFiles(ctx context.Context, log *slog.Logger, id wire.SessionID, all []files.Change) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	changes := make([]wire.FileChange, len(all))
	for i, c := range all {
		changes[i] = wire.FileChange{Path: c.Path, IsDirectory: c.Folder, Removed: c.Removed, Size: c.Size, ETag: c.ETag}
	}
	err := h.hub.PublishFiles(ctx, id, changes)
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeSessionNotFound {
		return // it is being imported or deleted, so there are no tabs
	}
	if err != nil {
		log.Warn("changed files not announced", "session", id, "err", err)
	}
}
