package redisstore

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
)

// callQueue runs script calls of many sessions in shared pipelines without delaying them: the calls
// that arrive while pipelines are in flight form the next one.
type callQueue struct {
	*caller

	mu      sync.Mutex // guards the following
	servers map[*redis.Client]*serverCalls
}

// serverCalls holds the calls for one server. The queue's mu guards it.
type serverCalls struct {
	waiting  []*queuedCall
	inFlight int // goroutines that send pipelines, at most maxInFlight
}

// queuedCall is a call that waits for its pipeline. done is closed when cmd has its result.
type queuedCall struct {
	cmd  *redis.Cmd
	size int
	done chan struct{}
}

func newCallQueue(c *caller) *callQueue {
	return &callQueue{caller: c, servers: map[*redis.Client]*serverCalls{}}
}

// call runs a script like [caller.call]. size is the approximate number of bytes of its arguments.
func (q *callQueue) call(ctx context.Context, what string, again retrySafety, sc *script, size int, keys []string, args ...any) (any, error) {
	var v any
	err := q.runOnServer(ctx, what, again, keys[0], func(ctx context.Context, server *redis.Client) error {
		var err error
		v, err = q.execute(ctx, server, size, sc.command(false, keys, args))
		if isRedisError(err, "NOSCRIPT") {
			v, err = q.execute(ctx, server, size, sc.command(true, keys, args))
		}
		return err
	})
	return v, err
}

// execute queues a call and waits for its result.
func (q *callQueue) execute(ctx context.Context, server *redis.Client, size int, args []any) (any, error) {
	c := &queuedCall{cmd: redis.NewCmd(q.runCtx, args...), size: size, done: make(chan struct{})}
	q.mu.Lock()
	calls := q.servers[server]
	if calls == nil {
		calls = &serverCalls{}
		q.servers[server] = calls
	}
	calls.waiting = append(calls.waiting, c)
	start := calls.inFlight < maxInFlight
	if start {
		calls.inFlight++
	}
	q.mu.Unlock()
	if start {
		q.start(func() { q.sendLoop(server, calls) })
	}
	select {
	case <-c.done:
		return c.cmd.Result()
	case <-ctx.Done():
		q.cancel(calls, c)
		return nil, ctx.Err()
	case <-q.runCtx.Done():
		return nil, store.ErrClosed
	}
}

// cancel removes a call that was not sent yet.
func (q *callQueue) cancel(calls *serverCalls, c *queuedCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	calls.waiting = slices.DeleteFunc(calls.waiting, func(other *queuedCall) bool { return other == c })
}

// sendLoop sends pipelines until no calls wait.
func (q *callQueue) sendLoop(server *redis.Client, calls *serverCalls) {
	for batch := q.nextCalls(calls); len(batch) > 0; batch = q.nextCalls(calls) {
		pipe := server.Pipeline()
		for _, c := range batch {
			_ = pipe.Process(q.runCtx, c.cmd) // only queues, cannot fail
		}
		_, _ = pipe.Exec(q.runCtx) // every command has its own error
		for _, c := range batch {
			close(c.done)
		}
	}
}

// nextCalls returns the calls of the next pipeline. If there are none, the calling goroutine no longer
// counts as in flight.
func (q *callQueue) nextCalls(calls *serverCalls) []*queuedCall {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(calls.waiting) && n < maxPipelineWrites && size < maxPipelineBytes {
		size += calls.waiting[n].size
		n++
	}
	if n == 0 {
		calls.inFlight--
		return nil
	}
	batch := slices.Clone(calls.waiting[:n])
	calls.waiting = slices.Delete(calls.waiting, 0, n)
	return batch
}
