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
	// maxWrites bounds the commits that are queued or in flight. Further commits wait
	// before their batch is copied.
	maxWrites = 1024
	// maxInFlight bounds the concurrent pipelines per server: while Redis processes one,
	// the next is being encoded.
	maxInFlight = 2
	// A pipeline is full when it reaches either bound.
	maxPipelineWrites = 64
	maxPipelineBytes  = 1 << 20
)

// committer sends the commits of all sessions in pipelines without delaying them: the
// writes that arrive while a pipeline is in flight form the next one.
type committer struct {
	*caller
	codec  *codec
	slots  chan struct{}      // one token per write
	tags   [partitions]string // a key prefix in each partition
	writes sync.Pool          // unused *write

	mu     sync.Mutex // guards the fields below
	queues map[queueKey]*serverQueue
}

// queueKey identifies a serverQueue. Durable writes have their own queue, because they wait
// for a second node and other writes should not.
type queueKey struct {
	server  *redis.Client
	durable bool
}

func newCommitter(c *caller, codec *codec) *committer {
	m := &committer{
		caller: c, codec: codec,
		slots: make(chan struct{}, maxWrites), queues: map[queueKey]*serverQueue{},
	}
	for p := range m.tags {
		m.tags[p] = c.keys.at(uint16(p))
	}
	return m
}

// commit sends a batch. It returns the script's reply and whether a second node has the
// batch.
func (c *committer) commit(ctx context.Context, l store.Lease, b store.Batch) (v any, durable bool, err error) {
	if err := c.acquireSlot(ctx); err != nil {
		return nil, false, err
	}
	defer func() { <-c.slots }()
	w := c.getWrite(l, b)
	err = c.runOnServer(ctx, "write", retryable, c.tags[w.partition], func(ctx context.Context, server *redis.Client) error {
		return c.queue(queueKey{server, b.Durable}).execute(ctx, w)
	})
	if err != nil {
		return nil, false, err // w may still be in flight, so it is not reused
	}
	v, durable = w.value, w.replicated
	if !w.republishing {
		c.putWrite(w)
	}
	return v, durable, nil
}

// acquireSlot waits until fewer than maxWrites commits are in progress.
func (c *committer) acquireSlot(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	const what = "wait for other commits"
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case <-c.runCtx.Done():
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
	}
}

func (c *committer) queue(k queueKey) *serverQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.queues[k]
	if l == nil {
		l = &serverQueue{caller: c.caller, queueKey: k}
		c.queues[k] = l
	}
	return l
}

// serverQueue holds the writes for one server. It runs at most maxInFlight goroutines,
// which stop when the queue is empty and which Close of the Store waits for.
type serverQueue struct {
	*caller
	queueKey
	replicas replicaCache

	mu        sync.Mutex // guards the fields below
	queue     []*write
	toPublish []*write // committed writes whose entries are to be published
	inFlight  int
	idle      []*pipeline // for reuse
}

// execute queues a write and waits for its result.
func (l *serverQueue) execute(ctx context.Context, w *write) error {
	l.mu.Lock()
	l.queue = append(l.queue, w)
	start := l.inFlight < maxInFlight
	if start {
		l.inFlight++
	}
	l.mu.Unlock()
	if start {
		l.start(l.sendLoop)
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		l.cancel(w)
		return ctx.Err()
	case <-l.runCtx.Done():
		return store.ErrClosed
	}
}

// cancel removes a write from the queue if it was not sent yet.
func (l *serverQueue) cancel(w *write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, w); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// sendLoop sends pipelines until the queue is empty. A write of a session with followers is done
// when its entry is published, one pipeline after it was committed: the tabs of all replicas then
// get its events at about the same time, so that what they send in reply shares the next commit.
func (l *serverQueue) sendLoop() {
	p := l.pipeline()
	for l.fillPipeline(p) {
		l.exec(p)
		finishWrites(p.toPublish)
		finishWrites(l.queueForPublish(p.writes))
		p.reset()
	}
}

// finishWrites wakes the callers that wait for writes, which must not be used afterwards.
func finishWrites(writes []*write) {
	for _, w := range writes {
		w.done <- struct{}{}
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

// fillPipeline moves the next writes from the queue to p. If there are none, it returns
// false and the calling goroutine no longer counts as in flight.
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

// queueForPublish queues the entries of sessions with followers, which the next pipeline
// publishes, and returns the other writes. If an entry is never published, followers find it in
// the log at the next check.
func (l *serverQueue) queueForPublish(writes []*write) (others []*write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	others = writes[:0]
	for _, w := range writes {
		if w.hasFollowers() {
			l.toPublish = append(l.toPublish, w)
		} else {
			others = append(others, w)
		}
	}
	return others
}

// hasFollowers reports whether a batch was applied and the channel of the session has
// subscribers. The owner is none: it listens to its inbox only. The script returns their
// number plus 1.
func (w *write) hasFollowers() bool {
	listeners, applied := w.value.(int64)
	return w.err == nil && applied && listeners > 1
}
