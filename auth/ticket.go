package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ticketLife is how long a ticket waits to be used.
const ticketLife = 30 * time.Second

// NewTicket is a one-time ticket that stands for who, in session only unless
// that is empty, for the next 30 s. What it opens ends when who.Expires does. One
// that is made with an API key is good as long as the key is.
func (a *Authority) NewTicket(ctx context.Context, who Identity, session wire.SessionID) (string, error) {
	if who.Session != "" && session != "" && session != who.Session {
		return "", fmt.Errorf("%w: the credential is for another session", store.ErrInvalid)
	}
	if session != "" {
		who.Session = session
	}
	r, err := newRecord(who)
	if err != nil {
		return "", err
	}
	r.Key = who.Key
	ticket := newSecret()
	if err := a.keep(ctx, ticketCollection, hashName(ticket), r, ticketLife); err != nil {
		return "", fmt.Errorf("keep ticket: %w", err)
	}
	return ticket, nil
}

// Ticket recognises a one-time ticket and uses it up. Of any number of uses, on
// any number of replicas, one succeeds.
func (a *Authority) Ticket(ctx context.Context, ticket string) (Identity, error) {
	if ticket == "" {
		return Identity{}, errNothing
	}
	if len(ticket) != secretText {
		return Identity{}, errRefused
	}
	name := hashName(ticket)
	r, d, err := a.find(ctx, ticketCollection, name)
	if err != nil {
		return Identity{}, err
	}
	err = a.docs.Remove(ctx, ticketCollection, name, d.Version)
	if errors.Is(err, store.ErrConflict) {
		return Identity{}, errRefused // somebody else has used it
	}
	if err != nil {
		return Identity{}, fmt.Errorf("use ticket: %w", err)
	}
	if r.over() {
		return Identity{}, errExpired
	}
	who := r.identity()
	if err := a.notSignedOut(ctx, who); err != nil {
		return Identity{}, err
	}
	if who.Key != "" {
		if _, _, err := a.find(ctx, keyCollection, who.Key); err != nil {
			return Identity{}, err
		}
	}
	return who, nil
}
