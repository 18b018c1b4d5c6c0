package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/files/s3files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// parseFiles reads the address of the files of sessions.
func parseFiles(c *config, s string) error {
	if folder, ok := strings.CutPrefix(s, "file:"); ok && folder != "" {
		c.files = folder
		return nil
	}
	if s == "" {
		return nil
	}
	if !strings.HasPrefix(s, "s3:") {
		return errors.New("want file:FOLDER or s3://BUCKET")
	}
	bucket, err := s3files.Parse(s)
	if err != nil {
		return err
	}
	c.filesBucket = &bucket
	return nil
}

// openFiles opens the file store, in a bucket if there is one, else in a folder. Cold sessions of the
// store are there, too.
func openFiles(ctx context.Context, cfg config, store openStore, c files.Config) (*files.Store, error) {
	b, err := openBackend(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if store.objects != nil {
		store.objects.backend = b
	}
	return files.New(b, c), nil
}

func openBackend(ctx context.Context, cfg config) (files.Backend, error) {
	if cfg.filesBucket == nil {
		return files.OpenFolder(cfg.filesFolder())
	}
	ctx, cancel := context.WithTimeout(ctx, openBucketTimeout)
	defer cancel()
	return s3files.Open(ctx, *cfg.filesBucket)
}

// openBucketTimeout bounds the first requests to a bucket.
const openBucketTimeout = 30 * time.Second

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
