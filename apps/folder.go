package apps

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/everdesk/everdesk/files"
)

// partial is the folder of unfinished files in a user's folder.
const partial = ".partial"

// staleAfter is the age after which what a killed process left is removed. It is much longer than
// a write takes, because another replica may be writing.
const staleAfter = time.Hour

// writeFile writes a file of a user's folder in one step: a reader sees the old or the new content.
// The parent folder is created if it does not exist.
func writeFile(root *os.Root, name string, data []byte) (err error) {
	if err := root.MkdirAll(partial, 0o700); err != nil {
		return fmt.Errorf("create folder of unfinished files: %w", err)
	}
	temp := path.Join(partial, rand.Text())
	if err := writeNew(root, temp, data); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(temp))
		}
	}()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: a folder of %q is a file", files.ErrName, name)
		}
		return fmt.Errorf("create folder: %w", err)
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%w: %q is a folder", files.ErrName, name)
	}
	if err := root.Rename(temp, name); err != nil {
		return fmt.Errorf("rename file: %w", err)
	}
	return nil
}

// writeNew writes a new file and makes it durable.
func writeNew(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write file: %w", err), root.Remove(name))
	}
	return nil
}

// readFile reads a regular file of at most most bytes. It does not follow a link.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		if errors.Is(err, syscall.ENOTDIR) {
			err = fs.ErrNotExist
		}
		return nil, notFound(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %q is not a file", files.ErrName, path.Base(name))
	}
	data, err := readBounded(root.FS(), name, most)
	return data, notFound(err)
}

// isFolder reports whether a name is a folder, and not a link to one.
func isFolder(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && info.IsDir()
}

// removeStale removes unfinished files of a user that a killed process left.
func removeStale(root *os.Root) error {
	temps, err := fs.ReadDir(root.FS(), partial)
	if err != nil {
		return nil //nolint:nilerr // there is no such folder yet
	}
	for _, temp := range temps {
		info, err := temp.Info()
		if err != nil || time.Since(info.ModTime()) < staleAfter {
			continue // finished meanwhile, or perhaps still being written
		}
		if err := root.RemoveAll(path.Join(partial, temp.Name())); err != nil {
			return fmt.Errorf("remove unfinished file: %w", err)
		}
	}
	return nil
}
