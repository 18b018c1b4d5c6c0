package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Timeouts are the deadlines for clients of the streaming endpoints. The zero value means the
// defaults.
type Timeouts struct {
	// Auth bounds the time until a client has authenticated. It defaults to 10 s.
	Auth time.Duration
	// Naming is how long a desktop client written for YAAR has to send its first frame, which shows
	// how it names monitors, before it gets its snapshot. It defaults to 1 s.
	Naming time.Duration
	// Pong is added to the heartbeat interval for the longest time that a client may be silent. It
	// defaults to 10 s.
	Pong time.Duration
	// Refresh is how long a client with an expired token may take to send a new one. It defaults to
	// 1 min.
	Refresh time.Duration
	// Recheck is the interval at which the access of connected users is looked up again, in case
	// another replica changed it. It defaults to 1 min.
	Recheck time.Duration
	// Close is how long a client may take to answer a close frame. It defaults to 5 s, which is
	// also the maximum.
	Close time.Duration
}

func (p Timeouts) withDefaults() Timeouts {
	p.Auth = cmp.Or(p.Auth, 10*time.Second)
	p.Naming = cmp.Or(p.Naming, time.Second)
	p.Pong = cmp.Or(p.Pong, 10*time.Second)
	p.Refresh = cmp.Or(p.Refresh, time.Minute)
	p.Recheck = cmp.Or(p.Recheck, time.Minute)
	p.Close = cmp.Or(p.Close, 5*time.Second)
	return p
}

const (
	// wheelSlots is the number of slots of the timing wheel. Each connection is in one slot, chosen
	// at random, so that pings are spread evenly over the heartbeat interval.
	wheelSlots = 30
	// silenceChecks is how often per turn of the wheel a connection is checked for silence.
	silenceChecks = 3
	// checkInterval is the longest interval between two checks that do not depend on the heartbeat:
	// the expiry of credentials and the lookup of access rights.
	checkInterval = time.Second
	// sweepTicks is the number of those checks in which all credentials are checked once.
	sweepTicks = 3
	// closeBatchSize is the number of connections closed at a time.
	closeBatchSize = 128
)

// connections is the registry of a server's streaming connections.
//
// Ownership: it has one goroutine per connection that is not parked, those of the pollers, one for
// the heartbeat and one that receives revocations. They start with the first connection and end
// with [Server.closeAll], which waits for them.
type connections struct {
	ctx            context.Context //nolint:containedctx // ends the goroutines of the connections
	stop           context.CancelFunc
	wg             sync.WaitGroup
	readBuffers    sync.Pool // of *[readBufferBytes]byte
	frameBuffers   sync.Pool // of *[]byte
	commandBuffers sync.Pool // of *[]session.Command

	// ticks counts the ticks of the wheel. Silence is measured in ticks, so that the time in which
	// the process was suspended does not count.
	ticks      atomic.Int64
	rechecking atomic.Bool
	// rightsVersion counts the changes of access rights made on this replica, so that a client that
	// is connecting meanwhile notices one. grantMu is held while a connection's identity and access
	// change together.
	rightsVersion atomic.Uint64
	grantMu       sync.Mutex

	// accepted counts all connections since the start.
	accepted atomic.Uint64

	mu               sync.Mutex
	heartbeatStarted bool
	pollers          pollers // for connections that can be parked
	pollersReady     bool    // pollers is initialised, or failed to be
	closed           bool
	wheel            [wheelSlots][]*conn
	revocations      map[revokedKey]revocationTime // recent revocations, see revocationTTL
	userConnections  map[string]int                // connections per user that are attached or about to be
}

// revokedKey names the credentials that a revocation ends: one API key of a user, or all of them if
// key is empty.
type revokedKey struct{ user, key string }

// revocationTime is the time of a revocation.
type revocationTime struct {
	at       time.Time // by the clock of the replica where it was made
	received time.Time // when this replica received it
}

// revocationTTL is how long revocations are kept: longer than a client can take from the check of
// its credentials to its attached session.
const revocationTTL = 5 * time.Minute

