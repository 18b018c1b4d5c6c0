package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// The errors of the file store, besides those of backends.
var (
	ErrTooLarge = errors.New("file is too large")
	ErrFull     = errors.New("session has no space for more files")
	ErrBusy     = errors.New("too many concurrent uploads to the session")
)

// Config configures a [Store]. Zero fields mean the defaults.
type Config struct {
	// FileBytes bounds one file. It defaults to 25 MiB.
	FileBytes int64
	// SessionBytes and SessionFiles bound the files of one session. They default to 256 MiB
	// and 1,000 files. The trash may have as much again.
	SessionBytes int64
	SessionFiles int
	// SessionUploads bounds the concurrent uploads to one session. It defaults to 8.
	SessionUploads int
	// Removed, unless nil, is called by RemoveAll, to remove what else a session has on this
	// machine.
	Removed func(wire.SessionID) error
	// Changed, unless nil, is called after files of a session have changed, with the context of the
	// change.
	Changed func(context.Context, wire.SessionID, []Change)
}

// Change says what happened to a file or folder.
type Change struct {
	Entry
	// Removed says that there is nothing at the path any more; only Path and Folder are set then.
	Removed bool
}

// Store holds the files of all sessions in a [Backend]. [New] and [Open] return one.
type Store struct {
	cfg     Config
	backend Backend
	seed    maphash.Seed
	// locks serialise the reservations of space of a session. Sessions are hashed to them, so
	// their cost does not depend on the number of sessions.
	locks [64]sync.Mutex

	mu      sync.Mutex // guards pending, never held during I/O
	pending map[wire.SessionID]map[string]reservation
}

// New returns the file store in a backend, which the store closes if it can be closed.
func New(b Backend, cfg Config) *Store {
	cfg.FileBytes = cmp.Or(cfg.FileBytes, 25<<20)
	cfg.SessionBytes = cmp.Or(cfg.SessionBytes, 256<<20)
	cfg.SessionFiles = cmp.Or(cfg.SessionFiles, 1000)
	cfg.SessionUploads = cmp.Or(cfg.SessionUploads, 8)
	return &Store{cfg: cfg, backend: b, seed: maphash.MakeSeed(), pending: map[wire.SessionID]map[string]reservation{}}
}

// Open returns the file store in a folder, see [OpenFolder].
func Open(dir string, cfg Config) (*Store, error) {
	b, err := OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return New(b, cfg), nil
}

// Backend returns where the store keeps its objects, for what is stored beside the files of sessions.
func (s *Store) Backend() Backend { return s.backend }

// Close closes the backend.
func (s *Store) Close() error {
	if c, ok := s.backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (s *Store) changed(ctx context.Context, session wire.SessionID, changes ...Change) {
	if s.cfg.Changed != nil {
		s.cfg.Changed(ctx, session, changes)
	}
}

// Save writes a file atomically and replaces an older one of that name. size is the number
// of bytes to expect, or negative if unknown; the space is reserved from the beginning. The
// error is [ErrName], [ErrTooLarge], [ErrFull], [ErrBusy], or that of the reader or the
// backend.
func (s *Store) Save(ctx context.Context, session wire.SessionID, name string, from io.Reader, size int64) (Entry, error) {
	return s.SaveIf(ctx, session, name, from, size, Condition{})
}

// SaveIf is Save for a file that is as the condition says; else the error is [ErrChanged].
func (s *Store) SaveIf(ctx context.Context, session wire.SessionID, name string, from io.Reader, size int64, c Condition) (Entry, error) {
	if err := CheckNewName(name); err != nil {
		return Entry{}, err
	}
	if size > s.cfg.FileBytes {
		return Entry{}, s.errTooLarge()
	}
	room, done, err := s.reserveSpace(ctx, session, name, size)
	if err != nil {
		return Entry{}, err
	}
	defer done()
	return s.put(ctx, session, name, &boundedReader{from: from, left: room, err: s.errBeyond(room)}, size, c)
}

// Import is Save for a file of an imported session, without the limits of uploads: programs write more and larger files,
// which are exported. The caller bounds them.
func (s *Store) Import(ctx context.Context, session wire.SessionID, name string, from io.Reader, size int64) (Entry, error) {
	if err := CheckNewName(name); err != nil {
		return Entry{}, err
	}
	return s.put(ctx, session, name, from, size, Condition{})
}

func (s *Store) put(ctx context.Context, session wire.SessionID, name string, from io.Reader, size int64, c Condition) (Entry, error) {
	e, err := s.backend.Put(ctx, Key{session, AreaFiles, name}, from, size, c)
	if err != nil {
		return Entry{}, err
	}
	s.changed(ctx, session, Change{Entry: e})
	return e, nil
}

// errBeyond returns the error for a file with more bytes than there is room for.
func (s *Store) errBeyond(room int64) error {
	if room >= s.cfg.FileBytes {
		return s.errTooLarge()
	}
	return s.errFull()
}

// boundedReader fails when it has to read more bytes than are allowed, so that the backend stores
// nothing.
type boundedReader struct {
	from io.Reader
	left int64
	err  error
}

func (r *boundedReader) Read(b []byte) (int, error) {
	if int64(len(b)) > r.left+1 {
		b = b[:r.left+1]
	}
	n, err := r.from.Read(b)
	if r.left -= int64(n); r.left < 0 {
		return 0, r.err
	}
	return n, err
}

// Open opens a file for reading. The caller must close it.
func (s *Store) Open(ctx context.Context, session wire.SessionID, name string) (Content, Entry, error) {
	if err := CheckName(name); err != nil {
		return nil, Entry{}, err
	}
	return s.backend.Open(ctx, Key{session, AreaFiles, name})
}

// OpenLocal opens a file as one of the operating system, for programs that need one. The caller must
// close it.
func (s *Store) OpenLocal(ctx context.Context, session wire.SessionID, name string) (*os.File, Entry, error) {
	c, e, err := s.Open(ctx, session, name)
	if err != nil {
		return nil, Entry{}, err
	}
	if f, ok := c.(*os.File); ok {
		return f, e, nil
	}
	defer func() { _ = c.Close() }() // only read
	f, err := os.CreateTemp("", "everdesk-file-*")
	if err != nil {
		return nil, Entry{}, fmt.Errorf("copy file: %w", err)
	}
	_ = os.Remove(f.Name()) // the system deletes it when it is closed; elsewhere with the temporary files
	if _, err = io.Copy(f, c); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, Entry{}, errors.Join(fmt.Errorf("copy file: %w", err), f.Close())
	}
	return f, e, nil
}

