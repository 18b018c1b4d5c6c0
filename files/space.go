package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

func (s *Store) errTooLarge() error {
	return fmt.Errorf("%w: at most %d bytes are allowed", ErrTooLarge, s.cfg.FileBytes)
}

func (s *Store) errFull() error {
	return fmt.Errorf("%w: at most %d files with %d bytes", ErrFull, s.cfg.SessionFiles, s.cfg.SessionBytes)
}

// pending counts the unfinished uploads of a session.
type pending struct {
	files int
	bytes int64
}

func (s *Store) addPending(session wire.SessionID, files int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[session]
	p.files, p.bytes = p.files+files, p.bytes+bytes
	if p.files == 0 {
		delete(s.pending, session)
		return
	}
	s.pending[session] = p
}

// reserveSpace reserves space for a file before it is received, so that unfinished files
// count like finished ones. It returns the number of bytes that may be received, and a
// function that releases the reservation.
func (s *Store) reserveSpace(session wire.SessionID, root *os.Root, name string, size int64) (room int64, done func(), err error) {
	defer s.lockSession(session)()
	s.mu.Lock()
	others := s.pending[session]
	s.mu.Unlock()
	if others.files >= s.cfg.SessionUploads {
		return 0, nil, fmt.Errorf("%w: at most %d", ErrBusy, s.cfg.SessionUploads)
	}
	bytes, count, err := usageWithout(root, name)
	if err != nil {
		return 0, nil, err
	}
	left := s.cfg.SessionBytes - bytes - others.bytes
	if left < max(size, 0) || count+others.files >= s.cfg.SessionFiles {
		return 0, nil, s.errFull()
	}
	if room = size; size < 0 {
		room = min(s.cfg.FileBytes, left)
	}
	s.addPending(session, 1, room)
	return room, sync.OnceFunc(func() { s.addPending(session, -1, -room) }), nil
}

// usageWithout returns the usage of a session without the file name, which will be
// replaced.
func usageWithout(root *os.Root, name string) (bytes int64, count int, err error) {
	if bytes, count, err = usage(root); err != nil {
		return 0, 0, err
	}
	switch old, err := root.Lstat(name); {
	case err == nil && old.IsDir():
		return 0, 0, fmt.Errorf("%w: %q is a folder", ErrName, name)
	case err == nil:
		return bytes - old.Size(), count - 1, nil
	}
	return bytes, count, nil
}

// usage counts the files of a session. The limits of a session bound the cost.
func usage(root *os.Root) (bytes int64, count int, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil:
			return err
		case name == partial:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		count++
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count session files: %w", err)
	}
	return bytes, count, nil
}
