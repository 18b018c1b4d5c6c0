package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// adminSession is all that the directory knows of a session.
type adminSession struct {
	SessionID   wire.SessionID `json:"sessionId"`
	User        string         `json:"user"`
	Title       string         `json:"title,omitempty"`
	Owner       wire.ReplicaID `json:"owner,omitempty" doc:"The replica that runs it, or did when its lease ran out."`
	Until       string         `json:"until,omitempty" doc:"When its lease runs out unless renewed; RFC 3339."`
	Epoch       uint64         `json:"epoch" doc:"Grows with every owner."`
	Working     bool           `json:"working" doc:"Whether it has unfinished work."`
	Top         wire.Position  `json:"top,omitzero" doc:"The position of its newest event."`
	Oldest      wire.Position  `json:"oldest,omitzero" doc:"The position of the oldest event that is kept."`
	CreatedAt   string         `json:"createdAt" doc:"RFC 3339."`
	UpdatedAt   string         `json:"updatedAt" doc:"RFC 3339."`
	Quarantined string         `json:"quarantined,omitempty" doc:"Why it is set aside."`
}

// adminSessionList is a page of sessions.
type adminSessionList struct {
	Sessions []adminSession `json:"sessions"`
	Next     string         `json:"next,omitempty" doc:"The after of the next page; absent on the last."`
}

var (
	adminSessionForm     = formOf[adminSession]()
	adminSessionListForm = formOf[adminSessionList]()
)

// scanPages is how many pages of the directory are looked through for one of a
// listing that wants only some.
const scanPages = 20

func adminSessionOf(i session.Info) adminSession {
	a := adminSession{
		SessionID: i.ID, User: i.User, Title: i.Title, Owner: i.Owner, Epoch: i.Epoch, Working: i.Working,
		Top: i.Top, Oldest: i.Oldest, CreatedAt: stamp(i.Created), UpdatedAt: stamp(i.Updated), Quarantined: i.Quarantined,
	}
	if i.Owner != "" {
		a.Until = stamp(i.Until)
	}
	return a
}

// listAllSessions shows everybody's sessions in no order, but each once.
func (s *Server) listAllSessions(c echo.Context) error {
	limit, err := pageSize(c, listPage)
	if err != nil {
		return err
	}
	wants, err := sessionFilter(c)
	if err != nil {
		return err
	}
	list := adminSessionList{Sessions: []adminSession{}}
	q := store.Query{User: c.QueryParam("user"), After: c.QueryParam("after"), Limit: limit}
	for range scanPages {
		page, err := s.hub.List(c.Request().Context(), q)
		if err != nil {
			return err
		}
		for _, i := range page.Items {
			if wants(i) {
				list.Sessions = append(list.Sessions, adminSessionOf(i))
			}
		}
		q.After, list.Next = page.Next, page.Next
		if q.After == "" || len(list.Sessions) > 0 {
			break
		}
	}
	return adminSessionListForm.answer(c, http.StatusOK, &list)
}

// sessionFilter reads which sessions are wanted.
func sessionFilter(c echo.Context) (func(session.Info) bool, error) {
	owner := wire.ReplicaID(c.QueryParam("owner"))
	if owner != "" && owner.Validate() != nil {
		return nil, inQuery("owner", "Want the name of a replica.")
	}
	aside := c.QueryParam("quarantined")
	switch aside {
	case "", "true", "false":
	default:
		return nil, inQuery("quarantined", "Want true or false.")
	}
	return func(i session.Info) bool {
		return (owner == "" || i.Owner == owner) && (aside == "" || (i.Quarantined != "") == (aside == "true"))
	}, nil
}

func (s *Server) getAnySession(c echo.Context) error {
	info, err := s.hub.Info(c.Request().Context(), wire.SessionID(c.Param("session")))
	if err != nil {
		return err
	}
	card := adminSessionOf(info)
	return adminSessionForm.answer(c, http.StatusOK, &card)
}
