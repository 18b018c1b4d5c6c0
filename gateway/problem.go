package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// problemType is the media type of RFC 9457.
const problemType = "application/problem+json"

// problemError makes a problem document of the error a handler returns.
type problemError struct{ wire.Problem }

func (p *problemError) Error() string { return p.Name + ": " + p.Detail }

func problem(code wire.Code, detail string) *problemError {
	return &problemError{code.Problem(detail)}
}

// problemOf says what the client is told of err. What it does not know is an
// internal error, whose text stays in the log.
func problemOf(err error, r *http.Request) *problemError {
	if p, ok := errors.AsType[*problemError](err); ok {
		return p
	}
	if h, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch h.Code {
		case http.StatusNotFound:
			return misdirected(h.Code, fmt.Sprintf("Nothing is at %.100s.", r.URL.Path))
		case http.StatusMethodNotAllowed:
			return misdirected(h.Code, fmt.Sprintf("%.20s is not possible at %.100s.", r.Method, r.URL.Path))
		}
	}
	return problem(wire.CodeExecutionFailed, "")
}

// misdirected is the answer to a request that no route takes: to a program it
// is an invalid message, to HTTP something more exact.
func misdirected(status int, detail string) *problemError {
	p := problem(wire.CodeInvalidMessage, detail)
	p.Status, p.Title = status, http.StatusText(status)
	return p
}

// fail writes the problem document for err; it is echo's error handler.
func (s *Server) fail(err error, c echo.Context) {
	ctx, path := c.Request().Context(), c.Request().URL.Path
	p := problemOf(err, c.Request())
	if p.Status == http.StatusInternalServerError {
		attrs := []any{"path", path, "err", err}
		if crash, ok := errors.AsType[*panicError](err); ok {
			attrs = append(attrs, "stack", string(crash.stack))
		}
		s.log.ErrorContext(ctx, "request went wrong", attrs...)
	}
	if c.Response().Committed {
		panic(http.ErrAbortHandler) // a torn answer must not look whole
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	if err := c.Blob(p.Status, problemType, body); err != nil {
		s.log.DebugContext(ctx, "problem was not sent", "path", path, "err", err)
	}
}
