package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Folders are the worktrees of a session. A checkpoint of both is one of the files whose note names
// the one of the workspace.
type Folders struct {
	// Files are the session's own files.
	Files Worktree
	// Workspace is the folder in which its agents work; the zero value means none.
	Workspace Worktree
}

func (f Folders) hasWorkspace() bool { return f.Workspace.Name != "" }

// SaveFolders is [Store.Save] for all folders of a session.
func (s *Store) SaveFolders(ctx context.Context, f Folders, session string, note Note, windows []byte) (Saved, error) {
	note, left, err := s.saveWorkspace(ctx, f, session, note)
	if err != nil {
		return Saved{}, err
	}
	saved, err := s.Save(ctx, f.Files, session, note, windows)
	saved.Left = append(saved.Left, left...)
	return saved, err
}

// saveWorkspace saves the workspace and returns the note that names its checkpoint.
func (s *Store) saveWorkspace(ctx context.Context, f Folders, session string, note Note) (Note, []string, error) {
	if !f.hasWorkspace() {
		return note, nil, nil
	}
	// Imported checkpoints of the same workspace come first.
	if err := s.adopt(ctx, f.Workspace, session, f.Workspace.Name); err != nil {
		return note, nil, fmt.Errorf("workspace: %w", err)
	}
	saved, err := s.Save(ctx, f.Workspace, session, note, nil)
	if err != nil {
		return note, nil, fmt.Errorf("workspace: %w", err)
	}
	note.Workspace, note.WorkspaceHash = f.Workspace.Name, saved.Hash
	left := make([]string, 0, len(saved.Left))
	for _, name := range saved.Left {
		left = append(left, f.Workspace.pathOf(name))
	}
	return note, left, nil
}

// RestoreFolders is [Store.Restore] for all folders of a session. A workspace that the session had
// then and does not have now stays as it is; imported checkpoints belong to a workspace whose folder
// has the same name. The paths of the result are those of the session's own
// files; Changed counts all.
func (s *Store) RestoreFolders(ctx context.Context, f Folders, session, hash string, note Note, windows []byte) (Restored, error) {
	all, err := s.List(ctx, f.Files, session)
	if err != nil {
		return Restored{}, err
	}
	target, err := Find(all, hash)
	if err != nil {
		return Restored{}, err
	}
	withWorkspace := target.Workspace != "" && s.isOfWorkspace(f, session, target.Workspace)
	if withWorkspace { // before anything changes
		if err := s.adopt(ctx, f.Workspace, session, target.Workspace); err != nil {
			return Restored{}, fmt.Errorf("workspace: %w", err)
		}
		known, err := s.List(ctx, f.Workspace, session)
		if err == nil {
			_, err = Find(known, target.WorkspaceHash)
		}
		if err != nil {
			return Restored{}, fmt.Errorf("workspace: %w", err)
		}
	}
	if before, ok := firstOf(all, note.Op); ok { // of the attempt that was interrupted
		note.Workspace, note.WorkspaceHash = before.Workspace, before.WorkspaceHash
	} else if note, _, err = s.saveWorkspace(ctx, f, session, note); err != nil {
		return Restored{}, err
	}
	result, err := s.Restore(ctx, f.Files, session, target.Hash, note, windows)
	if err != nil || !withWorkspace {
		return result, err
	}
	done, err := s.Restore(ctx, f.Workspace, session, target.WorkspaceHash, Note{Reason: note.Reason, Message: note.Message, Monitor: note.Monitor, TS: note.TS, Op: note.Op}, nil)
	result.Changed += done.Changed
	if err != nil {
		return result, fmt.Errorf("workspace: %w", err)
	}
	return result, nil
}

