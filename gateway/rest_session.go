package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sessionCard is a session in a listing. Its first three fields are what desktops
// of the other dialect read.
type sessionCard struct {
	SessionID wire.SessionID  `json:"sessionId" doc:"The id; in the answer to a request that uses the name, that name."`
	Directory string          `json:"directory" doc:"The same as sessionId; desktops of the other dialect want it."`
	Metadata  sessionMetadata `json:"metadata"`
	User      string          `json:"user" doc:"Whose session it is."`
	Name      wire.SessionID  `json:"name,omitempty" doc:"What its user calls it in place of the id."`
	Title     string          `json:"title,omitempty"`
	Access    string          `json:"access" doc:"What the caller may do: viewer, operator or owner."`
	Shares    []shareGrant    `json:"shares,omitempty" doc:"Who else may use it; only owners see this."`
	Working   bool            `json:"working" doc:"Whether it has unfinished work."`
	Owner     wire.ReplicaID  `json:"owner,omitempty" doc:"The replica that runs it."`
	Top       wire.Position   `json:"top,omitzero" doc:"The position of its newest event."`
	// SetAside says that the session is in quarantine.
	SetAside bool `json:"setAside,omitempty" doc:"Its data cannot be read; an operator has to look at it."`
}

// sessionMetadata is what desktops of the other dialect know of a session.
type sessionMetadata struct {
	CreatedAt    string                            `json:"createdAt" doc:"RFC 3339."`
	Provider     string                            `json:"provider"`
	LastActivity string                            `json:"lastActivity" doc:"RFC 3339."`
	Agents       wire.Object[string, sessionAgent] `json:"agents"`
}

// sessionAgent is an agent that took part in a session.
type sessionAgent struct {
	AgentID string `json:"agentId"`
}

// shareGrant is what somebody else may do in a session.
type shareGrant struct {
	User   string `json:"user"`
	Access string `json:"access" doc:"viewer or operator."`
}

// sessionList is a page of sessions.
type sessionList struct {
	Sessions []sessionCard `json:"sessions"`
	Next     string        `json:"next,omitempty" doc:"The after of the next page; absent on the last."`
}

// newSession is a request for a session.
type newSession struct {
	SessionID wire.SessionID `json:"sessionId,omitempty" doc:"A name to call the session by in place of an id: letters, digits, _ and -, not beginning with ses-. Names are the caller's own. If the caller has a session of that name, that is the answer, with 200."`
	Title     string         `json:"title,omitempty"`
}

// sessionPatch changes a session.
type sessionPatch struct {
	Title *string `json:"title,omitempty"`
}

// newShare is what somebody shall be allowed.
type newShare struct {
	Access string `json:"access" doc:"viewer or operator."`
}

var (
	cardForm         = formOf[sessionCard]()
	listForm         = formOf[sessionList]()
	newSessionForm   = formOf[newSession]()
	sessionPatchForm = formOf[sessionPatch]()
	newShareForm     = formOf[newShare]()
)

const (
	// listPage is how many sessions a page shows at most.
	listPage = 100
	// listMost is how many sessions are put in order. Who has more sees some.
	listMost = 10_000
)

func (s *Server) cardOf(id auth.Identity, info session.Info) sessionCard {
	granted := accessFor(id, info)
	card := sessionCard{
		SessionID: info.ID, Directory: string(info.ID), User: info.User, Name: info.Name, Title: info.Title,
		Access: granted.String(), Working: info.Working, Owner: info.Owner, Top: info.Top, SetAside: info.Quarantined != "",
		Metadata: sessionMetadata{CreatedAt: stamp(info.Created), LastActivity: stamp(info.Updated), Provider: cmp.Or(s.defaultProvider, "none")},
	}
	if granted == accessOwner {
		for user, share := range info.Shares {
			card.Shares = append(card.Shares, shareGrant{user, string(share)})
		}
		slices.SortFunc(card.Shares, func(a, b shareGrant) int { return cmp.Compare(a.User, b.User) })
	}
	return card
}

