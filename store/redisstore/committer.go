package redisstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
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
	store  *Store
	room   chan struct{}      // one token per write
	tags   [partitions]string // a key of each partition
	writes sync.Pool          // *write that nobody uses

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
	for p := range c.tags {
		c.tags[p] = s.keys.at(uint16(p))
	}
}

// run sends a batch and returns what the script answered and whether a second
// node has it.
func (c *committer) run(ctx context.Context, l store.Lease, b store.Batch) (v any, durable bool, err error) {
	if err := c.enter(ctx); err != nil {
		return nil, false, err
	}
	defer func() { <-c.room }()
	w := c.getWrite(l, b)
	err = c.store.do(ctx, "write", repeatable, c.tags[w.partition], func(ctx context.Context, server *redis.Client) error {
		return c.lane(laneKey{server, b.Durable}).run(ctx, w)
	})
	if err != nil {
		return nil, false, err // it may be on its way still
	}
	v, durable = w.value, w.onTwo
	if !w.told {
		c.putWrite(w)
	}
	return v, durable, nil
}

// enter waits for room.
func (c *committer) enter(ctx context.Context) error {
	select {
	case c.room <- struct{}{}:
		return nil
	default:
	}
	const what = "wait for room"
	select {
	case c.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case <-c.store.life.Done():
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
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
	queue   []*write
	told    []*write // committed and to be shown to followers
	flights int
	idle    []*pipeline // to be used again
}

// run queues a write and waits for its answer.
func (l *lane) run(ctx context.Context, w *write) error {
	// Here and when the answer is there: it must be so all the while.
	if w.owner = l.store.bus.channel(w.partition, w.keys[0]); !w.owner.indifferent() {
		w.owner = nil
	}
	l.mu.Lock()
	l.queue = append(l.queue, w)
	start := l.flights < maxFlights
	if start {
		l.flights++
	}
	l.mu.Unlock()
	if start {
		l.store.start(l.fly)
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		l.drop(w)
		return ctx.Err()
	case <-l.store.life.Done():
		return store.ErrClosed
	}
}

// drop takes back a write that is not on its way yet: nobody waits for it, and
// it must not take the room of others.
func (l *lane) drop(w *write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, w); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// fly sends pipelines until there is nothing left to send.
func (l *lane) fly() {
	p := l.pipeline()
	for l.fill(p) {
		l.exec(p)
		l.tell(p.writes)
		for _, w := range p.writes {
			w.done <- struct{}{} // and it is not ours any more
		}
		p.forget()
	}
}

func (l *lane) pipeline() *pipeline {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		p := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return p
	}
	return &pipeline{newest: map[wire.SessionID]*transaction{}}
}

// fill takes what makes the next pipeline. When there is nothing the caller's
// goroutine counts as gone.
func (l *lane) fill(p *pipeline) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.queue) && n < flightWrites && size < flightBytes {
		size += l.queue[n].size
		n++
	}
	p.writes = append(p.writes, l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	p.told, l.told = l.told, nil
	if n+len(p.told) == 0 {
		l.flights--
		l.idle = append(l.idle, p)
		return false
	}
	return true
}

// tell queues the entries of sessions that somebody follows, to be published
// with the next pipeline. Should that never happen, followers find them in the
// log a little later.
func (l *lane) tell(writes []*write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range writes {
		if w.told = w.followed(); w.told {
			l.told = append(l.told, w)
		}
	}
}

// followed says whether somebody would like to see a batch that was applied. The
// owner, who listens for commands, is not one of them.
func (w *write) followed() bool {
	listeners, applied := w.value.(int64)
	if listeners--; w.owner.indifferent() {
		listeners--
	}
	return w.err == nil && applied && listeners > 0
}
