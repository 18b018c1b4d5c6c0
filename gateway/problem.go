package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

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
	Field        string         `json:"field,omitempty" doc:"The part of the request that was wrong."`
	MessageID    wire.MessageID `json:"messageId,omitempty" doc:"The message that was refused."`
	RetryAfterMS int            `json:"retry_after_ms,omitempty" wire:"min=0" doc:"How long to wait before trying again."`
}

var problemForm = formOf[problemError]()

func (p *problemError) Error() string { return p.Name + ": " + p.Detail }

func problem(code wire.Code, detail string) *problemError {
	return &problemError{Problem: code.Problem(detail)}
}

// withStatus replaces the HTTP status that p has from its code.
func (p *problemError) withStatus(status int) *problemError {
	p.Status, p.Title = status, http.StatusText(status)
	return p
}

// statusProblem returns a problem with a more exact HTTP status than that of an invalid message,
// such as 404 or 405.
func statusProblem(status int, detail string) *problemError {
	return problem(wire.CodeInvalidMessage, detail).withStatus(status)
}

// storeFull is the detail for a store that answers but is full.
const storeFull = "The store is full; try again in a moment."

// problemOf maps err to the problem document that the client gets. An unknown error becomes an
// internal error without its text, which goes to the log only.
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
			return statusProblem(h.Code, fmt.Sprintf("Nothing is at %.100s.", r.URL.Path))
		case http.StatusMethodNotAllowed:
			return statusProblem(h.Code, fmt.Sprintf("%.20s is not possible at %.100s.", r.Method, r.URL.Path))
		}
	}
	return dependencyProblem(err)
}

// dependencyProblem is problemOf for errors of the store, the token issuer, the file store and
// contexts.
func dependencyProblem(err error) *problemError {
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case isTooLarge:
		return problem(wire.CodeMessageTooLarge, fmt.Sprintf("At most %d bytes are taken.", tooLarge.Limit))
	case errors.Is(err, files.ErrTooLarge):
		return problem(wire.CodeMessageTooLarge, "The file is too large.")
	case errors.Is(err, files.ErrFull):
		return problem(wire.CodeMessageTooLarge, "The session has no room for more files.").withStatus(http.StatusInsufficientStorage)
	case errors.Is(err, files.ErrBusy):
		return problem(wire.CodeRateLimited, "The session is sent too many files at once.")
	case errors.Is(err, files.ErrName):
		p := problem(wire.CodeInvalidMessage, err.Error())
		p.Field = "path"
		return p
	case errors.Is(err, fs.ErrNotExist):
		return statusProblem(http.StatusNotFound, "There is no such file.")
	case errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
		p := problem(wire.CodeSessionInvalidState, "That position is not in the log; begin with the snapshot.").withStatus(http.StatusGone)
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
		return problem(wire.CodeConnectionTimeout, "The session did not answer in time.").withStatus(http.StatusGatewayTimeout)
	case errors.Is(err, context.Canceled):
		return problem(wire.CodeConnectionFailed, "The request was given up.")
	default:
		return problem(wire.CodeExecutionFailed, "")
	}
}

// queryProblem returns the response to an invalid query parameter.
func queryProblem(field, detail string) *problemError {
	p := problem(wire.CodeInvalidMessage, detail)
	p.Field = field
	return p
}

// panicError is a recovered panic with its stack.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
