//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/bench/rig"
)

const (
	// defaultEnvelope is the size of the floor's envelopes in bytes until a run of the hub has
	// measured it.
	defaultEnvelope = 400
	// delaySample is the sampling rate of delays at full rate: one in 16 deliveries.
	delaySample = 16
	// defaultWindow is the number of undelivered events per session at full rate. It makes batches
	// of a few events, like in the measurement that the limits come from; see README.md in bench.
	defaultWindow = 8
	// maxConnecting bounds the connections that are opened at a time, except in the storm scenario.
	maxConnecting = 128
)

// scenario is a kind of load.
type scenario struct {
	name     string
	help     string
	sessions int
	tabs     int // per session
	variants []variant
	// run runs the scenario and sets the figures. Publishers and tabs are connected before, unless
	// skipPrepare is set.
	run         func(ctx context.Context, c *clients, o options, r *result) error
	skipPrepare bool
	// usesModel runs the hub with a tokenModel.
	usesModel bool
	// args are further flags of the hub.
	args []string
}

// variant is a server and the subprotocol of its tabs.
type variant struct {
	name string
	kind kind
	// batch lets the server put several envelopes into a frame.
	batch bool
	// content is the size of each window in bytes before the scenario, if it appends.
	content int
}

// options are the values of the flags.
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
		{name: "file", kind: hubOnFile},
		{name: "floor", kind: bareFloor},
		{name: "redis", kind: hubOnRedis},
		{name: "batch", kind: hubOnFile, batch: true},
		{name: "replicas", kind: twoHubs},
		{name: "three", kind: threeHubs},
		{name: "centrifuge", kind: centrifugeOnRedis},
		{name: "centrifuge-memory", kind: centrifugeInMemory},
		{name: "centrifuge-replicas", kind: twoCentrifuges},
	}
	return slices.DeleteFunc(all, func(v variant) bool { return !slices.Contains(names, v.name) })
}

// scenarios returns all scenarios, in the order of the report.
func scenarios() []scenario {
	return []scenario{
		{
			name: "fanout", help: "one session with 1,000 tabs, events at full rate",
			sessions: 1, tabs: 1000, variants: variants("file", "floor", "redis", "batch"), run: fullRate(defaultWindow),
		},
		{
			name: "many", help: "500 sessions with 4 tabs each, events at full rate",
			sessions: 500, tabs: 4, variants: variants("file", "floor", "redis", "batch"), run: fullRate(defaultWindow),
		},
		{
			name: "replicas", help: "as many, with Redis: one replica, and two with tabs and publishers on both",
			sessions: 500, tabs: 4, variants: variants("redis", "replicas"), run: fullRate(defaultWindow),
		},
		{
			name: "paced", help: "500 sessions with 4 tabs each, 40,000 deliveries per second",
			sessions: 500, tabs: 4, variants: variants("file", "floor"), run: pacedRate(40_000),
		},
		{
			name: "idle", help: "10,000 connections in 100 sessions that only answer heartbeats",
			sessions: 100, tabs: 100, variants: variants("file", "floor"), run: idle, skipPrepare: true,
		},
		{
			name: "idle-sessions", help: "3,000 idle sessions with a tab each on three replicas: what they cost Redis and the replicas",
			sessions: 3000, tabs: 1, variants: variants("three"), run: idleSessions, skipPrepare: true,
		},
		{
			name: "dormant-sessions", help: "1,000 sessions that had a turn and are unused: their size in Redis and what they cost it",
			sessions: 1000, variants: variants("redis"), run: dormantSessions, skipPrepare: true, args: []string{"--dormant-after", "20s"},
		},
		{
			name: "storm", help: "2,000 tabs in 500 sessions that missed 100 events reconnect at once",
			sessions: 500, tabs: 4, variants: variants("file"), run: storm(100),
		},
		{
			name: "append", help: "60 sessions, 64 B at a time appended to windows of 1 KiB, 64 KiB and nearly 1 MiB",
			sessions: 60, tabs: 1, variants: appendVariants("file", "redis"), run: appendText,
		},
		{
			name: "agent", help: "one agent whose model sends 50 tokens per second: age of the tokens at a tab",
			sessions: 1, tabs: 1, variants: variants("file", "redis"), run: agentText, skipPrepare: true, usesModel: true,
		},
		{
			name: "agents", help: "200 such agents in sessions of their own",
			sessions: 200, tabs: 1, variants: variants("file", "redis"), run: agentText, skipPrepare: true, usesModel: true,
		},
	}
}

