package files

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// The errors of the file store, besides [ErrName]. A missing file is [fs.ErrNotExist].
var (
	ErrTooLarge = errors.New("file is too large")
	ErrFull     = errors.New("session has no space for more files")
	ErrBusy     = errors.New("too many concurrent uploads to the session")
)

// partialTTL is the age after which an unfinished file is removed when the store is opened.
// It is much longer than a transfer may take, because other replicas may be receiving files
// in the same folder.
const partialTTL = time.Hour

// Config configures a [Store]. Zero fields mean the defaults.
type Config struct {
	// FileBytes bounds one file. It defaults to 25 MiB.
	FileBytes int64
	// SessionBytes and SessionFiles bound the files of one session. They default to 256 MiB
	// and 1,000 files.
	SessionBytes int64
	SessionFiles int
	// SessionUploads bounds the concurrent uploads to one session. It defaults to 8.
	SessionUploads int
	// Removed, unless nil, is called by RemoveAll, to remove what else a session has on this
	// machine.
	Removed func(wire.SessionID) error
}

// Store holds the files of all sessions in one folder. [Open] returns one.
type Store struct {
	cfg  Config
	root *os.Root
	seed maphash.Seed
	// locks serialise changes to the files of a session. Sessions are hashed to them, so
	// their cost does not depend on the number of sessions.
	locks [64]sync.Mutex

	mu      sync.Mutex // guards pending, never held during I/O
	pending map[wire.SessionID]pending
}

// Open returns the file store in a folder, which is created if it does not exist.
func Open(dir string, cfg Config) (*Store, error) {
	cfg.FileBytes = cmp.Or(cfg.FileBytes, 25<<20)
	cfg.SessionBytes = cmp.Or(cfg.SessionBytes, 256<<20)
	cfg.SessionFiles = cmp.Or(cfg.SessionFiles, 1000)
	cfg.SessionUploads = cmp.Or(cfg.SessionUploads, 8)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder for files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder for files: %w", err)
	}
	s := &Store{cfg: cfg, root: root, seed: maphash.MakeSeed(), pending: map[wire.SessionID]pending{}}
	if err := s.removeStale(); err != nil {
		return nil, errors.Join(fmt.Errorf("remove unfinished files: %w", err), root.Close())
	}
	return s, nil
}

