package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// The collections of the store.
const (
	tokenCollection      = "auth-token"
	keyCollection        = "auth-keys"
	ticketCollection     = "auth-tickets"
	invitationCollection = "auth-invitations"
	cookieCollection     = "auth-cookies"
	revocationCollection = "auth-revocations"
	signOutCollection    = "auth-signouts"
	mcpTokenCollection   = "auth-mcp-tokens" //nolint:gosec // a name
	linkCollection       = "auth-links"
	momentLinkCollection = "auth-moment-links"
	linkMomentCollection = "auth-link-moments"
	linkTokenCollection  = "auth-link-tokens" //nolint:gosec // a name
	appPageCollection    = "auth-app-pages"
)

// record is the stored form of a credential: a key, a ticket, a cookie or the token of an app page.
type record struct {
	User    string         `json:"user"`
	Roles   []Role         `json:"roles"`
	Session wire.SessionID `json:"session,omitempty"`
	Created time.Time      `json:"created"`
	// Until is the end that no use extends.
	Until time.Time `json:"until,omitzero"`

	// Key is the id of the API key that a ticket was made with, or of the link that a token was made with.
	Key string `json:"key,omitempty"`

	// App is the app whose page has a token.
	App string `json:"app,omitempty"`

	// Name and Hash are those of an API key.
	Name string `json:"name,omitempty"`
	Hash []byte `json:"hash,omitempty"`
}

// newRecord returns a record for who, if who is valid.
func newRecord(who Identity) (record, error) {
	if err := store.CheckName("user", who.User); err != nil {
		return record{}, err
	}
	roles := slices.Clone(who.Roles)
	if len(roles) == 0 {
		roles = []Role{RoleUser}
	}
	for _, r := range roles {
		if !r.known() {
			return record{}, fmt.Errorf("%w: no role %q", store.ErrInvalid, r)
		}
	}
	if who.Session != "" {
		if err := who.Session.Validate(); err != nil {
			return record{}, err
		}
	}
	return record{User: who.User, Roles: roles, Session: who.Session, Created: time.Now(), Until: who.Expires}, nil
}

func (r record) identity() Identity {
	return Identity{User: r.User, Roles: r.Roles, Session: r.Session, Since: r.Created, Expires: r.Until, Key: r.Key}
}

func (r record) expired() bool { return !r.Until.IsZero() && !time.Now().Before(r.Until) }

// putRecord stores a new record.
func putRecord(ctx context.Context, docs Documents, collection, name string, r record, ttl time.Duration) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode document of %s: %w", collection, err)
	}
	_, err = docs.Put(ctx, store.Document{Collection: collection, Name: name, Data: data, TTL: ttl})
	return err
}

// getRecord reads a record. If there is none it returns errRefused.
func getRecord(ctx context.Context, docs Documents, collection, name string) (record, store.Document, error) {
	d, err := docs.Get(ctx, collection, name)
	if errors.Is(err, store.ErrNotFound) {
		return record{}, d, errRefused
	}
	if err != nil {
		return record{}, d, err
	}
	r, err := decode[record](d)
	return r, d, err
}

func decode[T any](d store.Document) (T, error) {
	var v T
	if json.Unmarshal(d.Data, &v) != nil {
		// Without the cause, which could quote a secret.
		return v, &store.CorruptError{Where: "document of " + d.Collection, Reason: "cannot be decoded"}
	}
	return v, nil
}
