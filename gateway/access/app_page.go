package access

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
)

// PathAppPageData is the address of the data of an app for its page in a frame without an origin. The token says which app.
const PathAppPageData = "/api/app-page/data"

// appOfPageKey is the key of the app of a page in the request context.
const appOfPageKey = "everdesk.app"

// AppOfPage returns the app of a request that passed the guard of pages of apps.
func AppOfPage(c echo.Context) string {
	app, _ := c.Get(appOfPageKey).(string)
	return app
}

// IsOfAppPage reports whether a request is for the data of an app, from a page without an origin. Browsers add no
// credential to it on their own, so such a page may send it.
func IsOfAppPage(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, PathAppPageData)
	return ok && (rest == "" || rest[0] == '/') && r.Header.Get(echo.HeaderOrigin) == "null"
}

// requireAppPage authenticates the page of an app by its token, and applies the user's rate limit.
func (a *Authenticator) requireAppPage(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		scheme, token, _ := strings.Cut(c.Request().Header.Get(echo.HeaderAuthorization), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			token = ""
		}
		user, app, err := a.auth.AuthenticateAppPage(c.Request().Context(), token)
		if err != nil {
			return a.Failure(c, err)
		}
		c.Set(appOfPageKey, app)
		return a.limited(c, auth.Identity{User: user, Roles: []auth.Role{auth.RoleUser}}, next)
	}
}
