package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/wire"
)

// LinkState is the state of a connection.
type LinkState string

// The states of the connection.
const (
	LinkConnecting   LinkState = "connecting"   // for the first time
	LinkConnected    LinkState = "connected"    // session_state was received
	LinkReconnecting LinkState = "reconnecting" // after a loss
	LinkClosed       LinkState = "closed"       // permanently
)

// Link is the state of the connection. It says nothing about the session, which runs on without it.
type Link struct {
	State LinkState
	// Resumed says that the connection continues where the last one ended.
	Resumed bool
	// Err is why there is no connection.
	Err error
	// Retry is the delay until the next attempt.
	Retry time.Duration
}

// Error is the reason for which the hub closed or refused a connection.
type Error struct {
	// Code is the close code, also for a refused handshake; 0 if none corresponds.
	Code wire.CloseCode
	// Status is the HTTP status of a refused handshake, else 0.
	Status int
	// Reason is the text of the hub.
	Reason string
	// RetryAfter is the least delay before the next attempt that the hub asks for.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("hub closed the connection with %d", e.Code)
	if e.Status != 0 {
		text = fmt.Sprintf("hub refused the connection with %d", e.Status)
	}
	if e.Reason == "" {
		return text + ": " + e.Code.Info().Meaning
	}
	return text + ": " + e.Reason
}

// reconnect returns how a client should react to the error.
func (e *Error) reconnect() wire.Reconnect {
	if e.Code == 0 {
		return wire.ReconnectNever
	}
	return e.Code.Info().Reconnect
}

// The bounds of the delays between attempts.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// FullJitter returns a random delay of up to 500 ms after the first failed attempt, up to twice as
// much after each further one, and never more than 30 s, so that clients that lost their hub at the
// same moment do not reconnect at the same moment.
func FullJitter(failed int) time.Duration {
	most := maxBackoff
	if doubled := failed - 1; doubled < 6 { // 500 ms × 2⁶ is more than 30 s
		most = firstBackoff << max(doubled, 0)
	}
	return rand.N(most) //nolint:gosec // unpredictability is not needed
}

// nextDelay returns the delay before the next connection, or the error if there must be none.
func (c *Client) nextDelay(ctx context.Context, err error) (time.Duration, error) {
	c.failed++
	wait := c.cfg.Backoff(c.failed)
	if moved, ok := errors.AsType[*goElsewhereError](err); ok {
		// The hub has already spread its clients over time.
		wait = time.Until(moved.until)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.reconnect() {
		case wire.ReconnectNever:
			return 0, err
		case wire.ReconnectUser:
			if err := c.refreshToken(ctx, e); err != nil {
				return 0, err
			}
			wait = c.immediateFirst(wait)
		case wire.ReconnectNow:
			wait = c.immediateFirst(wait)
		case wire.ReconnectLater:
			wait += e.RetryAfter
		case wire.ReconnectBackoff:
		}
	}
	wait = max(wait, 0)
	c.setLink(ctx, Link{State: LinkReconnecting, Err: err, Retry: wait})
	return wait, nil
}

// immediateFirst returns 0 for the first failure, and wait for later ones.
func (c *Client) immediateFirst(wait time.Duration) time.Duration {
	if c.failed == 1 {
		return 0
	}
	return wait
}

// refreshToken gets a new token, once, if e is about the credentials.
func (c *Client) refreshToken(ctx context.Context, e *Error) error {
	if e.Code != wire.CloseUnauthorized || c.cfg.Refresh == nil || c.refreshed {
		return e
	}
	c.refreshed = true
	token, err := c.cfg.Refresh(ctx)
	if err != nil {
		return fmt.Errorf("%w; get a new token: %w", e, err)
	}
	c.setToken(token)
	return nil
}

// goElsewhereError is the end of a connection after GO_ELSEWHERE.
type goElsewhereError struct {
	until time.Time
	err   error
}

func (e *goElsewhereError) Error() string { return e.err.Error() }
func (e *goElsewhereError) Unwrap() error { return e.err }

// closeError returns an [*Error] if the hub sent a close frame, or err.
func closeError(err error) error {
	if ce, ok := errors.AsType[websocket.CloseError](err); ok {
		return &Error{
			Code: wire.CloseCode(ce.Code), Reason: ce.Reason, RetryAfter: retryAfter(ce.Reason),
		}
	}
	return err
}

// closeCode returns the close code that corresponds to the status of a refused handshake, or 0.
func closeCode(status int) wire.CloseCode {
	switch status {
	case http.StatusUnauthorized:
		return wire.CloseUnauthorized
	case http.StatusForbidden:
		return wire.CloseForbidden
	case http.StatusNotFound:
		return wire.CloseNotFound
	case http.StatusGone:
		return wire.CloseExpired
	case http.StatusTooManyRequests:
		return wire.CloseRateLimited
	case http.StatusServiceUnavailable:
		return wire.CloseDraining
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return wire.CloseInternal
	}
	if status >= 400 && status < 500 {
		return 0
	}
	return wire.CloseInternal // from a proxy, perhaps temporary
}

// handshakeError returns an [*Error] for a response that is not a WebSocket.
func handshakeError(res *http.Response) error {
	e := &Error{Code: closeCode(res.StatusCode), Status: res.StatusCode}
	var p wire.Problem
	if body, err := io.ReadAll(res.Body); err == nil && json.Unmarshal(body, &p) == nil {
		e.Reason = p.Detail
	}
	if e.Reason == "" {
		e.Reason = http.StatusText(res.StatusCode)
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

var retryForm = regexp.MustCompile(`retry_after\D{0,4}(\d{1,6}(?:\.\d{1,3})?)`)

// retryAfter returns the retry_after of a close reason, which is in seconds.
func retryAfter(reason string) time.Duration {
	match := retryForm.FindStringSubmatch(reason)
	if match == nil {
		return 0
	}
	seconds, _ := strconv.ParseFloat(match[1], 64) // the expression matches numbers only
	return time.Duration(seconds * float64(time.Second))
}
