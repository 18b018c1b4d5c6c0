package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

const (
	// cookieLife is how long a cookie lives after its last use.
	cookieLife = 7 * 24 * time.Hour
	// minExtension is how much of that must be gone before a use is written
	// down and the browser told. Otherwise every request would be a write.
	minExtension = 24 * time.Hour
)

// NewCookie is a cookie value that stands for who, in who.Session only unless that
// is empty, until the time returned. Its
// use prolongs it, though never over who.Expires. API keys get none: whoever has
// the cookie would be let in after the key was revoked.
func (a *Authority) NewCookie(ctx context.Context, who Identity) (string, time.Time, error) {
	if who.Key != "" {
		return "", time.Time{}, fmt.Errorf("%w: a cookie for an API key", store.ErrInvalid)
	}
	r, err := newRecord(who)
	if err != nil {
		return "", time.Time{}, err
	}
	end := r.cookieEnd()
	ttl := time.Until(end)
	if ttl <= 0 {
		return "", time.Time{}, errExpired
	}
	value := newSecret()
	if err := a.putRecord(ctx, cookieCollection, hashName(value), r, ttl); err != nil {
		return "", time.Time{}, fmt.Errorf("keep cookie: %w", err)
	}
	return value, end, nil
}

// cookieEnd is when a cookie that is used now ends.
func (r record) cookieEnd() time.Time {
	end := time.Now().Add(cookieLife)
	if !r.Until.IsZero() && r.Until.Before(end) {
		return r.Until
	}
	return end
}

// Cookie recognises the value of the browser's cookie and prolongs its life.
// Identity.Expires is the new end; Identity.Prolonged says that it has moved, which
// is at most once a day.
func (a *Authority) Cookie(ctx context.Context, value string) (Identity, error) {
	if value == "" {
		return Identity{}, errMissing
	}
	if len(value) != secretLength {
		return Identity{}, errRefused
	}
	name := hashName(value)
	r, d, err := a.getRecord(ctx, cookieCollection, name)
	if err != nil {
		return Identity{}, err
	}
	if r.expired() {
		return Identity{}, errExpired
	}
	who := r.identity()
	who.Cookie = true
	if err := a.checkNotSignedOut(ctx, who); err != nil {
		if errors.Is(err, errSignedOut) {
			// Tidying up; the store forgets it by itself as well.
			_ = a.docs.Remove(ctx, cookieCollection, name, d.Version)
		}
		return Identity{}, err
	}
	who.Expires = time.Now().Add(d.TTL)
	if end := r.cookieEnd(); end.Sub(who.Expires) > minExtension {
		now := a.extendCookie(ctx, d, who.Expires, end)
		who.Expires, who.Prolonged = now, now.Equal(end)
	}
	return who, nil
}

// EndCookie ends one cookie and nothing else of its user. One that is not there is
// no error.
func (a *Authority) EndCookie(ctx context.Context, value string) error {
	name := hashName(value)
	for {
		_, d, err := a.getRecord(ctx, cookieCollection, name)
		if errors.Is(err, errRefused) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("end cookie: %w", err)
		}
		err = a.docs.Remove(ctx, cookieCollection, name, d.Version)
		if err == nil || errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("end cookie: %w", err)
		}
		// A request has just prolonged it.
	}
}

// extendCookie writes down that a cookie was used. Whoever has a good cookie is let
// in even if that does not work, so it returns when the cookie ends now.
func (a *Authority) extendCookie(ctx context.Context, d store.Document, before, end time.Time) time.Time {
	d.TTL = time.Until(end)
	_, err := a.docs.Put(ctx, d)
	if err == nil {
		return end
	}
	if !errors.Is(err, store.ErrConflict) { // a conflict: another request was faster
		a.log.WarnContext(ctx, "cookie could not be prolonged", "err", err)
	}
	return before
}
