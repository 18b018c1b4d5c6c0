package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/fleet"
	"github.com/everdesk/everdesk/wire"
)

// handoverOrder is a handover that an admin wants.
type handoverOrder struct {
	Reason string         `json:"reason" wire:"min=1,max=500" doc:"Why; it is kept with who did it."`
	To     wire.ReplicaID `json:"to" doc:"The replica that is to run the session."`
}

var handoverOrderForm = formOf[handoverOrder]()

// errandTimeout is how long all replicas together may take to look for a connection.
const errandTimeout = 10 * time.Second

// closeTab closes a connection to a session, wherever it is.
func (s *Server) closeTab(c echo.Context) error {
	in, err := adminOrderForm.read(s, c)
	if err != nil {
		return err
	}
	connection := wire.ConnectionID(pathParam(c, "connection"))
	if connection.Validate() != nil {
		return errNoConnection()
	}
	d := deed{action: "tab.close", target: "/" + string(connection), reason: in.Reason}
	return s.onSession(c, d, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		self := s.fleet.Card().ID
		if s.hub.CloseTab(id, connection) {
			return "it was at " + string(self), nil
		}
		return s.closeElsewhere(ctx, fleet.Errand{Kind: fleet.ErrandCloseTab, Session: id, Connection: connection}, act)
	})
}

func errNoConnection() error {
	return misdirected(http.StatusNotFound, "There is no such connection to this session.")
}

// closeElsewhere asks all other replicas to close a connection, until one had it.
func (s *Server) closeElsewhere(ctx context.Context, e fleet.Errand, act string) (string, error) {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithTimeout(ctx, errandTimeout)
	defer cancel() // who is still asked need not answer
	all, err := s.fleet.Replicas(ctx)
	if err != nil {
		return "", err
	}
	type heard struct {
		from   wire.ReplicaID
		answer fleet.Answer
		err    error
	}
	self, asked, answers := s.fleet.Card().ID, 0, make(chan heard, len(all))
	for _, r := range all {
		if r.ID == self {
			continue
		}
		asked++
		asking.Go(func() {
			answer, err := s.fleet.Send(ctx, r.ID, errandID(act), e)
			answers <- heard{r.ID, answer, err}
		})
	}
	var silent error
	for range asked {
		switch h := <-answers; {
		case h.err != nil && !errors.Is(h.err, fleet.ErrUnknown): // who is gone has no connections
			silent = fmt.Errorf("ask %s: %w", h.from, h.err)
		case h.answer.Found:
			return "it was at " + string(h.from), nil
		}
	}
	if silent != nil {
		return "", silent
	}
	return "", errNoConnection()
}

// errandID names an errand of an action. An action that is tried again has another one
// done, for the answer to the first may be old.
func errandID(act string) string { return act + "." + rand.Text()[:10] }

// handOver has a session run at another replica.
func (s *Server) handOver(c echo.Context) error {
	in, err := handoverOrderForm.read(s, c)
	if err != nil {
		return err
	}
	d := deed{action: "session.handover", target: "/" + string(in.To), reason: in.Reason}
	d.allowed = func(ctx context.Context) error { return s.takesSessions(ctx, in.To) }
	return s.onSession(c, d, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		answer, err := s.fleet.Send(ctx, in.To, errandID(act), fleet.Errand{Kind: fleet.ErrandFetch, Session: id})
		switch {
		case errors.Is(err, fleet.ErrUnknown):
			return "", errNoReplica()
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Sprintf("%s was asked and has not taken the session yet; ask again with the same key to hear how it ended", in.To), errUnderway
		case err != nil:
			return "", err
		case answer.Code != 0:
			return "", problem(answer.Code, answer.Reason)
		}
		return answer.Detail, nil
	})
}

// takesSessions says why a replica cannot be given a session.
func (s *Server) takesSessions(ctx context.Context, id wire.ReplicaID) error {
	all, err := s.fleet.Replicas(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		switch {
		case r.ID != id:
		case r.State != fleet.Serving:
			return problem(wire.CodeSessionInvalidState, fmt.Sprintf("Replica %s is %s and takes no sessions.", id, r.State))
		default:
			return nil
		}
	}
	return errNoReplica()
}

// Errand does something for another replica.
func (s *Server) Errand(ctx context.Context, e fleet.Errand) fleet.Answer {
	switch e.Kind {
	case fleet.ErrandFetch:
		got, err := s.hub.Fetch(ctx, e.Session)
		if err != nil {
			p := problemOf(err, &http.Request{})
			return fleet.Answer{Code: p.Code, Reason: p.Detail}
		}
		self := s.fleet.Card().ID
		if got.From == self {
			return fleet.Answer{Found: true, Detail: fmt.Sprintf("owner: %s already", self)}
		}
		return fleet.Answer{Found: true, Detail: fmt.Sprintf("owner: %s, then %s (epoch %d)", orNobody(got.From), self, got.Epoch)}
	case fleet.ErrandCloseTab:
		return fleet.Answer{Found: s.hub.CloseTab(e.Session, e.Connection)}
	}
	return fleet.Answer{Code: wire.CodeInvalidMessage, Reason: "this replica does not know how to do that"}
}

func orNobody(id wire.ReplicaID) string {
	if id == "" {
		return "nobody"
	}
	return string(id)
}
