package httpio

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// Bounds of the memory for large responses. A client may read as slowly as [writeTimeout] allows,
// so without these bounds a few clients could occupy all memory.
const (
	responseBudgetBytes = 32 << 20        // for all users
	userBudgetBytes     = 8 << 20         // per user, so that none can starve the others
	budgetTimeout       = 3 * time.Second // longest wait for memory
	// maxEncoders bounds the responses that are encoded at once, before their size is known.
	maxEncoders = 2
)

// Budget bounds the bytes of large responses in flight. A response that exceeds a bound
// passes when it is the only one.
type Budget struct {
	encoders chan struct{}

	mu     sync.Mutex // guards the following
	used   int64
	byUser map[string]int64
	freed  chan struct{} // closed when memory is released
	shared map[string]*Encoded
}

// Encoded is an encoded response that several clients share.
type Encoded struct {
	Body []byte
	Hash string // state hash of a snapshot, or ""
	refs int    // guarded by Budget.mu
}

// NewBudget returns a budget with all its memory free.
func NewBudget() *Budget {
	return &Budget{
		encoders: make(chan struct{}, maxEncoders), byUser: map[string]int64{}, freed: make(chan struct{}), shared: map[string]*Encoded{},
	}
}

// fits reports whether a response of n bytes for a user is within the bounds; fresh of them are not
// shared with another response. The caller holds mu.
func (b *Budget) fits(user string, n, fresh int64) bool {
	return (fresh == 0 || b.used == 0 || b.used+fresh <= responseBudgetBytes) && (b.byUser[user] == 0 || b.byUser[user]+n <= userBudgetBytes)
}

// account adds n bytes to those of a user, and fresh to the total. Negative numbers release memory.
// The caller holds mu.
func (b *Budget) account(user string, n, fresh int64) {
	b.used += fresh
	if b.byUser[user] += n; b.byUser[user] == 0 {
		delete(b.byUser, user)
	}
	if n < 0 {
		close(b.freed)
		b.freed = make(chan struct{})
	}
}

// wait waits until memory is released.
func (b *Budget) wait(ctx context.Context, freed <-chan struct{}) error {
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return budgetError(ctx)
	}
}

// errBudgetExhausted is the cause of a wait that timed out.
var errBudgetExhausted = errors.New("too many large answers are under way")

// budgetError returns the response to a request whose ctx ended while it waited for memory.
func budgetError(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, errBudgetExhausted) {
		return err
	}
	return problem.New(wire.CodeRateLimited, "Too many large answers are under way.").WithStatus(http.StatusServiceUnavailable)
}

// Reservation is the memory reserved for one response.
type Reservation struct {
	b    *Budget
	user string
	n    int64
}

// Reserve reserves n bytes, waiting up to budgetTimeout.
func (b *Budget) Reserve(ctx context.Context, user string, n int64) (*Reservation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, budgetTimeout, errBudgetExhausted)
	defer cancel()
	for {
		b.mu.Lock()
		if b.fits(user, n, n) {
			b.account(user, n, n)
			b.mu.Unlock()
			return &Reservation{b, user, n}, nil
		}
		freed := b.freed
		b.mu.Unlock()
		if err := b.wait(ctx, freed); err != nil {
			return nil, err
		}
	}
}

// WithPage reserves memory for a page of a conversation while answer reads and sends it, and
// bounds its time. The page exists four times: as stored, decoded, as a digest and as the response
// body.
func (b *Budget) WithPage(ctx context.Context, user string, answer func(context.Context) error) error {
	reservation, err := b.Reserve(ctx, user, 4*MaxPageBytes)
	if err != nil {
		return err
	}
	defer reservation.Release()
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	return answer(ctx)
}

// Resize changes the reservation to the actual size.
func (r *Reservation) Resize(n int64) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.b.account(r.user, n-r.n, n-r.n)
	r.n = n
}

// Release returns the memory of the reservation.
func (r *Reservation) Release() { r.Resize(0) }

// ShareEncoded is reserve for a response that is the same for all concurrent requests with the same
// key: it is encoded once. The caller must call done.
func (b *Budget) ShareEncoded(ctx context.Context, user, key string, encode func() *Encoded) (e *Encoded, done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, budgetTimeout, errBudgetExhausted)
	defer cancel()
	for size := int64(0); ; { // 0 while unknown
		e, freed := b.acquireShared(user, key, size)
		switch {
		case e != nil:
			return e, func() { b.releaseShared(user, key, e) }, nil
		case freed != nil:
			if err := b.wait(ctx, freed); err != nil {
				return nil, nil, err
			}
			continue
		}
		// A response that does not fit is dropped, since a waiting request must not hold memory;
		// the second time its size is known before encoding.
		if e, size, err = b.encodeShared(ctx, user, key, encode); err != nil {
			return nil, nil, err
		}
		if e != nil {
			return e, func() { b.releaseShared(user, key, e) }, nil
		}
	}
}

// acquireShared returns the shared response of a key and counts a reference. Without one, freed is
// nil if the caller may encode it, or is closed when the caller should try again.
func (b *Budget) acquireShared(user, key string, size int64) (e *Encoded, freed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e = b.shared[key]
	switch {
	case e == nil && b.fits(user, size, size):
		return nil, nil
	case e == nil || !b.fits(user, int64(len(e.Body)), 0):
		return nil, b.freed
	}
	e.refs++
	b.account(user, int64(len(e.Body)), 0)
	return e, nil
}

// encodeShared encodes a response and shares it if it fits.
func (b *Budget) encodeShared(ctx context.Context, user, key string, encode func() *Encoded) (*Encoded, int64, error) {
	select {
	case b.encoders <- struct{}{}:
		defer func() { <-b.encoders }()
	case <-ctx.Done():
		return nil, 0, budgetError(ctx)
	}
	if e, _ := b.acquireShared(user, key, 0); e != nil {
		return e, 0, nil // another request was faster
	}
	e := encode()
	size := int64(len(e.Body))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shared[key] != nil || !b.fits(user, size, size) {
		return nil, size, nil
	}
	e.refs = 1
	b.shared[key] = e
	b.account(user, size, size)
	return e, size, nil
}

// releaseShared releases a reference of acquireShared or encodeShared.
func (b *Budget) releaseShared(user, key string, e *Encoded) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size, fresh := int64(len(e.Body)), int64(0)
	if e.refs--; e.refs == 0 {
		fresh = size
		delete(b.shared, key)
	}
	b.account(user, -size, -fresh)
}
