package profiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// Names of the fields of a document.
const (
	profilesField = "profiles"
	rolesField    = "roles"
)

// document is the stored document of a user.
type document struct {
	entries []entry
	roles   map[Role]string
	// rest holds the fields that this version does not know.
	rest map[string]json.RawMessage
}

// entry is a stored profile. If valid is false, only raw counts.
type entry struct {
	profile Profile
	valid   bool
	raw     map[string]json.RawMessage
	// other is an entry that is no object.
	other json.RawMessage
}

// decode decodes a document. It fails only if data is no document at all.
func decode(data []byte) (document, error) {
	d := document{roles: map[Role]string{}}
	if json.Unmarshal(data, &d.rest) != nil || d.rest == nil {
		return d, errors.New("no object with profiles")
	}
	var all []json.RawMessage
	if list, ok := d.rest[profilesField]; ok && json.Unmarshal(list, &all) != nil {
		return d, errors.New("no list of profiles")
	}
	seen := map[string]bool{}
	for _, one := range all {
		e := decodeEntry(one)
		if e.valid = e.valid && !seen[e.profile.ID]; e.valid {
			seen[e.profile.ID] = true
		}
		d.entries = append(d.entries, e)
	}
	var roles map[string]json.RawMessage
	if list, ok := d.rest[rolesField]; ok && json.Unmarshal(list, &roles) != nil {
		return d, errors.New("no object of roles")
	}
	for role, value := range roles {
		var id string
		if json.Unmarshal(value, &id) == nil && id != "" {
			d.roles[Role(role)] = id // one of a later version stays
		}
	}
	delete(d.rest, profilesField)
	delete(d.rest, rolesField)
	return d, nil
}

func decodeEntry(data json.RawMessage) entry {
	var e entry
	if json.Unmarshal(data, &e.raw) != nil || e.raw == nil {
		e.other = bytes.Clone(data)
		return e
	}
	err := json.Unmarshal(data, &e.profile)
	e.valid = err == nil && e.profile.Check() == nil
	return e
}

// encode returns a document as it is stored.
func (d document) encode() ([]byte, error) {
	all := make([]json.RawMessage, 0, len(d.entries))
	for _, e := range d.entries {
		data, err := e.encode()
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	out := maps.Clone(d.rest)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	var err error
	if out[profilesField], err = json.Marshal(all); err != nil {
		return nil, err
	}
	if out[rolesField], err = json.Marshal(d.roles); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// encode returns an entry as it is stored: its profile, and the fields that this version does not know.
func (e entry) encode() (json.RawMessage, error) {
	switch {
	case e.other != nil:
		return e.other, nil
	case !e.valid:
		return json.Marshal(e.raw)
	}
	known, err := json.Marshal(e.profile) //nolint:gosec // its field Secret is the name of a secret
	if err != nil {
		return nil, err
	}
	all := maps.Clone(e.raw)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if err := json.Unmarshal(known, &all); err != nil { // overwrites the known fields
		return nil, err
	}
	return json.Marshal(all)
}

// index returns the position of the valid profile with an id, or -1.
func (d document) index(id string) int {
	return slices.IndexFunc(d.entries, func(e entry) bool { return e.valid && e.profile.ID == id })
}

// put adds or replaces a profile.
func (d *document) put(p Profile) {
	if i := d.index(p.ID); i >= 0 {
		d.entries[i].profile = p
		return
	}
	d.entries = append(d.entries, entry{profile: p, valid: true})
}

// remove removes a profile and the roles that have it, and reports whether it was there.
func (d *document) remove(id string) bool {
	i := d.index(id)
	if i < 0 {
		return false
	}
	d.entries = slices.Delete(d.entries, i, i+1)
	maps.DeleteFunc(d.roles, func(_ Role, of string) bool { return of == id })
	return true
}
