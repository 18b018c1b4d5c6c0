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

// What the file store refuses, besides names. A file that is not there is
// [fs.ErrNotExist].
var (
	ErrTooLarge = errors.New("file is too large")
	ErrFull     = errors.New("session has no room for more files")
	ErrBusy     = errors.New("session takes too many files at once")
)

// staleAfter is how old an unfinished file is that nobody writes any more. It is
// much longer than a transfer may take, since the folder may be that of other
// replicas too, which are at work.
const staleAfter = time.Hour

// Config tunes a [Store]. The zero value means the defaults.
type Config struct {
	// FileBytes bounds one file. It defaults to 25 MiB.
	FileBytes int64
	// SessionBytes and SessionFiles bound what one session may keep. They
	// default to 256 MiB and 1,000 files.
	SessionBytes int64
	SessionFiles int
	// SessionUploads bounds how many files one session may be sent at once. It
	// defaults to 8.
	SessionUploads int
}

// Store keeps the files of all sessions under one folder. Make it with [Open].
type Store struct {
	cfg  Config
	root *os.Root
	seed maphash.Seed
	// turns are taken by those who change which files a session has. Sessions
	// share them, so that they cost the same however many sessions there are.
	turns [64]sync.Mutex

	mu      sync.Mutex // guards the following, never while waiting
	pending map[wire.SessionID]pending
}

// Open makes a file store of a folder, which it makes if need be.
func Open(dir string, cfg Config) (*Store, error) {
	cfg.FileBytes = cmp.Or(cfg.FileBytes, 25<<20)
	cfg.SessionBytes = cmp.Or(cfg.SessionBytes, 256<<20)
	cfg.SessionFiles = cmp.Or(cfg.SessionFiles, 1000)
	cfg.SessionUploads = cmp.Or(cfg.SessionUploads, 8)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for files: %w", err)
	}
	s := &Store{cfg: cfg, root: root, seed: maphash.MakeSeed(), pending: map[wire.SessionID]pending{}}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(fmt.Errorf("remove unfinished files: %w", err), root.Close())
	}
	return s, nil
}

