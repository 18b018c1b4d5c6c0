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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// partialTTL is the age after which an unfinished file is removed when the store is opened.
// It is much longer than a transfer may take, because other replicas may be receiving files
// in the same folder.
const partialTTL = time.Hour

// Folder is the [Backend] that keeps files in a folder of the disk, with one folder per session
// and one each for what all sessions have in the other areas. [OpenFolder] returns one.
//
// Replicas that serve the same files need the same folder, on a shared file system. Conditions hold
// between the writers of one replica: two replicas that replace a file at the same moment may
// both succeed, and the later one counts. Those of [AreaApps] hold between replicas.
type Folder struct {
	root *os.Root
	seed maphash.Seed
	// locks serialise changes to the files of a session. Sessions are hashed to them, so
	// their cost does not depend on the number of sessions.
	locks [64]sync.Mutex
}

// OpenFolder returns the backend in a folder, which is created if it does not exist.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder for files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder for files: %w", err)
	}
	f := &Folder{root: root, seed: maphash.MakeSeed()}
	if err := f.removeStale(); err != nil {
		return nil, errors.Join(fmt.Errorf("remove unfinished files: %w", err), root.Close())
	}
	return f, nil
}

// Close releases the folder.
func (f *Folder) Close() error { return f.root.Close() }

func entryOf(name string, info fs.FileInfo) Entry {
	e := Entry{Path: name, Folder: info.IsDir(), Modified: info.ModTime()}
	if !e.Folder {
		e.Size, e.ETag = info.Size(), etagOf(info)
	}
	return e
}

// etagOf returns the tag of a file's content. Every write sets another time, see [Folder.commit], and so does a
// program that writes into the file itself.
func etagOf(info fs.FileInfo) string {
	return strconv.FormatInt(info.Size(), 36) + "-" + strconv.FormatInt(info.ModTime().UnixNano(), 36)
}

// lockSession locks the session's files and returns the function that unlocks them.
func (f *Folder) lockSession(session wire.SessionID) (done func()) {
	m := &f.locks[maphash.String(f.seed, string(session))%uint64(len(f.locks))]
	m.Lock()
	return m.Unlock
}

// areaFolder returns the folder of a session's area. Files of a session are in a folder of its name, because
// other programs find them there.
func areaFolder(session wire.SessionID, a Area) string {
	if a == AreaFiles {
		return string(session)
	}
	return path.Join("."+string(a), string(session))
}

// areaRoot opens the folder of a session's area as a root of its own, so that not even a link
// leads to another session. Without create it is [fs.ErrNotExist] until a file was saved.
func (f *Folder) areaRoot(key Key, create bool) (*os.Root, error) {
	if err := key.Session.Validate(); err != nil {
		return nil, err
	}
	folder := areaFolder(key.Session, key.Area)
	if create {
		if err := f.root.MkdirAll(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create session folder: %w", err)
		}
	}
	// A link in place of the folder could lead to another session.
	if info, err := f.root.Lstat(folder); err != nil {
		return nil, fmt.Errorf("stat session folder: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%w: the session's folder is not a folder", ErrName)
	}
	root, err := f.root.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open session folder: %w", err)
	}
	return root, nil
}

// closeRoot closes a session's folder. An error loses no data, because the root is only a
// handle.
func closeRoot(root *os.Root) { _ = root.Close() }

// Put implements [Backend].
func (f *Folder) Put(ctx context.Context, key Key, from io.Reader, _ int64, c Condition) (Entry, error) {
	e, err := f.put(ctx, key, from, c)
	return e, asNoSpace(err)
}

// asNoSpace adds [ErrNoSpace] to the error of a full disk.
func asNoSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

