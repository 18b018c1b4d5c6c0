package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
)

// servers finds the server that holds a key. All commands run on clients of single servers:
// only these let the store decide what is retried, and WAIT is meaningful only on the
// connection that wrote.
type servers struct {
	single  *redis.Client        // standalone or behind Sentinel; or
	cluster *redis.ClusterClient // Cluster
}

func newServers(client redis.UniversalClient) (servers, error) {
	switch c := client.(type) {
	case *redis.Client:
		return servers{single: c}, nil
	case *redis.ClusterClient:
		return servers{cluster: c}, nil
	default:
		return servers{}, fmt.Errorf("redis client of type %T, want one made by redis.NewUniversalClient", client)
	}
}

// forKey returns the server that holds a key according to the known topology.
func (s servers) forKey(ctx context.Context, key string) (*redis.Client, error) {
	if s.single != nil {
		return s.single, nil
	}
	return s.cluster.MasterForKey(ctx, key)
}

// eachMaster calls fn for every master, concurrently in a Cluster.
func (s servers) eachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	if s.single != nil {
		return fn(ctx, s.single)
	}
	return s.cluster.ForEachMaster(ctx, fn)
}

// subscription returns a pub/sub subscription without channels.
func (s servers) subscription(ctx context.Context) *redis.PubSub {
	if s.single != nil {
		return s.single.SSubscribe(ctx)
	}
	return s.cluster.SSubscribe(ctx)
}

// reloadTopology makes a Cluster client reload the assignment of slots.
func (s servers) reloadTopology(ctx context.Context) {
	if s.cluster != nil {
		s.cluster.ReloadState(ctx)
	}
}

// retrySafety states whether a command may be sent again if its reply was lost.
type retrySafety bool

const (
	notRetryable retrySafety = false
	retryable    retrySafety = true
)

// caller is the state that all parts of a [Store] share: its settings, its servers and its
// goroutines. It runs commands and scripts on the servers, retries them, and converts their
// errors into those of the contract.
type caller struct {
	cfg     Config
	limits  store.Limits
	schema  store.Schema
	log     *slog.Logger
	keys    keyspace
	servers servers
	scripts scripts

	runCtx    context.Context //nolint:containedctx // canceled by Close; shared by the store's goroutines
	cancelRun context.CancelFunc

	startMu sync.Mutex // prevents goroutines from starting while Close waits
	wg      sync.WaitGroup
}

