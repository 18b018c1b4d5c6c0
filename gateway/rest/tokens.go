package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// tokens serve API keys and tickets for other users.
type tokens struct {
	auth       *auth.Authority
	actions    *admin.Actions
	log        *slog.Logger
	frameBytes int64
}

type keyRequest struct {
	User      string   `json:"user" wire:"min=1,max=200" doc:"The user that the key authenticates."`
	Roles     []string `json:"roles,omitempty" doc:"Of user, viewer, admin, admin:read, admin:act and admin:content; user when absent."`
	Name      string   `json:"name,omitempty" wire:"max=64" doc:"What the key is for."`
	ExpiresIn int      `json:"expires_in,omitempty" wire:"min=0,max=31622400" doc:"Seconds, up to 366 days; absent for a key that does not expire."`
}

type keyAnswer struct {
	Key string `json:"key" doc:"Shown only once: the hub stores its hash."`
}

// keyInfo describes an API key.
type keyInfo struct {
	ID        string   `json:"id"`
	Name      string   `json:"name,omitempty"`
	User      string   `json:"user"`
	Roles     []string `json:"roles"`
	CreatedAt string   `json:"createdAt" doc:"RFC 3339."`
	ExpiresAt string   `json:"expiresAt,omitempty" doc:"RFC 3339; absent when it does not expire."`
}

type keyList struct {
	Keys []keyInfo `json:"keys"`
	Next string    `json:"next,omitempty" doc:"The after of the next page; absent on the last."`
}

// userTicketRequest asks for a ticket for another user.
type userTicketRequest struct {
	User    string         `json:"user" wire:"min=1,max=200" doc:"The user that the ticket authenticates."`
	Roles   []string       `json:"roles,omitempty" doc:"Of user, viewer, admin, admin:read, admin:act and admin:content; user when absent."`
	Session wire.SessionID `json:"session,omitempty" doc:"The only session that the ticket is valid for."`
}

var (
	keyRequestForm        = httpio.FormOf[keyRequest]()
	keyForm               = httpio.FormOf[keyAnswer]()
	keyListForm           = httpio.FormOf[keyList]()
	userTicketRequestForm = httpio.FormOf[userTicketRequest]()
)

// rolesOf parses the names of roles.
func rolesOf(names []string) ([]auth.Role, error) {
	if len(names) == 0 {
		return []auth.Role{auth.RoleUser}, nil
	}
	roles := make([]auth.Role, 0, len(names))
	for _, name := range names {
		r := auth.Role(name)
		if !slices.Contains(auth.Roles(), r) {
			return nil, problem.Query("roles", "Want user, viewer, admin, admin:read, admin:act or admin:content.")
		}
		roles = append(roles, r)
	}
	return roles, nil
}

func (t *tokens) postKey(c echo.Context) error {
	in, err := keyRequestForm.Read(c, t.frameBytes)
	if err != nil {
		return err
	}
	roles, err := rolesOf(in.Roles)
	if err != nil {
		return err
	}
	id := auth.Identity{User: in.User, Roles: roles}
	if in.ExpiresIn > 0 {
		id.Expires = time.Now().Add(time.Duration(in.ExpiresIn) * time.Second)
	}
	key := ""
	err = t.actions.PerformWithoutReason(c, admin.Action{Action: "key.make", Target: in.User, Execute: func(ctx context.Context, _ string) (_ string, err error) {
		key, err = t.auth.NewKey(ctx, id, in.Name)
		return fmt.Sprintf("roles: %v; name: %q", roles, in.Name), secretDiscarded(err)
	}})
	if err != nil {
		return err
	}
	t.log.InfoContext(c.Request().Context(), "API key made", "by", access.Caller(c).User, "user", in.User, "roles", roles, "name", in.Name)
	return keyForm.Answer(c, http.StatusCreated, &keyAnswer{Key: key})
}

// secretDiscarded turns an unknown outcome into a failure: if the store did not confirm that it
// stored a secret, the secret is discarded.
func secretDiscarded(err error) error {
	if admin.IsOutcomeUnknown(err) {
		return problem.New(wire.CodeStoreUnavailable, "")
	}
	return err
}

func (t *tokens) listKeys(c echo.Context) error {
	limit, err := httpio.ListLimit.Read(c)
	if err != nil {
		return err
	}
	page, err := t.auth.Keys(c.Request().Context(), c.QueryParam("after"), limit)
	if errors.Is(err, store.ErrInvalid) {
		return problem.Query("after", "Want the next of an earlier page.")
	}
	if err != nil {
		return err
	}
	list := keyList{Next: page.Next}
	for _, k := range page.Items {
		info := keyInfo{ID: k.ID, Name: k.Name, User: k.User, CreatedAt: httpio.FormatTime(k.Created)}
		for _, r := range k.Roles {
			info.Roles = append(info.Roles, string(r))
		}
		if !k.Expires.IsZero() {
			info.ExpiresAt = httpio.FormatTime(k.Expires)
		}
		list.Keys = append(list.Keys, info)
	}
	return keyListForm.Answer(c, http.StatusOK, &list)
}

func (t *tokens) deleteKey(c echo.Context) error {
	key := c.Param("key")
	err := t.actions.PerformWithoutReason(c, admin.Action{Action: "key.end", Target: key, DoneIfGoneOnRetry: true, Execute: func(ctx context.Context, _ string) (string, error) {
		err := t.auth.RevokeKey(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			err = problem.Status(http.StatusNotFound, "There is no such key.")
		}
		return "", err
	}})
	if err != nil {
		return err
	}
	t.log.InfoContext(c.Request().Context(), "API key revoked", "by", access.Caller(c).User, "key", key)
	return c.NoContent(http.StatusNoContent)
}

func (t *tokens) postUserTicket(c echo.Context) error {
	in, err := userTicketRequestForm.Read(c, t.frameBytes)
	if err != nil {
		return err
	}
	roles, err := rolesOf(in.Roles)
	if err != nil {
		return err
	}
	ticket, id := "", auth.Identity{User: in.User, Roles: roles, Key: access.Caller(c).Key}
	err = t.actions.PerformWithoutReason(c, admin.Action{Action: "ticket.make", Target: in.User, Execute: func(ctx context.Context, _ string) (_ string, err error) {
		ticket, err = t.auth.NewTicket(ctx, id, in.Session)
		return fmt.Sprintf("roles: %v; session: %q", roles, in.Session), secretDiscarded(err)
	}})
	if err != nil {
		return err
	}
	t.log.InfoContext(c.Request().Context(), "ticket made", "by", access.Caller(c).User, "user", in.User, "roles", roles, "session", in.Session)
	return ticketForm.Answer(c, http.StatusOK, &ticketAnswer{Ticket: ticket, ExpiresIn: ticketLife})
}
