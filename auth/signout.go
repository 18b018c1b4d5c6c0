package auth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/notices"
	"github.com/everdesk/everdesk/store"
)

const (
	// maxLife is the longest lifetime of a signed token. Cookies and tickets live shorter after
	// their last use.
	maxLife = 366 * 24 * time.Hour
	// revocationLife is how long a sign-out is stored: longer than any credential that it ends
	// could live.
	revocationLife = maxLife + 24*time.Hour
)

// Revocation ends credentials: all of a user that are older, or one API key, MCP token or link.
type Revocation struct {
	User string    `json:"user"`
	At   time.Time `json:"at"`
	// Key, unless empty, is the id of the only API key, MCP token or link that ends. Connections with other
	// credentials of the user stay open.
	Key string `json:"key,omitempty"`
}

// Ends reports whether connections with the credential must be closed. The end of a key or link is final, so the times
// do not matter for it: the clocks of replicas differ.
func (r Revocation) Ends(who Identity) bool {
	if r.Key != "" {
		return who.User == r.User && r.Key == who.Key
	}
	return who.User == r.User && !who.Since.After(r.At)
}

// SignOut ends all credentials of user that are older than now, on all replicas within a second.
// API keys and the installation's token stay valid, but their connections are closed too.
func (a *Authority) SignOut(ctx context.Context, user string) error {
	if err := store.CheckName("user", user); err != nil {
		return err
	}
	s := Revocation{User: user, At: time.Now()}
	if err := a.recordSignOut(ctx, s); err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return publishRevocation(ctx, a.docs, s)
}

// recordSignOut stores the time of a user's last sign-out.
func (a *Authority) recordSignOut(ctx context.Context, s Revocation) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name := hashName(s.User)
	for {
		d, err := a.docs.Get(ctx, revocationCollection, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if last, err := decode[Revocation](d); err == nil && d.Version > 0 && last.At.After(s.At) {
			return nil // another replica's sign-out is later and includes this one
		}
		_, err = a.docs.Put(ctx, store.Document{
			Collection: revocationCollection, Name: name, Data: data, Version: d.Version, TTL: revocationLife,
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Each conflict is a sign-out of the same user; the caller's context bounds the retries.
	}
}

// publishTimeout bounds the announcement of a revocation.
const publishTimeout = 10 * time.Second

// publishRevocation makes all replicas close the connections that a revocation ends. The credentials are deleted
// already, so it goes on when the caller disconnects.
func publishRevocation(ctx context.Context, docs Documents, s Revocation) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode sign-out: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := revocations(docs).Publish(ctx, rand.Text(), func([]byte) []byte { return data }); err != nil {
		return fmt.Errorf("announce sign-out: %w", err)
	}
	return nil
}

// revocations returns the notices of revocations.
func revocations(docs Documents) *notices.Board { return notices.NewBoard(docs, signOutCollection) }

// checkNotSignedOut refuses a credential that was issued before its user signed out. A credential
// without a time of issue counts as older.
func (a *Authority) checkNotSignedOut(ctx context.Context, who Identity) error {
	d, err := a.docs.Get(ctx, revocationCollection, hashName(who.User))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := decode[Revocation](d)
	if err != nil {
		return err
	}
	if who.Since.After(s.At) {
		return nil
	}
	return errSignedOut
}

// Watch calls onRevoked once for each sign-out and revoked key, whichever replica it was made on,
// until ctx ends. It calls from the caller's goroutine and omits revocations from before it was
// called.
func (a *Authority) Watch(ctx context.Context, onRevoked func(Revocation)) {
	since := time.Now()
	revocations(a.docs).Watch(ctx, notices.Watcher{
		Notice: func(data []byte, first bool) {
			s, err := decode[Revocation](store.Document{Collection: signOutCollection, Data: data})
			if err != nil {
				a.log.ErrorContext(ctx, "sign-out is unreadable", "err", err)
				return
			}
			// A user who signed out before this replica first read the list has no connection here.
			// The clocks of replicas may differ a little.
			if first && s.At.Before(since.Add(-5*time.Second)) {
				return
			}
			onRevoked(s)
		},
		Failed: func(err error) {
			a.log.ErrorContext(ctx, "watching sign-outs failed, connections of signed-out users may stay open", "err", err)
		},
		Resumed: func() { a.log.InfoContext(ctx, "watching sign-outs resumed") },
	})
}
