package checkpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The errors of checkpoints.
var (
	// ErrUnavailable means that this hub has no usable git.
	ErrUnavailable = errors.New("checkpoints are not available")
	// ErrUnknown means that a session has no such checkpoint.
	ErrUnknown = errors.New("no such checkpoint")
	// ErrTooLarge means that a worktree has more, or larger, files than a checkpoint may have.
	ErrTooLarge = errors.New("too large for checkpoints")
	// ErrBusy means that other operations on the same repository took too long.
	ErrBusy = errors.New("checkpoints are busy")
	// ErrTooSlow means that git did not finish in time.
	ErrTooSlow = errors.New("too slow for checkpoints")
	// ErrNoSpace means that the disk of checkpoints, or of the worktree, is full.
	ErrNoSpace = errors.New("no space left for checkpoints")
	// ErrProtected means that a folder may not be a worktree.
	ErrProtected = errors.New("folder cannot have checkpoints")
	// ErrBlocked means that a restore would have to replace something that no checkpoint can hold,
	// such as a repository.
	ErrBlocked = errors.New("restore is blocked")
)

// Config configures a [Store]. Zero fields mean the defaults.
type Config struct {
	// Dir is the folder of the repositories.
	Dir string
	// Git is the program; git of the PATH by default.
	Git string
	// MaxFiles and MaxBytes bound what one save may add. They default to 200,000 files and 2 GiB.
	MaxFiles int
	MaxBytes int64
	// FileBytes bounds one file. Larger files are left out. It defaults to 100 MiB.
	FileBytes int64
	// Timeout bounds an operation, and how long it waits for others before. It defaults to one minute.
	Timeout time.Duration
	// Limit is the number of checkpoints that a session may have in a worktree. The oldest are
	// removed. It defaults to 500.
	Limit int
	// PackEvery is the number of checkpoints of a session after which its repository is packed. It
	// defaults to 100.
	PackEvery int
	// Saves is how many saves of this process run git at the same time; the others wait, which counts for no timeout.
	// It defaults to the number of processors, and to 2 on smaller machines.
	Saves int
}

// Store holds the checkpoints of all worktrees. [Open] returns one.
type Store struct {
	cfg Config
	git string
	// saves holds a token for each save that runs.
	saves chan struct{}

	mu    sync.Mutex // guards locks
	locks map[string]*repoLock
}

// repoLock excludes other operations of this process from a repository. The channel has one token.
type repoLock struct {
	token chan struct{}
	users int
}

// minMajor and minMinor are the oldest version of git: older ones lack safety settings that the
// package relies on.
const minMajor, minMinor = 2, 39

var versionText = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

// Open returns the store in a folder, which is created if it does not exist. The error is
// [ErrUnavailable] with the reason if there is no git, or one that is too old.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg.MaxFiles = cmp.Or(cfg.MaxFiles, 200_000)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 2<<30)
	cfg.FileBytes = cmp.Or(cfg.FileBytes, 100<<20)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	cfg.Limit = cmp.Or(cfg.Limit, 500)
	cfg.PackEvery = cmp.Or(cfg.PackEvery, 100)
	cfg.Saves = cmp.Or(cfg.Saves, max(2, runtime.GOMAXPROCS(0)))
	program, err := exec.LookPath(cmp.Or(cfg.Git, "git"))
	if err != nil {
		return nil, fmt.Errorf("%w: git is not installed: %w", ErrUnavailable, err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("create folder of checkpoints: %w", err)
	}
	cfg.Dir = dir
	s := &Store{cfg: cfg, git: program, saves: make(chan struct{}, cfg.Saves), locks: map[string]*repoLock{}}
	out, err := s.run(ctx, call{args: []string{"--version"}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := checkVersion(string(out)); err != nil {
		return nil, err
	}
	return s, s.removeUnfinished()
}

func checkVersion(out string) error {
	m := versionText.FindStringSubmatch(out)
	if m == nil {
		return fmt.Errorf("%w: the version of git is unknown: %q", ErrUnavailable, strings.TrimSpace(out))
	}
	major, _ := strconv.Atoi(m[1]) // the pattern allows digits only; a huge number is new enough
	minor, _ := strconv.Atoi(m[2])
	if major < minMajor || major == minMajor && minor < minMinor {
		return fmt.Errorf("%w: git %s.%s is too old, %d.%d or newer is needed", ErrUnavailable, m[1], m[2], minMajor, minMinor)
	}
	return nil
}

// unfinishedTTL is the age after which a repository that was never finished is removed. It is much
// longer than creating one may take, because another process may be creating it.
const unfinishedTTL = time.Hour

// removeUnfinished removes repositories whose creation was interrupted.
func (s *Store) removeUnfinished() error {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return fmt.Errorf("list checkpoints: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), unfinished) || time.Since(info.ModTime()) < unfinishedTTL {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.cfg.Dir, e.Name())); err != nil {
			return fmt.Errorf("remove unfinished repository: %w", err)
		}
	}
	return nil
}

// Dir returns the folder of the repositories.
func (s *Store) Dir() string { return s.cfg.Dir }

// lockName waits until no other operation of this process uses a name. The returned function
// ends it.
func (s *Store) lockName(ctx context.Context, name string) (func(), error) {
	s.mu.Lock()
	l := s.locks[name]
	if l == nil {
		l = &repoLock{token: make(chan struct{}, 1)}
		l.token <- struct{}{}
		s.locks[name] = l
	}
	l.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.locks, name)
		}
	}
	select {
	case <-l.token:
		return func() { l.token <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// beginSave waits until fewer than [Config].Saves saves run. The returned function ends it.
func (s *Store) beginSave(ctx context.Context) (func(), error) {
	select {
	case s.saves <- struct{}{}:
		return func() { <-s.saves }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other saves: %w", context.Cause(ctx))
	}
}

// Exists reports whether a worktree has a repository, which means that it had a checkpoint once.
func (s *Store) Exists(w Worktree) bool {
	_, err := os.Lstat(s.repoDir(w.Name))
	return err == nil
}

// RemoveWorktree removes the repository of a worktree with all checkpoints. A worktree without one
// is no error.
func (s *Store) RemoveWorktree(ctx context.Context, w Worktree) error {
	if err := w.check(); err != nil {
		return err
	}
	if !s.Exists(w) {
		return nil
	}
	_, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.close()
	// Renaming first makes the removal atomic: what is left after a crash is an unfinished
	// repository, which the next start removes.
	gone := filepath.Join(s.cfg.Dir, unfinished+"removed-"+w.Name+"-"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := os.Rename(r.dir, gone); err != nil {
		return fmt.Errorf("remove checkpoints: %w", err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("remove checkpoints: %w", err)
	}
	return nil
}