// List returns the content of a folder of a session, ordered by name; of the session's own
// folder if the name is empty. A session that never had a file has an empty list.
func (s *Store) List(ctx context.Context, session wire.SessionID, folder string) ([]Entry, error) {
	all, err := s.ListAll(ctx, session, folder)
	if err != nil {
		return nil, err
	}
	below := ""
	if folder != "" {
		below = folder + "/"
	}
	var entries []Entry
	for _, e := range all {
		name, _, deeper := strings.Cut(strings.TrimPrefix(e.Path, below), "/")
		if !deeper {
			entries = append(entries, e)
			continue
		}
		// A backend without folders does not list the one that this file is in.
		if child := below + name; len(entries) == 0 || entries[len(entries)-1].Path != child {
			entries = append(entries, Entry{Path: child, Folder: true, Modified: e.Modified})
		}
	}
	return mergeFolders(entries), nil
}

// mergeFolders sorts entries and drops the second of two with one path: with names such as "a", "a.b" and
// "a/c" a folder and its content are not next to each other.
func mergeFolders(entries []Entry) []Entry {
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	kept := entries[:0]
	for _, e := range entries {
		if len(kept) == 0 || kept[len(kept)-1].Path != e.Path {
			kept = append(kept, e)
		}
	}
	return kept
}

// ListAll returns everything below a folder of a session, at any depth; folders may be missing.
func (s *Store) ListAll(ctx context.Context, session wire.SessionID, folder string) ([]Entry, error) {
	if folder != "" {
		if err := CheckName(folder); err != nil {
			return nil, err
		}
	}
	return s.backend.List(ctx, Key{session, AreaFiles, folder})
}

// Move renames a file or folder. The new name must be free, else the error is [ErrExists].
func (s *Store) Move(ctx context.Context, session wire.SessionID, from, to string) (Entry, error) {
	if err := errors.Join(CheckName(from), CheckNewName(to)); err != nil {
		return Entry{}, err
	}
	e, err := s.backend.Move(ctx, Key{session, AreaFiles, from}, Key{session, AreaFiles, to})
	if err != nil {
		return Entry{}, err
	}
	s.changed(ctx, session, Change{Entry: Entry{Path: from, Folder: e.Folder}, Removed: true}, Change{Entry: e})
	return e, nil
}

// Remove removes a file for good, and the parent folders that become empty.
func (s *Store) Remove(ctx context.Context, session wire.SessionID, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	key := Key{session, AreaFiles, name}
	if err := s.mustBeFile(ctx, key); err != nil {
		return err
	}
	if err := s.backend.Remove(ctx, key); err != nil {
		return err
	}
	s.changed(ctx, session, Change{Entry: Entry{Path: name}, Removed: true})
	return nil
}

// mustBeFile refuses folders.
func (s *Store) mustBeFile(ctx context.Context, key Key) error {
	f, _, err := s.backend.Open(ctx, key)
	if err == nil {
		_ = f.Close() // only opened to check that it is a file
	}
	if errors.Is(err, fs.ErrNotExist) {
		if below, lerr := s.backend.List(ctx, key); lerr == nil && len(below) > 0 {
			return fmt.Errorf("%w: %q is a folder", ErrName, key.Name)
		}
	}
	return err
}

// RemoveAll removes all files of a session, when the session is deleted.
func (s *Store) RemoveAll(ctx context.Context, session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return err
	}
	if err := s.backend.RemoveAll(ctx, session); err != nil {
		return err
	}
	if s.cfg.Removed == nil {
		return nil
	}
	return s.cfg.Removed(session)
}
