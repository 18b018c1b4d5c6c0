package ws

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
)

// wheelSlots is the number of slots of the timing wheel. Each connection is in one slot, chosen at
// random, so that pings are spread evenly over the heartbeat interval.
const wheelSlots = 30

// registry holds a server's streaming connections.
//
// Ownership: it has one goroutine per connection that is not parked, those of the poller, one for
// the heartbeat and one that receives revocations. They start with the first connection or request
// of MCP and end with [registry.closeAll], which waits for them.
type registry struct {
	log       *slog.Logger
	cfg       *Config
	resources *connResources
	// background are the functions that run as long as there are connections.
	background []func()
	draining   atomic.Bool // no connection may be added

	ctx  context.Context //nolint:containedctx // ends the goroutines of the connections
	stop context.CancelFunc
	wg   sync.WaitGroup

	// accepted counts all connections since the start.
	accepted atomic.Uint64

	mu              sync.Mutex // guards the following
	started         bool       // background runs
	poller          *poller    // for connections that can be parked, or nil
	pollerReady     bool       // poller is initialised, or failed to be
	closed          bool
	growth          connectGrowth
	wheel           [wheelSlots][]*peer
	userConnections map[string]int // connections per user that are attached or about to be
}

func newRegistry(log *slog.Logger, cfg *Config, s *connResources) *registry {
	d := &registry{log: log, cfg: cfg, resources: s, userConnections: map[string]int{}}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// add adds a connection, unless the server drains or has closed all connections. It first passes the
// poller to setPoller if the connection can be parked. After true the connection must be removed, and
// then Done of wg called.
func (d *registry) add(c *peer, setPoller func(*poller)) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.draining.Load() { // draining may have begun since the request was checked
		return false
	}
	d.startBackgroundLocked()
	if c.raw != nil {
		if !d.pollerReady {
			d.pollerReady = true
			d.startPoller()
		}
		setPoller(d.poller)
	}
	d.accepted.Add(1)
	c.lastSeen.Store(d.resources.ticks.Load())
	c.slot = rand.IntN(wheelSlots) //nolint:gosec // unpredictability is not needed
	c.index = len(d.wheel[c.slot])
	d.wheel[c.slot] = append(d.wheel[c.slot], c)
	d.wg.Add(1) // until remove
	if d.growth.isDue(d.countLocked()) {
		d.wg.Go(runtime.GC)
	}
	return true
}

// startBackgroundLocked starts the functions of background, once. The caller holds d.mu.
func (d *registry) startBackgroundLocked() {
	if d.started {
		return
	}
	d.started = true
	for _, f := range d.background {
		d.wg.Go(f)
	}
}

// watchNotices starts the functions of background without a connection.
func (d *registry) watchNotices() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.startBackgroundLocked()
	}
}

// startPoller starts the poller, if the system has one.
func (d *registry) startPoller() {
	p, err := newPoller(&d.wg)
	if err != nil {
		d.log.Warn("epoll unavailable, using one goroutine per connection", "err", err)
		return
	}
	d.poller = p
}

const (
	// reportedShare: a user with at least 1/reportedShare of the connection limit is reported to
	// other replicas, but at most maxReportedUsers users are.
	reportedShare    = 20
	maxReportedUsers = 64
)

// busiest returns the connections to this replica of the users that have the most, for
// other replicas to count. Users with few connections are left out.
func (d *registry) busiest(limit int) map[string]int {
	if limit < 0 {
		return nil
	}
	least := max(1, limit/reportedShare)
	counts := map[string]int{}
	d.mu.Lock()
	for user, n := range d.userConnections {
		if n >= least {
			counts[user] = n
		}
	}
	d.mu.Unlock()
	users := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, user := range users[min(len(users), maxReportedUsers):] {
		delete(counts, user)
	}
	return counts
}

// hasCapacity reports whether a user may open another connection. A negative limit means none.
func (d *registry) hasCapacity(user string, most int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return most < 0 || d.userConnections[user] < most
}

// reserve counts a connection for its user until remove, unless the limit is reached.
func (d *registry) reserve(c *peer, most int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	user := c.identity.Load().User
	if most >= 0 && d.userConnections[user] >= most {
		return false
	}
	d.userConnections[user]++
	c.counted = true
	return true
}

// remove removes a connection. Later calls of its requestClose have no effect.
func (d *registry) remove(c *peer) {
	d.mu.Lock()
	if c.counted {
		user := c.identity.Load().User // constant: a refreshed credential has the same user
		if d.userConnections[user]--; d.userConnections[user] == 0 {
			delete(d.userConnections, user)
		}
	}
	slot := d.wheel[c.slot]
	last := len(slot) - 1
	slot[c.index] = slot[last]
	slot[c.index].index = c.index
	slot[last] = nil
	d.wheel[c.slot] = slot[:last]
	d.mu.Unlock()
	c.requestClose(closeRequest{})
	if e := c.closeRequested.Load(); e.done != nil {
		e.done.Done()
	}
}

// inSlot returns a copy of the connections of a slot.
func (d *registry) inSlot(slot int) []*peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.wheel[slot])
}

// all returns a copy of all connections.
func (d *registry) all() []*peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Concat(d.wheel[:]...)
}

// count returns the number of connections.
func (d *registry) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.countLocked()
}

// countLocked is count for a caller that holds d.mu.
func (d *registry) countLocked() int {
	n := 0
	for _, slot := range d.wheel {
		n += len(slot)
	}
	return n
}

// notifyChanged notifies the tabs that a change of settings concerns.
func (d *registry) notifyChanged(c settings.Changed) {
	event := wire.SettingsChanged{Scope: c.Scope, Names: c.Names}
	for _, p := range d.all() {
		who := p.identity.Load()
		if who == nil || who.Link != "" { // a link opens no settings
			continue
		}
		switch {
		case c.Scope == settings.ScopeHub,
			c.Scope == settings.ScopeUser && who.User == c.User,
			c.Scope == settings.ScopeSession && p.session == c.Session:
			p.sendToTab(event)
		}
	}
}
