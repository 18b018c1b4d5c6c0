package agentpool

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ErrFull means that no slot is free now.
var ErrFull = errors.New("no agent slot is free")

// errLost means that a slot was lost before all of its parts were acquired.
var errLost = errors.New("the slot was lost while waiting for the rest of it")

// The semaphore that every agent needs, the prefixes of the semaphores per session and per
// user, and the pauses between retries.
const (
	globalSemaphore  = "agents"
	sessionSemaphore = "agents:session:"
	userSemaphore    = "agents:user:"
	minRetryPause    = 50 * time.Millisecond
	maxRetryPause    = 2 * time.Second
)

// Semaphores is the part of a store that the limiter uses.
type Semaphores interface {
	// Acquire takes a slot, or renews the one of the same holder. A free slot goes to the
	// waiting request whose key holds the fewest slots, and among those to the oldest.
	// [store.ErrFull] if r may not wait.
	Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error)
	// RenewSlot extends a slot by its TTL from now. [store.ErrFenced] if it has expired or
	// was released.
	RenewSlot(ctx context.Context, s store.Slot) error
	// ReleaseSlot frees a slot. A slot that is not held is not an error.
	ReleaseSlot(ctx context.Context, s store.Slot) error
	// Slots counts the held slots and the waiting requests of a semaphore.
	Slots(ctx context.Context, semaphore string) (store.SlotUse, error)
}

// Limits bound the number of concurrent agents. All replicas must have the same limits.
type Limits struct {
	// Agents bounds all agents of all replicas; default 10.
	Agents int
	// PerSession and PerUser bound the agents of one session and of one user; 0 means no bound.
	PerSession int
	PerUser    int
	// TTL is the time after which the slots of a dead replica become free; default 10 s.
	TTL time.Duration
}

// Claim identifies the session and user that request a slot. Waiting is fair between sessions.
type Claim struct {
	Session wire.SessionID
	// User may be empty; then PerUser does not apply.
	User string
	// Holder describes the agent, for operators who inspect the store. It need not be unique.
	Holder string
}

// Limiter bounds the number of concurrent agents over all sessions and replicas that share a
// store. It is safe for concurrent use.
type Limiter struct {
	store  Semaphores
	limits Limits
	log    *slog.Logger
	// id distinguishes the holders of this limiter from those of all others.
	id    string
	count atomic.Uint64 // of holders, to number them

	mu   sync.Mutex // guards the following
	held map[*slotPart]struct{}

	releases sync.WaitGroup // releases that the store has not confirmed yet
}

// slotPart is one of the semaphores that a slot holds: that of the session, of the user, and of all
// agents.
type slotPart struct {
	store.SlotRequest
	of *Slot
}

func (p *slotPart) slot() store.Slot {
	return store.Slot{Semaphore: p.Semaphore, Holder: p.Holder, TTL: p.TTL}
}

// NewLimiter returns a limiter. The caller must run [Limiter.Run], otherwise slots expire.
func NewLimiter(s Semaphores, l Limits, log *slog.Logger) *Limiter {
	l.Agents, l.TTL = cmp.Or(l.Agents, 10), cmp.Or(l.TTL, 10*time.Second)
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Limiter{store: s, limits: l, log: log, id: rand.Text(), held: map[*slotPart]struct{}{}}
}

// Limits returns the effective limits, with defaults applied.
func (l *Limiter) Limits() Limits { return l.limits }

// Use returns the numbers of running and waiting agents of all replicas.
func (l *Limiter) Use(ctx context.Context) (store.SlotUse, error) {
	u, err := l.store.Slots(ctx, globalSemaphore)
	if err != nil {
		return u, fmt.Errorf("count agents: %w", err)
	}
	return u, nil
}

// Running returns the number of agents that hold a slot of this limiter.
func (l *Limiter) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for p := range l.held {
		if p.Semaphore == globalSemaphore {
			n++
		}
	}
	return n
}

// Acquire waits for a slot until the context ends, also while the store is unavailable.
func (l *Limiter) Acquire(ctx context.Context, c Claim) (*Slot, error) {
	for {
		s, err := l.acquireSlot(ctx, c, true)
		if errors.Is(err, errLost) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("wait for an agent slot: %w", err)
		}
		return s, nil
	}
}

// Try acquires a slot if one is free now, otherwise it returns [ErrFull].
func (l *Limiter) Try(ctx context.Context, c Claim) (*Slot, error) {
	s, err := l.acquireSlot(ctx, c, false)
	if err != nil {
		return nil, fmt.Errorf("take an agent slot: %w", err)
	}
	return s, nil
}

// Wait returns when every released slot is free in the store, or its retries have timed out.
// The limiter must not be used afterwards.
func (l *Limiter) Wait() { l.releases.Wait() }