// CompareFolders is [Store.Compare] for all folders of a session. The paths of the workspace are
// absolute. The workspace is left out if one of both states does not have it.
func (s *Store) CompareFolders(ctx context.Context, f Folders, session, from, to string) ([]Change, error) {
	changes, err := s.Compare(ctx, f.Files, session, from, to)
	if err != nil {
		return changes, err
	}
	p, err := s.workspacePair(ctx, f, session, from, to)
	if err != nil || p.in.Name == "" {
		return changes, err
	}
	more, err := s.Compare(ctx, p.in, session, p.from, p.to)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	for _, c := range more {
		c.Path = p.prefix + c.Path
		changes = append(changes, c)
	}
	return changes, nil
}

// PatchFolders is [Store.Patch] for all folders of a session. An absolute path is one of the
// workspace; without a path the result is that of the session's own files.
func (s *Store) PatchFolders(ctx context.Context, f Folders, session, from, to, path string, limit int) (text string, whole bool, err error) {
	if !isAbsolute(path) {
		return s.Patch(ctx, f.Files, session, from, to, path, limit)
	}
	p, err := s.workspacePair(ctx, f, session, from, to)
	if err != nil {
		return "", false, err
	}
	inside, ok := strings.CutPrefix(path, p.prefix)
	if p.in.Name == "" || !ok {
		return "", true, nil
	}
	return s.Patch(ctx, p.in, session, p.from, p.to, inside, limit)
}

// isAbsolute reports whether a path with slashes is one of a workspace: names of a session's own files are relative.
func isAbsolute(path string) bool {
	return strings.HasPrefix(path, "/") || filepath.IsAbs(filepath.FromSlash(path))
}

// pair is what two checkpoints of a session's files say about a workspace.
type pair struct {
	in       Worktree // has both; the zero value if there is none
	from, to string
	prefix   string // of paths
}

// workspacePair returns the checkpoints of a workspace that belong to two checkpoints of the files. Imported ones are
// compared with each other where they are, and else in the present workspace of the session if they belong there.
func (s *Store) workspacePair(ctx context.Context, f Folders, session, from, to string) (pair, error) {
	all, err := s.List(ctx, f.Files, session)
	if err != nil {
		return pair{}, err
	}
	hashes, names := [2]string{from, to}, [2]string{f.Workspace.Name, f.Workspace.Name}
	for i, hash := range hashes {
		if hash == Now {
			continue
		}
		c, err := Find(all, hash)
		if err != nil {
			return pair{}, err
		}
		hashes[i], names[i] = c.WorkspaceHash, c.Workspace
	}
	p := pair{from: hashes[0], to: hashes[1]}
	if names[0] == "" || names[1] == "" {
		return p, nil
	}
	if s.isOfWorkspace(f, session, names[0]) && s.isOfWorkspace(f, session, names[1]) {
		p.in, p.prefix = f.Workspace, f.Workspace.pathOf("")
		return p, errors.Join(s.adopt(ctx, f.Workspace, session, names[0]), s.adopt(ctx, f.Workspace, session, names[1]))
	}
	if folder, ok := s.importedFolder(session, names[0]); ok && names[0] == names[1] && from != Now && to != Now {
		p.in, p.prefix = s.imported(session, names[0]), "/imported/"+folder+"/"
	}
	return p, nil
}

// pathOf returns the absolute path of a file of the worktree, with slashes.
func (w Worktree) pathOf(name string) string {
	return strings.TrimSuffix(filepath.ToSlash(w.Path), "/") + "/" + name
}

// RemoveFromWorkspaces removes the checkpoints of a session in all workspaces, and the imported ones.
func (s *Store) RemoveFromWorkspaces(ctx context.Context, session string) error {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return fmt.Errorf("list checkpoints: %w", err)
	}
	if err := s.removeImported(ctx, session); err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".git")
		if !ok || !strings.HasPrefix(name, workspacePrefix) {
			continue
		}
		// The path is not used: only refs are removed.
		if err := s.RemoveSession(ctx, Worktree{Name: name, Path: s.cfg.Dir}, session); err != nil {
			return err
		}
	}
	return nil
}
