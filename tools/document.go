package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/store"
)

// Collections of documents, each with one document per user.
const (
	permissionCollection = "permissions"
	hookCollection       = "hooks"
	memoryCollection     = "memory"
)

// editTries bounds the attempts to change a document that is changed concurrently.
const editTries = 10

// load reads a user's document. A corrupt document is logged and counts as empty, because it
// must not stop an agent. Any other error of the store is returned.
func load[T any](ctx context.Context, e *Executor, collection, user string) (v T, version uint64, err error) {
	d, err := e.cfg.Documents.Get(ctx, collection, user)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return v, 0, nil
	case errors.Is(err, store.ErrCorrupt):
		e.cfg.Logger.Error("a document is unreadable and taken for empty", "collection", collection, "user", user, "error", err)
		return v, d.Version, nil
	case err != nil:
		return v, 0, fmt.Errorf("read %s: %w", collection, err)
	}
	if err := json.Unmarshal(d.Data, &v); err != nil {
		e.cfg.Logger.Error("a document is unreadable and taken for empty", "collection", collection, "user", user, "error", err)
		var empty T
		return empty, d.Version, nil
	}
	return v, d.Version, nil
}

// edit changes a user's document with optimistic locking, so that concurrent changes are not
// lost. It calls change again after a conflict.
func edit[T any](ctx context.Context, e *Executor, collection, user string, change func(*T) error) error {
	for range editTries {
		v, version, err := load[T](ctx, e, collection, user)
		if err != nil {
			return err
		}
		if err := change(&v); err != nil {
			return err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("write %s: %w", collection, err)
		}
		_, err = e.cfg.Documents.Put(ctx, store.Document{Collection: collection, Name: user, Data: data, Version: version})
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", collection, err)
		}
		return nil
	}
	return fmt.Errorf("write %s: others change it all the time", collection)
}
