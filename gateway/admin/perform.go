package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// adminOrder is the body of most admin actions.
type adminOrder struct {
	Reason string `json:"reason" wire:"min=1,max=500" doc:"The reason, for the audit log."`
}

var adminOrderForm = httpio.FormOf[adminOrder]()

// Action describes an admin action.
type Action struct {
	Action, Target string
	reason         string
	// check returns an error if the action is not possible. It runs before the action is recorded.
	check func(ctx context.Context) error
	// Execute executes the action under its id and returns the state before and after, if known. It
	// is called again when its outcome is unknown, so a second call must be harmless.
	Execute func(ctx context.Context, id string) (detail string, err error)
	// precondition returns an error if the action is not possible on an existing session; nil means
	// no such condition.
	precondition func(ctx context.Context) error
	// needsOpen says that the action needs this hub to open the session.
	needsOpen bool
	// DoneIfGone says that the action succeeded if its target is gone after the action was
	// recorded, and DoneIfGoneOnRetry if it is gone at the second attempt.
	DoneIfGone, DoneIfGoneOnRetry bool
}

// performAudited executes an action once per id, after recording it. It responds with the record of
// its outcome or, when that takes long, of its beginning.
func (a *Actions) performAudited(c echo.Context, action Action) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), httpio.AnswerTimeout)
	defer cancel()
	id := wire.MessageID(c.Request().Header.Get(httpio.HeaderIdempotencyKey))
	if id != "" && id.Validate() != nil {
		return problem.Query(httpio.HeaderIdempotencyKey, "Want 1 to 64 characters.")
	}
	if audit.CheckReason(action.reason) != nil {
		return problem.Query("reason", "Say why, in 1 to 500 characters.")
	}
	known, err := a.performAction(ctx, action, a.newAuditRecord(c, action, cmp.Or(string(id), "act-"+rand.Text())))
	if err != nil {
		return err
	}
	card, status := auditCardOf(&known), http.StatusOK
	if known.Result == audit.Begun {
		status = http.StatusAccepted
	}
	return auditCardForm.Answer(c, status, &card)
}

// keyReusedProblem maps an error of the audit log to the response.
func keyReusedProblem(err error) error {
	if errors.Is(err, audit.ErrReused) {
		p := problem.New(wire.CodeSessionInvalidState, "That key stands for another action already.")
		p.Field = httpio.HeaderIdempotencyKey
		return p
	}
	return err
}

// isNotFoundProblem reports whether an error is a 404.
func isNotFoundProblem(err error) bool {
	p, ok := errors.AsType[*problem.Error](err)
	return ok && p.Status == http.StatusNotFound
}

// isSessionNotFound reports whether an error means that a session does not exist.
func isSessionNotFound(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == wire.CodeSessionNotFound
}

func (cm *commands) drainReplica(c echo.Context) error {
	return cm.orderReplica(c, "replica.drain", membership.OrderDrain)
}

func (cm *commands) undrainReplica(c echo.Context) error {
	return cm.orderReplica(c, "replica.undrain", membership.OrderServe)
}

// orderReplica orders a replica to drain or to serve again.
func (cm *commands) orderReplica(c echo.Context, action string, order membership.Order) error {
	in, err := adminOrderForm.Read(c, cm.frameBytes)
	if err != nil {
		return err
	}
	id := wire.ReplicaID(httpio.PathParam(c, "replica"))
	return cm.actions.performAudited(c, Action{
		Action: action, Target: string(id), reason: in.Reason,
		check: func(ctx context.Context) error {
			all, err := cm.members.Replicas(ctx)
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
		Execute: func(ctx context.Context, actionID string) (string, error) {
			err := cm.members.Order(ctx, id, membership.ReplicaOrder{ID: actionID, Order: order})
			if errors.Is(err, membership.ErrUnknown) {
				err = errNoReplica()
			}
			return "", err
		},
	})
}

func errNoReplica() error {
	return problem.Status(http.StatusNotFound, "No replica of that name is alive.")
}
