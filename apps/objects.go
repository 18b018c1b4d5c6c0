package apps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

// objects are what the store has of one user.
type objects struct {
	backend files.Backend
	user    wire.SessionID // a hash of the user's name, which may have any characters
}

// objectsOf returns what the store has of a user.
func (s *Store) objectsOf(user string) (objects, error) {
	if user == "" {
		return objects{}, fmt.Errorf("%w: the session belongs to no user, so that it has no apps", ErrNotFound)
	}
	sum := sha256.Sum256([]byte(user))
	return objects{s.backend, wire.SessionID(hex.EncodeToString(sum[:16]))}, nil
}

func (o objects) key(name string) files.Key {
	return files.Key{Session: o.user, Area: files.AreaApps, Name: name}
}

// list returns the files below a folder, without folders; none if there is no such folder.
func (o objects) list(ctx context.Context, folder string) ([]files.Entry, error) {
	all, err := o.backend.List(ctx, o.key(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list files of apps: %w", err)
	}
	found := all[:0]
	for _, e := range all {
		if !e.Folder {
			found = append(found, e)
		}
	}
	return found, nil
}

// read returns a file of at most most bytes, and its ETag. It is [ErrNotFound] if there is none.
func (o objects) read(ctx context.Context, name string, most int64) (data []byte, etag string, err error) {
	f, e, err := o.backend.Open(ctx, o.key(name))
	if err != nil {
		return nil, "", notFound(err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err = readBounded(f, path.Base(name), most)
	return data, e.ETag, notFound(err)
}

// write writes a file in one step: a reader sees the old or the new content.
func (o objects) write(ctx context.Context, name string, data []byte, c files.Condition) error {
	_, err := o.backend.Put(ctx, o.key(name), bytes.NewReader(data), int64(len(data)), c)
	if err != nil {
		return fmt.Errorf("write file of an app: %w", err)
	}
	return nil
}

// remove removes a file, or a folder with all that is in it, if there is one.
func (o objects) remove(ctx context.Context, name string) error {
	err := o.backend.Remove(ctx, o.key(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file of an app: %w", err)
	}
	return nil
}

// cleanUp removes what a write that failed has left, also if its caller does not wait any more.
func (o objects) cleanUp(ctx context.Context, name string) error {
	return o.remove(context.WithoutCancel(ctx), name)
}

// readAll returns the files below a folder by name. The number and the sizes of the files are bounded.
func (o objects) readAll(ctx context.Context, folder string) (map[string][]byte, error) {
	entries, err := o.list(ctx, folder)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, ErrNotFound
	}
	if len(entries) > MaxFiles {
		return nil, fmt.Errorf("%w: an app has at most %d files", ErrFull, MaxFiles)
	}
	all := map[string][]byte{}
	left := int64(MaxBytes)
	for _, e := range entries {
		data, _, err := o.read(ctx, e.Path, left)
		if err != nil {
			return nil, err
		}
		left -= int64(len(data))
		all[strings.TrimPrefix(e.Path, folder+"/")] = data
	}
	return all, nil
}

// readBounded reads at most most bytes of a file.
func readBounded(f io.Reader, name string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%w: %q has more than %d bytes", ErrTooLarge, name, most)
	}
	return data, err
}
