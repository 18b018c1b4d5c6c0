package modes

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Names of the fields of a document.
const (
	modesField    = "modes"
	approvalField = "approval"
)

// document is the stored document of a user.
type document struct {
	entries []entry
	// approval are the default approval rules; nil if there are none. What this version does not know of
	// them is lost when they are replaced.
	approval *wire.AutoApproval
	// rest holds the fields that this version does not know.
	rest map[string]json.RawMessage
}

// entry is a stored mode. If valid is false, only raw counts.
type entry struct {
	mode  Mode
	valid bool
	raw   map[string]json.RawMessage
	// other is an entry that is no object.
	other json.RawMessage
}

// decode decodes a document. It fails only if data is no document at all.
func decode(data []byte) (document, error) {
	var d document
	if json.Unmarshal(data, &d.rest) != nil || d.rest == nil {
		return d, errors.New("no object with modes")
	}
	var all []json.RawMessage
	if list, ok := d.rest[modesField]; ok && json.Unmarshal(list, &all) != nil {
		return d, errors.New("no list of modes")
	}
	seen := map[string]bool{}
	for _, one := range all {
		e := decodeEntry(one)
		if e.valid = e.valid && !seen[e.mode.ID]; e.valid {
			seen[e.mode.ID] = true
		}
		d.entries = append(d.entries, e)
	}
	delete(d.rest, modesField)
	var rules wire.AutoApproval
	if raw, ok := d.rest[approvalField]; ok && json.Unmarshal(raw, &rules) == nil && checkRules(&rules) == nil {
		d.approval = &rules // otherwise a later version wrote them; nothing is allowed, and they stay
		delete(d.rest, approvalField)
	}
	return d, nil
}

func decodeEntry(data json.RawMessage) entry {
	var e entry
	if json.Unmarshal(data, &e.raw) != nil || e.raw == nil {
		e.other = bytes.Clone(data)
		return e
	}
	err := json.Unmarshal(data, &e.mode)
	e.valid = err == nil && e.mode.Check() == nil
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
	if out[modesField], err = json.Marshal(all); err != nil {
		return nil, err
	}
	if d.approval != nil {
		if out[approvalField], err = json.Marshal(d.approval); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// encode returns an entry as it is stored: its mode, and the fields that this version does not know.
func (e entry) encode() (json.RawMessage, error) {
	switch {
	case e.other != nil:
		return e.other, nil
	case !e.valid:
		return json.Marshal(e.raw)
	}
	known, err := json.Marshal(e.mode)
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

// index returns the position of the valid mode with an id, or -1.
func (d document) index(id string) int {
	return slices.IndexFunc(d.entries, func(e entry) bool { return e.valid && e.mode.ID == id })
}

// put adds or replaces a mode.
func (d *document) put(m Mode) {
	if i := d.index(m.ID); i >= 0 {
		d.entries[i].mode = m
		return
	}
	d.entries = append(d.entries, entry{mode: m, valid: true})
}

// remove removes a mode, and reports whether it was there.
func (d *document) remove(id string) bool {
	i := d.index(id)
	if i < 0 {
		return false
	}
	d.entries = slices.Delete(d.entries, i, i+1)
	return true
}

// view returns what a user has.
func (d document) view(version uint64) Set {
	s := Set{Version: version, Approval: d.approval}
	for _, m := range Shipped() {
		if i := d.index(m.ID); i >= 0 {
			m = d.entries[i].mode
			m.Shipped, m.Overridden = true, true
		}
		s.Modes = append(s.Modes, m)
	}
	for _, e := range d.entries {
		if e.valid && !isShipped(e.mode.ID) {
			s.Modes = append(s.Modes, e.mode)
		}
	}
	return s
}

func isShipped(id string) bool {
	return slices.ContainsFunc(Shipped(), func(m Mode) bool { return m.ID == id })
}
