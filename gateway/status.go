package gateway

import (
	"context"
	_ "embed"
	"html"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

//go:embed status.html
var statusHTML string

func (s *Server) health(c echo.Context) error {
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ok"}`))
}

func (s *Server) readyz(c echo.Context) error {
	if err := s.ready(c.Request().Context()); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ready"}`))
}

// page is what the printed URL shows.
func (s *Server) page(c echo.Context) error {
	state := "This hub is ready."
	if p := s.ready(c.Request().Context()); p != nil {
		state = p.Detail
	}
	// No template: the linker would keep every method in the program, see
	// internal/arch.
	page := strings.NewReplacer("{{state}}", html.EscapeString(state), "{{version}}", html.EscapeString(s.cfg.Version))
	return c.HTML(http.StatusOK, page.Replace(statusHTML))
}

// ready returns nil, or the problem to answer with.
func (s *Server) ready(ctx context.Context) *problemError {
	if s.draining.Load() {
		return problem(wire.CodeConnectionFailed, "This hub is shutting down.")
	}
	// A prober that hangs up early says nothing about the store.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ReadyTimeout)
	defer cancel()
	err := s.store.Ready(ctx)
	// Only changes are logged: probes come every few seconds.
	switch away := err != nil; {
	case away == s.away.Swap(away):
	case away:
		s.log.WarnContext(ctx, "store is not ready", "err", err)
	default:
		s.log.InfoContext(ctx, "store is ready again")
	}
	if err != nil {
		return problem(wire.CodeStoreUnavailable, "")
	}
	return nil
}
