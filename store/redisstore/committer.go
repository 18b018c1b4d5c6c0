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
	// maxInFlight is how many pipelines a server gets at once: while Redis
	// works on one the next is being encoded.
	maxInFlight = 2
	// A pipeline ends with the write that takes it to either bound.
	maxPipelineWrites = 64
	maxPipelineBytes  = 1 << 20
)

// committer sends the commits of all sessions in pipelines. Nobody waits for
// company: what arrives while a pipeline is under way makes the next one.
type committer struct {
	store  *Store
	slots  chan struct{}      // one token per write
	tags   [partitions]string // a key of each partition
	writes sync.Pool          // *write that nobody uses

	mu     sync.Mutex // guards the following
	queues map[queueKey]*serverQueue
}

// queueKey says which writes go together. Durable ones are kept apart, because
// theirs wait for a second node and the others should not.
type queueKey struct {
	server  *redis.Client
	durable bool
}

func (c *committer) init(s *Store) {
	c.store = s
	c.slots = make(chan struct{}, maxWrites)
	c.queues = map[queueKey]*serverQueue{}
	for p := range c.tags {
		c.tags[p] = s.keys.at(uint16(p))
	}
}

// commit sends a batch and returns what the script answered and whether a second
// node has it.
func (c *committer) commit(ctx context.Context, l store.Lease, b store.Batch) (v any, durable bool, err error) {
	if err := c.acquireSlot(ctx); err != nil {
		return nil, false, err
	}
	defer func() { <-c.slots }()
	w := c.getWrite(l, b)
	err = c.store.runOnServer(ctx, "write", retryable, c.tags[w.partition], func(ctx context.Context, server *redis.Client) error {
		return c.queue(queueKey{server, b.Durable}).execute(ctx, w)
	})
	if err != nil {
		return nil, false, err // it may be on its way still
	}
	v, durable = w.value, w.replicated
	if !w.published {
		c.putWrite(w)
	}
	return v, durable, nil
}

// acquireSlot waits for room.
func (c *committer) acquireSlot(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	const what = "wait for room"
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case <-c.store.runCtx.Done():
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
	}
}

func (c *committer) queue(k queueKey) *serverQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.queues[k]
	if l == nil {
		l = &serverQueue{queueKey: k, store: c.store}
		c.queues[k] = l
	}
	return l
}

// serverQueue is the way to one server.
//
// Ownership: it runs at most maxInFlight goroutines, which end when there is
// nothing left to send and which the Store waits for.
type serverQueue struct {
	queueKey
	store    *Store
	replicas replicas

	mu        sync.Mutex // guards the following
	queue     []*write
	toPublish []*write // committed and to be shown to followers
	inFlight  int
	idle      []*pipeline // to be used again
}

// execute queues a write and waits for its answer.
func (l *serverQueue) execute(ctx context.Context, w *write) error {
	// Here and when the answer is there: it must be so all the while.
	if w.ownChannel = l.store.bus.channel(w.partition, w.keys[0]); !w.ownChannel.onlyInbox() {
		w.ownChannel = nil
	}
	l.mu.Lock()
	l.queue = append(l.queue, w)
	start := l.inFlight < maxInFlight
	if start {
		l.inFlight++
	}
	l.mu.Unlock()
	if start {
		l.store.start(l.sendLoop)
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		l.cancel(w)
		return ctx.Err()
	case <-l.store.runCtx.Done():
		return store.ErrClosed
	}
}

// cancel takes back a write that is not on its way yet: nobody waits for it, and
// it must not take the room of others.
func (l *serverQueue) cancel(w *write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, w); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// sendLoop sends pipelines until there is nothing left to send.
func (l *serverQueue) sendLoop() {
	p := l.pipeline()
	for l.fillPipeline(p) {
		l.exec(p)
		l.queueForPublish(p.writes)
		for _, w := range p.writes {
			w.done <- struct{}{} // and it is not ours any more
		}
		p.reset()
	}
}

func (l *serverQueue) pipeline() *pipeline {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		p := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return p
	}
	return &pipeline{newest: map[wire.SessionID]*transaction{}}
}

// fillPipeline takes what makes the next pipeline. When there is nothing the caller's
// goroutine counts as gone.
func (l *serverQueue) fillPipeline(p *pipeline) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.queue) && n < maxPipelineWrites && size < maxPipelineBytes {
		size += l.queue[n].size
		n++
	}
	p.writes = append(p.writes, l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	p.toPublish, l.toPublish = l.toPublish, nil
	if n+len(p.toPublish) == 0 {
		l.inFlight--
		l.idle = append(l.idle, p)
		return false
	}
	return true
}

// queueForPublish queues the entries of sessions that somebody follows, to be published
// with the next pipeline. Should that never happen, followers find them in the
// log a little later.
func (l *serverQueue) queueForPublish(writes []*write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range writes {
		if w.published = w.hasFollowers(); w.published {
			l.toPublish = append(l.toPublish, w)
		}
	}
}

// hasFollowers says whether somebody would like to see a batch that was applied. The
// owner, who listens for commands, is not one of them.
func (w *write) hasFollowers() bool {
	listeners, applied := w.value.(int64)
	if listeners--; w.ownChannel.onlyInbox() {
		listeners--
	}
	return w.err == nil && applied && listeners > 0
}
