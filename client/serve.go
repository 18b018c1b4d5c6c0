package client

import (
	"context"
	"errors"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// stableAfter is how long a connection must have lasted to count as good without a new event.
const stableAfter = 10 * time.Second

// errEventsBeforeState is the error for a hub that violates the protocol.
var errEventsBeforeState = errors.New("the hub sent events before session_state")

// connState is the state of a connection while it lasts.
type connState struct {
	stateReceived bool
	since         time.Time
	replayUntil   wire.Position // end of the replay
	release       *time.Timer   // runs while messages are held back
	released      bool
	reconnectAt   time.Time // when the hub wants the client to reconnect; zero if it did not say
}

// serve handles the events of a connection, in order, until it ends.
func (c *Client) serve(ctx context.Context, cn *conn) error {
	cs := connState{release: time.NewTimer(time.Hour)}
	cs.release.Stop()
	defer cs.release.Stop()
	for {
		select {
		case events, ok := <-cn.events:
			if !ok {
				return c.closeReason(&cs, cn.err)
			}
			for _, e := range events {
				if err := c.handleEvent(ctx, cn, &cs, e); err != nil {
					cn.closeNormally()
					return err
				}
				if ctx.Err() != nil {
					break
				}
			}
		case <-cs.release.C:
			cs.releaseMessages(cn)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			cn.closeNormally()
			return context.Cause(ctx)
		}
	}
}

// closeReason returns why the connection ended, with the time of GO_ELSEWHERE if the hub sent one.
func (c *Client) closeReason(cs *connState, err error) error {
	if cs.stateReceived && time.Since(cs.since) >= stableAfter {
		c.resetFailures()
	}
	if cs.reconnectAt.IsZero() {
		return err
	}
	return &goElsewhereError{until: cs.reconnectAt, err: err}
}

// resetFailures resets the backoff after a good connection.
func (c *Client) resetFailures() { c.failed = 0 }

// handleEvent handles one event: first cursor and mirror, then the handler, then the calls that
// wait for it. So a caller that has an answer knows that the mirror and the handler have it too.
func (c *Client) handleEvent(ctx context.Context, cn *conn, cs *connState, e Event) error {
	switch d := e.Data.(type) {
	case wire.SessionState:
		if e.At.IsZero() {
			c.handleState(ctx, cs, e.Event, d)
		}
	case wire.GoElsewhere:
		cs.reconnectAt = time.Now().Add(time.Duration(d.AfterMS) * time.Millisecond)
	case wire.AuthRefreshRequired:
		if c.cfg.Refresh != nil {
			cn.spawn(func(ctx context.Context) { c.refreshAuth(ctx, cn) })
		}
	}
	if !e.At.IsZero() {
		if !cs.stateReceived {
			return errEventsBeforeState
		}
		if !c.mirror.apply(e.Event) {
			return nil
		}
		c.resetFailures()
		e.Replayed = e.At.Compare(cs.replayUntil) <= 0
		if _, ok := e.Data.(wire.SessionState); ok {
			c.outbox.resendUnanswered()
		}
	}
	if c.cfg.OnEvent != nil {
		c.cfg.OnEvent(ctx, e)
	}
	c.outbox.resolve(e)
	if cs.stateReceived && !cs.released && c.mirror.position().Compare(cs.replayUntil) >= 0 {
		cs.releaseMessages(cn)
	}
	return nil
}

// handleState handles a session_state that is not in the log.
func (c *Client) handleState(ctx context.Context, cs *connState, e wire.Event, s wire.SessionState) {
	first := !cs.stateReceived
	c.mirror.applyState(e, s, first)
	if s.Mode == wire.StateSnapshot {
		c.observeSnapshot(s, first)
		if !first {
			c.outbox.resendUnanswered()
		}
	}
	c.refreshed = false
	cs.replayUntil = s.ReplayUntil
	if first {
		cs.stateReceived, cs.since = true, time.Now()
		cs.release.Reset(replayTimeout)
		c.setLink(ctx, Link{State: LinkConnected, Resumed: s.Mode == wire.StateResume})
	}
	select {
	case <-c.ready:
	default:
		close(c.ready)
	}
}

// releaseMessages lets the writer send messages. Messages that were sent over an earlier connection
// may be answered in the replay, so nothing is sent before its end.
func (cs *connState) releaseMessages(cn *conn) {
	if !cs.released {
		cs.released = true
		cs.release.Stop()
		close(cn.released)
	}
}

// refreshAuth sends a new token before the old one expires. If that fails, the hub closes the
// connection with the reason.
func (c *Client) refreshAuth(ctx context.Context, cn *conn) {
	token, err := c.cfg.Refresh(ctx)
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "refreshing token failed", "err", err)
		return
	}
	c.setToken(token)
	cn.sendControl(wire.Auth{Token: token})
}
