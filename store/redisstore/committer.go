package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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
	// replicasFor is how long we believe to know whether a server has replicas.
	replicasFor = 30 * time.Second
)

// committer sends the commits of all sessions in pipelines. Nobody waits for
// company: what arrives while a pipeline is under way makes the next one.
//
// Ownership: a lane runs at most maxFlights goroutines, which end when its
// queue is empty and which the Store waits for.
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

// run sends a write and returns what the script answered and whether a second
// node has it.
func (c *committer) run(ctx context.Context, w *write) (v any, durable bool, err error) {
	if err := c.store.usable(ctx, "wait for room"); err != nil {
		return nil, false, err
	}
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return nil, false, fmt.Errorf("wait for room: %w", ctx.Err())
	case <-c.store.life.Done():
		return nil, false, fmt.Errorf("wait for room: %w", store.ErrClosed)
	}
	err = c.store.do(ctx, "write", repeatable, w.keys[0], func(ctx context.Context, server *redis.Client) error {
		var err error
		v, durable, err = c.lane(laneKey{server, w.durable}).run(ctx, w)
		return err
	})
	return v, durable, err
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
type lane struct {
	laneKey
	store *Store

	mu      sync.Mutex // guards the following
	queue   []*flight
	flights int
	// replicas and asked are what is known of the server's replicas.
	replicas bool
	asked    time.Time
}

// flight is one attempt to send a write.
type flight struct {
	*write
	done    chan struct{} // closed when the following are set
	value   any
	durable bool
	err     error
}

// run queues a write and waits for its answer.
func (l *lane) run(ctx context.Context, w *write) (v any, durable bool, err error) {
	f := &flight{write: w, done: make(chan struct{})}
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
		return f.value, f.durable, f.err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-l.store.life.Done():
		return nil, false, store.ErrClosed
	}
}

// fly sends pipelines until the queue is empty.
func (l *lane) fly() {
	for {
		flights := l.take()
		if len(flights) == 0 {
			return
		}
		l.exec(flights)
		for _, f := range flights {
			close(f.done)
		}
	}
}

// take removes the writes of the next pipeline from the queue. When there are
// none the caller's goroutine counts as gone.
func (l *lane) take() []*flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.queue) && n < flightWrites && size < flightBytes {
		size += l.queue[n].size
		n++
	}
	if n == 0 {
		l.flights--
		return nil
	}
	flights := l.queue[:n:n]
	l.queue = l.queue[n:]
	return flights
}

// exec sends writes and fills in their answers.
func (l *lane) exec(flights []*flight) {
	again, err := l.send(l.groups(flights), false)
	if isAnswer(err, "NOSCRIPT") {
		// The server has not seen the script or has lost it: the first call
		// brings it along.
		again, _ = l.send(again, true)
	}
	if len(again) > 0 {
		// A script that fails over one batch has not looked at those behind
		// it. One by one, each gets the answer it deserves; those that were
		// applied already are recognised.
		var alone [][]*flight
		for _, group := range again {
			for _, f := range group {
				alone = append(alone, []*flight{f})
			}
		}
		_, _ = l.send(alone, false) // every write has its own error
	}
}

// groups divides writes into those that one call can take: in a Cluster all
// keys of a call must be in one slot.
func (l *lane) groups(flights []*flight) [][]*flight {
	if l.store.servers.cluster == nil {
		return [][]*flight{flights}
	}
	byPartition := map[uint16][]*flight{}
	for _, f := range flights {
		byPartition[f.partition] = append(byPartition[f.partition], f)
	}
	return slices.Collect(maps.Values(byPartition))
}

// send makes one call per group, in one pipeline. It returns the groups whose
// call Redis has refused as a whole, and why.
func (l *lane) send(groups [][]*flight, byText bool) (again [][]*flight, why error) {
	ctx := l.store.life
	cmds := make([]redis.Cmder, 0, len(groups)+1)
	for i, group := range groups {
		cmds = append(cmds, l.command(ctx, group, byText && i == 0))
	}
	var wait *redis.IntCmd
	if l.durable && l.hasReplicas(ctx) {
		// One WAIT covers everything this connection has written before.
		wait = redis.NewIntCmd(ctx, "wait", 1, l.store.cfg.ReplicaWait.Milliseconds())
		cmds = append(cmds, wait)
	}
	p := l.server.Pipeline()
	_ = p.BatchProcess(ctx, cmds...) // only queues
	_, _ = p.Exec(ctx)               // every command has its own error
	durable := wait != nil && wait.Err() == nil && wait.Val() > 0
	if wait != nil && !durable {
		l.forgetReplicas()
	}
	for i, group := range groups {
		cmd, _ := cmds[i].(*redis.Cmd)
		answers, err := cmd.Slice()
		if err == nil && len(answers) != len(group) {
			err = errReply
		}
		for j, f := range group {
			f.err, f.durable = err, durable
			if err == nil {
				f.value = answers[j]
			}
		}
		if isAnswer(err, "NOSCRIPT") || (err != nil && outcomeOf(err) == refused && len(group) > 1) {
			again, why = append(again, group), err
		}
	}
	return again, why
}

// command is the call that applies a group of writes.
func (l *lane) command(ctx context.Context, group []*flight, byText bool) *redis.Cmd {
	keys, args := 0, 0
	for _, f := range group {
		keys += len(f.keys)
		args += len(f.args)
	}
	limits := l.store.limits
	all := l.store.scripts.commit.begin(byText, keys, args+5)
	for _, f := range group {
		for _, k := range f.keys {
			all = append(all, k)
		}
	}
	all = append(all, len(group), limits.LogEvents, limits.LogBytes, limits.InboxCommands, l.durable)
	for _, f := range group {
		all = append(all, f.args...)
	}
	return redis.NewCmd(ctx, all...)
}

// hasReplicas says whether it makes sense to wait for a second node.
func (l *lane) hasReplicas(ctx context.Context) bool {
	l.mu.Lock()
	known, has := time.Since(l.asked) < replicasFor, l.replicas
	l.mu.Unlock()
	if known {
		return has
	}
	info, err := l.server.Info(ctx, "replication").Result()
	if err != nil {
		return false
	}
	has = !strings.Contains(info, "connected_slaves:0")
	l.mu.Lock()
	l.replicas, l.asked = has, time.Now()
	l.mu.Unlock()
	return has
}

// forgetReplicas makes the next durable write ask again: the replica that did
// not answer may be gone, and waiting for it would be in vain.
func (l *lane) forgetReplicas() {
	l.mu.Lock()
	l.asked = time.Time{}
	l.mu.Unlock()
}
