package checkpoints

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Saved is the result of [Store.Save].
type Saved struct {
	Checkpoint
	// New says that this operation has made the checkpoint, now or before it was interrupted. Otherwise nothing has
	// changed since the last checkpoint, which is this one.
	New bool
	// From is the hash of the checkpoint before a new one, if any.
	From string
	// Left lists what the checkpoint does not have as it is: repositories below the root, whose names end with a slash,
	// files that are too large, and files that cannot be read. Of such a file it has the content that the checkpoint
	// before it has, if any, and a restore between both leaves the file as it is.
	Left []string
}

// Save saves a checkpoint of a worktree for a session, with the windows of its desktop. If neither
// files nor windows changed since the last checkpoint of the session, nothing is saved.
func (s *Store) Save(ctx context.Context, w Worktree, session string, note Note, windows []byte) (Saved, error) {
	if err := checkSession(session); err != nil {
		return Saved{}, err
	}
	end, err := s.beginSave(ctx)
	if err != nil {
		return Saved{}, err
	}
	defer end()
	ctx, r, err := s.openOrCreate(ctx, w)
	if err != nil {
		return Saved{}, err
	}
	defer r.close()
	tree, left, err := r.stage(ctx)
	if err != nil {
		return Saved{}, err
	}
	saved, err := r.commit(ctx, session, tree, note, windows)
	if err != nil {
		return Saved{}, err
	}
	saved.Left = left
	if err := r.storeIndex(); err != nil {
		return Saved{}, err
	}
	if saved.New && (saved.Number%s.cfg.PackEvery == 0 || saved.Number > s.cfg.Limit) {
		// The checkpoint exists whatever happens here, and the next ones try again.
		_ = r.maintain(ctx, session, saved.Number)
	}
	return saved, nil
}

// stageTries bounds how often staging starts again because files changed at the same time.
const stageTries = 3

// stage brings the index up to date with the worktree and returns the tree of it.
func (r *repo) stage(ctx context.Context) (tree string, left []string, err error) {
	if _, err := os.Stat(r.w.Path); errors.Is(err, fs.ErrNotExist) {
		return r.stageNothing(ctx)
	} else if err != nil {
		return "", nil, fmt.Errorf("open worktree: %w", err)
	}
	if err := r.copyIndex(); err != nil {
		return "", nil, err
	}
	for try := 1; ; try++ {
		left, err = r.update(ctx)
		if err == nil {
			break
		}
		var failed *gitError
		if ctx.Err() != nil || !errors.As(err, &failed) || errors.Is(err, ErrNoSpace) || try == stageTries {
			return "", nil, err
		}
		// A file may have changed while git read it, or the index is damaged.
		if try == stageTries-1 {
			if err := r.dropIndex(); err != nil {
				return "", nil, err
			}
		}
	}
	out, err := r.git(ctx, nil, "write-tree")
	if err != nil {
		return "", nil, fmt.Errorf("write tree: %w", err)
	}
	return strings.TrimSpace(string(out)), left, nil
}

// stageNothing is stage for a worktree that does not exist, which is an empty one.
func (r *repo) stageNothing(ctx context.Context) (string, []string, error) {
	if err := r.dropIndex(); err != nil {
		return "", nil, err
	}
	out, err := r.git(ctx, nil, "mktree")
	if err != nil {
		return "", nil, fmt.Errorf("write tree: %w", err)
	}
	return strings.TrimSpace(string(out)), nil, nil
}

// update finds the files that differ from the index and brings the index up to date.
func (r *repo) update(ctx context.Context) (left []string, err error) {
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	args := []string{"ls-files", "-z", "--others", "--modified", "--deleted"}
	if r.w.Ignore {
		args = append(args, "--exclude-standard")
	} else {
		args = append(args, "--exclude=/.partial/")
	}
	out, err := r.treeGit(ctx, nil, args...)
	if err != nil {
		return nil, fmt.Errorf("compare worktree: %w", err)
	}
	c := changes{limit: r.s.cfg, root: r.w.Path, seen: map[string]bool{}, inside: map[string]bool{}}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if err := c.classify(name); err != nil {
			return nil, err
		}
	}
	if err := r.dropRepositories(ctx, &c); err != nil {
		return nil, err
	}
	if c.gone.Len() > 0 {
		if _, err := r.treeGit(ctx, c.gone.Bytes(), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
			return nil, fmt.Errorf("remove deleted files: %w", err)
		}
	}
	return c.left, r.add(ctx, c.present.Bytes())
}

// refresh notes the times of files that were written again with the same content. Without that their
// content would be compared each time, and a restore would take them for changed.
func (r *repo) refresh(ctx context.Context) error {
	_, err := r.treeGit(ctx, nil, "update-index", "-q", "--refresh")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil // there are changed files
	}
	if err != nil {
		return fmt.Errorf("compare worktree: %w", err)
	}
	return nil
}

// add adds files to the index, by their names that end with zero bytes.
func (r *repo) add(ctx context.Context, names []byte) error {
	if len(names) == 0 {
		return nil
	}
	if _, err := r.treeGit(ctx, names, "update-index", "-z", "--add", "--remove", "--replace", "--stdin"); err != nil {
		return fmt.Errorf("add files: %w", err)
	}
	return nil
}

