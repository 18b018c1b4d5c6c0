package rest

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

const (
	// crashAge is how long a hub runs at least before it can be killed. It bounds how often that
	// happens, because counters in memory would end with the process.
	crashAge = 3 * time.Second
	// crashDelay lets the reply reach the client before the process ends.
	crashDelay = 100 * time.Millisecond
	// demoProvider is the backend whose tour kills the hub.
	demoProvider = "demo"
)

// crashHandler kills the hub's process on request of the tour.
type crashHandler struct {
	kill          func() // nil if nothing would start the hub again
	provider      string // the model backend of new sessions
	authenticator *access.Authenticator
	log           *slog.Logger
	began         time.Time
	crashing      atomic.Bool
}

// refusal returns the reason why the caller cannot kill the hub, or nil.
func (h *crashHandler) refusal(c echo.Context) error {
	caller := access.Caller(c)
	switch {
	case !caller.Has(auth.RoleAdmin) || caller.Session != "":
		return problem.New(wire.CodeForbidden, "Only an admin can kill the hub.")
	case h.kill == nil:
		return problem.New(wire.CodeSessionInvalidState, "Nothing would start this hub again; run it with hub supervise, or see --supervised.")
	case h.provider != demoProvider:
		return problem.New(wire.CodeSessionInvalidState, "Only a hub whose demo provider answers can be killed.")
	}
	return nil
}

func (h *crashHandler) post(c echo.Context) error {
	if err := h.refusal(c); err != nil {
		return err
	}
	if wait := crashAge - time.Since(h.began); wait > 0 {
		return h.authenticator.RateLimited(c, wait)
	}
	if h.crashing.Swap(true) {
		return h.authenticator.RateLimited(c, crashAge)
	}
	h.log.WarnContext(c.Request().Context(), "killing this process on request of the tour", "user", access.Caller(c).User)
	time.AfterFunc(crashDelay, h.kill)
	return c.NoContent(http.StatusNoContent)
}