// peers is the name that selects all scenarios with a peer.
const peers = "peers"

// peerScenarios returns the scenarios in which hubs and nodes of the Centrifuge library, the one behind
// Centrifugo, get the same load in alternating rounds.
func peerScenarios() []scenario {
	return []scenario{
		{
			name: "peers-fanout", help: "as fanout, with Redis",
			sessions: 1, tabs: 1000, variants: variants("redis", "centrifuge"), run: fullRate(defaultWindow),
		},
		{
			name: "peers-many", help: "as many, with Redis",
			sessions: 500, tabs: 4, variants: variants("redis", "centrifuge"), run: fullRate(defaultWindow),
		},
		{
			name: "peers-replicas", help: "as replicas, two of each",
			sessions: 500, tabs: 4, variants: variants("replicas", "centrifuge-replicas"), run: fullRate(defaultWindow),
		},
		{
			name: "peers-storm", help: "as storm, with the embedded store (Centrifuge: memory) and with Redis",
			sessions: 500, tabs: 4, variants: variants("file", "redis", "centrifuge", "centrifuge-memory"), run: storm(100),
		},
		{
			name: "peers-idle", help: "10,000 connections in 2,500 sessions that only answer heartbeats, with Redis",
			sessions: 2500, tabs: 4, variants: variants("redis", "centrifuge"), run: idle, skipPrepare: true,
		},
		{
			name: "peers-agent", help: "as agent, with Redis; the node of Centrifuge publishes each token",
			sessions: 1, tabs: 1, variants: variants("redis", "centrifuge"), run: agentText, skipPrepare: true, usesModel: true,
		},
	}
}