// changes collects the paths that differ from the index.
type changes struct {
	limit         Config
	root          string
	seen          map[string]bool
	inside        map[string]bool // folders that are in a repository, or are not
	gone, present bytes.Buffer    // names, each ended by a zero byte
	left          []string
	files         int
	bytes         int64
}

// classify decides what happens to one path.
func (c *changes) classify(name string) error {
	switch {
	case name == "" || c.seen[name] || c.inRepository(parent(name)):
		return nil
	case strings.HasSuffix(name, "/"): // a repository
		c.addLeftOut(name)
		return nil
	}
	c.seen[name] = true
	path := filepath.Join(c.root, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		c.gone.WriteString(name + "\x00")
		return nil
	case err != nil:
		c.addLeftOut(name) // the last known state of it stays in the index
		return nil         //nolint:nilerr // it is reported
	case info.Mode()&fs.ModeSymlink != 0:
	case !info.Mode().IsRegular():
		c.gone.WriteString(name + "\x00") // a folder or a device took its place
		return nil
	case info.Size() > c.limit.FileBytes || !readable(path):
		c.addLeftOut(name)
		return nil
	}
	c.files++
	c.bytes += info.Size()
	if c.files > c.limit.MaxFiles || c.bytes > c.limit.MaxBytes {
		return fmt.Errorf("%w: a checkpoint may add %d files with %d bytes", ErrTooLarge, c.limit.MaxFiles, c.limit.MaxBytes)
	}
	c.present.WriteString(name + "\x00")
	return nil
}

func readable(path string) bool {
	f, err := os.Open(path) //nolint:gosec // it is opened only to see whether that works
	if err != nil {
		return false
	}
	_ = f.Close() // only opened
	return true
}

// dropRepositories removes files from the index whose folder has become a repository.
func (r *repo) dropRepositories(ctx context.Context, c *changes) error {
	out, err := r.git(ctx, nil, "ls-files", "-z", "--cached")
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if c.inRepository(parent(name)) {
			c.gone.WriteString(name + "\x00")
		}
	}
	return nil
}

// inRepository reports whether a folder below the root is a repository, or is in one: anything
// named .git makes it one, whether git can use it or not.
func (c *changes) inRepository(folder string) bool {
	if folder == "" {
		return false
	}
	is, known := c.inside[folder]
	if !known {
		_, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(folder), ".git"))
		if err == nil {
			c.addLeftOut(folder + "/")
		}
		is = err == nil || c.inRepository(parent(folder))
		c.inside[folder] = is
	}
	return is
}

// addLeftOut notes once that something is not part of the checkpoint.
func (c *changes) addLeftOut(name string) {
	if !slices.Contains(c.left, name) {
		c.left = append(c.left, name)
	}
}

// parent returns the folder of a path, or nothing for one at the root.
func parent(name string) string { return name[:max(0, strings.LastIndexByte(name, '/'))] }

// commit creates a checkpoint, unless the last one of the session has the same content.
func (r *repo) commit(ctx context.Context, session, tree string, note Note, windows []byte) (Saved, error) {
	all, err := r.list(ctx, session)
	if err != nil {
		return Saved{}, err
	}
	entries := "040000 tree " + tree + "\tfiles\n"
	rec := record{Note: note, Time: time.Now().UTC(), Files: tree}
	if len(windows) > 0 {
		out, err := r.git(ctx, windows, "hash-object", "-w", "--stdin", "--no-filters")
		if err != nil {
			return Saved{}, fmt.Errorf("store windows: %w", err)
		}
		rec.Windows = strings.TrimSpace(string(out))
		entries += "100644 blob " + rec.Windows + "\twindows.json\n"
	}
	number, from := 1, ""
	if len(all) > 0 {
		last := all[len(all)-1]
		if last.Files == tree && last.Windows == rec.Windows && last.Workspace == note.Workspace && last.WorkspaceHash == note.WorkspaceHash {
			saved := Saved{Checkpoint: last, New: note.Op != "" && last.Op == note.Op}
			if saved.New && len(all) > 1 {
				saved.From = all[len(all)-2].Hash
			}
			return saved, nil
		}
		number, from = last.Number+1, last.Hash
	}
	root, err := r.git(ctx, []byte(entries), "mktree")
	if err != nil {
		return Saved{}, fmt.Errorf("store tree: %w", err)
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return Saved{}, fmt.Errorf("encode checkpoint: %w", err)
	}
	commit, err := r.git(ctx, append(text, '\n'), "commit-tree", strings.TrimSpace(string(root)))
	if err != nil {
		return Saved{}, fmt.Errorf("store checkpoint: %w", err)
	}
	hash := strings.TrimSpace(string(commit))
	// An empty old value: the ref must not exist.
	if _, err := r.git(ctx, nil, "update-ref", "--no-deref", refOf(session, number), hash, strings.Repeat("0", len(hash))); err != nil {
		return Saved{}, fmt.Errorf("store checkpoint: %w", err)
	}
	made := Checkpoint{Hash: hash, Number: number, Time: rec.Time, Note: note, Files: tree, Windows: rec.Windows}
	return Saved{Checkpoint: made, New: true, From: from}, nil
}

// noSpace adds [ErrNoSpace] to the error of a full disk.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}
