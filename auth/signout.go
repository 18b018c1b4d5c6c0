package auth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

const (
	// maxLife is how long a signed token may live. Cookies and tickets live
	// shorter after their last use.
	maxLife = 366 * 24 * time.Hour
	// revocationLife is how long a sign-out is remembered: longer than
	// anything it ends could live.
	revocationLife = maxLife + 24*time.Hour
	// announcementTTL is how long a sign-out is told to replicas: longer than one
	// that is busy could overlook it, short enough for the list to be tiny.
	announcementTTL = 2 * time.Minute
	// watchInterval is how often replicas look, so that all have closed their
	// connections within a second.
	watchInterval = 400 * time.Millisecond
)

// Revocation ends credentials: all of a user that are older, or one API key.
type Revocation struct {
	User string    `json:"user"`
	At   time.Time `json:"at"`
	// Key, unless empty, is the id of the only API key that ends. What was opened
	// with other credentials of the user stays.
	Key string `json:"key,omitempty"`
}

// Ends reports whether what a credential opened must be closed.
func (r Revocation) Ends(who Identity) bool {
	return who.User == r.User && !who.Since.After(r.At) && (r.Key == "" || r.Key == who.Key)
}

// SignOut ends everything that stands for user and is older than now, on all
// replicas within a second. API keys and the installation's token stay good, but
// what they opened is closed too.
func (a *Authority) SignOut(ctx context.Context, user string) error {
	if err := store.CheckName("user", user); err != nil {
		return err
	}
	s := Revocation{User: user, At: time.Now()}
	if err := a.recordSignOut(ctx, s); err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return a.publishRevocation(ctx, s)
}

// recordSignOut writes down when a user last signed out.
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
			return nil // another replica's sign-out is later and ends all of this
		}
		_, err = a.docs.Put(ctx, store.Document{
			Collection: revocationCollection, Name: name, Data: data, Version: d.Version, TTL: revocationLife,
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Each conflict is a sign-out of the same user, and the caller's
		// context ends the rest.
	}
}

// publishRevocation has all replicas close the connections that a revocation ends.
func (a *Authority) publishRevocation(ctx context.Context, s Revocation) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode sign-out: %w", err)
	}
	_, err = a.docs.Put(ctx, store.Document{Collection: signOutCollection, Name: rand.Text(), Data: data, TTL: announcementTTL})
	if err != nil {
		return fmt.Errorf("announce sign-out: %w", err)
	}
	return nil
}

// checkNotSignedOut refuses what was issued before its user signed out. What does not
// say when it was issued counts as older.
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

// Watch calls gone with each sign-out and revoked key, whichever replica it happened on, until ctx ends. It calls once per sign-out, from the
// caller's goroutine, and leaves out those from before it was called.
func (a *Authority) Watch(ctx context.Context, gone func(Revocation)) {
	w := revocationWatcher{a: a, since: time.Now(), onRevoked: gone, seen: map[string]bool{}}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	away := false
	for {
		err := w.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away:
			a.log.ErrorContext(ctx, "sign-outs cannot be watched; connections of who signs out may stay open meanwhile", "err", err)
		case err == nil && away:
			a.log.InfoContext(ctx, "sign-outs are watched again")
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// revocationWatcher is what one caller of Watch has seen.
type revocationWatcher struct {
	a          *Authority
	since      time.Time
	onRevoked  func(Revocation)
	seen       map[string]bool
	listedOnce bool // the list was read to its end at least once
}

// poll reads the list of recent sign-outs and tells what is new.
func (w *revocationWatcher) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	listed := map[string]bool{}
	for after := ""; ; {
		page, err := w.a.docs.Documents(ctx, signOutCollection, after, 1000)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			listed[d.Name] = true
			if !w.seen[d.Name] {
				w.seen[d.Name] = true
				w.notify(ctx, d)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	w.seen, w.listedOnce = listed, true // what has left the list is forgotten
	return nil
}

func (w *revocationWatcher) notify(ctx context.Context, d store.Document) {
	s, err := decode[Revocation](d)
	if err != nil {
		w.a.log.ErrorContext(ctx, "sign-out is unreadable", "err", err)
		return
	}
	// Who signed out before this replica looked for the first time has no
	// connection here. Clocks of replicas may differ a little.
	if !w.listedOnce && s.At.Before(w.since.Add(-5*time.Second)) {
		return
	}
	w.onRevoked(s)
}