// runRounds runs a scenario in rounds that alternate between servers.
func (sc scenario) runRounds(ctx context.Context, st serverStarter, o options, p *report) error {
	envelope := defaultEnvelope
	for round := range o.rounds {
		for _, v := range sc.variants {
			if len(o.servers) > 0 && !slices.Contains(o.servers, v.name) {
				continue
			}
			r := result{Scenario: sc.name, Server: v.kind.server, Store: v.kind.store, Round: round + 1, Content: v.content}
			if strings.HasPrefix(v.kind.server, "hub") {
				r.Protocol = plainProtocol
			}
			if v.batch {
				r.Protocol = batchProtocol
			}
			err := sc.runOnce(ctx, st, v, o, envelope, &r)
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

// runOnce starts a server, runs the scenario against it and stops it.
func (sc scenario) runOnce(ctx context.Context, st serverStarter, v variant, o options, envelope int, r *result) error {
	args, modelURL := sc.args, ""
	if sc.usesModel {
		model, stop, err := startTokenModel(ctx, o.duration)
		if err != nil {
			return err
		}
		defer stop()
		args, modelURL = append(model.hubArgs(), args...), "http://"+model.addr
	}
	t, stop, err := st.start(ctx, v.kind, envelope, args...)
	if err != nil {
		return err
	}
	defer stop()
	t.model = modelURL
	if v.content > 0 {
		t.encoder = newAppendEncoder(bodySize)
	}
	return sc.runAgainst(ctx, t, v.batch, o, r)
}

// runAgainst runs the scenario against a running server.
func (sc scenario) runAgainst(ctx context.Context, t target, batch bool, o options, r *result) error {
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
	sessions := make([]*session, len(ids))
	for i, id := range ids {
		sessions[i] = newSession(i, id, sc.tabs, batch)
	}
	c, err := newClients(t, sessions)
	if err != nil {
		return err
	}
	defer c.close()
	if !sc.skipPrepare {
		err = c.prepare(ctx)
	}
	if err == nil {
		err = sc.run(ctx, c, o, r)
	}
	r.Faults = c.allFaults()
	return err
}

// newSession makes a session with its sockets. The replica of its first tab, which connects first,
// owns it. Of four sessions each replica owns two, and each has the publisher of one of these.
func newSession(number int, id string, tabs int, batch bool) *session {
	r := &session{id: id}
	r.publisher = &socket{session: r, isPublisher: true, replica: number / 2}
	for i := range tabs {
		r.tabs = append(r.tabs, &socket{session: r, batched: batch, replica: number + i})
	}
	return r
}

// allTabs returns the tabs of all sessions, ordered so that neighbours belong to different sessions.
func (c *clients) allTabs() []*socket {
	var all []*socket
	for i := range c.sessions[0].tabs {
		for _, r := range c.sessions {
			all = append(all, r.tabs[i])
		}
	}
	return all
}

// prepare connects publishers and tabs, publishes one event in every session, and adjusts the size
// of later events to the size in which it was delivered.
func (c *clients) prepare(ctx context.Context) error {
	publishers := make([]*socket, len(c.sessions))
	for i, r := range c.sessions {
		publishers[i] = r.publisher
	}
	tabs, first := c.allTabs(), len(c.sessions)
	for _, sockets := range [][]*socket{tabs[:first], publishers, tabs[first:]} {
		if err := c.connect(ctx, sockets, maxConnecting); err != nil {
			return fmt.Errorf("connect tabs and publishers: %w", err)
		}
	}
	for _, r := range c.sessions {
		if err := c.publish(r, 1, c.clock(), false); err != nil {
			return err
		}
	}
	if err := c.awaitDelivered(ctx); err != nil {
		return err
	}
	c.target.encoder.setDataSize(c.dataBytes)
	return nil
}

// measure runs a phase and sets its figures.
func (c *clients) measure(r *result, phase func() error) error {
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
		return fmt.Errorf("%w: no deliveries", errStuck)
	}
	r.Envelope = int((c.bytes - bytes) / r.Deliveries) //nolint:gosec // some hundred bytes
	r.setCPU(from, to)
	r.P50, r.P99 = milliseconds(c.delays.quantile(0.5)), milliseconds(c.delays.quantile(0.99))
	return nil
}

// events returns the number of published events.
func (c *clients) events() (n uint64) {
	for _, r := range c.sessions {
		n += r.published
	}
	return n
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// fullRate publishes as fast as the slowest tab of each session receives, with at most window
// undelivered events, after a warm-up.
func fullRate(window int) func(context.Context, *clients, options, *result) error {
	return func(ctx context.Context, c *clients, o options, r *result) error {
		c.sample = delaySample
		if o.window > 0 {
			window = o.window
		}
		if err := c.publishAtFullRate(ctx, o.duration/5, window); err != nil {
			return err
		}
		return c.measure(r, func() error { return c.publishAtFullRate(ctx, o.duration, window) })
	}
}

// pacedRate publishes at a rate that results in the given deliveries per second.
func pacedRate(deliveries float64) func(context.Context, *clients, options, *result) error {
	return func(ctx context.Context, c *clients, o options, r *result) error {
		rate := deliveries / float64(len(c.sessions[0].tabs))
		if err := c.publishAtRate(ctx, o.duration/5, rate); err != nil {
			return err
		}
		return c.measure(r, func() error { return c.publishAtRate(ctx, o.duration, rate) })
	}
}

// idle connects tabs that only answer pings.
func idle(ctx context.Context, c *clients, o options, r *result) error {
	before, err := rig.Resident(c.target.pids[0])
	if err != nil {
		return err
	}
	tabs := c.allTabs()
	from := time.Now()
	if err := c.connect(ctx, tabs, maxConnecting); err != nil {
		return err
	}
	r.Connects = float64(len(tabs)) / time.Since(from).Seconds()
	begin, err := c.target.measure()
	if err != nil {
		return err
	}
	if err := c.hold(ctx, o.hold); err != nil {
		return err
	}
	end, err := c.target.measure()
	if err != nil {
		return err
	}
	r.Cores = (end.cpu - begin.cpu).Seconds() / end.at.Sub(begin.at).Seconds()
	r.Seconds = time.Since(from).Seconds()
	r.Pings = c.pings
	after, err := rig.Resident(c.target.pids[0])
	if err != nil {
		return err
	}
	r.Memory = float64(after-before) / float64(len(tabs))
	return nil
}

// storm closes the connections of all tabs, publishes events, and reconnects all tabs at once.
func storm(missed int) func(context.Context, *clients, options, *result) error {
	return func(ctx context.Context, c *clients, _ options, r *result) error {
		tabs := c.allTabs()
		for _, s := range tabs {
			c.closeSocket(s)
		}
		if err := c.publishDurably(ctx, missed); err != nil {
			return err
		}
		return c.measure(r, func() error {
			from := time.Now()
			c.catchingUp = c.clock()
			if err := c.connect(ctx, tabs, len(tabs)); err != nil {
				return err
			}
			if err := c.awaitDelivered(ctx); err != nil {
				return err
			}
			r.CatchUp = milliseconds(time.Since(from))
			return nil
		})
	}
}
