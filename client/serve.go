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
func (c *Client) serve(ctx context.Context, k *conn) error {
	t := connState{release: time.NewTimer(time.Hour)}
	t.release.Stop()
	defer t.release.Stop()
	for {
		select {
		case events, ok := <-k.events:
			if !ok {
				return c.closeReason(&t, k.err)
			}
			for _, e := range events {
				if err := c.handleEvent(ctx, k, &t, e); err != nil {
					k.closeNormally()
					return err
				}
				if ctx.Err() != nil {
					break
				}
			}
		case <-t.release.C:
			t.releaseMessages(k)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			k.closeNormally()
			return context.Cause(ctx)
		}
	}
}

// closeReason returns why the connection ended, with the time of GO_ELSEWHERE if the hub sent one.
func (c *Client) closeReason(t *connState, err error) error {
	if t.stateReceived && time.Since(t.since) >= stableAfter {
		c.resetFailures()
	}
	if t.reconnectAt.IsZero() {
		return err
	}
	return &goElsewhereError{until: t.reconnectAt, err: err}
}

// resetFailures resets the backoff after a good connection.
func (c *Client) resetFailures() { c.failed = 0 }

// handleEvent handles one event: first cursor and mirror, then the handler, then the calls that
// wait for it. So a caller that has an answer knows that the mirror and the handler have it too.
func (c *Client) handleEvent(ctx context.Context, k *conn, t *connState, e Event) error {
	switch d := e.Data.(type) {
	case wire.SessionState:
		if e.At.IsZero() {
			c.handleState(ctx, t, e.Event, d)
		}
	case wire.GoElsewhere:
		t.reconnectAt = time.Now().Add(time.Duration(d.AfterMS) * time.Millisecond)
	case wire.AuthRefreshRequired:
		if c.cfg.Refresh != nil {
			k.spawn(func(ctx context.Context) { c.refreshAuth(ctx, k) })
		}
	}
	if !e.At.IsZero() {
		if !t.stateReceived {
			return errEventsBeforeState
		}
		if !c.mirror.apply(e.Event) {
			return nil
		}
		c.resetFailures()
		e.Replayed = e.At.Compare(t.replayUntil) <= 0
		if _, ok := e.Data.(wire.SessionState); ok {
			c.outbox.resendUnanswered()
		}
	}
	if c.cfg.OnEvent != nil {
		c.cfg.OnEvent(ctx, e)
	}
	c.outbox.resolve(e)
	if t.stateReceived && !t.released && c.mirror.position().Compare(t.replayUntil) >= 0 {
		t.releaseMessages(k)
	}
	return nil
}

// handleState handles a session_state that is not in the log.
func (c *Client) handleState(ctx context.Context, t *connState, e wire.Event, s wire.SessionState) {
	first := !t.stateReceived
	c.mirror.applyState(e, s, first)
	if s.Mode == wire.StateSnapshot {
		c.observeSnapshot(s, first)
		if !first {
			c.outbox.resendUnanswered()
		}
	}
	c.refreshed = false
	t.replayUntil = s.ReplayUntil
	if first {
		t.stateReceived, t.since = true, time.Now()
		t.release.Reset(replayTimeout)
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
func (t *connState) releaseMessages(k *conn) {
	if !t.released {
		t.released = true
		t.release.Stop()
		close(k.released)
	}
}

// refreshAuth sends a new token before the old one expires. If that fails, the hub closes the
// connection with the reason.
func (c *Client) refreshAuth(ctx context.Context, k *conn) {
	token, err := c.cfg.Refresh(ctx)
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "refreshing token failed", "err", err)
		return
	}
	c.setToken(token)
	k.sendControl(wire.Auth{Token: token})
}
