package ws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

const (
	// closeBatchSize is the number of connections closed at a time.
	closeBatchSize = 128
	// disconnectPoll is the interval at which [Server.DisconnectAll] checks whether the
	// disconnected clients are gone.
	disconnectPoll = 20 * time.Millisecond
	// releaseInterval is the interval at which [Server.DisconnectReleased] looks for sessions that
	// were handed over.
	releaseInterval = 100 * time.Millisecond
)

// DisconnectReleased disconnects clients whose session this hub no longer runs, until ctx ends. A
// session that was handed over gets an owner as soon as a client opens it on another replica, so
// its clients need not wait until the last session is handed over. Call [Server.Drain] first.
func (s *Server) DisconnectReleased(ctx context.Context, runs func(wire.SessionID) bool) {
	tick := time.NewTicker(releaseInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		idle := slices.DeleteFunc(s.registry.all(), func(c *peer) bool {
			return c.closing() || c.tab.Load() == nil || runs(c.session)
		})
		if len(idle) > 0 {
			s.registry.disconnect(ctx, idle, "this hub hands its sessions over")
		}
	}
}

// DisconnectAll disconnects the streaming clients, as [Server.Close] does, but new ones
// may connect. Call [Server.Drain] first, or new clients connect. It returns when all
// connections are gone, or with an error when ctx ends first.
func (s *Server) DisconnectAll(ctx context.Context) error {
	for {
		if ctx.Err() != nil { // clients that were not notified yet may stay
			return fmt.Errorf("send clients elsewhere: %w", context.Cause(ctx))
		}
		conns := s.registry.all()
		if len(conns) == 0 {
			return nil
		}
		// Connections that were asked to close are already ending.
		conns = slices.DeleteFunc(conns, func(c *peer) bool { return c.closing() })
		s.registry.disconnect(ctx, conns, "this hub is being drained")
		select {
		case <-time.After(disconnectPoll):
		case <-ctx.Done():
		}
	}
}

// reconnectSpread returns the time over which disconnected clients are to reconnect to other
// replicas: short for a few of them, and at most a few thousand reconnects a second for many.
func (d *registry) reconnectSpread(clients int) time.Duration {
	return min(d.cfg.DrainAfter, minReconnectSpread+time.Duration(clients)*spreadPerClient)
}

const (
	minReconnectSpread = 100 * time.Millisecond
	spreadPerClient    = 500 * time.Microsecond
)

// closeAll asks all clients to reconnect elsewhere, closes their connections and waits until they
// are gone. When ctx ends it stops waiting for close handshakes, but not before minCloseTime.
func (d *registry) closeAll(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	poller := d.poller
	d.mu.Unlock()
	d.disconnect(ctx, d.all(), "this hub is shutting down")
	ctx, cancel := withMinDuration(ctx, minCloseTime)
	defer cancel()
	d.stop()
	if poller != nil {
		poller.close()
	}
	if !waitFor(ctx, &d.wg, 2*d.cfg.Timeouts.Close) {
		for _, c := range d.all() {
			_ = c.Close()
		}
		d.wg.Wait()
	}
}

// disconnect asks clients to reconnect elsewhere and closes their connections, one batch at a time.
func (d *registry) disconnect(ctx context.Context, conns []*peer, why string) {
	spread := d.reconnectSpread(len(conns))
	late := map[*peer]wire.ServerPayload{} // for clients without a tab yet
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
		waitFor(ctx, &left, d.cfg.DrainGrace)
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
func waitFor(ctx context.Context, group *sync.WaitGroup, timeout time.Duration) bool {
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
