package rootask

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Names in a task folder, and of the folder of all tasks in a storage folder.
const (
	rowsName       = "ui_messages.json"
	legacyRowsName = "claude_messages.json"
	messagesName   = "api_conversation_history.json"
	itemName       = "history_item.json"
	tasksName      = "tasks"
)

// Bounds of what is read.
const (
	maxTasks = 10_000
	maxFile  = 64 << 20
)

// ErrNoTask means that a folder is neither a task of Roo-Code nor has tasks.
var ErrNoTask = errors.New("there is no task of Roo-Code")

// Find returns the task folders of a folder: itself, or those in the storage folder of Roo-Code, or those in
// its folder tasks. Links are skipped.
func Find(folder string) ([]string, error) {
	if isTask(folder) {
		return []string{folder}, nil
	}
	for _, place := range []string{filepath.Join(folder, tasksName), folder} {
		if info, err := os.Lstat(place); place != folder && err == nil && info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		found, err := tasksIn(place)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", folder, ErrNoTask)
}

func tasksIn(folder string) (found []string, err error) {
	f, err := os.Open(folder) //nolint:gosec // the folder that the caller wants to import
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	entries, err := f.ReadDir(maxTasks + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxTasks {
		return nil, fmt.Errorf("%s has more than %d entries", folder, maxTasks)
	}
	for _, e := range entries {
		if path := filepath.Join(folder, e.Name()); e.IsDir() && isTask(path) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found, nil
}

// isTask reports whether a folder has the files of a task.
func isTask(folder string) bool {
	for _, name := range []string{rowsName, legacyRowsName, messagesName} {
		if info, err := os.Lstat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// readFile returns a file of a task, which must be a regular file inside of the folder. A missing file is nil.
func readFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	return data, nil
}
