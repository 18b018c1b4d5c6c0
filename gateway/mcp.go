package gateway

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
)

// errStopping interrupts the calls of agents and programs when the hub stops.
var errStopping = errors.New("the hub stops")

// serveMCP serves agents and programs that run outside the hub. The MCP endpoint checks their MCP token; a
// request without one counts as a failed authentication. The route is not in the API description:
// MCP describes itself.
//
// A tool may wait for an answer of the user, so the time until a response begins is not limited.
// The endpoint bounds the rest. When the hub stops, running calls are interrupted.
func (s *Server) serveMCP(c echo.Context) error {
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}) // an error means a transport without deadlines
	s.streams.WatchNotices()                                                   // before the endpoint checks the token
	ctx, cancel := context.WithCancelCause(c.Request().Context())
	defer cancel(nil)
	defer context.AfterFunc(s.streams.Stopping(), func() { cancel(errStopping) })()
	s.mcp.ServeHTTP(&mcpWriter{ResponseWriter: c.Response(), unauthorized: func() time.Duration {
		s.refused.Credentials.Add(1)
		wait := s.limits.Address(access.Address(c))
		if wait > 0 {
			s.refused.Rates.Add(1)
		}
		return wait
	}}, c.Request().WithContext(ctx))
	return nil
}

// revokeMCP ends the requests with a revoked MCP token.
func (s *Server) revokeMCP(id string) {
	if s.mcp != nil {
		s.mcp.Revoke(id)
	}
}

// mcpWriter counts requests without a valid MCP token, and turns 401 into 429 for addresses that
// send many.
type mcpWriter struct {
	http.ResponseWriter
	unauthorized func() time.Duration
}

// Unwrap is for [http.ResponseController].
func (w *mcpWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *mcpWriter) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		if wait := w.unauthorized(); wait > 0 {
			w.Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			status = http.StatusTooManyRequests
		}
	}
	w.ResponseWriter.WriteHeader(status)
}
