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

// How costs are measured.
const (
	probeStores   = 16   // replicas that ask at the same time
	probeBytes    = 256  // of an event and of a field
	probeHolders  = 1000 // of slots
	probeReplicas = 100
	probeTTL      = time.Hour
)

// effort is how much is done to measure.
type effort struct {
	sessions int // of all stores together
	rounds   int // operations per session
	times    int // how often all that is done
	watch    time.Duration
}

func properly() effort { return effort{sessions: 512, rounds: 16, times: 5, watch: time.Second} }

// probe is a session whose operations are measured.
type probe struct {
	st    *redisstore.Store
	lease store.Lease
	batch store.Batch
	// before is where the log ended before the last commit.
	before wire.Position
	sent   int
}

// bench measures costs on a Redis that nobody else uses.
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

// prepare makes sessions with a state of some size.
func (b *bench) prepare(ctx context.Context) error {
	for i := range b.sessions {
		id := wire.SessionID("probe-" + strconv.Itoa(i))
		p := &probe{st: b.stores[i%probeStores]}
		if err := p.st.Create(ctx, store.NewSession{ID: id, User: "u" + strconv.Itoa(i%100), Card: []byte(`{"title":"probe"}`)}); err != nil {
			return err
		}
		var err error
		if p.lease, err = p.st.Claim(ctx, id, "replica-a", probeTTL); err != nil {
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
	r, err := p.st.Commit(ctx, p.lease, p.batch)
	p.batch.Prev = r.Top
	return err
}

// claim makes a probe the owner once more, under a new epoch.
func (p *probe) claim(ctx context.Context) (err error) {
	p.lease, err = p.st.Claim(ctx, p.lease.Session, p.lease.Replica, probeTTL)
	p.batch.Number, p.batch.Prev = 0, p.lease.Top()
	return err
}

// count measures what fn makes Redis do, several times, and keeps the time that
// was disturbed least. fn returns how many operations it did, or 0 when the
// first command of an operation tells.
func (b *bench) count(ctx context.Context, o op, top []string, fn func() (float64, error)) error {
	var best cost
	for range b.times {
		before, err := rig.Read(ctx, b.client)
		if err != nil {
			return err
		}
		n, err := fn()
		if err != nil {
			return fmt.Errorf("measure %q: %w", o, err)
		}
		after, err := rig.Read(ctx, b.client)
		if err != nil {
			return err
		}
		d := after.Since(before)
		if n == 0 {
			n = d.Calls[top[0]]
		}
		if c := per(d, n, top); best.CPU == 0 || c.CPU < best.CPU {
			best = c
		}
	}
	best.Op = o.String()
	b.costs = append(b.costs, best)
	return nil
}

// per is what was counted for each of n operations.
func per(r rig.Reading, n float64, top []string) cost {
	c := cost{CPU: r.CPU * 1e6 / n, In: r.In / n, Out: r.Out / n, Commands: map[string]float64{}}
	for cmd, calls := range r.Calls {
		c.Commands[cmd] = calls / n
	}
	for _, cmd := range top {
		c.Exec += r.Usec[cmd] / n
	}
	return c
}

// each measures an operation of every session, several times, with as many
// callers at once as there are stores.
func (b *bench) each(ctx context.Context, o op, top []string, fn func(context.Context, *probe) error) error {
	return b.count(ctx, o, top, func() (float64, error) {
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

// parallel runs callers at once.
func (b *bench) parallel(callers int, fn func(caller int) error) error {
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() { errs[c] = fn(c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// script is the command whose time counts as that of most operations.
func script() []string { return []string{"evalsha"} }

func (b *bench) leases(ctx context.Context) error {
	err := errors.Join(
		b.each(ctx, opRenew, script(), func(ctx context.Context, p *probe) error { return p.st.Renew(ctx, p.lease) }),
		b.each(ctx, opOwned, script(), func(ctx context.Context, p *probe) error {
			_, err := p.st.Claim(ctx, p.lease.Session, "replica-b", probeTTL)
			if errors.Is(err, store.ErrOwned) {
				return nil
			}
			return fmt.Errorf("claim of an owned session: %w", err)
		}),
		b.each(ctx, opClaim, script(), func(ctx context.Context, p *probe) error { return p.claim(ctx) }),
		b.each(ctx, opRelease, script(), func(ctx context.Context, p *probe) error {
			if err := p.st.Release(ctx, p.lease); err != nil {
				return err
			}
			return p.claim(ctx)
		}),
	)
	if err != nil {
		return err
	}
	// A release has to be followed by a claim to be repeated.
	claim, release := b.costs[len(b.costs)-2], &b.costs[len(b.costs)-1]
	release.CPU -= claim.CPU
	release.Exec -= claim.Exec
	release.In -= claim.In
	release.Out -= claim.Out
	for cmd, n := range claim.Commands {
		if release.Commands[cmd] -= n; release.Commands[cmd] < 0.01 {
			delete(release.Commands, cmd)
		}
	}
	return nil
}

func (b *bench) reads(ctx context.Context) error {
	return errors.Join(
		b.each(ctx, opLoad, []string{"evalsha", "hmget", "smembers"}, func(ctx context.Context, p *probe) error {
			_, err := p.st.Load(ctx, p.lease.Session)
			return err
		}),
		b.each(ctx, opInfo, []string{"hmget", "hget"}, func(ctx context.Context, p *probe) error {
			_, err := p.st.Session(ctx, p.lease.Session)
			return err
		}),
		b.each(ctx, opRead, script(), func(ctx context.Context, p *probe) error {
			_, err := p.st.Read(ctx, p.lease.Session, p.batch.Prev, 1000)
			return err
		}),
		b.each(ctx, opSend, script(), func(ctx context.Context, p *probe) error {
			p.sent++
			_, err := p.st.Send(ctx, p.lease.Session, store.Command{ID: "c" + strconv.Itoa(p.sent), Data: b.event})
			return err
		}),
		b.count(ctx, opSweep, script(), func() (float64, error) {
			err := b.parallel(probeStores, func(caller int) error {
				for range b.rounds {
					if _, err := b.stores[caller].Unattended(ctx, 100); err != nil {
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
		op     op
		events int
	}{{opCommit, 1}, {opCommit8, 8}, {opCommit64, 64}} {
		events := make([][]byte, c.events)
		for i := range events {
			events[i] = b.event
		}
		for _, p := range b.probes {
			p.batch.Events = events
			p.batch.Ops = []store.Op{store.Set("table-0", "field-0", b.event), store.Set("table-1", "field-1", b.event)}
		}
		if err := b.each(ctx, c.op, []string{"exec"}, func(ctx context.Context, p *probe) error { return p.commit(ctx) }); err != nil {
			return err
		}
	}
	for _, p := range b.probes {
		p.batch.Events = [][]byte{b.event}
	}
	// All sessions of one store at once, so that its pipelines are full.
	for _, p := range b.probes {
		p.st = b.stores[0]
	}
	return b.count(ctx, opBatched, []string{"exec"}, func() (float64, error) {
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

// followers measures what it costs to follow and to be followed.
func (b *bench) followers(ctx context.Context, url string) error {
	const often = 20 * time.Millisecond
	st, closeStore, err := openStore(ctx, url, redisstore.Config{CheckEvery: often, InboxEvery: often})
	if err != nil {
		return err
	}
	defer closeStore()
	err = b.each(ctx, opTail, script(), func(ctx context.Context, p *probe) error {
		for _, err := range p.st.Tail(ctx, p.lease.Session, p.before) {
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
			for range st.Tail(ctx, p.lease.Session, p.batch.Prev) {
				seen.Add(1)
			}
		}, func() error {
			err := b.count(ctx, opCheck, []string{"hget"}, func() (float64, error) { return 0, pass(ctx, b.watch) })
			return err
		}),
		b.during(ctx, func(ctx context.Context, p *probe) {
			for range st.Receive(ctx, p.lease) {
			}
		}, func() error {
			return b.count(ctx, opReceive, script(), func() (float64, error) { return 0, pass(ctx, b.watch) })
		}),
		b.during(ctx, func(ctx context.Context, p *probe) {
			for range b.stores[probeStores-1].Tail(ctx, p.lease.Session, p.batch.Prev) {
				seen.Add(1)
			}
		}, func() error { return b.published(ctx) }),
	)
}

// published measures commits that are followed, and what that adds.
func (b *bench) published(ctx context.Context) error {
	err := b.each(ctx, opPublish, []string{"exec", "spublish"}, func(ctx context.Context, p *probe) error { return p.commit(ctx) })
	if err != nil {
		return err
	}
	alone, followed := cost{}, &b.costs[len(b.costs)-1]
	for _, c := range b.costs {
		if c.Op == opCommit.String() {
			alone = c
		}
	}
	followed.CPU = max(followed.CPU-alone.CPU, 1)
	followed.Exec = max(followed.Exec-alone.Exec, 0)
	followed.In, followed.Out = followed.In-alone.In, followed.Out-alone.Out
	followed.Commands = map[string]float64{"spublish": followed.Commands["spublish"]}
	return nil
}

// during runs a loop per session while fn measures, after a moment to begin.
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

// pass lets time pass.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// shared measures what is not in a session: slots and documents.
func (b *bench) shared(ctx context.Context) error {
	request := func(n int) store.SlotRequest {
		return store.SlotRequest{
			Semaphore: "agents", Limit: 2 * probeHolders, Holder: "h" + strconv.Itoa(n), Key: "k" + strconv.Itoa(n), TTL: probeTTL,
		}
	}
	slots := make([]store.Slot, probeHolders)
	for i := range slots {
		var err error
		if slots[i], err = b.stores[0].Acquire(ctx, request(i)); err != nil {
			return err
		}
	}
	turns := func(o op, top []string, fn func(st *redisstore.Store, n int) error) error {
		return b.count(ctx, o, top, func() (float64, error) {
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
		turns(opSlot, script(), func(st *redisstore.Store, n int) error { return st.RenewSlot(ctx, slots[n]) }),
		turns(opSlotTurn, script(), func(st *redisstore.Store, n int) error {
			slot, err := st.Acquire(ctx, request(probeHolders+n%(probeHolders/2)))
			return errors.Join(err, st.ReleaseSlot(ctx, slot))
		}),
		turns(opFleet, script(), func(st *redisstore.Store, n int) error {
			id := wire.ReplicaID("replica-" + strconv.Itoa(n%probeReplicas))
			_, missing := st.Get(ctx, "fleet", string(id))
			_, err := st.Replicas(ctx, "", 1000) // as fleet does
			return errors.Join(err, unless(missing, store.ErrNotFound),
				st.Announce(ctx, store.Replica{ID: id, Card: b.event}, probeTTL))
		}),
		turns(opQuota, script(), func(st *redisstore.Store, n int) error {
			name := strconv.Itoa(n)
			d, err := st.Get(ctx, "quota", name)
			if err := unless(err, store.ErrNotFound); err != nil {
				return err
			}
			_, err = st.Put(ctx, store.Document{Collection: "quota", Name: name, Data: b.event, Version: d.Version, TTL: time.Minute})
			return err
		}),
	)
}

// unless is an error that was not expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
