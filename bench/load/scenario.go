//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/bench/rig"
)

const (
	// usualEnvelope is the size of the floor's envelopes when no run of the
	// hub has shown it.
	usualEnvelope = 400
	// delaySample is the share of deliveries whose delay is measured when
	// there are very many.
	delaySample = 16
	// depth is how many events may be on their way in a session at full rate.
	// It makes batches of a few events, and lets the floor cost what it did in
	// the trial that the wanted ratios come from; see README.md in bench.
	depth = 8
	// connecting is how many connections are opened at a time, except where
	// opening all at once is the point.
	connecting = 128
)

// scenario is one way to use a hub.
type scenario struct {
	name     string
	help     string
	sessions int
	tabs     int // per session
	variants []variant
	// run does its work once publishers and tabs are there, or all of it if
	// alone is set, and fills in the figures.
	run   func(ctx context.Context, c *crowd, o options, r *result) error
	alone bool
}

// variant is a server and how tabs speak to it.
type variant struct {
	name string
	kind kind
	// batch lets the server put several envelopes into a frame.
	batch bool
}

// options are what the command line may change.
type options struct {
	rounds   int
	duration time.Duration
	hold     time.Duration
	sessions int
	tabs     int
	window   int
	servers  []string
}

func variants(names ...string) []variant {
	all := []variant{
		{"file", hubOnFile, false},
		{"floor", bareFloor, false},
		{"redis", hubOnRedis, false},
		{"batch", hubOnFile, true},
	}
	return slices.DeleteFunc(all, func(v variant) bool { return !slices.Contains(names, v.name) })
}

// scenarios are all there are, in the order of the report.
func scenarios() []scenario {
	return []scenario{
		{
			name: "fanout", help: "one session with 1,000 tabs, events at full rate",
			sessions: 1, tabs: 1000, variants: variants("file", "floor", "redis", "batch"), run: fullRate(depth),
		},
		{
			name: "many", help: "500 sessions with 4 tabs each, events at full rate",
			sessions: 500, tabs: 4, variants: variants("file", "floor", "redis", "batch"), run: fullRate(depth),
		},
		{
			name: "paced", help: "500 sessions with 4 tabs each, 40,000 deliveries per second",
			sessions: 500, tabs: 4, variants: variants("file", "floor"), run: pacedRate(40_000),
		},
		{
			name: "idle", help: "10,000 connections in 100 sessions that only answer heartbeats",
			sessions: 100, tabs: 100, variants: variants("file", "floor"), run: idle, alone: true,
		},
		{
			name: "storm", help: "2,000 tabs in 500 sessions that missed 100 events reconnect at once",
			sessions: 500, tabs: 4, variants: variants("file"), run: storm(100),
		},
	}
}

// rounds runs a scenario in rounds that alternate between servers.
func (sc scenario) rounds(ctx context.Context, st stable, o options, p *report) error {
	envelope := usualEnvelope
	for round := range o.rounds {
		for _, v := range sc.variants {
			if len(o.servers) > 0 && !slices.Contains(o.servers, v.name) {
				continue
			}
			r := result{Scenario: sc.name, Server: v.kind.server, Store: v.kind.store, Round: round + 1}
			if v.kind != bareFloor {
				r.Protocol = plainProtocol
			}
			if v.batch {
				r.Protocol = batchProtocol
			}
			err := sc.once(ctx, st, v, o, envelope, &r)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				r.Failed = err.Error()
			}
			p.add(r)
			if v.name == "file" && r.Envelope > 0 {
				envelope = r.Envelope // the floor gets frames of this size
			}
		}
	}
	return nil
}

// once starts a server and its crowd, runs the scenario and ends them.
func (sc scenario) once(ctx context.Context, st stable, v variant, o options, envelope int, r *result) error {
	t, stop, err := st.start(ctx, v.kind, envelope)
	if err != nil {
		return err
	}
	defer stop()
	return sc.against(ctx, t, v.batch, o, r)
}

// against runs the scenario against a server that is there.
func (sc scenario) against(ctx context.Context, t target, batch bool, o options, r *result) error {
	if o.sessions > 0 {
		sc.sessions = o.sessions
	}
	if o.tabs > 0 {
		sc.tabs = o.tabs
	}
	r.Sessions, r.Tabs = sc.sessions, sc.sessions*sc.tabs
	ids, err := t.create(ctx, sc.sessions)
	if err != nil {
		return err
	}
	rooms := make([]*room, len(ids))
	for i, id := range ids {
		rooms[i] = newRoom(id, sc.tabs, batch)
	}
	c, err := newCrowd(t, rooms)
	if err != nil {
		return err
	}
	defer c.close()
	if !sc.alone {
		err = c.prepare(ctx)
	}
	if err == nil {
		err = sc.run(ctx, c, o, r)
	}
	r.Faults = c.verdict()
	return err
}

