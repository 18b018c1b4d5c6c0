package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Connections are the streaming connections to this replica.
type Connections interface {
	// RecheckSession applies a change of access rights to the connections to a session.
	RecheckSession(id wire.SessionID)
	// CloseCookie closes the connections that were opened with a cookie.
	CloseCookie(cookie auth.Identity)
}

// sessionHandlers serve the sessions of users and their shares.
type sessionHandlers struct {
	requests    *sessionRequests
	hub         *session.Hub
	sessions    *access.Sessions
	actions     *admin.Actions
	connections Connections
	provider    string // the model backend of new sessions, or ""
	frameBytes  int64
}

// sessionCard describes a session. Desktops of the desktop dialect read its first three fields.
type sessionCard struct {
	SessionID wire.SessionID  `json:"sessionId" doc:"The id; in the response to a request that uses the name, that name."`
	Directory string          `json:"directory" doc:"The same as sessionId, for the desktop dialect."`
	Metadata  sessionMetadata `json:"metadata"`
	User      string          `json:"user" doc:"The owner of the session."`
	Name      wire.SessionID  `json:"name,omitempty" doc:"The name that its owner may use in place of the id."`
	Title     string          `json:"title,omitempty"`
	Access    string          `json:"access" doc:"The caller's access: viewer, operator or owner."`
	Shares    []shareGrant    `json:"shares,omitempty" doc:"The users it is shared with; only owners see this."`
	Working   bool            `json:"working" doc:"Whether it has unfinished work."`
	Owner     wire.ReplicaID  `json:"owner,omitempty" doc:"The replica that owns it."`
	Top       wire.Position   `json:"top,omitzero" doc:"The position of its newest event."`
	Found     string          `json:"found,omitempty" doc:"With q: the beginning of the newest task in whose request or result the words are."`
	// SetAside says that the session is quarantined.
	SetAside bool `json:"setAside,omitempty" doc:"It is quarantined: its data cannot be read, and an operator has to act."`
}

// sessionMetadata is the description of a session in the desktop dialect.
type sessionMetadata struct {
	CreatedAt    string                            `json:"createdAt" doc:"RFC 3339."`
	Provider     string                            `json:"provider"`
	LastActivity string                            `json:"lastActivity" doc:"RFC 3339."`
	Agents       wire.Object[string, sessionAgent] `json:"agents"`
}

type sessionAgent struct {
	AgentID string `json:"agentId"`
}

// shareGrant is the access of another user to a session.
type shareGrant struct {
	User     string `json:"user"`
	Access   string `json:"access" doc:"viewer or operator."`
	Newcomer bool   `json:"newcomer,omitempty" doc:"The user has no session on this hub, so the name may be mistyped. Only in answers about one session."`
}

type sessionList struct {
	Sessions []sessionCard `json:"sessions"`
	Next     string        `json:"next,omitempty" doc:"The after of the next page; absent on the last."`
}

type newSession struct {
	SessionID wire.SessionID `json:"sessionId,omitempty" doc:"A name to call the session by in place of an id: letters, digits, _ and -, not beginning with ses-. Names are the caller's own. If the caller has a session of that name, that is the answer, with 200."`
	Title     string         `json:"title,omitempty"`
}

type sessionPatch struct {
	Title *string `json:"title,omitempty"`
}

type newOwner struct {
	User string `json:"user" wire:"min=1,max=256" doc:"The user to whom the session is to belong. It must be shared with them."`
}

type newShare struct {
	Access string `json:"access" doc:"viewer or operator."`
}

var (
	cardForm         = httpio.FormOf[sessionCard]()
	listForm         = httpio.FormOf[sessionList]()
	newSessionForm   = httpio.FormOf[newSession]()
	sessionPatchForm = httpio.FormOf[sessionPatch]()
	newShareForm     = httpio.FormOf[newShare]()
	newOwnerForm     = httpio.FormOf[newOwner]()
)

// cardOf describes a session to a caller; provider is the model backend of new sessions, or "".
func cardOf(id auth.Identity, info session.Info, provider string) sessionCard {
	granted := access.LevelOf(id, info)
	card := sessionCard{
		SessionID: info.ID, Directory: string(info.ID), User: info.User, Name: info.Name, Title: info.Title,
		Access: granted.String(), Working: info.Working, Owner: info.Owner, Top: info.Top, SetAside: info.Quarantined != "",
		Metadata: sessionMetadata{CreatedAt: httpio.FormatTime(info.Created), LastActivity: httpio.FormatTime(info.Updated), Provider: cmp.Or(provider, "none")},
	}
	if granted == access.Owner {
		for user, share := range info.Shares {
			card.Shares = append(card.Shares, shareGrant{User: user, Access: string(share)})
		}
		slices.SortFunc(card.Shares, func(a, b shareGrant) int { return cmp.Compare(a.User, b.User) })
	}
	return card
}

