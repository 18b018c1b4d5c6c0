package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

// appPageLife is the lifetime of the token of an app's page. A page that is loaded again gets another one.
const appPageLife = 12 * time.Hour

// NewAppPageToken returns a token for the page of an app in a frame that has no origin, and so no cookies. It gives access to
// the data of that app of who, and to nothing else, for 12 h or until who's credential ends.
func (a *Authority) NewAppPageToken(ctx context.Context, who Identity, app string) (string, error) {
	if app == "" || who.Session != "" || who.Link != "" {
		return "", fmt.Errorf("%w: a token for the page of app %q by a credential for one session, or for no app", store.ErrInvalid, app)
	}
	if until := time.Now().Add(appPageLife); who.Expires.IsZero() || who.Expires.After(until) {
		who.Expires = until
	}
	r, err := newRecord(who)
	if err != nil {
		return "", err
	}
	r.App = app
	token := newSecret()
	if err := putRecord(ctx, a.docs, appPageCollection, hashName(token), r, time.Until(who.Expires)); err != nil {
		return "", fmt.Errorf("store token of an app's page: %w", err)
	}
	return token, nil
}

// AuthenticateAppPage authenticates a token of [Authority.NewAppPageToken] and returns its user and app. Signing out ends it.
func (a *Authority) AuthenticateAppPage(ctx context.Context, token string) (user, app string, err error) {
	if token == "" {
		return "", "", errMissing
	}
	if len(token) != secretLength {
		return "", "", errRefused
	}
	r, _, err := getRecord(ctx, a.docs, appPageCollection, hashName(token))
	if err != nil {
		return "", "", err
	}
	if r.expired() {
		return "", "", errExpired
	}
	if err := a.checkNotSignedOut(ctx, r.identity()); err != nil {
		return "", "", err
	}
	return r.User, r.App, nil
}
