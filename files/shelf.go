package files

import (
	"context"
	"io"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Config tunes a [Shelf]. The zero value means the defaults.
type Config struct {
	// FileBytes bounds one file. It defaults to 25 MiB.
	FileBytes int64
	// SessionBytes and SessionFiles bound what one session may keep. They
	// default to 256 MiB and 1,000 files.
	SessionBytes int64
	SessionFiles int
}

// Shelf keeps the files of all sessions under one folder.
type Shelf struct{}

// Open makes a shelf of a folder, which it makes if need be.
func Open(dir string, cfg Config) (*Shelf, error) { panic("not built yet") }

// Entry is what is known of a file or folder without reading it.
type Entry struct {
	Path     string
	Folder   bool
	Size     int64
	Modified time.Time
}

// Save writes a file whole or not at all; an older one of that name is replaced.
func (s *Shelf) Save(ctx context.Context, session wire.SessionID, name string, from io.Reader) (Entry, error) {
	panic("not built yet")
}

// Close gives the folder back.
func (s *Shelf) Close() error { panic("not built yet") }
