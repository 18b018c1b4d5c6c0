package auth

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Role is a right in the whole installation.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"  // everything, in all users' sessions
	RoleUser   Role = "user"   // has sessions of their own
	RoleViewer Role = "viewer" // reads, never changes anything

	// Admin roles. They give no sessions and no access to sessions.
	RoleAdminRead    Role = "admin:read"    // sees the state of the hub and of all sessions, but no texts
	RoleAdminAct     Role = "admin:act"     // also acts on them
	RoleAdminContent Role = "admin:content" // also sees texts, together with one of the two others
)

// Roles returns all roles.
func Roles() []Role {
	return []Role{RoleUser, RoleViewer, RoleAdmin, RoleAdminRead, RoleAdminAct, RoleAdminContent}
}

func (r Role) known() bool { return slices.Contains(Roles(), r) }

// Identity is an authenticated caller.
type Identity struct {
	User  string
	Roles []Role
	// Expires is when the credential ends; zero when it does not.
	Expires time.Time
	// Session, unless empty, is the only session that the credential is valid for.
	Session wire.SessionID
	// Cookie says that a browser sent the credential on its own, so that the Origin must be
	// checked. Prolonged says that Expires has just moved, and the browser needs the new cookie
	// lifetime.
	Cookie, Prolonged bool
	// Key, unless empty, is the id of the API key that the credential comes from, directly or
	// through a ticket, or that of the read-only link. The credential must not outlive it.
	Key string
	// Link, unless empty, is the id of the read-only link that the credential comes from. Such a caller is no
	// user: it reads Session and nothing else.
	Link string
	// Moment, unless zero, is the only moment of the session that the link shows. Such a caller does not see the
	// session itself.
	Moment wire.Position
	// Since is when the credential was issued, if known; signing out ends all that are older.
	Since time.Time
}

// Has reports whether an identity has a role. RoleAdmin includes all, RoleAdminAct includes
// RoleAdminRead, and RoleAdminContent has an effect only with RoleAdminRead.
func (i Identity) Has(r Role) bool {
	if slices.Contains(i.Roles, RoleAdmin) {
		return true
	}
	has := slices.Contains(i.Roles, r)
	switch r {
	case RoleAdminRead:
		return has || slices.Contains(i.Roles, RoleAdminAct)
	case RoleAdminContent:
		return has && i.Has(RoleAdminRead)
	default:
		return has
	}
}

// Error is the reason why a credential was not accepted.
type Error struct {
	Code   wire.Code // 2001, 2002 or 2003
	Reason string    // for users; must not help guessing
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }
