package files

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// The errors of backends, besides [ErrName]. A missing file is [fs.ErrNotExist].
var (
	// ErrChanged says that a file is not the one that a [Condition] names.
	ErrChanged = errors.New("file has changed meanwhile")
	// ErrExists says that there is a file or folder with the new name already.
	ErrExists = errors.New("there is a file with this name")
	// ErrNoSpace says that the disk is full. Nothing of the object is stored.
	ErrNoSpace = errors.New("no space left for files")
)

// Area separates the kinds of objects that a session has in a [Backend].
type Area string

// The areas.
const (
	AreaFiles   Area = "files"
	AreaTrash   Area = "trash"   // deleted files, until the deletion cannot be undone any more
	AreaUploads Area = "uploads" // pieces of files that are not complete
	// AreaCold has the content of sessions that the store has moved out. It belongs to the store:
	// only the store knows whether an object is needed, so RemoveAll leaves it.
	AreaCold Area = "cold"
	// AreaApps has the apps of a user, whose id takes the place of the session's. They belong to no session, so
	// RemoveAll leaves them. Conditions hold between all replicas, also in a folder.
	AreaApps Area = "apps"
)

// Key names an object, or with a prefix of its name a folder, in a [Backend]. The caller has
// checked the name with [CheckName].
type Key struct {
	Session wire.SessionID
	Area    Area
	Name    string
}

// Condition makes a write depend on what is stored. The zero value allows every write.
type Condition struct {
	// ETag, unless empty, is that of the file to be replaced.
	ETag string
	// Absent says that there must be no file of the name.
	Absent bool
}

// Entry describes a file or folder.
type Entry struct {
	// Path is the path relative to the session's folder, with slashes.
	Path     string
	Folder   bool
	Size     int64
	Modified time.Time
	// ETag differs between any two contents that the file had; empty for folders.
	ETag string
}

// Content is a file that is open for reading.
type Content interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// Backend keeps the objects of sessions. Its methods are safe for concurrent use. Package
// filestest has its contract as tests.
type Backend interface {
	// Put stores an object as a whole or, if it or the reader fails, not at all. A negative size
	// is unknown. An object of [AreaCold] survives a power cut from then on. The error is [ErrChanged] if the condition is not met, and [ErrName] if a folder
	// of the name is a file or the name is a folder.
	Put(ctx context.Context, key Key, from io.Reader, size int64, c Condition) (Entry, error)
	// Open opens an object; [ErrName] if it is not a file.
	Open(ctx context.Context, key Key) (Content, Entry, error)
	// List returns everything below a folder, at any depth, ordered by path; of the whole area if
	// the name is empty. An area without objects is empty, any other folder without is
	// [fs.ErrNotExist]. Backends without folders return none.
	List(ctx context.Context, key Key) ([]Entry, error)
	// Move renames a file or a folder with all that is in it. The new name must be free, else it is
	// [ErrExists]. A crash may leave both names, but never none.
	Move(ctx context.Context, from, to Key) (Entry, error)
	// Remove removes an object, and a folder with all that is in it. Folders that become empty go,
	// too.
	Remove(ctx context.Context, key Key) error
	// RemoveAll removes all objects of a session besides those of [AreaCold] and [AreaApps].
	RemoveAll(ctx context.Context, session wire.SessionID) error
}
