package apps

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/files"
)

// Bounds of sandboxes.
const (
	// MaxSandboxes bounds the sandboxes of a user. Those that were not changed for sandboxTTL make
	// place for new ones.
	MaxSandboxes = 20
	sandboxTTL   = 24 * time.Hour
)

const sandboxFolder = "sandboxes"

var validSandbox = regexp.MustCompile(`^[0-9]{1,20}$`)

// Sandboxes are folders in which agents write apps before they deploy them. They belong to users,
// like apps.
type Sandboxes struct{ store *Store }

// Sandboxes returns the sandboxes of the store's users.
func (s *Store) Sandboxes() Sandboxes { return Sandboxes{s} }

func checkSandbox(id string) error {
	if !validSandbox.MatchString(id) {
		return fmt.Errorf("%w: %.50q is no sandbox, want digits", ErrNotFound, id)
	}
	return nil
}

// Create makes a sandbox with some files and returns its id.
func (b Sandboxes) Create(user string, all map[string][]byte) (id string, err error) {
	if err := checkFiles(all); err != nil {
		return "", err
	}
	defer b.store.lock(user)()
	root, err := b.store.userRoot(user, true)
	if err != nil {
		return "", err
	}
	defer closeRoot(root)
	if err := makePlace(root); err != nil {
		return "", err
	}
	for n := time.Now().UnixMilli(); ; n++ { // another replica may take the same moment
		id = strconv.FormatInt(n, 10)
		err := root.Mkdir(path.Join(sandboxFolder, id), 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("create sandbox: %w", err)
		}
		break
	}
	for name, data := range all {
		if err := writeFile(root, path.Join(sandboxFolder, id, name), data); err != nil {
			return "", errors.Join(err, root.RemoveAll(path.Join(sandboxFolder, id)))
		}
	}
	return id, nil
}

// makePlace refuses one more sandbox if there are too many that are in use.
func makePlace(root *os.Root) error {
	if err := root.MkdirAll(sandboxFolder, 0o700); err != nil {
		return fmt.Errorf("create folder of sandboxes: %w", err)
	}
	entries, err := fs.ReadDir(root.FS(), sandboxFolder)
	if err != nil {
		return fmt.Errorf("list sandboxes: %w", err)
	}
	var kept []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) < sandboxTTL {
			kept = append(kept, e.Name())
		}
	}
	if len(kept) >= MaxSandboxes {
		return fmt.Errorf("%w: there are %d sandboxes; continue in one of them: %s", ErrFull, len(kept), strings.Join(kept, ", "))
	}
	if len(entries) < MaxSandboxes {
		return nil
	}
	for _, e := range entries {
		if slices.Contains(kept, e.Name()) {
			continue
		}
		if err := root.RemoveAll(path.Join(sandboxFolder, e.Name())); err != nil {
			return fmt.Errorf("remove old sandbox: %w", err)
		}
	}
	return nil
}

// withSandbox calls do with the folder of a sandbox.
func (b Sandboxes) withSandbox(user, id string, do func(root *os.Root, folder string) error) error {
	if err := checkSandbox(id); err != nil {
		return err
	}
	root, err := b.store.userRoot(user, false)
	if err == nil {
		defer closeRoot(root)
	}
	folder := path.Join(sandboxFolder, id)
	if errors.Is(err, ErrNotFound) || err == nil && !isFolder(root, folder) {
		return fmt.Errorf("%w: there is no sandbox %s", ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	return do(root, folder)
}

// Files returns all files of a sandbox.
func (b Sandboxes) Files(user, id string) (all map[string][]byte, err error) {
	err = b.withSandbox(user, id, func(root *os.Root, folder string) error {
		sub, err := root.OpenRoot(folder)
		if err != nil {
			return fmt.Errorf("open sandbox: %w", notFound(err))
		}
		defer closeRoot(sub)
		all, err = readFiles(sub.FS())
		return err
	})
	return all, err
}

// Write writes a file of a sandbox in one step, and replaces one of that name.
func (b Sandboxes) Write(user, id, name string, content []byte) error {
	return b.Edit(user, id, name, func([]byte, bool) ([]byte, error) { return content, nil })
}

// Edit changes a file of a sandbox. change gets its content and whether it exists.
func (b Sandboxes) Edit(user, id, name string, change func(old []byte, exists bool) ([]byte, error)) error {
	if err := files.CheckName(name); err != nil {
		return err
	}
	defer b.store.lock(user)()
	all, err := b.Files(user, id)
	if err != nil {
		return err
	}
	old, exists := all[name]
	content, err := change(old, exists)
	if err != nil {
		return err
	}
	all[name] = content
	if err := checkFiles(all); err != nil {
		return err
	}
	return b.withSandbox(user, id, func(root *os.Root, folder string) error {
		if err := writeFile(root, path.Join(folder, name), content); err != nil {
			return err
		}
		now := time.Now()
		if err := root.Chtimes(folder, now, now); err != nil { // it is in use
			return fmt.Errorf("write to sandbox: %w", err)
		}
		return nil
	})
}
