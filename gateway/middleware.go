package gateway

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"
)

// watch turns a panic into a 500 and logs what was answered. It is the one
// place where the gateway recovers: a panic ends its request and nothing else.
func (s *Server) watch(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := recovering(next, c); err != nil {
			c.Error(err) // answers now, so that the status below is the true one
		}
		r := c.Request()
		s.log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
			"status", c.Response().Status, "bytes", c.Response().Size, "took", time.Since(start))
		return nil
	}
}

// panicError is a recovered panic with the stack it came from.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func recovering(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p) // the way net/http is told to drop a connection
		default:
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return next(c)
}

// ownPolicy is the content security policy of our own pages, and of everything
// that is not meant to be shown at all.
const ownPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// secure sets the headers every answer wants. Handlers may set others.
func (s *Server) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderCacheControl, "no-store")
		h.Set(echo.HeaderContentSecurityPolicy, ownPolicy)
		h.Set(echo.HeaderReferrerPolicy, "no-referrer")
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if len(s.origins) == 0 {
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
		}
		return next(c)
	}
}
