package rest

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// signIns serve signing in and out, tickets and invitations.
type signIns struct {
	auth          *auth.Authority
	limits        *ratelimit.Limiter
	hosts         *access.Hosts
	authenticator *access.Authenticator
	sessions      *access.Sessions
	connections   Connections
	frameBytes    int64
}

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
	identityForm      = httpio.FormOf[identity]()
	loginForm         = httpio.FormOf[loginRequest]()
	ticketRequestForm = httpio.FormOf[ticketRequest]()
	ticketForm        = httpio.FormOf[ticketAnswer]()
)

func (i *signIns) identityOf(id auth.Identity) identity {
	me := identity{User: id.User, Auth: string(i.auth.Mode()), Session: id.Session}
	for _, r := range id.Roles {
		me.Roles = append(me.Roles, string(r))
	}
	if !id.Expires.IsZero() {
		me.ExpiresAt = httpio.FormatTime(id.Expires)
	}
	return me
}

// postLogin signs programs in a browser in.
func (i *signIns) postLogin(c echo.Context) error {
	in, err := loginForm.Read(c, i.frameBytes)
	if err != nil {
		return err
	}
	id, err := i.authenticator.SignIn(c, in.Token)
	if err != nil {
		return err
	}
	me := i.identityOf(id)
	return identityForm.Answer(c, http.StatusOK, &me)
}

// postLogout revokes the cookies, tickets and connections of the user on all replicas. A viewer or
// an invited device ends its own cookie only. A client with an API key has nothing to end here.
func (i *signIns) postLogout(c echo.Context) error {
	me, ctx := access.Caller(c), c.Request().Context()
	var err error
	switch {
	case me.Key != "" || me.Session != "" && !me.Cookie:
		return problem.New(wire.CodeForbidden, "An API key or a credential for one session cannot sign out. Revoke the key instead.")
	case me.Has(auth.RoleUser) && me.Session == "":
		err = i.auth.SignOut(ctx, me.User)
	case me.Cookie:
		err = i.auth.EndCookie(ctx, i.authenticator.Cookie(c))
		i.connections.CloseCookie(me)
	default:
		return problem.New(wire.CodeForbidden, "")
	}
	if err != nil {
		return err
	}
	i.authenticator.SetCookie(c, "", time.Time{})
	return c.NoContent(http.StatusNoContent)
}

func (i *signIns) getMe(c echo.Context) error {
	me := i.identityOf(access.Caller(c))
	return identityForm.Answer(c, http.StatusOK, &me)
}

// postTicket issues a ticket with which a page can open a WebSocket where neither cookie nor header
// can be sent.
func (i *signIns) postTicket(c echo.Context) error {
	in, err := ticketRequestForm.Read(c, i.frameBytes)
	if err != nil {
		return err
	}
	me, ctx := access.Caller(c), c.Request().Context()
	if in.Session == "" {
		in.Session = me.Session // a ticket has no more rights than the credential
	}
	if in.Session != "" {
		_, info, err := i.sessions.Access(ctx, me, in.Session)
		if err != nil {
			return err
		}
		in.Session = info.ID
	}
	ticket, err := i.auth.NewTicket(ctx, me, in.Session)
	if err != nil {
		return err
	}
	return ticketForm.Answer(c, http.StatusOK, &ticketAnswer{Ticket: ticket, ExpiresIn: ticketLife})
}
