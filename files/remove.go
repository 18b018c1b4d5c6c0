package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Remove implements [Backend].
func (f *Folder) Remove(_ context.Context, key Key) error {
	root, err := f.areaRoot(key, false)
	if err != nil {
		return err
	}
	defer closeRoot(root)
	if err := checkNoLinks(root, path.Dir(key.Name)); err != nil {
		return err
	}
	unlock, err := f.lockObjects(root, key)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := root.Lstat(key.Name); err != nil {
		return fmt.Errorf("stat file: %w", asNotExist(err))
	}
	if err := withPermission(root, key.Name, func() error { return root.RemoveAll(key.Name) }); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	removeEmpty(root, path.Dir(key.Name))
	if key.Area == AreaCold {
		// Sessions come and go here, so their folders go, too. Another file in them keeps them.
		folder := areaFolder(key.Session, key.Area)
		_ = f.root.Remove(path.Join(folder, partial))
		_ = f.root.Remove(folder)
	}
	return nil
}

// removeEmpty removes a folder and its parents, as long as they are empty.
func removeEmpty(root *os.Root, dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break // not empty
		}
	}
}

// RemoveAll implements [Backend].
func (f *Folder) RemoveAll(_ context.Context, session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return err
	}
	defer f.lockSession(session)()
	for _, a := range []Area{AreaFiles, AreaTrash, AreaUploads} {
		folder := areaFolder(session, a)
		if err := withPermission(f.root, folder, func() error { return f.root.RemoveAll(folder) }); err != nil {
			return fmt.Errorf("remove session files: %w", err)
		}
	}
	return nil
}

// withPermission calls change, which moves or removes a file or folder. If its modes do not allow that, withPermission
// gives the owner all rights in the folders of it and calls change again: programs leave folders that cannot be written.
func withPermission(root *os.Root, name string, change func() error) error {
	err := change()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if perr := permitOwner(root, name); perr != nil {
		return errors.Join(err, perr)
	}
	return change()
}

// permitOwner gives the owner all rights in a folder and those below it. It follows no links.
func permitOwner(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o700 != 0o700 {
		if err := root.Chmod(name, mode|0o700); err != nil {
			return err
		}
	}
	below, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	for _, d := range below {
		if d.IsDir() {
			if err := permitOwner(root, path.Join(name, d.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeStale removes unfinished files that a dead process left. Those that a program has made inaccessible stay until
// their session is deleted: they must not prevent the start of the hub.
func (f *Folder) removeStale() error {
	for _, parent := range []string{".", "." + string(AreaUploads), "." + string(AreaCold), "." + string(AreaApps)} {
		sessions, err := fs.ReadDir(f.root.FS(), parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, d := range sessions {
			if !d.IsDir() || wire.SessionID(d.Name()).Validate() != nil {
				continue
			}
			if err := f.removeStaleIn(path.Join(parent, d.Name(), partial)); err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
		}
	}
	return nil
}

func (f *Folder) removeStaleIn(folder string) error {
	if info, err := f.root.Lstat(folder); err == nil && !info.IsDir() {
		return nil // not a folder, so it has no unfinished files
	}
	temps, err := fs.ReadDir(f.root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, temp := range temps {
		info, err := temp.Info()
		if err != nil || time.Since(info.ModTime()) < partialTTL {
			continue // finished meanwhile, or possibly still being received
		}
		if err := f.root.RemoveAll(path.Join(folder, temp.Name())); err != nil {
			return err
		}
	}
	return nil
}
