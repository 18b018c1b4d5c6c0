package gateway

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// signInByLink is signInAndRedirect for a token in the URL. An attacker can make such a link and
// make a user open it, who would then work as another user. So it accepts only the
// installation's token, which belongs to one user, and a request from another site replaces no
// valid cookie.
func (pg *pages) signInByLink(c echo.Context, token string) error {
	if _, open := pg.auth.Anonymous(); !open && !pg.auth.IsInstallationToken(token) {
		err := pg.authenticator.Failure(c, &auth.Error{Code: wire.CodeAuthFailed, Reason: "That link does not sign in."})
		return pg.renderSignInPage(c, problem.Of(err).Status, textsFor(c.Request()).badLink)
	}
	if access.IsCrossSite(c.Request()) {
		if value := pg.authenticator.Cookie(c); value != "" {
			if _, err := pg.auth.Cookie(c.Request().Context(), value); err == nil {
				return pg.signInPage(c)
			}
		}
	}
	return pg.signInAndRedirect(c, token)
}

// submitLogin handles the form of the sign-in page.
func (pg *pages) submitLogin(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, pg.frameBytes)
	if media := r.Header.Get(echo.HeaderContentType); !strings.HasPrefix(media, echo.MIMEApplicationForm) {
		return problem.Status(http.StatusUnsupportedMediaType, "The body has to be a form.")
	}
	if err := r.ParseForm(); err != nil {
		return problem.New(wire.CodeInvalidMessage, "The form cannot be read.")
	}
	return pg.signInAndRedirect(c, tokenFrom(r.PostForm.Get("token")))
}

// signInAndRedirect signs a user in and redirects to the desktop. If the token is not accepted it
// serves the sign-in page again, since problem documents are for programs.
func (pg *pages) signInAndRedirect(c echo.Context, token string) error {
	_, err := pg.authenticator.SignIn(c, token)
	if err == nil {
		return c.Redirect(http.StatusSeeOther, signInTarget(c)+queryWithoutToken(c))
	}
	p := problem.Of(err)
	if p.Status >= http.StatusInternalServerError {
		return err
	}
	return pg.renderSignInPage(c, p.Status, textsFor(c.Request()).signInError(p))
}

// getLogin handles the URL that the hub prints: it removes the token from the address bar. Without
// a token it serves the sign-in page.
func (pg *pages) getLogin(c echo.Context) error {
	token := c.QueryParam("token")
	if token == "" {
		return pg.signInPage(c)
	}
	return pg.signInByLink(c, token)
}

// tokenFrom returns the token that a user typed, or that is in the URL they pasted.
func tokenFrom(text string) string {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		return cmp.Or(u.Query().Get("token"), text)
	}
	return text
}

// queryWithoutToken returns the query of a request without the token.
func queryWithoutToken(c echo.Context) string {
	q := maps.Clone(c.QueryParams())
	q.Del("token")
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}
