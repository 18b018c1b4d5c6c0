package auth

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Role is what somebody may do in the whole installation.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"  // everything, in everybody's sessions
	RoleUser   Role = "user"   // has sessions of their own
	RoleViewer Role = "viewer" // looks, never touches
)

func (r Role) known() bool { return r == RoleAdmin || r == RoleUser || r == RoleViewer }

// Identity is who somebody is taken for.
type Identity struct {
	User  string
	Roles []Role
	// Expires is when the credential ends; zero when it does not.
	Expires time.Time
	// Session, unless empty, is the only session the credential is for.
	Session wire.SessionID
	// Cookie says that a browser sent it by itself, so that the door must
	// look at the Origin. Prolonged says that Expires has just moved, which
	// the browser should be told.
	Cookie, Prolonged bool
	// Key, unless empty, is the id of the API key it comes from, directly or
	// through a ticket. It must not outlive the key.
	Key string
	// Since is when the credential was issued, as far as known; signing out
	// ends everything older.
	Since time.Time
}

// Has reports whether somebody has a role. Admins have all.
func (i Identity) Has(r Role) bool {
	return slices.Contains(i.Roles, r) || slices.Contains(i.Roles, RoleAdmin)
}

// Error is why credentials were not accepted.
type Error struct {
	Code   wire.Code // 2001, 2002 or 2003
	Reason string    // for people; says nothing that helps guessing
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }
