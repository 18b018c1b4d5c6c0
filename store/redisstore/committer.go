package redisstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
)

const (
	// maxWrites is how many commits may be under way or waiting at once.
	// Others wait before their batch is copied.
	maxWrites = 1024
	// maxFlights is how many pipelines a server gets at once: while Redis
	// works on one the next is being encoded.
	maxFlights = 2
	// A pipeline ends with the write that takes it to either bound.
	flightWrites = 64
	flightBytes  = 1 << 20
)

// committer sends the commits of all sessions in pipelines. Nobody waits for
// company: what arrives while a pipeline is under way makes the next one.
type committer struct {
	store *Store
	room  chan struct{} // one token per write

	mu    sync.Mutex // guards the following
	lanes map[laneKey]*lane
}

// laneKey says which writes go together. Durable ones are kept apart, because
// theirs wait for a second node and the others should not.
type laneKey struct {
	server  *redis.Client
	durable bool
}

func (c *committer) init(s *Store) {
	c.store = s
	c.room = make(chan struct{}, maxWrites)
	c.lanes = map[laneKey]*lane{}
}

// run sends a batch and returns what the script answered and whether a second
// node has it.
func (c *committer) run(ctx context.Context, l store.Lease, b store.Batch) (v any, durable bool, err error) {
	const what = "wait for room"
	if err := c.store.usable(ctx, what); err != nil {
		return nil, false, err
	}
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%s: %w", what, ctx.Err())
	case <-c.store.life.Done():
		return nil, false, fmt.Errorf("%s: %w", what, store.ErrClosed)
	}
	w := c.store.encode(l, b)
	var f *flight
	err = c.store.do(ctx, "write", repeatable, w.meta(), func(ctx context.Context, server *redis.Client) error {
		f = &flight{write: w, done: make(chan struct{})}
		return c.lane(laneKey{server, w.durable}).run(ctx, f)
	})
	if err != nil {
		return nil, false, err
	}
	if !f.told {
		c.store.buffers.put(w.entry) // nobody else has it any more
	}
	return f.value, f.durable, nil
}

// buffers are those of log entries, to be used again.
type buffers struct{ pool sync.Pool }

// maxBuffer keeps a rare large batch from being kept for ever.
const maxBuffer = 64 << 10

// get returns an empty buffer with room for size bytes.
func (b *buffers) get(size int) []byte {
	if p, ok := b.pool.Get().(*[]byte); ok && cap(*p) >= size {
		return (*p)[:0]
	}
	return make([]byte, 0, size)
}

func (b *buffers) put(buf []byte) {
	if cap(buf) > 0 && cap(buf) <= maxBuffer {
		b.pool.Put(&buf)
	}
}

func (c *committer) lane(k laneKey) *lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[k]
	if l == nil {
		l = &lane{laneKey: k, store: c.store}
		c.lanes[k] = l
	}
	return l
}

// lane is the way to one server.
//
// Ownership: it runs at most maxFlights goroutines, which end when there is
// nothing left to send and which the Store waits for.
type lane struct {
	laneKey
	store    *Store
	replicas replicas

	mu      sync.Mutex // guards the following
	queue   []*flight
	told    []*write // committed and to be shown to followers
	flights int
}

// flight is one attempt to send a write.
type flight struct {
	*write
	owner   *channel      // our own, if the session's owner listens and nobody follows here
	done    chan struct{} // closed when the following are set
	value   any
	durable bool
	told    bool // it will be published
	err     error
}

// followed says whether somebody would like to see a batch that was applied. The
// owner, who listens for commands, is not one of them.
func (f *flight) followed() bool {
	listeners, applied := f.value.(int64)
	if listeners--; f.owner.indifferent() {
		listeners--
	}
	return f.err == nil && applied && listeners > 0
}

// run queues a write and waits for its answer.
func (l *lane) run(ctx context.Context, f *flight) error {
	// Both before and after, so that it is true all the while.
	if owner := l.store.bus.channel(f.partition, f.meta()); owner.indifferent() {
		f.owner = owner
	}
	l.mu.Lock()
	l.queue = append(l.queue, f)
	start := l.flights < maxFlights
	if start {
		l.flights++
	}
	l.mu.Unlock()
	if start {
		l.store.start(l.fly)
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		l.drop(f)
		return ctx.Err()
	case <-l.store.life.Done():
		return store.ErrClosed
	}
}

// drop takes back a write that is not on its way yet: nobody waits for it, and
// it must not take the room of others.
func (l *lane) drop(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, f); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// fly sends pipelines until there is nothing left to send.
func (l *lane) fly() {
	for {
		flights, told := l.take()
		if len(flights)+len(told) == 0 {
			return
		}
		l.exec(flights, told)
		l.tell(flights)
		for _, f := range flights {
			close(f.done)
		}
	}
}

// take removes what makes the next pipeline. When there is nothing the caller's
// goroutine counts as gone.
func (l *lane) take() (flights []*flight, told []*write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.queue) && n < flightWrites && size < flightBytes {
		size += l.queue[n].size
		n++
	}
	flights, told = l.queue[:n:n], l.told
	l.queue, l.told = l.queue[n:], nil
	if n+len(told) == 0 {
		l.flights--
	}
	return flights, told
}

// tell queues the entries of sessions that somebody follows, to be published
// with the next pipeline. Should that never happen, followers find them in the
// log a little later.
func (l *lane) tell(flights []*flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range flights {
		if f.told = f.followed(); f.told {
			l.told = append(l.told, f.write)
		}
	}
}
