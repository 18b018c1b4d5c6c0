package gateway

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// serveMCP lets an agent in that runs outside the hub. It shows a badge of its
// own, which the endpoint asks for; who has none learns nothing, and counts as a
// stranger. It is not in the API description: MCP describes itself.
//
// A tool may wait for an answer of the user, so nothing limits how long it takes
// until the answer to a call begins. The endpoint bounds the rest.
func (s *Server) serveMCP(c echo.Context) error {
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}) // a transport without deadlines needs none lifted
	s.mcp.ServeHTTP(&mcpWriter{ResponseWriter: c.Response(), stranger: func() time.Duration {
		s.refused.credentials.Add(1)
		wait := s.limits.Address(address(c))
		if wait > 0 {
			s.refused.rates.Add(1)
		}
		return wait
	}}, c.Request())
	return nil
}

// mcpWriter counts those who have no badge, and tells them to wait who come often.
type mcpWriter struct {
	http.ResponseWriter
	stranger func() time.Duration
}

// Unwrap is for [http.ResponseController].
func (w *mcpWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *mcpWriter) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		if wait := w.stranger(); wait > 0 {
			w.Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			status = http.StatusTooManyRequests
		}
	}
	w.ResponseWriter.WriteHeader(status)
}
