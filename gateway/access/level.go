package access

import (
	"crypto/rand"
	"strings"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Level is the level of a user's rights in a session.
type Level uint8

// Levels of rights, from the lowest.
const (
	None     Level = iota // none
	Viewer                // reads
	Operator              // also sends messages, answers and acts
	Owner                 // also renames, shares and deletes
)

// May reports whether the access suffices for a client's message.
func (a Level) May(p wire.ClientPayload) bool {
	switch p.(type) {
	case wire.Auth, wire.Pong, wire.SubscribeMonitor, wire.Pointer:
		return a >= Viewer
	default:
		return a >= Operator
	}
}

// LevelOf returns the access that results from a session's owner and shares and from the roles of
// a user.
func LevelOf(who auth.Identity, info session.Info) Level {
	granted := None
	if who.Link != "" { // its name is no user's, so no share and no role counts
		if who.Session == info.ID && who.Moment.IsZero() { // a moment is not in the session any more
			granted = Viewer
		}
		return granted
	}
	switch {
	case info.User == who.User || who.Has(auth.RoleAdmin):
		granted = Owner
	case info.Shares[who.User] == session.ShareOperator:
		granted = Operator
	case info.Shares[who.User] == session.ShareViewer:
		granted = Viewer
	}
	if who.Session != "" { // an invited device must not share or delete the session
		granted = min(granted, Operator)
	}
	if !MayHaveSessions(who) {
		return None
	}
	if !who.Has(auth.RoleUser) { // a viewer of the whole installation never changes anything
		granted = min(granted, Viewer)
	}
	return granted
}

// MayHaveSessions reports whether a user can own or see sessions at all. One with admin roles only
// cannot.
func MayHaveSessions(who auth.Identity) bool {
	return who.Has(auth.RoleUser) || who.Has(auth.RoleViewer)
}

// String returns the name of the access in responses.
func (a Level) String() string {
	return [...]string{"none", "viewer", "operator", "owner"}[a]
}

// NewConnectionID returns the id of a new connection, or of a request in place of one.
func NewConnectionID() wire.ConnectionID {
	return wire.ConnectionID("conn-" + strings.ToLower(rand.Text()[:16]))
}
