package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	// importedPrefix begins the names of the repositories with imported checkpoints of workspaces: one for each
	// session and workspace, so that foreign objects meet those of no other session.
	importedPrefix = "i-"
	// folderFile has the name of the folder that imported checkpoints are of.
	folderFile = "folder"
	// maxExported bounds the workspaces of one session that are exported.
	maxExported = 8
	// maxFolder bounds the name of a folder, in bytes.
	maxFolder = 255
)

var validWorkspace = regexp.MustCompile(`^w-[0-9a-f]{20}$`)

// IsWorkspace reports whether a name is that of a workspace.
func IsWorkspace(name string) bool { return validWorkspace.MatchString(name) }

// validFolder reports whether a text can be the name of a folder, on any system.
func validFolder(name string) bool {
	return len(name) <= maxFolder && filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, `/\:`) &&
		!strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}

// imported is the repository of a session's imported checkpoints of a workspace. It has no files; its path is not used.
func (s *Store) imported(session, workspace string) Worktree {
	return Worktree{Name: importedPrefix + session + "." + workspace, Path: s.cfg.Dir}
}

// folder returns the name of the folder that a repository is of, or nothing.
func (r *repo) folder() string {
	if data, err := os.ReadFile(filepath.Join(r.dir, "info", folderFile)); err == nil {
		return string(data)
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "info", "worktree"))
	name := filepath.Base(strings.TrimSpace(string(data)))
	if err != nil || !strings.HasPrefix(r.w.Name, workspacePrefix) || !validFolder(name) {
		return ""
	}
	return name
}

// storeFolder notes the name of the folder that imported checkpoints are of.
func (r *repo) storeFolder(name string) error {
	if name == "" || !strings.HasPrefix(r.w.Name, importedPrefix) {
		return nil
	}
	if err := os.WriteFile(filepath.Join(r.dir, "info", folderFile), []byte(name), 0o600); err != nil {
		return fmt.Errorf("import checkpoints: %w", noSpace(err))
	}
	return nil
}

// Workspaces returns the names of the workspaces that checkpoints of a session's files name, the latest ones.
func (s *Store) Workspaces(ctx context.Context, files Worktree, session string) ([]string, error) {
	all, err := s.List(ctx, files, session)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range slices.Backward(all) {
		if IsWorkspace(c.Workspace) && !slices.Contains(names, c.Workspace) && len(names) < maxExported {
			names = append(names, c.Workspace)
		}
	}
	return names, nil
}

// ExportWorkspace is [Store.Export] for a workspace that checkpoints of a session name. No other session's
// checkpoints are exported.
func (s *Store) ExportWorkspace(ctx context.Context, session, workspace string, out io.Writer) (int, error) {
	if !IsWorkspace(workspace) {
		return 0, fmt.Errorf("%w: invalid workspace %q", ErrUnknown, workspace)
	}
	// What was imported is a part of the workspace's own repository once the session has worked there.
	n, err := s.Export(ctx, Worktree{Name: workspace, Path: s.cfg.Dir}, session, out)
	if err != nil || n > 0 {
		return n, err
	}
	return s.Export(ctx, s.imported(session, workspace), session, out)
}

// ImportWorkspace is [Store.Import] for the checkpoints of a workspace. They can be compared with each other, and
// restored if the session gets a workspace whose folder has the same name. After an error the caller must call
// [Store.RemoveFromWorkspaces].
func (s *Store) ImportWorkspace(ctx context.Context, session, workspace string, in io.Reader) error {
	if !IsWorkspace(workspace) {
		return fmt.Errorf("%w: invalid workspace %q", ErrTransfer, workspace)
	}
	_, err := s.Import(ctx, s.imported(session, workspace), session, in)
	return err
}

// importedFolder returns the folder of a session's imported checkpoints of a workspace, and whether there are any.
func (s *Store) importedFolder(session, workspace string) (string, bool) {
	if !IsWorkspace(workspace) || checkSession(session) != nil {
		return "", false
	}
	w := s.imported(session, workspace)
	if !s.Exists(w) {
		return "", false
	}
	r := repo{w: w, dir: s.repoDir(w.Name)}
	return r.folder(), true
}

