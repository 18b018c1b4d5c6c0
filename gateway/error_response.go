package gateway

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// logLimiter bounds the log lines for errors that unauthenticated clients can cause to logLimit per
// minute.
type logLimiter struct {
	mu    sync.Mutex // guards the following
	since time.Time
	n     int
}

const logLimit = 20

// allow counts an error and reports whether it is within the limit.
func (l *logLimiter) allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) > time.Minute {
		l.since, l.n = now, 0
	}
	l.n++
	return l.n <= logLimit
}

// writeProblem writes the problem document for err; it is echo's error handler.
func (s *Server) writeProblem(err error, c echo.Context) {
	ctx, path := c.Request().Context(), c.Request().URL.Path
	p := problem.OfRequest(err, c.Request())
	if p.Status == http.StatusInternalServerError || p.Code == wire.CodeStoreUnavailable {
		attrs := []any{"path", path, "err", err}
		if e, ok := errors.AsType[*session.Error](err); ok && e.Err != nil {
			attrs = append(attrs, "cause", e.Err) // not shown to clients
		}
		crash, crashed := errors.AsType[*problem.PanicError](err)
		if crashed {
			attrs = append(attrs, "stack", string(crash.Stack))
		}
		level := slog.LevelError
		if c.Response().Committed && !crashed || access.Caller(c).User == "" && !s.anonymousErrors.allow() {
			level = slog.LevelDebug // the client hung up, or an unauthenticated client floods the log
		}
		s.log.Log(ctx, level, "request failed", attrs...)
	}
	if c.Response().Committed {
		panic(http.ErrAbortHandler) // a truncated response must not look complete
	}
	h := c.Response().Header()
	if p.SuggestedAction == wire.ActionWait && h.Get(echo.HeaderRetryAfter) == "" {
		h.Set(echo.HeaderRetryAfter, "1")
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot fail: only strings and numbers
	}
	if err := c.Blob(p.Status, problem.MediaType, body); err != nil {
		s.log.DebugContext(ctx, "writing problem response failed", "path", path, "err", err)
	}
}
