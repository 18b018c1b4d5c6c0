package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// handoverOrder is a handover that an admin wants.
type handoverOrder struct {
	Reason string         `json:"reason" wire:"min=1,max=500" doc:"Why; it is kept with who did it."`
	To     wire.ReplicaID `json:"to" doc:"The replica that is to run the session."`
}

var handoverOrderForm = formOf[handoverOrder]()

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
	d := adminAction{action: "tab.close", target: "/" + string(connection), reason: in.Reason, fleeting: true}
	name := commandName()
	return s.onSession(c, d, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		self := s.members.Card().ID
		if s.hub.CloseTab(id, connection) {
			return "it was at " + string(self), nil
		}
		return s.closeElsewhere(ctx, membership.Command{Kind: membership.CommandCloseTab, Session: id, Connection: connection}, act+name)
	})
}

func errNoConnection() error {
	return statusProblem(http.StatusNotFound, "There is no such connection to this session.")
}

// closeElsewhere asks all other replicas to close a connection, until one had it.
func (s *Server) closeElsewhere(ctx context.Context, e membership.Command, name string) (string, error) {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // who is still asked need not answer
	all, err := s.members.Replicas(ctx)
	if err != nil {
		return "", err
	}
	type heard struct {
		from   wire.ReplicaID
		answer membership.Answer
		err    error
	}
	self, asked, answers := s.members.Card().ID, 0, make(chan heard, len(all))
	for _, r := range all {
		if r.ID == self {
			continue
		}
		asked++
		asking.Go(func() {
			answer, err := s.members.Send(ctx, r.ID, name, e)
			answers <- heard{r.ID, answer, err}
		})
	}
	var silent error
	for range asked {
		switch h := <-answers; {
		case h.err != nil && !errors.Is(h.err, membership.ErrUnknown): // who is gone has no connections
			silent = unanswered(h.from, h.err)
		case h.answer.Found:
			return "it was at " + string(h.from), nil
		}
	}
	if silent != nil {
		return "", silent
	}
	return "", errNoConnection()
}

// commandName is what an command has after the id of its action. Whoever waits for the
// same action waits for the same command; one that is begun again later has another done,
// for the answer to the first may be old.
func commandName() string { return "." + rand.Text()[:10] }

// unanswered is what is said of a replica that cannot be asked, or has let an command
// run out, as one does that is killed meanwhile or knows of no commands.
func unanswered(id wire.ReplicaID, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problem(wire.CodeConnectionTimeout, fmt.Sprintf("Replica %s was asked and did not answer.", id)).withStatus(http.StatusGatewayTimeout)
	}
	return fmt.Errorf("ask %s: %w", id, err)
}

// handOver has a session run at another replica.
func (s *Server) handOver(c echo.Context) error {
	in, err := handoverOrderForm.read(s, c)
	if err != nil {
		return err
	}
	d := adminAction{action: "session.handover", target: "/" + string(in.To), reason: in.Reason}
	d.allowed = func(ctx context.Context) error { return s.takesSessions(ctx, in.To) }
	name := commandName()
	return s.onSession(c, d, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		answer, err := s.members.Send(ctx, in.To, act+name, membership.Command{Kind: membership.CommandFetch, Session: id})
		switch {
		case errors.Is(err, membership.ErrUnknown):
			return "", errNoReplica()
		case err != nil:
			return "", unanswered(in.To, err)
		case answer.Code != 0:
			return "", problem(answer.Code, answer.Reason)
		}
		return answer.Detail, nil
	})
}

// takesSessions says why a replica cannot be given a session.
func (s *Server) takesSessions(ctx context.Context, id wire.ReplicaID) error {
	all, err := s.members.Replicas(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		switch {
		case r.ID != id:
		case r.State != membership.Serving:
			return problem(wire.CodeSessionInvalidState, fmt.Sprintf("Replica %s is %s and takes no sessions.", id, r.State))
		default:
			return nil
		}
	}
	return errNoReplica()
}

// ExecuteCommand does something for another replica.
func (s *Server) ExecuteCommand(ctx context.Context, e membership.Command) membership.Answer {
	switch e.Kind {
	case membership.CommandFetch:
		got, err := s.hub.TakeOwnership(ctx, e.Session)
		if err != nil {
			p := problemOf(err, &http.Request{})
			return membership.Answer{Code: p.Code, Reason: p.Detail}
		}
		self := s.members.Card().ID
		if got.From == self {
			return membership.Answer{Found: true, Detail: fmt.Sprintf("owner: %s already", self)}
		}
		return membership.Answer{Found: true, Detail: fmt.Sprintf("owner: %s, then %s (epoch %d)", orNobody(got.From), self, got.Epoch)}
	case membership.CommandCloseTab:
		return membership.Answer{Found: s.hub.CloseTab(e.Session, e.Connection)}
	}
	return membership.Answer{Code: wire.CodeInvalidMessage, Reason: "this replica does not know how to do that"}
}

func orNobody(id wire.ReplicaID) string {
	if id == "" {
		return "nobody"
	}
	return string(id)
}
