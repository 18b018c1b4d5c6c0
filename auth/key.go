package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/store"
)

// keyPrefix begins every API key, so that scanners for leaked secrets can find them and that they
// can be distinguished from other bearer tokens.
const keyPrefix = "edk_"

// keyIDLength is the length of a key's id: 8 bytes in hex.
const keyIDLength = 16

// Key describes an API key, without its secret.
type Key struct {
	ID      string
	Name    string
	User    string
	Roles   []Role
	Created time.Time
	Expires time.Time // zero: never
}

// NewKey creates an API key for who, valid until who.Expires if that is set. It has the form
// edk_ID_SECRET. Only its hash is stored.
func (a *Authority) NewKey(ctx context.Context, who Identity, name string) (string, error) {
	r, err := newRecord(who)
	if err != nil {
		return "", err
	}
	if name != "" {
		if err := store.CheckName("key name", name); err != nil {
			return "", err
		}
	}
	id, secret := newCredentialID(), newSecret()
	sum := hash(secret)
	r.Name, r.Hash = name, sum[:]
	var ttl time.Duration
	if !r.Until.IsZero() {
		if ttl = time.Until(r.Until); ttl <= 0 {
			return "", fmt.Errorf("%w: a key that has expired already", store.ErrInvalid)
		}
	}
	if err := putRecord(ctx, a.docs, keyCollection, id, r, ttl); err != nil {
		return "", fmt.Errorf("store API key: %w", err)
	}
	return keyPrefix + id + "_" + secret, nil
}

// APIKey authenticates an API key.
func (a *Authority) APIKey(ctx context.Context, key string) (Identity, error) {
	if key == "" {
		return Identity{}, errMissing
	}
	rest, ok := strings.CutPrefix(key, keyPrefix)
	if !ok || len(rest) != keyIDLength+1+secretLength || rest[keyIDLength] != '_' || !isKeyID(rest[:keyIDLength]) {
		return Identity{}, errRefused
	}
	r, _, err := getRecord(ctx, a.docs, keyCollection, rest[:keyIDLength])
	if err != nil {
		return Identity{}, err
	}
	if len(r.Hash) != sha256.Size || !equalHashes([sha256.Size]byte(r.Hash), hash(rest[keyIDLength+1:])) {
		return Identity{}, errRefused
	}
	if r.expired() {
		return Identity{}, errExpired
	}
	who := r.identity()
	who.Key = rest[:keyIDLength]
	return who, nil
}

// Keys lists the API keys by their ids.
func (a *Authority) Keys(ctx context.Context, after string, limit int) (store.Page[Key], error) {
	if after != "" && !isKeyID(after) {
		return store.Page[Key]{}, fmt.Errorf("%w: not a cursor of the list of keys: %q", store.ErrInvalid, after)
	}
	docs, err := a.docs.Documents(ctx, keyCollection, after, limit)
	if err != nil {
		return store.Page[Key]{}, fmt.Errorf("list API keys: %w", err)
	}
	page := store.Page[Key]{Next: docs.Next}
	for _, d := range docs.Items {
		r, err := decode[record](d)
		if err != nil {
			return store.Page[Key]{}, err
		}
		page.Items = append(page.Items, Key{
			ID: d.Name, Name: r.Name, User: r.User, Roles: r.Roles, Created: r.Created, Expires: r.Until,
		})
	}
	return page, nil
}

// RevokeKey deletes an API key and closes the connections that it, or a ticket made with it, opened
// on any replica. An unknown key is [store.ErrNotFound].
func (a *Authority) RevokeKey(ctx context.Context, id string) error {
	if !isKeyID(id) {
		return fmt.Errorf("API key: %w", store.ErrNotFound)
	}
	d, err := a.docs.Get(ctx, keyCollection, id)
	if err != nil {
		return fmt.Errorf("API key: %w", err)
	}
	err = a.docs.Remove(ctx, keyCollection, id, d.Version)
	if errors.Is(err, store.ErrConflict) {
		err = store.ErrNotFound // keys do not change, so it was deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("remove API key: %w", err)
	}
	r, err := decode[record](d)
	if err != nil {
		return err
	}
	return publishRevocation(ctx, a.docs, Revocation{User: r.User, At: time.Now(), Key: id})
}

func isKeyID(id string) bool {
	return len(id) == keyIDLength && strings.Trim(id, "0123456789abcdef") == ""
}
