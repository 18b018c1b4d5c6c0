package gateway

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"html"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

//go:embed status.html
var statusHTML string

// health is how a process is.
type health struct {
	Status string `json:"status"`
}

var healthForm = formOf[health]()

func (s *Server) health(c echo.Context) error {
	return healthForm.answer(c, http.StatusOK, &health{Status: "ok"})
}

func (s *Server) readyz(c echo.Context) error {
	if err := s.ready(c.Request().Context()); err != nil {
		return err
	}
	return healthForm.answer(c, http.StatusOK, &health{Status: "ready"})
}

// home is what the printed URL shows: it signs in if there is a token, and then
// is the desktop or, without one, the status page.
func (s *Server) home(c echo.Context) error {
	switch token := c.QueryParam("token"); {
	case token != "":
		return s.welcomeByLink(c, token)
	case s.cfg.DesktopDir != "":
		return s.static(c)
	default:
		return s.page(c)
	}
}

// page tells people how the hub is, and lets them sign in.
func (s *Server) page(c echo.Context) error { return s.show(c, http.StatusOK, "") }

// show is the page with something to say about signing in.
func (s *Server) show(c echo.Context, status int, notice string) error {
	state := "This hub is ready."
	if p := s.ready(c.Request().Context()); p != nil {
		state = p.Detail
	}
	greeting, hidden := "", " hidden"
	if id, err := s.identify(c); err == nil {
		greeting = "You are signed in as " + id.User + "."
	} else if _, denied := errors.AsType[*auth.Error](err); denied {
		greeting, hidden = cmp.Or(notice, "Sign in with the URL that the hub printed when it started, or with its token."), ""
	}
	// No template: the linker would keep every method in the program, see
	// internal/arch.
	page := strings.NewReplacer(
		"{{state}}", html.EscapeString(state), "{{version}}", html.EscapeString(s.cfg.Version),
		"{{greeting}}", html.EscapeString(greeting), "{{hidden}}", hidden,
	)
	return c.HTML(status, page.Replace(statusHTML))
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
