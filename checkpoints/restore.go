package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Restored is the result of [Store.Restore].
type Restored struct {
	// Target is the restored checkpoint.
	Target Checkpoint
	// Safety is the checkpoint of the state before. Restoring it is the undo.
	Safety Checkpoint
	// SafetyNew says that the safety checkpoint was saved now, and From is the one before it.
	SafetyNew bool
	From      string
	// Changed is the number of files that were written or deleted.
	Changed int
	// Paths are the files that differ from the safety checkpoint, at most [MaxPaths] of them.
	Paths []RestoredPath
}

// RestoredPath is a file that a restore wrote or deleted. Its path has slashes.
type RestoredPath struct {
	Path    string
	Deleted bool
}

// MaxPaths bounds the files that a restore names.
const MaxPaths = 500

// restoreTries bounds how often a restore starts again because files changed at the same time.
const restoreTries = 3

// Restore brings the files of a worktree to the state of a checkpoint of the session. It saves a
// checkpoint of the present state first, with the given windows, so that it can be undone, and
// changes nothing if that is not possible. Files that are not part of either checkpoint stay. The
// result names the safety checkpoint also when an error is returned after it was saved: the
// worktree may then have a part of the changes.
func (s *Store) Restore(ctx context.Context, w Worktree, session, hash string, note Note, windows []byte) (Restored, error) {
	ctx, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return Restored{}, fmt.Errorf("%w: %q", ErrUnknown, hash)
	}
	if err != nil {
		return Restored{}, err
	}
	defer r.close()
	target, err := r.find(ctx, session, hash)
	if err != nil {
		return Restored{}, err
	}
	if err := os.MkdirAll(w.Path, 0o700); err != nil {
		return Restored{}, fmt.Errorf("create worktree: %w", noSpace(err))
	}
	for try := 1; ; try++ {
		result, err := r.restore(ctx, session, target, note, windows)
		if err == nil {
			return result, r.storeIndex()
		}
		// Git refuses before it changes anything if a file changed since the safety checkpoint.
		if try == restoreTries || !gitWrote(err, "not uptodate") && !gitWrote(err, "would be overwritten") {
			return result, err
		}
	}
}

func (r *repo) restore(ctx context.Context, session string, target Checkpoint, note Note, windows []byte) (Restored, error) {
	result := Restored{Target: target}
	if _, _, err := r.stage(ctx); err != nil {
		return result, err
	}
	now, err := r.coverTarget(ctx, target.Files)
	if err != nil {
		return result, err
	}
	before, err := r.list(ctx, session)
	if err != nil {
		return result, err
	}
	safety, err := r.commit(ctx, session, now, note, windows)
	if err != nil {
		return result, fmt.Errorf("save the state before the restore: %w", err)
	}
	result.Safety, result.SafetyNew, result.From = safety.Checkpoint, safety.New, safety.From
	if first, ok := firstOf(before, note.Op); ok { // of the attempt that was interrupted
		result.Safety, result.SafetyNew, result.From = first, true, ""
	}
	wanted, err := r.withIgnored(ctx, now, target.Files)
	if err == nil {
		wanted, err = r.withFixed(ctx, now, wanted)
	}
	if err != nil {
		return result, err
	}
	if result.Changed, result.Paths, err = r.differing(ctx, now, wanted); err != nil {
		return result, err
	}
	// An interrupted attempt has restored a part of the files: the windows of tabs show those that it changed, too.
	if result.Safety.Files != now {
		if _, result.Paths, err = r.differing(ctx, result.Safety.Files, wanted); err != nil {
			return result, err
		}
	}
	if _, err := r.treeGit(ctx, nil, "read-tree", "-m", "-u", now, wanted); err != nil {
		return result, fmt.Errorf("restore files: %w", err)
	}
	return result, nil
}

// differing returns the number of files that differ between two trees, and the first of them.
func (r *repo) differing(ctx context.Context, from, to string) (int, []RestoredPath, error) {
	out, err := r.git(ctx, nil, "diff-tree", "-r", "-z", "--name-status", "--no-renames", from, to)
	if err != nil {
		return 0, nil, fmt.Errorf("compare checkpoints: %w", err)
	}
	var paths []RestoredPath
	status, all := "", 0
	for field := range strings.SplitSeq(string(out), "\x00") {
		switch {
		case field == "":
		case status == "":
			status = field
		default:
			if all++; all <= MaxPaths {
				paths = append(paths, RestoredPath{Path: field, Deleted: status == "D"})
			}
			status = ""
		}
	}
	return all, paths, nil
}

// firstOf returns the first checkpoint of an operation.
func firstOf(all []Checkpoint, op string) (Checkpoint, bool) {
	for _, c := range all {
		if op != "" && c.Op == op {
			return c, true
		}
	}
	return Checkpoint{}, false
}

// coverTarget adds to the index whatever lies where the target has a file but the index has none, such as
// a file that is ignored by now: the restore replaces it, so the safety checkpoint must have it. It
// returns the tree of the index.
func (r *repo) coverTarget(ctx context.Context, target string) (string, error) {
	// Seen from the target, what the index does not have is deleted (D).
	out, err := r.git(ctx, nil, "diff-index", "--cached", "-z", "--name-only", "--no-renames", "--diff-filter=D", target)
	if err != nil {
		return "", fmt.Errorf("compare checkpoints: %w", err)
	}
	c := cover{root: r.w.Path, seen: map[string]bool{}}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name == "" {
			continue
		}
		if err := c.addObstacles(name); err != nil {
			return "", err
		}
	}
	if err := r.add(ctx, c.names.Bytes()); err != nil {
		return "", err
	}
	tree, err := r.git(ctx, nil, "write-tree")
	if err != nil {
		return "", fmt.Errorf("write tree: %w", err)
	}
	return strings.TrimSpace(string(tree)), nil
}

// cover collects what lies in the way of a restore.
type cover struct {
	root  string
	seen  map[string]bool
	names bytes.Buffer // each ended by a zero byte
}

// addObstacles looks at a path that the restore creates, and at its folders.
func (c *cover) addObstacles(name string) error {
	for i := range len(name) {
		if name[i] != '/' || c.seen[name[:i]] {
			continue
		}
		info, err := os.Lstat(c.absolute(name[:i]))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", name[:i], err)
		}
		if !info.IsDir() {
			return c.add(name[:i], info.Mode()) // a file where a folder is needed
		}
		c.seen[name[:i]] = true
	}
	info, err := os.Lstat(c.absolute(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", name, err)
	case !info.IsDir():
		return c.add(name, info.Mode())
	}
	// A folder where a file is needed: all of it is replaced.
	return filepath.WalkDir(c.absolute(name), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		rel, err := filepath.Rel(c.root, path)
		if err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		switch {
		case d.Name() == ".git":
			return fmt.Errorf("%w: %s has a repository, and the checkpoint has a file of that name", ErrBlocked, name)
		case d.IsDir():
			return nil
		}
		return c.add(filepath.ToSlash(rel), d.Type())
	})
}

func (c *cover) absolute(name string) string { return filepath.Join(c.root, filepath.FromSlash(name)) }

func (c *cover) add(name string, mode fs.FileMode) error {
	if !mode.IsRegular() && mode&fs.ModeSymlink == 0 {
		return fmt.Errorf("%w: %s is neither a file nor a folder", ErrBlocked, name)
	}
	if !c.seen[name] {
		c.seen[name] = true
		c.names.WriteString(name + "\x00")
	}
	return nil
}
