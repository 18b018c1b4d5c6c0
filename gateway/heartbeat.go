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
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// runHeartbeat advances the timing wheel until all connections are closed. Pings and the measure of
// silence follow the heartbeat interval; credentials and access rights are checked at least every
// checkInterval.
func (s *Server) runHeartbeat() {
	ticker, clock := time.NewTicker(s.tickInterval()), time.NewTicker(min(s.tickInterval(), checkInterval))
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
			if r.subsided(s.connections.accepted.Load(), allocatedBytes()) {
				s.connections.wg.Go(debug.FreeOSMemory)
			}
		}
	}
}

// connectBurst detects the end of a burst of connects on a hub with little to do. A handshake
// leaves more garbage than its connection keeps, and an idle hub would not collect it for minutes.
// A busy hub collects by itself, and returning memory to the system would slow its clients down.
type connectBurst struct {
	lastAccepted, lastAllocated, freedAt uint64
	quietTicks                           int
}

const (
	burstSize       = 1000    // connections
	burstQuietTicks = 5       // ticks
	busyAllocBytes  = 4 << 20 // bytes allocated in a tick
)

// subsided is called every tick with the total number of accepted connections and of allocated
// bytes. It reports whether to return memory to the system.
func (r *connectBurst) subsided(arrived, allocated uint64) bool {
	calm := arrived == r.lastAccepted && allocated-r.lastAllocated < busyAllocBytes
	r.lastAccepted, r.lastAllocated = arrived, allocated
	if !calm {
		r.quietTicks = 0
		return false
	}
	r.quietTicks++
	if r.quietTicks < burstQuietTicks || arrived-r.freedAt < burstSize {
		return false
	}
	r.freedAt = arrived
	return true
}

