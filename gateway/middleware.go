package gateway

import (
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/problem"
)

// logRequests logs each request and turns a panic into a 500. It is the only place where requests
// recover from panics.
func (s *Server) logRequests(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := callRecovering(next, c); err != nil {
			c.Error(err) // writes the response now, so that the status below is right
		}
		r := c.Request()
		s.log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
			"status", c.Response().Status, "bytes", c.Response().Size, "took", time.Since(start))
		return nil
	}
}

func callRecovering(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p) // makes net/http abort the connection
		default:
			err = &problem.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return next(c)
}

// ownPolicy is the content security policy of the sign-in page and of all responses that are not
// displayed.
const ownPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// setSecurityHeaders sets the security headers of all responses. Handlers may override them.
func (s *Server) setSecurityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderCacheControl, "no-store")
		h.Set(echo.HeaderContentSecurityPolicy, ownPolicy)
		h.Set(echo.HeaderReferrerPolicy, "no-referrer")
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if len(s.hosts.Foreign()) == 0 {
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
		}
		return next(c)
	}
}
