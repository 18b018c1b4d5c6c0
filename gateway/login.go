package gateway

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// ticketLife is the lifetime of a ticket, in seconds.
const ticketLife = 30

// identity describes the caller.
type identity struct {
	User      string   `json:"user"`
	Roles     []string `json:"roles"`
	Auth      string   `json:"auth" doc:"How the hub authenticates users: none, token or jwt."`
	ExpiresAt string   `json:"expiresAt,omitempty" doc:"When the credential expires, RFC 3339; absent when it does not."`
	// Session is set for invited devices and for tickets of one session.
	Session wire.SessionID `json:"session,omitempty" doc:"The only session that the credential is valid for; absent when it is valid for all."`
}

// loginRequest exchanges a token for a cookie.
type loginRequest struct {
	Token string `json:"token" wire:"min=1" doc:"The installation's token or a signed token. API keys are for programs and cannot sign in."`
}

type ticketRequest struct {
	Session wire.SessionID `json:"session,omitempty" doc:"The only session that the ticket is valid for."`
}

type ticketAnswer struct {
	Ticket    string `json:"ticket" doc:"For the first frame of a WebSocket: auth {ticket}. Valid once."`
	ExpiresIn int    `json:"expires_in" doc:"Seconds."`
}

var (
	identityForm      = formOf[identity]()
	loginForm         = formOf[loginRequest]()
	ticketRequestForm = formOf[ticketRequest]()
	ticketForm        = formOf[ticketAnswer]()
)

func (s *Server) identityOf(id auth.Identity) identity {
	me := identity{User: id.User, Auth: string(s.auth.Mode()), Session: id.Session}
	for _, r := range id.Roles {
		me.Roles = append(me.Roles, string(r))
	}
	if !id.Expires.IsZero() {
		me.ExpiresAt = formatTime(id.Expires)
	}
	return me
}

// authenticateToken is [Server.identify] for a token that is not in a header.
func (s *Server) authenticateToken(ctx context.Context, token string) (auth.Identity, error) {
	if id, ok := s.auth.Anonymous(); ok {
		return id, nil
	}
	return s.auth.Bearer(ctx, token)
}

// signIn exchanges a token for a cookie.
func (s *Server) signIn(c echo.Context, token string) (auth.Identity, error) {
	ctx := c.Request().Context()
	id, err := s.authenticateToken(ctx, token)
	if err != nil {
		return auth.Identity{}, s.authFailure(c, err)
	}
	if id.Session != "" {
		// A cookie would be valid for all sessions.
		return auth.Identity{}, problem(wire.CodeForbidden, "A credential for one session cannot sign in.")
	}
	if id.Key != "" {
		// A cookie would outlive the key.
		return auth.Identity{}, problem(wire.CodeAuthFailed, "An API key cannot sign in; send it with each request.").withStatus(http.StatusForbidden)
	}
	if wait := s.limits.Request(ctx, id.User); wait > 0 {
		return auth.Identity{}, s.rateLimited(c, wait)
	}
	value, until, err := s.auth.NewCookie(ctx, id)
	if err != nil {
		return auth.Identity{}, err
	}
	s.setCookie(c, value, until)
	return id, nil
}

// postLogin signs programs in a browser in.
func (s *Server) postLogin(c echo.Context) error {
	in, err := loginForm.read(s, c)
	if err != nil {
		return err
	}
	id, err := s.signIn(c, in.Token)
	if err != nil {
		return err
	}
	me := s.identityOf(id)
	return identityForm.answer(c, http.StatusOK, &me)
}

// getLogin handles the URL that the hub prints: it removes the token from the address bar. Without
// a token it serves the sign-in page.
func (s *Server) getLogin(c echo.Context) error {
	token := c.QueryParam("token")
	if token == "" {
		return s.signInPage(c)
	}
	return s.signInByLink(c, token)
}

