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
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ErrFull means that no agent may be added now.
var ErrFull = errors.New("no agent slot is free")

// errLost means that a slot was lost before it was complete.
var errLost = errors.New("the slot was lost while waiting for the rest of it")

// The semaphore that every agent needs, and what those of sessions and users
// begin with.
const (
	everybody  = "agents"
	ofSession  = "agents:session:"
	ofUser     = "agents:user:"
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Semaphores is what the limiter needs of a store.
type Semaphores interface {
	Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error)
	RenewSlot(ctx context.Context, s store.Slot) error
	ReleaseSlot(ctx context.Context, s store.Slot) error
	Slots(ctx context.Context, semaphore string) (store.SlotUse, error)
}

// Limits bound how many agents run at once. All replicas have the same.
type Limits struct {
	// Agents is over everything, 10 unless set.
	Agents int
	// PerSession and PerUser have no bound of their own unless set.
	PerSession int
	PerUser    int
	// TTL is how long the slots of a replica that died stay taken, 10 s unless
	// set.
	TTL time.Duration
}

// Claim is who wants a slot. Waiting is fair between sessions.
type Claim struct {
	Session wire.SessionID
	// User may be empty; then the bound per user does not apply.
	User string
	// Holder names the agent to whoever looks into the store. It need not be
	// unique.
	Holder string
}

// Limiter bounds how many agents run at once, over all sessions and replicas that
// share a store. Any goroutine may call.
type Limiter struct {
	store  Semaphores
	limits Limits
	log    *slog.Logger
	// name tells the holders of this limiter from those of all others.
	name  string
	count atomic.Uint64

	mu   sync.Mutex // guards the following
	held map[*place]struct{}

	releases sync.WaitGroup
}

// place is one semaphore's part of a slot.
type place struct {
	store.SlotRequest
	of *Slot
}

func (p *place) slot() store.Slot {
	return store.Slot{Semaphore: p.Semaphore, Holder: p.Holder, TTL: p.TTL}
}

// NewLimiter makes a limiter. Somebody has to call [Limiter.Run], or slots expire.
func NewLimiter(s Semaphores, l Limits, log *slog.Logger) *Limiter {
	l.Agents, l.TTL = cmp.Or(l.Agents, 10), cmp.Or(l.TTL, 10*time.Second)
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Limiter{store: s, limits: l, log: log, name: rand.Text(), held: map[*place]struct{}{}}
}

// Limits returns the bounds that apply.
func (l *Limiter) Limits() Limits { return l.limits }

// Use tells how many agents run and wait, over everything.
func (l *Limiter) Use(ctx context.Context) (store.SlotUse, error) {
	u, err := l.store.Slots(ctx, everybody)
	if err != nil {
		return u, fmt.Errorf("count agents: %w", err)
	}
	return u, nil
}

// Running is how many agents have a slot by this limiter.
func (l *Limiter) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for p := range l.held {
		if p.Semaphore == everybody {
			n++
		}
	}
	return n
}

// Acquire waits for a slot until the context ends, also while the store is away.
func (l *Limiter) Acquire(ctx context.Context, c Claim) (*Slot, error) {
	for {
		s, err := l.take(ctx, c, true)
		if errors.Is(err, errLost) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("wait for an agent slot: %w", err)
		}
		return s, nil
	}
}

// Try takes a slot if one is free right now, else it answers [ErrFull].
func (l *Limiter) Try(ctx context.Context, c Claim) (*Slot, error) {
	s, err := l.take(ctx, c, false)
	if err != nil {
		return nil, fmt.Errorf("take an agent slot: %w", err)
	}
	return s, nil
}

// Wait returns when every slot that was given back is, or was tried for long
// enough. Nobody may use the limiter any more.
func (l *Limiter) Wait() { l.releases.Wait() }

