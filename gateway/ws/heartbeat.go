package ws

import (
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/wire"
)

const (
	// silenceChecks is how often per turn of the wheel a connection is checked for silence.
	silenceChecks = 3
	// checkInterval is the longest interval between two checks that do not depend on the heartbeat:
	// the expiry of credentials and the lookup of access rights.
	checkInterval = time.Second
	// sweepTicks is the number of those checks in which all credentials are checked once.
	sweepTicks = 3
)

// heartbeat pings the connections, and closes those that are silent or whose credential has expired.
//
// Ownership: its fields that are not constant belong to the goroutine of run, except rechecking.
type heartbeat struct {
	registry   *registry
	rights     *rights
	interval   time.Duration // between two pings of a connection
	timeouts   *Timeouts
	rechecking atomic.Bool
}

// heartbeatState is the state of a connection that belongs to the heartbeat.
type heartbeatState struct {
	refreshRequestedFor *auth.Identity // the expired credential for which a refresh was requested
	refreshDeadline     time.Time      // when the connection is closed without a new credential
	closeSeenTick       int64          // first tick at which the connection was closing, or 0
}

// run advances the timing wheel until all connections are closed. Pings and the measure of
// silence follow the heartbeat interval; credentials and access rights are checked at least every
// checkInterval.
func (h *heartbeat) run() {
	ticker, clock := time.NewTicker(h.tickInterval()), time.NewTicker(min(h.tickInterval(), checkInterval))
	defer ticker.Stop()
	defer clock.Stop()
	var b connectBurst
	var w credentialSweep
	for {
		select {
		case <-h.registry.ctx.Done():
			return
		case now := <-clock.C:
			h.checkCredentials(&w, now)
		case <-ticker.C:
			h.advanceWheel(h.registry.resources.ticks.Add(1))
			if b.subsided(h.registry.accepted.Load(), allocatedBytes()) {
				h.registry.wg.Go(debug.FreeOSMemory)
			}
		}
	}
}

// advanceWheel pings the connections of one slot and checks those of some slots for silence.
func (h *heartbeat) advanceWheel(tick int64) {
	slot := int(tick % wheelSlots)
	for i := range silenceChecks {
		for _, c := range h.registry.inSlot((slot + i*wheelSlots/silenceChecks) % wheelSlots) {
			c.guard("check silence", func() { h.checkSilence(c, tick) })
		}
	}
	for _, c := range h.registry.inSlot(slot) {
		c.guard("send ping", func() { h.sendPing(c) })
	}
}

// credentialSweep is the progress of the credential and access checks.
type credentialSweep struct {
	slot    int
	checked [wheelSlots]time.Time // when the access of each slot was looked up
}

// checkCredentials checks a part of the slots for expired credentials, and looks up the access
// rights of one slot if that is due.
func (h *heartbeat) checkCredentials(w *credentialSweep, now time.Time) {
	w.slot = (w.slot + 1) % wheelSlots
	for slot := w.slot % sweepTicks; slot < wheelSlots; slot += sweepTicks {
		for _, c := range h.registry.inSlot(slot) {
			c.guard("check credentials", func() { h.checkExpiry(c, now) })
		}
	}
	// A little early is better than one turn later.
	if now.Sub(w.checked[w.slot]) < h.timeouts.Recheck-checkInterval {
		return
	}
	// The owner of a session keeps the access; that of others depends on what the owner shares.
	due := slices.DeleteFunc(h.registry.inSlot(w.slot), func(c *peer) bool { return c.granted() == access.Owner })
	if len(due) == 0 || h.rechecking.Swap(true) {
		return
	}
	w.checked[w.slot] = now
	// In a goroutine of its own: the store may be slow, and pings must go on.
	h.registry.wg.Go(func() {
		defer h.rechecking.Store(false)
		h.rights.recheck(due)
	})
}

// pingFrame is a WebSocket ping, which every client answers without application code.
var pingFrame = []byte{0x89, 0}

// sendPing sends the ping of the connection's protocol.
func (h *heartbeat) sendPing(c *peer) {
	tab := c.tab.Load()
	if tab == nil {
		return
	}
	if c.protocol != protocolDesktop {
		tab.Send(c.event(wire.Ping{}))
	}
	if c.protocol == protocolDesktop || c.protocol == protocolPlain {
		// Writing blocks while the socket is full.
		h.registry.wg.Go(func() { c.guard("send ping", func() { ping(tab) }) })
	}
}

func ping(tab *broadcast.Tab) { _, _ = tab.WriteControl(pingFrame) }

// checkSilence closes a connection that has been silent for too long. It cuts one that was asked to
// close and does not, because its goroutine is blocked in a call of the session.
func (h *heartbeat) checkSilence(c *peer, tick int64) {
	switch {
	case !c.closing():
	case c.heartbeat.closeSeenTick == 0:
		c.heartbeat.closeSeenTick = tick
		return
	default:
		if tick-c.heartbeat.closeSeenTick > h.ticksIn(2*h.timeouts.Close) {
			_ = c.Close()
		}
		return
	}
	if c.tab.Load() == nil {
		return // not attached yet: limitRead bounds it
	}
	if c.protocol != protocolSSE && tick-c.lastSeen.Load() > h.ticksIn(h.interval+h.timeouts.Pong) &&
		!c.tab.Load().Moving(h.timeouts.Pong) { // the pong may be queued behind a large frame
		c.sendToTab(wire.CodeConnectionTimeout.Notice(""))
		c.closeWith(wire.CloseTooSlow, "no answer to a ping")
	}
}

// checkExpiry requests a new credential when that of the connection has expired, and closes the
// connection when none comes in time.
func (h *heartbeat) checkExpiry(c *peer, now time.Time) {
	who := c.identity.Load()
	switch {
	case c.tab.Load() == nil || c.closing():
	case who.Expires.IsZero() || now.Before(who.Expires):
	case who.Link != "": // its user has no other credential to send
		c.sendToTab(wire.CodeTokenExpired.Notice(""))
		c.closeWith(wire.CloseUnauthorized, "the link has expired")
	case c.heartbeat.refreshRequestedFor != who:
		grace := h.timeouts.Refresh
		c.heartbeat.refreshRequestedFor, c.heartbeat.refreshDeadline = who, now.Add(grace)
		c.sendToTab(wire.AuthRefreshRequired{ExpiresAt: wire.Millis(who.Expires.UnixMilli()), GraceMS: int(grace.Milliseconds())})
	case now.After(c.heartbeat.refreshDeadline):
		c.sendToTab(wire.CodeTokenExpired.Notice(""))
		c.closeWith(wire.CloseUnauthorized, "the token has expired")
	}
}

// tickInterval returns the interval of the wheel's ticks.
func (h *heartbeat) tickInterval() time.Duration {
	return max(h.interval/wheelSlots, time.Millisecond)
}

// ticksIn returns the number of ticks in d, rounded up.
func (h *heartbeat) ticksIn(d time.Duration) int64 {
	return int64((d + h.tickInterval() - 1) / h.tickInterval())
}