// sessionsOf returns a page of the sessions of a user, or of all users when user is empty, most
// recently updated first. Pages are cut by the second of the last change.
func (s *sessionHandlers) sessionsOf(ctx context.Context, user, after string, limit int) (page store.Page[session.Info], err error) {
	page.Next = after
	for len(page.Items) < limit {
		more, err := s.hub.List(ctx, store.Query{User: user, Recent: true, After: page.Next, Limit: limit - len(page.Items)})
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, more.Items...) // without unfinished imports
		if page.Next = more.Next; page.Next == "" {
			break
		}
	}
	slices.SortStableFunc(page.Items, func(a, b session.Info) int { return b.Updated.Compare(a.Updated) })
	return page, nil
}

// visible returns a page of the sessions that a caller sees in a listing: those of a user, or the
// one session that the caller's credential is valid for.
func (s *sessionHandlers) visible(ctx context.Context, me auth.Identity, user, after string, limit int) (page store.Page[session.Info], err error) {
	if !access.MayHaveSessions(me) {
		return page, nil
	}
	if me.Session == "" {
		return s.sessionsOf(ctx, user, after, limit)
	}
	granted, info, err := s.sessions.Access(ctx, me, me.Session)
	if granted != access.None { // also a quarantined one
		page.Items = []session.Info{info}
		return page, nil
	}
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeSessionNotFound {
		return page, nil
	}
	return page, err
}

// list lists the caller's sessions. Admins may list those of another user or of all users.
func (s *sessionHandlers) list(c echo.Context) error {
	me := access.Caller(c)
	user := me.User
	if other, everybody := c.QueryParam("user"), c.QueryParam("all") == "true"; other != "" || everybody {
		if !me.Has(auth.RoleAdmin) {
			return problem.New(wire.CodeForbidden, "")
		}
		user = other
	}
	limit, err := httpio.ListLimit.Read(c)
	if err != nil {
		return err
	}
	after := c.QueryParam("after")
	if _, err := store.ParseRecentCursor(after); after != "" && err != nil {
		return problem.Query("after", "Want the next of an earlier page.")
	}
	if text := c.QueryParam("q"); text != "" {
		if user != me.User {
			return problem.Query("q", "Only the caller's own sessions can be searched.")
		}
		return s.search(c, me, text, after, limit)
	}
	if user != me.User {
		if err := s.requests.actions.RecordList(c, user); err != nil {
			return err
		}
	}
	page, err := s.visible(c.Request().Context(), me, user, after, limit)
	if err != nil {
		return err
	}
	list := sessionList{Sessions: []sessionCard{}, Next: page.Next}
	for _, info := range page.Items {
		list.Sessions = append(list.Sessions, cardOf(me, info, s.provider))
	}
	return listForm.Answer(c, http.StatusOK, &list)
}

// create creates a session that belongs to the caller.
func (s *sessionHandlers) create(c echo.Context) error {
	me := access.Caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return problem.New(wire.CodeForbidden, "")
	}
	in, err := newSessionForm.Read(c, s.frameBytes)
	if err != nil {
		return err
	}
	var info session.Info
	made, n := true, session.NewSession{User: me.User, Title: in.Title, Name: in.SessionID}
	switch {
	case n.Name == "":
		info, err = s.sessions.Create(c.Request().Context(), n)
	case !session.IsName(n.Name):
		return problem.Query("sessionId", "Want up to 64 letters, digits, _ and -, not beginning with ses-.")
	default:
		info, made, err = s.sessions.OpenNamed(c.Request().Context(), n)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
		c.Response().Header().Set(echo.HeaderLocation, "/api/sessions/"+url.PathEscape(string(info.ID)))
	}
	card := s.cardNamed(me, info, n.Name)
	return cardForm.Answer(c, status, &card)
}

// cardNamed is cardOf with the name or id that the request used for the session.
func (s *sessionHandlers) cardNamed(id auth.Identity, info session.Info, called wire.SessionID) sessionCard {
	card := cardOf(id, info, s.provider)
	if called != "" {
		card.SessionID, card.Directory = called, string(called)
	}
	return card
}

