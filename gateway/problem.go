package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

// problemType is the media type of RFC 9457.
const problemType = "application/problem+json"

// problemError is a problem document (RFC 9457) and the error that handlers
// return to have it written.
type problemError struct {
	// Type is always about:blank: Title says what Status means.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is for people and is not stable.
	Detail string `json:"detail,omitempty"`
}

func (p *problemError) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail) }

func problem(status int, detail string) *problemError {
	return &problemError{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

func draining() *problemError {
	return problem(http.StatusServiceUnavailable, "this hub is shutting down")
}

func storeAway() *problemError {
	return problem(http.StatusServiceUnavailable, "the store does not answer")
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
			return problem(h.Code, "nothing is at "+r.URL.Path)
		case http.StatusMethodNotAllowed:
			return problem(h.Code, r.Method+" is not possible at "+r.URL.Path)
		default:
			return problem(h.Code, "")
		}
	}
	return problem(http.StatusInternalServerError, "")
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