// removeStale removes unfinished files that a dead process left.
func (s *Store) removeStale() error {
	sessions, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, d := range sessions {
		if !d.IsDir() || wire.SessionID(d.Name()).Validate() != nil {
			continue
		}
		if err := s.removeStaleIn(path.Join(d.Name(), partial)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) removeStaleIn(folder string) error {
	if info, err := s.root.Lstat(folder); err == nil && !info.IsDir() {
		return nil // not a folder, so it has no unfinished files
	}
	temps, err := fs.ReadDir(s.root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, temp := range temps {
		info, err := temp.Info()
		if err != nil || time.Since(info.ModTime()) < partialTTL {
			continue // finished meanwhile, or possibly still being received
		}
		if err := s.root.RemoveAll(path.Join(folder, temp.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the folder.
func (s *Store) Close() error { return s.root.Close() }

// Entry describes a file or folder.
type Entry struct {
	// Path is the path relative to the session's folder, with slashes.
	Path     string
	Folder   bool
	Size     int64
	Modified time.Time
}

func entryOf(name string, info fs.FileInfo) Entry {
	e := Entry{Path: name, Folder: info.IsDir(), Modified: info.ModTime()}
	if !e.Folder {
		e.Size = info.Size()
	}
	return e
}

// lockSession locks the session's files and returns the function that unlocks them.
func (s *Store) lockSession(session wire.SessionID) (done func()) {
	m := &s.locks[maphash.String(s.seed, string(session))%uint64(len(s.locks))]
	m.Lock()
	return m.Unlock
}

// sessionRoot opens the folder of a session as a root of its own, so that not even a link
// leads to another session. Without create it is [fs.ErrNotExist] until a file was saved.
func (s *Store) sessionRoot(session wire.SessionID, create bool) (*os.Root, error) {
	if err := session.Validate(); err != nil {
		return nil, err
	}
	if create {
		if err := s.root.Mkdir(string(session), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create session folder: %w", err)
		}
	}
	// A link in place of the folder could lead to another session.
	if info, err := s.root.Lstat(string(session)); err != nil {
		return nil, fmt.Errorf("stat session folder: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%w: the session's folder is not a folder", ErrName)
	}
	root, err := s.root.OpenRoot(string(session))
	if err != nil {
		return nil, fmt.Errorf("open session folder: %w", err)
	}
	return root, nil
}

// closeRoot closes a session's folder. An error loses no data, because the root is only a
// handle.
func closeRoot(root *os.Root) { _ = root.Close() }

// Save writes a file atomically and replaces an older one of that name. size is the number
// of bytes to expect, or negative if unknown; the space is reserved from the beginning. The
// error is [ErrName], [ErrTooLarge], [ErrFull], [ErrBusy], or that of the reader or the
// disk.
func (s *Store) Save(ctx context.Context, session wire.SessionID, name string, from io.Reader, size int64) (Entry, error) {
	if err := CheckName(name); err != nil {
		return Entry{}, err
	}
	if size > s.cfg.FileBytes {
		return Entry{}, s.errTooLarge()
	}
	root, err := s.sessionRoot(session, true)
	if err != nil {
		return Entry{}, err
	}
	defer closeRoot(root)
	if err := errors.Join(checkNoLinks(root, path.Dir(name)), checkNoLinks(root, partial)); err != nil {
		return Entry{}, err
	}
	room, done, err := s.reserveSpace(session, root, name, size)
	if err != nil {
		return Entry{}, err
	}
	defer done()
	temp, size, err := s.receiveTemp(ctx, root, from, room)
	if err != nil {
		return Entry{}, err
	}
	if err := s.commitFile(session, root, temp, name, size, done); err != nil {
		return Entry{}, errors.Join(err, root.Remove(temp))
	}
	info, err := root.Stat(name)
	if err != nil {
		return Entry{}, fmt.Errorf("stat new file: %w", err)
	}
	return entryOf(name, info), nil
}

// receiveTemp writes the received bytes to a temporary file.
func (s *Store) receiveTemp(ctx context.Context, root *os.Root, from io.Reader, room int64) (name string, size int64, err error) {
	if err := root.MkdirAll(partial, 0o700); err != nil {
		return "", 0, fmt.Errorf("create folder of unfinished files: %w", err)
	}
	temp := path.Join(partial, rand.Text())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, fmt.Errorf("create file: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("close file: %w", cerr)
		}
		if err != nil {
			err = errors.Join(err, root.Remove(temp))
		}
	}()
	size, err = io.Copy(f, io.LimitReader(&contextReader{ctx, from}, room+1))
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("write file: %w", err)
	case size > s.cfg.FileBytes:
		return "", 0, s.errTooLarge()
	case size > room:
		return "", 0, s.errFull()
	}
	if err := f.Sync(); err != nil {
		return "", 0, fmt.Errorf("sync file: %w", err)
	}
	return temp, size, nil
}

// contextReader reads until its context ends.
type contextReader struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	from io.Reader
}

func (r *contextReader) Read(b []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.from.Read(b)
}

// commitFile renames a finished file to its name, if the session has space for it, and
// calls placed, which releases the reservation: from then on the file itself counts.
func (s *Store) commitFile(session wire.SessionID, root *os.Root, temp, name string, size int64, placed func()) error {
	defer s.lockSession(session)()
	defer placed()
	bytes, count, err := usageWithout(root, name)
	if err != nil {
		return err
	}
	if bytes+size > s.cfg.SessionBytes || count >= s.cfg.SessionFiles {
		return s.errFull()
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: a folder of %q is a file", ErrName, name)
		}
		return fmt.Errorf("create parent folder: %w", err)
	}
	if err := root.Rename(temp, name); err != nil {
		return fmt.Errorf("rename file: %w", err)
	}
	return nil
}

// checkNoLinks refuses a name that leads through a symbolic link. Links are not listed, and
// their targets are unknown: outside the folder, in a cycle or another file.
func checkNoLinks(root *os.Root, name string) error {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if i == 0 {
			return nil // the session's own folder
		}
		info, err := root.Lstat(name[:i])
		if err != nil {
			return nil //nolint:nilerr // using the name reports that it does not exist
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%w: %q is a link", ErrName, name[:i])
		}
	}
	return nil
}

// asNotExist converts the error for a path through a file, which is not a folder, to
// [fs.ErrNotExist].
func asNotExist(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// Open opens a file for reading. The caller must close it.
func (s *Store) Open(session wire.SessionID, name string) (*os.File, Entry, error) {
	if err := CheckName(name); err != nil {
		return nil, Entry{}, err
	}
	root, err := s.sessionRoot(session, false)
	if err != nil {
		return nil, Entry{}, err
	}
	defer closeRoot(root)
	if err := checkNoLinks(root, name); err != nil {
		return nil, Entry{}, err
	}
	// Checking the type first prevents opening pipes and devices that another program may
	// have created.
	info, err := root.Stat(name)
	if err != nil {
		return nil, Entry{}, fmt.Errorf("stat file: %w", asNotExist(err))
	}
	if !info.Mode().IsRegular() {
		return nil, Entry{}, fmt.Errorf("%w: %q is not a file", ErrName, name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, Entry{}, fmt.Errorf("open file: %w", err)
	}
	return f, entryOf(name, info), nil
}

// List returns the content of a folder of a session, ordered by name; of the session's own
// folder if the name is empty. A session that never had a file has an empty list.
func (s *Store) List(session wire.SessionID, folder string) ([]Entry, error) {
	if folder != "" {
		if err := CheckName(folder); err != nil {
			return nil, err
		}
	}
	root, err := s.sessionRoot(session, false)
	if errors.Is(err, fs.ErrNotExist) && folder == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeRoot(root)
	if err := checkNoLinks(root, folder); err != nil {
		return nil, err
	}
	items, err := fs.ReadDir(root.FS(), cmp.Or(folder, "."))
	if err != nil {
		return nil, fmt.Errorf("list folder: %w", asNotExist(err))
	}
	entries := make([]Entry, 0, len(items))
	for _, item := range items {
		info, err := item.Info()
		if err != nil || item.Name() == partial || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		entries = append(entries, entryOf(path.Join(folder, item.Name()), info))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return entries, nil
}

// Remove removes a file, and the parent folders that become empty.
func (s *Store) Remove(session wire.SessionID, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	root, err := s.sessionRoot(session, false)
	if err != nil {
		return err
	}
	defer closeRoot(root)
	if err := checkNoLinks(root, path.Dir(name)); err != nil {
		return err
	}
	defer s.lockSession(session)()
	info, err := root.Lstat(name)
	if err != nil {
		return fmt.Errorf("stat file: %w", asNotExist(err))
	}
	if info.IsDir() {
		return fmt.Errorf("%w: %q is a folder", ErrName, name)
	}
	if err := root.Remove(name); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break // not empty
		}
	}
	return nil
}

// RemoveAll removes all files of a session, when the session is deleted.
func (s *Store) RemoveAll(session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return err
	}
	defer s.lockSession(session)()
	if err := s.root.RemoveAll(string(session)); err != nil {
		return fmt.Errorf("remove session files: %w", err)
	}
	if s.cfg.Removed == nil {
		return nil
	}
	return s.cfg.Removed(session)
}
