package apps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
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
	// editTries bounds how often an edit starts again because another replica has changed the file.
	editTries = 5
)

const sandboxFolder = "sandboxes"

var validSandbox = regexp.MustCompile(`^[0-9]{1,20}$`)

// Sandboxes are folders in which agents write apps before they deploy them. They belong to users,
// like apps. A sandbox exists while it has files.
type Sandboxes struct{ store *Store }

// Sandboxes returns the sandboxes of the store's users.
func (s *Store) Sandboxes() Sandboxes { return Sandboxes{s} }

func checkSandbox(id string) error {
	if !validSandbox.MatchString(id) {
		return fmt.Errorf("%w: %.50q is no sandbox, want digits", ErrNotFound, id)
	}
	return nil
}

// errNoSandbox returns the error for a sandbox without files.
func errNoSandbox(id string) error { return fmt.Errorf("%w: there is no sandbox %s", ErrNotFound, id) }

func sandboxOf(id string) string { return path.Join(sandboxFolder, id) }

// Create makes a sandbox with some files, at least one, and returns its id.
func (b Sandboxes) Create(ctx context.Context, user string, all map[string][]byte) (id string, err error) {
	if err := checkFiles(all); err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%w: a sandbox without files", files.ErrName)
	}
	o, err := b.store.objectsOf(user)
	if err != nil {
		return "", err
	}
	defer b.store.lock(user)()
	inUse, err := makePlace(ctx, o)
	if err != nil {
		return "", err
	}
	for id == "" || slices.Contains(inUse, id) {
		// Another replica may take the same millisecond.
		id = fmt.Sprintf("%d%03d", time.Now().UnixMilli(), rand.IntN(1000)) //nolint:gosec // it is not a secret
	}
	for name, data := range all {
		if err := o.write(ctx, path.Join(sandboxOf(id), name), data, files.Condition{}); err != nil {
			return "", errors.Join(err, o.cleanUp(ctx, sandboxOf(id)))
		}
	}
	return id, nil
}

// makePlace refuses one more sandbox if there are too many that are in use. It returns the others.
func makePlace(ctx context.Context, o objects) (inUse []string, err error) {
	entries, err := o.list(ctx, sandboxFolder)
	if err != nil {
		return nil, err
	}
	last := lastChanges(entries, sandboxFolder)
	for _, id := range slices.Sorted(maps.Keys(last)) {
		if time.Since(last[id]) < sandboxTTL {
			inUse = append(inUse, id)
		}
	}
	if len(inUse) >= MaxSandboxes {
		return nil, fmt.Errorf("%w: there are %d sandboxes; continue in one of them: %s", ErrFull, len(inUse), strings.Join(inUse, ", "))
	}
	if len(last) < MaxSandboxes {
		return slices.Collect(maps.Keys(last)), nil
	}
	for id := range last {
		if slices.Contains(inUse, id) {
			continue
		}
		if err := o.remove(ctx, sandboxOf(id)); err != nil {
			return nil, fmt.Errorf("remove old sandbox: %w", err)
		}
	}
	return inUse, nil
}

// Files returns all files of a sandbox.
func (b Sandboxes) Files(ctx context.Context, user, id string) (map[string][]byte, error) {
	if err := checkSandbox(id); err != nil {
		return nil, err
	}
	o, err := b.store.objectsOf(user)
	var all map[string][]byte
	if err == nil {
		all, err = o.readAll(ctx, sandboxOf(id))
	}
	if errors.Is(err, ErrNotFound) {
		return nil, errNoSandbox(id)
	}
	return all, err
}

// File returns a file of a sandbox.
func (b Sandboxes) File(ctx context.Context, user, id, name string) ([]byte, error) {
	if err := errors.Join(checkSandbox(id), files.CheckName(name)); err != nil {
		return nil, err
	}
	o, err := b.store.objectsOf(user)
	if err != nil {
		return nil, err
	}
	data, _, err := o.read(ctx, path.Join(sandboxOf(id), name), MaxBytes)
	return data, err
}

// Write writes a file of a sandbox in one step, and replaces one of that name.
func (b Sandboxes) Write(ctx context.Context, user, id, name string, content []byte) error {
	return b.Edit(ctx, user, id, name, func([]byte, bool) ([]byte, error) { return content, nil })
}

// Edit changes a file of a sandbox. change gets its content and whether it exists; it is called again if another
// replica has changed the file meanwhile.
func (b Sandboxes) Edit(ctx context.Context, user, id, name string, change func(old []byte, exists bool) ([]byte, error)) error {
	if err := errors.Join(checkSandbox(id), files.CheckName(name)); err != nil {
		return err
	}
	o, err := b.store.objectsOf(user)
	if err != nil {
		return err
	}
	defer b.store.lock(user)()
	for try := 1; ; try++ {
		err := edit(ctx, o, id, name, change)
		if !errors.Is(err, files.ErrChanged) || try == editTries {
			return err
		}
	}
}

// edit changes a file of a sandbox unless another replica does at the same time, which is [files.ErrChanged].
func edit(ctx context.Context, o objects, id, name string, change func(old []byte, exists bool) ([]byte, error)) error {
	entries, err := o.list(ctx, sandboxOf(id))
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return errNoSandbox(id)
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		sizes[strings.TrimPrefix(e.Path, sandboxOf(id)+"/")] = e.Size
	}
	full := path.Join(sandboxOf(id), name)
	condition := files.Condition{Absent: true}
	var old []byte
	_, exists := sizes[name]
	if exists {
		if old, condition.ETag, err = o.read(ctx, full, MaxBytes); err != nil {
			return err
		}
		condition.Absent = false
	}
	content, err := change(old, exists)
	if err != nil {
		return err
	}
	sizes[name] = int64(len(content))
	if err := checkSizes(sizes); err != nil {
		return err
	}
	return o.write(ctx, full, content, condition)
}
