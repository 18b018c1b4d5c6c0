package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/rootask"
	"github.com/everdesk/everdesk/wire"
)

// importTasks creates a session of each task of Roo-Code in a folder, and prints what it took of each. A task
// that cannot be imported does not keep the others from it.
func importTasks(ctx context.Context, p command.Call, hub *remote.Hub, folder string) error {
	found, err := rootask.Find(folder)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	failed := 0
	for _, path := range found {
		name := terminal.OneLine(filepath.Base(path))
		task, id, err := importTask(ctx, hub, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			fmt.Fprintf(p.Stdout, "task %s: not imported: %s\n", name, terminal.OneLine(err.Error()))
			continue
		}
		left := ""
		if len(task.Left) > 0 {
			left = "; left out: " + terminal.OneLine(strings.Join(task.Left, ", "))
		}
		fmt.Fprintf(p.Stdout, "%s: task %s, %d rows, %d messages of the model%s\n", id, name, len(task.Rows), len(task.Messages), left)
	}
	if failed > 0 {
		return fmt.Errorf("import %s: %d of %d tasks are not imported", folder, failed, len(found))
	}
	return nil
}

func importTask(ctx context.Context, hub *remote.Hub, path string) (_ *rootask.Task, id wire.SessionID, err error) {
	task, err := rootask.Read(path)
	if err != nil {
		return nil, "", err
	}
	f, err := os.CreateTemp("", "everdesk-task-*.zip")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := task.Write(f); err != nil {
		return nil, "", err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, "", err
	}
	id, err = upload(ctx, hub, io.NopCloser(f), size, nil) // the request must not close it
	return task, id, err
}
