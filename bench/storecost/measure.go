//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// commitOperation is one event and two fields of probeBytes in a transaction of its own.
const commitOperation = "commit, 1 event and 2 fields of 256 B"

const (
	probeStores   = 16   // stores that call Redis at the same time, as replicas do
	probeBytes    = 256  // size of an event and of a field
	probeHolders  = 1000 // slots held at the same time
	probeReplicas = 100
	probeTTL      = time.Hour
)

// effort bounds how much is measured.
type effort struct {
	sessions int           // of all stores together
	rounds   int           // operations per session and measurement
	times    int           // measurements per operation; the lowest counts
	watch    time.Duration // how long background polling is watched
}

func fullEffort() effort { return effort{sessions: 512, rounds: 16, times: 5, watch: time.Second} }

// probe is a session on which operations are measured.
type probe struct {
	st    *redisstore.Store
	lease store.Lease
	batch store.Batch
	// before is the end of the log before the last commit.
	before wire.Position
	sent   int
}

// bench measures costs on a Redis server without other clients.
type bench struct {
	effort
	client redis.UniversalClient
	stores []*redisstore.Store
	probes []*probe
	event  []byte
	costs  []cost
}

// measure measures every operation with the real store on a Redis at url.
func measure(ctx context.Context, url string, e effort) ([]cost, error) {
	o, err := redisstore.ParseURL(url)
	if err != nil {
		return nil, err
	}
	b := &bench{effort: e, client: redis.NewUniversalClient(o), event: bytes.Repeat([]byte{'x'}, probeBytes)}
	defer func() { _ = b.client.Close() }()
	for range probeStores {
		st, closeStore, err := openStore(ctx, url, redisstore.Config{Limits: store.Limits{InboxCommands: 1 << 20}})
		if err != nil {
			return nil, err
		}
		defer closeStore()
		b.stores = append(b.stores, st)
	}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(b.leases(ctx), b.reads(ctx), b.commits(ctx), b.followers(ctx, url), b.shared(ctx)); err != nil {
		return nil, err
	}
	return b.costs, nil
}

// openStore opens a store with connections of its own, as a replica does.
func openStore(ctx context.Context, url string, cfg redisstore.Config) (*redisstore.Store, func(), error) {
	o, err := redisstore.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	client := redis.NewUniversalClient(o)
	st, err := redisstore.Open(ctx, client, cfg)
	if err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	return st, func() {
		_ = st.Close()
		_ = client.Close()
	}, nil
}

// prepare creates the probes, each with 5 tables of 4 fields.
func (b *bench) prepare(ctx context.Context) error {
	for i := range b.sessions {
		id := wire.SessionID("probe-" + strconv.Itoa(i))
		p := &probe{st: b.stores[i%probeStores]}
		if err := p.st.Sessions.Create(ctx, store.NewSession{ID: id, User: "u" + strconv.Itoa(i%100), Card: []byte(`{"title":"probe"}`)}); err != nil {
			return err
		}
		var err error
		if p.lease, err = p.st.Sessions.Claim(ctx, id, "replica-a", probeTTL); err != nil {
			return err
		}
		p.batch = store.Batch{Prev: p.lease.Top(), Events: [][]byte{b.event}}
		for t := range 5 {
			for f := range 4 {
				p.batch.Ops = append(p.batch.Ops, store.Set("table-"+strconv.Itoa(t), "field-"+strconv.Itoa(f), b.event))
			}
		}
		if err := p.commit(ctx); err != nil {
			return err
		}
		p.batch.Ops = nil
		b.probes = append(b.probes, p)
	}
	return nil
}

func (p *probe) commit(ctx context.Context) error {
	p.batch.Number++
	p.before = p.batch.Prev
	r, err := p.st.Sessions.Commit(ctx, p.lease, p.batch)
	p.batch.Prev = r.Top
	return err
}

// claim claims the probe's session again, under a new epoch.
func (p *probe) claim(ctx context.Context) (err error) {
	p.lease, err = p.st.Sessions.Claim(ctx, p.lease.Session, p.lease.Replica, probeTTL)
	p.batch.Number, p.batch.Prev = 0, p.lease.Top()
	return err
}

// count measures what fn makes Redis do b.times times and appends the lowest cost.
// fn returns the number of operations it ran, or 0 if each operation calls the
// command top[0] exactly once, so that the count of that command is the number.
// top are the commands whose time counts as executing the operation.
func (b *bench) count(ctx context.Context, operation string, top []string, fn func() (float64, error)) error {
	var best cost
	for range b.times {
		before, err := rig.ReadRedisStats(ctx, b.client)
		if err != nil {
			return err
		}
		n, err := fn()
		if err != nil {
			return fmt.Errorf("measure %q: %w", operation, err)
		}
		after, err := rig.ReadRedisStats(ctx, b.client)
		if err != nil {
			return err
		}
		d := after.Since(before)
		if n == 0 {
			n = d.Calls[top[0]]
		}
		if c := per(d, n, top); best.cpu == 0 || c.cpu < best.cpu {
			best = c
		}
	}
	best.operation = operation
	b.costs = append(b.costs, best)
	return nil
}

