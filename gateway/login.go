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

// ticketLife is how long a ticket is good, in seconds.
const ticketLife = 30

// identity is who the caller is taken for.
type identity struct {
	User      string   `json:"user"`
	Roles     []string `json:"roles"`
	Auth      string   `json:"auth" doc:"How people are recognised here: none, token or jwt."`
	ExpiresAt string   `json:"expiresAt,omitempty" doc:"When the credential ends, RFC 3339; absent when it does not."`
	// Session is there for devices that were invited.
	Session wire.SessionID `json:"session,omitempty" doc:"The only session the credential is for; absent when it is for all."`
}

// loginRequest is what is traded for a cookie.
type loginRequest struct {
	Token string `json:"token" wire:"min=1" doc:"The installation's token or a signed token. API keys are for programs and cannot sign in."`
}

// ticketRequest asks for a ticket.
type ticketRequest struct {
	Session wire.SessionID `json:"session,omitempty" doc:"The only session the ticket is for."`
}

// ticketAnswer is a ticket.
type ticketAnswer struct {
	Ticket    string `json:"ticket" doc:"For the first frame of a socket: auth {ticket}. Good once."`
	ExpiresIn int    `json:"expires_in" doc:"Seconds."`
}

var (
	identityForm      = formOf[identity]()
	loginForm         = formOf[loginRequest]()
	ticketRequestForm = formOf[ticketRequest]()
	ticketForm        = formOf[ticketAnswer]()
)

func (s *Server) describe(id auth.Identity) identity {
	me := identity{User: id.User, Auth: string(s.auth.Mode()), Session: id.Session}
	for _, r := range id.Roles {
		me.Roles = append(me.Roles, string(r))
	}
	if !id.Expires.IsZero() {
		me.ExpiresAt = stamp(id.Expires)
	}
	return me
}

// recognise is [Server.identify] for a token that came another way.
func (s *Server) recognise(ctx context.Context, token string) (auth.Identity, error) {
	if id, ok := s.auth.Anonymous(); ok {
		return id, nil
	}
	return s.auth.Bearer(ctx, token)
}

// signIn trades a token for a cookie.
func (s *Server) signIn(c echo.Context, token string) (auth.Identity, error) {
	ctx := c.Request().Context()
	id, err := s.recognise(ctx, token)
	if err != nil {
		return auth.Identity{}, s.authFailure(c, err)
	}
	if id.Session != "" {
		// A cookie would stand for the user everywhere.
		return auth.Identity{}, problem(wire.CodeForbidden, "A credential for one session cannot sign in.")
	}
	if id.Key != "" {
		// A cookie would outlive it.
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

// postLogin is how programs in a browser sign in.
func (s *Server) postLogin(c echo.Context) error {
	in, err := loginForm.read(s, c)
	if err != nil {
		return err
	}
	id, err := s.signIn(c, in.Token)
	if err != nil {
		return err
	}
	me := s.describe(id)
	return identityForm.answer(c, http.StatusOK, &me)
}

// getLogin is what the URL that the hub prints leads to: it takes the token out
// of the address bar. Without a token it is a page to type one.
func (s *Server) getLogin(c echo.Context) error {
	token := c.QueryParam("token")
	if token == "" {
		return s.page(c)
	}
	return s.welcomeByLink(c, token)
}

// welcomeByLink is welcome for a token in the address. Anybody can make such a
// link and have somebody click on it, who would then work under the name of
// another. So it only takes the installation's token, which has one name, and from
// a page of somebody else it replaces no cookie.
func (s *Server) welcomeByLink(c echo.Context, token string) error {
	if _, open := s.auth.Anonymous(); !open && !s.auth.IsInstallationToken(token) {
		err := s.authFailure(c, &auth.Error{Code: wire.CodeAuthFailed, Reason: "That link does not sign in."})
		return s.show(c, problemOf(err, c.Request()).Status, wordsFor(c.Request()).badLink)
	}
	if isCrossSite(c.Request()) {
		if value := s.cookie(c); value != "" {
			if _, err := s.auth.Cookie(c.Request().Context(), value); err == nil {
				return s.page(c)
			}
		}
	}
	return s.welcome(c, token)
}

// submitLogin is what that page sends.
func (s *Server) submitLogin(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, s.cfg.FrameBytes)
	if media := r.Header.Get(echo.HeaderContentType); !strings.HasPrefix(media, echo.MIMEApplicationForm) {
		return statusProblem(http.StatusUnsupportedMediaType, "The body has to be a form.")
	}
	if err := r.ParseForm(); err != nil {
		return problem(wire.CodeInvalidMessage, "The form cannot be read.")
	}
	return s.welcome(c, tokenIn(r.PostForm.Get("token")))
}

// tokenIn is the token that somebody typed, or that is in the URL they pasted.
func tokenIn(text string) string {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		return cmp.Or(u.Query().Get("token"), text)
	}
	return text
}

// welcome signs a person in and leads them to the desktop. A token that was not
// accepted leads back to the page, since problem documents are for programs.
func (s *Server) welcome(c echo.Context, token string) error {
	_, err := s.signIn(c, token)
	if err == nil {
		return c.Redirect(http.StatusSeeOther, frontOf(c)+restOfQuery(c))
	}
	p := problemOf(err, c.Request())
	if p.Status >= http.StatusInternalServerError {
		return err
	}
	return s.show(c, p.Status, wordsFor(c.Request()).complaint(p))
}

// restOfQuery is the query without what signs in: where somebody wanted to go.
func restOfQuery(c echo.Context) string {
	q := maps.Clone(c.QueryParams())
	q.Del("token")
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// postLogout ends everything that stands for the user: cookies, tickets, sockets,
// on all replicas. Who may only look, or is a device that was invited, ends their
// own cookie and nobody else's. A program with an API key has nothing to end here.
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
	me := s.describe(caller(c))
	return identityForm.answer(c, http.StatusOK, &me)
}

// postTicket gives a page what it can open a socket with where neither cookie nor
// header can be sent.
func (s *Server) postTicket(c echo.Context) error {
	in, err := ticketRequestForm.read(s, c)
	if err != nil {
		return err
	}
	me, ctx := caller(c), c.Request().Context()
	if in.Session == "" {
		in.Session = me.Session // a credential does not grow
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
