package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// What apps of desktops of the other dialect may fetch from elsewhere. This hub
// fetches nothing for them; the choice is kept for when it does.

// domains are those that a user's apps may fetch from.
type domains struct {
	AllowAllDomains bool     `json:"allowAllDomains" doc:"Whether all domains are allowed."`
	Domains         []string `json:"domains" doc:"Those that are allowed by name."`
}

// domainsPatch changes the domains.
type domainsPatch struct {
	AllowAllDomains bool `json:"allowAllDomains"`
}

// fetchRequest is what an app wants to have fetched.
type fetchRequest struct {
	URL       string                      `json:"url" wire:"min=1,max=8192"`
	Method    string                      `json:"method,omitempty" wire:"max=16"`
	Headers   wire.Object[string, string] `json:"headers,omitempty"`
	Body      string                      `json:"body,omitempty"`
	SessionID string                      `json:"sessionId,omitempty" wire:"max=64"`
}

var (
	domainsForm      = formOf[domains]()
	domainsPatchForm = formOf[domainsPatch]()
	fetchRequestForm = formOf[fetchRequest]()
)

// allowedDomains are the domains of users.
var allowedDomains = document[domains]{collection: "domains", form: domainsForm, initial: domains{Domains: []string{}}}

func (s *Server) getDomains(c echo.Context) error {
	allowed, _, err := allowedDomains.of(s, c)
	if err != nil {
		return err
	}
	return domainsForm.answer(c, http.StatusOK, &allowed)
}

func (s *Server) patchDomains(c echo.Context) error {
	in, err := domainsPatchForm.read(s, c)
	return allowedDomains.patch(s, c, err, func(d *domains) { d.AllowAllDomains = in.AllowAllDomains })
}

// postFetch refuses: a hub that fetches any address for an app would reach into the
// network it runs in.
func (s *Server) postFetch(c echo.Context) error {
	if _, err := fetchRequestForm.read(s, c); err != nil {
		return err
	}
	return problem(wire.CodeForbidden, "This hub does not fetch pages for apps.")
}