func newRoom(id string, tabs int, batch bool) *room {
	r := &room{id: id}
	r.publisher = &socket{room: r, publish: true}
	for range tabs {
		r.tabs = append(r.tabs, &socket{room: r, batch: batch})
	}
	return r
}

// allTabs are the tabs of all rooms, one of each room after the other, so that
// neighbours in the list are in different rooms.
func (c *crowd) allTabs() []*socket {
	var all []*socket
	for i := range c.rooms[0].tabs {
		for _, r := range c.rooms {
			all = append(all, r.tabs[i])
		}
	}
	return all
}

// prepare connects publishers and tabs and makes the events fit: how long they
// come out is seen from one event that everybody is shown.
func (c *crowd) prepare(ctx context.Context) error {
	publishers := make([]*socket, len(c.rooms))
	for i, r := range c.rooms {
		publishers[i] = r.publisher
	}
	if err := c.connect(ctx, publishers, connecting); err != nil {
		return fmt.Errorf("publishers: %w", err)
	}
	if err := c.connect(ctx, c.allTabs(), connecting); err != nil {
		return fmt.Errorf("tabs: %w", err)
	}
	for _, r := range c.rooms {
		if err := c.publish(r, 1, c.clock(), false); err != nil {
			return err
		}
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	c.target.encoder.fit(c.dataBytes)
	return nil
}

// measure runs a phase and fills in what it showed.
func (c *crowd) measure(r *result, phase func() error) error {
	c.delays = histogram{}
	deliveries, bytes, events := c.deliveries, c.bytes, c.events()
	from, err := c.target.measure()
	if err != nil {
		return err
	}
	if err := phase(); err != nil {
		return err
	}
	to, err := c.target.measure()
	if err != nil {
		return err
	}
	r.Events = c.events() - events
	if r.Deliveries = c.deliveries - deliveries; r.Deliveries == 0 {
		return fmt.Errorf("%w: nothing was delivered", errStuck)
	}
	r.Envelope = int((c.bytes - bytes) / r.Deliveries) //nolint:gosec // some hundred bytes
	r.spent(from, to)
	r.P50, r.P99 = milliseconds(c.delays.quantile(0.5)), milliseconds(c.delays.quantile(0.99))
	return nil
}

// events is how many were published.
func (c *crowd) events() (n uint64) {
	for _, r := range c.rooms {
		n += r.published
	}
	return n
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// fullRate publishes as fast as tabs take it, window events ahead of the slowest.
// The server warms up first.
func fullRate(window int) func(context.Context, *crowd, options, *result) error {
	return func(ctx context.Context, c *crowd, o options, r *result) error {
		c.sample = delaySample
		if o.window > 0 {
			window = o.window
		}
		if err := c.flatOut(ctx, o.duration/5, window); err != nil {
			return err
		}
		return c.measure(r, func() error { return c.flatOut(ctx, o.duration, window) })
	}
}

// pacedRate makes a number of deliveries per second.
func pacedRate(deliveries float64) func(context.Context, *crowd, options, *result) error {
	return func(ctx context.Context, c *crowd, o options, r *result) error {
		rate := deliveries / float64(len(c.rooms[0].tabs))
		if err := c.paced(ctx, o.duration/5, rate); err != nil {
			return err
		}
		return c.measure(r, func() error { return c.paced(ctx, o.duration, rate) })
	}
}

// idle connects tabs that say nothing but pong.
func idle(ctx context.Context, c *crowd, o options, r *result) error {
	before, err := rig.Resident(c.target.pid)
	if err != nil {
		return err
	}
	tabs := c.allTabs()
	from := time.Now()
	if err := c.connect(ctx, tabs, connecting); err != nil {
		return err
	}
	r.Connects = float64(len(tabs)) / time.Since(from).Seconds()
	if err := c.hold(ctx, o.hold); err != nil {
		return err
	}
	r.Seconds = time.Since(from).Seconds()
	r.Pings = c.pings
	after, err := rig.Resident(c.target.pid)
	if err != nil {
		return err
	}
	r.Memory = float64(after-before) / float64(len(tabs))
	return nil
}

// storm lets all tabs lose their connection, miss events and come back at once.
func storm(missed int) func(context.Context, *crowd, options, *result) error {
	return func(ctx context.Context, c *crowd, _ options, r *result) error {
		tabs := c.allTabs()
		for _, s := range tabs {
			c.hangUp(s)
		}
		if err := c.kept(ctx, missed); err != nil {
			return err
		}
		return c.measure(r, func() error {
			from := time.Now()
			if err := c.connect(ctx, tabs, len(tabs)); err != nil {
				return err
			}
			if err := c.settle(ctx); err != nil {
				return err
			}
			r.CatchUp = milliseconds(time.Since(from))
			return nil
		})
	}
}
