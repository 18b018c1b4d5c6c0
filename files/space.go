package files

import (
	"context"
	"fmt"
	"hash/maphash"
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

// lockSession locks the reservations of a session and returns the function that unlocks them.
func (s *Store) lockSession(session wire.SessionID) (done func()) {
	m := &s.locks[maphash.String(s.seed, string(session))%uint64(len(s.locks))]
	m.Lock()
	return m.Unlock
}

// reserveSpace reserves space for a file before it is received, so that unfinished files
// count like finished ones. It returns the number of bytes that may be received, and a
// function that releases the reservation.
func (s *Store) reserveSpace(ctx context.Context, session wire.SessionID, name string, size int64) (room int64, done func(), err error) {
	defer s.lockSession(session)()
	s.mu.Lock()
	others := s.pending[session]
	s.mu.Unlock()
	if others.files >= s.cfg.SessionUploads {
		return 0, nil, fmt.Errorf("%w: at most %d", ErrBusy, s.cfg.SessionUploads)
	}
	bytes, count, err := s.usageWithout(ctx, session, name)
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
// replaced. The limits of a session bound the cost.
func (s *Store) usageWithout(ctx context.Context, session wire.SessionID, name string) (bytes int64, count int, err error) {
	all, err := s.backend.List(ctx, Key{session, AreaFiles, ""})
	if err != nil {
		return 0, 0, fmt.Errorf("count session files: %w", err)
	}
	for _, e := range all {
		if !e.Folder && e.Path != name {
			bytes, count = bytes+e.Size, count+1
		}
	}
	return bytes, count, nil
}
