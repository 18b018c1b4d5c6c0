package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// What answers that may be large may hold while they are under way. Clients read
// as slowly as they like for [writeTimeout], so that without these bounds a few of
// them would take all memory.
const (
	bulkBytes = 32 << 20        // of all
	bulkShare = 8 << 20         // of one user, who cannot keep others from theirs
	bulkWait  = 3 * time.Second // for room
	// bulkEncoders is how many are encoded at once, before it is known how
	// much room they need.
	bulkEncoders = 2
)

// bulk counts the bytes of large answers under way. An answer that is larger than
// a bound passes when it is the only one.
type bulk struct {
	encoders chan struct{}

	mu     sync.Mutex // guards the following
	used   int64
	by     map[string]int64 // by user
	freed  chan struct{}    // closed when something is given back
	copies map[string]*encoded
}

// encoded is an answer that several clients are sent.
type encoded struct {
	body []byte
	hash string // of the state, if that is what it is
	refs int    // guarded by the bulk's mu
}

func (b *bulk) init() {
	b.encoders = make(chan struct{}, bulkEncoders)
	b.by = map[string]int64{}
	b.freed = make(chan struct{})
	b.copies = map[string]*encoded{}
}

// fits reports whether a user may be sent n bytes more, of which fresh are in
// nobody else's answer. The caller has the mutex.
func (b *bulk) fits(user string, n, fresh int64) bool {
	return (fresh == 0 || b.used == 0 || b.used+fresh <= bulkBytes) && (b.by[user] == 0 || b.by[user]+n <= bulkShare)
}

// add counts n bytes for a user, of which fresh are in nobody else's answer.
// Less than 0 are given back. The caller has the mutex.
func (b *bulk) add(user string, n, fresh int64) {
	b.used += fresh
	if b.by[user] += n; b.by[user] == 0 {
		delete(b.by, user)
	}
	if n < 0 {
		close(b.freed)
		b.freed = make(chan struct{})
	}
}

// wait waits until something is given back.
func (b *bulk) wait(ctx context.Context, freed <-chan struct{}) error {
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return busy(ctx)
	}
}

// errCrowded is why somebody has waited in vain.
var errCrowded = errors.New("too many large answers are under way")

// busy is what to say when ctx has ended before there was room.
func busy(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, errCrowded) {
		return err
	}
	return problem(wire.CodeRateLimited, "Too many large answers are under way.").withStatus(http.StatusServiceUnavailable)
}

// byteReservation is what one answer may hold.
type byteReservation struct {
	b    *bulk
	user string
	n    int64
}

// take keeps room for n bytes free.
func (b *bulk) take(ctx context.Context, user string, n int64) (*byteReservation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bulkWait, errCrowded)
	defer cancel()
	for {
		b.mu.Lock()
		if b.fits(user, n, n) {
			b.add(user, n, n)
			b.mu.Unlock()
			return &byteReservation{b, user, n}, nil
		}
		freed := b.freed
		b.mu.Unlock()
		if err := b.wait(ctx, freed); err != nil {
			return nil, err
		}
	}
}

// readLarge reserves memory for a page of a conversation while answer reads and sends
// it, and bounds the time of that. The page is there four times: as it is kept, as
// values, as their digest and as the body of the answer.
func (s *Server) readLarge(c echo.Context, answer func(context.Context) error) error {
	room, err := s.bulk.take(c.Request().Context(), caller(c).User, 4*pageBytes)
	if err != nil {
		return err
	}
	defer room.release()
	ctx, cancel := context.WithTimeout(c.Request().Context(), answerTimeout)
	defer cancel()
	return answer(ctx)
}

// resize says how much it has come to.
func (r *byteReservation) resize(n int64) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.b.add(r.user, n-r.n, n-r.n)
	r.n = n
}

func (r *byteReservation) release() { r.resize(0) }

// share is take for an answer that is the same for all who ask under a key at the
// same time: it is encoded once. The caller must call done.
func (b *bulk) share(ctx context.Context, user, key string, encode func() *encoded) (e *encoded, done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bulkWait, errCrowded)
	defer cancel()
	for size := int64(0); ; { // 0 as long as it is not known
		e, freed := b.join(user, key, size)
		switch {
		case e != nil:
			return e, func() { b.leave(user, key, e) }, nil
		case freed != nil:
			if err := b.wait(ctx, freed); err != nil {
				return nil, nil, err
			}
			continue
		}
		// What does not fit is thrown away, since whoever waits must not hold
		// anything; the second time it is known whether it fits.
		if e, size, err = b.encode(ctx, user, key, encode); err != nil {
			return nil, nil, err
		}
		if e != nil {
			return e, func() { b.leave(user, key, e) }, nil
		}
	}
}

// join finds what others are being sent. Without that, freed is nil if it may be
// encoded, or tells when to try again.
func (b *bulk) join(user, key string, size int64) (e *encoded, freed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e = b.copies[key]
	switch {
	case e == nil && b.fits(user, size, size):
		return nil, nil
	case e == nil || !b.fits(user, int64(len(e.body)), 0):
		return nil, b.freed
	}
	e.refs++
	b.add(user, int64(len(e.body)), 0)
	return e, nil
}

// encode encodes an answer and keeps it if there is room.
func (b *bulk) encode(ctx context.Context, user, key string, encode func() *encoded) (*encoded, int64, error) {
	select {
	case b.encoders <- struct{}{}:
		defer func() { <-b.encoders }()
	case <-ctx.Done():
		return nil, 0, busy(ctx)
	}
	if e, _ := b.join(user, key, 0); e != nil {
		return e, 0, nil // somebody was faster
	}
	e := encode()
	size := int64(len(e.body))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.copies[key] != nil || !b.fits(user, size, size) {
		return nil, size, nil
	}
	e.refs = 1
	b.copies[key] = e
	b.add(user, size, size)
	return e, size, nil
}

// leave gives back what share gave.
func (b *bulk) leave(user, key string, e *encoded) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size, fresh := int64(len(e.body)), int64(0)
	if e.refs--; e.refs == 0 {
		fresh = size
		delete(b.copies, key)
	}
	b.add(user, -size, -fresh)
}
