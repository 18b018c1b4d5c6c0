package rest

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// The domains from which apps of the desktop dialect may fetch. This hub fetches nothing for them;
// the setting is stored for a later version that does.

// domains are the domains that a user's apps may fetch from.
type domains struct {
	AllowAllDomains bool     `json:"allowAllDomains" doc:"Whether all domains are allowed."`
	Domains         []string `json:"domains" doc:"The domains that are allowed by name."`
}

type domainsPatch struct {
	AllowAllDomains bool `json:"allowAllDomains"`
}

// fetchRequest is an app's request to fetch a URL.
type fetchRequest struct {
	URL       string                      `json:"url" wire:"min=1,max=8192"`
	Method    string                      `json:"method,omitempty" wire:"max=16"`
	Headers   wire.Object[string, string] `json:"headers,omitempty"`
	Body      string                      `json:"body,omitempty"`
	SessionID string                      `json:"sessionId,omitempty" wire:"max=64"`
}

var (
	domainsForm      = httpio.FormOf[domains]()
	domainsPatchForm = httpio.FormOf[domainsPatch]()
	fetchRequestForm = httpio.FormOf[fetchRequest]()
)

// allowedDomains stores the domains of users.
var allowedDomains = userDocument[domains]{collection: "domains", form: domainsForm, initial: domains{Domains: []string{}}}

func (o *desktopHandlers) getDomains(c echo.Context) error {
	allowed, _, err := allowedDomains.load(o.store, c)
	if err != nil {
		return err
	}
	return domainsForm.Answer(c, http.StatusOK, &allowed)
}

func (o *desktopHandlers) patchDomains(c echo.Context) error {
	in, err := domainsPatchForm.Read(c, o.frameBytes)
	return allowedDomains.patch(o.store, c, err, func(d *domains) { d.AllowAllDomains = in.AllowAllDomains })
}

// postFetch always refuses: a hub that fetches arbitrary URLs for an app would give it access to
// the network the hub runs in.
func (o *desktopHandlers) postFetch(c echo.Context) error {
	if _, err := fetchRequestForm.Read(c, o.frameBytes); err != nil {
		return err
	}
	return problem.New(wire.CodeForbidden, "This hub does not fetch pages for apps.")
}
