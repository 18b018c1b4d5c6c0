package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

// coldObjects keeps cold sessions beside the files of sessions. build sets the backend before the
// store is used.
type coldObjects struct{ backend files.Backend }

func coldKey(session wire.SessionID, name string) files.Key {
	return files.Key{Session: session, Area: files.AreaCold, Name: name}
}

// Put implements [redisstore.Objects].
func (c *coldObjects) Put(ctx context.Context, session wire.SessionID, name string, data []byte) error {
	_, err := c.backend.Put(ctx, coldKey(session, name), bytes.NewReader(data), int64(len(data)), files.Condition{Absent: true})
	return err
}

// Get implements [redisstore.Objects].
func (c *coldObjects) Get(ctx context.Context, session wire.SessionID, name string, limit int64) ([]byte, error) {
	from, _, err := c.backend.Open(ctx, coldKey(session, name))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(from, limit))
	return data, errors.Join(err, from.Close())
}

// Remove implements [redisstore.Objects].
func (c *coldObjects) Remove(ctx context.Context, session wire.SessionID, name string) error {
	if err := c.backend.Remove(ctx, coldKey(session, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Names implements [redisstore.Objects].
func (c *coldObjects) Names(ctx context.Context, session wire.SessionID) ([]string, error) {
	all, err := c.backend.List(ctx, coldKey(session, ""))
	names := make([]string, 0, len(all))
	for _, e := range all {
		if !e.Folder {
			names = append(names, e.Path)
		}
	}
	return names, err
}

// The object with the id of the storage. The objects of a session of the same name begin with a number.
const (
	storageSession = wire.SessionID("storage")
	storageName    = "id"
	// maxStorageID bounds what is read of an id.
	maxStorageID = 100
)

// Identify implements [redisstore.Objects].
func (c *coldObjects) Identify(ctx context.Context, id string) (string, error) {
	if id != "" {
		_, err := c.backend.Put(ctx, coldKey(storageSession, storageName), strings.NewReader(id), int64(len(id)), files.Condition{Absent: true})
		if err != nil && !errors.Is(err, files.ErrChanged) {
			return "", err
		}
	}
	data, err := c.Get(ctx, storageSession, storageName, maxStorageID)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// checkCold refuses cold sessions without Redis: the file store has all sessions on the disk already.
func (c *config) checkCold(all []effective, wrong *command.UsageErrors) {
	if c.session.ColdAfter == 0 || c.store.kind == redisStore {
		return
	}
	for _, e := range all {
		if e.name == "cold-after" {
			wrong.Add("cold-after (%s): needs Redis as the store; a file store has all sessions on the disk already", e.where)
		}
	}
}