// recordRevocation stores a revocation for connections that are not attached yet.
func (d *connections) recordRevocation(r auth.Revocation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(d.revocations, func(_ revokedKey, l revocationTime) bool { return now.Sub(l.received) > revocationTTL })
	what := revokedKey{r.User, r.Key}
	if last := d.revocations[what].at; last.After(r.At) { // another replica's clock may be ahead
		r.At = last
	}
	d.revocations[what] = revocationTime{at: r.At, received: now}
}

// revokedSince reports whether a credential that was checked at the time checked has been revoked
// since, as far as this replica knows. It is called after the connection was added: a later
// revocation finds the connection in the registry.
func (d *connections) revokedSince(who *auth.Identity, checked time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, what := range []revokedKey{{user: who.User}, {who.User, who.Key}} {
		l, ok := d.revocations[what]
		if ok && !l.received.Before(checked) && !who.Since.After(l.at) {
			return true
		}
	}
	return false
}

func (d *connections) init() {
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.revocations, d.userConnections = map[revokedKey]revocationTime{}, map[string]int{}
	d.readBuffers.New = func() any { return new([readBufferBytes]byte) }
	d.commandBuffers.New = func() any { return new([]session.Command) }
	d.frameBuffers.New = func() any { return new(make([]byte, 0, initialFrameBytes)) }
}

// add adds a connection and runs it, unless the server drains or has closed all connections.
func (d *connections) add(s *Server, c *conn, setup func(context.Context) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || s.draining.Load() { // draining may have begun since the request was checked
		return false
	}
	if !d.heartbeatStarted {
		d.heartbeatStarted = true
		d.wg.Go(s.runHeartbeat)
		d.wg.Go(func() { s.auth.Watch(d.ctx, s.revoke) })
	}
	if c.raw != nil {
		if !d.pollersReady {
			d.pollersReady = true
			d.startPollers(s.log)
		}
		c.poller = d.pollers.pollerFor(c)
	}
	d.accepted.Add(1)
	c.lastSeen.Store(d.ticks.Load())
	c.slot = rand.IntN(wheelSlots) //nolint:gosec // unpredictability is not needed
	c.index = len(d.wheel[c.slot])
	d.wheel[c.slot] = append(d.wheel[c.slot], c)
	d.wg.Add(1) // until remove
	go c.runConnect(setup)
	return true
}

// startPollers starts the pollers, if the system has them.
func (d *connections) startPollers(log *slog.Logger) {
	p, err := newPollers()
	if err != nil {
		log.Warn("epoll unavailable, using one goroutine per connection", "err", err)
		return
	}
	d.pollers = p
	p.start(&d.wg)
}

// Connected counts the connections to other replicas.
type Connected interface {
	// ConnectionsElsewhere returns the number of a user's connections to other replicas.
	ConnectionsElsewhere(user string) int
}

// connectionLimit returns how many connections a user may have to this replica: the limit minus
// those to other replicas. Negative means no limit. Other replicas report every few seconds, so a
// user that connects fast may get some more. A client that reconnects may still be counted at the
// replica it comes from, so another full limit is added for it.
func (s *Server) connectionLimit(user string, back bool) int {
	most := s.cfg.UserConnections
	if most < 0 || s.members == nil {
		return most
	}
	left := most - s.members.ConnectionsElsewhere(user)
	if back {
		left += most
	}
	return min(max(0, left), most)
}

const (
	// reportedShare: a user with at least 1/reportedShare of the connection limit is reported to
	// other replicas, but at most maxReportedUsers users are.
	reportedShare    = 20
	maxReportedUsers = 64
)

// UserConnections returns the connections to this replica of the users that have the most, for
// other replicas to count. Users with few connections are left out.
func (s *Server) UserConnections() map[string]int {
	if s.cfg.UserConnections < 0 {
		return nil
	}
	least := max(1, s.cfg.UserConnections/reportedShare)
	counts := map[string]int{}
	s.connections.mu.Lock()
	for user, n := range s.connections.userConnections {
		if n >= least {
			counts[user] = n
		}
	}
	s.connections.mu.Unlock()
	users := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, user := range users[min(len(users), maxReportedUsers):] {
		delete(counts, user)
	}
	return counts
}

