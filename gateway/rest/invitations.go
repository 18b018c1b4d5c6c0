package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// invitationRequest asks for a link that gives another device access to a session.
type invitationRequest struct {
	Session wire.SessionID `json:"session" doc:"The session to give access to."`
	Monitor wire.MonitorID `json:"monitor,omitempty" doc:"The monitor that it shows first."`
}

// invitation is the response with that link.
type invitation struct {
	URL       string `json:"url" doc:"For the other device. The ticket is in the fragment (after the #), so that no log contains it. Valid once."`
	ExpiresIn int    `json:"expiresIn" doc:"Seconds."`
	Loopback  bool   `json:"loopback" doc:"The address is on the loopback: only the hub's own machine can open it."`
}

// joinRequest redeems the ticket of such a link.
type joinRequest struct {
	Ticket string `json:"ticket" wire:"min=1,max=256" doc:"The fragment of the link, without the #."`
}

// joined is the session that the device may use now.
type joined struct {
	Session wire.SessionID `json:"session"`
	Monitor wire.MonitorID `json:"monitor,omitempty" doc:"The monitor to show first."`
}

var (
	invitationRequestForm = httpio.FormOf[invitationRequest]()
	invitationForm        = httpio.FormOf[invitation]()
	joinForm              = httpio.FormOf[joinRequest]()
	joinedForm            = httpio.FormOf[joined]()
)

// postInvitation makes a link for another device of the caller.
func (i *signIns) postInvitation(c echo.Context) error {
	in, err := invitationRequestForm.Read(c, i.frameBytes)
	if err != nil {
		return err
	}
	me, r := access.Caller(c), c.Request()
	if me.Key != "" || me.Session != "" {
		return problem.New(wire.CodeForbidden, "An API key or a credential for one session invites nobody.")
	}
	granted, info, err := i.sessions.Access(r.Context(), me, in.Session)
	if err != nil {
		return err
	}
	if granted < access.Operator {
		return problem.New(wire.CodeForbidden, "")
	}
	ticket, err := i.auth.NewInvitation(r.Context(), me, info.ID)
	if err != nil {
		return err
	}
	if in.Monitor != "" {
		ticket += "." + string(in.Monitor)
	}
	return invitationForm.Answer(c, http.StatusOK, &invitation{
		URL: i.hosts.Origin(r) + "/join#" + ticket, ExpiresIn: int(auth.JoinLife.Seconds()), Loopback: access.IsLoopbackName(access.HostName(r.Host)),
	})
}

// errNotInvited is the response to every link that is used, expired or invalid.
var errNotInvited = &auth.Error{Code: wire.CodeAuthFailed, Reason: "This link is used up or too old; make another."}

// postJoin exchanges the ticket of a link for a cookie that is valid for one session. An attacker
// can make a user open a link, so the cookie never replaces one with more rights, nor one of
// another user.
func (i *signIns) postJoin(c echo.Context) error {
	in, err := joinForm.Read(c, i.frameBytes)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	ticket, monitor, _ := strings.Cut(in.Ticket, ".")
	invitee, err := i.redeemInvitation(ctx, ticket)
	if err != nil {
		return i.authenticator.Failure(c, err)
	}
	answer := joined{Session: invitee.Session}
	if m := wire.MonitorID(monitor); m.Validate() == nil {
		answer.Monitor = m
	}
	if wait := i.limits.Request(ctx, invitee.User); wait > 0 {
		return i.authenticator.RateLimited(c, wait)
	}
	present, err := i.auth.Cookie(ctx, i.authenticator.Cookie(c))
	_, denied := errors.AsType[*auth.Error](err)
	switch {
	case err != nil && !denied:
		return err
	case err == nil && present.User != invitee.User:
		return i.authenticator.Failure(c, errNotInvited)
	case err == nil && (present.Session == "" || present.Session == invitee.Session):
		return joinedForm.Answer(c, http.StatusOK, &answer)
	case err == nil:
		if err := i.auth.EndCookie(ctx, i.authenticator.Cookie(c)); err != nil {
			return err
		}
	}
	value, until, err := i.auth.NewCookie(ctx, invitee)
	if err != nil {
		return err
	}
	i.authenticator.SetCookie(c, value, until)
	return joinedForm.Answer(c, http.StatusOK, &answer)
}

// redeemInvitation uses an invitation up and returns its identity. Whatever is wrong with it or
// with its session, the error is the same.
func (i *signIns) redeemInvitation(ctx context.Context, ticket string) (auth.Identity, error) {
	invitee, err := i.auth.Invitation(ctx, ticket)
	if _, denied := errors.AsType[*auth.Error](err); denied {
		return auth.Identity{}, errNotInvited
	}
	if err != nil {
		return auth.Identity{}, err
	}
	if granted, _, err := i.sessions.Access(ctx, invitee, invitee.Session); granted == access.None {
		if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeSessionNotFound {
			return auth.Identity{}, errNotInvited
		}
		return auth.Identity{}, err
	}
	return invitee, nil
}