// sweep removes what was being written when a process died.
func (s *Store) sweep() error {
	sessions, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, d := range sessions {
		if !d.IsDir() || wire.SessionID(d.Name()).Validate() != nil {
			continue
		}
		if err := s.sweepOne(path.Join(d.Name(), partial)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) sweepOne(folder string) error {
	if info, err := s.root.Lstat(folder); err == nil && !info.IsDir() {
		return nil // which nobody writes into
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
		if err != nil || time.Since(info.ModTime()) < staleAfter {
			continue // finished by now, or not given up
		}
		if err := s.root.RemoveAll(path.Join(folder, temp.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Close gives the folder back.
func (s *Store) Close() error { return s.root.Close() }

// Entry is what is known of a file or folder without reading it.
type Entry struct {
	// Path leads there from the session's folder, with slashes.
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

// turn takes the session's turn and returns what gives it back.
func (s *Store) turn(session wire.SessionID) (done func()) {
	m := &s.turns[maphash.String(s.seed, string(session))%uint64(len(s.turns))]
	m.Lock()
	return m.Unlock
}

// folder opens the folder of a session: a root of its own, so that not even a
// link leads to another session. Without make it is [fs.ErrNotExist] as long as
// nothing was saved.
func (s *Store) folder(session wire.SessionID, create bool) (*os.Root, error) {
	if err := session.Validate(); err != nil {
		return nil, err
	}
	if create {
		if err := s.root.Mkdir(string(session), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the session's folder: %w", err)
		}
	}
	// A link in the place of the folder would lead into another session.
	if info, err := s.root.Lstat(string(session)); err != nil {
		return nil, fmt.Errorf("look at the session's folder: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%w: the session's folder is something else", ErrName)
	}
	root, err := s.root.OpenRoot(string(session))
	if err != nil {
		return nil, fmt.Errorf("open the session's folder: %w", err)
	}
	return root, nil
}

// closed gives a session's folder back. It was only a handle: there is nothing
// that closing it could lose.
func closed(root *os.Root) { _ = root.Close() }

// Save writes a file whole or not at all; an older one of that name is replaced.
// Size is how many bytes will come, or less than 0 when nobody knows; room for
// them is kept free from the beginning. The error is [ErrName], [ErrTooLarge],
// [ErrFull], [ErrBusy], the reader's or the disk's.
func (s *Store) Save(ctx context.Context, session wire.SessionID, name string, from io.Reader, size int64) (Entry, error) {
	if err := CheckName(name); err != nil {
		return Entry{}, err
	}
	if size > s.cfg.FileBytes {
		return Entry{}, s.tooLarge()
	}
	root, err := s.folder(session, true)
	if err != nil {
		return Entry{}, err
	}
	defer closed(root)
	if err := errors.Join(noLinks(root, path.Dir(name)), noLinks(root, partial)); err != nil {
		return Entry{}, err
	}
	room, done, err := s.reserve(session, root, name, size)
	if err != nil {
		return Entry{}, err
	}
	defer done()
	temp, size, err := s.receive(ctx, root, from, room)
	if err != nil {
		return Entry{}, err
	}
	if err := s.place(session, root, temp, name, size, done); err != nil {
		return Entry{}, errors.Join(err, root.Remove(temp))
	}
	info, err := root.Stat(name)
	if err != nil {
		return Entry{}, fmt.Errorf("look at the new file: %w", err)
	}
	return entryOf(name, info), nil
}

// receive writes what comes into a temporary file.
func (s *Store) receive(ctx context.Context, root *os.Root, from io.Reader, room int64) (name string, size int64, err error) {
	if err := root.MkdirAll(partial, 0o700); err != nil {
		return "", 0, fmt.Errorf("make the folder of unfinished files: %w", err)
	}
	temp := path.Join(partial, rand.Text())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, fmt.Errorf("make a file: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("close the file: %w", cerr)
		}
		if err != nil {
			err = errors.Join(err, root.Remove(temp))
		}
	}()
	size, err = io.Copy(f, io.LimitReader(&patient{ctx, from}, room+1))
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("write the file: %w", err)
	case size > s.cfg.FileBytes:
		return "", 0, s.tooLarge()
	case size > room:
		return "", 0, s.full()
	}
	if err := f.Sync(); err != nil {
		return "", 0, fmt.Errorf("flush the file: %w", err)
	}
	return temp, size, nil
}

// patient reads until its context ends.
type patient struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	from io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := context.Cause(p.ctx); err != nil {
		return 0, err
	}
	return p.from.Read(b)
}

// place gives a finished file its name, if the session has room for it. From then
// on it counts by itself, no longer by what was reserved.
func (s *Store) place(session wire.SessionID, root *os.Root, temp, name string, size int64, placed func()) error {
	defer s.turn(session)()
	defer placed()
	bytes, count, err := usageWithout(root, name)
	if err != nil {
		return err
	}
	if bytes+size > s.cfg.SessionBytes || count >= s.cfg.SessionFiles {
		return s.full()
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: a folder of %q is a file", ErrName, name)
		}
		return fmt.Errorf("make the file's folder: %w", err)
	}
	if err := root.Rename(temp, name); err != nil {
		return fmt.Errorf("give the file its name: %w", err)
	}
	return nil
}

// noLinks refuses a name that leads over a symbolic link. Links are not listed, and
// where they lead is not known: out of the folder, in circles or to another file.
func noLinks(root *os.Root, name string) error {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if i == 0 {
			return nil // the session's own folder
		}
		info, err := root.Lstat(name[:i])
		if err != nil {
			return nil //nolint:nilerr // whoever uses the name learns that it is not there
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%w: %q is a link", ErrName, name[:i])
		}
	}
	return nil
}

// absent makes a file that was taken for a folder a name that is not there.
func absent(err error) error {
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
	root, err := s.folder(session, false)
	if err != nil {
		return nil, Entry{}, err
	}
	defer closed(root)
	if err := noLinks(root, name); err != nil {
		return nil, Entry{}, err
	}
	// Looking first keeps pipes and devices, which somebody may have put
	// there, from being opened.
	info, err := root.Stat(name)
	if err != nil {
		return nil, Entry{}, fmt.Errorf("look at the file: %w", absent(err))
	}
	if !info.Mode().IsRegular() {
		return nil, Entry{}, fmt.Errorf("%w: %q is not a file", ErrName, name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, Entry{}, fmt.Errorf("open the file: %w", err)
	}
	return f, entryOf(name, info), nil
}

// List shows what is in a folder of a session, ordered by name; the session's own
// folder when the name is empty. A session that never had a file has none.
func (s *Store) List(session wire.SessionID, folder string) ([]Entry, error) {
	if folder != "" {
		if err := CheckName(folder); err != nil {
			return nil, err
		}
	}
	root, err := s.folder(session, false)
	if errors.Is(err, fs.ErrNotExist) && folder == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closed(root)
	if err := noLinks(root, folder); err != nil {
		return nil, err
	}
	items, err := fs.ReadDir(root.FS(), cmp.Or(folder, "."))
	if err != nil {
		return nil, fmt.Errorf("list the folder: %w", absent(err))
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

// Remove removes a file, and the folders it leaves empty.
func (s *Store) Remove(session wire.SessionID, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	root, err := s.folder(session, false)
	if err != nil {
		return err
	}
	defer closed(root)
	if err := noLinks(root, path.Dir(name)); err != nil {
		return err
	}
	defer s.turn(session)()
	info, err := root.Lstat(name)
	if err != nil {
		return fmt.Errorf("look at the file: %w", absent(err))
	}
	if info.IsDir() {
		return fmt.Errorf("%w: %q is a folder", ErrName, name)
	}
	if err := root.Remove(name); err != nil {
		return fmt.Errorf("remove the file: %w", err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break // it has other files
		}
	}
	return nil
}

// RemoveAll removes all files of a session, for when the session is deleted.
func (s *Store) RemoveAll(session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return err
	}
	defer s.turn(session)()
	if err := s.root.RemoveAll(string(session)); err != nil {
		return fmt.Errorf("remove the session's files: %w", err)
	}
	return nil
}
