package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

const (
	// cookieLife is the lifetime of a cookie after its last use.
	cookieLife = 7 * 24 * time.Hour
	// minExtension is the least extension that is stored and sent to the browser. Otherwise every
	// request would write to the store.
	minExtension = 24 * time.Hour
)

// NewCookie returns a new cookie value for who, valid in who.Session only unless that is empty, and
// the time when it ends. Using it extends it, but never beyond who.Expires. API keys get no cookie:
// it would still be valid after the key was revoked.
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
	if err := putRecord(ctx, a.docs, cookieCollection, hashName(value), r, ttl); err != nil {
		return "", time.Time{}, fmt.Errorf("store cookie: %w", err)
	}
	return value, end, nil
}

// cookieEnd returns the end of a cookie that is used now.
func (r record) cookieEnd() time.Time {
	end := time.Now().Add(cookieLife)
	if !r.Until.IsZero() && r.Until.Before(end) {
		return r.Until
	}
	return end
}

// Cookie authenticates the value of a browser's cookie and extends its lifetime. Identity.Expires
// is the new end; Identity.Prolonged says that it has moved, which happens at most once a day.
func (a *Authority) Cookie(ctx context.Context, value string) (Identity, error) {
	if value == "" {
		return Identity{}, errMissing
	}
	if len(value) != secretLength {
		return Identity{}, errRefused
	}
	name := hashName(value)
	r, d, err := getRecord(ctx, a.docs, cookieCollection, name)
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
			// Clean up; the record expires in any case.
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

// EndCookie deletes one cookie and nothing else of its user. A cookie that does not exist is no
// error.
func (a *Authority) EndCookie(ctx context.Context, value string) error {
	name := hashName(value)
	for {
		_, d, err := getRecord(ctx, a.docs, cookieCollection, name)
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
		// A concurrent request has just extended it.
	}
}

// extendCookie stores the new end of a cookie and returns the end that holds now: a valid cookie is
// accepted even if this fails.
func (a *Authority) extendCookie(ctx context.Context, d store.Document, before, end time.Time) time.Time {
	d.TTL = time.Until(end)
	_, err := a.docs.Put(ctx, d)
	if err == nil {
		return end
	}
	if !errors.Is(err, store.ErrConflict) { // on a conflict another request was faster
		a.log.WarnContext(ctx, "extending cookie failed", "err", err)
	}
	return before
}
