package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// readiness reports whether the hub accepts clients.
type readiness struct {
	log              *slog.Logger
	store            StoreReadiness
	timeout          time.Duration
	draining         func() bool
	storeUnavailable atomic.Bool // the last check failed
}

// health is the response of the health endpoints.
type health struct {
	Status string `json:"status"`
	Detail string `json:"detail,omitempty" doc:"What an operator has to look at although the hub accepts clients."`
}

var healthForm = httpio.FormOf[health]()

func (r *readiness) health(c echo.Context) error {
	return healthForm.Answer(c, http.StatusOK, &health{Status: "ok"})
}

// readyz answers a load balancer. A hub whose store is full stays ready, because all hubs share the
// store and everything in it can still be read; its status is "full".
func (r *readiness) readyz(c echo.Context) error {
	answer := health{Status: "ready"}
	if p := r.check(c.Request().Context()); p != nil {
		switch p.Detail {
		case problem.StoreFull:
			answer.Status = "full"
		case problem.OtherFiles:
			answer.Detail = p.Detail
		default:
			return p
		}
	}
	return healthForm.Answer(c, http.StatusOK, &answer)
}

// check returns nil, or the problem to respond with.
func (r *readiness) check(ctx context.Context) *problem.Error {
	if r.draining() {
		return problem.New(wire.CodeConnectionFailed, "This hub is shutting down.")
	}
	// A prober that disconnects early says nothing about the store.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	err := r.store.Ready(ctx)
	// Only changes are logged: probes come every few seconds.
	switch away := err != nil; {
	case away == r.storeUnavailable.Swap(away):
	case away:
		r.log.WarnContext(ctx, "store is not ready", "err", err)
	default:
		r.log.InfoContext(ctx, "store is ready again")
	}
	switch {
	case errors.Is(err, store.ErrNoSpace):
		return problem.New(wire.CodeStoreUnavailable, problem.StoreFull)
	case errors.Is(err, store.ErrOtherFiles):
		return problem.New(wire.CodeStoreUnavailable, problem.OtherFiles)
	case err != nil: // any other error means that the store is unavailable
		return problem.New(wire.CodeStoreUnavailable, "")
	}
	return nil
}

func (s *Server) getOpenAPI(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-cache")
	return c.JSONBlob(http.StatusOK, s.description())
}