// hasCapacity reports whether a user may open another connection. A negative limit means none.
func (d *connections) hasCapacity(user string, most int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return most < 0 || d.userConnections[user] < most
}

// Reserve counts a connection for its user until remove, unless the limit is reached.
func (d *connections) reserve(c *conn, most int) bool {
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

func (d *connections) remove(c *conn) {
	if c.counted {
		c.limits.End(c.identity.Load().User)
	}
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
	c.requestClose(closeRequest{}) // later calls of requestClose have no effect
	if e := c.closeRequested.Load(); e.done != nil {
		e.done.Done()
	}
}

// inSlot returns a copy of the connections of a slot.
func (d *connections) inSlot(slot int) []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.wheel[slot])
}

// all returns a copy of all connections.
func (d *connections) all() []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Concat(d.wheel[:]...)
}

// reconnectSpread returns the time over which disconnected clients are to reconnect to other
// replicas: short for a few of them, and at most a few thousand reconnects a second for many.
func (s *Server) reconnectSpread(clients int) time.Duration {
	return min(s.cfg.DrainAfter, minReconnectSpread+time.Duration(clients)*spreadPerClient)
}

const (
	minReconnectSpread = 100 * time.Millisecond
	spreadPerClient    = 500 * time.Microsecond
)

// closeAll asks all clients to reconnect elsewhere, closes their connections and waits until they
// are gone. When ctx ends it stops waiting for close handshakes, but not before minCloseTime.
func (s *Server) closeAll(ctx context.Context) {
	d := &s.connections
	d.mu.Lock()
	d.closed = true
	pollers := d.pollers
	d.mu.Unlock()
	s.disconnect(ctx, d.all(), "this hub is shutting down")
	ctx, cancel := withMinDuration(ctx, minCloseTime)
	defer cancel()
	d.stop()
	pollers.close()
	if !s.waitFor(ctx, &d.wg, 2*s.cfg.Timeouts.Close) {
		for _, c := range d.all() {
			_ = c.Close()
		}
		d.wg.Wait()
	}
}

// disconnect asks clients to reconnect elsewhere and closes their connections, one batch at a time.
func (s *Server) disconnect(ctx context.Context, conns []*conn, why string) {
	spread := s.reconnectSpread(len(conns))
	late := map[*conn]wire.ServerPayload{} // for clients without a tab yet
	for _, c := range conns {
		after := rand.Int64N(max(1, spread.Milliseconds())) //nolint:gosec // only spreads the load
		c.guard("request reconnect", func() {
			if p := (wire.GoElsewhere{AfterMS: int(after), Reason: why}); !c.sendToTab(p) {
				late[c] = p
			}
		})
	}
	for group := range slices.Chunk(conns, closeBatchSize) {
		var left sync.WaitGroup
		for _, c := range group {
			left.Add(1)
			if !c.requestClose(closeRequest{code: wire.CloseDraining, reason: why, done: &left, lastEvent: late[c]}) {
				left.Done()
			}
		}
		s.waitFor(ctx, &left, s.cfg.DrainGrace)
	}
}

// minCloseTime is the time in which clients are notified of a shutdown even if its context has
// ended.
const minCloseTime = 500 * time.Millisecond

// withMinDuration returns a context that ends with ctx, but not before least has passed.
func withMinDuration(ctx context.Context, least time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := time.AfterFunc(least, func() { context.AfterFunc(ctx, cancel) })
	return lasting, func() { timer.Stop(); cancel() }
}

// waitFor waits for a group until timeout or the end of ctx. It reports whether the group is done.
func (s *Server) waitFor(ctx context.Context, group *sync.WaitGroup, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan struct{})
	go func() { // ends with the group's connections, which closeAll waits for
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
