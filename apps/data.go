package apps

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/everdesk/everdesk/files"
)

// Bounds of the data of an app.
const (
	// MaxDataFile bounds a file, MaxDataFiles their number and MaxDataBytes their size together.
	MaxDataFile  = 1 << 20
	MaxDataFiles = 50
	MaxDataBytes = 4 << 20
)

// Names of data.
const (
	dataFolder      = "data"
	credentialsFile = "credentials.json"
	lockName        = ".lock" // in the folder of a user
)

// data calls do with the folder of the data of an app that exists.
func (s *Store) data(user, id string, do func(root *os.Root, folder string) error) error {
	if err := CheckID(id); err != nil {
		return err
	}
	root, err := s.userRoot(user, false)
	if err == nil {
		defer closeRoot(root)
		_, err = currentVersion(root, id)
	}
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: there is no app %q", ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	return do(root, path.Join(appFolder(id), dataFolder))
}

// ReadData returns a file of an app's data.
func (s *Store) ReadData(user, id, name string) (content []byte, err error) {
	if err := files.CheckName(name); err != nil {
		return nil, err
	}
	err = s.data(user, id, func(root *os.Root, folder string) error {
		content, err = readFile(root, path.Join(folder, name), MaxDataFile)
		if errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("%w: the app %q has no file %q", ErrNotFound, id, name)
		}
		return err
	})
	return content, err
}

// ListData returns the names of an app's data, in order.
func (s *Store) ListData(user, id string) (names []string, err error) {
	err = s.data(user, id, func(root *os.Root, folder string) error {
		names, _, err = dataOf(root, folder)
		return err
	})
	return names, err
}

// dataOf returns the names of all files below a folder, and their size together.
func dataOf(root *os.Root, folder string) (names []string, size int64, err error) {
	if !isFolder(root, folder) {
		return nil, 0, nil
	}
	err = fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
			names = append(names, name[len(folder)+1:])
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list files of the app: %w", err)
	}
	slices.Sort(names)
	return names, size, nil
}

// DataVersion returns the version of a file of an app's data, which is the same for the same content.
func DataVersion(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// WriteData writes a file of an app's data in one step, and replaces one of that name.
func (s *Store) WriteData(user, id, name string, content []byte) error {
	return s.writeData(user, id, name, content, nil)
}

// ReplaceData is [Store.WriteData] for a writer that knows the file: if its version is not was any more, the error is
// [files.ErrChanged]. An empty version means that the file must not exist.
func (s *Store) ReplaceData(user, id, name string, content []byte, was string) error {
	return s.writeData(user, id, name, content, &was)
}

func (s *Store) writeData(user, id, name string, content []byte, was *string) error {
	if err := files.CheckName(name); err != nil {
		return err
	}
	if len(content) > MaxDataFile {
		return fmt.Errorf("%w: a file of an app has at most %d bytes", ErrTooLarge, MaxDataFile)
	}
	defer s.lock(user)()
	return s.data(user, id, func(root *os.Root, folder string) error {
		unlock, err := lockFolder(root) // replicas share the folder
		if err != nil {
			return err
		}
		defer unlock()
		if err := checkVersion(root, path.Join(folder, name), was); err != nil {
			return err
		}
		names, size, err := dataOf(root, folder)
		if err != nil {
			return err
		}
		size += int64(len(content))
		count := len(names) + 1
		if info, err := root.Lstat(path.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			size, count = size-info.Size(), count-1
		}
		if count > MaxDataFiles || size > MaxDataBytes {
			return fmt.Errorf("%w: an app has at most %d files with %d bytes", ErrFull, MaxDataFiles, MaxDataBytes)
		}
		return writeFile(root, path.Join(folder, name), content)
	})
}

// checkVersion returns [files.ErrChanged] if a file has another version than was, unless that is nil.
func checkVersion(root *os.Root, name string, was *string) error {
	if was == nil {
		return nil
	}
	now := ""
	content, err := readFile(root, name, MaxDataFile)
	switch {
	case err == nil:
		now = DataVersion(content)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if now != *was {
		return fmt.Errorf("%w: %q", files.ErrChanged, path.Base(name))
	}
	return nil
}

// lockFolder waits until no other process writes data in a user's folder.
func lockFolder(root *os.Root) (unlock func(), err error) {
	f, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of the data: %w", err)
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock data: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil // which unlocks it
}

// RemoveData removes a file of an app's data.
func (s *Store) RemoveData(user, id, name string) error {
	if err := files.CheckName(name); err != nil {
		return err
	}
	defer s.lock(user)()
	return s.data(user, id, func(root *os.Root, folder string) error {
		full := path.Join(folder, name)
		if info, err := root.Lstat(full); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%w: the app %q has no file %q", ErrNotFound, id, name)
		}
		if err := root.Remove(full); err != nil {
			return fmt.Errorf("remove file of the app: %w", notFound(err))
		}
		removed := true
		for dir := path.Dir(full); removed && dir != folder; dir = path.Dir(dir) {
			removed = root.Remove(dir) == nil // not if it has other files
		}
		return nil
	})
}
