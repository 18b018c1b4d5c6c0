package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// handoverOrder is the body of a handover.
type handoverOrder struct {
	Reason string         `json:"reason" wire:"min=1,max=500" doc:"The reason, for the audit log."`
	To     wire.ReplicaID `json:"to" doc:"The replica that becomes the owner."`
}

var handoverOrderForm = httpio.FormOf[handoverOrder]()

// closeTab closes a connection to a session on whichever replica it is.
func (cm *commands) closeTab(c echo.Context) error {
	in, err := adminOrderForm.Read(c, cm.frameBytes)
	if err != nil {
		return err
	}
	connection := wire.ConnectionID(httpio.PathParam(c, "connection"))
	if connection.Validate() != nil {
		return errNoConnection()
	}
	action := Action{Action: "tab.close", Target: "/" + string(connection), reason: in.Reason, DoneIfGoneOnRetry: true}
	name := commandSuffix()
	return cm.performOnSession(c, action, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		self := cm.members.Card().ID
		if cm.hub.CloseTab(id, connection) {
			return "it was at " + string(self), nil
		}
		return cm.closeOnReplicas(ctx, membership.Command{Kind: membership.CommandCloseTab, Session: id, Connection: connection}, act+name)
	})
}

func errNoConnection() error {
	return problem.Status(http.StatusNotFound, "There is no such connection to this session.")
}

// closeOnReplicas sends a command to close a connection to all other replicas, until one has found
// it.
func (cm *commands) closeOnReplicas(ctx context.Context, command membership.Command, name string) (string, error) {
	var pending sync.WaitGroup
	defer pending.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the other replicas need not answer any more
	all, err := cm.members.Replicas(ctx)
	if err != nil {
		return "", err
	}
	type reply struct {
		from   wire.ReplicaID
		answer membership.Answer
		err    error
	}
	self, asked, answers := cm.members.Card().ID, 0, make(chan reply, len(all))
	for _, r := range all {
		if r.ID == self {
			continue
		}
		asked++
		pending.Go(func() {
			answer, err := cm.members.Send(ctx, r.ID, name, command)
			answers <- reply{r.ID, answer, err}
		})
	}
	var unanswered error
	for range asked {
		switch got := <-answers; {
		case got.err != nil && !errors.Is(got.err, membership.ErrUnknown): // a replica that is gone has no connections
			unanswered = unansweredProblem(got.from, got.err)
		case got.answer.Found:
			return "it was at " + string(got.from), nil
		}
	}
	if unanswered != nil {
		return "", unanswered
	}
	return "", errNoConnection()
}

// commandSuffix returns a random suffix for the id of a command. All requests that wait for the
// same run of an action wait for the same command; a later run needs a new command, because the
// answer to the first may be outdated.
func commandSuffix() string { return "." + rand.Text()[:10] }

// unansweredProblem returns the error for a replica that could not be reached or has let a command
// expire, as one does that is killed meanwhile or knows no commands.
func unansweredProblem(id wire.ReplicaID, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problem.New(wire.CodeConnectionTimeout, fmt.Sprintf("Replica %s was asked and did not answer.", id)).WithStatus(http.StatusGatewayTimeout)
	}
	return fmt.Errorf("ask %s: %w", id, err)
}

// handOver moves a session to another replica.
func (cm *commands) handOver(c echo.Context) error {
	in, err := handoverOrderForm.Read(c, cm.frameBytes)
	if err != nil {
		return err
	}
	action := Action{Action: "session.handover", Target: "/" + string(in.To), reason: in.Reason}
	action.precondition = func(ctx context.Context) error { return cm.checkServing(ctx, in.To) }
	name := commandSuffix()
	return cm.performOnSession(c, action, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		answer, err := cm.members.Send(ctx, in.To, act+name, membership.Command{Kind: membership.CommandFetch, Session: id})
		switch {
		case errors.Is(err, membership.ErrUnknown):
			return "", errNoReplica()
		case err != nil:
			return "", unansweredProblem(in.To, err)
		case answer.Code != 0:
			return "", problem.New(answer.Code, answer.Reason)
		}
		return answer.Detail, nil
	})
}

// checkServing returns an error if a replica cannot take over a session.
func (cm *commands) checkServing(ctx context.Context, id wire.ReplicaID) error {
	all, err := cm.members.Replicas(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		switch {
		case r.ID != id:
		case r.State != membership.Serving:
			return problem.New(wire.CodeSessionInvalidState, fmt.Sprintf("Replica %s is %s and takes no sessions.", id, r.State))
		default:
			return nil
		}
	}
	return errNoReplica()
}

// Execute executes a command of another replica.
func (cm *commands) Execute(ctx context.Context, command membership.Command) membership.Answer {
	switch command.Kind {
	case membership.CommandFetch:
		got, err := cm.hub.TakeOwnership(ctx, command.Session)
		if err != nil {
			p := problem.Of(err)
			return membership.Answer{Code: p.Code, Reason: p.Detail}
		}
		self := cm.members.Card().ID
		if got.From == self {
			return membership.Answer{Found: true, Detail: fmt.Sprintf("owner: %s already", self)}
		}
		return membership.Answer{Found: true, Detail: fmt.Sprintf("owner: %s, then %s (epoch %d)", replicaOrNone(got.From), self, got.Epoch)}
	case membership.CommandCloseTab:
		return membership.Answer{Found: cm.hub.CloseTab(command.Session, command.Connection)}
	}
	return membership.Answer{Code: wire.CodeInvalidMessage, Reason: "this replica does not know how to do that"}
}

func replicaOrNone(id wire.ReplicaID) string {
	if id == "" {
		return "none"
	}
	return string(id)
}
