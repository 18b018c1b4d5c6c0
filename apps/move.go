package apps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

// MoveFrom copies the apps of all users from a folder of files, see [files.OpenFolder], to the store, and renames their
// folder there when all are copied, so that this happens once. It replaces nothing that the store has. A copy that was
// interrupted is continued by the next call. It returns the number of users whose apps it has copied.
func (s *Store) MoveFrom(ctx context.Context, dir string) (users int, err error) {
	old := filepath.Join(dir, "."+string(files.AreaApps))
	found, err := os.ReadDir(old)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for apps: %w", err)
	}
	from, err := files.OpenFolder(dir)
	if err != nil {
		return 0, fmt.Errorf("look for apps: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	for _, d := range found {
		user := wire.SessionID(d.Name())
		if !d.IsDir() || user.Validate() != nil {
			continue
		}
		if err := (objects{from, user}).copyTo(ctx, objects{s.backend, user}); err != nil {
			return users, fmt.Errorf("copy apps from %s: %w", filepath.Join(old, d.Name()), err)
		}
		users++
	}
	// Another replica may have copied and renamed it at the same time.
	renamed := old + ".copied-" + time.Now().UTC().Format("20060102T150405")
	if err := os.Rename(old, renamed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return users, fmt.Errorf("the apps are copied; rename their folder, or deleted apps come back: %w", err)
	}
	return users, nil
}

// copyTo copies all files that are not there yet. Those that put a version of an app into use come last, so that a copy
// that is interrupted leaves no app without files.
func (o objects) copyTo(ctx context.Context, to objects) error {
	var all []files.Entry
	for _, folder := range []string{appsFolder, sandboxFolder} {
		entries, err := o.list(ctx, folder)
		if err != nil {
			return err
		}
		all = append(all, entries...)
	}
	slices.SortStableFunc(all, func(a, b files.Entry) int {
		switch {
		case isCurrent(a) == isCurrent(b):
			return 0
		case isCurrent(b):
			return -1
		}
		return 1
	})
	for _, e := range all {
		if err := o.copyFile(ctx, to, e.Path); err != nil {
			return err
		}
	}
	return nil
}

// isCurrent reports whether a file puts a version of an app into use.
func isCurrent(e files.Entry) bool {
	return path.Base(e.Path) == currentFile && path.Dir(path.Dir(e.Path)) == appsFolder
}

// copyFile copies a file unless there is one with its name.
func (o objects) copyFile(ctx context.Context, to objects, name string) error {
	f, e, err := o.backend.Open(ctx, o.key(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // only read
	_, err = to.backend.Put(ctx, to.key(name), f, e.Size, files.Condition{Absent: true})
	if err != nil && !errors.Is(err, files.ErrChanged) {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
