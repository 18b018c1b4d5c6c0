package checkpoints

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// unfinished begins the names of repositories that are being created or removed.
	unfinished = ".new-"
	// lastIndex is the index of the last operation, from which the next one starts.
	lastIndex = "index.last"
	// privateIndex begins the name of the index of an operation.
	privateIndex = "index.op-"
	// lockFileName is the file that operations lock.
	lockFileName = "everdesk.lock"
	// lockSuffix ends the names of git's own lock files.
	lockSuffix = ".lock"
)

// repo is an operation on the repository of a worktree, which it has locked.
type repo struct {
	s     *Store
	w     Worktree
	dir   string
	index string // the index of this operation
	// hasIndex says that the index of the last operation was copied to it.
	hasIndex bool
	held     *os.File
	cancel   context.CancelFunc // of the operation
	leave    func()
}

func (s *Store) repoDir(name string) string { return filepath.Join(s.cfg.Dir, name+".git") }

// open locks the repository of a worktree and begins an operation, whose context it returns. Waiting for other
// operations and the operation itself may take [Config].Timeout each. The error is [fs.ErrNotExist] if there is no
// repository yet. The caller must close it.
func (s *Store) open(ctx context.Context, w Worktree) (context.Context, *repo, error) {
	if err := w.check(); err != nil {
		return nil, nil, err
	}
	waiting, done := context.WithTimeoutCause(ctx, s.cfg.Timeout, ErrBusy)
	defer done()
	leave, err := s.lockName(waiting, w.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("wait for checkpoints: %w", err)
	}
	r := &repo{s: s, w: w, dir: s.repoDir(w.Name), leave: leave, cancel: func() {}}
	if err := r.lock(waiting); err != nil {
		r.close()
		return nil, nil, err
	}
	ctx, r.cancel = s.withTimeout(ctx)
	return ctx, r, nil
}

// openOrCreate is open for a worktree that may have no repository yet.
func (s *Store) openOrCreate(ctx context.Context, w Worktree) (context.Context, *repo, error) {
	operation, r, err := s.open(ctx, w)
	if !errors.Is(err, fs.ErrNotExist) {
		return operation, r, err
	}
	creating, cancel := s.withTimeout(ctx)
	defer cancel()
	if err := s.create(creating, w); err != nil {
		return nil, nil, err
	}
	return s.open(ctx, w)
}

// withTimeout bounds the time of git.
func (s *Store) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.cfg.Timeout, fmt.Errorf("%w: git did not finish within %v", ErrTooSlow, s.cfg.Timeout))
}

func (r *repo) lock(ctx context.Context) error {
	if _, err := os.Stat(r.dir); err != nil {
		return fmt.Errorf("open checkpoints: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(r.dir, lockFileName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open lock: %w", err)
	}
	r.held = f
	if err := lockFile(ctx, f); err != nil {
		return err
	}
	// The repository may have been removed while this waited.
	if _, err := os.Stat(filepath.Join(r.dir, lockFileName)); err != nil {
		return fmt.Errorf("open checkpoints: %w", err)
	}
	if err := r.removeLeftovers(); err != nil {
		return err
	}
	r.index = filepath.Join(r.dir, privateIndex+rand.Text())
	return nil
}

// close ends an operation.
func (r *repo) close() {
	r.cancel()
	if r.index != "" {
		_ = os.Remove(r.index) // a file that stays is removed by the next operation
	}
	if r.held != nil {
		_ = r.held.Close() // nothing was written
	}
	r.leave()
}

// removeLeftovers removes what an interrupted operation left: its index, and locks of git. Nothing
// else works in the repository now.
func (r *repo) removeLeftovers() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("read repository: %w", err)
	}
	interrupted := false
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), privateIndex) {
			continue
		}
		interrupted = true
		if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
			return fmt.Errorf("remove leftover index: %w", err)
		}
	}
	if !interrupted {
		return nil
	}
	return r.removeLocks()
}

// removeLocks removes all locks of git in the repository. The caller has excluded every process
// that could own one.
func (r *repo) removeLocks() error {
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir() && strings.HasSuffix(d.Name(), lockSuffix) && d.Name() != lockFileName:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // only the hub writes to its repositories
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove stale locks: %w", err)
	}
	return nil
}

// copyIndex copies the index of the last operation, with its time: git compares the time of the
// index with those of files to find files that changed right after the index was written. It does so
// once, and not for operations without the worktree: these also work while the disk is full.
func (r *repo) copyIndex() error {
	if r.hasIndex {
		return nil
	}
	r.hasIndex = true
	from, err := os.Open(filepath.Join(r.dir, lastIndex))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	defer func() { _ = from.Close() }() // only read
	info, err := from.Stat()
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	to, err := os.OpenFile(r.index, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create index: %w", err)
	}
	if _, err = io.Copy(to, from); err == nil {
		err = to.Close()
	} else {
		_ = to.Close() // the first error counts
	}
	if err == nil {
		err = os.Chtimes(r.index, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return fmt.Errorf("copy index: %w", noSpace(err))
	}
	return nil
}

// storeIndex makes the index of this operation the one from which the next starts.
func (r *repo) storeIndex() error {
	if err := os.Rename(r.index, filepath.Join(r.dir, lastIndex)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store index: %w", err)
	}
	return nil
}

// dropIndex starts with an empty index.
func (r *repo) dropIndex() error {
	for _, path := range []string{r.index, filepath.Join(r.dir, lastIndex)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove index: %w", err)
		}
	}
	return nil
}

// git runs git in the repository, without the worktree. A lock that is in the way is stale.
func (r *repo) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return r.call(ctx, call{args: args, stdin: stdin})
}

// treeGit runs git in the repository with the worktree.
func (r *repo) treeGit(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return r.call(ctx, call{args: args, stdin: stdin, tree: r.w.Path})
}

func (r *repo) call(ctx context.Context, c call) ([]byte, error) {
	c.repo, c.index, c.held = r.dir, r.index, r.held
	out, err := r.s.run(ctx, c)
	if err == nil || c.in != nil || c.out != nil || !gitWrote(err, lockSuffix+"': File exists") {
		return out, err
	}
	if err := r.removeLocks(); err != nil {
		return nil, err
	}
	return r.s.run(ctx, c)
}

// create creates the repository of a worktree. It becomes visible as a whole.
func (s *Store) create(ctx context.Context, w Worktree) error {
	temp := filepath.Join(s.cfg.Dir, unfinished+rand.Text())
	defer func() { _ = os.RemoveAll(temp) }() // Open removes it otherwise
	if _, err := s.run(ctx, call{args: []string{"init", "-q", "--bare", "--template=", "--object-format=sha1", "--initial-branch=none", temp}}); err != nil {
		return fmt.Errorf("create repository: %w", err)
	}
	rules := ""
	if w.Ignore {
		rules = excludes
	}
	for name, text := range map[string]string{"exclude": rules, "attributes": attributes, "worktree": w.Path + "\n"} {
		path := filepath.Join(temp, "info", name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			return fmt.Errorf("create repository: %w", noSpace(err))
		}
	}
	err := os.Rename(temp, s.repoDir(w.Name))
	if err != nil && !s.Exists(w) { // another process may have created it
		return fmt.Errorf("create repository: %w", err)
	}
	return nil
}