func (f *Folder) put(ctx context.Context, key Key, from io.Reader, c Condition) (Entry, error) {
	root, err := f.areaRoot(key, true)
	if err != nil {
		return Entry{}, err
	}
	defer closeRoot(root)
	if err := errors.Join(checkNoLinks(root, path.Dir(key.Name)), checkNoLinks(root, partial)); err != nil {
		return Entry{}, err
	}
	temp, err := receiveTemp(ctx, root, from)
	if err != nil {
		return Entry{}, err
	}
	e, err := f.commit(root, temp, key, c)
	if err != nil {
		return Entry{}, errors.Join(err, root.Remove(temp))
	}
	if key.Area == AreaCold {
		if err := f.syncFolders(key); err != nil {
			return Entry{}, err
		}
	}
	return e, nil
}

// syncFolders writes the folders of a new object to the disk, so that a power cut does not lose its name.
func (f *Folder) syncFolders(key Key) error {
	for dir := path.Join(areaFolder(key.Session, key.Area), path.Dir(key.Name)); ; dir = path.Dir(dir) {
		if err := f.syncFolder(dir); err != nil {
			return fmt.Errorf("sync folder of file: %w", err)
		}
		if dir == "." {
			return nil
		}
	}
}

func (f *Folder) syncFolder(dir string) error {
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// receiveTemp writes the received bytes to a temporary file.
func receiveTemp(ctx context.Context, root *os.Root, from io.Reader) (name string, err error) {
	if err := root.MkdirAll(partial, 0o700); err != nil {
		return "", fmt.Errorf("create folder of unfinished files: %w", err)
	}
	temp := path.Join(partial, rand.Text())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("create file: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("close file: %w", cerr)
		}
		if err != nil {
			err = errors.Join(err, root.Remove(temp))
		}
	}()
	if _, err := io.Copy(f, &contextReader{ctx, from}); err != nil {
		return "", fmt.Errorf("write file: %w", err)
	}
	if err := f.Sync(); err != nil {
		return "", fmt.Errorf("sync file: %w", err)
	}
	return temp, nil
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

// commit renames a finished file to its name, if the condition is met. It returns this version, which the next writer
// may have replaced by now.
func (f *Folder) commit(root *os.Root, temp string, key Key, c Condition) (Entry, error) {
	unlock, err := f.lockObjects(root, key)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	now := time.Now()
	old, err := root.Lstat(key.Name)
	switch {
	case err == nil && old.IsDir():
		return Entry{}, fmt.Errorf("%w: %q is a folder", ErrName, key.Name)
	case err == nil && (c.Absent || c.ETag != "" && c.ETag != etagOf(old)), err != nil && c.ETag != "":
		return Entry{}, fmt.Errorf("%q: %w", key.Name, ErrChanged)
	case err == nil && !now.After(old.ModTime()):
		now = old.ModTime().Add(time.Microsecond) // the ETag is made of it
	}
	// The kernel stamps files with a coarse clock: two versions of the same size could get the same time.
	if err := root.Chtimes(temp, now, now); err != nil {
		return Entry{}, fmt.Errorf("set time of file: %w", err)
	}
	info, err := root.Lstat(temp)
	if err != nil {
		return Entry{}, fmt.Errorf("stat new file: %w", err)
	}
	if err := makeParent(root, key.Name); err != nil {
		return Entry{}, err
	}
	if err := root.Rename(temp, key.Name); err != nil {
		return Entry{}, fmt.Errorf("rename file: %w", err)
	}
	return entryOf(key.Name, info), nil
}

// makeParent creates the folder that will have the file.
func makeParent(root *os.Root, name string) error {
	err := root.MkdirAll(path.Dir(name), 0o700)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: a folder of %q is a file", ErrName, name)
	default:
		return fmt.Errorf("create parent folder: %w", err)
	}
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

// Open implements [Backend].
func (f *Folder) Open(_ context.Context, key Key) (Content, Entry, error) {
	root, err := f.areaRoot(key, false)
	if err != nil {
		return nil, Entry{}, err
	}
	defer closeRoot(root)
	if err := checkNoLinks(root, key.Name); err != nil {
		return nil, Entry{}, err
	}
	// Checking the type first prevents opening pipes and devices that another program may
	// have created.
	info, err := root.Stat(key.Name)
	if err != nil {
		return nil, Entry{}, fmt.Errorf("stat file: %w", asNotExist(err))
	}
	if !info.Mode().IsRegular() {
		return nil, Entry{}, fmt.Errorf("%w: %q is not a file", ErrName, key.Name)
	}
	file, err := root.Open(key.Name)
	if err != nil {
		return nil, Entry{}, fmt.Errorf("open file: %w", err)
	}
	// The file may have been replaced between the two calls: the tag belongs to the bytes that are read.
	if info, err = file.Stat(); err != nil {
		return nil, Entry{}, errors.Join(fmt.Errorf("stat file: %w", err), file.Close())
	}
	return file, entryOf(key.Name, info), nil
}

// List implements [Backend]. It leaves out links and everything else that is neither a file nor a folder.
func (f *Folder) List(ctx context.Context, key Key) ([]Entry, error) {
	root, err := f.areaRoot(key, false)
	if errors.Is(err, fs.ErrNotExist) && key.Name == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeRoot(root)
	if err := checkNoLinks(root, key.Name); err != nil {
		return nil, err
	}
	top := cmp.Or(key.Name, ".")
	if info, err := root.Lstat(top); err != nil {
		return nil, fmt.Errorf("list folder: %w", asNotExist(err))
	} else if !info.IsDir() {
		return nil, fmt.Errorf("list folder: %w: %q is a file", fs.ErrNotExist, key.Name)
	}
	var entries []Entry
	err = fs.WalkDir(root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) || name == top && err == nil:
			return nil // removed meanwhile
		case key.Area == AreaApps && name == lockName:
			return nil
		case name != top && errors.Is(err, fs.ErrPermission), d != nil && d.IsDir() && d.Name() == partial, !utf8.ValidString(name):
			if d.IsDir() { // programs leave folders that cannot be read
				return fs.SkipDir
			}
			return nil
		case err != nil:
			return err
		}
		info, err := d.Info()
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			entries = append(entries, entryOf(name, info))
		}
		return nil // it was removed meanwhile
	})
	if err != nil {
		return nil, fmt.Errorf("list folder: %w", err)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return entries, nil
}