// per returns the cost of each of n operations.
func per(r rig.RedisStats, n float64, top []string) cost {
	c := cost{cpu: r.CPU * 1e6 / n, in: r.In / n, out: r.Out / n}
	for _, cmd := range top {
		c.exec += r.Usec[cmd] / n
	}
	return c
}

// each measures an operation on every probe, b.rounds times, with one goroutine per store.
func (b *bench) each(ctx context.Context, operation string, top []string, fn func(context.Context, *probe) error) error {
	return b.count(ctx, operation, top, func() (float64, error) {
		err := b.parallel(probeStores, func(caller int) error {
			for range b.rounds {
				for i := caller; i < len(b.probes); i += probeStores {
					if err := fn(ctx, b.probes[i]); err != nil {
						return err
					}
				}
			}
			return nil
		})
		return float64(b.rounds * b.sessions), err
	})
}

// parallel runs fn in the given number of goroutines.
func (b *bench) parallel(callers int, fn func(caller int) error) error {
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() { errs[c] = fn(c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// script returns the command that most operations consist of.
func script() []string { return []string{"evalsha"} }

func (b *bench) leases(ctx context.Context) error {
	err := errors.Join(
		b.each(ctx, "renew the lease of one session", script(), func(ctx context.Context, p *probe) error { return p.st.Sessions.Renew(ctx, p.lease) }),
		b.each(ctx, "claim refused", script(), func(ctx context.Context, p *probe) error {
			_, err := p.st.Sessions.Claim(ctx, p.lease.Session, "replica-b", probeTTL)
			if errors.Is(err, store.ErrOwned) {
				return nil
			}
			return fmt.Errorf("claim of an owned session: %w", err)
		}),
		b.each(ctx, "claim", script(), func(ctx context.Context, p *probe) error { return p.claim(ctx) }),
		b.each(ctx, "release", script(), func(ctx context.Context, p *probe) error {
			if err := p.st.Sessions.Release(ctx, p.lease); err != nil {
				return err
			}
			return p.claim(ctx)
		}),
	)
	if err != nil {
		return err
	}
	// A release can be repeated only after a claim, whose cost is subtracted.
	last := len(b.costs) - 1
	b.costs[last] = b.costs[last].minus(b.costs[last-1])
	return nil
}

func (b *bench) reads(ctx context.Context) error {
	return errors.Join(
		b.each(ctx, "load (5 tables of 4 fields)", []string{"evalsha", "hmget", "smembers"}, func(ctx context.Context, p *probe) error {
			_, err := p.st.Sessions.Load(ctx, p.lease.Session)
			return err
		}),
		b.each(ctx, "look up", []string{"hmget", "hget", "hgetall"}, func(ctx context.Context, p *probe) error {
			_, err := p.st.Sessions.Session(ctx, p.lease.Session)
			return err
		}),
		b.each(ctx, "read", script(), func(ctx context.Context, p *probe) error {
			_, err := p.st.Sessions.Read(ctx, p.lease.Session, p.batch.Prev, 1000)
			return err
		}),
		b.each(ctx, "send", script(), func(ctx context.Context, p *probe) error {
			p.sent++
			_, err := p.st.Sessions.Send(ctx, p.lease.Session, store.Command{ID: "c" + strconv.Itoa(p.sent), Data: b.event})
			return err
		}),
		b.count(ctx, "sweep, all 64 partitions", script(), func() (float64, error) {
			err := b.parallel(probeStores, func(caller int) error {
				for range b.rounds {
					if _, err := b.stores[caller].Sessions.Unattended(ctx, 100); err != nil {
						return err
					}
				}
				return nil
			})
			return float64(probeStores * b.rounds), err
		}),
	)
}

func (b *bench) commits(ctx context.Context) error {
	for _, c := range []struct {
		operation string
		events    int
	}{{commitOperation, 1}, {"commit of 8 events", 8}, {"commit of 64 events", 64}} {
		events := make([][]byte, c.events)
		for i := range events {
			events[i] = b.event
		}
		for _, p := range b.probes {
			p.batch.Events = events
			p.batch.Ops = []store.Op{store.Set("table-0", "field-0", b.event), store.Set("table-1", "field-1", b.event)}
		}
		if err := b.each(ctx, c.operation, []string{"exec"}, func(ctx context.Context, p *probe) error { return p.commit(ctx) }); err != nil {
			return err
		}
	}
	for _, p := range b.probes {
		p.batch.Events = [][]byte{b.event}
	}
	// All sessions commit through one store at once, so that its pipelines are full.
	for _, p := range b.probes {
		p.st = b.stores[0]
	}
	return b.count(ctx, "commit as one of many in a pipeline", []string{"exec"}, func() (float64, error) {
		err := b.parallel(b.sessions, func(caller int) error {
			for range b.rounds {
				if err := b.probes[caller].commit(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		return float64(b.rounds * b.sessions), err
	})
}

// followers measures following a log, and what followers add to a commit.
func (b *bench) followers(ctx context.Context, url string) error {
	const often = 20 * time.Millisecond
	st, closeStore, err := openStore(ctx, url, redisstore.Config{TailEvery: often, InboxEvery: often})
	if err != nil {
		return err
	}
	defer closeStore()
	err = b.each(ctx, "tail: subscribe, read, unsubscribe", script(), func(ctx context.Context, p *probe) error {
		for _, err := range p.st.Sessions.Tail(ctx, p.lease.Session, p.before) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, p := range b.probes {
		p.st = b.stores[i%probeStores]
	}
	seen := atomic.Int64{}
	return errors.Join(
		b.during(ctx, func(ctx context.Context, p *probe) {
			for range st.Sessions.Tail(ctx, p.lease.Session, p.batch.Prev) {
				seen.Add(1)
			}
		}, func() error {
			err := b.count(ctx, "position check, pipelined", []string{"hget"}, func() (float64, error) { return 0, pass(ctx, b.watch) })
			return err
		}),
		b.during(ctx, func(ctx context.Context, p *probe) {
			for range st.Sessions.Receive(ctx, p.lease) {
			}
		}, func() error {
			return b.count(ctx, "inbox poll", script(), func() (float64, error) { return 0, pass(ctx, b.watch) })
		}),
		b.during(ctx, func(ctx context.Context, p *probe) {
			for range b.stores[probeStores-1].Sessions.Tail(ctx, p.lease.Session, p.batch.Prev) {
				seen.Add(1)
			}
		}, func() error { return b.published(ctx) }),
	)
}

// published measures what publishing adds to a commit.
func (b *bench) published(ctx context.Context) error {
	err := b.each(ctx, "publish, added to a commit", []string{"exec", "spublish"}, func(ctx context.Context, p *probe) error { return p.commit(ctx) })
	if err != nil {
		return err
	}
	last := len(b.costs) - 1
	for _, c := range b.costs {
		if c.operation == commitOperation {
			b.costs[last] = b.costs[last].minus(c)
		}
	}
	return nil
}

// during runs loop for every probe while fn measures. It gives the loops b.watch to start.
func (b *bench) during(ctx context.Context, loop func(context.Context, *probe), fn func() error) error {
	looping, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, p := range b.probes {
		wg.Go(func() { loop(looping, p) })
	}
	if err := pass(ctx, b.watch); err != nil {
		return err
	}
	return fn()
}

// pass waits for d.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// shared measures operations outside sessions: slots, membership and documents.
func (b *bench) shared(ctx context.Context) error {
	request := func(n int) store.SlotRequest {
		return store.SlotRequest{
			Semaphore: "agents", Limit: 2 * probeHolders, Holder: "h" + strconv.Itoa(n), Key: "k" + strconv.Itoa(n), TTL: probeTTL,
		}
	}
	slots := make([]store.Slot, probeHolders)
	for i := range slots {
		var err error
		if slots[i], err = b.stores[0].Semaphores.Acquire(ctx, request(i)); err != nil {
			return err
		}
	}
	perHolder := func(operation string, top []string, fn func(st *redisstore.Store, n int) error) error {
		return b.count(ctx, operation, top, func() (float64, error) {
			err := b.parallel(probeStores, func(caller int) error {
				for i := caller; i < probeHolders; i += probeStores {
					if err := fn(b.stores[caller], i); err != nil {
						return err
					}
				}
				return nil
			})
			return probeHolders, err
		})
	}
	return errors.Join(
		perHolder("slot renew", script(), func(st *redisstore.Store, n int) error { return st.Semaphores.RenewSlot(ctx, slots[n]) }),
		perHolder("slot acquired and released, 1,000 holders", script(), func(st *redisstore.Store, n int) error {
			slot, err := st.Semaphores.Acquire(ctx, request(probeHolders+n%(probeHolders/2)))
			return errors.Join(err, st.Semaphores.ReleaseSlot(ctx, slot))
		}),
		perHolder("membership round, 100 replicas", script(), func(st *redisstore.Store, n int) error {
			id := wire.ReplicaID("replica-" + strconv.Itoa(n%probeReplicas))
			_, missing := st.Documents.Get(ctx, "fleet", string(id))
			_, err := st.Replicas.Replicas(ctx, "", 1000) // as package membership does
			return errors.Join(err, unless(missing, store.ErrNotFound),
				st.Replicas.Announce(ctx, store.Replica{ID: id, Card: b.event}, probeTTL))
		}),
		perHolder("take from a rate limit", script(), func(st *redisstore.Store, n int) error {
			_, err := st.Rates.Take(ctx, strconv.Itoa(n), 2*probeHolders, time.Minute)
			return err
		}),
	)
}

// unless returns err, or nil if it is the expected one.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
