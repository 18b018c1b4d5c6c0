package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workspaces"
)

// sessionCheckpoints are the checkpoints of the files of sessions. The zero value has none.
type sessionCheckpoints struct {
	store *checkpoints.Store
	files string // the folder of the folders of sessions
	// workspaces are the folders in which agents of sessions work.
	workspaces *workspaces.Store
	// reason is why there are none, if store is nil.
	reason string
}

// openCheckpoints opens the checkpoints beside the files of sessions. Without a usable git there are none,
// and everything else works.
func openCheckpoints(ctx context.Context, cfg config, spaces *workspaces.Store, log *slog.Logger) (*sessionCheckpoints, error) {
	if cfg.filesBucket != nil {
		const reason = "the files of sessions are in a bucket, and checkpoints need a folder"
		log.InfoContext(ctx, "checkpoints are off", "reason", reason)
		return &sessionCheckpoints{reason: reason}, nil
	}
	folder, err := filepath.Abs(cfg.filesFolder())
	if err != nil {
		return nil, fmt.Errorf("folder of files: %w", err)
	}
	s, err := checkpoints.Open(ctx, checkpoints.Config{Dir: filepath.Join(folder, ".checkpoints")})
	if errors.Is(err, checkpoints.ErrUnavailable) {
		log.WarnContext(ctx, "checkpoints are off", "reason", err)
		return &sessionCheckpoints{reason: err.Error()}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	return &sessionCheckpoints{store: s, files: folder, workspaces: spaces}, nil
}

// worktree returns the own files of a session. Checkpoints of an imported session must not bring settings of agents, which can name
// programs to start.
func (c *sessionCheckpoints) worktree(id wire.SessionID) checkpoints.Worktree {
	w := checkpoints.SessionWorktree(string(id), filepath.Join(c.files, string(id)))
	w.Fixed = files.AgentSettings()
	return w
}

// folders returns the worktrees of a session. The error is that of a workspace which is not allowed any
// more or cannot have checkpoints.
func (c *sessionCheckpoints) folders(ctx context.Context, id wire.SessionID) (checkpoints.Folders, error) {
	f := checkpoints.Folders{Files: c.worktree(id)}
	path, err := c.workspaces.Of(ctx, id)
	if errors.Is(err, workspaces.ErrNotAllowed) {
		return f, fmt.Errorf("%w: %w", checkpoints.ErrProtected, err)
	}
	if err != nil || path == "" {
		return f, err //nolint:wrapcheck // it says what failed
	}
	f.Workspace, err = c.store.Workspace(path)
	return f, err //nolint:wrapcheck // as above
}

// Available returns why there are no checkpoints, or nil.
func (c *sessionCheckpoints) Available() error {
	if c.store == nil {
		return fmt.Errorf("%w: %s", checkpoints.ErrUnavailable, c.reason)
	}
	return nil
}

// workspaceTimeout bounds reading what a session has chosen.
const workspaceTimeout = 5 * time.Second

// HasFiles implements [session.Checkpoints].
func (c *sessionCheckpoints) HasFiles(id wire.SessionID) bool {
	w := c.worktree(id)
	if c.store.Exists(w) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), workspaceTimeout)
	defer cancel()
	if chosen, err := c.workspaces.Chosen(ctx, id); err != nil || chosen != "" {
		return true // the save says what is wrong
	}
	entries, err := os.ReadDir(w.Path)
	return err == nil && (len(entries) > 1 || len(entries) == 1 && entries[0].Name() != ".partial")
}

// Save implements [session.Checkpoints].
func (c *sessionCheckpoints) Save(ctx context.Context, id wire.SessionID, note checkpoints.Note, windows []byte) (checkpoints.Saved, error) {
	f, err := c.folders(ctx, id)
	if err != nil {
		return checkpoints.Saved{}, err
	}
	return c.store.SaveFolders(ctx, f, string(id), note, windows) //nolint:wrapcheck // it says what failed
}

// Restore implements [session.Checkpoints].
func (c *sessionCheckpoints) Restore(ctx context.Context, id wire.SessionID, hash string, note checkpoints.Note, windows []byte) (checkpoints.Restored, error) {
	f, err := c.folders(ctx, id)
	if err != nil {
		return checkpoints.Restored{}, err
	}
	return c.store.RestoreFolders(ctx, f, string(id), hash, note, windows) //nolint:wrapcheck // as above
}