// acquireSlot acquires the parts of a slot one after the other, always in the same order, so
// that two callers never deadlock.
func (l *Limiter) acquireSlot(ctx context.Context, c Claim, wait bool) (*Slot, error) {
	s := newSlot(l)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.lostCtx, stop)()
	for _, r := range l.requests(c, wait) {
		err := l.acquirePart(ctx, r)
		if err == nil || !errors.Is(err, ErrFull) {
			// Also after an error: the store may have granted it and only the reply was lost.
			s.addPart(r)
		}
		if err == nil && s.lostCtx.Err() == nil {
			continue
		}
		s.Release()
		if s.lostCtx.Err() != nil {
			return nil, errLost
		}
		if errors.Is(err, ErrFull) { // the store is available, so the release is fast
			select {
			case <-s.released: // the other parts are free when the caller gets the error
			case <-ctx.Done():
			}
		}
		return nil, err
	}
	return s, nil
}

// requests returns the semaphores that a claim needs, in the order of acquisition.
func (l *Limiter) requests(c Claim, wait bool) []store.SlotRequest {
	holder := fmt.Sprintf("%s-%d", l.id, l.count.Add(1))
	if named := holder + " " + c.Holder; store.CheckName("holder", named) == nil {
		holder = named
	}
	r := store.SlotRequest{
		Semaphore: globalSemaphore, Limit: l.limits.Agents, Holder: holder, Key: string(c.Session), TTL: l.limits.TTL, Wait: wait,
	}
	var all []store.SlotRequest
	if l.limits.PerSession > 0 {
		s := r
		s.Semaphore, s.Limit = sessionSemaphore+string(c.Session), l.limits.PerSession
		all = append(all, s)
	}
	if l.limits.PerUser > 0 && c.User != "" {
		u := r
		u.Semaphore, u.Limit = userSemaphore+c.User, l.limits.PerUser
		if store.CheckName("semaphore", u.Semaphore) != nil {
			sum := sha256.Sum256([]byte(c.User))
			u.Semaphore = userSemaphore + hex.EncodeToString(sum[:])
		}
		all = append(all, u)
	}
	return append(all, r)
}

// acquirePart acquires one semaphore. If r.Wait is set, it also waits while the store is
// unavailable.
func (l *Limiter) acquirePart(ctx context.Context, r store.SlotRequest) error {
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		_, err := l.store.Acquire(ctx, r)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, store.ErrFull) && !r.Wait:
			return fmt.Errorf("%w: all %[3]d slots of %[2]s are taken", ErrFull, r.Semaphore, r.Limit)
		case !r.Wait, errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrClosed):
			return err
		}
		if pause == minRetryPause {
			l.log.WarnContext(ctx, "agent slot not acquired, retrying", "semaphore", r.Semaphore, "error", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Run renews the held slots until the context ends. It does not release them.
func (l *Limiter) Run(ctx context.Context) {
	timer := time.NewTimer(l.limits.TTL / 3)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next := l.limits.TTL / 3
		if err := l.renewAll(ctx); err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "renewal of agent slots failed, retrying", "error", err)
			next = l.limits.TTL / 10
		}
		timer.Reset(next)
	}
}

// renewAll renews every part. The failure of one does not affect the others, but the whole
// round has a timeout, because each call would block while the store is unavailable.
func (l *Limiter) renewAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.limits.TTL/3)
	defer cancel()
	l.mu.Lock()
	parts := slices.Collect(maps.Keys(l.held))
	l.mu.Unlock()
	var first error
	failed := 0
	for _, p := range parts {
		if err := l.renew(ctx, p); err != nil {
			if failed++; first == nil {
				first = err
			}
		}
	}
	if first != nil {
		return fmt.Errorf("renew %d of %d slots: %w", failed, len(parts), first)
	}
	return nil
}

// renew renews one part. If the store no longer knows it, renew acquires it again if it is
// free: a failover of the store may lose the newest writes, which must not stop every agent.
// Otherwise the slot is lost.
func (l *Limiter) renew(ctx context.Context, p *slotPart) error {
	if !l.holds(p) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.limits.TTL/10)
	defer cancel()
	err := l.store.RenewSlot(ctx, p.slot())
	if !errors.Is(err, store.ErrFenced) || !l.holds(p) {
		return ignore(err, store.ErrFenced)
	}
	r := p.SlotRequest
	r.Wait = false
	_, err = l.store.Acquire(ctx, r)
	if !l.holds(p) { // released meanwhile, perhaps before it was acquired again
		return l.store.ReleaseSlot(ctx, p.slot())
	}
	if errors.Is(err, store.ErrFull) {
		l.log.WarnContext(ctx, "agent slot lost", "semaphore", p.Semaphore, "holder", p.Holder)
		l.removeHeld(p)
		p.of.markLost()
		return nil
	}
	return err
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (l *Limiter) holds(p *slotPart) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[p]
	return ok
}

func (l *Limiter) removeHeld(parts ...*slotPart) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range parts {
		delete(l.held, p)
	}
}
