package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// adminOrder is why something is done.
type adminOrder struct {
	Reason string `json:"reason" wire:"min=1,max=500" doc:"Why; it is kept with who did it."`
}

var adminOrderForm = formOf[adminOrder]()

// adminAction is something an admin does.
type adminAction struct {
	action, target string
	reason         string
	// check says why it cannot be done, before it is written down.
	check func(ctx context.Context) error
	// do does it, under the id of the action, and says how things were before and
	// after, if that can be said. It may be called again when it is not clear
	// whether it was done.
	do func(ctx context.Context, id string) (detail string, err error)
	// allowed says why it cannot be done to a session that is there; nil when
	// nothing else has to be so.
	allowed func(ctx context.Context) error
	// opens says that the session has to be opened for it.
	opens bool
	// final says that when the target is gone after the action was written down,
	// it was done, and fleeting the same for when it was tried already.
	final, fleeting bool
}

// performAudited does a action: once for its id, and only after it was written down. The
// answer is its record, of how it ended or, when that takes long, that it began.
func (s *Server) performAudited(c echo.Context, d adminAction) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), answerTimeout)
	defer cancel()
	id := wire.MessageID(c.Request().Header.Get(headerIdempotencyKey))
	if id != "" && id.Validate() != nil {
		return queryProblem(headerIdempotencyKey, "Want 1 to 64 characters.")
	}
	if audit.CheckReason(d.reason) != nil {
		return queryProblem("reason", "Say why, in 1 to 500 characters.")
	}
	known, err := s.performAction(ctx, d, s.recordOf(c, d, cmp.Or(string(id), "act-"+rand.Text())))
	if err != nil {
		return err
	}
	card, status := auditCardOf(&known), http.StatusOK
	if known.Result == audit.Begun {
		status = http.StatusAccepted
	}
	return auditCardForm.answer(c, status, &card)
}

// reused is the error of a witness for clients.
func reused(err error) error {
	if errors.Is(err, audit.ErrReused) {
		p := problem(wire.CodeSessionInvalidState, "That key stands for another action already.")
		p.Field = headerIdempotencyKey
		return p
	}
	return err
}

// isMissing reports whether an error says that there is nothing to do it to.
func isMissing(err error) bool {
	p, ok := errors.AsType[*problemError](err)
	return ok && p.Status == http.StatusNotFound
}

// isGone reports whether an error says that there is no such session.
func isGone(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == wire.CodeSessionNotFound
}

func (s *Server) drainReplica(c echo.Context) error {
	return s.connectRequestOf(c, "replica.drain", membership.OrderDrain)
}

func (s *Server) undrainReplica(c echo.Context) error {
	return s.connectRequestOf(c, "replica.undrain", membership.OrderServe)
}

// connectRequestOf has a replica drain or serve again.
func (s *Server) connectRequestOf(c echo.Context, action string, order membership.Order) error {
	in, err := adminOrderForm.read(s, c)
	if err != nil {
		return err
	}
	id := wire.ReplicaID(pathParam(c, "replica"))
	return s.performAudited(c, adminAction{
		action: action, target: string(id), reason: in.Reason,
		check: func(ctx context.Context) error {
			all, err := s.members.Replicas(ctx)
			if err != nil {
				return err
			}
			for _, r := range all {
				if r.ID == id {
					return nil
				}
			}
			return errNoReplica()
		},
		do: func(ctx context.Context, actionID string) (string, error) {
			err := s.members.Order(ctx, id, membership.ReplicaOrder{ID: actionID, Order: order})
			if errors.Is(err, membership.ErrUnknown) {
				err = errNoReplica()
			}
			return "", err
		},
	})
}

func errNoReplica() error {
	return statusProblem(http.StatusNotFound, "No replica of that name is alive.")
}