func (s *sessionHandlers) get(c echo.Context) error {
	return s.answer(c, s.requests.actions.RecordRead)
}

// respond responds with a session after a change, which was audited itself.
func (s *sessionHandlers) respond(c echo.Context) error {
	return s.answer(c, func(echo.Context, session.Info) error { return nil })
}

func (s *sessionHandlers) answer(c echo.Context, record func(echo.Context, session.Info) error) error {
	// Quarantined sessions are included, so that users see them.
	called := wire.SessionID(c.Param("session"))
	granted, info, err := s.sessions.Access(c.Request().Context(), access.Caller(c), called)
	if err != nil && granted == access.None {
		return err
	}
	if err := record(c, info); err != nil {
		return err
	}
	card := s.cardNamed(access.Caller(c), info, called)
	s.markNewcomers(c.Request().Context(), card.Shares)
	return cardForm.Answer(c, http.StatusOK, &card)
}

// maxNewcomers bounds how many users are looked up for one answer.
const maxNewcomers = 16

// markNewcomers marks the users who have no session of their own. The hub has no list of users, so this is how the
// owner notices a mistyped name.
func (s *sessionHandlers) markNewcomers(ctx context.Context, shares []shareGrant) {
	for i := range min(len(shares), maxNewcomers) {
		theirs, err := s.hub.List(ctx, store.Query{User: shares[i].User, Limit: 1})
		shares[i].Newcomer = err == nil && len(theirs.Items) == 0
	}
}

func (s *sessionHandlers) patch(c echo.Context) error {
	info, err := s.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	in, err := sessionPatchForm.Read(c, s.frameBytes)
	if err != nil {
		return err
	}
	if in.Title != nil {
		err := s.actions.ChangeAsOwner(c, info, admin.Action{Action: "session.rename", Execute: func(ctx context.Context, _ string) (string, error) {
			return "", s.hub.Rename(ctx, info.ID, *in.Title)
		}})
		if err != nil {
			return err
		}
	}
	return s.respond(c)
}

func (s *sessionHandlers) delete(c echo.Context) error {
	info, err := s.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	err = s.actions.ChangeAsOwner(c, info, admin.Action{Action: admin.ActionDelete, Execute: func(ctx context.Context, _ string) (string, error) {
		return "", s.sessions.Remove(ctx, info.ID)
	}, DoneIfGone: true})
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *sessionHandlers) putShare(c echo.Context) error {
	info, err := s.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	in, err := newShareForm.Read(c, s.frameBytes)
	if err != nil {
		return err
	}
	share := session.Share(in.Access)
	if share != session.ShareViewer && share != session.ShareOperator {
		return problem.Query("access", "Want viewer or operator.")
	}
	if err := s.setShare(c, info, httpio.PathParam(c, "user"), share); err != nil {
		return err
	}
	s.connections.RecheckSession(info.ID)
	return s.respond(c)
}

func (s *sessionHandlers) deleteShare(c echo.Context) error {
	info, err := s.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	if err := s.setShare(c, info, httpio.PathParam(c, "user"), ""); err != nil {
		return err
	}
	s.connections.RecheckSession(info.ID)
	return c.NoContent(http.StatusNoContent)
}

// putOwner gives the session to another user.
func (s *sessionHandlers) putOwner(c echo.Context) error {
	info, err := s.requests.require(c, access.Owner)
	if err != nil {
		return err
	}
	in, err := newOwnerForm.Read(c, s.frameBytes)
	if err != nil {
		return err
	}
	if info.Shares[in.User] == "" && in.User != info.User { // before the audit log, which is for what could happen
		return problem.Query("user", "The session is not shared with this user; invite them first.")
	}
	err = s.actions.PerformWithoutReason(c, admin.Action{Action: "session.give", Target: string(info.ID), Execute: func(ctx context.Context, _ string) (string, error) {
		return fmt.Sprintf("from: %q; to: %q", info.User, in.User), s.sessions.Give(ctx, info, in.User)
	}})
	if err != nil {
		return err
	}
	s.connections.RecheckSession(info.ID)
	return s.respond(c)
}

// setShare changes the access of another user to a session; as is empty to remove it.
func (s *sessionHandlers) setShare(c echo.Context, info session.Info, user string, as session.Share) error {
	return s.actions.ChangeAsOwner(c, info, admin.Action{Action: "session.share", Target: "/" + user, Execute: func(ctx context.Context, _ string) (string, error) {
		return "access: " + cmp.Or(string(as), "none"), s.hub.Share(ctx, info.ID, user, as)
	}})
}