func newCaller(ctx context.Context, servers servers, cfg Config) *caller {
	c := &caller{
		cfg: cfg, limits: cfg.Limits, schema: cfg.Schema, log: cfg.Logger,
		keys: keyspace{prefix: cfg.Prefix}, servers: servers, scripts: loadScripts(),
	}
	c.runCtx, c.cancelRun = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// call runs a script on the server that holds its first key. It retries as runOnServer
// does.
func (c *caller) call(ctx context.Context, what string, again retrySafety, sc *script, keys []string, args ...any) (any, error) {
	var v any
	err := c.runOnServer(ctx, what, again, keys[0], func(ctx context.Context, server *redis.Client) error {
		var err error
		v, err = server.Do(ctx, sc.command(false, keys, args)...).Result()
		if isRedisError(err, "NOSCRIPT") {
			v, err = server.Do(ctx, sc.command(true, keys, args)...).Result()
		}
		return err
	})
	return v, err
}

// runOnServer calls fn with the server that holds a key. For up to RetryFor it retries
// commands that were certainly not executed, and, if retryable, commands whose reply was
// lost.
func (c *caller) runOnServer(
	ctx context.Context, what string, again retrySafety, key string, fn func(context.Context, *redis.Client) error,
) error {
	if err := c.checkOpen(ctx, what); err != nil {
		return err
	}
	p := backoff{caller: c}
	for {
		server, err := c.servers.forKey(ctx, key)
		sent := err == nil
		if sent {
			err = fn(ctx, server)
		}
		if err == nil || errors.Is(err, redis.Nil) {
			return nil
		}
		o := classifyError(err)
		if (o == outcomeNotExecuted || !sent || o == outcomeUnknown && bool(again)) && p.sleep(ctx) {
			continue
		}
		return c.contractError(ctx, what, err)
	}
}

// pipelineReads sends many reads at once, one pipeline per server. build is called again
// for a retry. A command that Redis refuses keeps its own error.
func (c *caller) pipelineReads(ctx context.Context, what string, build func(add func(key string, fn func(redis.Pipeliner)))) error {
	if err := c.checkOpen(ctx, what); err != nil {
		return err
	}
	p := backoff{caller: c}
	for {
		err := c.pipelineReadsOnce(ctx, build)
		if err == nil || classifyError(err) == outcomeRefused {
			return nil
		}
		if !p.sleep(ctx) {
			return c.contractError(ctx, what, err)
		}
	}
}

func (c *caller) pipelineReadsOnce(ctx context.Context, build func(add func(key string, fn func(redis.Pipeliner)))) error {
	pipes := map[*redis.Client]redis.Pipeliner{}
	var lost error
	build(func(key string, fn func(redis.Pipeliner)) {
		server, err := c.servers.forKey(ctx, key)
		if err != nil {
			lost = err
			return
		}
		if pipes[server] == nil {
			pipes[server] = server.Pipeline()
		}
		fn(pipes[server])
	})
	if lost != nil {
		return lost
	}
	for _, pipe := range pipes {
		cmds, _ := pipe.Exec(ctx) // every command has its own error
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil && classifyError(err) != outcomeRefused {
				return err
			}
		}
	}
	return nil
}

// checkOpen returns [store.ErrClosed] after Close, or the error of an ended context.
func (c *caller) checkOpen(ctx context.Context, what string) error {
	if c.runCtx.Err() != nil {
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// backoff limits the retries of one call. It bridges a lost connection, a moved slot or a
// short failover; longer outages are reported to the caller.
type backoff struct {
	caller *caller
	since  time.Time
	tries  int
}

const (
	minBackoff = 2 * time.Millisecond
	maxBackoff = 100 * time.Millisecond
)

// sleep waits before the next attempt. It returns false when no attempts are left.
func (p *backoff) sleep(ctx context.Context) bool {
	if p.since.IsZero() {
		p.since = time.Now()
	}
	if time.Since(p.since) >= p.caller.cfg.RetryFor || contextError(ctx) != nil {
		return false
	}
	p.caller.servers.reloadTopology(ctx)
	pause := min(minBackoff<<min(p.tries, 10), maxBackoff)
	p.tries++
	return p.caller.pause(ctx, pause/2+rand.N(pause/2+1)) //nolint:gosec // jitter needs no secrecy
}

// pause waits for d. It returns false if ctx or the store ends first.
func (c *caller) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-c.runCtx.Done():
		return false
	}
}

// scan calls each with the part of every key name between begin and end, for some keys
// twice. begin contains a partition, which selects the server.
func (c *caller) scan(ctx context.Context, what, begin, end string, each func(rest string) error) error {
	for cursor := uint64(0); ; {
		var found []string
		err := c.runOnServer(ctx, what, retryable, begin, func(ctx context.Context, server *redis.Client) error {
			var err error
			found, cursor, err = server.Scan(ctx, cursor, begin+"*"+end, 1000).Result()
			return err
		})
		if err != nil {
			return err
		}
		for _, key := range found {
			if err := each(strings.TrimSuffix(strings.TrimPrefix(key, begin), end)); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

// start runs fn in a goroutine that Close waits for. After Close it does nothing.
func (c *caller) start(fn func()) {
	c.startMu.Lock()
	defer c.startMu.Unlock()
	if c.runCtx.Err() == nil {
		c.wg.Go(fn)
	}
}
