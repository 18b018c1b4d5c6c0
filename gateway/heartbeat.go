package gateway

import (
	"context"
	"errors"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// runHeartbeat advances the timing wheel until all connections are closed. Pings and the measure of
// silence follow the heartbeat interval; credentials and access rights are checked at least every
// checkInterval.
func (s *Server) runHeartbeat() {
	ticker, clock := time.NewTicker(s.tick()), time.NewTicker(min(s.tick(), watchEvery))
	defer ticker.Stop()
	defer clock.Stop()
	var r connectBurst
	var w credentialSweep
	for {
		select {
		case <-s.connections.ctx.Done():
			return
		case now := <-clock.C:
			s.checkCredentials(&w, now)
		case <-ticker.C:
			s.advanceWheel(s.connections.ticks.Add(1))
			if r.over(s.connections.arrived.Load(), allocated()) {
				s.connections.wg.Go(debug.FreeOSMemory)
			}
		}
	}
}

// connectBurst detects the end of a burst of connects on a hub with little to do. A handshake
// leaves more garbage than its connection keeps, and an idle hub would not collect it for minutes.
// A busy hub collects by itself, and returning memory to the system would slow its clients down.
type connectBurst struct {
	last, made, tidied uint64
	quiet              int
}

const (
	rushSize  = 1000 // connections
	rushQuiet = 5 // ticks
	rushBusy  = 4 << 20 // bytes allocated in a tick
)

// subsided is called every tick with the total number of accepted connections and of allocated
// bytes. It reports whether to return memory to the system.
func (r *connectBurst) over(arrived, allocated uint64) bool {
	calm := arrived == r.last && allocated-r.made < rushBusy
	r.last, r.made = arrived, allocated
	if !calm {
		r.quiet = 0
		return false
	}
	r.quiet++
	if r.quiet < rushQuiet || arrived-r.tidied < rushSize {
		return false
	}
	r.tidied = arrived
	return true
}

// allocatedBytes returns the number of bytes that the process has allocated since its start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// advanceWheel pings the connections of one slot and checks those of some slots for silence.
func (s *Server) advanceWheel(tick int64) {
	slot := int(tick % wheelSlots)
	for i := range looks {
		for _, c := range s.connections.inSlot((slot + i*wheelSlots/looks) % wheelSlots) {
			c.guard("look at a connection", func() { c.checkSilence(tick) })
		}
	}
	for _, c := range s.connections.inSlot(slot) {
		c.guard("beat for a connection", c.sendPing)
	}
}

// credentialSweep is the progress of the credential and access checks.
type credentialSweep struct {
	slot    int
	checked [wheelSlots]time.Time // when the access of each slot was looked up
}

// checkCredentials checks a part of the slots for expired credentials, and looks up the access
// rights of one slot if that is due.
func (s *Server) checkCredentials(w *credentialSweep, now time.Time) {
	w.slot = (w.slot + 1) % wheelSlots
	for slot := w.slot % sweeps; slot < wheelSlots; slot += sweeps {
		for _, c := range s.connections.inSlot(slot) {
			c.guard("look at credentials", func() { c.expire(now) })
		}
	}
	// A little early is better than one turn later.
	if now.Sub(w.checked[w.slot]) < s.cfg.Timeouts.Recheck-watchEvery {
		return
	}
	due := s.connections.inSlot(w.slot)
	if len(due) == 0 || s.connections.checking.Swap(true) {
		return
	}
	w.checked[w.slot] = now
	// In a goroutine of its own: the store may be slow, and pings must go on.
	s.connections.wg.Go(func() {
		defer s.connections.checking.Store(false)
		s.recheck(due)
	})
}

// pingFrame is a WebSocket ping, which every client answers without application code.
var pingFrame = []byte{0x89, 0}

// sendPing sends the ping of the connection's protocol.
func (c *conn) sendPing() {
	tab := c.tab.Load()
	if tab == nil {
		return
	}
	if c.door != doorDesktop {
		tab.Send(c.event(wire.Ping{}))
	}
	if c.door == doorDesktop || c.door == doorPlain {
		// Writing blocks while the socket is full.
		c.s.connections.wg.Go(func() { c.guard("send a ping", func() { ping(tab) }) })
	}
}

func ping(tab *broadcast.Tab) { _, _ = tab.WriteControl(pingFrame) }

// checkSilence closes a connection that has been silent for too long. It cuts one that was asked to
// close and does not, because its goroutine is blocked in a call of the session.
func (c *conn) checkSilence(tick int64) {
	switch {
	case c.ended.Load() == nil:
	case c.ending == 0:
		c.ending = tick
		return
	default:
		if tick-c.ending > c.s.ticksOf(2*c.s.cfg.Timeouts.Close) {
			_ = c.Close()
		}
		return
	}
	if c.tab.Load() == nil {
		return // not attached yet: limitRead bounds it
	}
	if c.door != doorSSE && tick-c.seen.Load() > c.s.ticksOf(c.s.cfg.Heartbeat+c.s.cfg.Timeouts.Pong) &&
		!c.tab.Load().Moving(c.s.cfg.Timeouts.Pong) { // the pong may be queued behind a large frame
		c.notify(wire.CodeConnectionTimeout.Notice(""))
		c.drop(wire.CloseTooSlow, "no answer to a ping")
	}
}

// checkExpiry requests a new credential when that of the connection has expired, and closes the
// connection when none comes in time.
func (c *conn) expire(now time.Time) {
	who := c.who.Load()
	switch {
	case c.tab.Load() == nil || c.ended.Load() != nil:
	case who.Expires.IsZero() || now.Before(who.Expires):
	case c.asked != who:
		grace := c.s.cfg.Timeouts.Refresh
		c.asked, c.until = who, now.Add(grace)
		c.notify(wire.AuthRefreshRequired{ExpiresAt: wire.Millis(who.Expires.UnixMilli()), GraceMS: int(grace.Milliseconds())})
	case now.After(c.until):
		c.notify(wire.CodeTokenExpired.Notice(""))
		c.drop(wire.CloseUnauthorized, "the token has expired")
	}
}

// tickInterval returns the interval of the wheel's ticks.
func (s *Server) tick() time.Duration { return max(s.cfg.Heartbeat/wheelSlots, time.Millisecond) }

// ticksIn returns the number of ticks in d, rounded up.
func (s *Server) ticksOf(d time.Duration) int64 { return int64((d + s.tick() - 1) / s.tick()) }

// recheckSession looks up the access of a session's connections after this replica has changed it.
// Other replicas notice with their periodic recheck.
func (s *Server) recheckSession(id wire.SessionID) {
	s.connections.rights.Add(1) // first: a connection without a tab compares it later
	s.recheck(slices.DeleteFunc(s.connections.all(), func(c *conn) bool { return c.tab.Load() == nil || c.session != id }))
}

// recheck looks up the access of connections and applies changes. If the store does not answer, the
// access stays as it was.
func (s *Server) recheck(conns []*conn) {
	type key struct {
		user, roles string
		session     wire.SessionID
	}
	type answer struct {
		access access
		err    error
	}
	known := make(map[key]answer)
	for _, c := range conns {
		if c.tab.Load() == nil {
			continue
		}
		who := c.who.Load()
		k := key{who.User, strings.Join(authResult(*who).Roles, " "), c.session}
		a, ok := known[k]
		if !ok {
			ctx, cancel := context.WithTimeout(s.connections.ctx, greetTimeout)
			a.access, _, a.err = s.accessTo(ctx, *who, c.session)
			cancel()
			known[k] = a
		}
		if e, ok := errors.AsType[*session.Error](a.err); ok && e.Code == wire.CodeSessionNotFound {
			c.notify(e.Code.Notice(""))
			c.drop(wire.CloseNotFound, "no longer allowed")
		}
		if a.err == nil {
			c.regrant(who, who, a.access)
		}
	}
}

// updateAccess stores a connection's identity and access, unless its identity has been replaced
// meanwhile.
func (c *conn) regrant(from, to *auth.Identity, granted access) {
	c.s.connections.granting.Lock()
	defer c.s.connections.granting.Unlock()
	if c.who.CompareAndSwap(from, to) {
		c.access.Store(uint32(granted))
	}
}

// closeCookieConnections closes the connections that were opened with a cookie. The time of issue
// tells it from other cookies of the user.
func (s *Server) closeThoseOf(cookie auth.Identity) {
	for _, c := range s.connections.all() {
		if who := c.who.Load(); who != nil && who.Cookie && who.User == cookie.User && who.Since.Equal(cookie.Since) {
			c.drop(signedOut())
		}
	}
}

// revoke closes the connections whose credential a revocation ends.
func (s *Server) revoke(r auth.Revocation) {
	s.connections.recordRevocation(r)
	for _, c := range s.connections.all() {
		if who := c.who.Load(); who != nil && r.Ends(*who) {
			c.drop(signedOut())
		}
	}
}

func signedOut() (wire.CloseCode, string) { return wire.CloseLoggedOut, "signed out" }
