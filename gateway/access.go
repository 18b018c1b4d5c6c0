package gateway

import (
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// access is the level of a user's rights in a session.
type access uint8

const (
	accessNone     access = iota
	accessViewer          // reads
	accessOperator        // also sends messages, answers and acts
	accessOwner           // also renames, shares and deletes
)

// may reports whether the access suffices for a client's message.
func (a access) may(p wire.ClientPayload) bool {
	switch p.(type) {
	case wire.Auth, wire.Pong, wire.SubscribeMonitor:
		return a >= accessViewer
	default:
		return a >= accessOperator
	}
}

// accessFor returns the access that results from a session's owner and shares and from the roles of
// a user.
func accessFor(who auth.Identity, info session.Info) access {
	granted := accessNone
	switch {
	case info.User == who.User || who.Has(auth.RoleAdmin):
		granted = accessOwner
	case info.Shares[who.User] == session.ShareOperator:
		granted = accessOperator
	case info.Shares[who.User] == session.ShareViewer:
		granted = accessViewer
	}
	if who.Session != "" { // an invited device must not share or delete the session
		granted = min(granted, accessOperator)
	}
	if !mayHaveSessions(who) {
		return accessNone
	}
	if !who.Has(auth.RoleUser) { // a viewer of the whole installation never changes anything
		granted = min(granted, accessViewer)
	}
	return granted
}

// mayHaveSessions reports whether a user can own or see sessions at all. One with admin roles only
// cannot.
func mayHaveSessions(who auth.Identity) bool {
	return who.Has(auth.RoleUser) || who.Has(auth.RoleViewer)
}

// String returns the name of the access in responses.
func (a access) String() string {
	return [...]string{"none", "viewer", "operator", "owner"}[a]
}
