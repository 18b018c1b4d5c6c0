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

// Timeouts is how long the streaming doors wait for clients. The zero value means
// the defaults.
type Timeouts struct {
	// Auth is how long a client may take to say who it is. It defaults to 10 s.
	Auth time.Duration
	// Naming is how long the greeting of a desktop written for YAAR waits for its first
	// frame, which shows how that client names monitors. It defaults to 1 s.
	Naming time.Duration
	// Pong is how much longer than the heartbeat a client may be silent. It
	// defaults to 10 s.
	Pong time.Duration
	// Refresh is how long a client whose token has expired may take to send
	// another. It defaults to 1 min.
	Refresh time.Duration
	// Recheck is how often it is looked up whether somebody still may do what
	// they do, in case another replica changed it. It defaults to 1 min.
	Recheck time.Duration
	// Close is how long a client may take to answer a close. It defaults to 5 s,
	// which is also the most.
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
	// wheelSlots is how many parts a heartbeat has. Each connection is in one
	// slot, by chance, so that its first beat comes after a random part of the
	// interval and the beats of all are spread.
	wheelSlots = 30
	// looks is how often in a round of the wheel a connection is looked at.
	looks = 3
	// watchEvery is the longest time between two turns of the wheel for what
	// does not depend on the heartbeat: when credentials end and when rights
	// are looked up again.
	watchEvery = time.Second
	// sweeps is after how many of those turns all credentials were looked at.
	sweeps = 3
	// closeGroup is how many connections are closed at a time.
	closeGroup = 128
)

// connections keeps the streaming connections of a server.
//
// Ownership: doors has one goroutine per connection that is not at the poller, the pollers of that, one
// that beats for all of them and one that hears of sign-outs. They begin with the first connection and
// end with [Server.closeAll], which waits for them.
type connections struct {
	ctx            context.Context //nolint:containedctx // it is the life of the goroutines
	stop           context.CancelFunc
	wg             sync.WaitGroup
	readBuffers    sync.Pool // of *[gulpBytes]byte
	frames         sync.Pool // of *[]byte
	commandBuffers sync.Pool // of *[]session.Command

	// ticks counts the turns of the wheel. It is the clock that silence is
	// measured by: when the process stands still, so does it.
	ticks    atomic.Int64
	checking atomic.Bool
	// rights counts the changes of who may do what that were made here, for
	// connections that are on their way in meanwhile. granting is held while
	// somebody's access is written down together with whose it is.
	rights   atomic.Uint64
	granting sync.Mutex

	// arrived counts the connections that ever came.
	arrived atomic.Uint64

	mu               sync.Mutex
	heartbeatStarted bool    // the heart has begun
	pollers          pollers // for those connections that can wait there
	pollersReady     bool    // it is made, or cannot be
	closed           bool
	wheel            [wheelSlots][]*conn
	revocations      map[revoked]leaving // what ended lately
	userConnections  map[string]int      // how many connections are greeted or about to be, by user
}

// revoked names what a revocation ends: one key of a user, or everything.
type revoked struct{ user, key string }

// leaving is when it ended.
type leaving struct {
	at   time.Time // by the clock of the replica where it happened
	told time.Time // when this one heard of it
}

// leftFor is how long revocations are remembered: longer than a client could be
// on its way from the look at its credentials to its greeting.
const leftFor = 5 * time.Minute

// recordRevocation remembers a revocation for connections that are not greeted yet.
func (d *connections) recordRevocation(r auth.Revocation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(d.revocations, func(_ revoked, l leaving) bool { return now.Sub(l.told) > leftFor })
	what := revoked{r.User, r.Key}
	if last := d.revocations[what].at; last.After(r.At) { // by another replica's clock
		r.At = last
	}
	d.revocations[what] = leaving{at: r.At, told: now}
}

// revokedSince reports whether a credential that was checked at a time has ended since,
// as far as this replica has heard. It is asked after the connection came: a later
// revocation finds it there.
func (d *connections) revokedSince(who *auth.Identity, known time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, what := range []revoked{{user: who.User}, {who.User, who.Key}} {
		l, ok := d.revocations[what]
		if ok && !l.told.Before(known) && !who.Since.After(l.at) {
			return true
		}
	}
	return false
}

func (d *connections) init() {
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.revocations, d.userConnections = map[revoked]leaving{}, map[string]int{}
	d.readBuffers.New = func() any { return new([readBufferBytes]byte) }
	d.commandBuffers.New = func() any { return new([]session.Command) }
	d.frames.New = func() any { return new(make([]byte, 0, frameRoom)) }
}

// add adds a connection and serves it, unless the doors are closed.
func (d *connections) add(s *Server, c *conn, hello func(context.Context) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || s.draining.Load() { // it may have begun since the client was looked at
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
	d.arrived.Add(1)
	c.seen.Store(d.ticks.Load())
	c.slot = rand.IntN(wheelSlots) //nolint:gosec // nobody gains by guessing it
	c.index = len(d.wheel[c.slot])
	d.wheel[c.slot] = append(d.wheel[c.slot], c)
	d.wg.Add(1) // until it is gone
	go c.welcome(hello)
	return true
}

// startPollers lets connections wait without a goroutine each, where that is possible.
func (d *connections) startPollers(log *slog.Logger) {
	p, err := newPollers()
	if err != nil {
		log.Warn("every connection takes a goroutine", "err", err)
		return
	}
	d.pollers = p
	p.open(&d.wg)
}

// connectionLimit is how many connections a user may have here: those that nobody counts
// at other replicas. Negative means any number. Others are heard of every few
// seconds, so who is quick may get some more; and who is back may still be counted
// where they come from, so as many again are taken for gone from there.
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
	// crowdPart is which part of the connections that a user may have are enough
	// to tell other replicas of, and crowdsTold how many users they are told of.
	crowdPart  = 20
	crowdsTold = 64
)

// UserConnections are the users with the most connections to this replica, if those are many,
// for others to count.
func (s *Server) UserConnections() map[string]int {
	if s.cfg.UserConnections < 0 {
		return nil
	}
	least := max(1, s.cfg.UserConnections/crowdPart)
	crowds := map[string]int{}
	s.connections.mu.Lock()
	for user, n := range s.connections.userConnections {
		if n >= least {
			crowds[user] = n
		}
	}
	s.connections.mu.Unlock()
	users := slices.SortedFunc(maps.Keys(crowds), func(a, b string) int {
		return cmp.Or(cmp.Compare(crowds[b], crowds[a]), cmp.Compare(a, b))
	})
	for _, user := range users[min(len(users), crowdsTold):] {
		delete(crowds, user)
	}
	return crowds
}

// hasCapacity reports whether a user may open another connection. Negative means any
// number.
func (d *connections) hasCapacity(user string, most int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return most < 0 || d.userConnections[user] < most
}

// reserve counts a connection for its user until it is gone, unless there are too
// many.
func (d *connections) reserve(c *conn, most int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	user := c.who.Load().User
	if most >= 0 && d.userConnections[user] >= most {
		return false
	}
	d.userConnections[user]++
	c.seated = true
	return true
}

// remove removes a connection.
func (d *connections) remove(c *conn) {
	if c.seated {
		c.limits.End(c.who.Load().User)
	}
	d.mu.Lock()
	if c.seated {
		user := c.who.Load().User // which new credentials do not change
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
	c.end(ending{}) // whoever asks from now on comes too late
	if e := c.ended.Load(); e.done != nil {
		e.done.Done()
	}
}

// inSlot lists the connections of a slot.
func (d *connections) inSlot(slot int) []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.wheel[slot])
}

// all lists the connections.
func (d *connections) all() []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Concat(d.wheel[:]...)
}

// spread is the time over which clients come back to other replicas: few at once,
// many at no more than a few thousand a second.
func (s *Server) spread(clients int) time.Duration {
	return min(s.cfg.DrainAfter, leastSpread+time.Duration(clients)*clientSpread)
}

const (
	leastSpread  = 100 * time.Millisecond
	clientSpread = 500 * time.Microsecond
)

// closeAll tells all clients to go elsewhere, closes their connections and waits
// until they are gone. When ctx ends it does not wait for goodbyes, beyond a moment
// for those who would say it.
func (s *Server) closeAll(ctx context.Context) {
	d := &s.connections
	d.mu.Lock()
	d.closed = true
	pollers := d.pollers
	d.mu.Unlock()
	s.disconnect(ctx, d.all(), "this hub is shutting down")
	ctx, cancel := atLeast(ctx, farewell)
	defer cancel()
	d.stop()
	pollers.close()
	if !s.await(ctx, &d.wg, 2*s.cfg.Timeouts.Close) {
		for _, c := range d.all() {
			_ = c.Close()
		}
		d.wg.Wait()
	}
}

// disconnect tells clients to go elsewhere and closes their connections, a group at a
// time.
func (s *Server) disconnect(ctx context.Context, conns []*conn, why string) {
	spread := s.spread(len(conns))
	late := map[*conn]wire.ServerPayload{} // for those who are being greeted
	for _, c := range conns {
		after := rand.Int64N(max(1, spread.Milliseconds())) //nolint:gosec // only to spread them
		c.guard("send a client elsewhere", func() {
			if p := (wire.GoElsewhere{AfterMS: int(after), Reason: why}); !c.notify(p) {
				late[c] = p
			}
		})
	}
	for group := range slices.Chunk(conns, closeGroup) {
		var left sync.WaitGroup
		for _, c := range group {
			left.Add(1)
			if !c.end(ending{code: wire.CloseDraining, reason: why, done: &left, last: late[c]}) {
				left.Done()
			}
		}
		s.await(ctx, &left, s.cfg.DrainGrace)
	}
}

// farewell is how long clients have to hear that the hub is going, however late it
// is.
const farewell = 500 * time.Millisecond

// atLeast is a context that ends with another, but not before some time has passed.
func atLeast(ctx context.Context, least time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := time.AfterFunc(least, func() { context.AfterFunc(ctx, cancel) })
	return lasting, func() { timer.Stop(); cancel() }
}

// await waits for a group, but neither longer than patience nor than ctx. It
// reports whether the group is done.
func (s *Server) await(ctx context.Context, group *sync.WaitGroup, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan struct{})
	go func() { // ends with the clients of the group, whom dismiss waits for in the end
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
