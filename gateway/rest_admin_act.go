package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/fleet"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// adminOrder is why something is done.
type adminOrder struct {
	Reason string `json:"reason" wire:"min=1,max=500" doc:"Why; it is kept with who did it."`
}

// auditCard is what was done by whom.
type auditCard struct {
	ID      string `json:"id" doc:"The Idempotency-Key, or one that was made up."`
	Time    string `json:"time" doc:"RFC 3339."`
	Who     string `json:"who"`
	Address string `json:"address,omitempty"`
	Action  string `json:"action" doc:"Such as replica.drain or session.reset."`
	Target  string `json:"target,omitempty" doc:"The replica or session."`
	Reason  string `json:"reason"`
	Replica string `json:"replica,omitempty" doc:"Where it was asked for."`
}

// auditList is a page of them.
type auditList struct {
	Records []auditCard `json:"records"`
	Next    string      `json:"next,omitempty" doc:"The after of the next page; absent on the last."`
}

var (
	adminOrderForm = formOf[adminOrder]()
	auditCardForm  = formOf[auditCard]()
	auditListForm  = formOf[auditList]()
)

// deed is something an admin does.
type deed struct {
	action, target string
	reason         string
	// check says why it cannot be done, before it is written down.
	check func(ctx context.Context) error
	// do does it, under the id of the action.
	do func(ctx context.Context, id string) error
	// opens says that the session has to be opened for it.
	opens bool
	// final says that when the target is gone after the deed was written down,
	// it was done.
	final bool
}

// witnessed does a deed: once for its id, and only after it was written down. The
// answer is its record.
func (s *Server) witnessed(c echo.Context, d deed) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), answerTimeout)
	defer cancel()
	id := wire.MessageID(c.Request().Header.Get(headerIdempotencyKey))
	if id != "" && id.Validate() != nil {
		return inQuery(headerIdempotencyKey, "Want 1 to 64 characters.")
	}
	if audit.CheckReason(d.reason) != nil {
		return inQuery("reason", "Say why, in 1 to 500 characters.")
	}
	r := audit.Record{
		ID: cmp.Or(string(id), "act-"+rand.Text()), Time: time.Now(), Who: who(c).User, Address: address(c).String(),
		Action: d.action, Target: d.target, Reason: d.reason, Replica: string(s.fleet.Card().ID),
	}
	known, err := s.perform(ctx, d, r)
	if err != nil {
		return err
	}
	card := auditCardOf(known)
	return auditCardForm.answer(c, http.StatusOK, &card)
}

// perform does a deed, unless it is done already, and returns its record.
func (s *Server) perform(ctx context.Context, d deed, r audit.Record) (audit.Record, error) {
	known, done, err := s.audit.Recall(ctx, r)
	switch {
	case err == nil && done:
		return known, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return known, reused(err)
	}
	switch why := d.check(ctx); {
	case why == nil:
		if known, done, err = s.audit.Witness(ctx, r); err != nil {
			return known, reused(err)
		}
		if done {
			return known, nil
		}
		if err := d.do(ctx, r.ID); err != nil && (!d.final || !isGone(err)) {
			return known, err
		}
	case d.final && isGone(why):
		// It is done if it was written down, perhaps only now by somebody who
		// sent the same.
		if known, _, err = s.audit.Recall(ctx, r); errors.Is(err, store.ErrNotFound) {
			return known, why
		} else if err != nil {
			return known, reused(err)
		}
	default:
		return known, why
	}
	if err := s.audit.Done(ctx, r.ID); err != nil {
		// It is done: the worst is that somebody who asks again has it done again.
		s.log.WarnContext(ctx, "cannot note that an action is done", "action", d.action, "err", err)
	}
	return known, nil
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

// isGone reports whether an error says that there is no such session.
func isGone(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == wire.CodeSessionNotFound
}

func auditCardOf(r audit.Record) auditCard {
	return auditCard{
		ID: r.ID, Time: stamp(r.Time), Who: r.Who, Address: r.Address, Action: r.Action, Target: r.Target,
		Reason: r.Reason, Replica: r.Replica,
	}
}

func (s *Server) drainReplica(c echo.Context) error {
	return s.wishOf(c, "replica.drain", fleet.OrderDrain)
}

func (s *Server) undrainReplica(c echo.Context) error {
	return s.wishOf(c, "replica.undrain", fleet.OrderServe)
}

// wishOf has a replica drain or serve again.
func (s *Server) wishOf(c echo.Context, action string, order fleet.Order) error {
	in, err := adminOrderForm.read(s, c)
	if err != nil {
		return err
	}
	id := wire.ReplicaID(pathParam(c, "replica"))
	return s.witnessed(c, deed{
		action: action, target: string(id), reason: in.Reason,
		check: func(ctx context.Context) error {
			all, err := s.fleet.Replicas(ctx)
			if err != nil {
				return err
			}
			for _, r := range all {
				if r.ID == id {
					return nil
				}
			}
			return misdirected(http.StatusNotFound, "No replica of that name is alive.")
		},
		do: func(ctx context.Context, wish string) error {
			err := s.fleet.Ask(ctx, id, fleet.Wish{ID: wish, Order: order})
			if errors.Is(err, fleet.ErrUnknown) {
				return misdirected(http.StatusNotFound, "No replica of that name is alive.")
			}
			return err
		},
	})
}

func (s *Server) listAudit(c echo.Context) error {
	limit, err := pageSize(c, listPage)
	if err != nil {
		return err
	}
	after := c.QueryParam("after")
	if after != "" && store.CheckName("cursor", after) != nil {
		return inQuery("after", "Want the next of an earlier page.")
	}
	page, err := s.audit.List(c.Request().Context(), after, limit)
	if err != nil {
		return err
	}
	list := auditList{Records: []auditCard{}, Next: page.Next}
	for _, r := range page.Items {
		list.Records = append(list.Records, auditCardOf(r))
	}
	return auditListForm.answer(c, http.StatusOK, &list)
}