// Windows implements [session.Checkpoints].
func (c *sessionCheckpoints) Windows(ctx context.Context, id wire.SessionID, hash string) ([]byte, error) {
	return c.store.Windows(ctx, c.worktree(id), string(id), hash) //nolint:wrapcheck // as above
}

// File returns one of the session's own files as a checkpoint holds it.
func (c *sessionCheckpoints) File(ctx context.Context, id wire.SessionID, hash, path string, limit int64) (checkpoints.File, error) {
	if err := c.Available(); err != nil {
		return checkpoints.File{}, err
	}
	return c.store.File(ctx, c.worktree(id), string(id), hash, path, limit) //nolint:wrapcheck // as above
}

// List returns the checkpoints of a session.
func (c *sessionCheckpoints) List(ctx context.Context, id wire.SessionID) ([]checkpoints.Checkpoint, error) {
	if err := c.Available(); err != nil {
		return nil, err
	}
	return c.store.List(ctx, c.worktree(id), string(id)) //nolint:wrapcheck // as above
}

// Compare lists the files that differ between two checkpoints, or between one and now.
func (c *sessionCheckpoints) Compare(ctx context.Context, id wire.SessionID, from, to string) ([]checkpoints.Change, error) {
	if err := c.Available(); err != nil {
		return nil, err
	}
	f, err := c.folders(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.store.CompareFolders(ctx, f, string(id), from, to) //nolint:wrapcheck // as above
}

// Patch returns the difference of a file, or of all, as text.
func (c *sessionCheckpoints) Patch(ctx context.Context, id wire.SessionID, from, to, path string, limit int) (string, bool, error) {
	if err := c.Available(); err != nil {
		return "", false, err
	}
	f, err := c.folders(ctx, id)
	if err != nil {
		return "", false, err
	}
	return c.store.PatchFolders(ctx, f, string(id), from, to, path, limit) //nolint:wrapcheck // as above
}

// Export writes the checkpoints of a session's own files.
func (c *sessionCheckpoints) Export(ctx context.Context, id wire.SessionID, out io.Writer) (int, error) {
	if err := c.Available(); err != nil {
		return 0, err
	}
	return c.store.Export(ctx, c.worktree(id), string(id), out) //nolint:wrapcheck // as above
}

// Import adds exported checkpoints to a new session.
func (c *sessionCheckpoints) Import(ctx context.Context, id wire.SessionID, in io.Reader) ([]checkpoints.Checkpoint, error) {
	if err := c.Available(); err != nil {
		return nil, err
	}
	return c.store.Import(ctx, c.worktree(id), string(id), in) //nolint:wrapcheck // as above
}

// Workspaces returns the names of the workspaces that the checkpoints of a session name.
func (c *sessionCheckpoints) Workspaces(ctx context.Context, id wire.SessionID) ([]string, error) {
	if err := c.Available(); err != nil {
		return nil, err
	}
	return c.store.Workspaces(ctx, c.worktree(id), string(id)) //nolint:wrapcheck // as above
}

// ExportWorkspace writes the checkpoints of a session in a workspace.
func (c *sessionCheckpoints) ExportWorkspace(ctx context.Context, id wire.SessionID, name string, out io.Writer) (int, error) {
	if err := c.Available(); err != nil {
		return 0, err
	}
	return c.store.ExportWorkspace(ctx, string(id), name, out) //nolint:wrapcheck // as above
}

// ImportWorkspace adds exported checkpoints of a workspace to a new session.
func (c *sessionCheckpoints) ImportWorkspace(ctx context.Context, id wire.SessionID, name string, in io.Reader) error {
	if err := c.Available(); err != nil {
		return err
	}
	return c.store.ImportWorkspace(ctx, string(id), name, in) //nolint:wrapcheck // as above
}

// removeSession removes the checkpoints of a session.
func (c *sessionCheckpoints) removeSession(id wire.SessionID) error {
	if c.store == nil {
		return nil
	}
	return errors.Join(
		c.store.RemoveWorktree(context.Background(), c.worktree(id)),
		c.store.RemoveFromWorkspaces(context.Background(), string(id)),
	)
}
