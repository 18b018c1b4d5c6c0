package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// invitationRequest asks for a link that lets another device into a session.
type invitationRequest struct {
	Session wire.SessionID `json:"session" doc:"The session to let it into."`
	Monitor wire.MonitorID `json:"monitor,omitempty" doc:"What it shall look at first."`
}

// invitation is such a link.
type invitation struct {
	URL       string `json:"url" doc:"For the other device. What lets it in is behind the #, so that no log has it. Good once."`
	ExpiresIn int    `json:"expiresIn" doc:"Seconds."`
	Loopback  bool   `json:"loopback" doc:"Only this very machine can open the address."`
}

// joinRequest is what such a link leads to.
type joinRequest struct {
	Ticket string `json:"ticket" wire:"min=1,max=256" doc:"What is behind the # of the link."`
}

// joined is where the device is now.
type joined struct {
	Session wire.SessionID `json:"session"`
	Monitor wire.MonitorID `json:"monitor,omitempty" doc:"What to look at first."`
}

var (
	invitationRequestForm = formOf[invitationRequest]()
	invitationForm        = formOf[invitation]()
	joinForm              = formOf[joinRequest]()
	joinedForm            = formOf[joined]()
)

// postInvitation makes a link for another device of the caller.
func (s *Server) postInvitation(c echo.Context) error {
	in, err := invitationRequestForm.read(s, c)
	if err != nil {
		return err
	}
	me, r := caller(c), c.Request()
	if me.Key != "" || me.Session != "" {
		return problem(wire.CodeForbidden, "An API key or a credential for one session invites nobody.")
	}
	granted, info, err := s.accessTo(r.Context(), me, in.Session)
	if err != nil {
		return err
	}
	if granted < accessOperator {
		return problem(wire.CodeForbidden, "")
	}
	ticket, err := s.auth.NewInvitation(r.Context(), me, info.ID)
	if err != nil {
		return err
	}
	if in.Monitor != "" {
		ticket += "." + string(in.Monitor)
	}
	return invitationForm.answer(c, http.StatusOK, &invitation{
		URL: s.originOf(r) + "/join#" + ticket, ExpiresIn: int(auth.JoinLife.Seconds()), Loopback: isLoopbackName(hostName(r.Host)),
	})
}

// errNotInvited is the answer to every link that is good no longer, or never was.
var errNotInvited = &auth.Error{Code: wire.CodeAuthFailed, Reason: "This link is used up or too old; make another."}

// postJoin trades what is in a link for a cookie that is good for one session.
// Anybody can make somebody open a link, so it never takes the place of a cookie
// that is worth more, nor of one of another user.
func (s *Server) postJoin(c echo.Context) error {
	in, err := joinForm.read(s, c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	ticket, monitor, _ := strings.Cut(in.Ticket, ".")
	guest, err := s.invited(ctx, ticket)
	if err != nil {
		return s.authFailure(c, err)
	}
	answer := joined{Session: guest.Session}
	if m := wire.MonitorID(monitor); m.Validate() == nil {
		answer.Monitor = m
	}
	if wait := s.limits.Request(ctx, guest.User); wait > 0 {
		return s.rateLimited(c, wait)
	}
	present, err := s.auth.Cookie(ctx, s.cookie(c))
	_, denied := errors.AsType[*auth.Error](err)
	switch {
	case err != nil && !denied:
		return err
	case err == nil && present.User != guest.User:
		return s.authFailure(c, errNotInvited)
	case err == nil && (present.Session == "" || present.Session == guest.Session):
		return joinedForm.answer(c, http.StatusOK, &answer)
	case err == nil:
		if err := s.auth.EndCookie(ctx, s.cookie(c)); err != nil {
			return err
		}
	}
	value, until, err := s.auth.NewCookie(ctx, guest)
	if err != nil {
		return err
	}
	s.setCookie(c, value, until)
	return joinedForm.answer(c, http.StatusOK, &answer)
}

// invited uses an invitation up and says who it is for. Whatever is wrong with
// it, and with the session it is for, the answer is the same.
func (s *Server) invited(ctx context.Context, ticket string) (auth.Identity, error) {
	guest, err := s.auth.Invitation(ctx, ticket)
	if _, denied := errors.AsType[*auth.Error](err); denied {
		return auth.Identity{}, errNotInvited
	}
	if err != nil {
		return auth.Identity{}, err
	}
	if granted, _, err := s.accessTo(ctx, guest, guest.Session); granted == accessNone {
		if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeSessionNotFound {
			return auth.Identity{}, errNotInvited
		}
		return auth.Identity{}, err
	}
	return guest, nil
}