// String is the name of the access in answers.
func (a access) String() string {
	return [...]string{"none", "viewer", "operator", "owner"}[a]
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// sessionsOf are the sessions of a user, or of all when that is empty, the one
// that was used last first.
func (s *Server) sessionsOf(ctx context.Context, user string) ([]session.Info, error) {
	var all []session.Info
	for q := (store.Query{User: user, Limit: 1000}); ; {
		page, err := s.hub.List(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if q.After = page.Next; q.After == "" || len(all) >= listMost {
			break
		}
	}
	slices.SortFunc(all, func(a, b session.Info) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// listed are the sessions that somebody sees in a listing: those of a user, or the
// one that their credential is for, whosever it is.
func (s *Server) listed(ctx context.Context, me auth.Identity, user string) ([]session.Info, error) {
	if !mayHaveSessions(me) {
		return nil, nil
	}
	if me.Session == "" {
		return s.sessionsOf(ctx, user)
	}
	granted, info, err := s.accessTo(ctx, me, me.Session)
	if granted != accessNone { // also one that was set aside
		return []session.Info{info}, nil
	}
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeSessionNotFound {
		return nil, nil
	}
	return nil, err
}

// listSessions shows the caller's sessions. Admins may ask for somebody else's
// or everybody's.
func (s *Server) listSessions(c echo.Context) error {
	me := caller(c)
	user := me.User
	if other, everybody := c.QueryParam("user"), c.QueryParam("all") == "true"; other != "" || everybody {
		if !me.Has(auth.RoleAdmin) {
			return problem(wire.CodeForbidden, "")
		}
		user = other
	}
	limit, err := listLimit.read(c)
	if err != nil {
		return err
	}
	all, err := s.listed(c.Request().Context(), me, user)
	if err != nil {
		return err
	}
	if after := c.QueryParam("after"); after != "" {
		if all, err = following(all, after); err != nil {
			return err
		}
	}
	list := sessionList{Sessions: []sessionCard{}}
	for _, info := range all[:min(limit, len(all))] {
		list.Sessions = append(list.Sessions, s.cardOf(me, info))
	}
	if len(all) > limit {
		list.Next = cursorOf(all[limit-1])
	}
	return listForm.answer(c, http.StatusOK, &list)
}

// cursorOf names the place of a session in a listing, whether it stays there or
// not.
func cursorOf(i session.Info) string {
	return strconv.FormatInt(i.Updated.UnixNano(), 36) + "." + string(i.ID)
}

// following drops what was on earlier pages.
func following(all []session.Info, cursor string) ([]session.Info, error) {
	text, id, ok := strings.Cut(cursor, ".")
	nanos, err := strconv.ParseInt(text, 36, 64)
	if !ok || err != nil {
		return nil, queryProblem("after", "Want the next of an earlier page.")
	}
	at := time.Unix(0, nanos)
	return slices.DeleteFunc(all, func(i session.Info) bool {
		return i.Updated.After(at) || i.Updated.Equal(at) && string(i.ID) <= id
	}), nil
}

// createSession makes a session that belongs to the caller.
func (s *Server) createSession(c echo.Context) error {
	me := caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return problem(wire.CodeForbidden, "")
	}
	in, err := newSessionForm.read(s, c)
	if err != nil {
		return err
	}
	var info session.Info
	made, n := true, session.NewSession{User: me.User, Title: in.Title, Name: in.SessionID}
	switch {
	case n.Name == "":
		info, err = s.createWithinLimit(c.Request().Context(), n)
	case !session.IsName(n.Name):
		return queryProblem("sessionId", "Want up to 64 letters, digits, _ and -, not beginning with ses-.")
	default:
		info, made, err = s.openNamed(c.Request().Context(), n)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
		c.Response().Header().Set(echo.HeaderLocation, "/api/sessions/"+url.PathEscape(string(info.ID)))
	}
	card := s.cardAs(me, info, n.Name)
	return cardForm.answer(c, status, &card)
}

// cardAs is cardOf in the answer to a request that has the session's name or its id.
func (s *Server) cardAs(id auth.Identity, info session.Info, called wire.SessionID) sessionCard {
	card := s.cardOf(id, info)
	if called != "" {
		card.SessionID, card.Directory = called, string(called)
	}
	return card
}

func (s *Server) getSession(c echo.Context) error {
	// A session that was set aside is shown: that is how one learns of it.
	called := wire.SessionID(c.Param("session"))
	granted, info, err := s.accessTo(c.Request().Context(), caller(c), called)
	if err != nil && granted == accessNone {
		return err
	}
	card := s.cardAs(caller(c), info, called)
	return cardForm.answer(c, http.StatusOK, &card)
}

func (s *Server) patchSession(c echo.Context) error {
	info, err := s.requireAccess(c, accessOwner)
	if err != nil {
		return err
	}
	in, err := sessionPatchForm.read(s, c)
	if err != nil {
		return err
	}
	if in.Title != nil {
		err := s.asOwner(c, info, adminAction{action: "session.rename", do: func(ctx context.Context, _ string) (string, error) {
			return "", s.hub.Rename(ctx, info.ID, *in.Title)
		}})
		if err != nil {
			return err
		}
	}
	return s.getSession(c)
}

func (s *Server) deleteSession(c echo.Context) error {
	info, err := s.requireAccess(c, accessOwner)
	if err != nil {
		return err
	}
	err = s.asOwner(c, info, adminAction{action: actionDelete, do: func(ctx context.Context, _ string) (string, error) {
		return "", s.removeWithFiles(ctx, info.ID)
	}, final: true})
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// removeWithFiles deletes a session and what was uploaded to it.
func (s *Server) removeWithFiles(ctx context.Context, id wire.SessionID) error {
	info, _ := s.hub.Info(ctx, id) // a name that is left behind does no harm
	// The files go first: what a crash leaves behind is then a session without
	// files, never files without a session.
	if err := s.files.RemoveAll(id); err != nil {
		return err
	}
	if err := s.hub.Delete(ctx, id); err != nil {
		return err
	}
	s.deleteName(ctx, info)
	// Something may have been uploaded meanwhile. The session is gone now,
	// whatever the disk says.
	if err := s.files.RemoveAll(id); err != nil {
		s.log.WarnContext(ctx, "files of a deleted session are still there", "session", id, "err", err)
	}
	return nil
}

func (s *Server) putShare(c echo.Context) error {
	info, err := s.requireAccess(c, accessOwner)
	if err != nil {
		return err
	}
	in, err := newShareForm.read(s, c)
	if err != nil {
		return err
	}
	share := session.Share(in.Access)
	if share != session.ShareViewer && share != session.ShareOperator {
		return queryProblem("access", "Want viewer or operator.")
	}
	if err := s.share(c, info, pathParam(c, "user"), share); err != nil {
		return err
	}
	s.recheckSession(info.ID)
	return s.getSession(c)
}

func (s *Server) deleteShare(c echo.Context) error {
	info, err := s.requireAccess(c, accessOwner)
	if err != nil {
		return err
	}
	if err := s.share(c, info, pathParam(c, "user"), ""); err != nil {
		return err
	}
	s.recheckSession(info.ID)
	return c.NoContent(http.StatusNoContent)
}

// share lets somebody use a session, or not any more.
func (s *Server) share(c echo.Context, info session.Info, user string, as session.Share) error {
	return s.asOwner(c, info, adminAction{action: "session.share", target: "/" + user, do: func(ctx context.Context, _ string) (string, error) {
		return "access: " + cmp.Or(string(as), "none"), s.hub.Share(ctx, info.ID, user, as)
	}})
}

// pathParam is a part of the path as it was meant. Echo leaves parts escaped
// when the path has escapes that matter, such as %2F.
func pathParam(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	plain, err := url.PathUnescape(value)
	if err != nil {
		return value
	}
	return plain
}
