package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// links serve the read-only links to sessions.
type links struct {
	requests      *sessionRequests
	sessions      *access.Sessions
	auth          *auth.Authority
	limits        *ratelimit.Limiter
	budget        *httpio.Budget
	authenticator *access.Authenticator
	hosts         *access.Hosts
	actions       *admin.Actions
	appsOrigin    func(*http.Request) string
	frameBytes    int64
}

// linkLife is the lifetime of a link for which none is given.
const linkLife = 24 * time.Hour

type linkRequest struct {
	Label string `json:"label,omitempty" wire:"max=64" doc:"Who it is for; people in the session see it."`
	TTL   int    `json:"ttl,omitempty" wire:"min=0,max=2592000" doc:"Seconds that it is valid, from 300 to 30 days; a day when absent."`
	// At makes a link to one moment.
	At wire.Position `json:"at,omitzero" doc:"The message_id of an event. The link then shows the desktop and the conversation after that event, and nothing of the session since."`
}

// linkInfo describes a link without its secret.
type linkInfo struct {
	ID        string `json:"id"`
	Label     string `json:"label,omitempty"`
	CreatedAt string `json:"createdAt" doc:"RFC 3339."`
	ExpiresAt string `json:"expiresAt" doc:"RFC 3339."`
	linkMoment
}

// linkMoment is the moment of a link that shows no more than that.
type linkMoment struct {
	At       wire.Position `json:"at,omitzero" doc:"The message_id of the event after which the link shows the session; absent if it shows the session as it goes on."`
	MomentAt string        `json:"momentAt,omitempty" doc:"When that was, RFC 3339."`
}

func linkMomentOf(l auth.Link) linkMoment {
	if l.At.IsZero() {
		return linkMoment{}
	}
	return linkMoment{At: l.At, MomentAt: httpio.FormatTime(l.Time)}
}

type linkAnswer struct {
	URL string `json:"url" doc:"Shown only once: the hub stores a hash. The secret is in the fragment (after the #), so that no log contains it."`
	linkInfo
}

type linkList struct {
	Links []linkInfo `json:"links"`
}

type linkOpening struct {
	Link string `json:"link" wire:"min=1,max=512" doc:"The fragment of the link, without the #."`
}

type openedLink struct {
	Session wire.SessionID `json:"session"`
	// Own is set for a user who is signed in and has access without the link.
	Own        bool   `json:"own,omitempty" doc:"The caller is signed in and has access without the link. No cookie was set."`
	User       string `json:"user,omitempty" doc:"The name under which the caller is present in the session."`
	Label      string `json:"label,omitempty"`
	ExpiresAt  string `json:"expiresAt" doc:"When the link expires, RFC 3339."`
	RenewIn    int    `json:"renewIn,omitempty" doc:"Seconds after which to exchange the link again: the cookie is valid twice as long."`
	AppsOrigin string `json:"appsOrigin,omitempty" doc:"The origin of html windows and apps."`
	linkMoment
}

var (
	linkRequestForm = httpio.FormOf[linkRequest]()
	linkForm        = httpio.FormOf[linkAnswer]()
	linkListForm    = httpio.FormOf[linkList]()
	linkOpeningForm = httpio.FormOf[linkOpening]()
	openedLinkForm  = httpio.FormOf[openedLink]()
)

