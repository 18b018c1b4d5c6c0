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

// runHeartbeat turns the wheel until the doors are closed: at the pace of the heartbeat
// for what silence is measured by, and never slower than that of a clock for what
// credentials and rights are.
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

// connectBurst notices when many clients have come, no more do, and the hub has little to
// do. A handshake leaves more garbage behind than its connection keeps, and an
// idle hub would have no reason to collect it for minutes. A busy one collects by
// itself, and giving memory back would make its clients wait.
type connectBurst struct {
	last, made, tidied uint64
	quiet              int
}

const (
	rushSize  = 1000    // connections
	rushQuiet = 5       // ticks
	rushBusy  = 4 << 20 // bytes allocated in a tick
)

// over is called every tick with how many have come and how many bytes were
// allocated in all.
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

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// advanceWheel beats for one slot and looks at some more.
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

// credentialSweep is where the sweep is.
type credentialSweep struct {
	slot    int
	checked [wheelSlots]time.Time // when the rights of a slot were looked up
}

// checkCredentials looks at whose credentials have ended in a part of the slots, and at the
// rights of one slot, if that is due.
func (s *Server) checkCredentials(w *credentialSweep, now time.Time) {
	w.slot = (w.slot + 1) % wheelSlots
	for slot := w.slot % sweeps; slot < wheelSlots; slot += sweeps {
		for _, c := range s.connections.inSlot(slot) {
			c.guard("look at credentials", func() { c.expire(now) })
		}
	}
	// A little early is better than a round later.
	if now.Sub(w.checked[w.slot]) < s.cfg.Timeouts.Recheck-watchEvery {
		return
	}
	due := s.connections.inSlot(w.slot)
	if len(due) == 0 || s.connections.checking.Swap(true) {
		return
	}
	w.checked[w.slot] = now
	// Not here: the store may be slow, and a heart must not stop.
	s.connections.wg.Go(func() {
		defer s.connections.checking.Store(false)
		s.recheck(due)
	})
}

// pingFrame is a WebSocket ping, which every client answers by itself.
var pingFrame = []byte{0x89, 0}

// sendPing asks the client whether it is there.
func (c *conn) sendPing() {
	tab := c.tab.Load()
	if tab == nil {
		return
	}
	if c.door != doorDesktop {
		tab.Send(c.event(wire.Ping{}))
	}
	if c.door == doorDesktop || c.door == doorPlain {
		// It waits when the socket is full.
		c.s.connections.wg.Go(func() { c.guard("send a ping", func() { ping(tab) }) })
	}
}

func ping(tab *broadcast.Tab) { _, _ = tab.WriteControl(pingFrame) }

// checkSilence ends a connection that is silent for too long. One that was asked to end
// and does not, since its goroutine waits for the session, is cut.
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
		return // it has a deadline of its own
	}
	if c.door != doorSSE && tick-c.seen.Load() > c.s.ticksOf(c.s.cfg.Heartbeat+c.s.cfg.Timeouts.Pong) &&
		!c.tab.Load().Moving(c.s.cfg.Timeouts.Pong) { // its pong may be behind a large frame
		c.notify(wire.CodeConnectionTimeout.Notice(""))
		c.drop(wire.CloseTooSlow, "no answer to a ping")
	}
}

// expire ends a connection whose credentials have expired, after it was asked for
// others.
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

// tick is how often the wheel turns.
func (s *Server) tick() time.Duration { return max(s.cfg.Heartbeat/wheelSlots, time.Millisecond) }

// ticksOf is at least how many ticks a time has.
func (s *Server) ticksOf(d time.Duration) int64 { return int64((d + s.tick() - 1) / s.tick()) }

// recheckSession looks up what the people in a session may do now, after this
// replica has changed it. Others find out by themselves.
func (s *Server) recheckSession(id wire.SessionID) {
	s.connections.rights.Add(1) // first: who has no tab yet will see it
	s.recheck(slices.DeleteFunc(s.connections.all(), func(c *conn) bool { return c.tab.Load() == nil || c.session != id }))
}

// recheck looks up what people may do now. What the store does not tell stays as
// it was.
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

// regrant writes down what somebody may do, unless they have become another
// meanwhile.
func (c *conn) regrant(from, to *auth.Identity, granted access) {
	c.s.connections.granting.Lock()
	defer c.s.connections.granting.Unlock()
	if c.who.CompareAndSwap(from, to) {
		c.access.Store(uint32(granted))
	}
}

// closeThoseOf closes the connections that a cookie has opened here. When it was
// issued tells it from others of the user.
func (s *Server) closeThoseOf(cookie auth.Identity) {
	for _, c := range s.connections.all() {
		if who := c.who.Load(); who != nil && who.Cookie && who.User == cookie.User && who.Since.Equal(cookie.Since) {
			c.drop(signedOut())
		}
	}
}

// revoke closes the connections that a revocation ends.
func (s *Server) revoke(r auth.Revocation) {
	s.connections.recordRevocation(r)
	for _, c := range s.connections.all() {
		if who := c.who.Load(); who != nil && r.Ends(*who) {
			c.drop(signedOut())
		}
	}
}

func signedOut() (wire.CloseCode, string) { return wire.CloseLoggedOut, "signed out" }
