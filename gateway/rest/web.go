package rest

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// Web requests pages for apps; [fetch.Client] implements it.
type Web interface {
	// Do makes a request for a user. A domain that the user has not allowed is a [*fetch.DomainError].
	Do(ctx context.Context, user string, r fetch.Request) (fetch.Response, error)
	// Domains returns the domains that users have allowed; it is never nil.
	Domains() *fetch.Domains
}

// webHandlers serve the domains that a user has allowed, and fetch pages of them for apps.
type webHandlers struct {
	web        Web // nil means that this hub fetches nothing
	frameBytes int64
}

// domains are the domains that a user's agents and apps may reach.
type domains struct {
	AllowAllDomains bool     `json:"allowAllDomains" doc:"Whether all domains are allowed."`
	Domains         []string `json:"domains" doc:"The domains that are allowed by name."`
}

type domainsPatch struct {
	AllowAllDomains *bool    `json:"allowAllDomains,omitempty"`
	Allow           []string `json:"allow,omitempty" wire:"max=50" doc:"Domains to allow."`
	Remove          []string `json:"remove,omitempty" wire:"max=500" doc:"Domains that are no longer allowed."`
}

// fetchRequest is an app's request to fetch a URL.
type fetchRequest struct {
	URL       string                      `json:"url" wire:"min=1,max=8192"`
	Method    string                      `json:"method,omitempty" wire:"max=16"`
	Headers   wire.Object[string, string] `json:"headers,omitempty"`
	Body      string                      `json:"body,omitempty"`
	SessionID string                      `json:"sessionId,omitempty" wire:"max=64"`
}

// fetchAnswer is the answer of a server, whatever its status.
type fetchAnswer struct {
	OK           bool                        `json:"ok" doc:"Whether the status is one of success."`
	Status       int                         `json:"status"`
	StatusText   string                      `json:"statusText"`
	Headers      wire.Object[string, string] `json:"headers"`
	Body         string                      `json:"body"`
	BodyEncoding string                      `json:"bodyEncoding,omitempty" doc:"base64 if the body is not text."`
}

var (
	domainsForm      = httpio.FormOf[domains]()
	domainsPatchForm = httpio.FormOf[domainsPatch]()
	fetchRequestForm = httpio.FormOf[fetchRequest]()
	fetchAnswerForm  = httpio.FormOf[fetchAnswer]()
)

func (h *webHandlers) routes() []openapi.Route {
	const tag = "desktop"
	refused := func(status int, doc string) openapi.Answer {
		return openapi.Answer{Status: status, Doc: doc, Content: openapi.Problems()}
	}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/domains", Guard: openapi.GuardIdentity, Handler: h.getDomains, Tag: tag,
			Summary: "Which domains the caller's agents and apps may reach", Answers: openapi.Success(http.StatusOK, "The domains.", openapi.JSONBody(domainsForm)),
		},
		{
			Method: http.MethodPatch, Path: "/api/domains", Guard: openapi.GuardIdentity, Handler: h.patchDomains, Tag: tag,
			Summary: "Change which domains the caller's agents and apps may reach", Body: openapi.JSONBody(domainsPatchForm),
			Answers: openapi.Success(http.StatusOK, "The changed domains.", openapi.JSONBody(domainsForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/fetch", Guard: openapi.GuardIdentity, Handler: h.fetch, Tag: tag,
			Summary: "Fetch a page for an app", Body: openapi.JSONBody(fetchRequestForm),
			Detail: "Only domains that the caller has allowed, with public addresses, are reached. The answer of the server is part of the answer, whatever its status.",
			Answers: append(openapi.Success(http.StatusOK, "What the server answered.", openapi.JSONBody(fetchAnswerForm)),
				refused(http.StatusForbidden, "The domain is not allowed, or its address is not public."),
				refused(http.StatusBadGateway, "The server cannot be reached."),
				refused(http.StatusGatewayTimeout, "The server did not answer in time.")),
		},
	}
}