// signInByLink is signInAndRedirect for a token in the URL. An attacker can make such a link and
// have a user click on it, who would then work as another user. So it accepts only the
// installation's token, which belongs to one user, and a request from another site replaces no
// valid cookie.
func (s *Server) signInByLink(c echo.Context, token string) error {
	if _, open := s.auth.Anonymous(); !open && !s.auth.IsInstallationToken(token) {
		err := s.authFailure(c, &auth.Error{Code: wire.CodeAuthFailed, Reason: "That link does not sign in."})
		return s.renderSignInPage(c, problemOf(err, c.Request()).Status, textsFor(c.Request()).badLink)
	}
	if isCrossSite(c.Request()) {
		if value := s.cookie(c); value != "" {
			if _, err := s.auth.Cookie(c.Request().Context(), value); err == nil {
				return s.signInPage(c)
			}
		}
	}
	return s.signInAndRedirect(c, token)
}

// submitLogin handles the form of the sign-in page.
func (s *Server) submitLogin(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, s.cfg.FrameBytes)
	if media := r.Header.Get(echo.HeaderContentType); !strings.HasPrefix(media, echo.MIMEApplicationForm) {
		return statusProblem(http.StatusUnsupportedMediaType, "The body has to be a form.")
	}
	if err := r.ParseForm(); err != nil {
		return problem(wire.CodeInvalidMessage, "The form cannot be read.")
	}
	return s.signInAndRedirect(c, tokenFrom(r.PostForm.Get("token")))
}

// tokenFrom returns the token that a user typed, or that is in the URL they pasted.
func tokenFrom(text string) string {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		return cmp.Or(u.Query().Get("token"), text)
	}
	return text
}

// signInAndRedirect signs a user in and redirects to the desktop. If the token is not accepted it
// serves the sign-in page again, since problem documents are for programs.
func (s *Server) signInAndRedirect(c echo.Context, token string) error {
	_, err := s.signIn(c, token)
	if err == nil {
		return c.Redirect(http.StatusSeeOther, signInTarget(c)+queryWithoutToken(c))
	}
	p := problemOf(err, c.Request())
	if p.Status >= http.StatusInternalServerError {
		return err
	}
	return s.renderSignInPage(c, p.Status, textsFor(c.Request()).signInError(p))
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

// postLogout revokes the cookies, tickets and connections of the user on all replicas. A viewer or
// an invited device ends its own cookie only. A client with an API key has nothing to end here.
func (s *Server) postLogout(c echo.Context) error {
	me, ctx := caller(c), c.Request().Context()
	var err error
	switch {
	case me.Key != "" || me.Session != "" && !me.Cookie:
		return problem(wire.CodeForbidden, "An API key or a credential for one session signs nobody out; keys are revoked.")
	case me.Has(auth.RoleUser) && me.Session == "":
		err = s.auth.SignOut(ctx, me.User)
	case me.Cookie:
		err = s.auth.EndCookie(ctx, s.cookie(c))
		s.closeCookieConnections(me)
	default:
		return problem(wire.CodeForbidden, "")
	}
	if err != nil {
		return err
	}
	s.setCookie(c, "", time.Time{})
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) getMe(c echo.Context) error {
	me := s.identityOf(caller(c))
	return identityForm.answer(c, http.StatusOK, &me)
}

// postTicket issues a ticket with which a page can open a WebSocket where neither cookie nor header
// can be sent.
func (s *Server) postTicket(c echo.Context) error {
	in, err := ticketRequestForm.read(s, c)
	if err != nil {
		return err
	}
	me, ctx := caller(c), c.Request().Context()
	if in.Session == "" {
		in.Session = me.Session // a ticket has no more rights than the credential
	}
	if in.Session != "" {
		_, info, err := s.accessTo(ctx, me, in.Session)
		if err != nil {
			return err
		}
		in.Session = info.ID
	}
	ticket, err := s.auth.NewTicket(ctx, me, in.Session)
	if err != nil {
		return err
	}
	return ticketForm.answer(c, http.StatusOK, &ticketAnswer{Ticket: ticket, ExpiresIn: ticketLife})
}