// Move implements [Backend].
func (f *Folder) Move(_ context.Context, from, to Key) (Entry, error) {
	source, err := f.areaRoot(from, false)
	if err != nil {
		return Entry{}, err
	}
	defer closeRoot(source)
	target, err := f.areaRoot(to, true)
	if err != nil {
		return Entry{}, asNoSpace(err)
	}
	defer closeRoot(target)
	if err := errors.Join(checkNoLinks(source, path.Dir(from.Name)), checkNoLinks(target, path.Dir(to.Name))); err != nil {
		return Entry{}, err
	}
	defer f.lockSession(from.Session)()
	info, err := source.Lstat(from.Name)
	if err != nil {
		return Entry{}, fmt.Errorf("stat file: %w", asNotExist(err))
	}
	if from.Area == to.Area && strings.HasPrefix(to.Name+"/", from.Name+"/") {
		return Entry{}, fmt.Errorf("%w: a folder cannot be moved into itself", ErrName)
	}
	if _, err := target.Lstat(to.Name); err == nil {
		return Entry{}, fmt.Errorf("%q: %w", to.Name, ErrExists)
	}
	if err := makeParent(target, to.Name); err != nil {
		return Entry{}, asNoSpace(err)
	}
	if err := withPermission(source, from.Name, func() error {
		return f.root.Rename(path.Join(areaFolder(from.Session, from.Area), from.Name), path.Join(areaFolder(to.Session, to.Area), to.Name))
	}); err != nil {
		removeEmpty(target, path.Dir(to.Name))
		return Entry{}, fmt.Errorf("rename file: %w", asNoSpace(err))
	}
	removeEmpty(source, path.Dir(from.Name))
	return entryOf(to.Name, info), nil
}