// allocatedBytes returns the number of bytes that the process has allocated since its start.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// advanceWheel pings the connections of one slot and checks those of some slots for silence.
func (s *Server) advanceWheel(tick int64) {
	slot := int(tick % wheelSlots)
	for i := range silenceChecks {
		for _, c := range s.connections.inSlot((slot + i*wheelSlots/silenceChecks) % wheelSlots) {
			c.guard("check silence", func() { c.checkSilence(tick) })
		}
	}
	for _, c := range s.connections.inSlot(slot) {
		c.guard("send ping", c.sendPing)
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
	for slot := w.slot % sweepTicks; slot < wheelSlots; slot += sweepTicks {
		for _, c := range s.connections.inSlot(slot) {
			c.guard("check credentials", func() { c.checkExpiry(now) })
		}
	}
	// A little early is better than one turn later.
	if now.Sub(w.checked[w.slot]) < s.cfg.Timeouts.Recheck-checkInterval {
		return
	}
	due := s.connections.inSlot(w.slot)
	if len(due) == 0 || s.connections.rechecking.Swap(true) {
		return
	}
	w.checked[w.slot] = now
	// In a goroutine of its own: the store may be slow, and pings must go on.
	s.connections.wg.Go(func() {
		defer s.connections.rechecking.Store(false)
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
	if c.protocol != protocolDesktop {
		tab.Send(c.event(wire.Ping{}))
	}
	if c.protocol == protocolDesktop || c.protocol == protocolPlain {
		// Writing blocks while the socket is full.
		c.s.connections.wg.Go(func() { c.guard("send ping", func() { ping(tab) }) })
	}
}

func ping(tab *broadcast.Tab) { _, _ = tab.WriteControl(pingFrame) }

// checkSilence closes a connection that has been silent for too long. It cuts one that was asked to
// close and does not, because its goroutine is blocked in a call of the session.
func (c *conn) checkSilence(tick int64) {
	switch {
	case c.closeRequested.Load() == nil:
	case c.closeSeenTick == 0:
		c.closeSeenTick = tick
		return
	default:
		if tick-c.closeSeenTick > c.s.ticksIn(2*c.s.cfg.Timeouts.Close) {
			_ = c.Close()
		}
		return
	}
	if c.tab.Load() == nil {
		return // not attached yet: limitRead bounds it
	}
	if c.protocol != protocolSSE && tick-c.lastSeen.Load() > c.s.ticksIn(c.s.cfg.Heartbeat+c.s.cfg.Timeouts.Pong) &&
		!c.tab.Load().Moving(c.s.cfg.Timeouts.Pong) { // the pong may be queued behind a large frame
		c.sendToTab(wire.CodeConnectionTimeout.Notice(""))
		c.closeWith(wire.CloseTooSlow, "no answer to a ping")
	}
}

// checkExpiry requests a new credential when that of the connection has expired, and closes the
// connection when none comes in time.
func (c *conn) checkExpiry(now time.Time) {
	who := c.identity.Load()
	switch {
	case c.tab.Load() == nil || c.closeRequested.Load() != nil:
	case who.Expires.IsZero() || now.Before(who.Expires):
	case c.refreshRequestedFor != who:
		grace := c.s.cfg.Timeouts.Refresh
		c.refreshRequestedFor, c.refreshDeadline = who, now.Add(grace)
		c.sendToTab(wire.AuthRefreshRequired{ExpiresAt: wire.Millis(who.Expires.UnixMilli()), GraceMS: int(grace.Milliseconds())})
	case now.After(c.refreshDeadline):
		c.sendToTab(wire.CodeTokenExpired.Notice(""))
		c.closeWith(wire.CloseUnauthorized, "the token has expired")
	}
}

// tickInterval returns the interval of the wheel's ticks.
func (s *Server) tickInterval() time.Duration {
	return max(s.cfg.Heartbeat/wheelSlots, time.Millisecond)
}

// ticksIn returns the number of ticks in d, rounded up.
func (s *Server) ticksIn(d time.Duration) int64 {
	return int64((d + s.tickInterval() - 1) / s.tickInterval())
}

// RecheckSession looks up the access of a session's connections after this replica has changed it.
// Other replicas notice with their periodic recheck.
func (s *Server) RecheckSession(id wire.SessionID) {
	s.connections.rightsVersion.Add(1) // first: a connection without a tab compares it later
	s.recheck(slices.DeleteFunc(s.connections.all(), func(c *conn) bool { return c.tab.Load() == nil || c.session != id }))
}

// recheck looks up the access of connections and applies changes. If the store does not answer, the
// Level stays as it was.
func (s *Server) recheck(conns []*conn) {
	type key struct {
		user, roles string
		session     wire.SessionID
	}
	type answer struct {
		access access.Level
		err    error
	}
	known := make(map[key]answer)
	for _, c := range conns {
		if c.tab.Load() == nil {
			continue
		}
		who := c.identity.Load()
		k := key{who.User, strings.Join(authResult(*who).Roles, " "), c.session}
		a, ok := known[k]
		if !ok {
			ctx, cancel := context.WithTimeout(s.connections.ctx, access.OpenTimeout)
			a.access, _, a.err = s.sessions.Access(ctx, *who, c.session)
			cancel()
			known[k] = a
		}
		if e, ok := errors.AsType[*session.Error](a.err); ok && e.Code == wire.CodeSessionNotFound {
			c.sendToTab(e.Code.Notice(""))
			c.closeWith(wire.CloseNotFound, "no longer allowed")
		}
		if a.err == nil {
			c.updateAccess(who, who, a.access)
		}
	}
}

// updateAccess stores a connection's identity and access, unless its identity has been replaced
// meanwhile.
func (c *conn) updateAccess(from, to *auth.Identity, granted access.Level) {
	c.s.connections.grantMu.Lock()
	defer c.s.connections.grantMu.Unlock()
	if c.identity.CompareAndSwap(from, to) {
		c.access.Store(uint32(granted))
	}
}

// CloseCookie closes the connections that were opened with a cookie. The time of issue
// tells it from other cookies of the user.
func (s *Server) CloseCookie(cookie auth.Identity) {
	for _, c := range s.connections.all() {
		if who := c.identity.Load(); who != nil && who.Cookie && who.User == cookie.User && who.Since.Equal(cookie.Since) {
			c.closeWith(signedOut())
		}
	}
}

// revoke closes the connections whose credential a revocation ends.
func (s *Server) revoke(r auth.Revocation) {
	s.connections.recordRevocation(r)
	for _, c := range s.connections.all() {
		if who := c.identity.Load(); who != nil && r.Ends(*who) {
			c.closeWith(signedOut())
		}
	}
}

func signedOut() (wire.CloseCode, string) { return wire.CloseLoggedOut, "signed out" }
