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

// reservation is the space of the requests that bring one file.
type reservation struct {
	uploads int
	bytes   int64
}

// reserve adds a request that brings a file and returns the function that removes it.
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

// usage is what counts against the limits of a session.
type usage struct {
	bytes     int64
	files     int
	receiving int // files that are being received, each in one request
	uploads   int // unfinished uploads in pieces
}

// usageWithout returns the usage of a session without the file name, which will be replaced. Files that are being
// received and unfinished uploads count like stored files. The limits of a session bound the cost.
func (s *Store) usageWithout(ctx context.Context, session wire.SessionID, name string) (usage, error) {
	s.mu.Lock()
	received := maps.Clone(s.pending[session])
	s.mu.Unlock()
	var u usage
	for _, r := range received {
		u.receiving += r.uploads
	}
	all, err := s.backend.List(ctx, Key{session, AreaFiles, ""})
	if err != nil {
		return usage{}, fmt.Errorf("count session files: %w", err)
	}
	for _, e := range all {
		if e.Folder || e.Path == name {
			continue
		}
		// A file that is being received may be stored already, so it counts once.
		u.bytes, u.files = u.bytes+max(e.Size, received[e.Path].bytes), u.files+1
		delete(received, e.Path)
	}
	for _, r := range received {
		u.bytes, u.files = u.bytes+r.bytes, u.files+1
	}
	var reserved int64
	if reserved, u.uploads, err = s.unfinished(ctx, session); err != nil {
		return usage{}, fmt.Errorf("count unfinished uploads: %w", err)
	}
	u.bytes, u.files = u.bytes+reserved, u.files+u.uploads
	return u, nil
}

// checkRoom returns [ErrFull] unless a session with this usage has room for one more file.
func (s *Store) checkRoom(u usage, size int64) error {
	if u.bytes+max(size, 0) > s.cfg.SessionBytes || u.files >= s.cfg.SessionFiles {
		return s.errFull()
	}
	return nil
}

// reserveSpace reserves space for a file before it is received. It returns the number of bytes that may be received,
// and a function that releases the reservation.
func (s *Store) reserveSpace(ctx context.Context, session wire.SessionID, name string, size int64) (room int64, done func(), err error) {
	defer s.lockSession(session)()
	u, err := s.usageWithout(ctx, session, name)
	if err != nil {
		return 0, nil, err
	}
	if u.receiving >= s.cfg.SessionUploads {
		return 0, nil, fmt.Errorf("%w: at most %d", ErrBusy, s.cfg.SessionUploads)
	}
	if err := s.checkRoom(u, size); err != nil {
		return 0, nil, err
	}
	if room = size; size < 0 {
		room = min(s.cfg.FileBytes, s.cfg.SessionBytes-u.bytes)
	}
	return room, s.reserve(session, name, room), nil
}
