package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// health is the response of the health endpoints.
type health struct {
	Status string `json:"status"`
}

var healthForm = formOf[health]()

func (s *Server) health(c echo.Context) error {
	return healthForm.answer(c, http.StatusOK, &health{Status: "ok"})
}

// readyz answers a load balancer. A hub whose store is full stays ready, because all hubs share the
// store and everything in it can still be read; its status is "full".
func (s *Server) readyz(c echo.Context) error {
	answer := health{Status: "ready"}
	if p := s.ready(c.Request().Context()); p != nil {
		if p.Detail != storeFull {
			return p
		}
		answer.Status = "full"
	}
	return healthForm.answer(c, http.StatusOK, &answer)
}

// ready returns nil, or the problem to respond with.
func (s *Server) ready(ctx context.Context) *problemError {
	if s.draining.Load() {
		return problem(wire.CodeConnectionFailed, "This hub is shutting down.")
	}
	// A prober that disconnects early says nothing about the store.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ReadyTimeout)
	defer cancel()
	err := s.store.Ready(ctx)
	// Only changes are logged: probes come every few seconds.
	switch away := err != nil; {
	case away == s.storeUnavailable.Swap(away):
	case away:
		s.log.WarnContext(ctx, "store is not ready", "err", err)
	default:
		s.log.InfoContext(ctx, "store is ready again")
	}
	switch {
	case errors.Is(err, store.ErrNoSpace):
		return problem(wire.CodeStoreUnavailable, storeFull)
	case err != nil: // any other error means that the store is unavailable
		return problem(wire.CodeStoreUnavailable, "")
	}
	return nil
}
