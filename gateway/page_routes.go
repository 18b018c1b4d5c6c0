package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/openapi"
)

// routes are the routes of the desktop and of signing in with a browser.
func (pg *pages) routes() []openapi.Route {
	const tag = "people"
	html, formBody := openapi.Bytes(echo.MIMETextHTML), openapi.Bytes(echo.MIMEApplicationForm)
	led := openapi.Answer{Status: http.StatusSeeOther, Doc: "Signed in; redirects to /.", Headers: []openapi.Param{{Name: "Set-Cookie", Doc: "The cookie."}}}
	token := []openapi.Param{{Name: "token", Doc: "The token of the URL that the hub prints."}}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/", Handler: pg.homePage, Tag: tag, Summary: "The desktop", Query: token,
			Answers: append(openapi.Success(http.StatusOK, "A page.", html), led),
		},
		{
			Method: http.MethodGet, Path: "/join", Handler: pg.joinPage, Tag: tag, Summary: "The desktop, for an invited device",
			Detail: "The ticket is in the fragment of the URL, after the #.", Answers: openapi.Success(http.StatusOK, "A page.", html),
		},
		{
			Method: http.MethodGet, Path: "/link", Handler: pg.joinPage, Tag: tag, Summary: "The desktop, read-only, for everyone who has a link",
			Detail: "The secret of the link is in the fragment of the URL, after the #.", Answers: openapi.Success(http.StatusOK, "A page.", html),
		},
		{
			Method: http.MethodGet, Path: "/login", Handler: pg.getLogin, Tag: tag, Summary: "The sign-in page", Query: token,
			Answers: append(openapi.Success(http.StatusOK, "A page.", html), led),
		},
		{
			Method: http.MethodPost, Path: "/login", Handler: pg.submitLogin, Tag: tag,
			Summary: "Sign in with a form", Body: formBody, Answers: []openapi.Answer{led},
		},
	}
}

// hubRoutes are the routes of the health checks and of the API description.
func (s *Server) hubRoutes() []openapi.Route {
	const tag = "hub"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/health", Handler: s.ready.health, Tag: tag,
			Summary: "Whether the process is up, for desktops", Answers: openapi.Success(http.StatusOK, "It is up.", openapi.JSONBody(healthForm)),
		},
		{
			Method: http.MethodGet, Path: "/healthz", Handler: s.ready.health, Tag: tag,
			Summary: "Whether the process is up", Answers: openapi.Success(http.StatusOK, "It is up.", openapi.JSONBody(healthForm)),
		},
		{
			Method: http.MethodGet, Path: "/readyz", Handler: s.ready.readyz, Tag: tag,
			Summary: "Whether the process accepts clients", Detail: "503 while the store is unavailable and while the hub drains or shuts down.",
			Answers: openapi.Success(http.StatusOK, "It accepts clients.", openapi.JSONBody(healthForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/openapi.json", Handler: s.getOpenAPI, Tag: tag,
			Summary: "This description", Answers: openapi.Success(http.StatusOK, "An OpenAPI 3.1 document.", openapi.Bytes(echo.MIMEApplicationJSON)),
		},
	}
}
