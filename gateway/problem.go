package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// problemType is the media type of RFC 9457.
const problemType = "application/problem+json"

// problemError is a problem document (RFC 9457) as the error a handler returns.
type problemError struct {
	wire.Problem
	// Field is the part of the request that was wrong.
	Field string `json:"field,omitempty" doc:"The part of the request that was wrong."`
	// MessageID is the message that was refused.
	MessageID wire.MessageID `json:"messageId,omitempty" doc:"The message that was refused."`
	// RetryAfterMS is how long to wait before trying again.
	RetryAfterMS int `json:"retry_after_ms,omitempty" wire:"min=0" doc:"How long to wait before trying again."`
}

func (p *problemError) Error() string { return p.Name + ": " + p.Detail }

func problem(code wire.Code, detail string) *problemError {
	return &problemError{Problem: code.Problem(detail)}
}

// with gives a problem another HTTP status than its code has.
func (p *problemError) with(status int) *problemError {
	p.Status, p.Title = status, http.StatusText(status)
	return p
}

// misdirected is the answer to a request that no route takes: to a program it
// is an invalid message, to HTTP something more exact.
func misdirected(status int, detail string) *problemError {
	return problem(wire.CodeInvalidMessage, detail).with(status)
}

// storeFull is the detail when the store answers and has no room.
const storeFull = "The store is full; try again in a moment."

// problemOf says what the client is told of err. What it does not know is an
// internal error, whose text stays in the log.
func problemOf(err error, r *http.Request) *problemError {
	if p, ok := errors.AsType[*problemError](err); ok {
		return p
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		notice := e.Notice()
		p := problem(e.Code, notice.Message)
		p.Field, p.MessageID = notice.Field, notice.MessageID
		return p
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		return problem(e.Code, e.Reason)
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return problem(e.Code, e.Reason)
	}
	if h, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch h.Code {
		case http.StatusNotFound:
			return misdirected(h.Code, fmt.Sprintf("Nothing is at %.100s.", r.URL.Path))
		case http.StatusMethodNotAllowed:
			return misdirected(h.Code, fmt.Sprintf("%.20s is not possible at %.100s.", r.Method, r.URL.Path))
		}
	}
	return problemBehind(err)
}

// problemBehind is the same for what the store, the issuer, the file store and the clock say.
func problemBehind(err error) *problemError {
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case isTooLarge:
		return problem(wire.CodeMessageTooLarge, fmt.Sprintf("At most %d bytes are taken.", tooLarge.Limit))
	case errors.Is(err, files.ErrTooLarge):
		return problem(wire.CodeMessageTooLarge, "The file is too large.")
	case errors.Is(err, files.ErrFull):
		return problem(wire.CodeMessageTooLarge, "The session has no room for more files.").with(http.StatusInsufficientStorage)
	case errors.Is(err, files.ErrBusy):
		return problem(wire.CodeRateLimited, "The session is sent too many files at once.")
	case errors.Is(err, files.ErrName):
		p := problem(wire.CodeInvalidMessage, err.Error())
		p.Field = "path"
		return p
	case errors.Is(err, fs.ErrNotExist):
		return misdirected(http.StatusNotFound, "There is no such file.")
	case errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
		p := problem(wire.CodeSessionInvalidState, "That position is not in the log; begin with the snapshot.").with(http.StatusGone)
		p.Field = "after"
		return p
	case errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrQuarantined):
		return problem(wire.CodeSessionInvalidState, "What is stored of it cannot be read; an operator has to look at it.")
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTooLarge):
		return problem(wire.CodeInvalidMessage, "That cannot be kept.")
	case errors.Is(err, auth.ErrIssuer):
		return problem(wire.CodeIssuerUnavailable, "")
	case errors.Is(err, store.ErrNoSpace):
		return problem(wire.CodeStoreUnavailable, storeFull)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrClosed):
		return problem(wire.CodeStoreUnavailable, "")
	case errors.Is(err, context.DeadlineExceeded):
		return problem(wire.CodeConnectionTimeout, "The session did not answer in time.").with(http.StatusGatewayTimeout)
	case errors.Is(err, context.Canceled):
		return problem(wire.CodeConnectionFailed, "The request was given up.")
	default:
		return problem(wire.CodeExecutionFailed, "")
	}
}

// logLimiter bounds how often the log has errors that anybody can cause who has not
// even said who they are. More than cryLimit in a minute say nothing new.
type logLimiter struct {
	mu    sync.Mutex // guards the following
	since time.Time
	n     int
}

const logLimit = 20

// allow counts an error and reports whether it is one of the first.
func (c *logLimiter) allow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.since) > time.Minute {
		c.since, c.n = now, 0
	}
	c.n++
	return c.n <= logLimit
}

// fail writes the problem document for err; it is echo's error handler.
func (s *Server) fail(err error, c echo.Context) {
	ctx, path := c.Request().Context(), c.Request().URL.Path
	p := problemOf(err, c.Request())
	if p.Status == http.StatusInternalServerError || p.Code == wire.CodeStoreUnavailable {
		attrs := []any{"path", path, "err", err}
		if e, ok := errors.AsType[*session.Error](err); ok && e.Err != nil {
			attrs = append(attrs, "cause", e.Err) // which clients are not told
		}
		crash, crashed := errors.AsType[*panicError](err)
		if crashed {
			attrs = append(attrs, "stack", string(crash.stack))
		}
		level := slog.LevelError
		if c.Response().Committed && !crashed || who(c).User == "" && !s.strangers.allow() {
			level = slog.LevelDebug // the client hung up, or somebody wants the log to be full
		}
		s.log.Log(ctx, level, "request went wrong", attrs...)
	}
	if c.Response().Committed {
		panic(http.ErrAbortHandler) // a torn answer must not look whole
	}
	h := c.Response().Header()
	if p.SuggestedAction == wire.ActionWait && h.Get(echo.HeaderRetryAfter) == "" {
		h.Set(echo.HeaderRetryAfter, "1")
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	if err := c.Blob(p.Status, problemType, body); err != nil {
		s.log.DebugContext(ctx, "problem was not sent", "path", path, "err", err)
	}
}