func (l *links) routes() []openapi.Route {
	const tag = "sessions"
	return []openapi.Route{
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/links", Guard: openapi.GuardIdentity, Handler: l.create, Tag: tag,
			Summary: "Create a read-only link to the session", Body: openapi.Optional(openapi.JSONBody(linkRequestForm)),
			Detail: "For the owner of the session only. Everyone who has the link sees the session, or one moment of it, without signing in, and changes nothing. " +
				"409 when the session has 16 links of that kind; 403 on a hub without sign-in; 410 when the log does not have the moment.",
			Answers: openapi.Success(http.StatusCreated, "The link.", openapi.JSONBody(linkForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/links", Guard: openapi.GuardIdentity, Handler: l.list, Tag: tag,
			Summary: "List the read-only links of a session", Detail: "For its owner.",
			Answers: openapi.Success(http.StatusOK, "The valid links, without their secrets.", openapi.JSONBody(linkListForm)),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/links/:link", Guard: openapi.GuardIdentity, Handler: l.revoke, Tag: tag,
			Summary: "Revoke a read-only link", Detail: "For its owner. Connections that were opened with it are closed with 4411, on every replica.",
			Answers: openapi.NoContent("Revoked."),
		},
		{
			Method: http.MethodPost, Path: "/api/links/open", Handler: l.open, Tag: tag,
			Summary: "Exchange a read-only link for a cookie", Body: openapi.JSONBody(linkOpeningForm),
			Detail: "The cookie reads that session for an hour and ends with the link. A user who is signed in and has access gets none. " +
				"Unknown, expired and revoked links get the same response, 401.",
			Answers: openapi.Success(http.StatusOK, "The session.", openapi.JSONBody(openedLinkForm), openapi.Param{Name: "Set-Cookie", Doc: "The cookie."}),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/moment", Guard: openapi.GuardIdentity, Handler: l.getMoment, Tag: tag,
			Summary: "The moment of a read-only link", Detail: "With the cookie of a link to one moment, for which it is the only route.",
			Answers: openapi.Success(http.StatusOK, "The state at that moment.", openapi.JSONBody(stateForm)),
		},
	}
}

func (l *links) create(c echo.Context) error {
	info, err := l.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	if info.User != access.Caller(c).User { // an admin
		return problem.New(wire.CodeForbidden, "")
	}
	if l.auth.Mode() == auth.ModeNone {
		return problem.New(wire.CodeForbidden, "This hub has no sign-in: everyone who reaches it may do everything, so a link cannot be read-only. Set auth to token or jwt.")
	}
	in, err := linkRequestForm.Read(c, l.frameBytes)
	if err != nil {
		return err
	}
	life := cmp.Or(time.Duration(in.TTL)*time.Second, linkLife)
	switch {
	case life < auth.MinLinkLife || life > auth.MaxLinkLife:
		return problem.Query("ttl", "Want 300 (5 minutes) to 2592000 (30 days) seconds.")
	case in.Label != "" && store.CheckName("label", in.Label) != nil, len(in.Label) > auth.MaxLinkLabelBytes:
		return problem.Query("label", "Want up to 64 characters (200 bytes of UTF-8) without control characters.")
	}
	moment, err := l.momentOf(c, info.ID, in.At)
	if err != nil {
		return err
	}
	var secret string
	var made auth.Link
	err = l.actions.PerformWithoutReason(c, admin.Action{Action: "link.make", Target: string(info.ID), Execute: func(ctx context.Context, _ string) (_ string, err error) {
		if moment.At.IsZero() {
			secret, made, err = l.auth.Links.Create(ctx, info.ID, in.Label, life)
		} else {
			secret, made, err = l.auth.Links.CreateOfMoment(ctx, info.ID, in.Label, life, moment)
		}
		if errors.Is(err, auth.ErrTooManyLinks) {
			err = problem.New(wire.CodeSessionInvalidState, fmt.Sprintf("The session has %d links of that kind already; revoke one of them.", auth.MaxLinks))
		}
		details := fmt.Sprintf("link: %s; label: %q; seconds: %d", made.ID, in.Label, int(life.Seconds()))
		if !made.At.IsZero() {
			details += "; moment: " + made.At.String()
		}
		return details, secretDiscarded(err)
	}})
	if err != nil {
		return err
	}
	return linkForm.Answer(c, http.StatusCreated, &linkAnswer{URL: l.hosts.Origin(c.Request()) + "/link#" + secret, linkInfo: linkInfoOf(made)})
}

func linkInfoOf(l auth.Link) linkInfo {
	return linkInfo{ID: l.ID, Label: l.Label, CreatedAt: httpio.FormatTime(l.Created), ExpiresAt: httpio.FormatTime(l.Expires), linkMoment: linkMomentOf(l)}
}

func (l *links) list(c echo.Context) error {
	info, err := l.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	all, err := l.auth.Links.List(c.Request().Context(), info.ID)
	if err != nil {
		return err
	}
	list := linkList{Links: []linkInfo{}}
	for _, one := range all {
		list.Links = append(list.Links, linkInfoOf(one))
	}
	return linkListForm.Answer(c, http.StatusOK, &list)
}

func (l *links) revoke(c echo.Context) error {
	info, err := l.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	id := httpio.PathParam(c, "link")
	err = l.actions.PerformWithoutReason(c, admin.Action{Action: "link.revoke", Target: string(info.ID), Execute: func(ctx context.Context, _ string) (string, error) {
		err := l.auth.Links.Revoke(ctx, info.ID, id)
		if errors.Is(err, store.ErrNotFound) {
			err = problem.Status(http.StatusNotFound, "The session has no link with that id.")
		}
		return fmt.Sprintf("link: %.32q", id), err
	}})
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// errLinkEnded is the response to every link that is unknown, expired or revoked.
var errLinkEnded = &auth.Error{Code: wire.CodeAuthFailed, Reason: "This link has expired or was revoked; ask for another."}

// open exchanges a link for a cookie that reads its session.
func (l *links) open(c echo.Context) error {
	in, err := linkOpeningForm.Read(c, l.frameBytes)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	link, err := l.auth.Links.Find(ctx, in.Link)
	if _, denied := errors.AsType[*auth.Error](err); denied {
		err = errLinkEnded
	}
	if err != nil {
		return l.authenticator.Failure(c, err)
	}
	answer := openedLink{Session: link.Session, Label: link.Label, ExpiresAt: httpio.FormatTime(link.Expires), AppsOrigin: l.appsOrigin(c.Request()), linkMoment: linkMomentOf(link)}
	user := l.ownAccess(c, link.Session)
	if wait := l.limits.Request(ctx, cmp.Or(user, link.User())); wait > 0 {
		return l.authenticator.RateLimited(c, wait)
	}
	if user != "" {
		answer.Own = true
		l.authenticator.SetLinkCookie(c, link, "", time.Time{}) // it would take the user's rights away
		return openedLinkForm.Answer(c, http.StatusOK, &answer)
	}
	guest := auth.Identity{User: link.User(), Session: link.Session, Link: link.ID}
	if _, _, err := l.sessions.Access(ctx, guest, link.Session); err != nil {
		if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeSessionNotFound {
			err = errLinkEnded // its session was deleted
		}
		return l.authenticator.Failure(c, err)
	}
	token, err := l.auth.Links.NewToken(ctx, link)
	if err != nil {
		return err
	}
	answer.User, answer.RenewIn = link.User(), int(auth.LinkTokenLife.Seconds())/2
	l.authenticator.SetLinkCookie(c, link, token, time.Now().Add(auth.LinkTokenLife))
	return openedLinkForm.Answer(c, http.StatusOK, &answer)
}

// ownAccess returns the user who sends a request, or "" if none is signed in or the user does not see the session
// without a link.
func (l *links) ownAccess(c echo.Context, id wire.SessionID) string {
	who, err := l.auth.Cookie(c.Request().Context(), l.authenticator.Cookie(c))
	if err != nil {
		return ""
	}
	if granted, _, _ := l.sessions.Access(c.Request().Context(), who, id); granted == access.None {
		return ""
	}
	return who.User
}
