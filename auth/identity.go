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

	// Those who look after the hub. They have no sessions by it and get into nobody's.
	RoleAdminRead    Role = "admin:read"    // sees how the hub and all sessions are, but no texts
	RoleAdminAct     Role = "admin:act"     // may act on them too
	RoleAdminContent Role = "admin:content" // sees the texts as well, with one of the two others
)

// Roles are all roles.
func Roles() []Role {
	return []Role{RoleUser, RoleViewer, RoleAdmin, RoleAdminRead, RoleAdminAct, RoleAdminContent}
}

func (r Role) known() bool { return slices.Contains(Roles(), r) }

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

// Has reports whether somebody has a role. Admins have all, who acts on the hub may
// look at it, and who does not may not see what is in it.
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

// Error is why credentials were not accepted.
type Error struct {
	Code   wire.Code // 2001, 2002 or 2003
	Reason string    // for people; says nothing that helps guessing
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }
