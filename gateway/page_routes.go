package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// routes are the routes of the desktop and of signing in with a browser.
func (g *pages) routes() []route {
	const tag = "people"
	html, formBody := bytesOf(echo.MIMETextHTML), bytesOf(echo.MIMEApplicationForm)
	led := answer{status: http.StatusSeeOther, doc: "Signed in; redirects to /.", headers: []param{{name: "Set-Cookie", doc: "The cookie."}}}
	token := []param{{name: "token", doc: "The token of the URL that the hub prints."}}
	return []route{
		{
			method: http.MethodGet, path: "/", handler: g.homePage, tag: tag, summary: "The desktop", query: token,
			answers: append(success(http.StatusOK, "A page.", html), led),
		},
		{
			method: http.MethodGet, path: "/join", handler: g.joinPage, tag: tag, summary: "The desktop, for an invited device",
			detail: "The ticket is in the fragment of the URL, after the #.", answers: success(http.StatusOK, "A page.", html),
		},
		{
			method: http.MethodGet, path: "/login", handler: g.getLogin, tag: tag, summary: "The sign-in page", query: token,
			answers: append(success(http.StatusOK, "A page.", html), led),
		},
		{
			method: http.MethodPost, path: "/login", handler: g.submitLogin, tag: tag,
			summary: "Sign in with a form", body: formBody, answers: []answer{led},
		},
	}
}

// hubRoutes are the routes of the health checks and of the API description.
func (s *Server) hubRoutes() []route {
	const tag = "hub"
	return []route{
		{
			method: http.MethodGet, path: "/health", handler: s.ready.health, tag: tag,
			summary: "Whether the process is up, for desktops", answers: success(http.StatusOK, "It is up.", jsonBody(healthForm)),
		},
		{
			method: http.MethodGet, path: "/healthz", handler: s.ready.health, tag: tag,
			summary: "Whether the process is up", answers: success(http.StatusOK, "It is up.", jsonBody(healthForm)),
		},
		{
			method: http.MethodGet, path: "/readyz", handler: s.ready.readyz, tag: tag,
			summary: "Whether the process accepts clients", detail: "503 while the store is unavailable and while the hub drains or shuts down.",
			answers: success(http.StatusOK, "It accepts clients.", jsonBody(healthForm)),
		},
		{
			method: http.MethodGet, path: "/api/openapi.json", handler: s.getOpenAPI, tag: tag,
			summary: "This description", answers: success(http.StatusOK, "An OpenAPI 3.1 document.", bytesOf(echo.MIMEApplicationJSON)),
		},
	}
}