// noWeb is the answer of a hub that fetches nothing.
func noWeb() error { return problem.New(wire.CodeForbidden, "This hub does not fetch pages.") }

func (h *webHandlers) getDomains(c echo.Context) error {
	if h.web == nil {
		return noWeb()
	}
	l, err := h.web.Domains().Of(c.Request().Context(), access.Caller(c).User)
	if err != nil {
		return err
	}
	return domainsForm.Answer(c, http.StatusOK, &domains{l.All, l.Names})
}

// owner returns the caller, unless that is a guest of a session or may not change anything.
func (h *webHandlers) owner(c echo.Context) (string, error) {
	switch me := access.Caller(c); {
	case !me.Has(auth.RoleUser) || me.Session != "":
		return "", problem.New(wire.CodeForbidden, "")
	case h.web == nil:
		return "", noWeb()
	default:
		return me.User, nil
	}
}

func (h *webHandlers) patchDomains(c echo.Context) error {
	user, err := h.owner(c)
	if err != nil {
		return err
	}
	in, err := domainsPatchForm.Read(c, h.frameBytes)
	if err == nil && in.AllowAllDomains == nil && len(in.Allow)+len(in.Remove) == 0 {
		err = problem.New(wire.CodeInvalidMessage, "Nothing to change was named.")
	}
	if err != nil {
		return err
	}
	l, err := h.web.Domains().Change(c.Request().Context(), user, fetch.Change{All: in.AllowAllDomains, Allow: in.Allow, Remove: in.Remove})
	if err != nil {
		return webProblem(err)
	}
	return domainsForm.Answer(c, http.StatusOK, &domains{l.All, l.Names})
}

func (h *webHandlers) fetch(c echo.Context) error {
	user, err := h.owner(c)
	if err != nil {
		return err
	}
	in, err := fetchRequestForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	header := map[string]string{}
	for _, m := range in.Headers {
		header[http.CanonicalHeaderKey(m.Key)] = m.Value
	}
	res, err := h.web.Do(c.Request().Context(), user, fetch.Request{URL: in.URL, Method: in.Method, Header: header, Body: []byte(in.Body)})
	if err != nil {
		return webProblem(err)
	}
	if res.Cut {
		return problem.New(wire.CodeConnectionFailed, "The answer of the server is too large.").WithStatus(http.StatusBadGateway)
	}
	out := fetchAnswer{OK: res.Status/100 == 2, Status: res.Status, StatusText: http.StatusText(res.Status), Headers: wire.Object[string, string]{}, Body: string(res.Body)}
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		if name != "Set-Cookie" {
			out.Headers = out.Headers.Set(strings.ToLower(name), strings.Join(res.Header[name], ", "))
		}
	}
	if !utf8.Valid(res.Body) {
		out.Body, out.BodyEncoding = base64.StdEncoding.EncodeToString(res.Body), "base64"
	}
	return fetchAnswerForm.Answer(c, http.StatusOK, &out)
}

// webProblem returns the problem of a request that did not reach a server.
func webProblem(err error) error {
	_, isDomain := errors.AsType[*fetch.DomainError](err)
	_, isAddress := errors.AsType[*fetch.AddressError](err)
	invalid := []error{fetch.ErrURL, fetch.ErrMethod, fetch.ErrHeader, fetch.ErrRequestTooLarge, fetch.ErrName, fetch.ErrTooMany}
	switch {
	case isDomain, isAddress:
		return problem.New(wire.CodeForbidden, err.Error())
	case errors.Is(err, fetch.ErrTimeout):
		return problem.New(wire.CodeConnectionTimeout, err.Error()).WithStatus(http.StatusGatewayTimeout)
	case errors.Is(err, fetch.ErrUnreachable), errors.Is(err, fetch.ErrRedirects):
		return problem.New(wire.CodeConnectionFailed, err.Error()).WithStatus(http.StatusBadGateway)
	case slices.ContainsFunc(invalid, func(e error) bool { return errors.Is(err, e) }):
		return problem.New(wire.CodeInvalidMessage, err.Error())
	}
	return err
}
