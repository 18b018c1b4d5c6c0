package client

import (
	"context"
	"errors"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// stableAfter is how long a connection must have lasted to count as good, if no
// new event came over it.
const stableAfter = 10 * time.Second

// errEarly is why a connection ended whose hub does not keep to the protocol.
var errEarly = errors.New("the hub sent events before session_state")

// talk is what is known of a connection while it lasts.
type talk struct {
	begun    bool // session_state was there
	since    time.Time
	until    wire.Position // the end of the replay
	release  *time.Timer   // runs while messages are held back
	released bool
	moved    time.Time // when the hub wants us back; zero if it did not say
}

// serve takes what comes over a connection, in order, until that ends.
func (c *Client) serve(ctx context.Context, k *conn) error {
	t := talk{release: time.NewTimer(time.Hour)}
	t.release.Stop()
	defer t.release.Stop()
	for {
		select {
		case events, ok := <-k.news:
			if !ok {
				return c.ended(&t, k.err)
			}
			for _, e := range events {
				if err := c.take(ctx, k, &t, e); err != nil {
					k.leave()
					return err
				}
				if ctx.Err() != nil {
					break
				}
			}
		case <-t.release.C:
			t.let(k)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			k.leave()
			return context.Cause(ctx)
		}
	}
}

// ended is why the connection ended, with what the hub had said about it.
func (c *Client) ended(t *talk, err error) error {
	if t.begun && time.Since(t.since) >= stableAfter {
		c.good()
	}
	if t.moved.IsZero() {
		return err
	}
	return &movedError{until: t.moved, err: err}
}

// good forgets earlier failures.
func (c *Client) good() { c.failed = 0 }

// take takes one event: cursor and mirror first, then the handler, then whoever
// waits for it. So who has an answer knows that everybody else here knows it.
func (c *Client) take(ctx context.Context, k *conn, t *talk, e Event) error {
	switch d := e.Data.(type) {
	case wire.SessionState:
		if e.At.IsZero() {
			c.begin(ctx, t, e.Event, d)
		}
	case wire.GoElsewhere:
		t.moved = time.Now().Add(time.Duration(d.AfterMS) * time.Millisecond)
	case wire.AuthRefreshRequired:
		if c.cfg.Refresh != nil {
			k.spawn(func(ctx context.Context) { c.reauth(ctx, k) })
		}
	}
	if !e.At.IsZero() {
		if !t.begun {
			return errEarly
		}
		if !c.mirror.apply(e.Event) {
			return nil
		}
		c.good()
		e.Replayed = e.At.Compare(t.until) <= 0
		if _, ok := e.Data.(wire.SessionState); ok {
			c.outbox.repeat()
		}
	}
	if c.cfg.OnEvent != nil {
		c.cfg.OnEvent(ctx, e)
	}
	c.outbox.resolve(e)
	if t.begun && !t.released && c.mirror.position().Compare(t.until) >= 0 {
		t.let(k)
	}
	return nil
}

// begin takes a session_state.
func (c *Client) begin(ctx context.Context, t *talk, e wire.Event, s wire.SessionState) {
	first := !t.begun
	c.mirror.begin(e, s, first)
	if s.Mode == wire.StateSnapshot {
		c.shown(s, first)
		if !first {
			c.outbox.repeat()
		}
	}
	c.refreshed = false
	t.until = s.ReplayUntil
	if first {
		t.begun, t.since = true, time.Now()
		t.release.Reset(replayTimeout)
		c.setLink(ctx, Link{State: LinkConnected, Resumed: s.Mode == wire.StateResume})
	}
	select {
	case <-c.ready:
	default:
		close(c.ready)
	}
}

// let lets messages out. Those that were sent over an earlier connection may have
// been answered in the replay, so nothing is sent before its end.
func (t *talk) let(k *conn) {
	if !t.released {
		t.released = true
		t.release.Stop()
		close(k.released)
	}
}

// reauth brings a new token before the old one ends. If that fails, the hub
// closes the connection and says why.
func (c *Client) reauth(ctx context.Context, k *conn) {
	token, err := c.cfg.Refresh(ctx)
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "no new token", "err", err)
		return
	}
	c.setToken(token)
	k.say(wire.Auth{Token: token})
}