// isOfWorkspace reports whether a checkpoint of a workspace belongs to the present workspace of a session: it was saved there,
// or it was imported and its folder has the same name.
func (s *Store) isOfWorkspace(f Folders, session, workspace string) bool {
	if !f.hasWorkspace() || workspace == f.Workspace.Name {
		return f.hasWorkspace()
	}
	folder, ok := s.importedFolder(session, workspace)
	return ok && folder == filepath.Base(f.Workspace.Path)
}

// adopt copies a session's imported checkpoints of a workspace to the repository of its present one.
func (s *Store) adopt(ctx context.Context, to Worktree, session, workspace string) error {
	if _, ok := s.importedFolder(session, workspace); !ok {
		return nil
	}
	from := s.imported(session, workspace)
	theirs, err := s.List(ctx, from, session)
	if err != nil {
		return err
	}
	ours, err := s.List(ctx, to, session)
	if err != nil {
		return err
	}
	theirs = slices.DeleteFunc(theirs, func(c Checkpoint) bool {
		return slices.ContainsFunc(ours, func(o Checkpoint) bool { return o.Hash == c.Hash })
	})
	if len(theirs) == 0 {
		return nil
	}
	pack, err := os.CreateTemp(s.cfg.Dir, unfinished+"pack-*")
	if err != nil {
		return fmt.Errorf("copy checkpoints: %w", noSpace(err))
	}
	defer func() {
		_ = pack.Close()
		_ = os.Remove(pack.Name())
	}()
	if err := s.packInto(ctx, from, theirs, pack); err != nil {
		return err
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("copy checkpoints: %w", err)
	}
	return s.adoptPack(ctx, to, session, theirs, pack)
}

// packInto writes checkpoints with everything that they need to a file.
func (s *Store) packInto(ctx context.Context, w Worktree, which []Checkpoint, out io.Writer) error {
	ctx, r, err := s.open(ctx, w)
	if err != nil {
		return err
	}
	defer r.close()
	var hashes bytes.Buffer
	for _, c := range which {
		hashes.WriteString(c.Hash + "\n")
	}
	if _, err := r.call(ctx, call{args: []string{"pack-objects", "--stdout", "--revs", "-q"}, stdin: hashes.Bytes(), out: out}); err != nil {
		return fmt.Errorf("copy checkpoints: %w", err)
	}
	return nil
}

// adoptPack adds checkpoints to a repository. Their objects were checked when they were imported.
func (s *Store) adoptPack(ctx context.Context, w Worktree, session string, which []Checkpoint, pack io.Reader) error {
	ctx, r, err := s.openOrCreate(ctx, w)
	if err != nil {
		return err
	}
	defer r.close()
	if _, err := r.call(ctx, call{args: []string{"index-pack", "--stdin", "--strict"}, in: pack}); err != nil {
		return fmt.Errorf("copy checkpoints: %w", err)
	}
	all, err := r.list(ctx, session)
	if err != nil {
		return err
	}
	number := 0
	if len(all) > 0 {
		number = all[len(all)-1].Number
	}
	var refs bytes.Buffer
	for _, c := range which {
		number++
		fmt.Fprintf(&refs, "create %s %s\n", refOf(session, number), c.Hash)
	}
	if _, err := r.git(ctx, refs.Bytes(), "update-ref", "--no-deref", "--stdin"); err != nil {
		return fmt.Errorf("copy checkpoints: %w", err)
	}
	return nil
}

// removeImported removes a session's imported checkpoints of workspaces.
func (s *Store) removeImported(ctx context.Context, session string) error {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return fmt.Errorf("list checkpoints: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name, _ := strings.CutSuffix(e.Name(), ".git")
		workspace, ok := strings.CutPrefix(name, importedPrefix+session+".")
		if !ok || !IsWorkspace(workspace) {
			continue
		}
		if err := s.RemoveWorktree(ctx, s.imported(session, workspace)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
