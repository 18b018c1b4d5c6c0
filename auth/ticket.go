package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// ticketLife is the lifetime of an unused ticket.
	ticketLife = 30 * time.Second
	// JoinLife is the lifetime of an unused invitation: users have to find their phone first.
	JoinLife = 2 * time.Minute
)

// NewTicket returns a one-time ticket for who, valid for 30 s and, unless session is empty, in that
// session only. A connection opened with it ends with who.Expires. A ticket made with an API key is
// valid only as long as the key.
func (a *Authority) NewTicket(ctx context.Context, who Identity, session wire.SessionID) (string, error) {
	if who.Session != "" && session != "" && session != who.Session {
		return "", fmt.Errorf("%w: the credential is for another session", store.ErrInvalid)
	}
	if session != "" {
		who.Session = session
	}
	return a.issue(ctx, ticketCollection, who, ticketLife)
}

// Ticket authenticates a one-time ticket and uses it up. Of any number of uses, on any number of
// replicas, one succeeds.
func (a *Authority) Ticket(ctx context.Context, ticket string) (Identity, error) {
	return a.redeem(ctx, ticketCollection, ticket)
}

// NewInvitation returns a one-time ticket that gives another device of who access to one session,
// valid for [JoinLife]. It opens no connection; it can only be exchanged for a cookie of that
// session. Credentials that must not become a cookie, or are valid for one session only, cannot
// invite.
func (a *Authority) NewInvitation(ctx context.Context, who Identity, session wire.SessionID) (string, error) {
	if who.Key != "" || who.Session != "" || session == "" {
		return "", fmt.Errorf("%w: an invitation by a key, by a credential for one session or to no session", store.ErrInvalid)
	}
	who.Session = session
	return a.issue(ctx, invitationCollection, who, JoinLife)
}

// Invitation authenticates an invitation and uses it up, as [Authority.Ticket] does.
func (a *Authority) Invitation(ctx context.Context, ticket string) (Identity, error) {
	return a.redeem(ctx, invitationCollection, ticket)
}

// issue stores a new ticket for who.
func (a *Authority) issue(ctx context.Context, collection string, who Identity, life time.Duration) (string, error) {
	r, err := newRecord(who)
	if err != nil {
		return "", err
	}
	r.Key = who.Key
	ticket := newSecret()
	if err := putRecord(ctx, a.docs, collection, hashName(ticket), r, life); err != nil {
		return "", fmt.Errorf("store ticket: %w", err)
	}
	return ticket, nil
}

// redeem uses a ticket up and returns its identity.
func (a *Authority) redeem(ctx context.Context, collection, ticket string) (Identity, error) {
	if ticket == "" {
		return Identity{}, errMissing
	}
	if len(ticket) != secretLength {
		return Identity{}, errRefused
	}
	name := hashName(ticket)
	r, d, err := getRecord(ctx, a.docs, collection, name)
	if err != nil {
		return Identity{}, err
	}
	err = a.docs.Remove(ctx, collection, name, d.Version)
	if errors.Is(err, store.ErrConflict) {
		return Identity{}, errRefused // another request has used it
	}
	if err != nil {
		return Identity{}, fmt.Errorf("use ticket: %w", err)
	}
	if r.expired() {
		return Identity{}, errExpired
	}
	who := r.identity()
	if err := a.checkNotSignedOut(ctx, who); err != nil {
		return Identity{}, err
	}
	if who.Key != "" {
		if _, _, err := getRecord(ctx, a.docs, keyCollection, who.Key); err != nil {
			return Identity{}, err
		}
	}
	return who, nil
}
