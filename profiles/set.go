package profiles

import (
	"slices"
	"strings"
)

// Set holds the profiles that a user has: those of the user, then those of the hub.
type Set struct {
	Profiles []Profile
	// Roles holds the default profile of roles, by id. Each exists.
	Roles map[Role]string
	// Version changes with every change of the user's profiles and roles; 0 if there was none.
	Version uint64
}

// Find returns the profile with an id or, if there is none, the only one with a name. Upper and lower
// case of a name do not matter.
func (s Set) Find(idOrName string) (Profile, bool) {
	var found []Profile
	for _, p := range s.Profiles {
		if p.ID == idOrName {
			return p, true
		}
		if strings.EqualFold(p.Name, idOrName) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return Profile{}, false
	}
	return found[0], true
}

// For returns the id of the default profile of a role: its own, else that of the main role, else "".
func (s Set) For(r Role) string {
	if id, ok := s.Roles[r]; ok {
		return id
	}
	return s.Roles[RoleMain]
}

// view returns what a user has.
func (d document) view(pinned []Profile, version uint64) Set {
	s := Set{Roles: map[Role]string{}, Version: version}
	for _, e := range d.entries {
		if e.valid && !slices.ContainsFunc(pinned, func(p Profile) bool { return p.ID == e.profile.ID }) {
			s.Profiles = append(s.Profiles, e.profile)
		}
	}
	s.Profiles = append(s.Profiles, pinned...)
	for _, role := range Roles() {
		id := d.roles[role]
		if slices.ContainsFunc(s.Profiles, func(p Profile) bool { return p.ID == id }) {
			s.Roles[role] = id
		}
	}
	return s
}
