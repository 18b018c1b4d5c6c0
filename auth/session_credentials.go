package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sessionCredential is the stored form of a revocable credential for one session, such as a link.
// Only the hash of its secret is stored.
type sessionCredential[T any] interface {
	credentialID() string
	expires() time.Time
	secretHash() []byte
	// of returns the credential with its session, which is not stored with it.
	of(session wire.SessionID) T
}

// sessionCredentials stores the credentials of one kind. Those of a session are one document, which
// expires with the last of them.
//
// The text of a credential has the form PREFIX SESSION _ ID _ SECRET, without the spaces.
type sessionCredentials[T sessionCredential[T]] struct {
	docs       Documents
	collection string
	prefix     string
	limit      int   // maximum number of valid credentials of a session
	errLimit   error // says that a session has that many
}

// newCredentialID returns a random id of a credential.
func newCredentialID() string {
	var random [keyIDLength / 2]byte
	_, _ = rand.Read(random[:]) // never fails: it aborts the program instead
	return hex.EncodeToString(random[:])
}

// text returns the text of a credential.
func (s *sessionCredentials[T]) text(session wire.SessionID, id, secret string) string {
	return s.prefix + string(session) + "_" + id + "_" + secret
}

// cutCredential returns the parts of the text of a credential with that prefix.
func cutCredential(prefix, text string) (session wire.SessionID, id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	end := len(rest) - secretLength - keyIDLength - 2
	if !ok || end < 1 || rest[end] != '_' || rest[end+1+keyIDLength] != '_' {
		return "", "", "", false
	}
	session, id, secret = wire.SessionID(rest[:end]), rest[end+1:end+1+keyIDLength], rest[end+2+keyIDLength:]
	return session, id, secret, isKeyID(id) && session.Validate() == nil
}

// find returns the valid credential with a text, or errRefused.
func (s *sessionCredentials[T]) find(ctx context.Context, text string) (found T, err error) {
	session, id, secret, ok := cutCredential(s.prefix, text)
	if !ok {
		return found, errRefused
	}
	all, err := s.list(ctx, session)
	if err != nil {
		return found, err
	}
	i := indexCredential(all, id)
	if i < 0 {
		return found, errRefused
	}
	if stored := all[i].secretHash(); len(stored) != sha256.Size || !equalHashes([sha256.Size]byte(stored), hash(secret)) {
		return found, errRefused
	}
	return all[i], nil
}

// indexCredential returns the index of the credential with that id, or -1.
func indexCredential[T sessionCredential[T]](all []T, id string) int {
	return slices.IndexFunc(all, func(c T) bool { return c.credentialID() == id })
}

// list returns the valid credentials of a session, the oldest first.
func (s *sessionCredentials[T]) list(ctx context.Context, session wire.SessionID) ([]T, error) {
	all, _, err := s.read(ctx, session)
	return all, err
}

// add stores a new credential of a session. If the session has too many, it returns errLimit.
func (s *sessionCredentials[T]) add(ctx context.Context, session wire.SessionID, c T) error {
	return s.edit(ctx, session, func(all []T) ([]T, error) {
		if len(all) >= s.limit {
			return nil, s.errLimit
		}
		return append(all, c), nil
	})
}

// replace stores a credential in place of the one with its id. If that was removed meanwhile, it
// returns errRefused.
func (s *sessionCredentials[T]) replace(ctx context.Context, session wire.SessionID, c T) error {
	return s.edit(ctx, session, func(all []T) ([]T, error) {
		i := indexCredential(all, c.credentialID())
		if i < 0 {
			return nil, errRefused
		}
		all[i] = c
		return all, nil
	})
}

// remove deletes the credential with that id and returns it. If there is none, it returns
// [store.ErrNotFound].
func (s *sessionCredentials[T]) remove(ctx context.Context, session wire.SessionID, id string) (removed T, err error) {
	err = s.edit(ctx, session, func(all []T) ([]T, error) {
		i := indexCredential(all, id)
		if i < 0 {
			return nil, store.ErrNotFound
		}
		removed = all[i]
		return slices.Delete(all, i, i+1), nil
	})
	return removed, err
}

// removeAll deletes all credentials of a session.
func (s *sessionCredentials[T]) removeAll(ctx context.Context, session wire.SessionID) error {
	return s.edit(ctx, session, func([]T) ([]T, error) { return nil, nil })
}

// read returns the valid credentials of a session and their document.
func (s *sessionCredentials[T]) read(ctx context.Context, session wire.SessionID) ([]T, store.Document, error) {
	d, err := s.docs.Get(ctx, s.collection, string(session))
	if errors.Is(err, store.ErrNotFound) {
		return nil, store.Document{Collection: s.collection, Name: string(session)}, nil
	}
	if err != nil {
		return nil, d, err
	}
	all, err := decode[[]T](d)
	all = slices.DeleteFunc(all, func(c T) bool { return !time.Now().Before(c.expires()) })
	for i, c := range all {
		all[i] = c.of(session)
	}
	return all, d, err
}

// edit changes the credentials of a session, whatever other replicas change meanwhile.
func (s *sessionCredentials[T]) edit(ctx context.Context, session wire.SessionID, change func([]T) ([]T, error)) error {
	for {
		all, d, err := s.read(ctx, session)
		if err != nil {
			return err
		}
		if all, err = change(all); err != nil {
			return err
		}
		if err = s.write(ctx, d, all); !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Each conflict is a change by another request; the caller's context bounds the retries.
	}
}

// write stores the credentials of a session in place of d, until a minute after the last of them
// expires.
func (s *sessionCredentials[T]) write(ctx context.Context, d store.Document, all []T) error {
	if len(all) == 0 {
		if d.Version == 0 {
			return nil
		}
		return s.docs.Remove(ctx, d.Collection, d.Name, d.Version)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode document of %s: %w", s.collection, err)
	}
	last := slices.MaxFunc(all, func(x, y T) int { return x.expires().Compare(y.expires()) })
	d.Data, d.TTL = data, time.Until(last.expires())+time.Minute
	_, err = s.docs.Put(ctx, d)
	return err
}
