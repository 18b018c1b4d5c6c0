package files

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

func (s *Store) errTooLarge() error {
	return fmt.Errorf("%w: at most %d bytes are allowed", ErrTooLarge, s.cfg.FileBytes)
}

func (s *Store) errFull() error {
	return fmt.Errorf("%w: at most %d files with %d bytes", ErrFull, s.cfg.SessionFiles, s.cfg.SessionBytes)
}

// reservation is the space of the unfinished uploads of one file.
type reservation struct {
	uploads int
	bytes   int64
}

// reserve adds an unfinished upload and returns the function that removes it.
func (s *Store) reserve(session wire.SessionID, name string, bytes int64) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.pending[session]
	if all == nil {
		all = map[string]reservation{}
		s.pending[session] = all
	}
	r := all[name]
	all[name] = reservation{r.uploads + 1, r.bytes + bytes}
	return sync.OnceFunc(func() { s.release(session, name, bytes) })
}

func (s *Store) release(session wire.SessionID, name string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.pending[session]
	r := all[name]
	if all[name] = (reservation{r.uploads - 1, r.bytes - bytes}); r.uploads == 1 {
		delete(all, name)
	}
	if len(all) == 0 {
		delete(s.pending, session)
	}
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
	others := maps.Clone(s.pending[session])
	s.mu.Unlock()
	uploads := 0
	for _, r := range others {
		uploads += r.uploads
	}
	if uploads >= s.cfg.SessionUploads {
		return 0, nil, fmt.Errorf("%w: at most %d", ErrBusy, s.cfg.SessionUploads)
	}
	all, err := s.backend.List(ctx, Key{session, AreaFiles, ""})
	if err != nil {
		return 0, nil, fmt.Errorf("count session files: %w", err)
	}
	left, count := s.cfg.SessionBytes, 0
	for _, e := range all {
		if e.Folder || e.Path == name {
			continue
		}
		// A file that is being uploaded may be stored already, so it counts once.
		left, count = left-max(e.Size, others[e.Path].bytes), count+1
		delete(others, e.Path)
	}
	for _, r := range others {
		left, count = left-r.bytes, count+1
	}
	if left < max(size, 0) || count >= s.cfg.SessionFiles {
		return 0, nil, s.errFull()
	}
	if room = size; size < 0 {
		room = min(s.cfg.FileBytes, left)
	}
	return room, s.reserve(session, name, room), nil
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