// take acquires the places of a slot one after the other, always in the same
// order, so that two who want the same ones never wait for each other.
func (l *Limiter) take(ctx context.Context, c Claim, wait bool) (*Slot, error) {
	s := newSlot(l)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.life, stop)()
	for _, r := range l.requests(c, wait) {
		err := l.ask(ctx, r)
		if err == nil || !errors.Is(err, ErrFull) {
			// Also after an error: it may have been granted and only the
			// answer was lost.
			s.add(r)
		}
		if err == nil && s.life.Err() == nil {
			continue
		}
		s.Release()
		if s.life.Err() != nil {
			return nil, errLost
		}
		if errors.Is(err, ErrFull) { // then the store answers, and soon
			select {
			case <-s.gone: // so that the other places are free when the caller is told
			case <-ctx.Done():
			}
		}
		return nil, err
	}
	return s, nil
}

// requests are what a claim needs, in the order it is taken.
func (l *Limiter) requests(c Claim, wait bool) []store.SlotRequest {
	holder := fmt.Sprintf("%s-%d", l.name, l.count.Add(1))
	if named := holder + " " + c.Holder; store.CheckName("holder", named) == nil {
		holder = named
	}
	r := store.SlotRequest{
		Semaphore: everybody, Limit: l.limits.Agents, Holder: holder, Key: string(c.Session), TTL: l.limits.TTL, Wait: wait,
	}
	var all []store.SlotRequest
	if l.limits.PerSession > 0 {
		s := r
		s.Semaphore, s.Limit = ofSession+string(c.Session), l.limits.PerSession
		all = append(all, s)
	}
	if l.limits.PerUser > 0 && c.User != "" {
		u := r
		u.Semaphore, u.Limit = ofUser+c.User, l.limits.PerUser
		if store.CheckName("semaphore", u.Semaphore) != nil {
			sum := sha256.Sum256([]byte(c.User))
			u.Semaphore = ofUser + hex.EncodeToString(sum[:])
		}
		all = append(all, u)
	}
	return append(all, r)
}

// ask takes one place. When it may wait, it also waits for a store that is away.
func (l *Limiter) ask(ctx context.Context, r store.SlotRequest) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		_, err := l.store.Acquire(ctx, r)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, store.ErrFull) && !r.Wait:
			return fmt.Errorf("%w: %s has its %d", ErrFull, r.Semaphore, r.Limit)
		case !r.Wait, errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrClosed):
			return err
		}
		if pause == firstPause {
			l.log.WarnContext(ctx, "store gives no agent slots; waiting for it", "semaphore", r.Semaphore, "error", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Run renews what is held until the context ends. It gives nothing back: that is
// for those who hold it.
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
			l.log.WarnContext(ctx, "agent slots are not renewed; trying again", "error", err)
			next = l.limits.TTL / 10
		}
		timer.Reset(next)
	}
}

// renewAll renews every place. One that does not work is not in the way of the
// others, but the round has an end: a store that is away would let each wait.
func (l *Limiter) renewAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.limits.TTL/3)
	defer cancel()
	l.mu.Lock()
	places := make([]*place, 0, len(l.held))
	for p := range l.held {
		places = append(places, p)
	}
	l.mu.Unlock()
	var first error
	failed := 0
	for _, p := range places {
		if err := l.renew(ctx, p); err != nil {
			if failed++; first == nil {
				first = err
			}
		}
	}
	if first != nil {
		return fmt.Errorf("%d of %d are not renewed: %w", failed, len(places), first)
	}
	return nil
}

// renew renews one place. One that the store does not know any more is taken
// again if it is free: a store that forgot its newest writes, as a failover may,
// is no reason to stop every agent. Otherwise its slot is lost.
func (l *Limiter) renew(ctx context.Context, p *place) error {
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
	if !l.holds(p) { // given back meanwhile, perhaps before it was taken again
		return l.store.ReleaseSlot(ctx, p.slot())
	}
	if errors.Is(err, store.ErrFull) {
		l.log.WarnContext(ctx, "agent slot is lost", "semaphore", p.Semaphore, "holder", p.Holder)
		l.forget(p)
		p.of.lose()
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

func (l *Limiter) holds(p *place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[p]
	return ok
}

func (l *Limiter) forget(places ...*place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range places {
		delete(l.held, p)
	}
}
