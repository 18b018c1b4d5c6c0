package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
)

// Config configures a store. Zero fields mean the defaults. All replicas that share a Redis
// must have the same Prefix, Limits and Schema.
type Config struct {
	// Prefix begins every key and channel, so that several hubs can share a Redis. It
	// defaults to "everdesk" and may contain letters, digits and any of "._-:/".
	Prefix string
	Limits store.Limits
	Schema store.Schema
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Observer is notified of failed calls; nil means none.
	Observer Observer
	// Objects keeps the packs of cold sessions. Without it cold sessions cannot be read.
	Objects Objects
	// AllowEviction accepts a Redis that may evict keys when its memory is full. Sessions
	// can then be lost.
	AllowEviction bool
	// ReplicaWait bounds the wait of a durable commit for a second Redis node. It defaults
	// to 100 ms and must be shorter than the client's read timeout.
	ReplicaWait time.Duration
	// RetryFor bounds the retries of one call before it fails with [store.ErrUnavailable].
	// It defaults to 2 s: after an outage a go-redis pool may need a second to recover.
	RetryFor time.Duration
	// CheckEvery is the interval at which pub/sub connections are checked. It defaults to 5 s.
	CheckEvery time.Duration
	// InboxEvery is the interval at which an owner polls its inbox for commands that no message
	// announced. While there are none it grows to 120 times as much. It defaults to 5 s.
	InboxEvery time.Duration
	// TailEvery is the interval at which the position of a followed session is compared with
	// the end of its log, for messages that were lost on a connection that works. It defaults to
	// 10 min.
	TailEvery time.Duration
	// SlotEvery is the interval at which a waiting Acquire asks again. A waiter that does
	// not ask for 5 s counts as gone. It defaults to 250 ms.
	SlotEvery time.Duration
}

// Observer counts failed calls and cold sessions. Its methods must not block.
type Observer interface {
	// Failed is called for a call that failed after all retries, with the kind unavailable,
	// no_space, corrupt, refused or timeout.
	Failed(kind string)
	// SessionCooled is called for a session that was moved to an object.
	SessionCooled()
	// SessionWarmed is called for a session that came back from an object, with the time that it took.
	SessionWarmed(took time.Duration)
	// ColdFailed is called if one of them failed: with cool or remove if an object could not be written
	// or removed, with missing, damaged or unavailable if one could not be read.
	ColdFailed(kind string)
}

// noopObserver ignores all calls.
type noopObserver struct{}

func (noopObserver) Failed(string)               {}
func (noopObserver) SessionCooled()              {}
func (noopObserver) SessionWarmed(time.Duration) {}
func (noopObserver) ColdFailed(string)           {}

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "everdesk")
	c.Limits = c.Limits.WithDefaults()
	if c.Observer == nil {
		c.Observer = noopObserver{}
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.ReplicaWait = cmp.Or(c.ReplicaWait, 100*time.Millisecond)
	c.RetryFor = cmp.Or(c.RetryFor, 2*time.Second)
	c.CheckEvery = cmp.Or(c.CheckEvery, 5*time.Second)
	c.InboxEvery = cmp.Or(c.InboxEvery, 5*time.Second)
	c.TailEvery = cmp.Or(c.TailEvery, 10*time.Minute)
	c.SlotEvery = cmp.Or(c.SlotEvery, 250*time.Millisecond)
	return c
}

func (c Config) check() error {
	const also = "._-:/"
	for _, r := range c.Prefix {
		isName := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !isName && !strings.ContainsRune(also, r) {
			return fmt.Errorf("key prefix %q holds %q, want letters, digits and %q", c.Prefix, r, also)
		}
	}
	if c.ReplicaWait < time.Millisecond || c.RetryFor < 0 || c.CheckEvery < 0 || c.InboxEvery < 0 || c.TailEvery < 0 || c.SlotEvery < 0 {
		return errors.New("a waiting time is negative, or ReplicaWait under a millisecond")
	}
	if c.SlotEvery > waiterTimeout/2 {
		return fmt.Errorf("SlotEvery of %v is more than half of the %v after which a waiter expires", c.SlotEvery, waiterTimeout)
	}
	return nil
}

// Store is a store in Redis. Its fields implement the parts of the contract in package
// store; they are safe for concurrent use. It owns every goroutine it starts, and Close waits
// for them. It does not own the client, which must be closed after it.
type Store struct {
	*caller

	Sessions   *Sessions
	Cold       *Cold
	Documents  *Documents
	Semaphores *Semaphores
	Replicas   *Replicas
	Rates      *Rates
	Signals    *Signals
}

// Open checks that Redis is suitable and returns a store in it. The client should have the
// options that [ParseURL] returns: it must obey contexts and must not retry by itself.
func Open(ctx context.Context, client redis.UniversalClient, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("open redis store: %w: %w", store.ErrInvalid, err)
	}
	servers, err := newServers(client)
	if err != nil {
		return nil, fmt.Errorf("open redis store: %w: %w", store.ErrInvalid, err)
	}
	c := newCaller(ctx, servers, cfg)
	if err := (serverCheck{c}).run(ctx); err != nil {
		c.cancelRun()
		return nil, fmt.Errorf("open redis store: %w", err)
	}
	lists, bus := &rebuilder{caller: c}, newBus(c)
	s := &Store{
		caller:     c,
		Sessions:   newSessions(c, lists, bus),
		Documents:  &Documents{caller: c},
		Semaphores: &Semaphores{caller: c, rebuilder: lists, bus: bus},
		Replicas:   &Replicas{caller: c, rebuilder: lists},
		Rates:      &Rates{caller: c, rebuilder: lists},
		Signals:    &Signals{caller: c, bus: bus},
	}
	s.Cold = s.Sessions.cold
	c.start(s.Sessions.tails.checkLoop)
	return s, nil
}

// Close stops the store: waiting calls return [store.ErrClosed]. A commit in flight may
// still be applied.
func (s *Store) Close() error {
	s.startMu.Lock()
	s.cancelRun()
	s.startMu.Unlock()
	s.wg.Wait()
	return nil
}

// probeScript does nothing. Redis refuses it, like every script that may write, while it
// has no memory for writes, cannot persist them or is a replica. It has no keys, so that it
// can run on every master of a Cluster.
const probeScript = "#!lua\nreturn 1"

// Ready returns nil if all masters accept writes, and [store.ErrNoSpace] if one has no
// memory or disk space. It is [store.ErrOtherFiles] if it accepts writes and another storage
// than that of this process has the cold sessions.
func (s *Store) Ready(ctx context.Context) error {
	probe := func(ctx context.Context, server *redis.Client) error {
		return server.Eval(ctx, probeScript, nil).Err()
	}
	err := s.runOnServer(ctx, "check redis", retryable, s.keys.format(), probe)
	if err == nil && s.servers.cluster != nil {
		err = s.contractError(ctx, "check redis", s.servers.eachMaster(ctx, probe))
	}
	if err != nil {
		return err
	}
	return s.Cold.storage.ready(ctx)
}
